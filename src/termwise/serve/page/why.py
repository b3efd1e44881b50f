"""Why a document is a result: its score as rows that add up, each with a bar."""

from __future__ import annotations

from collections import Counter

from termwise.display.html import css_number
from termwise.display.safe_text import legible_line
from termwise.explain import Contribution, Explanation
from termwise.explain import explanation_text as wording
from termwise.explain.passages import cut
from termwise.fast_dataclass import dataclass
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
    "feedback": "first results",
}
"""Names of origins that need another one than their own."""


AVERAGE = "each ranker counts from the average score of its candidates"

OTHERS = {"constant": "the same for every document", "rounding": "so that the rounded numbers add up"}
"""Descriptions of parts that belong to no term."""


@dataclass(frozen=True)
class Row:
    """Part of a score.

    Attributes
    ----------
    name : str
    note : str
        The piece of the word, and the part of a mixture, that the row is about; can be empty.
    kind : str
        Origin of the contribution, for its colour; ``other`` for a constant, a sum of small terms, and the rounding.
    origin : str
        Name of the origin; empty for other parts.
    description : str
        What the origin, or the part, means.
    words : tuple of str
        Words of the document that the part comes from, with their number or share.
    score : str
    left, width : str
        Of the bar, from 0 to 100.
    """

    name: str
    note: str
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
    whole, above = (highest - lowest) or 1.0, sum(score for score in scores if score > 0)
    rows, shares, left = list[Row](), list[tuple[str, str, str]](), 0.0
    for name, score, position in parts:
        row = Row(
            *_named(explanation, name, position),
            score=_written(score, decimals),
            left=css_number(100 * ((min(0.0, score) - lowest) / whole)),
            width=css_number(100 * (abs(score) / whole)),
        )
        rows.append(row)
        if score > 0:
            width = 100 * score / above
            shares.append((row.kind, css_number(left), css_number(width)))
            left += width
    remarks = [
        f"{remark.reason}: {', '.join(remark.words)}{f' and {remark.more:,} more' if remark.more else ''}"
        for remark in wording.remarks(explanation)
    ]
    return Why(_written(explanation.score, decimals), rows, shares, remarks)


def _written(score: float, decimals: int) -> str:
    return wording.number(score, decimals).replace("-", "−")


def _named(
    explanation: Explanation, name: str, position: int | None
) -> tuple[str, str, str, str, str, tuple[str, ...]]:
    """Return the first fields of a row: name, note, kind, origin, description and words."""
    if position is None:
        averages = {wording.shift_name(part): legible_line(part.name) for part in explanation.parts}
        if name in averages:
            return f"average in {averages[name]}", "", "other", "", AVERAGE, ()
        return name, "", "other", "", OTHERS.get(name, ""), ()
    part = explanation.contributions[position]
    words = words_behind(explanation, position)
    return (
        wording.label(part, explanation.query),
        _note(part, explanation.query, words),
        part.origin,
        ORIGINS.get(part.origin, part.origin),
        wording.ORIGINS[part.origin],
        words,
    )


def _note(part: Contribution, query: str, words: tuple[str, ...]) -> str:
    """Return the piece of a word, or a similar term that no word of the text shows, and the part of a mixture."""
    notes = []
    if part.origin == "boost":
        notes.append(wording.stem(part, query))
    if wording.full_name(part, query) != wording.label(part, query):
        term = wording.stem(part, query).removeprefix("##")
        if part.origin not in wording.RESEMBLING:
            notes.append(f"piece “{term}”")
        elif not words:
            notes.append(f"as “{term}”")
    if part.part:
        notes.append(f"in {legible_line(part.part)}")
    return ", ".join(notes)


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


def marked_text(explanation: Explanation, text: str) -> list[tuple[str, str]]:
    """Return the text of a document in pieces, with the origin of the term that each belongs to, or an empty text.

    `text` is that of the explanation, or another one of this length that is shown instead.
    """
    return [
        (piece.text, "" if piece.term is None else explanation.contributions[piece.term].origin)
        for piece in cut(text, wording.marks(explanation))
    ]
