"""The records that pass between readers, rankers and measures.

Field names are those of ir_datasets and ir_measures (``doc_id``, ``query_id``, ``relevance``), so that records
can be handed to either without renaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, ParameterError, WeightError


class Document(NamedTuple):
    """One document: an identifier and the text that is analysed.

    Where a source keeps several fields (title, abstract, body), its reader joins the chosen ones with a space;
    character spans everywhere refer to this text.
    """

    doc_id: str
    text: str


class Query(NamedTuple):
    """One information need as text."""

    query_id: str
    text: str


class Qrel(NamedTuple):
    """One relevance judgment; `relevance` 0 means judged and not relevant."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """One line of a run: a document and its score for a query."""

    query_id: str
    doc_id: str
    score: float


@dataclass(frozen=True)
class Ranking:
    """Documents in the order of their scores for one query.

    Parameters
    ----------
    doc_ids : sequence of str of length n
        Best first; rank 1 is ``doc_ids[0]``. No document twice.
    scores : array-like of shape (n,)
        Scores in the same order, never increasing; stored read-only as float64. The unit is the model's.
    query_id : str, optional
        The query, where it has an identifier.

    Raises
    ------
    WeightError
        If the lengths differ, a score is not a number or too large for one, or the scores increase somewhere.
    DuplicateIdError
        If a document is listed twice.

    Examples
    --------
    >>> ranking = Ranking(["b", "a"], [2.0, 1.5], query_id="q1")
    >>> ranking[0]
    ScoredDoc(query_id='q1', doc_id='b', score=2.0)
    >>> len(ranking)
    2
    """

    doc_ids: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    query_id: str = ""

    def __init__(self, doc_ids: Sequence[str], scores: npt.ArrayLike, query_id: str = "") -> None:
        try:
            values = np.array(scores, dtype=np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise WeightError(
                "the scores of a ranking must be numbers that a float can hold",
                facts=[("query", query_id), ("scores", shown(scores)), ("reason", error)],
            ) from error
        values.setflags(write=False)
        object.__setattr__(self, "doc_ids", tuple(doc_ids))
        object.__setattr__(self, "scores", values)
        object.__setattr__(self, "query_id", query_id)
        self._check()

    def _check(self) -> None:
        shape = (len(self.doc_ids),)
        if self.scores.shape != shape:
            raise WeightError(
                "a ranking needs one score per document",
                facts=[("documents", len(self.doc_ids)), ("scores", self.scores.shape)],
            )
        if len(self.scores) and np.isnan(self.scores).any():
            where = int(np.flatnonzero(np.isnan(self.scores))[0])
            raise WeightError(
                "a score is not a number",
                facts=[("query", self.query_id), ("document", self.doc_ids[where])],
            )
        rising = np.flatnonzero(self.scores[1:] > self.scores[:-1])
        if len(rising):
            where = int(rising[0])
            raise WeightError(
                "the scores of a ranking must not increase",
                facts=[
                    ("query", self.query_id),
                    ("rank", where + 2),
                    ("scores", f"{self.scores[where]} then {self.scores[where + 1]}"),
                ],
            )
        if len(set(self.doc_ids)) != len(self.doc_ids):
            seen: set[str] = set()
            twice = next(d for d in self.doc_ids if d in seen or seen.add(d))  # type: ignore[func-returns-value]
            raise DuplicateIdError(
                "a document is ranked twice",
                facts=[("query", self.query_id), ("document", twice)],
            )

    def __len__(self) -> int:
        return len(self.doc_ids)

    def __iter__(self) -> Iterator[ScoredDoc]:
        for doc_id, score in zip(self.doc_ids, self.scores.tolist(), strict=True):
            yield ScoredDoc(self.query_id, doc_id, score)

    def __getitem__(self, position: int) -> ScoredDoc:
        return ScoredDoc(self.query_id, self.doc_ids[position], float(self.scores[position]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return (
            self.query_id == other.query_id
            and self.doc_ids == other.doc_ids
            and bool(np.array_equal(self.scores, other.scores))
        )

    __hash__ = None  # type: ignore[assignment]

    def top(self, k: int) -> Ranking:
        """Return the first `k` documents as a ranking of their own."""
        return Ranking(self.doc_ids[:k], self.scores[:k], self.query_id)

    def surrogates(self) -> npt.NDArray[np.float64]:
        """Return strictly decreasing scores that carry this order and nothing else.

        Measures sort by score and break ties each in their own way; given these, they see our order.

        Returns
        -------
        ndarray of shape (n,), float64
            ``n, n-1, ..., 1``.
        """
        return np.arange(len(self), 0, -1, dtype=np.float64)


@dataclass(frozen=True)
class Run:
    """Rankings of many queries by one system, in the order the queries were given.

    Parameters
    ----------
    rankings : iterable of Ranking
        Each with a distinct, non-empty ``query_id``.
    name : str, optional
        The system, as it appears in tables and in the last column of a run file.

    Examples
    --------
    >>> run = Run([Ranking(["b", "a"], [2.0, 1.5], query_id="q1")], name="bm25")
    >>> run["q1"].doc_ids
    ('b', 'a')
    """

    rankings: Mapping[str, Ranking]
    name: str = field(default="termwise")

    def __init__(self, rankings: Iterable[Ranking], name: str = "termwise") -> None:
        table: dict[str, Ranking] = {}
        for ranking in rankings:
            if ranking.query_id in table:
                raise DuplicateIdError(
                    "a query is ranked twice in one run",
                    facts=[("run", name), ("query", ranking.query_id)],
                )
            table[ranking.query_id] = ranking
        object.__setattr__(self, "rankings", MappingProxyType(table))
        object.__setattr__(self, "name", name)

    def __len__(self) -> int:
        return len(self.rankings)

    def __iter__(self) -> Iterator[Ranking]:
        return iter(self.rankings.values())

    def __getitem__(self, query_id: str) -> Ranking:
        return self.rankings[query_id]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.rankings


Exclusion = Mapping[str, str | AbstractSet[str]] | Literal["id"] | None
"""Documents to leave out per query: one id or several, or ``"id"`` for the one with the query's own id."""


@dataclass(frozen=True)
class Excluded:
    """An `Exclusion` that was looked at once, to be asked for many queries.

    Attributes
    ----------
    rule : {"none", "id", "listed"}
        Which of the three it is.
    listed : mapping of str to frozenset of str
        Documents by query, where they are listed.

    Examples
    --------
    >>> Excluded.of({"q": "seed"}).of_query("q"), Excluded.of("id").of_query("q"), Excluded.of(None).of_query("q")
    (frozenset({'seed'}), frozenset({'q'}), frozenset())
    """

    rule: Literal["none", "id", "listed"]
    listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Exclusion) -> Excluded:
        """Look at what was given.

        Raises
        ------
        ParameterError
            If it is a word other than ``"id"``, or no mapping.
        """
        if given is None:
            return cls("none")
        if isinstance(given, str):
            if given == "id":
                return cls("id")
            raise ParameterError(
                f"unknown rule for leaving documents out: {given!r}",
                facts=[("given", given), ("expected", "'id', or a mapping from query id to document ids")],
            )
        if not isinstance(given, Mapping):
            raise ParameterError(
                "what is left out is a mapping from query id to document ids, or 'id'",
                facts=[("given", type(given).__name__)],
            )
        listed = {
            query_id: frozenset((doc_ids,) if isinstance(doc_ids, str) else doc_ids)
            for query_id, doc_ids in given.items()
        }
        return cls("listed", listed)

    def of_query(self, query_id: str) -> frozenset[str]:
        """Return the documents that are left out for a query."""
        return frozenset((query_id,)) if self.rule == "id" else self.listed.get(query_id, frozenset())

    def kept(self, ranking: Ranking) -> Ranking:
        """Return a ranking without what is left out for its query; what stood below moves up."""
        left_out = self.of_query(ranking.query_id)
        keep = [doc_id not in left_out for doc_id in ranking.doc_ids]
        if all(keep):
            return ranking
        doc_ids = [doc_id for doc_id, kept in zip(ranking.doc_ids, keep, strict=True) if kept]
        return Ranking(doc_ids, ranking.scores[np.array(keep, dtype=np.bool_)], ranking.query_id)
