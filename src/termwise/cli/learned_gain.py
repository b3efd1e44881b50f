"""Gain of learned weights over the current ones, on the training queries and in cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from termwise.cli.terminal import note

if TYPE_CHECKING:
    from collections.abc import Collection

    from termwise.evaluate.contrast import Contrast
    from termwise.records import Qrel, Run

FOLDS = 5
"""Default number of folds."""

_LEAST_GAIN = 5e-5
"""Least difference of two values that four decimal places show."""


def folds_for(folds: int | None, qrels: list[Qrel], query_ids: Collection[str]) -> int:
    """Return the number of folds; by default none for too few judged queries, with a note."""
    if folds is not None:
        return folds
    if len({qrel.query_id for qrel in qrels} & set(query_ids)) < FOLDS:
        note(f"fewer than {FOLDS} judged queries, so the gain is not cross-validated")
        return 0
    return FOLDS


def gains_of(
    present: Run, learned: Run, validated: Run | None, qrels: list[Qrel], measure: str
) -> tuple[Contrast, Contrast | None]:
    """Compare the run of the present weights with that of the learned ones, and the cross-validated one."""
    from termwise.evaluate import Evaluator, compare

    evaluator = Evaluator(qrels, [measure])
    runs = [present, learned, *([] if validated is None else [validated])]
    contrasts = compare([evaluator.evaluate(run) for run in runs], baseline=present.name).contrasts
    return contrasts[0], None if validated is None else contrasts[1]


def cross_validation(validated: Contrast | None) -> dict[str, float | None] | None:
    """Return a cross-validated gain for JSON."""
    if validated is None:
        return None
    return {"gain": validated.difference, "ci_low": validated.ci_low, "ci_high": validated.ci_high}


def gain_text(present: str, gain: Contrast, validated: Contrast | None, *, folds: int) -> str:
    """Return the value of the `present` weights, and what the learned weights gain, as sentences.

    `gain` is that on the queries of the learning, and `validated` the one cross-validated over `folds` folds.
    """
    lines = [f"{gain.measure} with the present weights, {present}: {gain.baseline_mean:.4f}."]
    if gain.difference < _LEAST_GAIN:
        lines.append("The learned weights gain nothing on these queries.")
    else:
        lines.append(
            f"The learned weights gain {gain.difference:.4f} on these queries, where a gain is never negative."
        )
    if validated is not None:
        said = f"The gain cross-validated over {folds} folds is {validated.difference:.4f}"
        if validated.ci_low is not None and validated.ci_high is not None:
            said += f", with a 95% interval from {validated.ci_low:.4f} to {validated.ci_high:.4f}"
            if validated.ci_low <= 0:
                said += ": too little to prefer them"
        lines.append(f"{said}.")
    return "\n".join(lines)
