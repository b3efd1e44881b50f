"""From data and a base encoder to an encoder folder: the whole of ``termwise train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from torch.nn import functional

from termwise.arguments import check, check_callable, check_count, check_flag, check_path, is_whole_number
from termwise.collection.pairs import Source, read_sources
from termwise.collection.writing import written_whole
from termwise.encode.manifest import ExpansionRecord, Kind
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.models.tildev2 import Counting
from termwise.text.cleaning import clean_vocabulary
from termwise.train.base import base_analyzer, base_name, shown_settings
from termwise.train.card import card as write_card
from termwise.train.claiming import refuse_replacing
from termwise.train.describe import card_facts, check_given
from termwise.train.inputs import Pieces
from termwise.train.networks import Tilde
from termwise.train.run import train_network
from termwise.train.settings import TrainSettings
from termwise.train.telling import Say, silent
from termwise.train.validation import HeldOut
from termwise.train.warm_start import Progress
from termwise.train.write_folder import CARD, FOLDER, write_encoder_folder

FLOOR_PASSAGES = 4096
"""Passages over which the floors of TILDE are means."""

HELD_OUT_SPLITS = ("dev", "validation")

TRAINING = "training"
"""Folder inside an encoder folder that keeps settings, log and checkpoints of the run."""

_HELD_OUT_SHARE = 0.02
_FORWARD = 32


@dataclass(frozen=True)
class TrainingData:
    """Pairs to train on and pairs to validate on.

    Attributes
    ----------
    sources : list of Source
    held_out : HeldOut or None
        None where validation is switched off.
    origin : str
        Where the held-out pairs come from, in words.
    """

    sources: list[Source]
    held_out: HeldOut | None
    origin: str


def read_training_data(
    data: Sequence[str | Path], *, validation: str | Path | None, queries: int, seed: int
) -> TrainingData:
    """Read what a network is trained and validated on.

    Parameters
    ----------
    data : sequence of str or Path
        See `read_sources`; several are taken together.
    validation : str, Path or None
        Held-out pairs, read like `data`, or the word ``none``. Where nothing is said: the split ``dev`` or
        ``validation`` of a BEIR folder; failing that, a fiftieth of the queries is held out.
    queries : int
        Held-out queries to draw; 0 for no validation.
    seed : int
        Of what is held out and drawn.

    Raises
    ------
    ParameterError
        If two sources have the same name.
    """
    sources = [source for spec in data for source in read_sources(spec)]
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError("two sources of training pairs have one name", facts=[("name", twice[0])])
    if validation == "none" or queries == 0:
        return TrainingData(sources, None, "none")
    if validation is not None:
        held, origin = read_sources(validation), base_name(validation)
    else:
        split = next((name for name in HELD_OUT_SPLITS if all(_has_split(spec, name) for spec in data)), None)
        if split is not None:
            held, origin = (
                [source for spec in data for source in read_sources(spec, split=split)],
                f"split {split}",
            )
        else:
            parted = [_parted(source, seed) for source in sources]
            sources, held = [one for one, _ in parted], [other for _, other in parted]
            origin = f"a fiftieth of the queries, drawn with seed {seed}"
    chosen = HeldOut.sample(held, queries=queries, seed=seed)
    return TrainingData(sources, chosen, origin)


def _has_split(spec: str | Path, split: str) -> bool:
    folder = Path(spec) / "qrels"
    return any((folder / f"{split}.tsv{ending}").is_file() for ending in ("", ".gz"))


def _parted(source: Source, seed: int) -> tuple[Source, Source]:
    """Hold out some of the queries with their pairs."""
    random = np.random.default_rng(seed)
    queries = np.unique(source.pairs[:, 0])
    count = max(1, round(_HELD_OUT_SHARE * len(queries)))
    held = np.isin(source.pairs[:, 0], random.permutation(queries)[:count])
    return (
        Source(source.name, source.queries, source.passages, source.pairs[~held]),
        Source(source.name, source.queries, source.passages, source.pairs[held]),
    )


def open_expander(name: str | Path, *, terms: int, counting: Counting, threads: int) -> Expander:
    """Open the TILDE encoder that expands passages.

    Parameters
    ----------
    name : str
        A shipped encoder or a folder.
    terms, counting
        How many terms, see `termwise.encode.expansion.expand`.
    threads : int
    """
    from termwise.encode.folder import EncoderFolder
    from termwise.encode.session import OnnxSession

    session = OnnxSession(EncoderFolder.open(name), precision=None, threads=threads, providers=None)
    session.load()
    return Expander(session, terms=terms, counting=counting)


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
    progress: Progress = lambda *_: None,
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
        See `read_training_data`.
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
    check_count("threads", threads)
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
    expander = None
    if expansion is not None:
        name, terms, counting = expansion
        expander = open_expander(name, terms=terms, counting=counting, threads=threads)
        other = expander.session.folder.vocabulary
        if other != analyzer.vocabulary:
            raise VocabularyMismatchError(
                "the base and the encoder that expands its passages have different vocabularies",
                facts=[
                    ("base", f"{base}, {len(analyzer.vocabulary):,} terms"),
                    ("expands", f"{name}, {len(other):,} terms"),
                ],
                fixes=["--expand-with FOLDER, a TILDE encoder trained from this base", "--expand-with none"],
            )
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


def _is_expansion(given: object) -> bool:
    if not isinstance(given, tuple) or len(given) != 3:
        return False
    name, terms, counting = given
    return isinstance(name, str | Path) and is_whole_number(terms, least=1) and counting in get_args(Counting)
