"""From a model to the encoder that runs its network: one line for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from termwise.display.safe_text import short_digest
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.encoder_folder import EncoderFolder, shipped_encoders
from termwise.encode.encoder_manifest import NAME as MANIFEST
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.precomputed_rows import MissingRows, PrecomputedEncoder, PrecomputedRows
from termwise.encode.query_network import TildeQueryEncoder
from termwise.encode.splade_doc import SpladeDocumentEncoder
from termwise.encode.tilde import TildeDocumentEncoder
from termwise.encode.tildev2 import TildeV2DocumentEncoder
from termwise.errors import MissingFileError, ParameterError
from termwise.models import NetworkModel, SpladeDoc, Tilde, TildeV2
from termwise.models.tildev2 import AS_TRAINED, NO_EXPANSION

_NetworkEncoder = TildeDocumentEncoder | TildeV2DocumentEncoder | SpladeDocumentEncoder


def open_document_encoder(
    model: NetworkModel,
    *,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> DocumentEncoder:
    """Open the encoder that a model names and load its network.

    Parameters
    ----------
    model : NetworkModel
        `Tilde`, `TildeV2` or `SpladeDoc`.
    threads : int, optional
        Threads for the arithmetic within a layer, 1024 at most.
    precision : {"float32", "int8"}, optional
        Which network, if the encoder has both; by default see `choose_precision`. An encoder that expands documents for
        this one takes the same, or what it has.
    providers : sequence of str, optional
        Execution providers of onnxruntime in order of preference, such as ``cuda``; by default the processor.

    Returns
    -------
    DocumentEncoder
        Its `description` records what was chosen.

    Raises
    ------
    MissingFileError
        If there is no such encoder.
    ModelFormatError, CorruptModelError
        If it cannot be used, or is damaged.
    VocabularyMismatchError
        If an encoder and the one that expands its documents do not match.
    ParameterError
        If a setting does not suit the encoder, this machine has no such provider, or an argument is of the wrong type.
    """
    encoder = lazy_document_encoder(model, threads=threads, precision=precision, providers=providers)
    encoder.load()
    return encoder


def lazy_document_encoder(
    model: NetworkModel,
    *,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> _NetworkEncoder:
    """Open the encoder that a model names without loading its network, which happens when it is first run.

    See `open_document_encoder`. Fingerprint, vocabulary and description are known without the network.
    """
    session = partial(OnnxSession, threads=threads, providers=providers)
    if isinstance(model, Tilde):
        return TildeDocumentEncoder(model, session(EncoderFolder.open(model.encoder), precision=precision))
    if isinstance(model, TildeV2):
        network = session(EncoderFolder.open(model.encoder), precision=precision)
        expander = expander_of(model, network.folder)
        if expander is None:
            return TildeV2DocumentEncoder(model, network, None)
        folder = EncoderFolder.open(expander)
        alike = precision if precision in folder.manifest.networks() else None
        return TildeV2DocumentEncoder(model, network, session(folder, precision=alike))
    if isinstance(model, SpladeDoc):
        return SpladeDocumentEncoder(model, session(EncoderFolder.open(model.encoder), precision=precision))
    raise ParameterError(
        "nothing here runs the network of this model",
        facts=[
            ("model", getattr(model, "name", type(model).__name__)),
            ("expected", "Tilde, TildeV2 or SpladeDoc"),
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
    """Open the encoder that a model names together with a file of rows that it computed before.

    The network is not loaded until a text comes whose row is not in the file.

    Parameters
    ----------
    model, threads, precision, providers
        See `open_document_encoder`. The default precision is the one the rows were computed in.
    rows : str or Path
        File of rows, see `PrecomputedRows`.
    missing : {"encode", "refuse"}, optional
        What happens to texts whose rows are not in the file; `PrecomputedEncoder.missing` lists them.

    Raises
    ------
    VocabularyMismatchError
        If the rows were made by another encoder, or with other settings.
    TermwiseError
        As `open_document_encoder` and `PrecomputedRows.open` do.
    """
    known = PrecomputedRows.open(rows)
    chosen = known.precision if precision is None else precision
    encoder = lazy_document_encoder(model, threads=threads, precision=chosen, providers=providers)
    return PrecomputedEncoder(known, encoder, missing=missing)


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
    """Find the encoder that expands documents for a TILDEv2 encoder.

    Returns
    -------
    str or None
        Its name or path; None if documents are not expanded.

    Raises
    ------
    MissingFileError
        If the one it was trained with neither ships with the package nor lies beside its folder.
    """
    if model.expansion_encoder == NO_EXPANSION:
        return None
    trained = folder.manifest.expansion
    if model.expansion_encoder != AS_TRAINED:
        return model.expansion_encoder
    if trained is None:
        return None
    beside = folder.folder.parent / trained.name
    places = [*shipped_encoders(), *([str(beside)] if (beside / MANIFEST).is_file() else [])]
    for place in places:
        if EncoderFolder.open(place).id == trained.encoder:
            return place
    raise MissingFileError(
        "the encoder that expands documents for this one is not here",
        facts=[
            ("encoder", folder.name),
            ("was trained with", f"{trained.name}, {short_digest(trained.encoder)}"),
            ("looked for", ", ".join([*shipped_encoders(), str(beside)])),
        ],
        fixes=[
            "--set expansion_encoder=FOLDER, the TILDE encoder it was trained with",
            "--set expansion_encoder=none",
        ],
    )
