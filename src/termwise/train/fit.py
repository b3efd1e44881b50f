"""From data and a base encoder to an encoder folder: the whole of ``termwise train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import Kind, Precision
from termwise.encode.expansion import Expansion
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import written_whole
from termwise.storage.model_folder import TRAINING
from termwise.text import Vocabulary
from termwise.train.base_encoder import base_analyzer, shown_settings
from termwise.train.checks import check_asked
from termwise.train.data.training_data import read_training_data
from termwise.train.export.card_facts import card_facts, check_given
from termwise.train.export.folder_writer import CARD, FOLDER, write_encoder_folder
from termwise.train.export.model_card import card as write_card
from termwise.train.export.tilde_floors import floors_of, passages_of_sources
from termwise.train.loop.initial_weights import continued_encoder
from termwise.train.loop.ownership import expansion_precision_of, refuse_replacing
from termwise.train.loop.run import train_network
from termwise.train.messages import Say, silent
from termwise.train.networks import TildeNetwork
from termwise.train.settings import TrainSettings
from termwise.validation import check, check_path


def fit(
    kind: Kind,
    data: Sequence[str | Path],
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainSettings,
    validation: str | Path | None = None,
    expansion: Expansion | None = None,
    expansion_precision: Precision | None = None,
    expansion_providers: Sequence[str] | None = None,
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
        The encoder to start from, see `termwise.train.loop.initial_weights.start_from`.
    out : str or Path
        The encoder folder; checkpoints and logs are kept in its folder ``training``.
    settings : TrainSettings
    validation : str or Path, optional
        See `termwise.train.data.training_data.read_training_data`.
    expansion : Expansion, optional
        For ``tildev2``: the TILDE encoder that expands passages, and how.
    expansion_precision : {"float32", "int8"}, optional
        In which of its networks. Where nothing is said: the one that a run to go on with began with, or else see
        `termwise.encode.onnx_session.choose_precision`.
    expansion_providers : sequence of str, optional
        What it runs on, see `OnnxSession`; the processor where nothing is said.
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
        JSON-like facts, as they stand in ``encoder.json`` under ``trained``: those of `train_network`, where the
        held-out pairs come from, and the precision in which passages were expanded. Of several processes only the
        first writes the folder.

    Raises
    ------
    TermwiseError
        Whatever is wrong with data, base, settings or folder.
    """
    several = isinstance(data, Sequence) and not isinstance(data, str) and len(data) > 0
    check(
        "data",
        data,
        several and all(isinstance(one, str | Path) for one in data),
        "a list of names and paths",
    )
    check_path("out", out)
    check("validation", validation, isinstance(validation, str | Path | None), "a path, none, or None")
    check("expansion", expansion, isinstance(expansion, Expansion | None), "an Expansion, or None")
    if expansion is None:
        for name, value in (
            ("expansion_precision", expansion_precision),
            ("expansion_providers", expansion_providers),
        ):
            check(name, value, value is None, "None where nothing is expanded")
    check("card", card, isinstance(card, Mapping | None), "facts by name, or None")
    check_asked(
        kind,
        base,
        settings,
        expands=expansion is not None,
        resume=resume,
        threads=threads,
        progress=progress,
        say=say,
    )
    out = Path(out)
    check_given(card or {})
    FOLDER.check_place(out, base=base)
    refuse_replacing(FOLDER, out)
    analyzer = base_analyzer(base)
    expander = None
    if expansion is not None:
        begun = expansion_precision_of(out / TRAINING) if resume else None
        session = OnnxSession(
            EncoderFolder.open(expansion.encoder),
            precision=expansion_precision or begun,
            threads=threads,
            providers=expansion_providers,
        )
        expander = _expander(expansion, session, analyzer.vocabulary, base, settings)
    read = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
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
    if expander is not None:
        facts["expansion_precision"] = expander.session.precision
    if not PartialState().is_main_process:
        return facts
    say(f"writing the encoder: ONNX in float32 and int8, compared with torch, to {out}")
    floors = None
    if isinstance(network, TildeNetwork) and settings.reads_passages:
        floors = floors_of(
            network,
            trained.pieces,
            passages_of_sources(read.sources, seed=settings.seed),
            length=settings.document_length,
            cleaning=settings.cleaning,
            bfloat16=settings.precision == "bfloat16",
            progress=progress,
        )
    record = None
    if expander is not None:
        record = expander.session.folder.expansion(
            terms=expander.terms,
            counting=expander.counting,
            length=settings.document_length,
            lift=expander.lift,
        )
    continued = continued_encoder(kind, base)
    write_encoder_folder(
        network,
        analyzer,
        out,
        cleaning=settings.cleaning,
        length=settings.document_length,
        trained=facts,
        floors=floors,
        expansion=record,
        idf_power=settings.idf_power or (0.0 if continued is None else continued.manifest.idf_power),
    )
    described = card_facts(out, kind, facts, shown_settings(settings), card or {})
    with written_whole(out / CARD) as write:
        write(write_card(described))
    return facts


def _expander(
    expansion: Expansion,
    session: OnnxSession,
    vocabulary: Vocabulary,
    base: str | Path,
    settings: TrainSettings,
) -> Expander:
    """Load the network that expands passages; refuse one with another vocabulary than the base, or too short inputs."""
    session.load()
    expander = Expander(session, terms=expansion.terms, counting=expansion.counting, lift=expansion.lift)
    other = session.folder.vocabulary
    if other != vocabulary:
        raise VocabularyMismatchError(
            "the base and the encoder that expands its passages have different vocabularies",
            facts=[
                ("base", f"{base}, {len(vocabulary):,} terms"),
                ("expands", f"{expansion.encoder}, {len(other):,} terms"),
            ],
            fixes=["--expand-with FOLDER, a TILDE encoder trained from this base", "--expand-with none"],
        )
    positions = session.folder.manifest.positions
    if settings.document_length > positions:
        raise ParameterError(
            "passages are longer than what the encoder that expands them reads",
            facts=[
                ("document_length", settings.document_length),
                (str(expansion.encoder), f"{positions:,} positions"),
            ],
            fixes=[f"--set document_length={positions}"],
        )
    return expander
