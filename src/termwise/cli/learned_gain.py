"""Gain of learned weights over the current ones, on the training queries and in cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termwise.evaluate.contrast import Contrast
    from termwise.fusion import Fusion
    from termwise.records import Qrel, Run

_LEAST_GAIN = 5e-5
"""Least difference of two values that four decimal places show."""


def gains_of(
    weights: Sequence[float], runs: Sequence[Run], learned: Fusion, validated: Run | None, qrels: list[Qrel]
) -> tuple[Contrast, Contrast | None]:
    """Compare the present weights with the learned ones on the same queries, and cross-validated."""
    from termwise.evaluate import Evaluator, compare
    from termwise.fusion import Fusion

    names = [run.name for run in runs]
    present = Fusion(names, weights, missing="minimum", scaling=learned.scaling, documents="union")
    fused = [present.apply(runs, name="present"), learned.apply(runs, name="learned")]
    fused += [] if validated is None else [validated]
    evaluator = Evaluator(qrels, ["" if learned.learned is None else learned.learned.measure])
    contrasts = compare([evaluator.evaluate(run) for run in fused], baseline="present").contrasts
    return contrasts[0], None if validated is None else contrasts[1]


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
