"""Explanation of a score as a sum of contributions."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import shorten
from typing import Any, Literal

from termwise.display.safe_text import legible_line
from termwise.explain.attribution import SourceWord, Span
from termwise.explain.field_shares import FieldShare
from termwise.fast_dataclass import dataclass
from termwise.validation import check, is_integer

Origin = Literal[
    "exact",
    "fuzzy",
    "prefix",
    "synonym",
    "piece",
    "expansion",
    "translation",
    "vector",
    "background",
    "empty",
    "feedback",
    "boost",
    "absent",
    "unknown",
]
"""Origin of a contribution: an exact match, a term that was added to the query because its spelling is similar to that
of a word that the index lacks or it differs from typed words by a blank, a term that begins with the last word of the
query, a synonym of words of the query, a piece of a word that occurs only in other words, an expansion of the document
by a model, a translation of other words, the product of the vectors of a word and of a text without it, the document
bias, the smallest score of the candidates in place of that of a document without a vector, the product of the vectors
of the first documents and of a text, a boost by an attribute of the document, a term that is absent from the document,
or unknown because the text is not stored."""


@dataclass(frozen=True)
class Contribution:
    """Contribution of one query term to a score.

    Attributes
    ----------
    term : str
        The term in the index.
    origin : str
        See `Origin`.
    query_weight : float
        Weight of the term in the query.
    weight : float
        Weight of the term in the document, 0 if absent; negative if its vector points away from that of the document.
    score : float
        ``query_weight * weight * scale``. In a centred explanation, `mean` is subtracted from `weight` first.
    query_spans : tuple of (int, int)
        Positions of the term in the query, or of the words that it was added for.
    spans : tuple of (int, int)
        Positions of the term in the document, if its text is stored.
    sources : tuple of SourceWord
        For translations, if the text is stored: the words of the document that the weight comes from, largest share
        first.
    part : str
        Name of its part in a mixture; empty otherwise.
    scale : float
        Scale of its part for this query, see `MixturePart`; 1 outside of a mixture.
    mean : float
        In a centred explanation, the mean weight of the term over the candidates; 0 otherwise.
    fields : tuple of FieldShare
        Shares of the fields in the contribution, if the index has weights of fields and stores texts; empty for a term
        that the document lacks.
    value, shape : str
        Of a boost, whose term is the name of the attribute, and whose weights are its own and that of the shape: the
        value of the document, empty if it has none, and the shape, such as ``saturation 100``.
    """

    term: str
    origin: Origin
    query_weight: float
    weight: float
    score: float
    query_spans: tuple[Span, ...] = ()
    spans: tuple[Span, ...] = ()
    sources: tuple[SourceWord, ...] = ()
    part: str = ""
    scale: float = 1.0
    mean: float = 0.0
    fields: tuple[FieldShare, ...] = ()
    value: str = ""
    shape: str = ""


@dataclass(frozen=True)
class Window:
    """Window of a long text that an index of vectors compared with the query: the one with the largest score.

    Attributes
    ----------
    number, count : int
        Number of the window, from 1, and number of all windows of the text.
    start, end : int or None
        Its range of characters; None if the text or the tokenizer of the encoder is not there.
    part : str
        Name of its part in a mixture; empty otherwise.
    """

    number: int
    count: int
    start: int | None
    end: int | None
    part: str = ""


@dataclass(frozen=True)
class MixturePart:
    """One index of a mixture, with its scale for one query.

    The part adds ``weight * (score - mean) / deviation`` to the score of the mixture.

    Attributes
    ----------
    name : str
        Name of the part.
    weight : float
        Weight of its normalised scores.
    score : float
        Score of the document in the index of the part.
    mean, deviation : float
        Mean and population standard deviation of its scores over the candidates of the query; the deviation is 1 if
        all are equal.
    constant : float
        Part of `score` that all documents have for this query.
    unknown : tuple of (int, int)
        Positions of query tokens that are not in the index of the part.
    reason : str
        Why the weight is not that of the mixture: the identifiers in the query, see `termwise.search.part_weights`.
        Empty if it is.
    """

    name: str
    weight: float
    score: float
    mean: float
    deviation: float
    constant: float = 0.0
    unknown: tuple[Span, ...] = ()
    reason: str = ""

    @property
    def scale(self) -> float:
        """Factor of its contributions: ``weight / deviation``."""
        return self.weight / self.deviation

    @property
    def shift(self) -> float:
        """What the part adds to the score of every document: ``(constant - mean) * scale``."""
        return (self.constant - self.mean) * self.scale


@dataclass(frozen=True)
class TextCondition:
    """Word or phrase that the text of a result must contain, or must not contain.

    Attributes
    ----------
    words : str
        As given.
    excluded : bool
        Whether results must not contain it.
    in_text : bool
        Whether the text of the explained document contains it.
    """

    words: str
    excluded: bool
    in_text: bool


@dataclass(frozen=True)
class Competitor:
    """A document ranked near the explained one."""

    rank: int
    doc_id: str
    score: float


@dataclass(frozen=True)
class Explanation:
    """A score as an exact sum: ``score = constant + sum of contributions``.

    The score of a mixture is such a sum over the terms of all its parts, up to the rounding of floating-point numbers.

    Attributes
    ----------
    query, doc_id : str
        Query, and identifier of the explained document.
    score : float
        Score of the document.
    constant : float
        Part of the score that all documents have for this query; 0 in a centred explanation.
    contributions : tuple of Contribution
        One per query term in the index, also those that were added to the query, and one for a document bias; largest
        first. In a mixture, those of the first part, then those of the second, and so on; a document without a vector
        has one with the origin ``empty``. Those of boosts are last.
    unknown : tuple of (int, int)
        Positions of query tokens that are not in the index, and for which no similar term was added; in a mixture, in
        no part.
    text : str or None
        Stored text of the document.
    rank : int or None
        Rank among all documents that are not excluded, from 1; None if it was not computed or the document is not a
        result. In a mixture: among the candidates.
    competitors : tuple of Competitor
        Documents with neighbouring ranks.
    results : int or None
        Number of documents that match the query and are not excluded; None if the rank was not computed.
        In a mixture: number of candidates that are results.
    example : str or None
        Identifier of the document that is the query, in a query by example.
    parts : tuple of MixturePart
        Parts of a mixture; empty for one index.
    windows : tuple of Window
        The best window of the document in an index of vectors, or in each part with vectors.
    index : str
        Name of the folder of the index or mixture; for a mixture without a folder, its parts.
    centred : bool
        Whether the mean of each term over the candidates is subtracted from its contribution.
    conditions : tuple of TextCondition
        Words and phrases of the search that results must contain or must not contain.
    pinned : str
        Query of the rule that puts the document before others; empty without one. It does not change the score.
    relevance : float or None
        Share of unrelated queries whose best result in the mixture is less near; None if it is not known.
    """

    query: str
    doc_id: str
    score: float
    constant: float
    contributions: tuple[Contribution, ...]
    unknown: tuple[Span, ...]
    text: str | None
    rank: int | None = None
    competitors: tuple[Competitor, ...] = ()
    results: int | None = None
    example: str | None = None
    parts: tuple[MixturePart, ...] = ()
    windows: tuple[Window, ...] = ()
    index: str = ""
    centred: bool = False
    conditions: tuple[TextCondition, ...] = ()
    pinned: str = ""
    relevance: float | None = None

    @property
    def field_scores(self) -> dict[str, float]:
        """Sum of the contributions of each field, if the index has weights of fields and stores texts."""
        sums: dict[str, float] = {}
        for part in self.contributions:
            for field in part.fields:
                sums[field.name] = sums.get(field.name, 0.0) + part.score * field.share
        return sums

    def __repr__(self) -> str:
        terms = f"{len(self.contributions):,} contributions"
        return f"Explanation({shorten(self.query, 60)!r}, {self.doc_id!r}, score={self.score:.6g}, {terms})"

    def __str__(self) -> str:
        """Return the score as a sum on one line, as in `search --explain`."""
        from termwise.explain.ranking_terminal import sum_parts

        return f"{legible_line(self.doc_id)}: {' '.join(part.plain for part in sum_parts(self))}"

    def to_text(self, *, width: int = 80, full: bool = False) -> str:
        """Return the text that the command ``explain`` prints for this explanation.

        Parameters
        ----------
        width : int, optional
            Largest length of a line.
        full : bool, optional
            Write the whole text and all terms, not only the most important parts.

        Examples
        --------
        >>> part = Contribution("merg", "exact", 1.0, 4.5, 4.5, ((0, 5),), ((0, 5),))
        >>> explanation = Explanation("merge it", "d1", 4.5, 0.0, (part,), (), "Merge lists.")
        >>> print(explanation)
        d1: merge 4.50 = 4.50
        >>> explanation.to_text().splitlines()[:3]
        ['d1', 'score 4.5000', 'query ‹merge› it']
        """
        from io import StringIO

        from rich.console import Console

        from termwise.explain.explanation_terminal import explanation_renderable

        check("width", width, is_integer(width) and width >= 1, "a whole number, 1 or more")
        written = StringIO()
        console = Console(file=written, width=width, color_system=None, force_terminal=False)
        console.print(explanation_renderable(self, full=full))
        return written.getvalue()

    def to_html(self) -> str:
        """Return the explanation as one self-contained HTML page."""
        from termwise.explain.explanation_html import explanation_html

        return explanation_html(self)

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_frame

        return notebook_frame(self.to_html(), "Explanation of a score")

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-like data; the parts of a mixture also have `scale` and `shift`.

        Only boosts have `value` and `shape`.
        """
        parts = [{**asdict(part), "scale": part.scale, "shift": part.shift} for part in self.parts]
        record = {**asdict(self), "parts": parts}
        for contribution in record["contributions"]:
            if contribution["origin"] != "boost":
                del contribution["value"], contribution["shape"]
        return record
