"""What happens along a training run: its log, the points of its learning curve, and what is said of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save_model
from torch import nn
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import TrainerControl, TrainerState

from termwise.progress import Progress
from termwise.train.loop.checkpoints import PREFIX, STATE, WEIGHTS
from termwise.train.loop.elapsed_time import Clock
from termwise.train.loop.validation import CHOSEN_BY
from termwise.train.messages import Say, clock_time

FIRST_POINT = 1000
"""Pairs seen at the first point of a learning curve."""


class JsonLog(TrainerCallback):
    """Appends what the Trainer logs to a JSONL file, with the seconds spent training.

    A run that goes on from a checkpoint first drops the lines of steps that are made again, and any that a kill or a
    disk has damaged.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Keep the lines up to the step at which training begins."""
        if not state.is_world_process_zero:
            return
        kept = b""
        if state.global_step and self._path.exists():
            lines = self._path.read_bytes().splitlines(keepends=True)
            kept = b"".join(line for line in lines if _step_of_line(line) <= state.global_step)
        self._path.write_bytes(kept)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        """Write one line."""
        if state.is_world_process_zero and logs:
            line = {"step": state.global_step, "seconds": round(self._clock.seconds, 1), **logs}
            line.pop(
                "epoch", None
            )  # of the batches that were planned, which may be many epochs or part of one
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")


class CurvePoints(TrainerCallback):
    """Keeps the weights each time twice as many pairs have been seen, and those of the last step.

    Parameters
    ----------
    network : TermNetwork
    folder : Path
        Gets a folder ``checkpoint-<step>`` with weights and state for each point.
    pairs : int
        Pairs of a step.
    """

    def __init__(self, network: nn.Module, folder: Path, pairs: int) -> None:
        self._network = network
        self._folder = folder
        self._pairs = pairs

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Keep the weights where a point is reached."""
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
    """Has a checkpoint written every so many steps, beside those of the validations.

    Parameters
    ----------
    steps : int
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Ask for a checkpoint where one is due."""
        control.should_save |= state.global_step % self._steps == 0


class ProgressLines(TrainerCallback):
    """Reports every step as the rest of the package reports progress, and says a line at each validation.

    Where there is none, it says one at each checkpoint.

    Parameters
    ----------
    progress : callable
        Called with ``train: loss ...``, that of the last step that was logged, the number of the step, and how many
        there are.
    say : callable
    losses : callable
        Returns the loss of each step since it was called before.
    clock : Clock
    """

    def __init__(
        self, progress: Progress, say: Say, losses: Callable[[], Sequence[float]], clock: Clock
    ) -> None:
        self._progress = progress
        self._say = say
        self._read = losses
        self._clock = clock
        self._losses: list[float] = []
        self._shown = math.nan
        self._steps = 0

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Report the step; read the losses where they are logged, or the weights are kept or measured."""
        self._steps += 1
        if self._steps == 1 or control.should_log or control.should_evaluate or control.should_save:
            self._losses += self._read()
            self._shown = self._losses[-1]
        if state.is_world_process_zero:
            self._progress(f"train: loss {self._shown:.4g}", state.global_step, state.max_steps)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float] | None = None,
        lr_scheduler: Any = None,
        **_: object,
    ) -> None:
        """Say what was measured."""
        measures = {name.removeprefix("eval_"): value for name, value in (metrics or {}).items()}
        best = state.best_metric is None or measures.get(CHOSEN_BY, -math.inf) > state.best_metric
        standing = "the best so far, kept" if best else f"step {state.best_global_step} stays the best"
        self._line(state, [f"{name} {value:.4f}" for name, value in measures.items()], lr_scheduler, standing)

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        lr_scheduler: Any = None,
        **_: object,
    ) -> None:
        """Say that there is a checkpoint, where nothing is measured."""
        if args.metric_for_best_model is None:
            self._line(state, [], lr_scheduler, "kept to go on from")

    def _line(self, state: TrainerState, measures: Sequence[str], schedule: Any, standing: str) -> None:
        """Say where training is; the loss is the mean since the line before."""
        losses, self._losses = self._losses, []
        if not state.is_world_process_zero:
            return
        left = self._clock.leg / max(self._steps, 1) * (state.max_steps - state.global_step)
        parts = [
            *([f"loss {sum(losses) / len(losses):.4g}"] if losses else []),
            *measures,
            f"learning rate {schedule.get_last_lr()[0]:.3g}",
            f"{clock_time(self._clock.seconds)} elapsed",
            f"{clock_time(left)} left",
        ]
        self._say(f"step {state.global_step:,} of {state.max_steps:,}: {', '.join(parts)}; {standing}")


def doublings(pairs: int) -> int:
    """Return how often pairs seen have reached `FIRST_POINT` and its doubles.

    Examples
    --------
    >>> [doublings(pairs) for pairs in (999, 1000, 1999, 2000, 8000)]
    [0, 1, 1, 2, 4]
    """
    return (pairs // FIRST_POINT).bit_length()


def _step_of_line(line: bytes) -> float:
    """Return the step of a line of the log; infinity for one that is damaged."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError):
        return math.inf
    return step if isinstance(step, int) else math.inf
