"""Self-contained HTML page of an explanation.

A page loads no other files: style and script are inline, and its content security policy forbids other sources. The
template engine escapes all values. The script highlights related elements and is optional. Equal explanations give
equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from termwise.display.html import css_number, render_page
from termwise.display.safe_text import legible, legible_line
from termwise.explain import explanation_text as wording
from termwise.explain.snippets import ELLIPSIS, Mark, Piece, cut, passages

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

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
_LEVELS = 5
_SCROLLED_TEXT = 6_000
_SMALLER_QUERY = 120
_SCROLLED_QUERY = 1_200
_TITLE = 80


@dataclass(frozen=True)
class _Term:
    """One contribution, formatted; `position` counts from 1, `hue` 0 is the neutral colour.

    `left` and `width` are those of its bar; `left` is empty if no contribution is negative.
    """

    position: int
    hue: int
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
    in_page: bool


@dataclass(frozen=True)
class _Segment:
    """Segment of the stacked bar; `position` is 0 for the sum of small segments."""

    position: int
    hue: int
    name: str
    score: str
    share: str
    grow: str
    labelled: bool


@dataclass(frozen=True)
class _Part:
    """Summand of the formula; `position` is 0 if it belongs to no term, `part` is empty outside of a mixture."""

    sign: str
    number: str
    name: str
    part: str = ""
    position: int = 0
    hue: int = 0


@dataclass(frozen=True)
class _Piece:
    """Piece of the text or of the query."""

    text: str
    kind: str = "plain"
    position: int = 0
    hue: int = 0
    level: int = 0
    first: bool = False


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as one HTML page.

    The page has the query, with the words in the colours of their terms; the score as a stacked bar, a formula and a
    table; the text, with words marked by their contribution; and the neighbours in the ranking. In a query by example,
    the texts of both documents are side by side.

    Parameters
    ----------
    explanation : Explanation

    Returns
    -------
    str
        The whole document, to be written as UTF-8. For a text longer than `WHOLE_TEXT` characters, it has passages and
        a note.

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
    parts = [] if text is None else _text(text, wording.marks(explanation))
    example = explanation.example
    example_parts = [] if example is None else _text(explanation.query, wording.example_marks(explanation))
    marked = {piece.term for part in parts for piece in part}
    listed = set(wording.largest(explanation, positions, _TERMS if example is None else _TERMS_OF_EXAMPLE))
    chips = set(
        wording.largest(explanation, [position for position in positions if position in marked], _CHIPS)
    )
    terms = dict(zip(positions, _terms(explanation, positions, colours, marked), strict=True))
    further = [position for position in positions if position not in listed]
    query = legible(explanation.query, directions=True)
    return render_page(
        "termwise.explain",
        "explanation.html.j2",
        title=f"{_short(legible_line(explanation.doc_id))} · {_short(legible_line(example or explanation.query))}",
        doc_id=legible_line(explanation.doc_id),
        example=None if example is None else legible_line(example),
        example_texts=_pieces(example_parts, colours, wording.added_by_model(explanation)),
        query=[] if example is not None else _query(explanation, query, colours),
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
        chips=[term for position, term in terms.items() if position in chips],
        stored=text is not None,
        empty=text is not None and not text.strip(),
        parts=_pieces(parts, colours),
        characters=f"{len(text):,}" if text is not None and len(text) > WHOLE_TEXT else None,
        scrolled=max(_characters(parts), _characters(example_parts)) > _SCROLLED_TEXT,
        example_characters=f"{len(explanation.query):,}" if len(explanation.query) > WHOLE_TEXT else None,
        neighbours=_neighbours(explanation),
        pieces=wording.has_pieces(explanation, positions),
        exact=all(
            part.origin in ("exact", "piece", "absent", "vector") or part.origin in wording.NOT_TERMS
            for part in explanation.contributions
        ),
        outlined=bool(wording.added_by_model(explanation)),
        vectors=any(part.origin == "vector" or part.score < 0 for part in explanation.contributions),
    )


# --- the sum ----------------------------------------------------------------------------------------------------


def _terms(
    explanation: Explanation, positions: Sequence[int], colours: Sequence[int], marked: Container[int | None]
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
                hue=colours[position],
                name=wording.label(part, query),
                stem=wording.stem(part, query),
                full_name=wording.full_name(part, query),
                origin=wording.ORIGINS[part.origin],
                part=legible_line(part.part),
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
                in_page=position in marked,
            )
        )
    return terms


def _total(explanation: Explanation, terms: Mapping[int, _Term], further: Sequence[int]) -> dict[str, object]:
    """Return bar, formula and last rows of the table of the score; `further` terms are not in the table."""
    constant, decimals = explanation.constant, wording.decimals_of(explanation)
    contributions = explanation.contributions
    scores = [contributions[position].score for position in terms]
    rest = sum(contributions[position].score for position in further)
    constants = [part.shift for part in explanation.parts] or [constant]
    lacking = wording.rounding([*constants, *scores], explanation.score, decimals)
    return {
        "parts": [
            {
                "name": legible_line(part.name),
                "line": _minus(wording.part_line(part)),
                "title": wording.shift_name(part),
                "product": _minus(wording.shift_product(part)),
                "shift": _typeset(part.shift, decimals) if part.shift else None,
            }
            for part in explanation.parts
        ],
        "segments": list(_segments(scores, list(terms.values()), decimals)),
        "formula": list(_formula(explanation, terms, decimals)),
        "score": _typeset(explanation.score, decimals),
        "shifted": any(value != 0 for value in constants),
        "constants": any(part.constant != 0 for part in explanation.parts),
        "constant": None if constant == 0 or explanation.parts else _typeset(constant, decimals),
        "rounding": _typeset(lacking, decimals) if lacking else None,
        "negative": [term.full_name for term, score in zip(terms.values(), scores, strict=True) if score < 0],
        "rest": _typeset(rest, decimals),
        "rest_share": _percent(rest, wording.sum_without_signs(explanation)),
        "decimals": decimals,
    }


def _segments(scores: Sequence[float], terms: Sequence[_Term], decimals: int) -> Iterable[_Segment]:
    whole = sum(max(0.0, score) for score in scores)
    small = 0.0
    for term, score in zip(terms, scores, strict=True):
        share = score / whole if whole else 0.0
        if share < _SMALLEST_SEGMENT:
            small += max(0.0, score)
            continue
        grow = css_number(1000 * share)
        yield _Segment(term.position, term.hue, term.full_name, term.score, term.share, grow, share >= 0.08)
    if small > 0:
        share = small / whole
        written, percentage = _typeset(small, decimals), _percent(small, whole)
        grow = css_number(1000 * share)
        yield _Segment(0, 0, "smaller parts", written, percentage, grow, share >= 0.15)


def _formula(explanation: Explanation, terms: Mapping[int, _Term], decimals: int) -> Iterable[_Part]:
    most = len(terms) if len(terms) <= _FORMULA_TERMS + 1 else _FORMULA_TERMS
    for number_, (name, value, position) in enumerate(
        wording.summands(explanation, list(terms), most, decimals)
    ):
        if number_ == 0:
            yield _Part("", _typeset(value, decimals if value else 0), name)
            continue
        sign, size = "−" if value < 0 else "+", _typeset(abs(value), decimals)
        if position is None:
            yield _Part(sign, size, name)
        else:
            term = terms[position]
            yield _Part(sign, size, term.full_name, term.part, term.position, term.hue)


def _neighbours(explanation: Explanation) -> list[dict[str, object]]:
    if not explanation.competitors:
        return []
    rows = wording.neighbourhood(explanation)
    decimals = wording.decimals_for(score for _, _, score in rows)
    longest = max(score - explanation.constant for _, _, score in rows)
    neighbours: list[dict[str, object]] = []
    for rank, name, score in rows:
        explained = rank == explanation.rank
        difference = _typeset(score - explanation.score, decimals, signed=True)
        above = max(0.0, score - explanation.constant)
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


# --- the text and the query -------------------------------------------------------------------------------------


def _text(text: str, text_marks: Sequence[Mark]) -> list[list[Piece]]:
    """Return a text in one part, or in passages if it is long."""
    written = legible(text, directions=True)
    if not written.strip():
        return []
    if len(written) <= WHOLE_TEXT:
        return [cut(written, text_marks)]
    parts = passages(written, text_marks, width=_PASSAGE_WIDTH, count=PASSAGES)
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
    parts: list[list[Piece]], colours: Sequence[int], added: Container[int] = ()
) -> list[list[_Piece]]:
    seen: set[int] = set()
    lists = []
    for part in parts:
        pieces = []
        for text, strength, term in part:
            if term is None:
                pieces.append(_Piece(text))
                continue
            level = max(1, math.ceil(_LEVELS * strength))
            kind = "added" if term in added else "term"
            pieces.append(_Piece(text, kind, term + 1, colours[term], level, term not in seen))
            seen.add(term)
        lists.append(pieces)
    return lists


def _query(explanation: Explanation, query: str, colours: Sequence[int]) -> list[_Piece]:
    pieces = []
    for text, _, term in cut(query, wording.query_marks(explanation)):
        if term is None:
            pieces.append(_Piece(text))
        elif term == wording.UNKNOWN:
            pieces.append(_Piece(text, "unknown"))
        else:
            kind = "absent" if explanation.contributions[term].score == 0 else "term"
            pieces.append(_Piece(text, kind, term + 1, colours[term], _LEVELS))
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
