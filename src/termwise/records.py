"""Records shared by readers, rankers and measures: documents, queries, judgments, rankings, runs, exclusions.

Field names are those of ir_datasets and ir_measures (``doc_id``, ``query_id``, ``relevance``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, ParameterError, WeightError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix

AttributeValue = str | Sequence[str] | int | float | bool | date
"""Value of an attribute: a string, strings, a number, true or false, or a date (`datetime.date` or `datetime`)."""

MOST_SHOWN = 50
"""Documents of a ranking that a notebook shows."""


class Origin(NamedTuple):
    """Place of a record in a file: the file, what is counted in it (``line`` or ``record``), and the number from 1."""

    file: Path
    unit: str
    number: int


class Attributes(Mapping[str, AttributeValue]):
    """Immutable mapping of the names of attributes to their values.

    Parameters
    ----------
    values : mapping of str to AttributeValue, optional
    origin : Origin, optional
        Place of the record, for errors.
    untyped : bool, optional
        Whether all values are text from a file without types, such as CSV; a schema converts them.

    Examples
    --------
    >>> attributes = Attributes({"lang": "de", "tags": ("a", "b")})
    >>> attributes["lang"], attributes == {"lang": "de", "tags": ("a", "b")}
    ('de', True)
    """

    __slots__ = ("_values", "origin", "untyped")

    def __init__(
        self,
        values: Mapping[str, AttributeValue] | None = None,
        *,
        origin: Origin | None = None,
        untyped: bool = False,
    ) -> None:
        self._values = dict(values or {})
        self.origin = origin
        self.untyped = untyped

    def __getitem__(self, name: str) -> AttributeValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


NO_ATTRIBUTES = Attributes()


def join_query(parts: Iterable[str]) -> str:
    """Join the parts of a query with one space, without blank ones.

    Examples
    --------
    >>> join_query(["wing flutter", "", "at supersonic speed"])
    'wing flutter at supersonic speed'
    """
    return " ".join(_written(parts))


def join_fields(texts: Iterable[str]) -> str:
    r"""Join the texts of the fields of a document with line ends, without blank ones: a title is the first line.

    Examples
    --------
    >>> join_fields(["A title", "", "and a text."])
    'A title\nand a text.'
    """
    return "\n".join(_written(texts))


def _written(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if text and not text.isspace())


class Document(NamedTuple):
    """A document: its id, the text that is analyzed, and attributes to filter and count by.

    A reader joins the chosen fields of a record (title, body) with line ends, see `of_texts`. Character spans refer to
    this text. `borders` are the positions of these line ends, in ascending order; no phrase matches across one. For an
    index whose fields have weights, a document also has the text of each field, see `of_fields`.

    Examples
    --------
    >>> Document("d1", "a red bicycle", {"price": 120, "tags": ("used", "red")})
    Document(doc_id='d1', text='a red bicycle', attributes={'price': 120, 'tags': ('used', 'red')})
    >>> Document("d2", "a bell")
    Document(doc_id='d2', text='a bell')
    """

    doc_id: str
    text: str
    attributes: Mapping[str, AttributeValue] = NO_ATTRIBUTES
    fields: Mapping[str, str] | None = None
    borders: tuple[int, ...] = ()

    @classmethod
    def of_texts(
        cls, doc_id: str, texts: Iterable[str], attributes: Mapping[str, AttributeValue] = NO_ATTRIBUTES
    ) -> Document:
        r"""Make a document from the texts of its fields, which are joined with line ends, without blank ones.

        Examples
        --------
        >>> Document.of_texts("d1", ["Bees", "", "Workers collect nectar."])
        Document(doc_id='d1', text='Bees\nWorkers collect nectar.', borders=(4,))
        """
        written = list(_written(texts))
        ends = accumulate(len(text) + 1 for text in written[:-1])
        return cls(doc_id, "\n".join(written), attributes, borders=tuple(end - 1 for end in ends))

    @classmethod
    def of_fields(
        cls, doc_id: str, fields: Mapping[str, str], attributes: Mapping[str, AttributeValue] = NO_ATTRIBUTES
    ) -> Document:
        r"""Make a document that keeps the texts of its fields; its text joins them as `of_texts` does.

        Examples
        --------
        >>> Document.of_fields("d1", {"title": "Bees", "text": "Workers collect nectar."}).text
        'Bees\nWorkers collect nectar.'
        """
        return cls.of_texts(doc_id, fields.values(), attributes)._replace(fields=fields)

    @property
    def texts(self) -> list[str]:
        """The texts that were joined to `text`."""
        starts = (0, *(border + 1 for border in self.borders))
        return [self.text[start:end] for start, end in zip(starts, (*self.borders, None), strict=True)]

    def __repr__(self) -> str:
        attributes = f", attributes={self.attributes!r}" if self.attributes else ""
        fields = f", fields={self.fields!r}" if self.fields else ""
        borders = f", borders={self.borders!r}" if self.borders else ""
        return f"Document(doc_id={self.doc_id!r}, text={self.text!r}{attributes}{fields}{borders})"


class Query(NamedTuple):
    """A query: its id and its text."""

    query_id: str
    text: str


class Qrel(NamedTuple):
    """A relevance judgment; `relevance` 0 means judged and not relevant."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """A document and its score for a query, as in a line of a run."""

    query_id: str
    doc_id: str
    score: float


@dataclass(frozen=True)
class Ranking:
    """Documents for one query, in descending order of their scores or sorted by an attribute, after pinned ones.

    Parameters
    ----------
    doc_ids : sequence of str of length n
        Best first: rank 1 is ``doc_ids[0]``. Distinct.
    scores : array-like of shape (n,)
        Scores in the same order; stored read-only as float64. Unless `sorted_by` is given, they never increase after
        the pinned documents. The unit is the model's.
    query_id : str, optional
        Id of the query, if it has one.
    sorted_by : str, optional
        Attributes that the documents are sorted by, with commas between them, each after a minus sign for descending
        order; by default, they are in the order of their scores.
    pinned : int, optional
        Number of the first documents that a rule for the query has put there.

    Raises
    ------
    WeightError
        If the lengths differ, a score is not a number, too large for a float64, or larger than the one before it.
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
    sorted_by: str = ""
    pinned: int = 0

    def __init__(
        self,
        doc_ids: Sequence[str],
        scores: npt.ArrayLike,
        query_id: str = "",
        sorted_by: str = "",
        pinned: int = 0,
    ) -> None:
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
        object.__setattr__(self, "sorted_by", sorted_by)
        object.__setattr__(self, "pinned", pinned)
        self._check()

    def _check(self) -> None:
        if self.scores.shape != (len(self.doc_ids),):
            raise WeightError(
                "a ranking needs one score per document",
                facts=[("documents", len(self.doc_ids)), ("scores", self.scores.shape)],
            )
        scores = self.scores
        in_order = np.count_nonzero(scores[1:] <= scores[:-1])  # not beside a score that is not a number
        if len(scores) and (in_order < len(scores) - 1 or scores[0] != scores[0]):
            self._check_scores()
        if len(set(self.doc_ids)) != len(self.doc_ids):
            seen: set[str] = set()
            twice = next(d for d in self.doc_ids if d in seen or seen.add(d))  # type: ignore[func-returns-value]
            raise DuplicateIdError(
                "a document is ranked twice", facts=[("query", self.query_id), ("document", twice)]
            )

    def _check_scores(self) -> None:
        if np.isnan(self.scores).any():
            position = int(np.flatnonzero(np.isnan(self.scores))[0])
            raise WeightError(
                "a score is not a number",
                facts=[("query", self.query_id), ("document", self.doc_ids[position])],
            )
        rises = np.flatnonzero(self.scores[1:] > self.scores[:-1])
        rises = rises[rises >= self.pinned]
        if not self.sorted_by and len(rises):
            position = int(rises[0])
            raise WeightError(
                "the scores of a ranking must not increase",
                facts=[
                    ("query", self.query_id),
                    ("rank", position + 2),
                    ("scores", f"{self.scores[position]} then {self.scores[position + 1]}"),
                ],
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
            (self.query_id, self.sorted_by, self.pinned) == (other.query_id, other.sorted_by, other.pinned)
            and self.doc_ids == other.doc_ids
            and bool(np.array_equal(self.scores, other.scores))
        )

    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_table

        shown = self.top(MOST_SHOWN)
        more = f", the first {len(shown)} of {len(self):,}" if len(shown) < len(self) else ""
        order = f", sorted by {self.sorted_by}" if self.sorted_by else ""
        order += f", the first {self.pinned} pinned" if self.pinned else ""
        rows = [
            (str(rank), scored.doc_id, f"{scored.score:.4f}") for rank, scored in enumerate(shown, start=1)
        ]
        caption = f"Ranking{f' for {self.query_id}' if self.query_id else ''}{order}{more}"
        return notebook_table(caption, ("rank", "document", "score"), rows)

    def top(self, k: int) -> Ranking:
        """Return the first `k` documents as a ranking."""
        return (
            self
            if k >= len(self)
            else Ranking(
                self.doc_ids[:k], self.scores[:k], self.query_id, self.sorted_by, min(k, self.pinned)
            )
        )

    def after(self, n: int) -> Ranking:
        """Return the documents after the first `n` as a ranking."""
        pinned = max(0, self.pinned - n)
        return Ranking(self.doc_ids[n:], self.scores[n:], self.query_id, self.sorted_by, pinned)

    def rank_scores(self) -> npt.NDArray[np.float64]:
        """Return the scores ``n, n-1, ..., 1``, which fix the order of ties for evaluators that sort by score."""
        return np.arange(len(self), 0, -1, dtype=np.float64)


@dataclass(frozen=True)
class Run:
    """Rankings of many queries by one system, in query order.

    Parameters
    ----------
    rankings : iterable of Ranking
        With distinct, non-empty query ids, in the order of their scores.
    name : str, optional
        Name of the system in tables and in the last column of a run file.

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
                    "a query is ranked twice in one run", facts=[("run", name), ("query", ranking.query_id)]
                )
            if ranking.sorted_by:
                raise ParameterError(
                    "a run is in the order of scores, and a ranking is sorted by an attribute",
                    facts=[("run", name), ("query", ranking.query_id), ("sorted by", ranking.sorted_by)],
                    fixes=[Fix.omit("sort", "rank without {}")],
                )
            table[ranking.query_id] = ranking
        object.__setattr__(self, "rankings", MappingProxyType(table))
        object.__setattr__(self, "name", name)

    def __reduce__(self) -> tuple[type[Run], tuple[list[Ranking], str]]:
        return Run, (list(self), self.name)

    def __len__(self) -> int:
        return len(self.rankings)

    def __iter__(self) -> Iterator[Ranking]:
        return iter(self.rankings.values())

    def __getitem__(self, query_id: str) -> Ranking:
        return self.rankings[query_id]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.rankings


Exclusion = Mapping[str, str | Collection[str]] | Literal["id"] | None
"""Doc ids to exclude by query id, or ``"id"`` for the document with the id of the query; None excludes nothing."""


@dataclass(frozen=True)
class ExcludedDocuments:
    """Documents excluded from the results of each query.

    Attributes
    ----------
    rule : {"none", "id", "listed"}
        Exclude nothing, the document with the id of the query, or the documents in `listed`.
    listed : mapping of str to frozenset of str
        Doc ids by query id.

    Examples
    --------
    >>> ExcludedDocuments.of({"q": "seed"}).for_query("q"), ExcludedDocuments.of("id").for_query("q")
    (frozenset({'seed'}), frozenset({'q'}))
    """

    rule: Literal["none", "id", "listed"]
    listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, exclusion: Exclusion) -> ExcludedDocuments:
        """Check an `Exclusion` given by a user.

        Raises
        ------
        ParameterError
            If it is neither None, ``"id"`` nor a mapping of query ids to strings.
        """
        if exclusion is None:
            return cls("none")
        if isinstance(exclusion, str) and exclusion == "id":
            return cls("id")
        if not isinstance(exclusion, Mapping):
            raise ParameterError(
                "unknown rule for excluding documents",
                facts=[
                    ("given", shown(exclusion)),
                    ("expected", "'id', or a mapping of query id to doc ids"),
                ],
            )
        listed = {}
        for query_id, given in exclusion.items():
            doc_ids = (given,) if isinstance(given, str) else given
            if not isinstance(doc_ids, Collection) or not all(isinstance(each, str) for each in doc_ids):
                raise ParameterError(
                    "excluded documents are identifiers",
                    facts=[
                        ("query", query_id or "-"),
                        ("given", shown(given)),
                        ("expected", "a string, or a collection of strings"),
                    ],
                )
            listed[query_id] = frozenset(doc_ids)
        return cls("listed", listed)

    def for_query(self, query_id: str) -> frozenset[str]:
        """Return the documents excluded for a query."""
        return frozenset((query_id,)) if self.rule == "id" else self.listed.get(query_id, frozenset())

    def remove_from(self, ranking: Ranking) -> Ranking:
        """Return a ranking without the documents excluded for its query; lower documents move up."""
        excluded = self.for_query(ranking.query_id)
        keep = [doc_id not in excluded for doc_id in ranking.doc_ids]
        if all(keep):
            return ranking
        doc_ids = [doc_id for doc_id, kept in zip(ranking.doc_ids, keep, strict=True) if kept]
        scores = ranking.scores[np.array(keep, dtype=np.bool_)]
        pinned = sum(keep[: ranking.pinned])
        return Ranking(doc_ids, scores, ranking.query_id, ranking.sorted_by, pinned)
