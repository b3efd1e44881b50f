"""Vectors of documents from the query table of a lookup encoder, without its network.

The vector of a window of a document is

    u / |u|        u = sum over the distinct terms t of the window of  (1 + ln tf(t)) * v[t]

with the rows v[t] of the query table and the number tf(t) of occurrences of the term. Windows have as many pieces as
those that the network reads. A window without a term that has a row has no vector. The weights of the rows are rounded
to multiples of 1 / 1024, and the numbers of u to 22 bits for |u|, so that the vectors do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import Advance, no_advance
from termwise.encode.encoder_folder import QUERY_ROWS, QUERY_SHIFTS, EncoderFolder
from termwise.encode.folder_encoder import FolderEncoder, encode_blocks
from termwise.encode.network_inputs import chunks, cut_windows, window_sizes
from termwise.kernels.counting import count_rows
from termwise.models import Lookup
from termwise.vectors import DocumentVectors, TermVectors

DOCUMENTS = 8192
"""Documents in a block."""

WINDOWS = 1024
"""Windows whose sums are computed together."""

COUNT_UNITS = 1 << 10
"""Weights of counts are multiples of 1 / 1024, so that sums of rows are exact."""

NORM_BITS = 22
"""Precision in bits of the numbers of a sum when its length is computed. Sums of their squares are exact."""


@final
class TableDocumentEncoder(FolderEncoder):
    """Document encoder of `Lookup` with ``documents="table"``; the module has the formula.

    Parameters
    ----------
    model : Lookup
        Length and overlap of windows.
    folder : EncoderFolder
        Encoder of kind lookup, of which the query table and the tokenizer of queries are read.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    ParameterError
        If the windows are longer than the input of the encoder, or their overlap is not smaller than a window.
    """

    query_weights = None
    floors = None
    gives_log_likelihoods = False
    idf_power = 0.0
    only_text_terms = False
    block = DOCUMENTS

    def __init__(self, model: Lookup, folder: EncoderFolder) -> None:
        super().__init__(folder, "lookup")
        self._model = model
        manifest = folder.manifest
        self._length = model.length or manifest.length
        self._size, self._overlap = window_sizes(
            length=self._length, overlap=model.overlap, positions=manifest.positions
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (self._model,)

    @property
    def term_vectors(self) -> TermVectors:
        """Query table of the encoder."""
        return self.folder.term_vectors

    @property
    def description(self) -> dict[str, Any]:
        """Name, fingerprint and settings of the encoder, for the manifest of an index."""
        return {
            "name": self.folder.name,
            "kind": self.folder.manifest.kind,
            "id": self.folder.id,
            "fingerprint": self.fingerprint,
            "settings": self._settings,
        }

    @property
    def _files(self) -> Sequence[str]:
        return [QUERY_ROWS, QUERY_SHIFTS]

    @property
    def _settings(self) -> dict[str, Any]:
        return {"documents": "table", "length": self._length, "overlap": self._overlap}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> DocumentVectors:
        """Return the vectors of the windows of each text."""
        return encode_blocks(texts, self.block, self._vectors, advance)

    def _vectors(self, texts: Sequence[str], advance: Advance) -> DocumentVectors:
        pieces: list[npt.NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]
        lengths: list[int] = []
        windows = np.zeros(len(texts), dtype=np.int64)
        for position, text in enumerate(texts):
            numbers = self.folder.analyzer.numbers(text)
            cut = cut_windows(len(numbers), size=self._size, overlap=self._overlap)
            pieces += [numbers] if len(cut) == 1 else [numbers[start:stop] for start, stop in cut]
            lengths += [stop - start for start, stop in cut]
            windows[position] = len(cut)
        flat, bounds = np.concatenate(pieces), np.cumsum([0, *lengths])
        units: list[npt.NDArray[np.float32]] = [np.empty((0, self.term_vectors.dimensions), np.float32)]
        for first, last in chunks(len(lengths), WINDOWS):
            part = bounds[first : last + 1]
            units.append(self._units(part - part[0], flat[part[0] : part[-1]]))
            advance(last / len(lengths))
        matrix = np.concatenate(units)
        filled = matrix.any(axis=1)
        owners = np.repeat(np.arange(len(texts)), windows)[filled]
        return DocumentVectors.of(np.searchsorted(owners, np.arange(len(texts) + 1)), matrix[filled])

    def _units(
        self, indptr: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of windows with these numbers of pieces; zeros for one without a known term."""
        from scipy.sparse import csr_array

        table = self.term_vectors
        indptr, terms, counts = count_rows(indptr, numbers)
        seen = np.flatnonzero(np.bincount(terms, minlength=1))
        columns = np.zeros(int(seen.max(initial=0)) + 1, dtype=np.int32)  # faster than np.unique
        columns[seen] = np.arange(len(seen))
        rows = table.rows[seen].astype(np.float64)
        rows *= (2.0 ** table.shifts[seen])[:, None]
        weights = np.rint((1.0 + np.log(counts.astype(np.float64))) * COUNT_UNITS)
        sums: npt.NDArray[np.float64] = (
            csr_array((weights, columns[terms], indptr), shape=(len(indptr) - 1, len(seen))) @ rows
        )
        norms = _norms(sums)
        return (sums / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32)


def _norms(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the lengths of rows, the same on every machine; 0 for a row of zeros."""
    _, exponents = np.frexp(np.abs(sums).max(axis=1, initial=0.0))
    scales = np.ldexp(1.0, exponents - NORM_BITS)
    rounded = np.rint(sums / scales[:, None])
    norms: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rounded, rounded)) * scales
    return norms


def _reopened(model: Lookup) -> TableDocumentEncoder:
    """Open the encoder of a model in another process."""
    return TableDocumentEncoder(model, EncoderFolder.open(model.encoder))
