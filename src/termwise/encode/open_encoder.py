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
from termwise.encode.precomputed_rows import MissingRows, PrecomputedEncoder, PrecomputedRows
from termwise.encode.splade_doc import SpladeDocumentEncoder
from termwise.encode.tilde import TildeDocumentEncoder, TildeQueryEncoder
from termwise.encode.tildev2 import TildeV2DocumentEncoder
from termwise.errors import MissingFileError, ParameterError
from termwise.fixes import Code, Fix
from termwise.models import Lookup, NetworkModel, SpladeDoc, Tilde, TildeV2
from termwise.models.tildev2 import AS_TRAINED, NO_EXPANSION
from termwise.storage.safe_read import is_file

_NetworkEncoder = (
    TildeDocumentEncoder | TildeV2DocumentEncoder | SpladeDocumentEncoder | LookupDocumentEncoder
)


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
    encoder = _unloaded_encoder(model, threads, precision, providers)
    if load:
        encoder.load()
    return encoder


def _unloaded_encoder(
    model: NetworkModel, threads: int, precision: NetworkPrecision | None, providers: Sequence[str] | None
) -> _NetworkEncoder:
    session = partial(OnnxSession, threads=threads, providers=providers)
    if isinstance(model, Tilde):
        return TildeDocumentEncoder(model, session(EncoderFolder.open(model.encoder), precision=precision))
    if isinstance(model, TildeV2):
        network = session(EncoderFolder.open(model.encoder), precision=precision)
        expander = expander_of(model, network.folder)
        if expander is None:
            return TildeV2DocumentEncoder(model, network)
        folder = EncoderFolder.open(expander)
        same_precision = precision if precision in folder.manifest.networks() else None
        return TildeV2DocumentEncoder(model, network, session(folder, precision=same_precision))
    if isinstance(model, SpladeDoc):
        return SpladeDocumentEncoder(model, session(EncoderFolder.open(model.encoder), precision=precision))
    if isinstance(model, Lookup):
        return LookupDocumentEncoder(model, session(EncoderFolder.open(model.encoder), precision=precision))
    raise ParameterError(
        "this model has no document encoder",
        facts=[
            ("model", getattr(model, "name", type(model).__name__)),
            ("expected", "Tilde, TildeV2, SpladeDoc or Lookup"),
        ],
    )


def open_precomputed_encoder(
    model: NetworkModel,
    rows: str | Path,
    *,
    missing: MissingRows = "refuse",
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> PrecomputedEncoder:
    """Open the encoder of a model together with a file of rows that it computed before.

    The network is loaded when the first text without a row is encoded.

    Parameters
    ----------
    model, threads, precision, providers
        See `open_document_encoder`. The default precision is that of the rows.
    rows : str or Path
        File of rows, see `PrecomputedRows`.
    missing : {"encode", "refuse"}, optional
        Whether texts without a row are encoded or raise an error; `PrecomputedEncoder.missing` lists them.

    Raises
    ------
    VocabularyMismatchError
        If another encoder, or one with other settings, computed the rows.
    TermwiseError
        As `open_document_encoder` and `PrecomputedRows.open` do.
    """
    precomputed = PrecomputedRows.open(rows)
    if precision is None:
        precision = precomputed.precision
    encoder = _unloaded_encoder(model, threads, precision, providers)
    return PrecomputedEncoder(precomputed, encoder, missing=missing)


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

    Raises
    ------
    MissingFileError
        If the expanding encoder of its training neither ships with the package nor is in the same parent folder.
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
