"""What each share of the first of two runs is worth, drawn: the curve, the oracle, and the best shares of the queries.

Figures are those of matplotlib, the extra ``plot``. Equal results give equal files: nothing of the day or of the
machine is written into them.
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
from termwise.errors import MissingExtraError, ParameterError, UnknownNameError, UsageError
from termwise.fusion.oracle import Oracle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
"""Endings of the files that a figure can be written to."""

ONE, EACH, ANY = "#0072b2", "#d55e00", "#b8b8b8"
"""Okabe and Ito's blue for one share for all, their orange for a share for each query, and gray for any share."""

_BINS = np.linspace(-0.05, 1.05, 12)
_WIDTH, _HEIGHT = 4.4, 4.2


@dataclass(frozen=True, eq=False)
class ShareCurve:
    """What one panel of a figure shows.

    Attributes
    ----------
    title : str
        Mostly the name of the measure.
    places, means : ndarray of shape (p,), float64
        Shares of the first run, from 0 to 1, and what they are worth for all.
    oracle : float
        What the best share of each query is worth.
    marked : tuple of (float, float)
        Shares that were chosen, and what they are worth.
    best : ndarray of shape (q,), float64
        The best share of each query for which shares differ.
    indifferent : int
        Queries for which they do not.
    """

    title: str
    places: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    oracle: float
    marked: tuple[tuple[float, float], ...]
    best: npt.NDArray[np.float64]
    indifferent: int

    @classmethod
    def of(cls, found: Oracle) -> ShareCurve:
        """Return what there is to show of an oracle, the best share for all marked."""
        return cls(
            title=found.measure,
            places=found.places,
            means=found.means,
            oracle=found.mean(found.best),
            marked=((found.alpha, found.mean(found.fixed)),),
            best=found.alphas[~found.indifferent],
            indifferent=int(found.indifferent.sum()),
        )


def shares_figure(curves: Sequence[ShareCurve], *, first: str, second: str) -> Figure:
    """Draw curves beside each other, and under each how many queries have their best share where.

    Parameters
    ----------
    curves : sequence of ShareCurve
        One or more.
    first, second : str
        Names of the runs: all weight on `first` is at the right.

    Returns
    -------
    matplotlib.figure.Figure
        Of no window: only to be written, see `figure_bytes`.

    Raises
    ------
    ParameterError
        If there is no curve.
    MissingExtraError
        If matplotlib is not installed.
    """
    if not curves:
        raise ParameterError("a figure shows one curve or more")
    with _settled():
        return _drawn(curves, first, second)


def _drawn(curves: Sequence[ShareCurve], first: str, second: str) -> Figure:
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
    """Return a figure as a file: one of `FORMATS`.

    Raises
    ------
    UnknownNameError
        If it cannot be written so.
    """
    if form not in FORMATS:
        raise UnknownNameError.of("kind of figure", form, FORMATS)
    held = io.BytesIO()
    dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[form]
    with _settled() as settings:
        # Text stays text in SVG; its identifiers are hashes, of which the salt is part.
        settings.update({"svg.hashsalt": "termwise", "svg.fonttype": "none"})
        figure.savefig(
            held, format=form, dpi=150, metadata={**dated, "Creator": None} if form != "png" else {}
        )
    return held.getvalue()


def _draw_curve(axes: Axes, curve: ShareCurve) -> None:
    axes.plot(curve.places, curve.means, color=ONE, linewidth=1.8, label="one share for all")
    axes.axhline(
        curve.oracle, color=EACH, linewidth=1.8, linestyle="--", label="the best share for each query"
    )
    marked = np.array(curve.marked).reshape(-1, 2)
    axes.plot(marked[:, 0], marked[:, 1], "o", color=ONE, markersize=6, label="chosen")
    axes.set_title(_plain(curve.title), fontsize=10)
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _draw_best(axes: Axes, curve: ShareCurve) -> None:
    axes.hist(curve.best, bins=_BINS.tolist(), color=EACH, rwidth=0.85)
    if curve.indifferent:
        axes.set_title(f"{curve.indifferent:,} more: any share is as good", fontsize=7, color="#555", pad=2)
    axes.set_xlim(-0.06, 1.06)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _plain(text: str) -> str:
    """Make a name fit to stand in a figure; a dollar sign would begin a formula."""
    return legible_line(text).replace("$", r"\$")


def check_matplotlib() -> None:
    """See that figures can be drawn, before anything is computed for them.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UsageError
        If it refuses to be loaded, as it does for settings of its own that it does not understand.
    """
    with _settled():
        pass


@contextmanager
def _settled() -> Iterator[Any]:
    """Draw with the settings that matplotlib comes with, whatever this machine has, and without its warnings."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.of("matplotlib", "plot", "a figure") from None
    except Exception as error:  # whatever its files and variables of settings make it say
        raise UsageError(
            "matplotlib cannot be loaded",
            facts=[("it says", " ".join(str(error).split())[:200])],
            fixes=["unset MPLBACKEND", "look for a file matplotlibrc in this folder, and move it away"],
        ) from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that its font lacks are drawn as boxes
        matplotlib.rcdefaults()
        yield matplotlib.rcParams
