"""Callbacks of a training run: points of the learning curve, progress messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save_model
from torch import nn
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import TrainerControl, TrainerState

from termwise.progress import Execution
from termwise.train.data.held_out import SELECTION_MEASURE
from termwise.train.loop.checkpoints import PREFIX, STATE, WEIGHTS
from termwise.train.run_folder import ElapsedTime, format_seconds

FIRST_POINT = 1000
"""Pairs seen at the first point of a learning curve."""

EVAL = "eval_"
"""Prefix of the names of measures in the Trainer."""


class CurvePoints(TrainerCallback):
    """Saves the weights after each doubling of the number of pairs seen, and after the last step.

    Each point is saved in `folder` as ``checkpoint-<step>`` with weights and state. A step has `pairs` pairs.
    """

    def __init__(self, network: nn.Module, folder: Path, pairs: int) -> None:
        self._network = network
        self._folder = folder
        self._pairs = pairs

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Save the weights if a point is reached."""
        step = state.global_step
        reached = [doublings(at * self._pairs) for at in (step - 1, step)]
        if not state.is_world_process_zero or (reached[0] == reached[1] and step < state.max_steps):
            return
        point = self._folder / f"{PREFIX}{step}"
        point.mkdir(parents=True, exist_ok=True)
        partial = point / f"{WEIGHTS}.part"
        save_model(self._network, str(partial))
        partial.replace(point / WEIGHTS)
        state.save_to_json(str(point / STATE))


class EverySteps(TrainerCallback):
    """Saves a checkpoint at an interval of steps, in addition to those of the validations."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Request a checkpoint if one is due."""
        control.should_save |= state.global_step % self._steps == 0


class ProgressLines(TrainerCallback):
    """Reports the progress of every step, and a line for each validation or, without validation, each checkpoint.

    The stage of the progress is ``train: loss ...`` of the last logged step. `losses` returns the loss of each step
    since the previous call.
    """

    def __init__(
        self, execution: Execution, losses: Callable[[], Sequence[float]], elapsed: ElapsedTime
    ) -> None:
        self._execution = execution
        self._read_losses = losses
        self._elapsed = elapsed
        self._losses: list[float] = []
        self._shown = math.nan
        self._steps = 0

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Report the step; read the losses only when they are logged, or the weights are saved or evaluated."""
        self._steps += 1
        if self._steps == 1 or control.should_log or control.should_evaluate or control.should_save:
            self._losses += self._read_losses()
            self._shown = self._losses[-1]
        if state.is_world_process_zero:
            self._execution.progress(f"train: loss {self._shown:.4g}", state.global_step, state.max_steps)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float] | None = None,
        lr_scheduler: Any = None,
        **_: object,
    ) -> None:
        """Report the measures of a validation."""
        measures = {name.removeprefix(EVAL): value for name, value in (metrics or {}).items()}
        best = state.best_metric is None or measures.get(SELECTION_MEASURE, -math.inf) > state.best_metric
        standing = "the best so far, saved" if best else f"step {state.best_global_step} stays the best"
        self._line(state, [f"{name} {value:.4f}" for name, value in measures.items()], lr_scheduler, standing)

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        lr_scheduler: Any = None,
        **_: object,
    ) -> None:
        """Report a checkpoint of a run without validation."""
        if args.metric_for_best_model is None:
            self._line(state, [], lr_scheduler, "checkpoint saved")

    def _line(self, state: TrainerState, measures: Sequence[str], schedule: Any, standing: str) -> None:
        """Report one line; its loss is the mean since the previous line."""
        losses, self._losses = self._losses, []
        if not state.is_world_process_zero:
            return
        left = self._elapsed.session / max(self._steps, 1) * (state.max_steps - state.global_step)
        parts = [
            *([f"loss {sum(losses) / len(losses):.4g}"] if losses else []),
            *measures,
            f"learning rate {schedule.get_last_lr()[0]:.3g}",
            f"{format_seconds(self._elapsed.seconds)} elapsed",
            f"{format_seconds(left)} left",
        ]
        self._execution.say(
            f"step {state.global_step:,} of {state.max_steps:,}: {', '.join(parts)}; {standing}"
        )


def doublings(pairs: int) -> int:
    """Return the number of learning-curve points reached: `FIRST_POINT` pairs, then each doubling.

    Examples
    --------
    >>> [doublings(pairs) for pairs in (999, 1000, 1999, 2000, 8000)]
    [0, 1, 1, 2, 4]
    """
    return (pairs // FIRST_POINT).bit_length()
