"""Rows of the shipped collection, which shipped encoders computed before.

A file of rows is a numpy archive (``.npz``) without pickled objects. All files have

==========  ================  ============================================================================
array       type              content
==========  ================  ============================================================================
``about``   uint8             JSON: format, version, encoder and vocabulary, and a digest of all texts
``indptr``  int64 (n + 1)     row boundaries, in the order of the documents
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

A weight is restored to within half a unit; a smaller weight becomes one unit. Vectors are restored exactly.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection.python_docs import python_folder
from termwise.encode.block_file import text_digests
from termwise.encode.document_encoder import (
    Advance,
    DocumentEncoder,
    EncodedRows,
    no_advance,
    settings_fingerprint,
)
from termwise.encode.open_encoder import open_document_encoder
from termwise.encode.row_selection import interleave_rows, select_rows
from termwise.errors import CorruptModelError, WeightError
from termwise.fixes import Fix
from termwise.models import NetworkModel
from termwise.storage.atomic_file import write_bytes_whole
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

FORMAT = "termwise-rows"
VERSION = 2


def shipped_rows(name: str) -> Path | None:
    """Return the file of rows of the shipped collection for a model, or None."""
    path = python_folder() / "rows" / f"{name}.npz"
    return path if path.is_file() else None


def write_rows(path: Path, texts: Sequence[str], encoder: DocumentEncoder, rows: EncodedRows) -> None:
    """Quantise the rows of all texts and write them to a file; equal rows give equal bytes.

    Raise `WeightError` if a weight is not above 0, as in the exact form of TILDE.
    """
    arrays: dict[str, Any]
    if isinstance(rows, DocumentVectors):
        arrays = {"rows": rows.rows, "scales": rows.scales}
    else:
        if rows.weights.min(initial=np.inf) <= 0:
            raise WeightError(
                "a file of rows holds only weights above 0",
                facts=[("smallest", float(rows.weights.min()))],
                fixes=[Fix.use(form="compact")],
            )
        scale = float(rows.weights.max(initial=0)) / 255 or 1.0
        impacts = np.clip(np.rint(rows.weights.astype(np.float64) / scale), 1, 255).astype(np.uint8)
        terms = rows.terms.astype(np.uint16 if len(encoder.vocabulary) <= 1 << 16 else np.uint32)
        arrays = {"terms": terms, "impacts": impacts, "scale": np.float64(scale)}
    about = json.dumps(_about(encoder, texts), sort_keys=True).encode()
    data = io.BytesIO()
    np.savez_compressed(data, about=np.frombuffer(about, dtype=np.uint8), indptr=rows.indptr, **arrays)
    write_bytes_whole(path, data.getvalue())


def open_shipped_encoder(
    model: NetworkModel, texts: Sequence[str], rows: Path, *, threads: int = 1
) -> DocumentEncoder:
    """Open the encoder of a model; the rows of `texts` come from a file if this encoder computed it from them.

    The texts are all of the shipped collection, in order. The network is loaded when a text is encoded.
    """
    encoder = open_document_encoder(model, threads=threads, load=False)
    try:
        with np.load(io.BytesIO(rows.read_bytes()), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = _about(encoder, texts)
        if json.loads(arrays.pop("about").tobytes()) != about:
            return encoder
        scale = float(arrays["scale"]) if "scale" in arrays else None
        return _ShippedRowsEncoder(encoder, texts, about, _rows(arrays, encoder.vocabulary.id), scale)
    except (
        *(OSError, ValueError, TypeError, KeyError, EOFError, NotImplementedError),
        *(WeightError, zipfile.BadZipFile, zlib.error),
    ) as error:
        raise CorruptModelError(
            "the file is not a file of rows, or is damaged",
            facts=[("file", rows), ("reason", str(error).partition("\n")[0][:200])],
            fixes=["install the package again"],
        ) from error


class _ShippedRowsEncoder:
    """`DocumentEncoder` that takes the rows of known texts from memory, and encodes other texts."""

    def __init__(
        self,
        encoder: DocumentEncoder,
        texts: Sequence[str],
        about: Mapping[str, str | int],
        rows: EncodedRows,
        scale: float | None,
    ) -> None:
        self._encoder = encoder
        self._rows = rows
        self._scale = scale
        self._positions = {text: position for position, text in enumerate(texts)}
        self.vocabulary = encoder.vocabulary
        self.analyzer = encoder.analyzer
        self.query_weights = encoder.query_weights
        self.floors = encoder.floors
        self.gives_log_likelihoods = encoder.gives_log_likelihoods
        self.idf_power = encoder.idf_power
        self.only_text_terms = encoder.only_text_terms
        self.term_vectors = encoder.term_vectors
        self.block = encoder.block
        self.fingerprint = settings_fingerprint(about)

    @property
    def description(self) -> dict[str, Any]:
        """Description of the encoder, with the number of the rows and the scale of their weights."""
        rows: dict[str, Any] = {"rows": len(self._rows)}
        if self._scale is not None:
            rows["scale"] = self._scale
        return {**self._encoder.description, "remembered": rows}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> EncodedRows:
        """Return one row for each text."""
        positions = np.array([self._positions.get(text, -1) for text in texts], dtype=np.int64)
        is_known = positions >= 0
        known = select_rows(self._rows, positions[is_known])
        if is_known.all():
            advance(1.0)
            return known
        encoded = self._encoder.encode_documents(list(compress(texts, ~is_known)), advance=advance)
        return interleave_rows(known, encoded, is_known)


def _about(encoder: DocumentEncoder, texts: Sequence[str]) -> dict[str, str | int]:
    """Return the record of the encoder and the texts of a file of rows."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "encoder": encoder.fingerprint,
        "vocabulary": encoder.vocabulary.id,
        "texts": f"sha256:{hashlib.sha256(text_digests(texts).tobytes()).hexdigest()}",
    }


def _rows(arrays: Mapping[str, npt.NDArray[Any]], vocabulary: str) -> EncodedRows:
    """Return the rows of a file, or raise `KeyError`, `TypeError`, `ValueError` or `WeightError`."""
    if "rows" in arrays:
        return DocumentVectors(**arrays)
    weights = arrays["impacts"].astype(np.float64) * arrays["scale"]
    return TermWeights(
        arrays["indptr"], arrays["terms"].astype(np.int64), weights.astype(np.float32), vocabulary
    )
