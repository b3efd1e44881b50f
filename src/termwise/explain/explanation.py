"""Explanations: a score as the sum it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from termwise.explain.attribution import Source, Span

Origin = Literal["exact", "expansion", "translation", "background", "absent", "unknown"]
"""Where a contribution comes from: the word itself, a term added by a model, a translation of other words, the
document whatever the query; or the term is absent from the document; or the text is not there to tell."""


@dataclass(frozen=True)
class Contribution:
    """What one query term adds to a score.

    Attributes
    ----------
    term : str
        The term as the index holds it.
    origin : str
        See `Origin`.
    query_weight : float
        Weight of the term in the query.
    weight : float
        Weight of the term in the document, 0 where absent.
    score : float
        Their product.
    query_spans : tuple of (int, int)
        Where the term comes from in the query.
    spans : tuple of (int, int)
        Where the document says it, where its text is stored.
    sources : tuple of Source
        For translations, where the text is stored: the words of the document that make up the weight, the term itself
        among them where the document says it, largest share first.
    """

    term: str
    origin: Origin
    query_weight: float
    weight: float
    score: float
    query_spans: tuple[Span, ...] = ()
    spans: tuple[Span, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Competitor:
    """A document ranked near the explained one."""

    rank: int
    doc_id: str
    score: float


@dataclass(frozen=True)
class Explanation:
    """A score as a sum: ``score = constant + sum of contributions``, exactly.

    Attributes
    ----------
    query, doc_id : str
        What was asked and what is explained.
    score : float
        The score the document is ranked by.
    constant : float
        What every document gets for this query.
    contributions : tuple of Contribution
        One for each query term the index knows and one for a document bias, largest first.
    unknown : tuple of (int, int)
        Places in the query whose tokens the index does not know.
    text : str or None
        The stored text of the document.
    rank : int or None
        Rank among all documents that are not excluded, from 1; None where it was not asked for or the document is not
        a result.
    competitors : tuple of Competitor
        Documents around it in the ranking.
    results : int or None
        Number of documents that share a term with the query and are not excluded; None where the rank was not asked
        for.
    example : str or None
        Name of the document that is the query, where it is one; see `termwise.search.by_example`.
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

    def to_html(self) -> str:
        """Return the explanation as one self-contained HTML page."""
        from termwise.explain.html import explanation_html

        return explanation_html(self)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        from html import escape

        page = escape(self.to_html(), quote=True)
        style = "width: 100%; height: 40em; border: 0"
        return f'<iframe title="Explanation of a score" srcdoc="{page}" style="{style}"></iframe>'

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-like data."""
        return asdict(self)
