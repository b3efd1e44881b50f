"""Words and numbers of an explanation, for terminals and web pages.

Names and words are safe within a line, see `termwise.display.safe_text.legible_line`. Each number is rounded to the
decimals of the whole sum (`decimals_of`). If the rounded numbers do not add up to the rounded score, the difference is
a separate part (`rounding`).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from termwise.display.safe_text import legible_line
from termwise.explain.attribution import Span
from termwise.explain.passages import Mark
from termwise.explain.word_boundaries import united, whole_matches, whole_words
from termwise.fast_dataclass import dataclass
from termwise.text.words_around import word_around

if TYPE_CHECKING:
    from termwise.explain.explanation import Contribution, Explanation, MixturePart

ORIGINS = {
    "exact": "the word itself",
    "fuzzy": "a word of similar spelling, or with a blank more or less",
    "prefix": "a word that begins with the last one of the query",
    "synonym": "a synonym of words of the query",
    "piece": "only a piece of the word, in another word",
    "expansion": "this form is not in the text; added by the model",
    "translation": "translated from other words of the text",
    "vector": "this form is not in the text; compared by vectors",
    "background": "the document itself, for any query",
    "empty": "the smallest score of the candidates",
    "feedback": "the first documents for the words of the query, compared by vectors",
    "boost": "an attribute of the document, for any query",
    "absent": "no weight in this document",
    "unknown": "the word itself, or added by the model",
}
"""Descriptions of the origins of contributions."""

NOT_TERMS = frozenset({"background", "empty", "feedback", "boost"})
"""Origins of contributions that do not belong to a term of the query."""

RESEMBLING = frozenset({"fuzzy", "prefix", "synonym"})
"""Origins of terms that were added to the query, because they resemble one of its words or are its synonyms."""

ADDED = "added by the model, not in the text"
"""Description of words that no part of the text has."""

NEGATIVE = "negative weight in this document"
"""Description of words with a negative weight."""

IN_PIECES = "only pieces are known of"
"""Description of words that the index does not know as a whole."""

UNKNOWN = 1 << 30
"""Position instead of a contribution, for query tokens without one."""

NOTEWORTHY = 0.05
"""Smallest share of a translated term for which a word is marked in the text."""

SMALL_SHARE = 0.05
"""Small contributions, which are shown as one line, have at most this share of the sum of absolute values together."""

PINNED = "pinned by the rule for"
"""Description of a document that a rule puts before others; the query of the rule follows."""

REQUIRED, EXCLUDED = "in the text, as required", "not in the text, as required"

HUES = 8
"""Number of colours for terms."""

_QUERY_WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class Remark:
    """Reason, such as ``"not in this document"``, distinct words of the query, and the number of further words."""

    reason: str
    words: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True)
class TranslationSources:
    """Words of the text that are translated to the term of a contribution.

    `parts` are words, ``"itself"`` for the term, with their shares, largest first; `more` is the number of others.
    """

    position: int
    parts: tuple[tuple[str, float], ...]
    more: int


def decimals_for(values: Iterable[float]) -> int:
    """Return the number of decimals for a group of numbers.

    0 for whole numbers, otherwise 4, and more if the largest number would have fewer than four digits.

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


def decimals_of(explanation: Explanation) -> int:
    """Return the number of decimals of the scores of an explanation."""
    parts = (part.score for part in explanation.contributions)
    return decimals_for([explanation.constant, explanation.score, *parts])


def sum_without_signs(explanation: Explanation) -> float:
    """Return the sum of the absolute values of all contributions: the whole of the shares."""
    return sum(abs(part.score) for part in explanation.contributions)


def number(value: float, decimals: int) -> str:
    """Write a number with a fixed number of decimals, without the sign of zero.

    Examples
    --------
    >>> number(4.62387, 4), number(-0.00001, 4)
    ('4.6239', '0.0000')
    """
    written = f"{value:.{decimals}f}"
    return written[1:] if written[0] == "-" and float(written) == 0 else written


def factor(value: float) -> str:
    """Format a query weight: four decimals, or none for a whole number.

    Examples
    --------
    >>> factor(2.0), factor(0.43125)
    ('2', '0.4313')
    """
    return number(value, decimals_for([value]))


def rounding(parts: Sequence[float], total: float, decimals: int) -> float:
    """Return the difference between the rounded total and the sum of the rounded parts.

    Examples
    --------
    >>> rounding([0.14, 0.14], 0.28, 1)
    0.1
    >>> rounding([1.0, 2.0], 3.0, 0)
    0.0
    """
    rounded = sum((Decimal(number(part, decimals)) for part in parts), Decimal(0))
    return float(Decimal(number(total, decimals)) - rounded)


def contributing(explanation: Explanation) -> list[int]:
    """Return the positions of the contributions other than 0, largest first."""
    return [position for position, part in enumerate(explanation.contributions) if part.score != 0]


def smallest(values: Sequence[float]) -> frozenset[int]:
    """Return the positions of the smallest values, which have at most the share `SMALL_SHARE` of the sum together.

    Signs are ignored. Of values of the same size, either all are returned or none.

    Examples
    --------
    >>> sorted(smallest([1.7, 0.2, 0.02, -0.05])), sorted(smallest([1.7, 0.2, -0.05]))
    ([2, 3], [2])
    """
    sizes = [abs(value) for value in values]
    bound, total, whole = -1.0, 0.0, sum(sizes)
    for size, group in groupby(sorted(sizes)):
        total += sum(group)
        if total > SMALL_SHARE * whole:
            break
        bound = size
    return frozenset(position for position, size in enumerate(sizes) if size <= bound)


def small_contributions(explanation: Explanation) -> frozenset[int]:
    """Return the positions of the small contributions, whose words are not marked and whose sum is one line.

    Most are those of stop words: in an index of vectors, each of them has a small weight in every text.
    """
    positions = contributing(explanation)
    scores = [explanation.contributions[position].score for position in positions]
    return frozenset(positions[place] for place in smallest(scores))


def rank_text(explanation: Explanation) -> str:
    """Return the rank of the document, or the reason why it is not a result, and its relevance, as far as known."""
    relevance = "" if explanation.relevance is None else f"relevance {explanation.relevance:.2f}"
    return " · ".join(filter(None, (_rank_text(explanation), relevance)))


def _rank_text(explanation: Explanation) -> str:
    if explanation.rank is not None:
        of = "" if explanation.results is None else f" of {explanation.results:,}"
        return f"rank {explanation.rank:,}{of}{' candidates' if of and explanation.parts else ''}"
    if explanation.example == explanation.doc_id:
        return "the query itself, which is not a result"
    if explanation.parts and explanation.results is not None:
        return f"not among the {explanation.results:,} results of this query"
    if any(part.score != 0 and part.origin not in NOT_TERMS for part in explanation.contributions):
        return "" if explanation.results is None else f"not among the {explanation.results:,} results"
    return "not a result: the document shares no term with the query"


def neighbourhood(explanation: Explanation) -> list[tuple[int, str, float]]:
    """Return rank, name and score of the competitors and, if it has a rank, of the explained document, by rank."""
    rows = [(other.rank, legible_line(other.doc_id), other.score) for other in explanation.competitors]
    if explanation.rank is not None:
        rows.append((explanation.rank, legible_line(explanation.doc_id), explanation.score))
    return sorted(rows)


def summands(
    explanation: Explanation, positions: Sequence[int], most: int | None, decimals: int
) -> Iterator[tuple[str, float, int | None]]:
    """Yield the parts of the score as a sum: the constant, terms, the sum of the other terms, and the rounding.

    In a mixture, each part has a constant (see `shift_name`), which comes before its terms. If it is 0, for example
    because all candidates have the same score, it is left out. Of several terms, `most` are listed, see `largest`. Each
    part has a name, a value, and the position of the contribution, or None.
    """
    contributions = explanation.contributions
    listed = list(positions) if most is None else largest(explanation, positions, most)
    values = shifts(explanation)
    if not explanation.parts:
        yield "constant", explanation.constant, None
        for position in listed:
            yield (
                full_name(contributions[position], explanation.query),
                contributions[position].score,
                position,
            )
    for part in explanation.parts:
        if part.shift != 0 and not explanation.centred:
            yield shift_name(part), part.shift, None
        for position in listed:
            if contributions[position].part == part.name:
                name = f"{full_name(contributions[position], explanation.query)} ({legible_line(part.name)})"
                yield name, contributions[position].score, position
    if explanation.parts:  # boosts belong to no part
        for position in listed:
            if not contributions[position].part:
                yield contributions[position].term, contributions[position].score, position
    values += [contributions[position].score for position in listed]
    kept = set(listed)
    if others := [contributions[position].score for position in positions if position not in kept]:
        values.append(sum(others))
        yield f"{len(others):,} more terms", values[-1], None
    if lacking := rounding(values, explanation.score, decimals):
        yield "rounding", lacking, None


def shifts(explanation: Explanation) -> list[float]:
    """Return what each part of a mixture adds to the score of every document, or the constant; empty if centred."""
    if explanation.centred:
        return []
    return [part.shift for part in explanation.parts] or [explanation.constant]


def largest(explanation: Explanation, positions: Sequence[int], most: int) -> list[int]:
    """Return the positions of the contributions with the largest absolute value, in the given order.

    These are at most `most`, without those of `small_contributions`. If only one other is left, it is listed as well.
    """
    scores = explanation.contributions
    kept = set(sorted(positions, key=lambda position: -abs(scores[position].score))[:most])
    kept -= small_contributions(explanation)
    return [position for position in positions if position in kept or len(kept) == len(positions) - 1]


def part_name(part: Contribution, explanation: Explanation) -> str:
    """Return the part of a mixture that a contribution belongs to, or that it is a boost; empty for an index."""
    return legible_line(part.part or "boosts") if explanation.parts else ""


def shift_name(part: MixturePart) -> str:
    """Return the name of what a part of a mixture adds to the score of every document.

    Examples
    --------
    >>> from termwise.explain.explanation import MixturePart
    >>> shift_name(MixturePart("bm25", 0.3, 5.0, 4.0, 2.0))
    'mean of bm25'
    """
    return f"mean of {legible_line(part.name)}"


def part_line(part: MixturePart) -> str:
    """Write the share of a part of a mixture in the score as a formula.

    Examples
    --------
    >>> from termwise.explain.explanation import MixturePart
    >>> part_line(MixturePart("bm25", 0.3, 5.0, 4.0, 2.0))
    '0.3 × (5.0000 - 4.0000) / 2.0000 = 0.1500'
    >>> part_line(MixturePart("bm25", 0.3, 0.0, 0.0, 1.0))
    '0: all candidates have the same score'
    >>> part_line(MixturePart("bm25", 1.0, 5.0, 4.0, 2.0, reason="not 0.3: AB-1 is an identifier"))
    '1 × (5.0000 - 4.0000) / 2.0000 = 0.5000 (weight not 0.3: AB-1 is an identifier)'
    """
    if part.score == part.mean and part.deviation == 1:
        return "0: all candidates have the same score"
    decimals = max(4, decimals_for([part.score, part.mean, part.deviation]))
    score, mean, deviation = (number(value, decimals) for value in (part.score, part.mean, part.deviation))
    if part.mean < 0:
        mean = f"({mean})"
    total = number((part.score - part.mean) * part.scale, 4)
    reason = f" (weight {legible_line(part.reason)})" if part.reason else ""
    return f"{part.weight:.4g} × ({score} - {mean}) / {deviation} = {total}{reason}"


def shift_product(part: MixturePart) -> str:
    """Write the factors of what a part of a mixture adds to the score of every document.

    Examples
    --------
    >>> from termwise.explain.explanation import MixturePart
    >>> shift_product(MixturePart("bm25", 0.3, 5.0, 4.0, 2.0))
    '-4 × 0.1500'
    """
    return f"{factor(part.constant - part.mean)} × {factor(part.scale)}"


def product(part: Contribution, explanation: Explanation, decimals: int) -> str:
    """Write the factors of a contribution: query weight, document weight and, in a mixture, the scale of the part.

    In a centred explanation, the document weight is a difference to the mean of the candidates.
    """
    weight = number(part.weight, decimals)
    if explanation.centred:
        mean = number(part.mean, decimals)
        weight = f"({weight} - {f'({mean})' if mean[0] == '-' else mean})"
    factors = [factor(part.query_weight), weight]
    return " × ".join([*factors, factor(part.scale)] if part.part else factors)


def label(part: Contribution, query: str, *, words: int = 2) -> str:
    """Return the name of a contribution: its words in the query, or else its term.

    The name of a piece of a word is the word.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution
    >>> label(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 7), (12, 18))), "sorting the sorted")
    'sorting, sorted'
    """
    if part.origin in NOT_TERMS:
        named = {"background": "background", "empty": "no text: smallest score"}
        return named.get(part.origin, legible_line(part.term))
    names = _words(part, query)
    if not names:
        return legible_line(part.term)
    return legible_line(", ".join(names[:words])) + (", …" if len(names) > words > 1 else "")


def full_name(part: Contribution, query: str) -> str:
    """Return the name of a contribution, with the term if it is a piece of a word or only resembles it.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution
    >>> full_name(Contribution("##lib", "exact", 1.0, 2.0, 2.0, ((4, 7),)), "pathlib")
    'pathlib (##lib)'
    """
    name, term = label(part, query), stem(part, query)
    named = term and (part.origin in RESEMBLING or _is_piece(part, query))
    return f"{name} ({term})" if named else name


def stem(part: Contribution, query: str) -> str:
    """Return the term of a contribution if it differs from the name, else an empty text; of a boost, value and shape.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution
    >>> stem(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 6),)), "sorted")
    'sort'
    >>> stem(Contribution("sort", "exact", 1.0, 2.0, 2.0, ((0, 4),)), "Sort")
    ''
    """
    if part.origin == "boost":
        return legible_line(f"{part.value or 'no value'}, {part.shape}")
    if part.origin in NOT_TERMS:
        return ""
    named = {word.casefold() for word in _words(part, query)} or {part.term.casefold()}
    return "" if part.term.casefold() in named else legible_line(part.term)


def has_pieces(explanation: Explanation, positions: Iterable[int]) -> bool:
    """Return whether one of these terms starts with ``##``, that is, continues a word of the query."""
    parts = (explanation.contributions[position] for position in positions)
    return any(part.term.startswith("##") and _is_piece(part, explanation.query) for part in parts)


def scored_window(explanation: Explanation) -> tuple[str, Span] | None:
    """Return the name and the range of whole words of the window of a long text that was compared with the query.

    None if the text is a single window, or its range is not known.

    Examples
    --------
    >>> from termwise.explain.explanation import Explanation, Window
    >>> window = Window(2, 3, 6, 11, "lookup")
    >>> scored_window(Explanation("q", "d1", 1.0, 0.0, (), (), "merge sorted lists", windows=(window,)))
    ('window 2 of 3 (lookup)', (6, 12))
    """
    for window in explanation.windows:
        if window.count > 1 and window.start is not None and window.end is not None:
            part = f" ({legible_line(window.part)})" if window.part else ""
            name = f"window {window.number:,} of {window.count:,}{part}"
            return name, word_around(explanation.text or "", window.start, window.end)
    return None


def marks(explanation: Explanation) -> list[Mark]:
    """Return the marks of the text, with positions of contributions as terms.

    Source words of translations are marked by their share, unless it is below `NOTEWORTHY`. Marks inside a word cover
    the whole word, unless only one piece of it is in a word of the query. `small_contributions` are not marked.
    """
    text = explanation.text or ""
    unmarked = small_contributions(explanation)
    matches = _whole_matches(explanation)
    words: list[Mark] = []
    pieces: list[Mark] = []
    for position, part in enumerate(explanation.contributions):
        if part.score > 0 and position not in unmarked:
            for span in part.spans:
                (words if span in matches[position] else pieces).append(Mark(*span, part.score, position))
            for source in part.sources:
                if source.term != part.term and source.share >= NOTEWORTHY:
                    words += [
                        Mark(start, end, part.score * source.share, position) for start, end in source.spans
                    ]
    marked = whole_words(text, words) + pieces
    return united(marked) if explanation.parts else marked


def _whole_matches(explanation: Explanation) -> dict[int, frozenset[Span]]:
    """Return the spans of each contribution that match a word of the query, see `whole_matches`."""
    by_part: defaultdict[str, list[int]] = defaultdict(list)
    for position, part in enumerate(explanation.contributions):
        by_part[part.part].append(position)
    matches: dict[int, frozenset[Span]] = {}
    for positions in by_part.values():
        parts = [explanation.contributions[position] for position in positions]
        terms = [(part.query_spans, part.spans) for part in parts]
        found = whole_matches(explanation.query, explanation.text or "", terms)
        matches |= zip(positions, found, strict=True)
    return matches


def example_marks(explanation: Explanation) -> list[Mark]:
    """Return the marks of the query in a query by example, like `marks` for the document."""
    unmarked = small_contributions(explanation)
    marked = [
        Mark(start, end, part.score, position)
        for position, part in enumerate(explanation.contributions)
        if part.score > 0 and position not in unmarked
        for start, end in part.query_spans
    ]
    return whole_words(explanation.query, marked)


def added_by_model(explanation: Explanation) -> frozenset[int]:
    """Return the positions of contributions with words absent from the document."""
    return frozenset(
        position
        for position, part in enumerate(explanation.contributions)
        if part.score > 0 and part.origin in ("expansion", "translation", "vector")
    )


def sums_of_words(explanation: Explanation) -> list[tuple[str, float, int]]:
    """Return the parts of the sum with the pieces of one word added up: name, score, and position; largest first.

    The position is that of the largest contribution. The name is the word, with its contributing pieces if other pieces
    contribute nothing, or with ``(pieces)``, see `words_in_pieces`. In a mixture, the contributions of a word in all
    parts are added up, and so are those of feedback.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> path = Contribution("path", "exact", 1.0, 2.0, 2.0, ((0, 4),))
    >>> lib = Contribution("##lib", "exact", 1.0, 1.0, 1.0, ((4, 7),))
    >>> sums_of_words(Explanation("pathlib", "d1", 3.0, 0.0, (path, lib), (), None))
    [('pathlib', 3.0, 0)]
    """
    query, parts = explanation.query, explanation.contributions
    pieces = _pieces_of_words(explanation)
    in_pieces = set(map(legible_line, words_in_pieces([explanation])))
    groups: dict[object, list[int]] = {}
    for position in contributing(explanation):
        words = _words(parts[position], query)
        is_piece = len(words) == 1 and _is_piece(parts[position], query)
        together = is_piece or (words and explanation.parts)
        key = parts[position].term if parts[position].origin == "feedback" else position
        groups.setdefault(words[0].casefold() if together else ("other", key), []).append(position)
    sums = []
    for positions in groups.values():
        group = [parts[position] for position in positions]
        name = label(group[0], query, words=1)
        incomplete = not explanation.parts and _incomplete_words(group, pieces, query)
        if incomplete and _is_piece(group[0], query):
            name += f" ({legible_line(' '.join(part.term for part in group))})"
        elif name in in_pieces:
            name += " (pieces)"
        elif not explanation.parts and group[0].origin in RESEMBLING:
            name = full_name(group[0], query)
        sums.append((name, sum(part.score for part in group), positions[0]))
    return sorted(sums, key=lambda part: -part[1])


def translation_sources(explanation: Explanation, *, words: int = 4) -> list[TranslationSources]:
    """Return at most `words` source words of each translated term, in the order of the contributions."""
    text = explanation.text or ""
    sources = []
    for position, part in enumerate(explanation.contributions):
        shares: dict[str, float] = {}
        for source in part.sources:
            word = text[slice(*word_around(text, *source.spans[0]))]
            name = "itself" if source.term == part.term else legible_line(word)
            shares[name] = shares.get(name, 0.0) + source.share
        largest = sorted(shares.items(), key=lambda item: -item[1])
        if largest:
            sources.append(TranslationSources(position, tuple(largest[:words]), max(0, len(largest) - words)))
    return sources


def percent(share: float) -> str:
    """Write a share in whole percent.

    Examples
    --------
    >>> percent(0.614), percent(0.0001), percent(0), percent(-0.2), percent(-0.0001)
    ('61%', '<1%', '0%', '-20%', '<1%')
    """
    return "<1%" if 0 < abs(share) < 0.005 else f"{share:.0%}"


def query_marks(explanation: Explanation, *, small: bool = False) -> list[Mark]:
    """Return the marks of the query: its terms, and tokens that are not in the index (term `UNKNOWN`).

    In a word with contributing pieces, only these pieces are marked; their marks cover the whole word. With `small`,
    words that have `small_contributions` only are marked as well.
    """
    query, unmarked = explanation.query, small_contributions(explanation)
    adding: list[Mark] = []
    slight: list[Mark] = []
    others = [Mark(start, end, 1.0, UNKNOWN) for start, end in explanation.unknown]
    for position, part in enumerate(explanation.contributions):
        target = slight if position in unmarked else adding if part.score != 0 else others
        target += [Mark(start, end, 2.0, position) for start, end in part.query_spans]
    shown: list[Mark] = []
    for group in (adding, slight, others):
        marked = {word_around(query, mark.start, mark.end) for mark in shown}
        shown += [mark for mark in group if word_around(query, mark.start, mark.end) not in marked]
    if not small:
        shown = [mark for mark in shown if mark.term not in unmarked]
    marked_words = whole_words(query, shown)
    return united(marked_words) if explanation.parts else marked_words


def word_groups(explanation: Explanation) -> list[int]:
    """Return the first contribution of the group of each one: those that share a word of the query are one group.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> stem = Contribution("merg", "exact", 1.0, 2.0, 2.0, ((0, 7),), part="bm25")
    >>> list_ = Contribution("list", "exact", 1.0, 2.0, 2.0, ((8, 12),), part="bm25")
    >>> word = Contribution("merging", "vector", 1.0, 1.0, 1.0, ((0, 7),), part="lookup")
    >>> word_groups(Explanation("merging list", "d1", 5.0, 0.0, (stem, list_, word), (), None))
    [0, 1, 0]
    """
    groups = list(range(len(explanation.contributions)))
    group_of: dict[str, int] = {}
    for position, part in enumerate(explanation.contributions):
        for word in map(str.casefold, _words(part, explanation.query)):
            one, other = groups[position], groups[group_of.setdefault(word, position)]
            if one != other:
                groups = [min(one, other) if group in (one, other) else group for group in groups]
    return groups


def hues(explanation: Explanation, positions: Iterable[int]) -> dict[int, int]:
    """Assign colours to contributions, in the order of their terms in the query.

    With `positions` of all contributions of a short query, a term has the same colour in the explanations of all
    documents. If there are more terms than colours, the largest contributions get colours. A document bias has none.
    In a mixture, a word has the same colour in all parts. Colours are numbers from 0 to `HUES` - 1.
    """
    parts = explanation.contributions
    coloured = [position for position in sorted(positions) if parts[position].origin not in NOT_TERMS]
    groups: dict[object, list[int]] = {}
    for position in coloured:
        words = tuple(map(str.casefold, _words(parts[position], explanation.query)))
        groups.setdefault(words if words and explanation.parts else position, []).append(position)
    end = ((len(explanation.query), 0),)
    chosen = sorted(
        list(groups.values())[:HUES],
        key=lambda group: (parts[group[0]].query_spans or end, parts[group[0]].term),
    )
    return {position: hue for hue, group in enumerate(chosen) for position in group}


def remarks(explanation: Explanation, *, words: int = 40) -> list[Remark]:
    """Return remarks on words that are required, excluded, added by the model, of no weight, or of negative weight.

    A word of the text can have the weight 0, and stop words and punctuation are not part of the query. In a mixture,
    each part has a remark on the words that it has no weight for. Reasons without words are left out, and so are words
    of `small_contributions` that lower the score. A remark lists at most `words` words.
    """
    query, stored = explanation.query, explanation.text is not None
    scales = {part.name: part.scale for part in explanation.parts}
    in_text = {
        word
        for part in explanation.contributions
        if explanation.parts and part.spans and part.origin != "piece"
        for word in _words_around(part.query_spans, query)
    }
    small = small_contributions(explanation)
    terms = [
        (position, part)
        for position, part in sorted(
            enumerate(explanation.contributions), key=lambda each: each[1].query_spans
        )
        if part.origin not in NOT_TERMS
    ]
    added = [
        part
        for _, part in terms
        if part.score > 0 and part.origin == "expansion"
        if not in_text & _words_around(part.query_spans, query)
    ]
    lowering = [part for position, part in terms if part.score < 0 and position not in small]
    negative = [part for part in lowering if part.weight < 0]
    weighted = {(part.part, part.query_spans) for _, part in terms if part.weight != 0}
    without = [
        part for _, part in terms if part.weight == 0 and (part.part, part.query_spans) not in weighted
    ]
    words_by_reason = {
        PINNED: [explanation.pinned] if explanation.pinned else [],
        **_conditions(explanation),
        ADDED: _named(added, explanation),
        NEGATIVE: _lowering_words(negative, explanation),
    }
    for part in explanation.parts:
        reason = f"lower the score, because the part {legible_line(part.name)} has a negative weight"
        reversed_ = [
            each for each in lowering if each.part == part.name and each.weight > 0 > scales[part.name]
        ]
        words_by_reason[reason] = _lowering_words(reversed_, explanation)
    for part in explanation.parts:
        reason = f"{legible_line(part.name)} has no weight for"
        words_by_reason[reason] = _without_weight(
            [each for each in without if each.part == part.name], part, explanation
        )
    if not explanation.parts:
        absent = "not in this document" if stored else "of no weight in this document"
        words_by_reason[absent] = _named([part for part in without if not part.spans], explanation)
        words_by_reason["in this document, but of no weight"] = _named(
            [part for part in without if part.spans], explanation
        )
    words_by_reason[IN_PIECES] = words_in_pieces([explanation])
    words_by_reason["not in the index"] = [query[start:end] for start, end in explanation.unknown]
    words_by_reason["left out of the query"] = _left_out(explanation)
    return [
        Remark(reason, tuple(map(legible_line, distinct[:words])), max(0, len(distinct) - words))
        for reason, reason_words in words_by_reason.items()
        if (distinct := _distinct(reason_words))
    ]


def condition_text(explanation: Explanation) -> str:
    """Return the rule that pins a document, and the conditions on the text that it fulfils, on one line.

    Examples
    --------
    >>> from termwise.explain.explanation import Explanation, TextCondition
    >>> conditions = TextCondition("molten rock", False, True), TextCondition("film", True, False)
    >>> condition_text(Explanation("lava", "d1", 1.0, 0.0, (), (), None, conditions=conditions))
    'in the text, as required: "molten rock" · not in the text, as required: film'
    """
    named = {PINNED: [explanation.pinned] if explanation.pinned else [], **_conditions(explanation)}
    return " · ".join(
        f"{reason}: {', '.join(map(legible_line, named[reason]))}"
        for reason in (PINNED, REQUIRED, EXCLUDED)
        if named[reason]
    )


def _conditions(explanation: Explanation) -> dict[str, list[str]]:
    """Return the required and excluded words and phrases by whether the text contains them."""
    reasons = {
        (False, True): REQUIRED,
        (False, False): "required, but not in the text",
        (True, False): EXCLUDED,
        (True, True): "excluded, but in the text",
    }
    named: dict[str, list[str]] = {reason: [] for reason in reasons.values()}
    for each in explanation.conditions:
        words = f'"{each.words}"' if len(each.words.split()) > 1 else each.words
        named[reasons[each.excluded, each.in_text]].append(words)
    return named


def words_in_pieces(explanations: Sequence[Explanation]) -> list[str]:
    """Return the words of a query of which only pieces contribute to the scores of all these documents.

    The index does not know such a word as a whole, and no document has it: its pieces are compared with other words.
    Without a stored text, only a part of a mixture that does not know the word shows this.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> x = Contribution("x", "vector", 1.0, 2.0, 2.0, ((0, 1),))
    >>> yz = Contribution("##yz", "vector", 1.0, 1.0, 1.0, ((1, 3),))
    >>> words_in_pieces([Explanation("xyz", "d1", 3.0, 0.0, (x, yz), (), None)])
    ['xyz']
    """
    contributes: dict[Span, bool] = {}
    known: set[Span] = set()
    for explanation in explanations:
        unknown = {span for part in explanation.parts for span in part.unknown}
        for part in explanation.contributions:
            for span in part.query_spans:
                word = word_around(explanation.query, *span)
                contributes[word] = contributes.get(word, False) or part.score != 0
                in_text = part.origin == "exact" or (part.origin == "unknown" and word not in unknown)
                if word == span or in_text:
                    known.add(word)
    query = explanations[0].query if explanations else ""

    def is_known(word: Span) -> bool:
        """Return whether a known word contains a word: ``2.4ghz`` contains ``4ghz``."""
        return any(start <= word[0] and word[1] <= end for start, end in known)

    return [query[slice(*word)] for word in sorted(contributes) if contributes[word] and not is_known(word)]


def _without_weight(absent: Sequence[Contribution], part: MixturePart, explanation: Explanation) -> list[str]:
    """Name the words that a part has no weight for, but the index of another part knows; in the order of the query."""
    names = [(each.query_spans, name) for each, name in zip(absent, _named(absent, explanation), strict=True)]
    unknown = set(part.unknown) - set(explanation.unknown)
    names += [(((start, end),), explanation.query[start:end]) for start, end in unknown]
    return [name for _, name in sorted(names)]


def _lowering_words(lowering: Sequence[Contribution], explanation: Explanation) -> list[str]:
    """Name the words that lower the score in a part; that of a word in pieces is the sum over its pieces."""
    query = explanation.query
    totals: defaultdict[tuple[str, Span], float] = defaultdict(float)
    for part in explanation.contributions:
        for word in _words_around(part.query_spans, query):
            totals[part.part, word] += part.score
    return [
        label(part, query)
        for part in lowering
        if not part.query_spans
        or any(totals[part.part, word] < 0 for word in _words_around(part.query_spans, query))
    ]


def _named(parts: Sequence[Contribution], explanation: Explanation) -> list[str]:
    """Name parts by their words, with the piece if other pieces of the word are not among the parts."""
    query = explanation.query
    incomplete = _incomplete_words(parts, _pieces_of_words(explanation), query)
    return [
        full_name(part, query) if incomplete & _words_around(part.query_spans, query) else label(part, query)
        for part in parts
    ]


def _pieces_of_words(explanation: Explanation) -> dict[Span, set[Span]]:
    """Return, for each word of the query, the spans of its pieces."""
    pieces: defaultdict[Span, set[Span]] = defaultdict(set)
    for span in _token_spans(explanation):
        pieces[word_around(explanation.query, *span)].add(span)
    return pieces


def _incomplete_words(
    parts: Iterable[Contribution], pieces: Mapping[Span, AbstractSet[Span]], query: str
) -> set[Span]:
    """Return the words of the parts that have pieces in no part."""
    covered = {span for part in parts for span in part.query_spans}
    return {word for word in _words_around(covered, query) if pieces[word] - covered}


def _is_piece(part: Contribution, query: str) -> bool:
    return any(word_around(query, *span) != span for span in part.query_spans)


def _words_around(spans: Iterable[Span], query: str) -> set[Span]:
    return {word_around(query, *span) for span in spans}


def _words(part: Contribution, query: str) -> list[str]:
    return _distinct(query[slice(*word_around(query, *span))] for span in part.query_spans)


def _token_spans(explanation: Explanation) -> list[Span]:
    return sorted(
        [*explanation.unknown, *(s for part in explanation.contributions for s in part.query_spans)]
    )


def _left_out(explanation: Explanation) -> list[str]:
    spans = _token_spans(explanation)
    left, following = [], 0
    for word in _QUERY_WORD.finditer(explanation.query):
        while following < len(spans) and spans[following][1] <= word.start():
            following += 1
        if following == len(spans) or spans[following][0] >= word.end():
            left.append(word.group())
    return left


def _distinct(words: Iterable[str]) -> list[str]:
    """Return distinct words, ignoring case, in the order of first use."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.casefold(), word)
    return list(first.values())
