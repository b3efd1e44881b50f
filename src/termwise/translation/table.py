"""The translation table: how likely each document word is to be asked for with each query word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from termwise.errors import UnknownNameError, WeightError
from termwise.kernels.inversion import first_unsorted
from termwise.kernels.translation import transpose
from termwise.text import AnalyzerSpec, Vocabulary

Kind = Literal["model1", "neural-model1"]

KINDS: tuple[Kind, ...] = get_args(Kind)

SCORED_BY = ("self_translation", "lambda", "least")
"""Parameters of `termwise.models.Model1` that a table may recommend values of."""

ROUNDING = 1e-4
"""How far the sum of a row of a distribution may be above 1."""


class Columns(NamedTuple):
    """A table by its targets.

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
    """Translation probabilities T(t|u): document word u, the source, is asked for with query word t, the target.

    Checked when it is made, and never changed: the arrays are read-only. There is no row for NULL, and nothing is
    added to the diagonal.

    Parameters
    ----------
    vocabulary : Vocabulary
        Numbers sources and targets alike: V terms.
    indptr : ndarray of shape (V + 1,), int64
        Boundaries of the rows. Row u is T(.|u); it may be empty.
    targets : ndarray of shape (nnz,), int32
        Strictly increasing in a row.
    probabilities : ndarray of shape (nnz,), float32
        Above 0 and at most 1.
    occurrences : ndarray of shape (V,), int64
        How often each term is on the source side of the bitext.
    analyzer : AnalyzerSpec
        How documents and queries have to be cut into terms.
    kind : {"model1", "neural-model1"}
        ``model1``: a row is a distribution over targets, or what pruning left of one, and its sum is at most 1.
        ``neural-model1``: a similarity; sums may be larger.
    scoring : mapping of str to float, optional
        Values of ``self_translation``, ``lambda`` and ``least`` that the table was made for, each from 0 to 1: what it
        is scored with unless something else is said. A table of the kind ``model1`` is made for none.
    description : mapping, optional
        Where the table comes from, JSON-like.

    Raises
    ------
    WeightError
        If the arrays are not of this form.
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
    kind: Kind = "model1"
    scoring: Mapping[str, float] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError.of("kind of translation table", str(self.kind), KINDS)
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
            if name not in SCORED_BY or not number or not 0 <= value <= 1:
                raise _odd(
                    "a translation table recommends what it cannot be scored with",
                    expected=f"a number from 0 to 1 for {', '.join(SCORED_BY)}",
                    seen=f"{name} = {value!r}",
                )
        terms = len(self.vocabulary)
        if len(self.indptr) != terms + 1 or len(self.occurrences) != terms:
            raise _odd(
                "a translation table has another size than its vocabulary",
                expected=f"{terms} rows",
                seen=f"{len(self.indptr) - 1} rows, occurrences of {len(self.occurrences)} terms",
            )
        boundaries = self.indptr
        if boundaries[0] != 0 or boundaries[-1] != len(self.targets) or (np.diff(boundaries) < 0).any():
            raise _odd(
                "the rows of a translation table overlap or have gaps",
                expected=f"boundaries that rise from 0 to {len(self.targets)}",
                seen=f"{boundaries[0]} to {boundaries[-1]}",
            )
        if len(self.probabilities) != len(self.targets):
            raise _odd(
                "a translation table has targets without a probability",
                expected=f"{len(self.targets)} probabilities",
                seen=len(self.probabilities),
            )
        row = first_unsorted(boundaries, self.targets, terms)
        if row >= 0:
            raise _odd(
                "the targets of a source do not increase, or are no terms",
                expected=f"strictly increasing numbers from 0 to {terms - 1}",
                seen=f"source {row}: {self.targets[boundaries[row] : boundaries[row + 1]][:20].tolist()}",
            )
        usable = (self.probabilities > 0) & (self.probabilities <= 1)  # False where it is not a number
        if not usable.all():
            place = int(np.flatnonzero(~usable)[0])
            source = int(np.searchsorted(boundaries, place, side="right")) - 1
            raise _odd(
                "a translation probability is none",
                expected="a number above 0 and at most 1",
                seen=f"T({self.vocabulary.token(int(self.targets[place]))}|{self.vocabulary.token(source)})"
                f" = {self.probabilities[place]}",
            )
        sums = self.row_sums
        if self.kind == "model1" and len(sums) and sums.max() > 1 + ROUNDING:
            source = int(sums.argmax())
            raise _odd(
                "the translation probabilities of a source sum to more than 1",
                expected="at most 1; a table of similarities is of the kind neural-model1",
                seen=f"{sums[source]:.6f} for {self.vocabulary.token(source)!r}",
            )
        if len(self.occurrences) and self.occurrences.min() < 0:
            raise _odd(
                "a term occurs less often than never", expected="0 or more", seen=self.occurrences.min()
            )

    def __len__(self) -> int:
        """Return the number of terms."""
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
        """What the probabilities of each source sum to; shape (V,), 0 for an empty row."""
        added = np.bincount(self.sources, weights=self.probabilities, minlength=len(self))
        sums = added.astype(np.float64)  # of a table without entries they are whole numbers
        sums.setflags(write=False)
        return sums

    @cached_property
    def columns(self) -> Columns:
        """The same probabilities by target."""
        columns = Columns(*transpose(self.indptr, self.targets, self.probabilities))
        for part in columns:
            part.setflags(write=False)
        return columns

    def row(self, token: str) -> list[tuple[str, float]]:
        """Return what a document word is asked for with, T(.|token), strongest first; empty if nothing is known."""
        return self._strongest(token, self.indptr, self.targets, self.probabilities)

    def column(self, token: str) -> list[tuple[str, float]]:
        """Return the document words that are asked for with a query word, T(token|.), strongest first."""
        return self._strongest(token, *self.columns)

    def _strongest(
        self, token: str, indptr: npt.NDArray[Any], numbers: npt.NDArray[Any], values: npt.NDArray[Any]
    ) -> list[tuple[str, float]]:
        number = self.vocabulary.number(token)
        if number is None:
            return []
        entries = slice(int(indptr[number]), int(indptr[number + 1]))
        order = np.argsort(-values[entries], kind="stable")
        found = zip(numbers[entries][order].tolist(), values[entries][order].tolist(), strict=True)
        return [(self.vocabulary.token(other), probability) for other, probability in found]


def _frozen(name: str, values: object, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a read-only array of one axis of this type; what it cannot hold is refused, not rounded."""
    given = np.asarray(values)
    whole = np.issubdtype(dtype, np.integer)
    if given.ndim != 1 or (whole and given.size and not np.issubdtype(given.dtype, np.integer)):
        raise _odd(
            f"{name} of a translation table is not an array of numbers in one row",
            expected=f"{np.dtype(dtype)} of one axis",
            seen=f"{given.dtype} of {given.ndim}",
        )
    if whole and given.size:
        bounds = np.iinfo(dtype)
        if given.max() > bounds.max or given.min() < bounds.min:
            raise _odd(
                f"{name} of a translation table is out of range",
                expected=f"{bounds.min} to {bounds.max}",
                seen=f"{given.min()} to {given.max()}",
            )
    made = np.ascontiguousarray(given, dtype=dtype)
    if made.flags.writeable:
        made = made.copy() if made is given else made
        made.setflags(write=False)
    return made


def _odd(message: str, *, expected: object, seen: object) -> WeightError:
    return WeightError(message, facts=[("expected", expected), ("seen", seen)])
