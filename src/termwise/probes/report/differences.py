"""What has changed between two reports, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["changed", "same", "other samples", "added", "gone"]


@dataclass(frozen=True)
class Difference:
    """A cell of two reports.

    Attributes
    ----------
    probe, scorer : str
    before, after : float or None
        Scores.
    state : {"changed", "same", "other samples", "added", "gone"}
        ``changed`` where the score, on the same samples, lies outside the interval that it had before; ``other
        samples`` where scores cannot be compared.
    """

    probe: str
    scorer: str
    before: float | None
    after: float | None
    state: State


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Compare two reports.

    Parameters
    ----------
    old, new : mapping
        What `termwise.probes.report.read_report` returns.

    Returns
    -------
    list of Difference
        In the order of the new report, then what is gone.
    """
    before = {(cell["probe"], cell["scorer"]): cell for cell in old["cells"]}
    after = {(cell["probe"], cell["scorer"]): cell for cell in new["cells"]}
    found = []
    for key, cell in after.items():
        earlier = before.get(key)
        found.append(
            Difference(
                *key, None if earlier is None else earlier["score"], cell["score"], _state(earlier, cell)
            )
        )
    found += [
        Difference(*key, cell["score"], None, "gone") for key, cell in before.items() if key not in after
    ]
    return found


def _state(earlier: Mapping[str, Any] | None, cell: Mapping[str, Any]) -> State:
    if earlier is None:
        return "added"
    if earlier["content"] != cell["content"]:
        return "other samples"
    if earlier["score"] is None or cell["score"] is None:
        return "same" if earlier["score"] == cell["score"] else "changed"
    low = earlier["score"] if earlier["low"] is None else earlier["low"]
    high = earlier["score"] if earlier["high"] is None else earlier["high"]
    return "same" if low <= cell["score"] <= high else "changed"
