"""Ranking for the terminal: rank, score, document, a line of its text, and its score as a sum.

Control characters of documents are replaced, see `termwise.display.safe_text`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from termwise.display.safe_text import legible, legible_line
from termwise.errors import ParameterError
from termwise.explain.attribution import Span
from termwise.explain.explanation_text import (
    condition_text,
    decimals_for,
    decimals_of,
    marks,
    number,
    rounding,
    scored_window,
    smallest,
    sums_of_words,
)
from termwise.explain.passages import Mark, best_passage
from termwise.explain.styled_line import StyledLine, colours_of, marked_line
from termwise.records import Ranking
from termwise.text.words_around import inside_word

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

    from termwise.explain.explanation import Explanation

LINE_TERMS = 8
"""Largest number of terms in a sum on one line."""

_TRIES = 3


def ranking_lines(
    ranking: Ranking,
    explanations: Sequence[Explanation] = (),
    *,
    columns: int,
    plain: bool,
    explain: bool = False,
    details: Sequence[str] = (),
    offset: int = 0,
    words: Sequence[Sequence[Span]] = (),
) -> Iterator[StyledLine]:
    """Return a ranking for the terminal: rank, score and document, and a line of its text.

    Parameters
    ----------
    ranking : Ranking
    explanations : sequence of Explanation, optional
        Explanations of the first documents, in the order of the ranking; each adds a line of text with marked matches,
        if texts are stored.
    columns : int
        Width of the terminal.
    plain : bool
        Put matches between ‹ and ›, for output without colours.
    explain : bool, optional
        Also write each explained score as a sum.
    details : sequence of str, optional
        A line for each document, printed below it unless it is empty.
    offset : int, optional
        Number of results before these; the first rank is the next number.
    words : sequence of sequence of (int, int), optional
        For each explanation, words of its text, ascending and apart, see `termwise.search.snippets`. Matches are marked
        if they are in one of them, which is then marked as a whole, or are whole words themselves. By default, all
        matches are marked, also pieces of words.

    Raises
    ------
    ParameterError
        If the explanations are for other documents.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> parts = (
    ...     Contribution("merg", "exact", 1.0, 4.5, 4.5, ((0, 5),), ((0, 5),)),
    ...     Contribution("list", "exact", 1.0, 1.25, 1.25, ((6, 11),), ((10, 14),)),
    ... )
    >>> shown = Explanation("merge lists", "d1", 5.75, 0.0, parts, (), "Merge one list into another.")
    >>> for line in ranking_lines(Ranking(["d1"], [5.75]), [shown], columns=60, plain=True, explain=True):
    ...     print(line.plain)
    1  5.7500  d1
               ‹Merge› one ‹list› into another.
               merge 4.50 + lists 1.25 = 5.75
    """
    for position, explanation in enumerate(explanations):
        ranked = ranking.doc_ids[position] if position < len(ranking) else None
        if explanation.doc_id != ranked:
            raise ParameterError(
                "an explanation is for another document than that of its rank",
                facts=[("rank", position + 1), ("ranked", ranked), ("explained", explanation.doc_id)],
                fixes=["explain the documents in the order of the ranking"],
            )
    return _ranking_lines(ranking, explanations, columns, plain, explain, details, offset, words)


def ranking_renderable(
    ranking: Ranking,
    explanations: Sequence[Explanation] = (),
    *,
    explain: bool = False,
    details: Sequence[str] = (),
    offset: int = 0,
    words: Sequence[Sequence[Span]] = (),
) -> ConsoleRenderable:
    """Return a ranking for `rich.console.Console.print`; see `ranking_lines`."""
    from termwise.explain.terminal_parts import LinesView

    ranking_lines(ranking, explanations, columns=80, plain=True)  # which checks the explanations
    return LinesView(
        lambda columns, plain: ranking_lines(
            ranking,
            explanations,
            columns=columns,
            plain=plain,
            explain=explain,
            details=details,
            offset=offset,
            words=words,
        )
    )


def _ranking_lines(
    ranking: Ranking,
    explanations: Sequence[Explanation],
    columns: int,
    plain: bool,
    explain: bool,
    details: Sequence[str],
    offset: int,
    words: Sequence[Sequence[Span]],
) -> Iterator[StyledLine]:
    if len(ranking) == 0:
        yield StyledLine("no document has a weight for a term of the query")
        return
    scores = ranking.scores.tolist()
    decimals = decimals_for(scores)
    written = [number(score, decimals) for score in scores]
    rank_width = len(f"{offset + len(scores):,}")
    score_width = max(map(len, written))
    indent = rank_width + score_width + 4
    if columns < indent + 24:
        indent = 2
    room = max(1, columns - indent)
    for position, (doc_id, score) in enumerate(zip(ranking.doc_ids, written, strict=True)):
        head = StyledLine(
            (f"{offset + position + 1:>{rank_width},}", "dim"),
            f"  {score:>{score_width}}  ",
            (legible_line(doc_id), "bold"),
            ("  pinned" if position < ranking.pinned else "", "dim"),
        )
        yield from head.folded(columns)
        below: list[StyledLine] = []
        if position < len(details) and details[position]:
            below.append(StyledLine((legible_line(details[position]), "dim")))
        if position < len(explanations):
            marked = words[position] if words else None
            below += _below(explanations[position], marked, room, plain, explain)
        for line in below:
            for part in line.wrapped(room):
                yield StyledLine(" " * indent).joined(part)


def _below(
    explanation: Explanation, words: Sequence[Span] | None, columns: int, plain: bool, explain: bool
) -> Iterable[StyledLine]:
    if explanation.text is not None and explanation.text.strip():
        yield _one_line(explanation, words, columns, plain, named=explain)
    if explain:
        yield from _flow(sum_parts(explanation), columns)
        if conditions := condition_text(explanation):
            yield StyledLine((conditions, "dim"))


def sum_parts(explanation: Explanation, *, terms: int = LINE_TERMS) -> list[StyledLine]:
    """Write a score as a sum on one line, in parts such as ``merge 4.21``, ``+ sorted 3.90`` and ``= 8.11``.

    Numbers have two decimals fewer than in a full explanation, with ``≈`` in place of ``=`` if the rounded numbers do
    not add up. The pieces of a word are one term. Names without a letter are in quotes.

    Parameters
    ----------
    explanation : Explanation
    terms : int, optional
        Largest number of terms to list; the others, and the terms that have a small share, are added up.
    """
    decimals = max(0, decimals_of(explanation) - 2)
    colours = colours_of(explanation)
    named = sums_of_words(explanation)
    parts: list[tuple[str, float, str]] = []
    if explanation.constant != 0:
        parts.append(("constant", explanation.constant, ""))
    small = smallest([score for _, score, _ in named])
    listed = [each for place, each in enumerate(named) if place not in small][:terms]
    if len(listed) == len(named) - 1:
        listed = named
    parts += [(_quoted(name), score, colours[position]) for name, score, position in listed]
    if others := [score for name, score, position in named if (name, score, position) not in listed]:
        parts.append((f"{len(others):,} more", sum(others), ""))
    written: list[StyledLine] = []
    for name, score, colour in parts:
        amount = number(score, decimals)
        sign = "- " if written and amount[0] == "-" else "+ " if written else ""
        written.append(
            StyledLine((sign, "dim"), (f"{name} ", colour), amount[1:] if sign == "- " else amount)
        )
    total = number(explanation.score, decimals)
    if not written:
        return [StyledLine(total)]
    exact = rounding([score for _, score, _ in parts], explanation.score, decimals) == 0
    return [*written, StyledLine(("= " if exact else "≈ ", "dim"), total)]


def _quoted(name: str) -> str:
    return name if any(map(str.isalpha, name)) else f'"{name}"'


def _flow(parts: Iterable[StyledLine], columns: int) -> list[StyledLine]:
    """Write parts on one line, or on more if they do not fit."""
    lines: list[StyledLine] = []
    for part in parts:
        if lines and lines[-1].cells + 1 + part.cells <= columns:
            lines[-1] = lines[-1].joined(StyledLine(" "), part)
        else:
            lines.append(part)
    return lines


def _of_words(text: str, found: Iterable[Mark], words: Sequence[Span]) -> list[Mark]:
    """Return the heaviest mark of each word that has any, extended to the word, and other marks of whole words."""
    heaviest: dict[Span, Mark] = {}
    others = []
    for mark in found:
        first = bisect_right(words, mark.start, key=itemgetter(1))
        if first == len(words) or words[first][0] >= mark.end:
            if not inside_word(text, mark.start) and not inside_word(text, mark.end):
                others.append(mark)
            continue
        for start, end in words[first:]:
            if start >= mark.end:
                break
            if (start, end) not in heaviest or mark.weight > heaviest[start, end].weight:
                heaviest[start, end] = mark._replace(start=start, end=end)
    return sorted([*heaviest.values(), *others])


def _one_line(
    explanation: Explanation, words: Sequence[Span] | None, columns: int, plain: bool, *, named: bool
) -> StyledLine:
    """Return a line of the text, of a long one from the window that was scored, whose name can be put before it."""
    text, colours = legible(explanation.text or ""), colours_of(explanation)
    text_marks = marks(explanation) if words is None else _of_words(text, marks(explanation), words)
    window = scored_window(explanation)
    name, within = ("", None) if window is None else window
    before = StyledLine((f"{name}: ", "dim")) if named and name else StyledLine()
    if 2 * before.cells > columns:
        before = StyledLine()
    room = columns - before.cells
    pieces = best_passage(text, text_marks, room, within=within)
    line = marked_line(pieces, colours, plain=plain)
    for _ in range(_TRIES):
        if line.cells <= room:
            break
        marked = sum(piece.term is not None for piece in pieces)
        pieces = best_passage(text, text_marks, room - 2 * marked, within=within)
        line = marked_line(pieces, colours, plain=plain)
    return before.joined(line.truncated(room))
