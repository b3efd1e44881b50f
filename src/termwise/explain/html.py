"""An explanation as one self-contained HTML page.

The page loads nothing: style and script are inline, and its content security policy forbids the rest. All values
are escaped by the template engine. The script only connects what belongs together (a part of the sum, its row,
its words); everything can be read without it. The same explanation gives the same bytes.
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
    makeups,
    marks,
    number,
    one_sided,
    percent,
    query_marks,
    remarks,
    rounding,
    stem,
)
from termwise.explain.snippets import ELLIPSIS, Mark, Piece, cut, passages

if TYPE_CHECKING:
    from termwise.explain.explanation import Explanation

WHOLE_TEXT = 200_000
"""Characters of the longest text that is shown whole; of longer ones, passages are."""

PASSAGES = 40
"""Passages shown of a text that is too long to be shown whole."""

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
    """One contribution as the page shows it; `place` counts from 1, `hue` is 0 for the neutral colour."""

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
    """A part of the stacked bar; `place` is 0 for small parts taken together."""

    place: int
    hue: int
    name: str
    score: str
    share: str
    grow: str
    labelled: bool


@dataclass(frozen=True)
class _Part:
    """A number of the formula with what it is; `place` is 0 where it belongs to no term."""

    sign: str
    number: str
    name: str
    place: int
    hue: int


@dataclass(frozen=True)
class _Stretch:
    """A piece of the text or of the query."""

    text: str
    kind: str
    place: int
    hue: int
    level: int
    first: bool


@dataclass(frozen=True)
class _Neighbour:
    rank: str
    doc_id: str
    score: str
    difference: str
    width: str
    ours: bool


@dataclass(frozen=True)
class _Sum:
    """All that is shown of the sum."""

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

    At the top the query, each word in the colour of its term; then the score as a stacked bar, a formula and a
    table that add up; the text with the words the score comes from marked as strongly as they contribute; and the
    documents next to it in the ranking. Where the query is a document, its text stands beside the other one.

    Parameters
    ----------
    explanation : Explanation
        What to show.

    Returns
    -------
    str
        The whole document, to be written as UTF-8. A text longer than `WHOLE_TEXT` characters is shown in
        passages, with a note.

    Examples
    --------
    >>> from termwise.explain.explanation import Contribution
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
    asked = [] if example is None else _text(explanation.query, example_marks(explanation))
    shown = {piece.term for part in parts for piece in part}
    listed = _TERMS if example is None else _TERMS_OF_EXAMPLE
    total = _sum(explanation, colours, shown, listed)
    query = legible(explanation.query, directions=True)
    return render_page(
        "termwise.explain",
        "explanation.html.j2",
        title=f"{_short(legible_line(explanation.doc_id))} · {_short(legible_line(example or explanation.query))}",
        doc_id=legible_line(explanation.doc_id),
        example=None if example is None else legible_line(example),
        asked=_stretches(asked, colours, one_sided(explanation)),
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
        standing=_standing(explanation),
        total=total,
        shown_terms=total.terms[:listed],
        further_terms=total.terms[listed:],
        chips=[term for term in total.terms if term.in_page][:_CHIPS],
        stored=text is not None,
        empty=text is not None and not text.strip(),
        parts=_stretches(parts, colours),
        characters=f"{len(text):,}" if text is not None and len(text) > WHOLE_TEXT else None,
        scrolled=max(_characters(parts), _characters(asked)) > _SCROLLED_TEXT,
        asked_characters=f"{len(explanation.query):,}" if len(explanation.query) > WHOLE_TEXT else None,
        neighbours=_neighbours(explanation),
        pieces=in_pieces(explanation),
        exact=all(part.origin in ("exact", "absent", "background") for part in explanation.contributions),
    )


# --- the sum ----------------------------------------------------------------------------------------------------


def _sum(explanation: Explanation, colours: Sequence[int], shown: set[int | None], listed: int) -> _Sum:
    contributions = explanation.contributions
    places = counted(explanation)
    constant = explanation.constant
    scores = [contributions[place].score for place in places]
    decimals = decimals_for([constant, explanation.score, *scores])
    weight_decimals = decimals_for(contributions[place].weight for place in places)
    whole = sum(max(0.0, score) for score in scores)
    longest = max(scores, default=0.0)
    made = {one.place: one for one in makeups(explanation)}
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
                made=tuple((legible_line(word), percent(share)) for word, share in made[place].parts)
                if place in made
                else (),
                made_more=made[place].more if place in made else 0,
                in_page=place in shown,
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


def _standing(explanation: Explanation) -> str:
    if explanation.rank is None and explanation.example == explanation.doc_id:
        return "the query itself, which is no answer"
    if explanation.rank is None:
        return "" if is_result(explanation) else "not a result: the document shares no term with the query"
    of = "" if explanation.results is None else f" of {explanation.results:,}"
    return f"rank {explanation.rank:,}{of}"


def _neighbours(explanation: Explanation) -> list[_Neighbour]:
    if not explanation.competitors:
        return []
    rows = [(other.rank, other.doc_id, other.score) for other in explanation.competitors]
    if explanation.rank is not None:
        rows.append((explanation.rank, explanation.doc_id, explanation.score))
    rows.sort(key=itemgetter(0))
    decimals = decimals_for(score for _, _, score in rows)
    longest = max(score - explanation.constant for _, _, score in rows)
    found = []
    for rank, doc_id, score in rows:
        ours = rank == explanation.rank
        above = score - explanation.constant
        found.append(
            _Neighbour(
                rank=f"{rank:,}",
                doc_id=legible_line(doc_id),
                score=_typeset(score, decimals),
                difference="" if ours else _typeset(score - explanation.score, decimals, signed=True),
                width=_css(100 * max(0.0, above) / longest if longest > 0 else 0.0),
                ours=ours,
            )
        )
    return found


# --- the text and the query -------------------------------------------------------------------------------------


def _text(text: str, places: Sequence[Mark]) -> list[list[Piece]]:
    """Return a text in one part, or the passages of a long one."""
    written = legible(text, directions=True)
    if not written.strip():
        return []
    if len(written) <= WHOLE_TEXT:
        return [cut(written, places)]
    found = passages(written, places, width=_PASSAGE_WIDTH, count=PASSAGES)
    unbreakable = {
        f" {ELLIPSIS}": f"\N{NO-BREAK SPACE}{ELLIPSIS}",
        f"{ELLIPSIS} ": f"{ELLIPSIS}\N{NO-BREAK SPACE}",
    }
    return [
        [piece._replace(text=unbreakable.get(piece.text, piece.text)) for piece in part] for part in found
    ]


def _characters(parts: Iterable[Iterable[Piece]]) -> int:
    return sum(len(piece.text) for part in parts for piece in part)


def _stretches(
    parts: list[list[Piece]], colours: Sequence[int], added: Container[int] = ()
) -> list[list[_Stretch]]:
    seen: set[int] = set()
    found = []
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
        found.append(stretches)
    return found


def _query(explanation: Explanation, query: str, colours: Sequence[int]) -> list[_Stretch]:
    found = []
    for text, _, term in cut(query, query_marks(explanation)):
        if term is None:
            found.append(_Stretch(text, "plain", 0, 0, 0, False))
        elif term == UNKNOWN:
            found.append(_Stretch(text, "unknown", 0, 0, 0, False))
        else:
            kind = "absent" if explanation.contributions[term].score == 0 else "term"
            found.append(_Stretch(text, kind, term + 1, colours[term], _LEVELS, False))
    return found


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
