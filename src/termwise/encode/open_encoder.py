"""Functions that open the encoder of a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from termwise.display.safe_text import short_digest
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.encoder_folder import EncoderFolder, shipped_encoders
from termwise.encode.encoder_manifest import NAME as MANIFEST
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.lookup import LookupDocumentEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.splade_doc import SpladeDocumentEncoder
from termwise.encode.table_documents import TableDocumentEncoder
from termwise.encode.tilde import TildeDocumentEncoder, TildeQueryEncoder
from termwise.encode.tildev2 import TildeV2DocumentEncoder
from termwise.errors import MissingFileError, ParameterError
from termwise.fixes import Code, Fix
from termwise.models import Lookup, NetworkModel, SpladeDoc, Tilde, TildeV2
from termwise.models.tildev2 import AS_TRAINED, NO_EXPANSION
from termwise.storage.safe_read import is_file
from termwise.validation import check_threads


def open_document_encoder(
    model: NetworkModel,
    *,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    load: bool = True,
) -> DocumentEncoder:
    """Open the encoder of a model.

    Parameters
    ----------
    model : NetworkModel
        `Tilde`, `TildeV2`, `SpladeDoc` or `Lookup`.
    threads : int, optional
        Threads within a layer, from 1 to 1024.
    precision : {"float32", "int8"}, optional
        Precision of the network; by default see `choose_precision`. An expanding encoder uses the same precision if it
        has such a network.
    providers : sequence of str, optional
        Execution providers of onnxruntime in order of preference, such as ``cuda``; by default the CPU.
    load : bool, optional
        Whether to load the network now or when it is first run. Fingerprint and vocabulary do not need it.

    Returns
    -------
    DocumentEncoder
        Its `description` records precision and providers.

    Raises
    ------
    MissingFileError
        If the encoder does not exist.
    ModelFormatError, CorruptModelError
        If it cannot be used, or is damaged.
    VocabularyMismatchError
        If the expanding encoder has another vocabulary.
    ParameterError
        If a setting does not suit the encoder, this machine lacks a provider, or an argument has the wrong type.
    """
    if not isinstance(model, Tilde | TildeV2 | SpladeDoc | Lookup):
        raise ParameterError(
            "this model has no document encoder",
            facts=[
                ("model", getattr(model, "name", type(model).__name__)),
                ("expected", "Tilde, TildeV2, SpladeDoc or Lookup"),
            ],
        )
    if isinstance(model, Lookup) and not model.runs_network:
        check_threads(threads)
        _refuse_network_options(precision=precision, providers=providers)
        return TableDocumentEncoder(model, EncoderFolder.open(model.encoder))
    open_session = partial(OnnxSession, threads=threads, providers=providers)
    session = open_session(EncoderFolder.open(model.encoder), precision=precision)
    encoder: TildeDocumentEncoder | TildeV2DocumentEncoder | SpladeDocumentEncoder | LookupDocumentEncoder
    if isinstance(model, Tilde):
        encoder = TildeDocumentEncoder(model, session)
    elif isinstance(model, SpladeDoc):
        encoder = SpladeDocumentEncoder(model, session)
    elif isinstance(model, Lookup):
        encoder = LookupDocumentEncoder(model, session)
    elif (expander := expander_of(model, session.folder)) is None:
        encoder = TildeV2DocumentEncoder(model, session)
    else:
        folder = EncoderFolder.open(expander)
        same_precision = precision if precision in folder.manifest.networks() else None
        encoder = TildeV2DocumentEncoder(model, session, open_session(folder, precision=same_precision))
    if load:
        encoder.load()
    return encoder


def _refuse_network_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            "no network is run, so it has no precision and no providers",
            facts=[("documents", "table"), ("given", ", ".join(given))],
            fixes=[f"omit {' and '.join(given)}", Fix.use(documents="network")],
        )


def open_query_encoder(
    name_or_path: str | Path,
    *,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> TildeQueryEncoder:
    """Open an encoder of kind ``tilde`` for queries and load its network.

    Parameters
    ----------
    name_or_path : str or Path
        See `EncoderFolder.open`.
    threads, precision, providers
        See `open_document_encoder`.

    Raises
    ------
    TermwiseError
        As `open_document_encoder` does.
    """
    folder = EncoderFolder.open(name_or_path)
    session = OnnxSession(folder, precision=precision, threads=threads, providers=providers)
    encoder = TildeQueryEncoder(session)
    encoder.load()
    return encoder


def expander_of(model: TildeV2, folder: EncoderFolder) -> str | None:
    """Return the name or path of the expanding encoder of a TILDEv2 encoder; None for no expansion.

    It ships with the package, or is in the same parent folder; otherwise `MissingFileError` is raised.
    """
    if model.expansion_encoder == NO_EXPANSION:
        return None
    trained = folder.manifest.expansion
    if model.expansion_encoder != AS_TRAINED:
        return model.expansion_encoder
    if trained is None:
        return None
    sibling = folder.folder.parent / trained.name
    candidates = [*shipped_encoders(), *([str(sibling)] if is_file(sibling / MANIFEST) else [])]
    for candidate in candidates:
        if EncoderFolder.open(candidate).id == trained.encoder:
            return candidate
    raise MissingFileError(
        "the expanding encoder of this encoder is not found",
        facts=[
            ("encoder", folder.name),
            ("expanding encoder", f"{trained.name}, {short_digest(trained.encoder)}"),
            ("tried", ", ".join([*shipped_encoders(), str(sibling)])),
        ],
        fixes=[
            Fix.use(
                "use {}, the TILDE encoder that expanded the training passages",
                expansion_encoder=Code("FOLDER"),
            ),
            Fix.use(expansion_encoder="none"),
        ],
    )
