"""Marks and matches of whole words, for analyzers that split words into pieces; see `termwise.text.words_around`."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from termwise.explain.attribution import Span
from termwise.explain.passages import Mark
from termwise.text.words_around import word_around


def whole_words(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Extend marks so that the marks inside a word cover all of it; each ends where the next begins.

    Examples
    --------
    >>> whole_words("unlinked", [Mark(0, 2, 1.0, 0), Mark(2, 6, 1.0, 1)])
    [Mark(start=0, end=2, weight=1.0, term=0), Mark(start=2, end=8, weight=1.0, term=1)]
    """
    placed = [(mark, word_around(text, mark.start, mark.end)) for mark in marks]
    starts: defaultdict[Span, list[int]] = defaultdict(list)
    for mark, word in sorted(placed):
        starts[word].append(mark.start)
    widened = []
    for mark, word in placed:
        following = bisect_left(starts[word], mark.end)
        start = word[0] if mark.start == starts[word][0] else mark.start
        end = starts[word][following] if following < len(starts[word]) else word[1]
        widened.append(mark._replace(start=start, end=end))
    return widened


def whole_matches(
    query: str, text: str, terms: Iterable[tuple[Sequence[Span], Sequence[Span]]]
) -> list[frozenset[Span]]:
    """Return the spans in a text that match a word of the query, not only a piece of it.

    A span matches if it is a whole word and the term is a whole word of the query, or if its word and a word of the
    query have at least two pieces in common.

    Parameters
    ----------
    query, text : str
    terms : iterable of (sequence of (int, int), sequence of (int, int))
        Per term of one analyzer, its spans in the query and in the text.

    Returns
    -------
    list of frozenset of (int, int)
        Per term, the spans in the text that match.

    Examples
    --------
    >>> un, link, lib = ([(0, 2)], [(0, 2)]), ([(2, 6)], [(2, 6)]), ([(11, 14)], [(11, 14)])
    >>> [sorted(spans) for spans in whole_matches("unlink pathlib", "unlinked, ctlib", [un, link, lib])]
    [[(0, 2)], [(2, 6)], []]
    """
    whole: list[set[Span]] = []
    pieces: list[list[tuple[Span, str]]] = []  # of the text, with their words
    query_pieces: defaultdict[Span, set[int]] = defaultdict(set)
    text_pieces: defaultdict[str, set[int]] = defaultdict(set)
    for number, (query_spans, text_spans) in enumerate(terms):
        is_word = not query_spans
        for span in query_spans:
            start, end = word_around(query, *span)
            if (start, end) == tuple(span):
                is_word = True
            else:
                query_pieces[start, end].add(number)
        whole.append(set())
        pieces.append([])
        for span in text_spans:
            start, end = word_around(text, *span)
            if (start, end) != tuple(span):
                word = text[start:end].casefold()
                text_pieces[word].add(number)
                pieces[-1].append((span, word))
            elif is_word:
                whole[-1].add(span)
    pairs = {pair for its_pieces in query_pieces.values() for pair in combinations(sorted(its_pieces), 2)}
    common = {
        (number, word)
        for word, its_pieces in text_pieces.items()
        for pair in combinations(sorted(its_pieces), 2)
        if pair in pairs
        for number in pair
    }
    return [
        frozenset(spans | {span for span, word in its_pieces if (number, word) in common})
        for number, (spans, its_pieces) in enumerate(zip(whole, pieces, strict=True))
    ]


def united(marks: Iterable[Mark]) -> list[Mark]:
    """Extend overlapping marks so that each covers all of them, for words that two analyzers bound differently.

    Examples
    --------
    >>> united([Mark(0, 6, 1.0, 0), Mark(0, 4, 2.0, 1), Mark(7, 9, 1.0, 2)])
    [Mark(start=0, end=6, weight=1.0, term=0), Mark(start=0, end=6, weight=2.0, term=1),
     Mark(start=7, end=9, weight=1.0, term=2)]
    """
    groups: list[list[Mark]] = []
    reached = 0
    for mark in sorted(marks, key=lambda mark: mark.start):
        if groups and mark.start < reached:
            groups[-1].append(mark)
        else:
            groups.append([mark])
            reached = mark.end
        reached = max(reached, mark.end)
    return [
        mark._replace(start=group[0].start, end=max(each.end for each in group))
        for group in groups
        for mark in group
    ]
