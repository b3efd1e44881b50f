"""`DocumentVectors` and `TermVectors`: dense rows in integers, whose sums are exact.

The model ``lookup`` scores a document by the sum, over the terms of the query, of the product of two vectors:

    w(t, d) = v[t] . e[d]          score(q, d) = sum over t of  q(t) * w(t, d)

Both vectors are stored as integers with a scale. The sum of integer products does not depend on the order of the
documents, terms or dimensions, on the processor, or on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import VocabularyMismatchError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.validation import is_finite_number

LEVELS = 127
"""Largest absolute value of a stored number."""

LARGEST_SHIFT = 15
"""Largest shift of a row of `TermVectors`."""

MOST_DIMENSIONS = 1 << 12
"""Largest number of dimensions of a vector."""

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-100, 2.0**100
"""Range of the scales of documents and terms, in which no score overflows or underflows."""

SCALES = "from 2^-100 to 2^100"
"""Range of scales in messages."""

_ROWS = f"rows of shape (n, dimensions), with at most {MOST_DIMENSIONS:,} dimensions"


@dataclass(frozen=True, eq=False)
class DocumentVectors:
    """Vectors of documents in 8 bits: none, one or several for each document, one for each window of its text.

    A number of window *w* is ``rows[w, j] * scales[w]``. The windows of document *i* are the rows from ``indptr[i]`` to
    ``indptr[i + 1]``; a document without text has none. The arrays are checked here and are read-only.

    Parameters
    ----------
    indptr : array-like of shape (n + 1,), int64
        Window boundaries of the documents; starts at 0, never decreases, ends at the number of windows.
    rows : array-like of shape (m, dimensions), int8
        Numbers from -127 to 127.
    scales : array-like of shape (m,), float32
        From `SMALLEST_SCALE` to `LARGEST_SCALE`; other numbers than those of float32 are rounded.

    Raises
    ------
    WeightError
        If the arrays do not have this form.

    Examples
    --------
    >>> vectors = DocumentVectors.of([0, 1, 1], np.array([[0.5, -0.25]], dtype=np.float32))
    >>> len(vectors), vectors.rows.tolist()
    (2, [[127, -64]])
    """

    indptr: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    def __init__(self, indptr: npt.ArrayLike, rows: npt.ArrayLike, scales: npt.ArrayLike) -> None:
        object.__setattr__(self, "indptr", _frozen(indptr, np.int64))
        object.__setattr__(self, "rows", _frozen(rows, np.int8))
        object.__setattr__(self, "scales", _frozen(scales, np.float32))
        starts = self.indptr
        _require(_is_matrix(self.rows), _ROWS, self.rows)
        _require(starts.ndim == 1 and len(starts) > 0, "indptr is one row of numbers", starts)
        _require(
            starts[0] == 0 and starts[-1] == len(self.rows) and bool((np.diff(starts) >= 0).all()),
            "indptr increases from 0 to the number of rows",
            starts,
        )
        _require(not (self.rows == -LEVELS - 1).any(), f"numbers from -{LEVELS} to {LEVELS}", -LEVELS - 1)
        _require(self.scales.shape == (len(self.rows),), "one scale for each row", self.scales)
        _require_scales(self.scales)

    @classmethod
    def of(cls, indptr: npt.ArrayLike, matrix: npt.NDArray[np.floating[Any]]) -> DocumentVectors:
        """Round vectors to 8 bits, with one scale for each: its largest absolute number divided by 127.

        Parameters
        ----------
        indptr : array-like of shape (n + 1,), int64
            See `DocumentVectors`.
        matrix : ndarray of shape (m, dimensions), floating point
            Finite.

        Raises
        ------
        WeightError
            If it is no such matrix, or the numbers of a vector are so small or large that its scale is out of range.
        """
        matrix = _finite_matrix(matrix, np.float32)
        largest = np.abs(matrix).max(axis=1, initial=0.0)
        scales = np.where(largest > 0, largest / np.float32(LEVELS), np.float32(1))
        _require_scales(scales)
        scales = scales.astype(np.float32)
        rows = np.clip(np.rint(matrix / scales[:, None]), -LEVELS, LEVELS)
        return cls(indptr, rows.astype(np.int8), scales)

    @classmethod
    def concatenate(cls, parts: Sequence[DocumentVectors]) -> DocumentVectors:
        """Append the documents of several parts.

        Raises
        ------
        WeightError
            If there is no part, or they differ in their number of dimensions.
        """
        dimensions = sorted({part.dimensions for part in parts})
        _require(len(dimensions) == 1, "parts of the same number of dimensions", dimensions or "no part")
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.scales for part in parts]),
        )

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.indptr) - 1

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        return int(self.rows.shape[1])

    def matrix(self) -> npt.NDArray[np.float32]:
        """Return the vectors of all windows, shape (m, dimensions), float32."""
        return self.rows.astype(np.float32) * self.scales[:, None]


@dataclass(frozen=True, eq=False)
class TermVectors:
    """One vector for each term of a vocabulary, in 8 bits: the query table of the model ``lookup``.

    A number of term *t* is ``(rows[t, j] << shifts[t]) * scale``, so that sums of rows are sums of integers. A term
    whose row is 0 has no vector. The arrays are checked here and are read-only.

    Parameters
    ----------
    rows : array-like of shape (V, dimensions), int8
        Numbers from -127 to 127.
    shifts : array-like of shape (V,), uint8
        At most `LARGEST_SHIFT`.
    scale : float
        From `SMALLEST_SCALE` to `LARGEST_SCALE`.
    vocabulary : str
        `Vocabulary.id` of the numbering of the terms.

    Raises
    ------
    WeightError
        If the arrays do not have this form.

    Examples
    --------
    >>> table = TermVectors.of(np.array([[0.5, -0.25], [0.0, 0.0], [4.0, 1.0]], dtype=np.float32), "toy")
    >>> table.known.tolist()
    [True, False, True]
    >>> table.combine(np.array([0, 2]), np.array([2, 1])) * table.scale
    array([5. , 0.5])
    """

    rows: npt.NDArray[np.int8]
    shifts: npt.NDArray[np.uint8]
    scale: float
    vocabulary: str

    def __init__(self, rows: npt.ArrayLike, shifts: npt.ArrayLike, scale: float, vocabulary: str) -> None:
        object.__setattr__(self, "rows", _frozen(rows, np.int8))
        object.__setattr__(self, "shifts", _frozen(shifts, np.uint8))
        _require(is_finite_number(scale), "a scale that is a number", scale)
        _require(isinstance(vocabulary, str), "the id of a vocabulary", vocabulary)
        object.__setattr__(self, "scale", float(scale))
        object.__setattr__(self, "vocabulary", vocabulary)
        _require(_is_matrix(self.rows), _ROWS, self.rows)
        _require(
            self.shifts.shape == (len(self.rows),) and int(self.shifts.max(initial=0)) <= LARGEST_SHIFT,
            f"one shift of at most {LARGEST_SHIFT} for each row",
            self.shifts,
        )
        _require_scales(np.array([self.scale]))

    @classmethod
    def of(cls, matrix: npt.NDArray[np.floating[Any]], vocabulary: str) -> TermVectors:
        """Round vectors to 8 bits, with one scale for all and a power of two for each.

        Parameters
        ----------
        matrix : ndarray of shape (V, dimensions), floating point
            Finite; a row of zeros for a term without a vector.
        vocabulary : str
            `Vocabulary.id` of the numbering of the terms.

        Raises
        ------
        WeightError
            If it is no such matrix, all numbers are 0, or they are so small or large that the scale is out of range.
        """
        matrix = _finite_matrix(matrix, np.float64)
        largest = np.abs(matrix).max(axis=1, initial=0.0)
        _require(bool(largest.any()), "a term with a vector", matrix)
        # The smallest rows share the unit of the rows 2**LARGEST_SHIFT times smaller than the largest.
        mantissas, exponents = np.frexp(largest[largest > 0])  # a quotient of the smallest numbers would be 0
        fractions, powers = np.frexp(mantissas / LEVELS)
        powers = powers + exponents - (fractions == 0.5)
        lowest = max(int(powers.min()), int(powers.max()) - LARGEST_SHIFT)
        shifts = np.zeros(len(matrix), dtype=np.int64)
        shifts[largest > 0] = np.maximum(powers - lowest, 0)
        scale = float(np.ldexp(1.0, lowest))
        _require_scales(np.array([scale]))
        rows = np.clip(np.rint(matrix / (scale * 2.0**shifts)[:, None]), -LEVELS, LEVELS)
        return cls(rows.astype(np.int8), shifts.astype(np.uint8), scale, vocabulary)

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self.rows)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        return int(self.rows.shape[1])

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether each term has a vector, shape (V,)."""
        return np.asarray(self.rows.any(axis=1))

    def combine(
        self, terms: npt.NDArray[np.integer[Any]], weights: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int64]:
        """Return the weighted sum of rows, in units of `scale`.

        Parameters
        ----------
        terms : ndarray of shape (q,), integers
            Term numbers.
        weights : ndarray of shape (q,), integers
            Weight of each term.

        Returns
        -------
        ndarray of shape (dimensions,), int64
            Zeros without terms.

        Raises
        ------
        VocabularyMismatchError
            If a term lies outside the vocabulary.
        WeightError
            If there is not one weight for each term, or a sum could exceed 2^62.
        """
        _require(len(weights) == len(terms), "one weight for each term", f"{len(weights)} for {len(terms)}")
        if len(terms) and not 0 <= int(np.min(terms)) <= int(np.max(terms)) < len(self.rows):
            raise VocabularyMismatchError(
                "a query term has no row in the query table",
                facts=[("term", int(np.max(terms))), ("terms", len(self.rows))],
            )
        shifts = self.shifts[terms].astype(np.int64)
        bound = float(LEVELS * np.ldexp(np.abs(np.asarray(weights, dtype=np.float64)), shifts).sum())
        _require(bound < 2.0**62, "weights whose sums are below 2^62", f"{bound:g}")
        factors = np.asarray(weights, dtype=np.int64) << shifts
        combined: npt.NDArray[np.int64] = factors @ self.rows[terms].astype(np.int64)
        return combined

    def matrix(self) -> npt.NDArray[np.float32]:
        """Return the vectors, shape (V, dimensions), float32."""
        factors = np.ldexp(self.scale, self.shifts.astype(np.int64)).astype(np.float32)
        return self.rows.astype(np.float32) * factors[:, None]


def _finite_matrix(values: npt.ArrayLike, least: type[np.floating[Any]]) -> npt.NDArray[Any]:
    """Return a matrix of finite numbers, at least as precise as `least`; raise `WeightError` for other values."""
    array = _numbers(values)
    _require(_is_matrix(array), _ROWS, array)
    array = array.astype(np.result_type(array, least), copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        raise _misfit("finite numbers", array[~finite][0])
    return array


def _frozen(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Any:
    """Return a read-only array of a type; read-only arrays of the type are not copied."""
    array = _numbers(values)
    if array.size and array.dtype != dtype:
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(dtype)
        if np.issubdtype(dtype, np.integer) and (wrong := converted != array).any():
            raise _misfit(f"whole numbers that fit in {np.dtype(dtype).name}", array[wrong][0])
        array = converted
    array = np.array(array, dtype=dtype, copy=array.flags.writeable or None, order="C")
    array.setflags(write=False)
    return array


def _numbers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return an array of numbers; raise `WeightError` for other values."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.array(None)  # rows of different lengths
    _require(array.dtype.kind in "iuf" or not array.size, "an array of numbers", array)
    return array


def _is_matrix(array: npt.NDArray[Any]) -> bool:
    return array.ndim == 2 and array.shape[1] <= MOST_DIMENSIONS


def wrong_scales(scales: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
    """Return whether each scale is out of range or NaN."""
    return ~((scales >= SMALLEST_SCALE) & (scales <= LARGEST_SCALE))


def _require_scales(scales: npt.NDArray[np.floating[Any]]) -> None:
    """Raise `WeightError` if a scale is out of range or NaN."""
    wrong = wrong_scales(scales)
    if wrong.any():
        raise WeightError(
            "the scale of a vector is its unit: its largest number divided by 127, or a power of two",
            facts=[("expected", f"a scale {SCALES}"), ("seen", f"{scales[wrong][0]:g}")],
            fixes=["multiply all vectors by the same number; the ranking does not change"],
        )


def _require(holds: bool, expected: str, seen: object) -> None:
    if not holds:
        raise _misfit(expected, seen)


def _misfit(expected: str, seen: object) -> WeightError:
    shown = f"{seen.dtype} of shape {seen.shape}" if isinstance(seen, np.ndarray) else f"{seen}"
    return WeightError(
        "the vectors do not have the expected form", facts=[("expected", expected), ("seen", shown)]
    )
