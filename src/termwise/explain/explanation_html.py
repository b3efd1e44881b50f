"""Self-contained HTML page of an explanation.

A page loads no other files: style and script are inline, and its content security policy forbids other sources. The
template engine escapes all values. The script highlights related elements and is optional. Equal explanations give
equal bytes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from termwise._version import __version__
from termwise.display.html import css_number, render_page
from termwise.display.safe_text import legible, legible_line
from termwise.explain import explanation_text as wording
from termwise.explain.attribution import Span
from termwise.explain.passages import ELLIPSIS, Mark, Piece, cut, passages
from termwise.fast_dataclass import dataclass

if TYPE_CHECKING:
    from termwise.explain.explanation import Contribution, Explanation

WHOLE_TEXT = 200_000
"""Length in characters of the longest text on a page; longer texts are cut to passages."""

PASSAGES = 40
"""Largest number of passages of a longer text."""

NOT_COUNTED = frozenset({"translation", "vector"}) | wording.NOT_TERMS
"""Origins of contributions without occurrences in the text."""

_PASSAGE_WIDTH = 600
_TERMS = 30
_TERMS_OF_EXAMPLE = 12
_FORMULA_TERMS = 8
_CHIPS = 12
_SMALLEST_SEGMENT = 0.01
_LABELLED = 0.08
_LABELLED_REST = 0.15
_AMOUNTS = 8
_LEVELS = 5
_SCROLLED_TEXT = 6_000
_SMALLER_QUERY = 120
_SCROLLED_QUERY = 1_200
_TITLE = 80


@dataclass(frozen=True)
class _Term:
    """One contribution, formatted; `position` counts from 1, `hue` 0 is the neutral colour.

    Contributions that share a word of the query have the same `key`, by which the page links them.
    `left` and `width` are those of its bar; `left` is empty if no contribution is negative.
    """

    position: int
    key: int
    hue: int
    negative: bool
    name: str
    stem: str
    full_name: str
    origin: str
    part: str
    product: str
    score: str
    share: str
    left: str
    width: str
    occurrences: int | None
    made: tuple[tuple[str, str], ...]
    made_more: int
    fields: tuple[tuple[str, str], ...]
    in_page: bool


@dataclass(frozen=True)
class _Segment:
    """Segment of the bar; `position` is 0 for the sum of small segments, and `part` is empty outside of a mixture."""

    position: int
    key: int
    hue: int
    name: str
    part: str
    score: str
    share: str
    grow: str
    labelled: bool
    negative: bool


@dataclass(frozen=True)
class _Part:
    """Summand of the formula; `key` is 0 if it belongs to no term, `part` is empty outside of a mixture."""

    sign: str
    number: str
    name: str
    part: str = ""
    key: int = 0
    hue: int = 0


@dataclass(frozen=True)
class _Piece:
    """Piece of the text or of the query, or the start or end of the window that was scored."""

    text: str
    kind: str = "plain"
    key: int = 0
    hue: int = 0
    level: int = 0
    first: bool = False
    negative: bool = False
    title: str = ""


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as one HTML page.

    The page has the query, with the words in the colours of their terms; the score as a stacked bar, a formula and a
    table; the text, with words marked by their contribution; and the neighbours in the ranking. In a query by example,
    the texts of both documents are side by side. For a text longer than `WHOLE_TEXT` characters, it has passages and a
    note.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution, Explanation
    >>> part = Contribution("merg", "exact", 1.0, 4.5, 4.5, ((0, 5),), ((0, 5),))
    >>> page = explanation_html(Explanation("merge it", "d1", 4.5, 0.0, (part,), (), "Merge <lists>."))
    >>> '<mark class="h1 s5" data-t="1" id="at-1">Merge</mark> &lt;lists&gt;.' in page
    True
    """
    text = explanation.text
    positions = wording.contributing(explanation)
    coloured = wording.hues(explanation, positions)
    colours = [coloured.get(position, -1) + 1 for position in range(len(explanation.contributions))]
    keys = [group + 1 for group in wording.word_groups(explanation)]
    window = wording.scored_window(explanation)
    within = None if window is None else window[1]
    parts = [] if text is None else _text(text, wording.marks(explanation), within)
    example = explanation.example
    example_parts = [] if example is None else _text(explanation.query, wording.example_marks(explanation))
    marked = {keys[piece.term] for part in parts for piece in part if piece.term is not None}
    listed = set(wording.largest(explanation, positions, _TERMS if example is None else _TERMS_OF_EXAMPLE))
    chips = set(
        wording.largest(explanation, [position for position in positions if keys[position] in marked], _CHIPS)
    )
    terms = dict(zip(positions, _terms(explanation, positions, colours, keys, marked), strict=True))
    further = [position for position in positions if position not in listed]
    query = legible(explanation.query, directions=True)
    return render_page(
        "termwise.explain",
        "explanation.html.j2",
        title=f"{_short(legible_line(explanation.doc_id))} · {_short(legible_line(example or explanation.query))}",
        doc_id=legible_line(explanation.doc_id),
        example=None if example is None else legible_line(example),
        example_texts=_pieces(example_parts, colours, keys, added=wording.added_by_model(explanation)),
        query=[] if example is not None else _query(explanation, query, colours, keys),
        query_size="long"
        if len(query) > _SCROLLED_QUERY
        else "medium"
        if len(query) > _SMALLER_QUERY
        else "",
        remarks=wording.remarks(explanation),
        rank=wording.rank_text(explanation),
        total=_total(explanation, terms, further),
        shown_terms=[term for position, term in terms.items() if position in listed],
        further_terms=[terms[position] for position in further],
        chips=list(
            {term.key: term for position, term in reversed(terms.items()) if position in chips}.values()
        )[::-1],
        stored=text is not None,
        empty=text is not None and not text.strip(),
        parts=_pieces(parts, colours, keys, window=within if len(text or "") <= WHOLE_TEXT else None),
        window=None
        if window is None
        else {"name": window[0], "start": f"{window[1][0] + 1:,}", "end": f"{window[1][1]:,}"},
        centred=explanation.centred,
        index=legible_line(explanation.index),
        version=__version__,
        characters=f"{len(text):,}" if text is not None and len(text) > WHOLE_TEXT else None,
        scrolled=max(_characters(parts), _characters(example_parts)) > _SCROLLED_TEXT,
        example_characters=f"{len(explanation.query):,}" if len(explanation.query) > WHOLE_TEXT else None,
        neighbours=_neighbours(explanation),
        from_lowest=_start_of_bars(explanation) != explanation.constant or bool(explanation.parts),
        pieces=wording.has_pieces(explanation, positions),
        exact=all(
            part.origin in ("exact", "piece", "absent", "vector")
            or part.origin in wording.RESEMBLING | wording.NOT_TERMS
            for part in explanation.contributions
        ),
        outlined=bool(wording.added_by_model(explanation)),
        boosts=any(part.origin == "boost" for part in explanation.contributions),
        vectors=any(part.origin == "vector" or part.score < 0 for part in explanation.contributions),
    )


# --- the sum ----------------------------------------------------------------------------------------------------


def _terms(
    explanation: Explanation,
    positions: Sequence[int],
    colours: Sequence[int],
    keys: Sequence[int],
    marked: Container[int],
) -> list[_Term]:
    contributions, query = explanation.contributions, explanation.query
    decimals = wording.decimals_of(explanation)
    weight_decimals = wording.decimals_for(contributions[position].weight for position in positions)
    scores = [contributions[position].score for position in positions]
    whole = wording.sum_without_signs(explanation)
    highest, lowest = max([0.0, *scores]), min([0.0, *scores])
    sources = {source.position: source for source in wording.translation_sources(explanation)}
    terms = []
    for position in positions:
        part, made = contributions[position], sources.get(position)
        without_count = explanation.text is None or part.origin in NOT_COUNTED
        terms.append(
            _Term(
                position=position + 1,
                key=keys[position],
                hue=colours[position],
                negative=part.score < 0,
                name=wording.label(part, query),
                stem=wording.stem(part, query),
                full_name=wording.full_name(part, query),
                origin=wording.ORIGINS[part.origin],
                part=wording.part_name(part, explanation),
                product=_minus(wording.product(part, explanation, weight_decimals)),
                score=_typeset(part.score, decimals),
                share=_percent(part.score, whole),
                left=css_number(100 * (min(0.0, part.score) - lowest) / (highest - lowest)) if lowest else "",
                width=css_number(100 * abs(part.score) / (highest - lowest) if highest > lowest else 0.0),
                occurrences=None if without_count else len(part.spans),
                made=()
                if made is None
                else tuple((word, wording.percent(share)) for word, share in made.parts),
                made_more=0 if made is None else made.more,
                fields=tuple(
                    (field.label, _typeset(part.score * field.share, decimals))
                    for field in part.fields
                    if field.occurrences
                ),
                in_page=bool(part.spans or part.sources) and keys[position] in marked,
            )
        )
    return terms


def _total(explanation: Explanation, terms: Mapping[int, _Term], further: Sequence[int]) -> dict[str, object]:
    """Return bar, formula and last rows of the table of the score; `further` terms are not in the table."""
    constant, decimals = explanation.constant, wording.decimals_of(explanation)
    contributions = explanation.contributions
    scores = [contributions[position].score for position in terms]
    rest = sum(contributions[position].score for position in further)
    constants = wording.shifts(explanation)
    lacking = wording.rounding([*constants, *scores], explanation.score, decimals)
    return {
        "parts": [
            {
                "name": legible_line(part.name),
                "line": _minus(wording.part_line(part)),
                "title": wording.shift_name(part),
                "product": _minus(wording.shift_product(part)),
                "shift": _typeset(part.shift, decimals) if part.shift and not explanation.centred else None,
            }
            for part in explanation.parts
        ],
        "segments": list(_segments(scores, list(terms.values()), decimals)),
        "formula": list(_formula(explanation, terms, decimals)),
        "score": _typeset(explanation.score, decimals),
        "fields": [
            (legible_line(name), _typeset(score, decimals))
            for name, score in explanation.field_scores.items()
        ],
        "shifted": any(value != 0 for value in constants),
        "constants": any(part.constant != 0 for part in explanation.parts),
        "constant": None if constant == 0 or explanation.parts else _typeset(constant, decimals),
        "rounding": _typeset(lacking, decimals) if lacking else None,
        "constants_sum": _typeset(sum(constants), decimals),
        "diverging": min(scores, default=0.0) < 0,
        "rest": _typeset(rest, decimals),
        "rest_share": _percent(rest, wording.sum_without_signs(explanation)),
        "decimals": decimals,
    }


def _segments(scores: Sequence[float], terms: Sequence[_Term], decimals: int) -> Iterable[_Segment]:
    """Yield the segments of the bar from left to right: negative ones, the largest next to zero, then positive ones.

    All have the same scale: the bar is as long as the sum without signs.
    """
    whole = sum(map(abs, scores))
    sized = [
        (abs(score) / whole if whole else 0.0, score, term) for term, score in zip(terms, scores, strict=True)
    ]
    small = [0.0, 0.0]
    sides: list[list[_Segment]] = [[], []]
    for share, score, term in sorted(sized, key=lambda each: -each[0]):
        side = int(score > 0)
        if share < _SMALLEST_SEGMENT:
            small[side] += score
            continue
        grow = css_number(1000 * share)
        sides[side].append(
            _Segment(
                term.position,
                term.key,
                term.hue,
                term.full_name,
                term.part,
                term.score,
                term.share,
                grow,
                share >= _LABELLED,
                score < 0,
            )
        )
    for side, rest in enumerate(small):
        if rest != 0:
            share = abs(rest) / whole
            written, percentage = _typeset(rest, decimals), _percent(rest, whole)
            grow, labelled = css_number(1000 * share), share >= _LABELLED_REST
            sides[side].append(
                _Segment(0, 0, 0, "smaller parts", "", written, percentage, grow, labelled, rest < 0)
            )
    yield from reversed(sides[0])
    yield from sides[1]


def _formula(explanation: Explanation, terms: Mapping[int, _Term], decimals: int) -> Iterable[_Part]:
    most = len(terms) if len(terms) <= _FORMULA_TERMS + 1 else _FORMULA_TERMS
    for number_, (name, value, position) in enumerate(
        wording.summands(explanation, list(terms), most, decimals)
    ):
        sign, size = "−" if value < 0 else "+", _typeset(abs(value), decimals)
        if number_ == 0:
            sign, size = "", _typeset(value, decimals if value else 0)
        if position is None:
            yield _Part(sign, size, name)
        else:
            term = terms[position]
            yield _Part(sign, size, term.full_name, term.part, term.key, term.hue)


def _neighbours(explanation: Explanation) -> list[dict[str, object]]:
    """Return the rows of the ranking; their bars begin at `_start_of_bars`."""
    if not explanation.competitors:
        return []
    rows = wording.neighbourhood(explanation)
    decimals = wording.decimals_for(score for _, _, score in rows)
    start = _start_of_bars(explanation)
    longest = max(score - start for _, _, score in rows)
    neighbours: list[dict[str, object]] = []
    for rank, name, score in rows:
        explained = rank == explanation.rank
        difference = _typeset(score - explanation.score, decimals, signed=True)
        above = max(0.0, score - start)
        neighbours.append(
            {
                "rank": f"{rank:,}",
                "doc_id": name,
                "score": _typeset(score, decimals),
                "difference": "" if explained else difference,
                "width": css_number(100 * above / longest if longest > 0 else 0.0),
                "explained": explained,
            }
        )
    return neighbours


def _start_of_bars(explanation: Explanation) -> float:
    """Return the score at which the bars of a ranking begin.

    That is the constant, which a document without a term of the query has; in a mixture, and if scores are below it,
    the lowest score.
    """
    lowest = min((score for _, _, score in wording.neighbourhood(explanation)), default=0.0)
    return lowest if explanation.parts or lowest < explanation.constant else explanation.constant


# --- the text and the query -------------------------------------------------------------------------------------


def _text(text: str, text_marks: Sequence[Mark], within: Span | None = None) -> list[list[Piece]]:
    """Return a text in one part, or in passages (of a range) if it is long."""
    written = legible(text, directions=True)
    if not written.strip():
        return []
    if len(written) <= WHOLE_TEXT:
        return [cut(written, text_marks)]
    parts = passages(written, text_marks, width=_PASSAGE_WIDTH, count=PASSAGES, within=within)
    unbreakable = {
        f" {ELLIPSIS}": f"\N{NO-BREAK SPACE}{ELLIPSIS}",
        f"{ELLIPSIS} ": f"{ELLIPSIS}\N{NO-BREAK SPACE}",
    }
    return [
        [piece._replace(text=unbreakable.get(piece.text, piece.text)) for piece in part] for part in parts
    ]


def _characters(parts: Iterable[Iterable[Piece]]) -> int:
    return sum(len(piece.text) for part in parts for piece in part)


def _pieces(
    parts: list[list[Piece]],
    colours: Sequence[int],
    keys: Sequence[int],
    *,
    added: Container[int] = (),
    window: Span | None = None,
) -> list[list[_Piece]]:
    seen: set[int] = set()
    edges = (
        {} if window is None else {window[0]: _Piece("", "window"), window[1]: _Piece("", "end of window")}
    )
    lists = []
    for part in parts:
        pieces = []
        place = 0
        for text, strength, term in _split(part, sorted(edges)):
            if place in edges:
                pieces.append(edges[place])
            place += len(text)
            if term is None:
                pieces.append(_Piece(text))
                continue
            key = keys[term]
            level = max(1, math.ceil(_LEVELS * strength))
            kind = "added" if term in added else "term"
            pieces.append(_Piece(text, kind, key, colours[term], level, key not in seen))
            seen.add(key)
        if place in edges:
            pieces.append(edges[place])
        lists.append(pieces)
    return lists


def _split(pieces: Iterable[Piece], places: Sequence[int]) -> Iterable[Piece]:
    """Split the pieces of a text at these characters."""
    start = 0
    for piece in pieces:
        cuts = [place - start for place in places if start < place < start + len(piece.text)]
        for low, high in pairwise([0, *cuts, len(piece.text)]):
            yield piece._replace(text=piece.text[low:high])
        start += len(piece.text)


def _query(explanation: Explanation, query: str, colours: Sequence[int], keys: Sequence[int]) -> list[_Piece]:
    small, decimals = wording.small_contributions(explanation), wording.decimals_of(explanation)
    by_key: defaultdict[int, list[Contribution]] = defaultdict(list)
    for key, part in zip(keys, explanation.contributions, strict=True):
        if part.score != 0:
            by_key[key].append(part)
    pieces = []
    for text, _, term in cut(query, wording.query_marks(explanation, small=True)):
        if term is None:
            pieces.append(_Piece(text))
            continue
        if term == wording.UNKNOWN:
            pieces.append(_Piece(text, "unknown", title="not in the index"))
            continue
        key, group = keys[term], by_key[keys[term]]
        total = sum(part.score for part in group)
        if explanation.contributions[term].score == 0:
            pieces.append(_Piece(text, "absent", title="adds nothing to this document"))
        elif term in small:
            title = f"adds less than {wording.SMALL_SHARE:.0%}: {_typeset(total, decimals)}"
            pieces.append(_Piece(text, "small", key, title=title))
        else:
            amounts = (
                f"{legible_line(part.part)} {_typeset(part.score, decimals)}".strip() for part in group
            )
            title = ", ".join(islice(amounts, _AMOUNTS))
            pieces.append(_Piece(text, "term", key, colours[term], _LEVELS, negative=total < 0, title=title))
    return pieces


# --- writing ----------------------------------------------------------------------------------------------------


def _short(name: str) -> str:
    return name if len(name) <= _TITLE else name[: _TITLE - 1] + "…"


def _typeset(value: float, decimals: int, *, signed: bool = False) -> str:
    written = wording.number(value, decimals)
    plus = "+" if signed and float(written) > 0 else ""
    return plus + _minus(written)


def _percent(part: float, whole: float) -> str:
    return _minus(wording.percent(part / whole if whole > 0 else 0.0))


def _minus(numbers: str) -> str:
    """Replace the signs of numbers by minus signs."""
    return numbers.replace("-", "−")
