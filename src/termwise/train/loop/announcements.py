"""What a training run says before its first step, and of the weights that it kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.train.base_encoder import base_name
from termwise.train.loop.checkpoints import step_of
from termwise.train.loop.run_request import TrainingRun
from termwise.train.loop.validation import CHOSEN_BY
from termwise.train.messages import nothing_to_resume

FEW = 50
"""With fewer held-out queries than these, which checkpoint measures best is mostly chance."""


def announce(run: TrainingRun, *, steps: int, checkpoint: Path | None) -> None:
    """Say what is trained on what, what is validated on, and where a run goes on."""
    used, omitted = run.used, run.omitted
    run.say(
        f"training {run.kind} from {base_name(run.base)} on {sum(used.values()):,} pairs ({_listed(used)}): "
        f"{steps:,} steps of {run.batches_per_step * run.settings.batch:,} pairs"
    )
    if run.continues:
        run.say(f"{base_name(run.base)} is a {run.kind} already: training goes on with its head")
    if omitted:
        whole = "batch" if run.settings.mixing == "by-source" else "block"
        run.say(
            f"warning: left out, as they have fewer pairs than a {whole} holds: {_listed(omitted)}; "
            f"--set {whole}=N makes it smaller"
        )
    if run.held_out is not None:
        queries = len(run.held_out.queries)
        run.say(
            f"validating every {run.settings.validate_every:,} steps; held-out queries: {queries:,}, "
            f"passages they are ranked over: {len(run.held_out.passages):,}"
        )
        if queries < FEW:
            run.say(
                f"warning: the held-out queries are few ({queries:,}), and which checkpoint is the best on them "
                "is mostly chance; --validation names more, --validation none keeps the last weights"
            )
    if checkpoint is not None:
        run.say(f"resuming at step {step_of(checkpoint):,} of {steps:,}")
    elif run.resume:
        run.say(nothing_to_resume(run.folder))


def announce_kept(run: TrainingRun, *, steps: int, best: Mapping[str, Any]) -> None:
    """Say which weights the result has, and why."""
    last = f"kept: the last weights, of step {steps:,}"
    if run.settings.take == "last":
        run.say(f"{last}, as was set")
    elif best:
        run.say(
            f"kept: the weights of step {best['step']:,} of {steps:,}, the best by {CHOSEN_BY} on held-out queries"
        )
    elif run.held_out is None:
        run.say(f"{last}; nothing was held out")
    else:
        run.say(f"{last}; the best on held-out queries were lost")


def _listed(pairs: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in pairs.items())
