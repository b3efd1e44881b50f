"""Figures of interpolated runs: the value of every share of the first run, and the best share of each query.

Figures need matplotlib, which the extra ``dev`` installs. Equal results give equal files, without dates and settings of
the machine.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import legible_line
from termwise.errors import MissingExtraError, ParameterError, UnknownNameError
from termwise.fusion import Oracle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
"""File formats of a figure."""

COMMON, PER_QUERY = "#0072b2", "#d55e00"
"""Blue and orange of Okabe and Ito: one share for all queries, and one share per query."""

_BINS = np.linspace(-0.05, 1.05, 12)
_WIDTH, _HEIGHT = 4.4, 4.2


@dataclass(frozen=True, eq=False)
class ShareCurve:
    """Data of one panel.

    Attributes
    ----------
    title : str
        Title of the panel, usually the measure.
    places, means : ndarray of shape (p,), float64
        Shares of the first run, from 0 to 1, and the mean with each share for all queries.
    oracle : float
        Mean with the best share of each query.
    marked : tuple of (float, float)
        Shares to mark, and their means.
    best : ndarray of shape (q,), float64
        Best share of each query with different values.
    indifferent : int
        Number of queries with the same value for all shares.
    """

    title: str
    places: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    oracle: float
    marked: tuple[tuple[float, float], ...]
    best: npt.NDArray[np.float64]
    indifferent: int

    @classmethod
    def of(cls, result: Oracle) -> ShareCurve:
        """Return the panel of an oracle, with the best share for all queries marked."""
        return cls(
            title=result.measure,
            places=result.places,
            means=result.means,
            oracle=result.mean(result.best),
            marked=((result.alpha, result.mean(result.fixed)),),
            best=result.alphas[~result.indifferent],
            indifferent=int(result.indifferent.sum()),
        )


def shares_figure(curves: Sequence[ShareCurve], *, first: str, second: str) -> Figure:
    """Draw one panel per curve, with a histogram of the best shares below.

    Parameters
    ----------
    curves : sequence of ShareCurve
        One or more.
    first, second : str
        Names of the runs; at the right end of a panel all weight is on `first`.

    Returns
    -------
    matplotlib.figure.Figure
        A figure without a window, see `figure_bytes`.

    Raises
    ------
    ParameterError
        If there is no curve.
    MissingExtraError
        If matplotlib is not installed.
    """
    if not curves:
        raise ParameterError("a figure needs one curve or more")
    with _default_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(_WIDTH * len(curves), _HEIGHT), layout="constrained")
        panels = figure.subplots(
            2, len(curves), squeeze=False, sharex="col", gridspec_kw={"height_ratios": [3, 1]}
        )
        for number, curve in enumerate(curves):
            _draw_curve(panels[0, number], curve)
            _draw_best(panels[1, number], curve)
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=3 if len(curves) > 1 else 1,
            fontsize=8,
            frameon=False,
        )
        panels[1, 0].set_ylabel("queries")
        figure.supxlabel(
            f"share of {_plain(first)}   (0: {_plain(second)} alone, 1: {_plain(first)} alone)", fontsize=9
        )
        return figure


def figure_bytes(figure: Figure, form: str) -> bytes:
    """Return a figure as a file in one of `FORMATS`.

    Raises
    ------
    UnknownNameError
        If there is no such format.
    """
    if form not in FORMATS:
        raise UnknownNameError.of("kind of figure", form, FORMATS)
    buffer = io.BytesIO()
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[form]
    with _default_settings() as settings:
        # Text stays text in SVG; the salt makes its identifiers reproducible.
        settings.update({"svg.hashsalt": "termwise", "svg.fonttype": "none"})
        figure.savefig(
            buffer, format=form, dpi=150, metadata={**undated, "Creator": None} if form != "png" else {}
        )
    return buffer.getvalue()


def _draw_curve(axes: Axes, curve: ShareCurve) -> None:
    axes.plot(curve.places, curve.means, color=COMMON, linewidth=1.8, label="one share for all")
    axes.axhline(
        curve.oracle, color=PER_QUERY, linewidth=1.8, linestyle="--", label="the best share for each query"
    )
    marked = np.array(curve.marked).reshape(-1, 2)
    axes.plot(marked[:, 0], marked[:, 1], "o", color=COMMON, markersize=6, label="chosen")
    axes.set_title(_plain(curve.title), fontsize=10)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_best(axes: Axes, curve: ShareCurve) -> None:
    axes.hist(curve.best, bins=_BINS.tolist(), color=PER_QUERY, rwidth=0.85)
    if curve.indifferent:
        axes.set_title(f"{curve.indifferent:,} more: any share is as good", fontsize=7, color="#555", pad=2)
    axes.set_xlim(-0.06, 1.06)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _plain(text: str) -> str:
    """Escape dollar signs, which begin formulas in matplotlib."""
    return legible_line(text).replace("$", r"\$")


@contextmanager
def _default_settings() -> Iterator[Any]:
    """Draw with the default settings of matplotlib, and without its warnings."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.of("matplotlib", "dev", "a figure") from None
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters that the font lacks are drawn as boxes
        matplotlib.rcdefaults()
        yield matplotlib.rcParams
