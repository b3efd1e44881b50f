"""What an explanation says, in the words and numbers people read; the same in the terminal and on a page.

Numbers follow one rule. Each is rounded by itself, to as many decimals as `decimals_for` says for the whole sum.
Where the rounded numbers do not add up to the rounded score, what is missing is shown as a part of its own
(`rounding`), never spread over the others.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from termwise.explain.attribution import Span
from termwise.explain.snippets import Mark
from termwise.explain.whole_words import whole_words, word_around

if TYPE_CHECKING:
    from termwise.explain.explanation import Contribution, Explanation

ORIGINS = {
    "exact": "the word itself",
    "expansion": "added by the model, not in the text",
    "translation": "translated from other words of the text",
    "background": "the document itself, whatever is asked",
    "absent": "adds nothing to this document",
    "unknown": "the word itself, or added by the model",
}
"""What each origin of a contribution means."""

UNKNOWN = 1 << 30
"""Stands for the position of a contribution where a token of the query has none."""

NOTEWORTHY = 0.05
"""A word with a smaller share of a translated term is not marked in the text."""

HUES = 8
"""Terms that are told apart by colour."""

_QUERY_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class Remark:
    """Words of a query about which there is something to say: most add nothing, and this is why.

    Attributes
    ----------
    reason : str
        ``"not in this document"`` and the like.
    words : tuple of str
        As the query says them, each once.
    """

    reason: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Makeup:
    """What the weight of a term consists of, where words of the text are taken for others.

    Attributes
    ----------
    place : int
        Position of the contribution.
    parts : tuple of (str, float)
        Words as the text says them, ``"itself"`` for the term, and their shares; the largest first.
    more : int
        Further words.
    """

    place: int
    parts: tuple[tuple[str, float], ...]
    more: int


def decimals_for(values: Iterable[float]) -> int:
    """Return how many decimals numbers that belong together are shown with.

    None for whole numbers. Otherwise four, and more only where the largest would have fewer than four digits.

    Examples
    --------
    >>> decimals_for([9.59, 4.62]), decimals_for([3.0, 12.0]), decimals_for([0.00123])
    (4, 0, 6)
    """
    known = [abs(value) for value in values]
    largest = max(known, default=0.0)
    if largest >= 1e9 or all(value == int(value) for value in known):
        return 0
    return 4 if largest >= 1 else min(12, 3 - math.floor(math.log10(largest)))


def number(value: float, decimals: int) -> str:
    """Write a number with so many decimals; what rounds to zero has no sign.

    Examples
    --------
    >>> number(4.62387, 4), number(-0.00001, 4)
    ('4.6239', '0.0000')
    """
    written = f"{value:.{decimals}f}"
    return written[1:] if written[0] == "-" and float(written) == 0 else written


def factor(value: float) -> str:
    """Write the weight of a term in a query: as it is if whole, with four decimals otherwise.

    Examples
    --------
    >>> factor(2.0), factor(0.43125)
    ('2', '0.4313')
    """
    return number(value, decimals_for([value]))


def rounding(parts: Sequence[float], total: float, decimals: int) -> float:
    """Return what the rounded parts lack to add up to the rounded total.

    Examples
    --------
    >>> rounding([0.14, 0.14], 0.28, 1)
    0.1
    >>> rounding([1.0, 2.0], 3.0, 0)
    0.0
    """
    shown = sum((Decimal(number(part, decimals)) for part in parts), Decimal(0))
    return float(Decimal(number(total, decimals)) - shown)


def counted(explanation: Explanation) -> list[int]:
    """Return the positions of the contributions that add something, largest first."""
    return [place for place, part in enumerate(explanation.contributions) if part.score != 0]


def is_result(explanation: Explanation) -> bool:
    """Tell whether the document shares a term with the query, so that a search can find it."""
    return any(part.score != 0 and part.origin != "background" for part in explanation.contributions)


def label(part: Contribution, query: str, *, words: int = 2) -> str:
    """Return a contribution's name: the words of the query it comes from, or else its term.

    A term that is a piece of a word has the name of the word.

    Parameters
    ----------
    part : Contribution
        What to name.
    query : str
        The query of the explanation.
    words : int, optional
        Different words named at most.

    Examples
    --------
    >>> label(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 7), (12, 18))), "sorting the sorted")
    'sorting, sorted'
    """
    if part.origin == "background":
        return "background"
    found = _words(part, query)
    if not found:
        return part.term
    return ", ".join(found[:words]) + (", …" if len(found) > words > 1 else "")


def full_name(part: Contribution, query: str) -> str:
    """Return a contribution's name where it stands alone: with its term, if that is no more than a piece of a word.

    Examples
    --------
    >>> full_name(Contribution("##lib", "exact", 1.0, 2.0, 2.0, ((4, 7),)), "pathlib")
    'pathlib (##lib)'
    """
    name, term = label(part, query), stem(part, query)
    return f"{name} ({term})" if term and _is_piece(part, query) else name


def stem(part: Contribution, query: str) -> str:
    """Return the term of a contribution where its name does not say it, or nothing.

    Examples
    --------
    >>> stem(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 6),)), "sorted")
    'sort'
    >>> stem(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 4),)), "Sort")
    ''
    """
    if part.origin == "background":
        return ""
    named = {word.casefold() for word in _words(part, query)} or {part.term.casefold()}
    return "" if part.term.casefold() in named else part.term


def in_pieces(explanation: Explanation) -> bool:
    """Tell whether a term that adds something continues a word of the query, which ``##`` at its beginning says."""
    parts = (explanation.contributions[place] for place in counted(explanation))
    return any(part.term.startswith("##") and _is_piece(part, explanation.query) for part in parts)


def marks(explanation: Explanation) -> list[Mark]:
    """Return the places in the text that the score comes from; their terms are positions of contributions.

    A word that a term is a translation of is marked by its share, unless that is below `NOTEWORTHY`. Marks inside a
    word cover the whole of it.
    """
    found = []
    for place, part in enumerate(explanation.contributions):
        if part.score > 0:
            found += [Mark(start, end, part.score, place) for start, end in part.spans]
            for source in part.sources:
                if source.term != part.term and source.share >= NOTEWORTHY:
                    found += [
                        Mark(start, end, part.score * source.share, place) for start, end in source.spans
                    ]
    return whole_words(explanation.text or "", found)


def example_marks(explanation: Explanation) -> list[Mark]:
    """Return the places in the query that add to the score, each as strong as its term contributes.

    For a query that is a document, shown as `marks` are in the other one.
    """
    found = [
        Mark(start, end, part.score, place)
        for place, part in enumerate(explanation.contributions)
        if part.score > 0
        for start, end in part.query_spans
    ]
    return whole_words(explanation.query, found)


def one_sided(explanation: Explanation) -> frozenset[int]:
    """Return the positions of contributions whose word the document does not say: a model has added it."""
    return frozenset(
        place
        for place, part in enumerate(explanation.contributions)
        if part.score > 0 and part.origin in ("expansion", "translation")
    )


def together(explanation: Explanation) -> list[tuple[str, float, int]]:
    """Return the parts of a sum in which the pieces of one word are one part, the largest first.

    Returns
    -------
    list of (str, float, int)
        Name, score, and position of the largest contribution. The name is the word; where other pieces of it add
        nothing, with those that do.

    Examples
    --------
    >>> path = Contribution("path", "exact", 1.0, 2.0, 2.0, ((0, 4),))
    >>> lib = Contribution("##lib", "exact", 1.0, 1.0, 1.0, ((4, 7),))
    >>> together(Explanation("pathlib", "d1", 3.0, 0.0, (path, lib), (), None))
    [('pathlib', 3.0, 0)]
    """
    query, parts = explanation.query, explanation.contributions
    pieces = _pieces_of_words(explanation)
    groups: dict[object, list[int]] = {}
    for place in counted(explanation):
        words = _words(parts[place], query)
        one = len(words) == 1 and _is_piece(parts[place], query)
        groups.setdefault(words[0].casefold() if one else place, []).append(place)
    found = []
    for places in groups.values():
        group = [parts[place] for place in places]
        name = label(group[0], query, words=1)
        if _is_piece(group[0], query) and _beside(group, pieces, query):
            name += f" ({' '.join(part.term for part in group)})"
        found.append((name, sum(part.score for part in group), places[0]))
    return sorted(found, key=lambda part: -part[1])


def makeups(explanation: Explanation, *, words: int = 4) -> list[Makeup]:
    """Say which words of the text each translated term comes from, in the order of the contributions.

    Parameters
    ----------
    explanation : Explanation
        Its contributions have sources if its index was compiled from a translation table and keeps texts.
    words : int, optional
        Words named for a term, at most.
    """
    text = explanation.text or ""
    found = []
    for place, part in enumerate(explanation.contributions):
        shares: dict[str, float] = {}
        for source in part.sources:
            said = text[slice(*word_around(text, *source.spans[0]))]
            name = "itself" if source.term == part.term else said
            shares[name] = shares.get(name, 0.0) + source.share
        largest = sorted(shares.items(), key=lambda one: -one[1])
        if largest:
            found.append(Makeup(place, tuple(largest[:words]), max(0, len(largest) - words)))
    return found


def percent(share: float) -> str:
    """Write a share of 1 in whole percent.

    Examples
    --------
    >>> percent(0.614), percent(0.0001), percent(0)
    ('61%', '<1%', '0%')
    """
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def query_marks(explanation: Explanation) -> list[Mark]:
    """Return the places in the query that are terms, and those the index does not know (term `UNKNOWN`).

    Of a word some pieces of which add to the score, these are marked, and cover the whole of it.
    """
    query = explanation.query
    adding: list[Mark] = []
    others = [Mark(start, end, 1.0, UNKNOWN) for start, end in explanation.unknown]
    for place, part in enumerate(explanation.contributions):
        found = adding if part.score != 0 else others
        found += [Mark(start, end, 2.0, place) for start, end in part.query_spans]
    marked = {word_around(query, mark.start, mark.end) for mark in adding}
    left = [mark for mark in others if word_around(query, mark.start, mark.end) not in marked]
    return whole_words(query, adding + left)


def hues(explanation: Explanation, places: Iterable[int]) -> dict[int, int]:
    """Choose a colour for each of some contributions.

    Terms are coloured in the order of the query: if `places` are all contributions of a query of few terms, a term has
    one colour in the explanations of all documents. Of more terms than there are colours, those that add most are
    coloured; a document bias never is.

    Parameters
    ----------
    explanation : Explanation
        Its contributions are sorted, largest first.
    places : iterable of int
        Positions of contributions.

    Returns
    -------
    dict of int to int
        Position to number of the colour, from 0 to `HUES` - 1.
    """
    parts = explanation.contributions
    chosen = [place for place in sorted(places) if parts[place].origin != "background"][:HUES]
    end = ((len(explanation.query), 0),)
    chosen.sort(key=lambda place: (parts[place].query_spans or end, parts[place].term))
    return {place: hue for hue, place in enumerate(chosen)}


def remarks(explanation: Explanation) -> list[Remark]:
    """Say which words of the query add nothing to the score, and why, and which the text does not say.

    A word can be in the text and still weigh nothing (a model may weigh words of most documents 0), or be left
    out of the query (stop words, punctuation). Reasons without words are left out.
    """
    query = explanation.query
    added: list[Contribution] = []
    absent: list[Contribution] = []
    weightless: list[Contribution] = []
    for part in sorted(explanation.contributions, key=lambda part: part.query_spans):
        if part.score == 0 and part.origin != "background":
            (weightless if part.spans else absent).append(part)
        elif part.origin == "expansion":
            added.append(part)
    unknown = [query[start:end] for start, end in explanation.unknown]
    stored = explanation.text is not None
    every = {
        ORIGINS["expansion"]: _named(added, explanation),
        "not in this document" if stored else "of no weight in this document": _named(absent, explanation),
        "in this document, but of no weight": _named(weightless, explanation),
        "not in the index": unknown,
        "left out of the query": _left_out(explanation),
    }
    return [Remark(reason, tuple(_distinct(words))) for reason, words in every.items() if words]


def _named(parts: Sequence[Contribution], explanation: Explanation) -> list[str]:
    """Name parts by their words; a piece is named where other pieces of its word are not among the parts."""
    query = explanation.query
    beside = _beside(parts, _pieces_of_words(explanation), query)
    return [
        full_name(part, query) if beside & _places(part.query_spans, query) else label(part, query)
        for part in parts
    ]


def _pieces_of_words(explanation: Explanation) -> dict[Span, set[Span]]:
    """Return, for each word of the query, the places in it that are looked up."""
    pieces: defaultdict[Span, set[Span]] = defaultdict(set)
    for span in _taken(explanation):
        pieces[word_around(explanation.query, *span)].add(span)
    return pieces


def _beside(parts: Iterable[Contribution], pieces: Mapping[Span, AbstractSet[Span]], query: str) -> set[Span]:
    """Return the words of the parts that have pieces besides them."""
    here = {span for part in parts for span in part.query_spans}
    return {word for word in _places(here, query) if pieces[word] - here}


def _is_piece(part: Contribution, query: str) -> bool:
    return any(word_around(query, *span) != span for span in part.query_spans)


def _places(spans: Iterable[Span], query: str) -> set[Span]:
    return {word_around(query, *span) for span in spans}


def _words(part: Contribution, query: str) -> list[str]:
    return _distinct(query[slice(*word_around(query, *span))] for span in part.query_spans)


def _taken(explanation: Explanation) -> list[Span]:
    """Return where the query says what is looked up, in its order."""
    return sorted(
        [*explanation.unknown, *(s for part in explanation.contributions for s in part.query_spans)]
    )


def _left_out(explanation: Explanation) -> list[str]:
    taken = _taken(explanation)
    left, following = [], 0
    for word in _QUERY_WORD.finditer(explanation.query):
        while following < len(taken) and taken[following][1] <= word.start():
            following += 1
        if following == len(taken) or not _overlap(taken[following], word.span()):
            left.append(word.group())
    return left


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _distinct(words: Iterable[str]) -> list[str]:
    """Return each word once, upper and lower case being one, in the order of their first use."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.casefold(), word)
    return list(first.values())
