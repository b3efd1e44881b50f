"""Rows that were computed before, keyed by their texts: for collections whose weights ship with the package.

The file is a numpy archive (``.npz``) without pickled objects:

==========  ================  ============================================================================
array       type              what
==========  ================  ============================================================================
``about``   uint8             JSON: format, version, encoder, precision, vocabulary
``keys``    uint64 (n)        first 8 bytes, big-endian, of the SHA-256 of each text in UTF-8; increasing
``indptr``  int64 (n + 1)     row boundaries
``terms``   uint16 or uint32  terms, increasing within a row
``impacts`` uint8             weights in units of ``scale``, 1 to 255
``scale``   float64 ()        the largest weight divided by 255
==========  ================  ============================================================================

A weight is restored to within half a unit, but to one unit if it is smaller. The probability that two of n texts share
a key is about n**2 / 2**65: one in 37 million for a million texts.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import settings_text, short_digest
from termwise.encode.document_encoder import (
    Advance,
    DocumentEncoder,
    check_encoder,
    fingerprint_of,
    no_advance,
)
from termwise.encode.encoder_manifest import NETWORK_PRECISIONS, NetworkPrecision
from termwise.encode.pooled_rows import row_places
from termwise.errors import (
    CorruptModelError,
    InferenceRequiredError,
    MissingFileError,
    ModelFormatError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models.checks import check_choice
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular
from termwise.text import Analyzer, Vocabulary
from termwise.validation import check_path, check_texts
from termwise.weights import TermWeights

FORMAT = "termwise-rows"
VERSION = 1

MAX_ROWS = 1 << 36
"""Largest size of a file of rows in bytes."""

MissingRows = Literal["encode", "refuse"]
"""What to do with texts whose rows are unknown."""


def key_of(text: str) -> int:
    """Return the key of a text.

    Examples
    --------
    >>> hex(key_of(""))
    '0xe3b0c44298fc1c14'
    """
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


@dataclass(frozen=True, eq=False)
class PrecomputedRows:
    """Quantised rows, keyed by their texts.

    Use `of` or `open` to make one.

    Attributes
    ----------
    encoder : str
        `DocumentEncoder.fingerprint` of the encoder that computed the rows.
    precision : {"float32", "int8"}
        Precision of its network.
    vocabulary : str
        `Vocabulary.id` of the terms.
    keys : ndarray of shape (n,), uint64
        Strictly increasing.
    indptr : ndarray of shape (n + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), uint16 or uint32
        Strictly increasing in a row.
    impacts : ndarray of shape (nnz,), uint8
        1 to 255.
    scale : float
        Weight of one impact unit.
    """

    encoder: str
    precision: NetworkPrecision
    vocabulary: str
    keys: npt.NDArray[np.uint64]
    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.unsignedinteger[Any]]
    impacts: npt.NDArray[np.uint8]
    scale: float

    @classmethod
    def of(
        cls, texts: Sequence[str], encoder: DocumentEncoder, *, advance: Advance = no_advance
    ) -> PrecomputedRows:
        """Encode texts and remember their rows.

        Parameters
        ----------
        texts : sequence of str
            Duplicates are encoded once.
        encoder : DocumentEncoder
            Computes the rows; weights must be above 0.
        advance : callable, optional
            Called with the fraction of the work that is done.

        Raises
        ------
        WeightError
            If a weight is not above 0, as in the exact form of TILDE.
        """
        check_texts(texts)
        check_encoder(encoder)
        unique = {key_of(text): text for text in texts}
        keys = sorted(unique)
        rows = encoder.encode_documents([unique[key] for key in keys], advance=advance)
        if rows.nnz and rows.weights.min() <= 0:
            raise WeightError(
                "only weights above 0 can be remembered",
                facts=[("smallest", float(rows.weights.min()))],
                fixes=["--set form=compact"],
            )
        scale = float(rows.weights.max(initial=0)) / 255 or 1.0
        impacts = np.clip(np.rint(rows.weights.astype(np.float64) / scale), 1, 255).astype(np.uint8)
        return cls(
            encoder.fingerprint,
            _precision(encoder),
            rows.vocabulary,
            np.array(keys, dtype=np.uint64),
            rows.indptr,
            rows.terms.astype(np.uint16 if len(encoder.vocabulary) <= 1 << 16 else np.uint32),
            impacts,
            scale,
        )

    def write(self, path: str | Path) -> None:
        """Write the rows to a file; equal rows give equal bytes.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
        about = {
            "format": FORMAT,
            "version": VERSION,
            "encoder": self.encoder,
            "precision": self.precision,
            "vocabulary": self.vocabulary,
        }
        data = io.BytesIO()
        np.savez_compressed(
            data,
            about=np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8),
            keys=self.keys,
            indptr=self.indptr,
            terms=self.terms,
            impacts=self.impacts,
            scale=np.float64(self.scale),
        )
        write_bytes_whole(Path(path), data.getvalue())

    @classmethod
    def open(cls, path: str | Path) -> PrecomputedRows:
        """Read a file of rows.

        Raises
        ------
        MissingFileError
            If it cannot be read.
        ModelFormatError
            If it was written by a later version.
        CorruptModelError
            If it is damaged or something else.
        """
        check_path("the file of rows", path)
        path = Path(path)
        try:
            data = read_regular(path, MAX_ROWS)
        except Misfit as misfit:
            raise _corrupt(path, f"it is {misfit.seen}") from None
        except OSError as error:
            raise MissingFileError(
                "the file of rows cannot be read", facts=[("file", path), ("system says", error.strerror)]
            ) from error
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            about = json.loads(arrays.pop("about").tobytes())
            _check_version(about, path)
            rows = cls(
                about["encoder"],
                about["precision"],
                about["vocabulary"],
                scale=float(arrays.pop("scale")),
                **arrays,
            )
            rows._check()
        except (
            *(OSError, ValueError, TypeError, KeyError, EOFError, AttributeError, RecursionError),
            *(NotImplementedError, MemoryError, WeightError, zipfile.BadZipFile, zlib.error),
        ) as error:
            raise _corrupt(path, str(error).splitlines()[0][:200] if str(error) else "") from error
        return rows

    def _check(self) -> None:
        kinds = [array.dtype.str for array in (self.keys, self.indptr, self.impacts, self.terms)]
        if kinds[:3] != ["<u8", "<i8", "|u1"] or kinds[3] not in ("<u2", "<u4"):
            raise ValueError("arrays of other types")
        if self.keys.ndim != 1 or (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("keys that do not increase")
        if self.indptr.shape != (len(self.keys) + 1,) or (self.impacts == 0).any():
            raise ValueError("rows that do not fit the keys")
        if not 0 < self.scale < np.inf or self.precision not in NETWORK_PRECISIONS:
            raise ValueError("a scale or a precision that nobody writes")
        if not isinstance(self.encoder, str) or not isinstance(self.vocabulary, str):
            raise ValueError("an encoder or a vocabulary that nobody writes")
        TermWeights(self.indptr, self.terms.astype(np.int64), self.impacts, self.vocabulary)

    def places(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the position of the row of each text, -1 where it is unknown."""
        wanted = np.array([key_of(text) for text in texts], dtype=np.uint64)
        if len(self.keys) == 0:
            return np.full(len(texts), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, found, -1).astype(np.int64)

    def rows(self, places: npt.NDArray[np.integer]) -> TermWeights:
        """Return the rows at these positions."""
        indptr, entries = row_places(self.indptr, places)
        weights = self.impacts[entries].astype(np.float64) * self.scale
        return TermWeights(
            indptr, self.terms[entries].astype(np.int64), weights.astype(np.float32), self.vocabulary
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.keys)


class PrecomputedEncoder:
    """A `DocumentEncoder` that takes known rows from a file.

    Parameters
    ----------
    remembered : PrecomputedRows
        Rows computed before.
    encoder : DocumentEncoder
        The encoder that computed them; it describes the rows and encodes other texts.
    missing : {"encode", "refuse"}, optional
        What to do with texts whose rows are unknown.

    Raises
    ------
    VocabularyMismatchError
        If the rows were made by another encoder, or with other settings.
    UnknownNameError
        If there is no such `missing`.
    """

    def __init__(
        self, remembered: PrecomputedRows, encoder: DocumentEncoder, *, missing: MissingRows = "refuse"
    ) -> None:
        check_choice("remembered rows", "missing", missing, ("encode", "refuse"))
        if (remembered.encoder, remembered.vocabulary) != (encoder.fingerprint, encoder.vocabulary.id):
            raise VocabularyMismatchError(
                "the remembered rows were made by another encoder or with other settings",
                facts=[
                    ("rows of", f"{remembered.precision}  {short_digest(remembered.encoder)}"),
                    ("encoder", f"{_precision(encoder)}  {short_digest(encoder.fingerprint)}"),
                    ("its settings", settings_text(encoder.description.get("settings") or {})),
                ],
                fixes=["leave the rows out and encode everything", "compute the rows again"],
            )
        if remembered.terms.max(initial=0) >= len(encoder.vocabulary):
            raise VocabularyMismatchError(
                "the remembered rows hold a term that the encoder does not know",
                facts=[("term", int(remembered.terms.max())), ("terms", len(encoder.vocabulary))],
                fixes=["compute the rows again"],
            )
        self._remembered = remembered
        self._encoder = encoder
        self._missing = missing

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms, numbered as the rows number them."""
        return self._encoder.vocabulary

    @property
    def analyzer(self) -> Analyzer:
        """Cuts queries into terms of the vocabulary."""
        return self._encoder.analyzer

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each term that a query holds; None where they are counted."""
        return self._encoder.query_weights

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """What an absent term contributes; None where that is 0 for all."""
        return self._encoder.floors

    @property
    def gives_log_likelihoods(self) -> bool:
        """False: weights are above 0."""
        return False

    @property
    def idf_power(self) -> float:
        """Power of the idf that the weights in an index are multiplied by; remembered rows are without it."""
        return self._encoder.idf_power

    @property
    def only_text_terms(self) -> bool:
        """Whether every weighted term occurs in the text of its document."""
        return self._encoder.only_text_terms

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return self._encoder.block

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of the encoder and of the keys of the known rows."""
        known = hashlib.sha256(self._remembered.keys.tobytes()).hexdigest()
        return fingerprint_of({"encoder": self._encoder.fingerprint, "remembered": known})

    @property
    def description(self) -> dict[str, Any]:
        """The description of the encoder, and the number and scale of the remembered rows."""
        remembered = {"rows": len(self._remembered), "scale": self._remembered.scale}
        return {**self._encoder.description, "remembered": remembered}

    def missing(self, texts: Sequence[str]) -> list[int]:
        """Return the positions of the texts whose rows are unknown."""
        return np.flatnonzero(self._remembered.places(texts) < 0).tolist()

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return one row for each text: a known one, or one that the network computes now.

        Raises
        ------
        InferenceRequiredError
            If a row is unknown and ``missing="refuse"``.
        ModelFormatError, CorruptModelError
            If the encoder is needed and cannot be used.
        """
        check_texts(texts)
        places = self._remembered.places(texts)
        known = self._remembered.rows(places[places >= 0])
        unknown = np.flatnonzero(places < 0)
        if len(unknown) == 0:
            advance(1.0)
            return known
        if self._missing == "refuse":
            raise InferenceRequiredError(
                f"the weights of {len(unknown)} of {len(texts)} texts were not computed before",
                facts=[
                    ("first text", repr(texts[unknown[0]][:60])),
                    ("encoder", self._encoder.description.get("name")),
                ],
                fixes=["--encode, to run the network over them", "leave these texts out"],
            )
        made = self._encoder.encode_documents([texts[place] for place in unknown.tolist()], advance=advance)
        both = TermWeights.concatenate([known, made])
        order = np.where(places >= 0, np.cumsum(places >= 0) - 1, len(known) + np.cumsum(places < 0) - 1)
        indptr, entries = row_places(both.indptr, order)
        return TermWeights(indptr, both.terms[entries], both.weights[entries], both.vocabulary)


def _precision(encoder: DocumentEncoder) -> NetworkPrecision:
    network = encoder.description.get("network")
    precision = network.get("precision") if isinstance(network, dict) else None
    return cast(NetworkPrecision, precision if precision in NETWORK_PRECISIONS else "float32")


def _corrupt(path: Path, why: str) -> CorruptModelError:
    return CorruptModelError(
        "this is not a file of rows, or a damaged one",
        facts=[("file", path), ("why", why)],
        fixes=["copy the file again, or compute it again"],
    )


def _check_version(about: Any, path: Path) -> None:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"no archive with the format {FORMAT}")
    if type(about.get("version")) is int and about["version"] > VERSION:
        raise ModelFormatError(
            "this file of rows was written by a later version of termwise",
            facts=[("file", path), ("format", about["version"]), ("known here", VERSION)],
            fixes=["pip install --upgrade termwise"],
        )
