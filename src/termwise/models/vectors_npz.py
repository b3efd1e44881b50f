"""Term weights from a sparse matrix in a NumPy archive."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from termwise.errors import (
    DataError,
    DuplicateIdError,
    EmptyCollectionError,
    MissingFileError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.models.base import VectorBatch
from termwise.models.vectors_jsonl import BATCH_WEIGHTS
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.text.analyzer import Analyzer

_REQUIRED = ("indptr", "indices", "data", "shape")
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class CsrVectors:
    """Documents with their weights in the rows of a compressed sparse matrix.

    The archive has the layout of ``scipy.sparse.save_npz``: ``indptr``, ``indices``, ``data``, ``shape`` and,
    optionally, ``format`` (``csr``). Two more arrays of text may be added: ``doc_ids`` (one a row; whole
    numbers are taken as text; otherwise the row numbers from 0 serve) and ``tokens`` (one a column). Columns
    may stand in any order in a row, each once; weights must be finite and at least 0.

    The numbering of the terms is that of the columns, unless an analyzer with a closed vocabulary is given:
    then ``tokens`` are looked up in it, and without ``tokens`` the columns are taken to be its numbers.
    Without either, the tokens are the column numbers in decimal, ``"0"``, ``"1"``, …, so that the analyzer
    ``whitespace`` reads queries such as ``1055 2003``.

    Arrays that are stored uncompressed (``numpy.savez``, ``save_npz(compressed=False)``) are memory-mapped
    and read as they are needed; their checksums inside the archive are not compared. Compressed ones are
    loaded whole.

    Use `read_vectors` or `open` to make one.

    Attributes
    ----------
    path : Path
        The file.
    vocabulary : Vocabulary
        The numbering of the terms.
    indptr, indices, data : ndarray
        The matrix as it is in the file.
    doc_ids : tuple of str of length n
        Identifiers of the rows.
    renumbering : ndarray of shape (columns,), int64, or None
        Term number of each column where it is not the column's own.
    """

    path: Path
    vocabulary: Vocabulary
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.integer[Any]]
    data: npt.NDArray[np.number[Any]]
    doc_ids: tuple[str, ...]
    renumbering: npt.NDArray[np.int64] | None = None

    @classmethod
    def open(cls, path: str | Path, *, analyzer: Analyzer | None = None) -> CsrVectors:
        """Map or load the arrays of the file and settle the vocabulary.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        DataError
            If it is not such an archive, or its arrays do not fit together.
        EmptyCollectionError
            If the matrix has no row.
        DuplicateIdError
            If a token stands for two columns.
        VocabularyMismatchError
            If a token is not part of the analyzer's closed vocabulary.
        """
        path = Path(path)
        arrays = _arrays(path)
        n_rows, n_columns = _shape(path, arrays)
        indptr = _boundaries(path, arrays, n_rows)
        doc_ids = _doc_ids(path, arrays, n_rows)
        tokens = _tokens(path, arrays, n_columns)
        closed = None if analyzer is None else analyzer.vocabulary
        renumbering = None
        if closed is None:
            vocabulary = Vocabulary(tokens or map(str, range(n_columns)))
        else:
            vocabulary = closed
            if tokens is not None:
                renumbering = _renumbering(path, tokens, closed)
        return cls(path, vocabulary, indptr, arrays["indices"], arrays["data"], doc_ids, renumbering)

    @property
    def length(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    def batches(self, *, rows: int = 4096) -> Iterator[VectorBatch]:
        """Read the documents in the order of the rows.

        Parameters
        ----------
        rows : int, optional
            Largest number of documents in a batch; a batch also ends at about a million weights.

        Yields
        ------
        VectorBatch
            Doc ids and weights of some documents; the texts are None.

        Raises
        ------
        WeightError
            If a weight is negative, not finite or too large for 32 bits, or a term stands in a row twice;
            names row and token.
        VocabularyMismatchError
            If a column has no term in the vocabulary; names the row.
        """
        start = 0
        while start < self.length:
            full = int(np.searchsorted(self.indptr, self.indptr[start] + BATCH_WEIGHTS))
            stop = min(self.length, start + rows, max(start + 1, full))
            yield VectorBatch(self.doc_ids[start:stop], self._rows(start, stop), (None,) * (stop - start))
            start = stop

    def _rows(self, start: int, stop: int) -> TermWeights:
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        indptr = np.asarray(self.indptr[start : stop + 1]) - first
        row_of = np.repeat(np.arange(start, stop), np.diff(indptr))
        terms = self._terms(np.asarray(self.indices[first:last]), row_of)
        weights = np.asarray(self.data[first:last]).astype(np.float64)
        bad = ~((weights >= 0) & (weights <= _LARGEST))
        if bad.any():
            where = int(bad.argmax())
            raise self._refuse(
                "a weight is not finite, or negative",
                int(row_of[where]),
                int(terms[where]),
                [("weight", float(weights[where])), ("expected", f"a number from 0 to {_LARGEST:.3g}")],
            )
        order = np.lexsort((terms, row_of))
        terms, weights = terms[order], weights[order]
        twice = (terms[1:] == terms[:-1]) & (row_of[1:] == row_of[:-1])
        if twice.any():
            where = int(twice.argmax())
            raise self._refuse(
                "a term stands in a row twice",
                int(row_of[where]),
                int(terms[where]),
                [("weights", f"{weights[where]:g} and {weights[where + 1]:g}")],
                fix="matrix.sum_duplicates() before saving, if the sum is what is meant",
            )
        return TermWeights(indptr, terms, weights, self.vocabulary.id)

    def _terms(
        self, columns: npt.NDArray[np.integer[Any]], row_of: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        size = len(self.vocabulary) if self.renumbering is None else len(self.renumbering)
        numbers = columns.astype(np.int64)
        beyond = (numbers < 0) | (numbers >= size)
        if beyond.any():
            where = int(beyond.argmax())
            row = int(row_of[where])
            raise VocabularyMismatchError(
                "a column of the matrix has no term",
                facts=[
                    ("file", self.path),
                    ("row", row),
                    ("document", self.doc_ids[row]),
                    ("column", int(numbers[where])),
                    ("expected", f"a number from 0 to {size - 1}"),
                ],
                fixes=["--analyzer NAME with the analyzer the weights were made with"],
            )
        return numbers if self.renumbering is None else self.renumbering[numbers]

    def _refuse(
        self,
        message: str,
        row: int,
        term: int,
        facts: list[tuple[str, object]],
        *,
        fix: str = "shift weights that may be negative by the smallest one of each term before indexing",
    ) -> WeightError:
        return WeightError(
            message,
            facts=[
                ("file", self.path),
                ("row", row),
                ("document", self.doc_ids[row]),
                ("token", repr(self.vocabulary.token(term))),
                *facts,
            ],
            fixes=[fix],
        )


MAX_COLUMNS = 1 << 27
"""Terms that are numbered at most; each takes some hundred bytes of memory while an index is built."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    ValueError,
    NotImplementedError,  # a compression method or a version that zipfile does not know
    RuntimeError,  # an encrypted member
    MemoryError,  # a header that claims more than there can be
)


def _listed(path: Path, texts: npt.NDArray[Any]) -> list[Any]:
    try:
        listed: list[Any] = texts.tolist()
    except (SystemError, ValueError) as error:
        raise _bad(path, "a text of the archive is not made of characters", "Unicode", error) from error
    return listed


def _bad(path: Path, message: str, expected: str, seen: object) -> DataError:
    return DataError(
        message,
        facts=[("file", path), ("expected", expected), ("seen", seen)],
        fixes=["scipy.sparse.save_npz(path, matrix.tocsr())"],
    )


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy"): name for name in archive.namelist()}
            missing = [name for name in _REQUIRED if name not in names]
            if missing:
                raise _bad(
                    path,
                    "the archive is not a sparse matrix",
                    f"arrays {', '.join(_REQUIRED)}",
                    f"no {', '.join(missing)}",
                )
            wanted = (*_REQUIRED, "format", "doc_ids", "tokens")
            arrays = {name: _member(path, archive, names[name]) for name in wanted if name in names}
    except _DAMAGED as error:
        raise _bad(path, "the file is not a NumPy archive, or is damaged", "an .npz file", error) from error
    except OSError as error:
        raise MissingFileError(
            "the file of weights cannot be read", facts=[("file", path), ("why", error.strerror or error)]
        ) from error
    layout = arrays.get("format", np.array(b"csr")).tolist()
    if layout not in (b"csr", "csr"):
        raise _bad(path, "the matrix is not stored by rows", "format csr", layout)
    return arrays


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """Map one array of the archive, or load it where it is compressed or small enough not to matter."""
    info = archive.getinfo(name)
    if info.compress_type == zipfile.ZIP_STORED and info.file_size > 4096:
        mapped = _mapped(path, info)
        if mapped is not None:
            return mapped
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _mapped(path: Path, info: zipfile.ZipInfo) -> npt.NDArray[Any] | None:
    # A local file header is 30 bytes, the last four of which give the lengths of the name and the extra field
    # that follow it (APPNOTE.TXT 4.3.7); then come the bytes of the array with the header of NEP 1.
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        name_length, extra_length = struct.unpack("<26x2H", stream.read(30))
        stream.seek(name_length + extra_length, 1)
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            return None
        if by_columns or dtype.hasobject:
            return None
        return np.memmap(path, dtype=dtype, mode="r", offset=stream.tell(), shape=shape)


def _shape(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> tuple[int, int]:
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise _bad(path, "the shape of the matrix is not readable", "two whole numbers", shape.tolist())
    n_rows, n_columns = (int(size) for size in shape)
    if n_columns > MAX_COLUMNS:
        raise _bad(
            path, "the matrix has too many columns", f"at most {MAX_COLUMNS:,} terms", f"{n_columns:,}"
        )
    if n_rows == 0:
        raise EmptyCollectionError("there is no document to index", facts=[("file", path)])
    for name, kinds in (("indptr", "iu"), ("indices", "iu"), ("data", "iuf")):
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in kinds:
            raise _bad(
                path,
                f"the array {name} cannot be used",
                f"one dimension of {'numbers' if 'f' in kinds else 'whole numbers'}",
                f"shape {array.shape}, type {array.dtype}",
            )
    return n_rows, n_columns


def _boundaries(path: Path, arrays: dict[str, npt.NDArray[Any]], n_rows: int) -> npt.NDArray[np.int64]:
    indptr = arrays["indptr"].astype(np.int64)
    sizes = {len(arrays["indices"]), len(arrays["data"])}
    fits = (
        len(indptr) == n_rows + 1
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and sizes == {int(indptr[-1])}
    )
    if not fits:
        raise _bad(
            path,
            "the arrays of the matrix do not fit together",
            f"indptr of {n_rows + 1} numbers from 0, never decreasing, up to the length of indices and data",
            f"indptr of {len(indptr)}, indices of {len(arrays['indices'])}, data of {len(arrays['data'])}",
        )
    return indptr


def _doc_ids(path: Path, arrays: dict[str, npt.NDArray[Any]], n_rows: int) -> tuple[str, ...]:
    given = arrays.get("doc_ids")
    if given is None:
        return tuple(map(str, range(n_rows)))
    if given.shape != (n_rows,) or given.dtype.kind not in "Uiu":
        raise _bad(
            path,
            "the array doc_ids cannot be used",
            f"{n_rows} texts or whole numbers",
            f"shape {given.shape}, type {given.dtype}",
        )
    doc_ids = tuple(map(str, _listed(path, given)))
    if "" in doc_ids:
        raise _bad(path, "a document has no identifier", "a text", f"row {doc_ids.index('')} is empty")
    return doc_ids


def _tokens(path: Path, arrays: dict[str, npt.NDArray[Any]], n_columns: int) -> tuple[str, ...] | None:
    given = arrays.get("tokens")
    if given is None:
        return None
    if given.shape != (n_columns,) or given.dtype.kind != "U":
        raise _bad(
            path,
            "the array tokens cannot be used",
            f"{n_columns} texts, as numpy.array(list, dtype=str)",
            f"shape {given.shape}, type {given.dtype}",
        )
    tokens = tuple(_listed(path, given))
    numbers = {token: number for number, token in enumerate(tokens)}
    if len(numbers) != len(tokens):
        first = next(number for number, token in enumerate(tokens) if numbers[token] != number)
        raise DuplicateIdError(
            "a token stands for two columns",
            facts=[
                ("file", path),
                ("token", repr(tokens[first])),
                ("columns", f"{first} and {numbers[tokens[first]]}"),
            ],
        )
    return tokens


def _renumbering(path: Path, tokens: tuple[str, ...], closed: Vocabulary) -> npt.NDArray[np.int64]:
    numbers = [closed.number(token) for token in tokens]
    unknown = [token for token, number in zip(tokens, numbers, strict=True) if number is None]
    if unknown:
        raise VocabularyMismatchError(
            f"{len(unknown)} of {len(tokens)} tokens are not in the vocabulary of the analyzer",
            facts=[
                ("file", path),
                ("such as", ", ".join(map(repr, unknown[:5]))),
                ("vocabulary", f"{len(closed):,} tokens"),
            ],
            fixes=["--analyzer NAME with the analyzer the weights were made with"],
        )
    return np.array(numbers, dtype=np.int64)
