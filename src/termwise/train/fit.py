"""From data and a base encoder to an encoder folder: the whole of ``termwise train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from torch.nn import functional

from termwise.arguments import check, check_callable, check_flag, check_path, check_threads, is_whole_number
from termwise.collection.pairs import Source
from termwise.collection.writing import written_whole
from termwise.encode.folder import EncoderFolder
from termwise.encode.manifest import ExpansionRecord, Kind
from termwise.encode.session import OnnxSession
from termwise.encode.tildev2 import Expander
from termwise.errors import VocabularyMismatchError
from termwise.model_folders import TRAINING
from termwise.models.tildev2 import Counting
from termwise.progress import Progress, no_progress
from termwise.text import Vocabulary
from termwise.text.cleaning import clean_vocabulary
from termwise.train.base import base_analyzer, shown_settings
from termwise.train.card import card as write_card
from termwise.train.claiming import refuse_replacing
from termwise.train.describe import card_facts, check_given
from termwise.train.inputs import Pieces
from termwise.train.networks import Tilde
from termwise.train.run import train_network
from termwise.train.settings import TrainSettings
from termwise.train.telling import Say, silent
from termwise.train.training_data import read_training_data
from termwise.train.write_folder import CARD, FOLDER, write_encoder_folder

FLOOR_PASSAGES = 4096
"""Passages over which the floors of TILDE are means."""

_FORWARD = 32


@torch.no_grad()
def floors_of(
    network: Tilde, pieces: Pieces, sources: Sequence[Source], settings: TrainSettings, *, progress: Progress
) -> npt.NDArray[np.float32]:
    """Compute the floors of the compact form: the mean of ln P(t|d) over training passages.

    The passages are drawn from the sources in equal parts, as far as they go.

    Returns
    -------
    ndarray of shape (V,), float32
        0 for terms that are cleaned away.
    """
    random = np.random.default_rng(settings.seed)
    rows = []
    for source in sources:
        used = np.unique(source.pairs[:, 1])
        share = -(-FLOOR_PASSAGES // len(sources))
        rows += [pieces(source.passages[number]) for number in random.permutation(used)[:share]]
    rows.sort(key=len)
    network.eval()
    device = next(network.parameters()).device
    total = torch.zeros(len(pieces.analyzer.vocabulary), dtype=torch.float64)
    for start in range(0, len(rows), _FORWARD):
        framed = [
            pieces.framed(pieces.special.document, row[: settings.document_length - 2])
            for row in rows[start : start + _FORWARD]
        ]
        ids, mask = (tensor.to(device) for tensor in pieces.padded(framed))
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
            logits = network(ids, mask)
        total += functional.logsigmoid(logits.float()).sum(dim=0).double().cpu()
        progress("measure floors", min(start + _FORWARD, len(rows)), len(rows))
    kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
    return np.where(kept, (total / len(rows)).numpy(), 0.0).astype(np.float32)


def fit(
    kind: Kind,
    data: Sequence[str | Path],
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainSettings,
    validation: str | Path | None = None,
    expansion: tuple[str | Path, int, Counting] | None = None,
    resume: bool = False,
    card: Mapping[str, Any] | None = None,
    threads: int = 1,
    progress: Progress = no_progress,
    say: Say = silent,
) -> dict[str, Any]:
    """Train an encoder and write its folder.

    Parameters
    ----------
    kind : {"tilde", "tildev2", "splade-doc"}
        Kind of network.
    data : sequence of str or Path
        Training pairs, see `read_sources`.
    base : str or Path
        The encoder to start from, see `termwise.train.starting.start_from`.
    out : str or Path
        The encoder folder; checkpoints and logs are kept in its folder ``training``.
    settings : TrainSettings
    validation : str or Path, optional
        See `termwise.train.training_data.read_training_data`.
    expansion : (str, int, str), optional
        For ``tildev2``: the TILDE encoder that expands passages, the number of terms, and how they are counted.
    resume : bool, optional
        Go on with a run that was interrupted.
    card : mapping, optional
        What only its maker knows of the model, for the card; see `card_facts`.
    threads : int, optional
    progress : callable, optional
        Called with a stage, what is done, and the total.
    say : callable, optional
        Called with lines on what is going on, see `train_network`.

    Returns
    -------
    dict
        JSON-like facts, as they stand in ``encoder.json`` under ``trained``. Of several processes only the first
        writes the folder.

    Raises
    ------
    TermwiseError
        Whatever is wrong with data, base, settings or folder.
    """
    several = isinstance(data, Sequence) and not isinstance(data, str) and len(data) > 0
    check("kind", kind, isinstance(kind, str), "a name")
    check(
        "data",
        data,
        several and all(isinstance(one, str | Path) for one in data),
        "a list of names and paths",
    )
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check_path("out", out)
    check("settings", settings, isinstance(settings, TrainSettings), "TrainSettings")
    check("validation", validation, isinstance(validation, str | Path | None), "a path, none, or None")
    check(
        "expansion",
        expansion,
        expansion is None or _is_expansion(expansion),
        "(encoder, number of terms of at least 1, new or raw), or None",
    )
    check_flag("resume", resume)
    check("card", card, isinstance(card, Mapping | None), "facts by name, or None")
    check_threads(threads)
    check_callable("progress", progress)
    check_callable("say", say)
    out = Path(out)
    check_given(card or {})
    FOLDER.check_place(out, base=base)
    refuse_replacing(FOLDER, out)
    read = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
    )
    analyzer = base_analyzer(base)
    expander = None if expansion is None else _expander(expansion, analyzer.vocabulary, base, threads)
    trained = train_network(
        kind,
        read.sources,
        base,
        out / TRAINING,
        analyzer=analyzer,
        settings=settings,
        held_out=read.held_out,
        expander=expander,
        resume=resume,
        threads=threads,
        progress=progress,
        say=say,
    )
    network = trained.network
    facts = trained.facts | {"validation": read.origin}
    if not PartialState().is_main_process:
        return facts
    say(f"writing the encoder: ONNX in float32 and int8, compared with torch, to {out}")
    floors = None
    if isinstance(network, Tilde):
        floors = floors_of(network, trained.pieces, read.sources, settings, progress=progress)
    record = None
    if expander is not None:
        record = ExpansionRecord(
            terms=expander.terms,
            counting=expander.counting,
            length=settings.document_length,
            encoder=expander.session.folder.id,
            name=Path(expander.session.folder.name).name,
        )
    write_encoder_folder(
        network,
        analyzer,
        out,
        cleaning=settings.cleaning,
        length=settings.document_length,
        trained=facts,
        floors=floors,
        expansion=record,
    )
    described = card_facts(out, kind, facts, shown_settings(settings), card or {})
    with written_whole(out / CARD) as write:
        write(write_card(described))
    return facts


def _expander(
    expansion: tuple[str | Path, int, Counting], vocabulary: Vocabulary, base: str | Path, threads: int
) -> Expander:
    """Open the TILDE encoder that expands passages; refuse one with another vocabulary than the base."""
    name, terms, counting = expansion
    session = OnnxSession(EncoderFolder.open(name), threads=threads)
    session.load()
    expander = Expander(session, terms=terms, counting=counting)
    other = session.folder.vocabulary
    if other != vocabulary:
        raise VocabularyMismatchError(
            "the base and the encoder that expands its passages have different vocabularies",
            facts=[
                ("base", f"{base}, {len(vocabulary):,} terms"),
                ("expands", f"{name}, {len(other):,} terms"),
            ],
            fixes=["--expand-with FOLDER, a TILDE encoder trained from this base", "--expand-with none"],
        )
    return expander


def _is_expansion(given: object) -> bool:
    if not isinstance(given, tuple) or len(given) != 3:
        return False
    name, terms, counting = given
    return isinstance(name, str | Path) and is_whole_number(terms, least=1) and counting in get_args(Counting)
