"""Changes between two reports, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from termwise.fast_dataclass import dataclass

State = Literal["changed", "same", "other samples", "added", "gone"]


@dataclass(frozen=True)
class Difference:
    """One cell in two reports.

    Attributes
    ----------
    probe, scorer : str
    before, after : float or None
        Scores.
    state : {"changed", "same", "other samples", "added", "gone"}
        ``changed`` if the new score on the same samples is outside the old interval; ``other samples`` if the scores
        are not comparable.
    """

    probe: str
    scorer: str
    before: float | None
    after: float | None
    state: State


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Compare two reports, values of `termwise.probes.report.read_report`.

    Differences are in the order of the new report, followed by cells that only the old report has.
    """
    before, after = (
        {(cell["probe"], cell["scorer"]): cell for cell in report["cells"]} for report in (old, new)
    )
    return [_difference(*key, before.get(key), after.get(key)) for key in {**after, **before}]


def _difference(
    probe: str, scorer: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> Difference:
    before, after = (None if cell is None else cell["score"] for cell in (old, new))
    return Difference(probe, scorer, before, after, _state(old, new))


def _state(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> State:
    if old is None:
        return "added"
    if new is None:
        return "gone"
    if old["content"] != new["content"]:
        return "other samples"
    if old["score"] is None or new["score"] is None:
        return "same" if old["score"] == new["score"] else "changed"
    low = old["score"] if old["low"] is None else old["low"]
    high = old["score"] if old["high"] is None else old["high"]
    return "same" if low <= new["score"] <= high else "changed"
