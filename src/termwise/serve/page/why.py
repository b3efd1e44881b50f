"""Why a document is a result: its score as rows that add up, each with a bar."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from termwise.display.html import css_number
from termwise.display.safe_text import legible_line
from termwise.explain import Explanation
from termwise.explain import explanation_text as wording
from termwise.explain.snippets import cut
from termwise.text.words_around import word_around

MOST_ROWS = 12
"""Terms with a row of their own; the others are added up."""

MOST_WORDS = 4

LONGEST_TEXT = 100_000
"""Characters of a text on the page."""

ORIGINS = {
    "fuzzy": "similar spelling",
    "prefix": "beginning of a word",
    "piece": "piece of a word",
    "vector": "vector",
    "background": "document",
    "empty": "document",
}
"""Names of origins that need another one than their own."""


@dataclass(frozen=True)
class Row:
    """Part of a score.

    Attributes
    ----------
    name : str
    kind : str
        Origin of the contribution, for its colour; ``other`` for a constant, a sum of small terms, and the rounding.
    origin, description : str
        Name of the origin, and what it means; empty for other parts.
    words : tuple of str
        Words of the document that the part comes from, with their number or share.
    score : str
    left, width : str
        Of the bar, from 0 to 100.
    """

    name: str
    kind: str
    origin: str
    description: str
    words: tuple[str, ...]
    score: str
    left: str
    width: str


@dataclass(frozen=True)
class Why:
    """A score as a sum.

    Attributes
    ----------
    score : str
        Sum of the rows.
    rows : list of Row
    shares : list of (str, str, str)
        Kind, left and width, from 0 to 100, of the segments of one bar for all parts above 0.
    remarks : list of str
        Words of the query that add nothing, and why.
    """

    score: str
    rows: list[Row]
    shares: list[tuple[str, str, str]]
    remarks: list[str]


def why_of(explanation: Explanation) -> Why:
    """Return a score as rows; their numbers, as they are rounded, add up to the score.

    Examples
    --------
    >>> from termwise.explain import Contribution
    >>> parts = (Contribution("tea", "exact", 1.0, 3.0, 3.0), Contribution("uji", "expansion", 1.0, 1.0, 1.0))
    >>> why = why_of(Explanation("tea uji", "sencha", 4.0, 0.0, parts, (), None))
    >>> why.score, [(row.name, row.kind, row.score, row.width) for row in why.rows]
    ('4', [('tea', 'exact', '3', '100'), ('uji', 'expansion', '1', '33.33')])
    """
    decimals = wording.decimals_of(explanation)
    parts = [
        part
        for part in wording.summands(explanation, wording.contributing(explanation), MOST_ROWS, decimals)
        if part[1] != 0
    ]
    scores = [score for _, score, _ in parts]
    lowest, highest = min([0.0, *scores]), max([0.0, *scores])
    whole = (highest - lowest) or 1.0
    rows = [
        _row(explanation, name, position, wording.number(score, decimals), whole, lowest, score)
        for name, score, position in parts
    ]
    shares, left, above = [], 0.0, sum(score for score in scores if score > 0)
    for row, score in zip(rows, scores, strict=True):
        if score > 0:
            width = 100 * score / above
            shares.append((row.kind, css_number(left), css_number(width)))
            left += width
    remarks = [
        f"{remark.reason}: {', '.join(remark.words)}{f' and {remark.more:,} more' if remark.more else ''}"
        for remark in wording.remarks(explanation)
    ]
    return Why(wording.number(explanation.score, decimals), rows, shares, remarks)


def _row(
    explanation: Explanation,
    name: str,
    position: int | None,
    written: str,
    whole: float,
    lowest: float,
    score: float,
) -> Row:
    left = css_number(100 * ((min(0.0, score) - lowest) / whole))
    width = css_number(100 * (abs(score) / whole))
    written = written.replace("-", "−")
    if position is None:
        return Row(name, "other", "", "", (), written, left, width)
    origin = explanation.contributions[position].origin
    words = words_behind(explanation, position)
    return Row(
        name, origin, ORIGINS.get(origin, origin), wording.ORIGINS[origin], words, written, left, width
    )


def words_behind(explanation: Explanation, position: int) -> tuple[str, ...]:
    """Return the words of a document that a contribution comes from, with their number, or share for translations."""
    part, text = explanation.contributions[position], explanation.text or ""
    if part.sources:
        sources = next(each for each in wording.translation_sources(explanation) if each.position == position)
        more = (f"{sources.more:,} more",) if sources.more else ()
        return (*(f"{word} {wording.percent(share)}" for word, share in sources.parts), *more)
    found = Counter(legible_line(text[slice(*word_around(text, *span))]).casefold() for span in part.spans)
    return tuple(
        word if number == 1 else f"{word} ×{number}" for word, number in found.most_common(MOST_WORDS)
    )


def marked_text(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the text of a document in pieces, with the origin of the term that each belongs to, or an empty text."""
    text = explanation.text or ""
    return [
        (piece.text, "" if piece.term is None else explanation.contributions[piece.term].origin)
        for piece in cut(text[:LONGEST_TEXT], wording.marks(explanation))
    ]
