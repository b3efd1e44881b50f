"""`TermWeights`: the values that models and index exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import short_digest, shown
from termwise.errors import VocabularyMismatchError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.validation import is_finite_number, is_integer


@dataclass(frozen=True)
class TermWeights:
    """Sparse rows of term weights over one vocabulary: documents or queries.

    Row *i* has the terms ``terms[indptr[i]:indptr[i + 1]]`` with the weights at the same positions. The encoder defines
    the contribution of absent terms, which can differ from 0. Rows can be empty. The arrays are checked here and are
    read-only.

    Parameters
    ----------
    indptr : array-like of shape (n + 1,), int64
        Row boundaries; starts at 0, never decreases, ends at the number of stored weights.
    terms : array-like of shape (nnz,), int32
        Term numbers, strictly increasing within a row, 0 or larger.
    weights : array-like of shape (nnz,), float32
        Finite weights. An index does not accept negative ones, see `IndexWriter`.
    vocabulary : str
        `Vocabulary.id` of the numbering of the terms.

    Raises
    ------
    WeightError
        If the arrays do not have this form; the error names the row.

    Examples
    --------
    >>> rows = TermWeights([0, 2, 2], [3, 7], [0.5, 1.25], vocabulary="toy")
    >>> len(rows), rows.nnz
    (2, 2)
    >>> rows.row(0)
    (array([3, 7], dtype=int32), array([0.5 , 1.25], dtype=float32))
    """

    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    vocabulary: str

    def __init__(
        self, indptr: npt.ArrayLike, terms: npt.ArrayLike, weights: npt.ArrayLike, vocabulary: str
    ) -> None:
        object.__setattr__(self, "indptr", _frozen(_integers(indptr, "indptr"), np.int64))
        object.__setattr__(self, "terms", _frozen(_integers(terms, "terms"), np.int32))
        object.__setattr__(self, "weights", _frozen(_reals(weights), np.float32))
        object.__setattr__(self, "vocabulary", vocabulary)
        self._check()

    def _check(self) -> None:
        indptr, terms, weights = self.indptr, self.terms, self.weights
        if indptr.ndim != 1 or len(indptr) == 0 or indptr[0] != 0:
            raise WeightError("the row boundaries must start at 0", facts=[("indptr", indptr[:4])])
        if terms.ndim != 1 or terms.shape != weights.shape:
            raise WeightError(
                "terms and weights must be two arrays of one length",
                facts=[("terms", terms.shape), ("weights", weights.shape)],
            )
        if (np.diff(indptr) < 0).any() or indptr[-1] != len(terms):
            raise WeightError(
                "the row boundaries must not decrease and must end at the number of weights",
                facts=[("last boundary", int(indptr[-1])), ("weights", len(weights))],
            )
        if len(terms) == 0:
            return
        rising = np.diff(terms) > 0
        starts = indptr[1:-1]
        rising[starts[(starts > 0) & (starts < len(terms))] - 1] = True
        if not rising.all():
            position = int(np.flatnonzero(~rising)[0])
            raise WeightError(
                "the terms of a row must be strictly increasing",
                facts=[
                    ("row", self._row_of(position)),
                    ("terms", f"{terms[position]} then {terms[position + 1]}"),
                ],
            )
        if terms.min() < 0:
            position = int(np.flatnonzero(terms < 0)[0])
            raise WeightError(
                "a term number is negative",
                facts=[("row", self._row_of(position)), ("term", int(terms[position]))],
            )
        if not np.isfinite(weights).all():
            position = int(np.flatnonzero(~np.isfinite(weights))[0])
            raise WeightError(
                "a weight is not finite",
                facts=[
                    ("row", self._row_of(position)),
                    ("term", int(terms[position])),
                    ("weight", float(weights[position])),
                ],
            )

    def _row_of(self, position: int) -> int:
        return int(np.searchsorted(self.indptr, position, side="right")) - 1

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[int, float]], vocabulary: str) -> TermWeights:
        """Build rows from mappings of term number to weight, in any order.

        Raises
        ------
        WeightError
            If a term is not a whole number, a weight is not finite, or a number is too large.

        Examples
        --------
        >>> TermWeights.from_rows([{7: 1.0, 3: 0.5}, {}], "toy").terms
        array([3, 7], dtype=int32)
        """
        indptr, terms, weights = [0], [], []
        for row in rows:
            for term, weight in sorted(row.items()):
                if not is_finite_number(weight):
                    raise WeightError(
                        "a weight is not finite, or not a number",
                        facts=[("row", len(indptr) - 1), ("term", shown(term)), ("weight", shown(weight))],
                    )
                terms.append(term)
                weights.append(weight)
            indptr.append(len(terms))
        return cls(np.array(indptr, dtype=np.int64), terms, np.array(weights, dtype=np.float64), vocabulary)

    @classmethod
    def of_query(cls, row: Mapping[int, float], vocabulary: str) -> TermWeights:
        """Build the row of a query from terms and weights that are known to be valid, without checking them."""
        terms = np.array(sorted(row), dtype=np.int32)
        weights = np.array([row[term] for term in terms.tolist()], dtype=np.float32)
        query = object.__new__(cls)
        for name, array in (("indptr", np.array([0, len(terms)])), ("terms", terms), ("weights", weights)):
            array.setflags(write=False)
            object.__setattr__(query, name, array)
        object.__setattr__(query, "vocabulary", vocabulary)
        return query

    @classmethod
    def concatenate(cls, parts: Sequence[TermWeights]) -> TermWeights:
        """Concatenate the rows of parts over one vocabulary.

        Raises
        ------
        VocabularyMismatchError
            If the parts have different vocabularies.
        """
        vocabularies = {part.vocabulary for part in parts}
        if len(vocabularies) != 1:
            raise VocabularyMismatchError(
                "only rows over one vocabulary can be joined",
                facts=[("vocabularies", ", ".join(map(short_digest, sorted(vocabularies))) or "none")],
            )
        offsets = np.cumsum([0] + [part.nnz for part in parts])
        indptr = np.concatenate(
            [parts[0].indptr[:1]]
            + [part.indptr[1:] + offset for part, offset in zip(parts, offsets, strict=False)]
        )
        return cls(
            indptr,
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.weights for part in parts]),
            parts[0].vocabulary,
        )

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored weights."""
        return len(self.terms)

    def row(self, position: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return terms and weights of one row, as read-only views.

        Parameters
        ----------
        position : int
            Row number from 0.

        Raises
        ------
        IndexError
            If there is no such row.
        """
        if not 0 <= position < len(self):
            raise IndexError(f"row {position} of {len(self)}")
        stored = slice(int(self.indptr[position]), int(self.indptr[position + 1]))
        return self.terms[stored], self.weights[stored]

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]:
        return (self.row(position) for position in range(len(self)))

    def slice(self, start: int, stop: int) -> TermWeights:
        """Return the rows from `start` to `stop`, without `stop`."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        return TermWeights(
            self.indptr[start : stop + 1] - first,
            self.terms[first:last],
            self.weights[first:last],
            self.vocabulary,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TermWeights):
            return NotImplemented
        return (
            self.vocabulary == other.vocabulary
            and bool(np.array_equal(self.indptr, other.indptr))
            and bool(np.array_equal(self.terms, other.terms))
            and bool(np.array_equal(self.weights, other.weights))
        )

    __hash__ = None  # type: ignore[assignment]


def _integers(values: npt.ArrayLike, name: str) -> npt.NDArray[np.integer]:
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise _unfit(f"{name} must be whole numbers of 64 bits", array, _fits_64_bits)
    return array


def _reals(values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise _unfit("weights must be numbers that a float can hold", array, is_finite_number)
    return array


def _fits_64_bits(value: object) -> bool:
    return is_integer(value) and abs(value) < 2**63


def _unfit(message: str, array: npt.NDArray[np.generic], fits: Callable[[object], bool]) -> WeightError:
    first = next((value for value in array.ravel().tolist() if not fits(value)), array.ravel()[0])
    return WeightError(message, facts=[("type seen", array.dtype), ("value seen", shown(first))])


def _frozen(array: npt.NDArray[np.generic], dtype: type[np.generic]) -> npt.NDArray[np.generic]:
    """Return a contiguous read-only array of `dtype`, without a copy if the array is one already."""
    if np.issubdtype(dtype, np.integer) and array.size:
        bounds = np.iinfo(dtype)  # type: ignore[type-var]
        if int(array.max()) > bounds.max or int(array.min()) < bounds.min:
            raise WeightError(
                "a number does not fit its array",
                facts=[("largest", int(array.max())), ("type", dtype.__name__)],
            )
    with np.errstate(over="ignore"):
        view = np.ascontiguousarray(array, dtype=dtype)
    if view is array:
        view = view.view()
    view.setflags(write=False)
    return view
