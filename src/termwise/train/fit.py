"""Train an encoder on pairs and write its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerate import PartialState

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.expansion import Expansion
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.fixes import Fix
from termwise.progress import Execution
from termwise.storage.atomic_file import written_whole
from termwise.text import Vocabulary
from termwise.train.base_encoder import base_analyzer, public_settings
from termwise.train.data.training_data import read_training_data
from termwise.train.export.card_facts import card_facts, check_card_facts
from termwise.train.export.folder_writer import CARD, FOLDER, EncoderContents, write_encoder_folder
from termwise.train.export.model_card import model_card
from termwise.train.export.tilde_floors import sample_source_passages, tilde_floors
from termwise.train.loop.initial_weights import encoder_of_same_kind
from termwise.train.loop.run import train_network
from termwise.train.networks import TildeNetwork, TildeV2Network
from termwise.train.requirements import is_first_process
from termwise.train.run_folder import RunFolder, check_sources
from termwise.train.settings import TrainSettings
from termwise.validation import check


def train_encoder(
    kind: EncoderKind,
    data: Sequence[str | Path],
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainSettings,
    validation: str | Path | None = None,
    expansion: Expansion | None = None,
    resume: bool = False,
    card: Mapping[str, Any] | None = None,
    execution: Execution = Execution(),  # noqa: B008
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
    resume : bool, optional
        Continue from the last complete checkpoint, or start if there is none; damaged ones are reported and skipped. On
        one CPU the result equals the result of an uninterrupted run, bit for bit.
    card : mapping, optional
        Facts for the model card, in addition to those of training; see `card_facts`.
    execution : Execution, optional
        Its threads order and expand passages; torch has its own setting.

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
    check("kind", kind, isinstance(kind, str), "a name")
    check_sources("data", data)
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check("settings", settings, isinstance(settings, TrainSettings), "TrainSettings")
    check("validation", validation, isinstance(validation, str | Path | None), "a path, none, or None")
    check("expansion", expansion, isinstance(expansion, Expansion | None), "an Expansion, or None")
    check("card", card, isinstance(card, Mapping | None), "facts by name, or None")
    settings.check_kind(kind)
    if expansion is not None and kind != TildeV2Network.kind:
        raise ParameterError(
            "only networks of kind tildev2 are trained on expanded passages",
            facts=[("network", kind)],
            fixes=["omit the expansion"],
        )
    check_card_facts(card or {})
    run = RunFolder.of(FOLDER, out, resume=resume or not is_first_process(), execution=execution, base=base)
    out, progress, say = Path(out), execution.progress, execution.say
    analyzer = base_analyzer(base)
    expander = None
    if expansion is not None:
        if expansion.precision is None and resume and (recorded := (run.recorded() or {}).get("expansion")):
            expansion = replace(expansion, precision=recorded["precision"])
        expander = _load_expander(expansion, analyzer.vocabulary, base, settings, execution.threads)
    read = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
    )
    trained = train_network(
        kind,
        read.sources,
        base,
        run.path,
        analyzer=analyzer,
        settings=settings,
        held_out=read.held_out,
        expander=expander,
        resume=resume,
        execution=execution,
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
    contents = EncoderContents(
        cleaning=settings.cleaning,
        length=settings.document_length,
        floors=floors,
        expansion=record,
        idf_power=settings.idf_power or (0.0 if continued is None else continued.manifest.idf_power),
        query_weights=trained.query_weights,
    )
    write_encoder_folder(network, analyzer, out, contents, trained=facts)
    described = card_facts(out, kind, facts, public_settings(settings), card or {})
    with written_whole(out / CARD) as write:
        write(model_card(described))
    return facts


def _load_expander(
    expansion: Expansion, vocabulary: Vocabulary, base: str | Path, settings: TrainSettings, threads: int
) -> Expander:
    """Load the expanding network; check that it has the vocabulary of the base and reads long enough inputs."""
    session = OnnxSession(
        EncoderFolder.open(expansion.encoder),
        precision=expansion.precision,
        threads=threads,
        providers=expansion.providers,
    )
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
