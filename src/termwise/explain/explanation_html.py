"""Self-contained HTML page of an explanation.

A page loads nothing: style and script are inline, and its content security policy forbids other sources. The template
engine escapes all values. The script highlights related elements and is optional. Equal explanations give equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from termwise.display.html import render_page
from termwise.display.safe_text import legible, legible_line
from termwise.explain.explanation_text import (
    ORIGINS,
    UNKNOWN,
    counted,
    decimals_for,
    example_marks,
    factor,
    full_name,
    hues,
    in_pieces,
    is_result,
    label,
    marks,
    number,
    one_sided,
    percent,
    query_marks,
    remarks,
    rounding,
    stem,
    translation_sources,
)
from termwise.explain.snippets import ELLIPSIS, Mark, Piece, cut, passages

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

WHOLE_TEXT = 200_000
"""Length in characters of the longest text on a page; longer texts are cut to passages."""

PASSAGES = 40
"""Largest number of passages of a longer text."""

_PASSAGE_WIDTH = 600
_TERMS = 30
_TERMS_OF_EXAMPLE = 12
_FORMULA_TERMS = 8
_CHIPS = 12
_WORDS = 40
_SMALLEST_SEGMENT = 0.01
_LEVELS = 5
_SCROLLED_TEXT = 6_000
_SMALLER_QUERY = 120
_SCROLLED_QUERY = 1_200
_TITLE = 80


@dataclass(frozen=True)
class _Term:
    """One contribution, formatted; `place` counts from 1, `hue` 0 is the neutral colour."""

    place: int
    hue: int
    name: str
    stem: str
    full_name: str
    origin: str
    product: str
    score: str
    share: str
    width: str
    found: int | None
    made: tuple[tuple[str, str], ...]
    made_more: int
    in_page: bool


@dataclass(frozen=True)
class _Segment:
    """Segment of the stacked bar; `place` is 0 for the sum of small segments."""

    place: int
    hue: int
    name: str
    score: str
    share: str
    grow: str
    labelled: bool


@dataclass(frozen=True)
class _Part:
    """Summand of the formula; `place` is 0 if it belongs to no term."""

    sign: str
    number: str
    name: str
    place: int
    hue: int


@dataclass(frozen=True)
class _Stretch:
    """Piece of the text or of the query."""

    text: str
    kind: str
    place: int
    hue: int
    level: int
    first: bool


@dataclass(frozen=True)
class _Neighbour:
    """Row of the ranking around the document."""

    rank: str
    doc_id: str
    score: str
    difference: str
    width: str
    ours: bool


@dataclass(frozen=True)
class _Sum:
    """Bar, formula and table of the score."""

    terms: tuple[_Term, ...]
    segments: tuple[_Segment, ...]
    formula: tuple[_Part, ...]
    score: str
    constant: str | None
    rounding: str | None
    rest: str
    decimals: int


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as one HTML page.

    The page has the query, with the words in the colours of their terms; the score as a stacked bar, a formula and a
    table; the text, with words marked by their contribution; and the neighbours in the ranking. In a query by example,
    the texts of both documents are side by side.

    Parameters
    ----------
    explanation : Explanation
        The explanation.

    Returns
    -------
    str
        The whole document, to be written as UTF-8. Of a text longer than `WHOLE_TEXT` characters it has passages and a
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
    coloured = hues(explanation, counted(explanation))
    colours = [coloured.get(place, -1) + 1 for place in range(len(explanation.contributions))]
    parts = [] if text is None else _text(text, marks(explanation))
    example = explanation.example
    example_parts = [] if example is None else _text(explanation.query, example_marks(explanation))
    marked = {piece.term for part in parts for piece in part}
    listed = _TERMS if example is None else _TERMS_OF_EXAMPLE
    total = _sum(explanation, colours, marked, listed)
    query = legible(explanation.query, directions=True)
    return render_page(
        "termwise.explain",
        "explanation.html.j2",
        title=f"{_short(legible_line(explanation.doc_id))} · {_short(legible_line(example or explanation.query))}",
        doc_id=legible_line(explanation.doc_id),
        example=None if example is None else legible_line(example),
        asked=_stretches(example_parts, colours, one_sided(explanation)),
        query=[] if example is not None else _query(explanation, query, colours),
        query_size="long"
        if len(query) > _SCROLLED_QUERY
        else "medium"
        if len(query) > _SMALLER_QUERY
        else "",
        remarks=[
            (
                remark.reason,
                [legible_line(word) for word in remark.words[:_WORDS]],
                len(remark.words) - _WORDS,
            )
            for remark in remarks(explanation)
        ],
        standing=_rank_line(explanation),
        total=total,
        shown_terms=total.terms[:listed],
        further_terms=total.terms[listed:],
        chips=[term for term in total.terms if term.in_page][:_CHIPS],
        stored=text is not None,
        empty=text is not None and not text.strip(),
        parts=_stretches(parts, colours),
        characters=f"{len(text):,}" if text is not None and len(text) > WHOLE_TEXT else None,
        scrolled=max(_characters(parts), _characters(example_parts)) > _SCROLLED_TEXT,
        asked_characters=f"{len(explanation.query):,}" if len(explanation.query) > WHOLE_TEXT else None,
        neighbours=_neighbours(explanation),
        pieces=in_pieces(explanation),
        exact=all(part.origin in ("exact", "absent", "background") for part in explanation.contributions),
    )


# --- the sum ----------------------------------------------------------------------------------------------------


def _sum(explanation: Explanation, colours: Sequence[int], marked: set[int | None], listed: int) -> _Sum:
    contributions = explanation.contributions
    places = counted(explanation)
    constant = explanation.constant
    scores = [contributions[place].score for place in places]
    decimals = decimals_for([constant, explanation.score, *scores])
    weight_decimals = decimals_for(contributions[place].weight for place in places)
    whole = sum(max(0.0, score) for score in scores)
    longest = max(scores, default=0.0)
    compositions = {composition.place: composition for composition in translation_sources(explanation)}
    terms = []
    for place in places:
        part = contributions[place]
        terms.append(
            _Term(
                place=place + 1,
                hue=colours[place],
                name=legible_line(label(part, explanation.query)),
                stem=legible_line(stem(part, explanation.query)),
                full_name=legible_line(full_name(part, explanation.query)),
                origin=ORIGINS[part.origin],
                product=f"{factor(part.query_weight)} × {_typeset(part.weight, weight_decimals)}",
                score=_typeset(part.score, decimals),
                share=_percent(part.score, whole),
                width=_css(100 * part.score / longest if longest > 0 else 0.0),
                found=None
                if explanation.text is None or part.origin in ("background", "translation")
                else len(part.spans),
                made=tuple((legible_line(word), percent(share)) for word, share in compositions[place].parts)
                if place in compositions
                else (),
                made_more=compositions[place].more if place in compositions else 0,
                in_page=place in marked,
            )
        )
    lacking = rounding([constant, *scores], explanation.score, decimals)
    return _Sum(
        terms=tuple(terms),
        segments=tuple(_segments(explanation, terms, whole, decimals)),
        formula=tuple(_formula(explanation, terms, decimals)),
        score=_typeset(explanation.score, decimals),
        constant=None if constant == 0 else _typeset(constant, decimals),
        rounding=_typeset(lacking, decimals) if lacking else None,
        rest=_typeset(sum(scores[listed:]), decimals),
        decimals=decimals,
    )


def _segments(
    explanation: Explanation, terms: Sequence[_Term], whole: float, decimals: int
) -> Iterable[_Segment]:
    small = 0.0
    for term in terms:
        score = explanation.contributions[term.place - 1].score
        share = score / whole if whole else 0.0
        if share < _SMALLEST_SEGMENT:
            small += max(0.0, score)
            continue
        yield _Segment(
            term.place, term.hue, term.full_name, term.score, term.share, _css(1000 * share), share >= 0.08
        )
    if small > 0:
        share = small / whole
        yield _Segment(
            0, 0, "smaller parts", _typeset(small, decimals), _percent(small, whole), _css(1000 * share),
            share >= 0.15,
        )  # fmt: skip


def _formula(explanation: Explanation, terms: Sequence[_Term], decimals: int) -> Iterable[_Part]:
    listed = terms if len(terms) <= _FORMULA_TERMS + 1 else terms[:_FORMULA_TERMS]
    values = [explanation.constant]
    constant = _typeset(explanation.constant, decimals if explanation.constant else 0)
    yield _Part("", constant, "constant", 0, 0)
    for term in listed:
        value = explanation.contributions[term.place - 1].score
        values.append(value)
        yield _Part(_sign(value), _typeset(abs(value), decimals), term.full_name, term.place, term.hue)
    if len(listed) < len(terms):
        value = sum(explanation.contributions[term.place - 1].score for term in terms[len(listed) :])
        values.append(value)
        name = f"{len(terms) - len(listed):,} more terms"
        yield _Part(_sign(value), _typeset(abs(value), decimals), name, 0, 0)
    if lacking := rounding(values, explanation.score, decimals):
        yield _Part(_sign(lacking), _typeset(abs(lacking), decimals), "rounding", 0, 0)


def _rank_line(explanation: Explanation) -> str:
    if explanation.rank is None and explanation.example == explanation.doc_id:
        return "the query itself, which is not a result"
    if explanation.rank is None:
        return "" if is_result(explanation) else "not a result: the document shares no term with the query"
    of = "" if explanation.results is None else f" of {explanation.results:,}"
    return f"rank {explanation.rank:,}{of}"


def _neighbours(explanation: Explanation) -> list[_Neighbour]:
    if not explanation.competitors:
        return []
    rows = [(competitor.rank, competitor.doc_id, competitor.score) for competitor in explanation.competitors]
    if explanation.rank is not None:
        rows.append((explanation.rank, explanation.doc_id, explanation.score))
    rows.sort(key=itemgetter(0))
    decimals = decimals_for(score for _, _, score in rows)
    longest = max(score - explanation.constant for _, _, score in rows)
    neighbours = []
    for rank, doc_id, score in rows:
        ours = rank == explanation.rank
        above = score - explanation.constant
        neighbours.append(
            _Neighbour(
                rank=f"{rank:,}",
                doc_id=legible_line(doc_id),
                score=_typeset(score, decimals),
                difference="" if ours else _typeset(score - explanation.score, decimals, signed=True),
                width=_css(100 * max(0.0, above) / longest if longest > 0 else 0.0),
                ours=ours,
            )
        )
    return neighbours


# --- the text and the query -------------------------------------------------------------------------------------


def _text(text: str, places: Sequence[Mark]) -> list[list[Piece]]:
    """Return a text in one part, or in passages if it is long."""
    written = legible(text, directions=True)
    if not written.strip():
        return []
    if len(written) <= WHOLE_TEXT:
        return [cut(written, places)]
    parts = passages(written, places, width=_PASSAGE_WIDTH, count=PASSAGES)
    unbreakable = {
        f" {ELLIPSIS}": f"\N{NO-BREAK SPACE}{ELLIPSIS}",
        f"{ELLIPSIS} ": f"{ELLIPSIS}\N{NO-BREAK SPACE}",
    }
    return [
        [piece._replace(text=unbreakable.get(piece.text, piece.text)) for piece in part] for part in parts
    ]


def _characters(parts: Iterable[Iterable[Piece]]) -> int:
    return sum(len(piece.text) for part in parts for piece in part)


def _stretches(
    parts: list[list[Piece]], colours: Sequence[int], added: Container[int] = ()
) -> list[list[_Stretch]]:
    seen: set[int] = set()
    lists = []
    for part in parts:
        stretches = []
        for text, strength, term in part:
            if term is None:
                stretches.append(_Stretch(text, "plain", 0, 0, 0, False))
                continue
            level = max(1, math.ceil(_LEVELS * strength))
            kind = "added" if term in added else "term"
            stretches.append(_Stretch(text, kind, term + 1, colours[term], level, term not in seen))
            seen.add(term)
        lists.append(stretches)
    return lists


def _query(explanation: Explanation, query: str, colours: Sequence[int]) -> list[_Stretch]:
    stretches = []
    for text, _, term in cut(query, query_marks(explanation)):
        if term is None:
            stretches.append(_Stretch(text, "plain", 0, 0, 0, False))
        elif term == UNKNOWN:
            stretches.append(_Stretch(text, "unknown", 0, 0, 0, False))
        else:
            kind = "absent" if explanation.contributions[term].score == 0 else "term"
            stretches.append(_Stretch(text, kind, term + 1, colours[term], _LEVELS, False))
    return stretches


# --- writing ----------------------------------------------------------------------------------------------------


def _short(name: str) -> str:
    return name if len(name) <= _TITLE else name[: _TITLE - 1] + "…"


def _typeset(value: float, decimals: int, *, signed: bool = False) -> str:
    written = number(value, decimals)
    plus = "+" if signed and float(written) > 0 else ""
    return plus + written.replace("-", "−")


def _sign(value: float) -> str:
    return "−" if value < 0 else "+"


def _percent(part: float, whole: float) -> str:
    return percent(part / whole if whole > 0 else 0.0)


def _css(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
