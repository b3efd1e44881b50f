"""What a share for each query would be worth, as one HTML page that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from termwise.display.html import render_page
from termwise.errors import ParameterError
from termwise.evaluate.formats import format_value, with_minus_sign
from termwise.fusion.figure import ShareCurve, figure_bytes, shares_figure
from termwise.fusion.oracle import Oracle


@dataclass(frozen=True)
class _Row:
    query_id: str
    alpha: str
    values: tuple[str, ...]
    gain: str
    gained: bool


@dataclass(frozen=True)
class _Section:
    measure: str
    summary: tuple[tuple[str, str], ...]
    rows: tuple[_Row, ...]


def shares_html(found: Sequence[Oracle], *, first: str, second: str, told: str = "") -> str:
    """Write oracles of the same two runs as one page: figure, means, every query.

    Parameters
    ----------
    found : sequence of Oracle
        One for each measure, one or more.
    first, second : str
        Names of the runs.
    told : str, optional
        How they were fused: which documents, what missing ones got, how scores were scaled.

    Returns
    -------
    str
        The whole document, to be written as UTF-8. Equal results give equal text.

    Raises
    ------
    ParameterError
        If there is no oracle.
    MissingExtraError
        If matplotlib is not installed.
    """
    if not found:
        raise ParameterError("a page shows one measure or more")
    figure = shares_figure([ShareCurve.of(one) for one in found], first=first, second=second)
    drawing = figure_bytes(figure, "svg").decode("utf-8")
    return render_page(
        "termwise.fusion",
        "shares.html.j2",
        first=first,
        second=second,
        drawing=drawing[drawing.index("<svg") :],
        queries=f"{found[0].judged:,}",
        ties=found[0].ties,
        told=told,
        sections=tuple(_section(one, first, second) for one in found),
    )


def _section(found: Oracle, first: str, second: str) -> _Section:
    row = found.summary()
    quartiles = " · ".join(_value(one) for one in row["quartiles, others"] or ()) or "–"
    others = row["mean alpha, others"]
    summary = (
        (f"{first} alone", _value(row["first"])),
        (f"{second} alone", _value(row["second"])),
        (f"one share of {first} for all, {_value(row['alpha'])}", _value(row["fixed"])),
        ("the best share for each query", _value(row["oracle"])),
        ("queries for which all shares are equal", f"{row['indifferent']:,}"),
        ("of the others: mean of the best shares", "–" if others is None else _value(others)),
        ("their quartiles", quartiles),
        (f"queries for which {second} alone is as good as any share", f"{row['best at 0']:,}"),
        (f"queries for which {first} alone is", f"{row['best at 1']:,}"),
    )
    gains = found.best - found.fixed
    order = sorted(range(len(gains)), key=lambda place: -gains[place])
    rows = tuple(
        _Row(
            found.query_ids[place],
            "any" if found.indifferent[place] else _value(float(found.alphas[place])),
            tuple(
                _value(float(values[place]))
                for values in (found.first, found.second, found.fixed, found.best)
            ),
            with_minus_sign(format_value(float(gains[place]), "difference")),
            bool(gains[place] > 0),
        )
        for place in order
    )
    return _Section(found.measure, summary, rows)


def _value(value: float) -> str:
    return format_value(value, "measure")
