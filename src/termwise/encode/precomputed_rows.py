"""Precomputed rows, keyed by their texts, for collections whose weights or vectors ship with the package.

The file is a numpy archive (``.npz``) without pickled objects. All files have

==========  ================  ============================================================================
array       type              content
==========  ================  ============================================================================
``about``   uint8             JSON: format, version, encoder, precision, vocabulary
``keys``    uint64 (n)        first 8 bytes, big-endian, of the SHA-256 of each text in UTF-8; increasing
``indptr``  int64 (n + 1)     row boundaries
==========  ================  ============================================================================

those with term weights

==========  ================  ============================================================================
``terms``   uint16 or uint32  terms, increasing within a row
``impacts`` uint8             weights in units of ``scale``, 1 to 255
``scale``   float64 ()        the largest weight divided by 255
==========  ================  ============================================================================

and those with the vectors of the windows of each text

==========  ================  ============================================================================
``rows``    int8 (m, d)       see `termwise.vectors.DocumentVectors`
``scales``  float32 (m)
==========  ================  ============================================================================

A weight is restored to within half a unit; a smaller weight becomes one unit. Vectors are restored exactly. The
probability that two of n texts have the same key is about n**2 / 2**65: one in 37 million for a million texts.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import settings_text, short_digest
from termwise.encode.document_encoder import (
    Advance,
    DocumentEncoder,
    EncodedRows,
    check_encoder,
    no_advance,
    settings_fingerprint,
)
from termwise.encode.encoder_manifest import NETWORK_PRECISIONS, NetworkPrecision
from termwise.encode.row_selection import find_keys, interleave_rows, select_rows, take_rows
from termwise.errors import (
    CorruptModelError,
    InferenceRequiredError,
    MissingFileError,
    ModelFormatError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.fixes import Fix
from termwise.models.checks import check_parameter
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular
from termwise.validation import check_path, check_texts
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

FORMAT = "termwise-rows"
VERSION = 1

MAX_ROWS = 1 << 36
"""Largest size of a file of rows in bytes."""

MissingRows = Literal["encode", "refuse"]
"""Whether texts without a row are encoded or raise an error."""


def row_key(text: str) -> int:
    """Return the key of a text.

    Examples
    --------
    >>> hex(row_key(""))
    '0xe3b0c44298fc1c14'
    """
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


@dataclass(frozen=True, eq=False)
class ImpactRows:
    """Term weights in 8 bits.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Strictly increasing in a row.
    impacts : ndarray of shape (nnz,), uint8
        1 to 255.
    scale : float
        Weight of one impact unit.
    """

    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.unsignedinteger[Any]]
    impacts: npt.NDArray[np.uint8]
    scale: float

    @classmethod
    def of(cls, rows: TermWeights, *, terms: int) -> ImpactRows:
        """Quantise rows over a vocabulary of this many terms.

        Raises
        ------
        WeightError
            If a weight is not above 0, as in the exact form of TILDE.
        """
        if rows.nnz and rows.weights.min() <= 0:
            raise WeightError(
                "precomputed rows hold only weights above 0",
                facts=[("smallest", float(rows.weights.min()))],
                fixes=[Fix.use(form="compact")],
            )
        scale = float(rows.weights.max(initial=0)) / 255 or 1.0
        impacts = np.clip(np.rint(rows.weights.astype(np.float64) / scale), 1, 255).astype(np.uint8)
        return cls(
            rows.indptr, rows.terms.astype(np.uint16 if terms <= 1 << 16 else np.uint32), impacts, scale
        )

    def weights(self, positions: npt.NDArray[np.integer], vocabulary: str) -> TermWeights:
        """Return the rows at these positions."""
        indptr, entries = take_rows(self.indptr, positions)
        weights = self.impacts[entries].astype(np.float64) * self.scale
        return TermWeights(
            indptr, self.terms[entries].astype(np.int64), weights.astype(np.float32), vocabulary
        )

    def check(self) -> None:
        """Raise `ValueError` or `WeightError` for arrays that do not have this form."""
        types = [array.dtype.str for array in (self.indptr, self.impacts, self.terms)]
        if types[:2] != ["<i8", "|u1"] or types[2] not in ("<u2", "<u4"):
            raise ValueError("the arrays have wrong types")
        if (self.impacts == 0).any() or not 0 < self.scale < np.inf:
            raise ValueError("an impact or the scale is invalid")
        TermWeights(self.indptr, self.terms.astype(np.int64), self.impacts, "")


@dataclass(frozen=True, eq=False)
class PrecomputedRows:
    """Rows keyed by their texts, created by `of` or `open`.

    Attributes
    ----------
    encoder : str
        `DocumentEncoder.fingerprint` of the encoder.
    precision : {"float32", "int8"}
        Precision of its network.
    vocabulary : str
        `Vocabulary.id` of the terms.
    keys : ndarray of shape (n,), uint64
        Strictly increasing.
    content : ImpactRows or DocumentVectors
        One row, or the vectors, for each key.
    """

    encoder: str
    precision: NetworkPrecision
    vocabulary: str
    keys: npt.NDArray[np.uint64]
    content: ImpactRows | DocumentVectors

    @classmethod
    def of(
        cls, texts: Sequence[str], encoder: DocumentEncoder, *, advance: Advance = no_advance
    ) -> PrecomputedRows:
        """Encode texts and quantise their rows.

        Parameters
        ----------
        texts : sequence of str
            Duplicates are encoded once.
        encoder : DocumentEncoder
            Encoder of vectors, or of weights above 0.
        advance : callable, optional
            Called with the fraction of the work done.

        Raises
        ------
        WeightError
            If a weight is not above 0, as in the exact form of TILDE.
        """
        check_texts(texts)
        check_encoder(encoder)
        unique = {row_key(text): text for text in texts}
        keys = sorted(unique)
        rows = encoder.encode_documents([unique[key] for key in keys], advance=advance)
        return cls(
            encoder.fingerprint,
            _precision(encoder),
            encoder.vocabulary.id,
            np.array(keys, dtype=np.uint64),
            rows if isinstance(rows, DocumentVectors) else ImpactRows.of(rows, terms=len(encoder.vocabulary)),
        )

    def write(self, path: str | Path) -> None:
        """Write the rows to a file; equal rows give equal bytes.

        Raises
        ------
        StorageError
            If the file cannot be written.
        """
        about = {
            "format": FORMAT,
            "version": VERSION,
            "encoder": self.encoder,
            "precision": self.precision,
            "vocabulary": self.vocabulary,
        }
        data = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(self.content, name) for name in _arrays(type(self.content))}
        np.savez_compressed(
            data,
            about=np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8),
            keys=self.keys,
            **arrays,
        )
        write_bytes_whole(Path(path), data.getvalue())

    @classmethod
    def open(cls, path: str | Path) -> PrecomputedRows:
        """Read a file of rows.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        ModelFormatError
            If it was written by a later version.
        CorruptModelError
            If it is damaged, or not a file of rows.
        """
        check_path("the file of rows", path)
        path = Path(path)
        try:
            data = read_regular(path, MAX_ROWS)
        except Misfit as misfit:
            raise _corrupt(path, f"it is {misfit.seen}") from None
        except OSError as error:
            raise MissingFileError.of("the file of rows cannot be read", path, error) from error
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            about = json.loads(arrays.pop("about").tobytes())
            _check_version(about, path)
            keys = arrays.pop("keys")
            rows = cls(about["encoder"], about["precision"], about["vocabulary"], keys, _content(arrays))
            rows._check()
        except (
            *(OSError, ValueError, TypeError, KeyError, EOFError, AttributeError, RecursionError),
            *(NotImplementedError, MemoryError, WeightError, zipfile.BadZipFile, zlib.error),
        ) as error:
            raise _corrupt(path, str(error).splitlines()[0][:200] if str(error) else "") from error
        return rows

    def _check(self) -> None:
        if self.keys.dtype.str != "<u8" or self.keys.ndim != 1 or (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("the keys do not increase")
        if self.content.indptr.shape != (len(self.keys) + 1,):
            raise ValueError("the rows do not fit the keys")
        if self.precision not in NETWORK_PRECISIONS:
            raise ValueError("the precision is invalid")
        if not isinstance(self.encoder, str) or not isinstance(self.vocabulary, str):
            raise ValueError("the encoder or the vocabulary is not a string")

    def positions(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the position of the row of each text, -1 for a text without a row."""
        keys = np.array([row_key(text) for text in texts], dtype=np.uint64)
        return find_keys(self.keys, keys)

    def rows(self, positions: npt.NDArray[np.integer]) -> EncodedRows:
        """Return the rows at these positions."""
        if isinstance(self.content, DocumentVectors):
            return select_rows(self.content, positions)
        return self.content.weights(positions, self.vocabulary)

    def __len__(self) -> int:
        return len(self.keys)


class PrecomputedEncoder:
    """`DocumentEncoder` that takes rows from a file, and encodes the other texts or refuses them.

    `gives_log_likelihoods` is false, because precomputed weights are above 0. Weights do not include an idf. All
    other properties are those of `encoder`.

    Parameters
    ----------
    precomputed : PrecomputedRows
    encoder : DocumentEncoder
        The encoder that computed them.
    missing : {"encode", "refuse"}, optional
        Whether texts without a row are encoded or raise an error.

    Raises
    ------
    VocabularyMismatchError
        If another encoder, or one with other settings, computed the rows.
    UnknownNameError
        If `missing` is neither of these.
    """

    def __init__(
        self, precomputed: PrecomputedRows, encoder: DocumentEncoder, *, missing: MissingRows = "refuse"
    ) -> None:
        check_parameter("precomputed rows", "missing", missing, MissingRows)
        if (precomputed.encoder, precomputed.vocabulary) != (encoder.fingerprint, encoder.vocabulary.id):
            raise VocabularyMismatchError(
                "the precomputed rows belong to another encoder or to other settings",
                facts=[
                    ("rows of", f"{precomputed.precision}  {short_digest(precomputed.encoder)}"),
                    ("encoder", f"{_precision(encoder)}  {short_digest(encoder.fingerprint)}"),
                    ("its settings", settings_text(encoder.description.get("settings") or {})),
                ],
                fixes=["encode all texts, without precomputed rows", "compute the rows again"],
            )
        content = precomputed.content
        if isinstance(content, ImpactRows) and content.terms.max(initial=0) >= len(encoder.vocabulary):
            raise VocabularyMismatchError(
                "the precomputed rows hold a term that is not in the vocabulary of the encoder",
                facts=[("term", int(content.terms.max())), ("terms", len(encoder.vocabulary))],
                fixes=["compute the rows again"],
            )
        self._precomputed = precomputed
        self._encoder = encoder
        self._missing = missing
        self.vocabulary = encoder.vocabulary
        self.analyzer = encoder.analyzer
        self.query_weights = encoder.query_weights
        self.floors = encoder.floors
        self.gives_log_likelihoods = False
        self.idf_power = encoder.idf_power
        self.only_text_terms = encoder.only_text_terms
        self.term_vectors = encoder.term_vectors
        self.block = encoder.block

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of the encoder and of the keys of the rows."""
        keys = hashlib.sha256(self._precomputed.keys.tobytes()).hexdigest()
        return settings_fingerprint({"encoder": self._encoder.fingerprint, "remembered": keys})

    @property
    def description(self) -> dict[str, Any]:
        """Description of the encoder, with the number of the rows and the scale of their weights."""
        rows: dict[str, Any] = {"rows": len(self._precomputed)}
        if isinstance(self._precomputed.content, ImpactRows):
            rows["scale"] = self._precomputed.content.scale
        return {**self._encoder.description, "remembered": rows}

    def missing(self, texts: Sequence[str]) -> list[int]:
        """Return the positions of the texts without a row."""
        return np.flatnonzero(self._precomputed.positions(texts) < 0).tolist()

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> EncodedRows:
        """Return one row for each text, from the file or from the network.

        Raises
        ------
        InferenceRequiredError
            If a text has no row and ``missing="refuse"``.
        ModelFormatError, CorruptModelError
            If the encoder is needed and cannot be used.
        """
        check_texts(texts)
        positions = self._precomputed.positions(texts)
        is_known = positions >= 0
        known = self._precomputed.rows(positions[is_known])
        unknown = np.flatnonzero(~is_known).tolist()
        if not unknown:
            advance(1.0)
            return known
        if self._missing == "refuse":
            raise InferenceRequiredError(
                f"{len(unknown)} of {len(texts)} texts have no precomputed weights",
                facts=[
                    ("first text", repr(texts[unknown[0]][:60])),
                    ("encoder", self._encoder.description.get("name")),
                ],
                fixes=[Fix.use("use {} to run the network over them", missing="encode"), "omit these texts"],
            )
        encoded = self._encoder.encode_documents([texts[position] for position in unknown], advance=advance)
        return interleave_rows(known, encoded, is_known)


def _arrays(content: type[ImpactRows | DocumentVectors]) -> set[str]:
    """Return the names of the arrays of a content in a file."""
    return {field.name for field in fields(content)}


def _content(arrays: dict[str, npt.NDArray[Any]]) -> ImpactRows | DocumentVectors:
    """Return the content of a file, or raise `ValueError`, `TypeError` or `WeightError`."""
    if set(arrays) == _arrays(DocumentVectors):
        if [arrays[name].dtype.str for name in ("indptr", "rows", "scales")] != ["<i8", "|i1", "<f4"]:
            raise ValueError("the arrays have wrong types")
        return DocumentVectors(**arrays)
    content = ImpactRows(scale=float(arrays.pop("scale")), **arrays)
    content.check()
    return content


def _precision(encoder: DocumentEncoder) -> NetworkPrecision:
    network = encoder.description.get("network")
    precision = network.get("precision") if isinstance(network, dict) else None
    return cast(NetworkPrecision, precision if precision in NETWORK_PRECISIONS else "float32")


def _corrupt(path: Path, why: str) -> CorruptModelError:
    return CorruptModelError(
        "the file is not a file of rows, or is damaged",
        facts=[("file", path), ("reason", why)],
        fixes=["copy the file again", "compute the rows again"],
    )


def _check_version(about: Any, path: Path) -> None:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    if type(about.get("version")) is int and about["version"] > VERSION:
        raise ModelFormatError(
            "this file of rows was written by a later version of termwise",
            facts=[("file", path), ("format", about["version"]), ("known here", VERSION)],
            fixes=["install a newer version of termwise"],
        )
