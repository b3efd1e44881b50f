"""Translation table: the probability of each query word given each document word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import UnknownNameError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.kernels.inversion import first_unsorted
from termwise.kernels.translation import transpose
from termwise.text import AnalyzerSpec, Vocabulary
from termwise.text.vocabulary import TermLookup

TableKind = Literal["model1", "neural-model1"]

TABLE_KINDS: tuple[TableKind, ...] = get_args(TableKind)

SCORING_PARAMETERS = ("self_translation", "lambda", "least")
"""Parameters of `termwise.models.Model1` for which a table may recommend values."""

ROUNDING = 1e-4
"""Tolerance for the sum of a distribution above 1."""


class Columns(NamedTuple):
    """Translation probabilities by target.

    Attributes
    ----------
    indptr : ndarray of shape (V + 1,), int64
        Boundaries of the targets in the two arrays that follow.
    sources : ndarray of shape (nnz,), int32
        Strictly increasing for each target.
    probabilities : ndarray of shape (nnz,), float32
        T(t|u).
    """

    indptr: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TranslationTable:
    """Translation probabilities T(t|u) of target t, a query word, given source u, a document word.

    The constructor checks the arrays and makes them read-only. There is no row for NULL, and the diagonal contains no
    self-translation beyond the trained one.

    Parameters
    ----------
    vocabulary : Vocabulary
        V terms; numbers sources and targets.
    indptr : ndarray of shape (V + 1,), int64
        Boundaries of the rows. Row u is T(.|u); it may be empty.
    targets : ndarray of shape (nnz,), int32
        Strictly increasing in a row.
    probabilities : ndarray of shape (nnz,), float32
        Above 0 and at most 1.
    occurrences : ndarray of shape (V,), int64
        Occurrences of each term on the source side of the bitext.
    analyzer : AnalyzerSpec
        Required analyzer of documents and queries.
    kind : {"model1", "neural-model1"}
        ``model1``: a row is a distribution over targets, possibly pruned, and its sum is at most 1. ``neural-model1``:
        a row holds similarities; its sum may be larger.
    scoring : mapping of str to float, optional
        Recommended values of ``self_translation``, ``lambda`` and ``least``, each from 0 to 1, which replace the
        defaults of the model. Tables of kind ``model1`` have none.
    description : mapping, optional
        Origin of the table, JSON-like.

    Raises
    ------
    WeightError
        If the arrays are invalid.
    UnknownNameError
        If there is no such kind.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> table = TranslationTable(
    ...     Vocabulary(["car", "auto"]), [0, 2, 3], [0, 1, 1], [0.5, 0.25, 1.0], [4, 1], make_analyzer("standard").spec
    ... )
    >>> table.row("car"), table.column("auto")
    ([('car', 0.5), ('auto', 0.25)], [('auto', 1.0), ('car', 0.25)])
    """

    vocabulary: Vocabulary
    indptr: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float32]
    occurrences: npt.NDArray[np.int64]
    analyzer: AnalyzerSpec
    kind: TableKind = "model1"
    scoring: Mapping[str, float] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in TABLE_KINDS:
            raise UnknownNameError.of("kind of translation table", str(self.kind), TABLE_KINDS)
        types: dict[str, npt.DTypeLike] = {
            "indptr": np.int64,
            "targets": np.int32,
            "probabilities": np.float32,
            "occurrences": np.int64,
        }
        for name, dtype in types.items():
            object.__setattr__(self, name, _frozen(name, getattr(self, name), dtype))
        self._check()

    def _check(self) -> None:
        for name, value in self.scoring.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if name not in SCORING_PARAMETERS or not number or not 0 <= value <= 1:
                raise _invalid(
                    "a recommended value of a translation table is invalid",
                    expected=f"a number from 0 to 1 for {', '.join(SCORING_PARAMETERS)}",
                    seen=f"{name} = {value!r}",
                )
        terms = len(self.vocabulary)
        if len(self.indptr) != terms + 1 or len(self.occurrences) != terms:
            raise _invalid(
                "the translation table and its vocabulary differ in size",
                expected=f"{terms} rows",
                seen=f"{len(self.indptr) - 1} rows, occurrences of {len(self.occurrences)} terms",
            )
        boundaries = self.indptr
        if boundaries[0] != 0 or boundaries[-1] != len(self.targets) or (np.diff(boundaries) < 0).any():
            raise _invalid(
                "the rows of a translation table overlap or have gaps",
                expected=f"boundaries that rise from 0 to {len(self.targets)}",
                seen=f"{boundaries[0]} to {boundaries[-1]}",
            )
        if len(self.probabilities) != len(self.targets):
            raise _invalid(
                "the numbers of targets and probabilities of a translation table differ",
                expected=f"{len(self.targets)} probabilities",
                seen=len(self.probabilities),
            )
        row = first_unsorted(boundaries, self.targets, terms)
        if row >= 0:
            raise _invalid(
                "the targets of a source do not increase, or are outside the vocabulary",
                expected=f"strictly increasing numbers from 0 to {terms - 1}",
                seen=f"source {row}: {self.targets[boundaries[row] : boundaries[row + 1]][:20].tolist()}",
            )
        usable = (self.probabilities > 0) & (self.probabilities <= 1)  # False for NaN
        if not usable.all():
            position = int(np.flatnonzero(~usable)[0])
            source = int(np.searchsorted(boundaries, position, side="right")) - 1
            raise _invalid(
                "a translation probability is out of range",
                expected="a number above 0 and at most 1",
                seen=f"T({self.vocabulary.token(int(self.targets[position]))}|{self.vocabulary.token(source)})"
                f" = {self.probabilities[position]}",
            )
        sums = self.row_sums
        if self.kind == "model1" and len(sums) and sums.max() > 1 + ROUNDING:
            source = int(sums.argmax())
            raise _invalid(
                "the translation probabilities of a source sum to more than 1",
                expected="at most 1; similarities need the kind neural-model1",
                seen=f"{sums[source]:.6f} for {self.vocabulary.token(source)!r}",
            )
        if len(self.occurrences) and self.occurrences.min() < 0:
            raise _invalid(
                "the number of occurrences of a term is negative",
                expected="0 or more",
                seen=self.occurrences.min(),
            )

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def nnz(self) -> int:
        """Number of probabilities."""
        return len(self.targets)

    @cached_property
    def sources(self) -> npt.NDArray[np.int32]:
        """The source of each probability; shape (nnz,)."""
        sources = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.indptr))
        sources.setflags(write=False)
        return sources

    @cached_property
    def row_sums(self) -> npt.NDArray[np.float64]:
        """Sum of the probabilities of each source; shape (V,), 0 for an empty row."""
        counted = np.bincount(self.sources, weights=self.probabilities, minlength=len(self))
        sums = counted.astype(np.float64)  # integers for a table without entries
        sums.setflags(write=False)
        return sums

    @cached_property
    def columns(self) -> Columns:
        """The probabilities by target."""
        columns = Columns(*transpose(self.indptr, self.targets, self.probabilities))
        for part in columns:
            part.setflags(write=False)
        return columns

    def numbers_in(self, vocabulary: TermLookup) -> npt.NDArray[np.int32]:
        """Return the number of each term in another vocabulary, -1 for unknown ones; shape (V,)."""
        if self.vocabulary.id == vocabulary.id:
            return np.arange(len(self), dtype=np.int32)
        numbers = (vocabulary.number(token) for token in self.vocabulary)
        return np.array([-1 if number is None else number for number in numbers], dtype=np.int32)

    def row(self, token: str) -> list[tuple[str, float]]:
        """Return the targets of a document word and T(.|token), largest first; empty for an unknown word."""
        return self._strongest(token, self.indptr, self.targets, self.probabilities)

    def column(self, token: str) -> list[tuple[str, float]]:
        """Return the sources of a query word and T(token|.), largest first; empty for an unknown word."""
        return self._strongest(token, *self.columns)

    def _strongest(
        self, token: str, indptr: npt.NDArray[Any], numbers: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> list[tuple[str, float]]:
        number = self.vocabulary.number(token)
        if number is None:
            return []
        entries = slice(int(indptr[number]), int(indptr[number + 1]))
        order = np.argsort(-values[entries], kind="stable")
        pairs = zip(numbers[entries][order].tolist(), values[entries][order].tolist(), strict=True)
        return [(self.vocabulary.token(other), probability) for other, probability in pairs]


def _frozen(name: str, values: object, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a read-only array of one axis and this type; refuse values that it cannot hold."""
    array = np.asarray(values)
    integral = np.issubdtype(dtype, np.integer)
    if array.ndim != 1 or (integral and array.size and not np.issubdtype(array.dtype, np.integer)):
        raise _invalid(
            f"{name} of a translation table is not a one-dimensional array of numbers",
            expected=f"{np.dtype(dtype)} of one axis",
            seen=f"{array.dtype} of {array.ndim}",
        )
    if integral and array.size:
        bounds = np.iinfo(dtype)
        if array.max() > bounds.max or array.min() < bounds.min:
            raise _invalid(
                f"{name} of a translation table is out of range",
                expected=f"{bounds.min} to {bounds.max}",
                seen=f"{array.min()} to {array.max()}",
            )
    result = np.ascontiguousarray(array, dtype=dtype)
    if result.flags.writeable:
        result = result.copy() if result is array else result
        result.setflags(write=False)
    return result


def _invalid(message: str, *, expected: object, seen: object) -> WeightError:
    return WeightError(message, facts=[("expected", expected), ("seen", seen)])
