"""Reader of term weights in a sparse matrix of a NumPy archive."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
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
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.models.vectors_jsonl import BATCH_WEIGHTS, VectorBatch
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
    optionally, ``format`` (``csr``). Two text arrays are optional: ``doc_ids``, one per row (whole numbers become
    strings; the default is the row number from 0), and ``tokens``, one per column. The columns of a row may be in any
    order, each at most once; weights must be finite and at least 0.

    Terms are numbered like the columns. With an analyzer that has a closed vocabulary, ``tokens`` are looked up in it;
    without ``tokens`` the column numbers are its term numbers. Without either, the tokens are the column numbers in
    decimal, ``"0"``, ``"1"``, …, so that the analyzer ``whitespace`` can read queries such as ``1055 2003``.

    Uncompressed arrays (``numpy.savez``, ``save_npz(compressed=False)``) are memory-mapped; their checksums in the
    archive are not verified. Compressed arrays are loaded into memory.

    `read_vectors` and `open` make an instance.

    Attributes
    ----------
    path : Path
        The file.
    vocabulary : Vocabulary
        Numbering of the terms.
    indptr, indices, data : ndarray
        Arrays of the matrix, as in the file.
    doc_ids : tuple of str of length n
        Identifiers of the rows.
    renumbering : ndarray of shape (columns,), int64, or None
        Term number of each column; None if it equals the column number.
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
        """Map or load the arrays and build the vocabulary.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        DataError
            If it is not such an archive, or its arrays are inconsistent.
        EmptyCollectionError
            If the matrix has no row.
        DuplicateIdError
            If two columns have the same token.
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
        """Yield the documents in row order, without texts; see `JsonVectors.batches`.

        Raises
        ------
        WeightError
            If a weight is negative, not finite or too large for 32 bits, or a row repeats a term; the error names row
            and token.
        VocabularyMismatchError
            If a column has no term in the vocabulary; the error names the row.
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
                "a row holds a term twice",
                int(row_of[where]),
                int(terms[where]),
                [("weights", f"{weights[where]:g} and {weights[where + 1]:g}")],
                fix=Fix.python(
                    "matrix.sum_duplicates()", "if their sum is the weight, call {} before saving"
                ),
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
                fixes=[Fix.use("use {}, the analyzer of the weights", analyzer=Code("NAME"))],
            )
        return numbers if self.renumbering is None else self.renumbering[numbers]

    def _refuse(
        self,
        message: str,
        row: int,
        term: int,
        facts: list[tuple[str, object]],
        *,
        fix: str | Fix = "subtract the smallest weight of each term before indexing",
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
"""Upper bound for columns; each term takes some hundred bytes of memory while an index is built."""

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    ValueError,
    NotImplementedError,  # unknown compression method or version
    RuntimeError,  # an encrypted member
    MemoryError,  # a header with an impossible size
)


def _listed(path: Path, texts: npt.NDArray[Any]) -> list[Any]:
    try:
        listed: list[Any] = texts.tolist()
    except (SystemError, ValueError) as error:
        raise _bad(path, "a string of the archive is not valid Unicode", "Unicode", error) from error
    return listed


def _bad(path: Path, message: str, expected: str, seen: object) -> DataError:
    return DataError(
        message,
        facts=[("file", path), ("expected", expected), ("seen", seen)],
        fixes=[Fix.python("scipy.sparse.save_npz(path, matrix.tocsr())", "write the file with {}")],
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
            known = (*_REQUIRED, "format", "doc_ids", "tokens")
            arrays = {name: _member(path, archive, names[name]) for name in known if name in names}
    except _DAMAGED as error:
        raise _bad(path, "the file is not a NumPy archive, or is damaged", "an .npz file", error) from error
    except OSError as error:
        raise MissingFileError.of("the file of weights cannot be read", path, error) from error
    layout = arrays.get("format", np.array(b"csr")).tolist()
    if layout not in (b"csr", "csr"):
        raise _bad(path, "the matrix is not stored by rows", "format csr", layout)
    return arrays


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    """Map an array of the archive, or load it if it is compressed or small."""
    info = archive.getinfo(name)
    if info.compress_type == zipfile.ZIP_STORED and info.file_size > 4096:
        mapped = _mapped(path, info)
        if mapped is not None:
            return mapped
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _mapped(path: Path, info: zipfile.ZipInfo) -> npt.NDArray[Any] | None:
    # A local file header has 30 bytes; the last four are the lengths of the name and the extra field that follow
    # (APPNOTE.TXT 4.3.7). The array with the header of NEP 1 follows them.
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
        raise _bad(path, "the shape of the matrix is invalid", "two whole numbers", shape.tolist())
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
                f"the array {name} is invalid",
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
            "the arrays of the matrix are inconsistent",
            f"indptr of {n_rows + 1} numbers, never decreasing, from 0 to the length of indices and data",
            f"indptr of {len(indptr)}, indices of {len(arrays['indices'])}, data of {len(arrays['data'])}",
        )
    return indptr


def _doc_ids(path: Path, arrays: dict[str, npt.NDArray[Any]], n_rows: int) -> tuple[str, ...]:
    array = arrays.get("doc_ids")
    if array is None:
        return tuple(map(str, range(n_rows)))
    if array.shape != (n_rows,) or array.dtype.kind not in "Uiu":
        raise _bad(
            path,
            "the array doc_ids is invalid",
            f"{n_rows} strings or whole numbers",
            f"shape {array.shape}, type {array.dtype}",
        )
    doc_ids = tuple(map(str, _listed(path, array)))
    if "" in doc_ids:
        raise _bad(path, "a document has no identifier", "a string", f"row {doc_ids.index('')} is empty")
    return doc_ids


def _tokens(path: Path, arrays: dict[str, npt.NDArray[Any]], n_columns: int) -> tuple[str, ...] | None:
    array = arrays.get("tokens")
    if array is None:
        return None
    if array.shape != (n_columns,) or array.dtype.kind != "U":
        raise _bad(
            path,
            "the array tokens is invalid",
            f"{n_columns} strings, as numpy.array(list, dtype=str)",
            f"shape {array.shape}, type {array.dtype}",
        )
    tokens = tuple(_listed(path, array))
    numbers = {token: number for number, token in enumerate(tokens)}
    if len(numbers) != len(tokens):
        first = next(number for number, token in enumerate(tokens) if numbers[token] != number)
        raise DuplicateIdError(
            "two columns have the same token",
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
            fixes=[Fix.use("use {}, the analyzer of the weights", analyzer=Code("NAME"))],
        )
    return np.array(numbers, dtype=np.int64)
