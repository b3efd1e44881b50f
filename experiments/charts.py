"""Line charts as SVG text, without a drawing library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Palette of Okabe and Ito, which colour-blind readers can distinguish."""

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 55


def line_chart(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x: str,
    y: str,
    logarithmic: bool = False,
    levels: Mapping[str, float] | None = None,
) -> str:
    """Draw lines with points.

    Parameters
    ----------
    lines : mapping of str to sequence of (float, float)
        Points of each line, left to right.
    title, x, y : str
        Title of the chart, and labels of the axes.
    logarithmic : bool
        Whether the horizontal axis is logarithmic.
    levels : mapping of str to float, optional
        Dashed horizontal lines, such as the value of a baseline.

    Returns
    -------
    str
        An SVG document.
    """
    at = math.log10 if logarithmic else float
    xs = [at(point) for points in lines.values() for point, _ in points]
    ys = [value for points in lines.values() for _, value in points] + list((levels or {}).values())
    left, right = _widened(min(xs), max(xs))
    low, high = _widened(min(ys), max(ys))

    def place(point: float, value: float) -> tuple[float, float]:
        across = (at(point) - left) / (right - left)
        up = (value - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    longest = max(map(len, (*lines, *(levels or ()))))
    wide = max(WIDTH, WIDTH - RIGHT + 45 + 7 * longest)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{wide}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    ticks = sorted({point for points in lines.values() for point, _ in points}) if logarithmic else None
    for value in _ticks(low, high):
        _, height = place(1.0, value)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    for point in _apart(ticks, place) if ticks else _ticks(left, right):
        across, _ = place(point, low)
        parts.append(f'<path d="M{across:.1f} {HEIGHT - BOTTOM}v5" stroke="black"/>')
        parts.append(
            f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{point:,.5g}</text>'
        )
    parts.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="black"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x)}</text>')
    centre = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="18" y="{centre}" text-anchor="middle" transform="rotate(-90 18 {centre})">{escape(y)}</text>'
    )
    shown = 0
    for (name, points), colour in zip(lines.items(), _colours(len(lines)), strict=True):
        places = [place(point, value) for point, value in points]
        path = "L".join(f"{across:.1f} {height:.1f}" for across, height in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across:.1f}" cy="{height:.1f}" r="3" fill="{colour}"/>'
            for across, height in places
        ]
        parts += _legend(name, colour, shown, dashed=False)
        shown += 1
    for name, value in (levels or {}).items():
        _, height = place(1.0, value)
        parts.append(
            f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#555" stroke-dasharray="5 4" fill="none"/>'
        )
        parts += _legend(name, "#555", shown, dashed=True)
        shown += 1
    return "\n".join([*parts, "</svg>", ""])


def _legend(name: str, colour: str, number: int, *, dashed: bool) -> list[str]:
    height = TOP + 10 + 20 * number
    across = WIDTH - RIGHT + 12
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return [
        f'<path d="M{across} {height}h22" stroke="{colour}" stroke-width="2"{dash}/>',
        f'<text x="{across + 28}" y="{height + 4}">{escape(name)}</text>',
    ]


def _colours(count: int) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(count)]


def _widened(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step)
    return [round(number * step, 12) for number in range(first, math.floor(high / step) + 1)]


def _apart(points: Sequence[float], place: Callable[[float, float], tuple[float, float]]) -> list[float]:
    """Return the ticks without those whose labels would overlap."""
    kept: list[float] = []
    last = -math.inf
    for point in points:
        across, _ = place(point, 0.0)
        if across - last >= 45:
            kept.append(point)
            last = across
    return kept
