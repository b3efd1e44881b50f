"""Train an encoder on pairs and write its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import EncoderKind, NetworkPrecision
from termwise.encode.expansion import Expansion
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import written_whole
from termwise.text import Vocabulary
from termwise.train.base_encoder import base_analyzer, public_settings
from termwise.train.data.training_data import read_training_data
from termwise.train.export.card_facts import card_facts, check_card_facts
from termwise.train.export.folder_writer import CARD, FOLDER, write_encoder_folder
from termwise.train.export.model_card import model_card
from termwise.train.export.tilde_floors import sample_source_passages, tilde_floors
from termwise.train.loop.initial_weights import encoder_of_same_kind
from termwise.train.loop.ownership import check_folder, expansion_precision_of
from termwise.train.loop.run import train_network
from termwise.train.messages import Say, silent
from termwise.train.networks import TildeNetwork, TildeV2Network
from termwise.train.requirements import is_first_process
from termwise.train.settings import TrainSettings
from termwise.validation import check, check_path, check_threads


def train_encoder(
    kind: EncoderKind,
    data: Sequence[str | Path],
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainSettings,
    validation: str | Path | None = None,
    expansion: Expansion | None = None,
    expansion_precision: NetworkPrecision | None = None,
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
        The initial encoder, see `termwise.train.loop.initial_weights.initial_network`.
    out : str or Path
        The encoder folder; its folder ``training`` holds checkpoints and logs.
    settings : TrainSettings
    validation : str or Path, optional
        Held-out pairs, see `termwise.train.data.training_data.read_training_data`.
    expansion : Expansion, optional
        For ``tildev2``: the TILDE encoder that expands passages, and its parameters.
    expansion_precision : {"float32", "int8"}, optional
        Precision of the expanding network; by default that of the resumed run, or see
        `termwise.encode.onnx_session.choose_precision`.
    expansion_providers : sequence of str, optional
        Execution providers of the expanding network, see `OnnxSession`; the CPU by default.
    resume : bool, optional
        Continue from the last complete checkpoint, or start if there is none; damaged ones are reported and skipped. On
        one CPU the result equals the result of an uninterrupted run, bit for bit.
    card : mapping, optional
        Facts for the model card, in addition to those of training; see `card_facts`.
    threads : int, optional
        For ordering and expanding passages; torch has its own setting.
    progress : callable, optional
        Called with a stage, the amount done, and the total.
    say : callable, optional
        Called with lines on data, validations, the selected weights, and with warnings.

    Returns
    -------
    dict
        JSON-like facts as in ``encoder.json`` under ``trained``: those of `train_network`, the origin of the held-out
        pairs, and the precision of the expansion. Of several processes only the first writes the folder.

    Raises
    ------
    ParameterError
        If an argument has another type, or kind, settings and expansion are incompatible.
    TermwiseError
        If data, base, expanding encoder or folder cannot be used.
    """
    several = isinstance(data, Sequence) and not isinstance(data, str) and len(data) > 0
    paths = several and all(isinstance(spec, str | Path) for spec in data)
    check("kind", kind, isinstance(kind, str), "a name")
    check("data", data, paths, "a list of names and paths")
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check_path("out", out)
    check("settings", settings, isinstance(settings, TrainSettings), "TrainSettings")
    check("validation", validation, isinstance(validation, str | Path | None), "a path, none, or None")
    check("expansion", expansion, isinstance(expansion, Expansion | None), "an Expansion, or None")
    if expansion is None:
        for name, value in (
            ("expansion_precision", expansion_precision),
            ("expansion_providers", expansion_providers),
        ):
            check(name, value, value is None, "None without an expansion")
    check("card", card, isinstance(card, Mapping | None), "facts by name, or None")
    check_threads(threads)
    settings.check_kind(kind)
    if expansion is not None and kind != TildeV2Network.kind:
        raise ParameterError(
            "only networks of kind tildev2 are trained on expanded passages",
            facts=[("network", kind)],
            fixes=["omit the expansion"],
        )
    check_card_facts(card or {})
    out = Path(out)
    work = check_folder(FOLDER, out, resume=resume or not is_first_process(), base=base)
    analyzer = base_analyzer(base)
    expander = None
    if expansion is not None:
        resumed = expansion_precision_of(work) if resume else None
        session = OnnxSession(
            EncoderFolder.open(expansion.encoder),
            precision=expansion_precision or resumed,
            threads=threads,
            providers=expansion_providers,
        )
        expander = _load_expander(expansion, session, analyzer.vocabulary, base, settings)
    read = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
    )
    trained = train_network(
        kind,
        read.sources,
        base,
        work,
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
    say(f"writing the encoder to {out}: ONNX in float32 and int8, compared with torch")
    floors = None
    if isinstance(network, TildeNetwork) and settings.reads_passages:
        floors = tilde_floors(
            network,
            trained.pieces,
            sample_source_passages(read.sources, seed=settings.seed),
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
    continued = encoder_of_same_kind(kind, base)
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
        query_weights=trained.query_weights,
    )
    described = card_facts(out, kind, facts, public_settings(settings), card or {})
    with written_whole(out / CARD) as write:
        write(model_card(described))
    return facts


def _load_expander(
    expansion: Expansion,
    session: OnnxSession,
    vocabulary: Vocabulary,
    base: str | Path,
    settings: TrainSettings,
) -> Expander:
    """Load the expanding network; check that it has the vocabulary of the base and reads long enough inputs."""
    session.load()
    expander = Expander(session, terms=expansion.terms, counting=expansion.counting, lift=expansion.lift)
    other = session.folder.vocabulary
    if other != vocabulary:
        raise VocabularyMismatchError(
            "the base and the encoder that expands its passages have different vocabularies",
            facts=[
                ("base", f"{base}, {len(vocabulary):,} terms"),
                ("expansion", f"{expansion.encoder}, {len(other):,} terms"),
            ],
            fixes=["expand with a TILDE encoder trained from this base", Fix.use(expansion=None)],
        )
    positions = session.folder.manifest.positions
    if settings.document_length > positions:
        raise ParameterError(
            "passages are longer than the input of the encoder that expands them",
            facts=[
                ("document_length", settings.document_length),
                (str(expansion.encoder), f"{positions:,} positions"),
            ],
            fixes=[Fix.use(document_length=positions)],
        )
    return expander
