"""Trainer of transformers over planned batches, with resumable checkpoints and a check for divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from importlib.util import find_spec
from multiprocessing import get_all_start_methods
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import nn
from torch.utils.data import DataLoader, SequentialSampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import TrainerState
from transformers.trainer_utils import TrainOutput

from termwise.errors import DivergedError, ParameterError
from termwise.fixes import Code, Fix
from termwise.train.data.held_out import SELECTION_MEASURE
from termwise.train.loop.callbacks import EVAL, EverySteps, ProgressLines
from termwise.train.loop.checkpoints import (
    OPTIMIZER,
    PREFIX,
    RANDOM,
    STATE,
    WEIGHTS,
    has_weights,
    loading,
    newest_complete,
    step_of,
)
from termwise.train.loop.step import Step
from termwise.train.run_folder import LOG, ElapsedTime, RunFolder, RunLog
from termwise.train.settings import LoopSettings, TrainingPrecision

Validate = Callable[[], Mapping[str, float]]
"""Function that returns measures by name."""

Collate = Callable[[Sequence[int]], dict[str, Any]]
"""Function that turns a list of one batch number into the arguments of a `Step`."""


class TermTrainer(Trainer):
    """Trainer over planned batches, with a validation function that returns measures by name.

    Weights are saved with `safetensors.torch.save_model`, which stores the embedding that encoder and decoder share
    once. For several GPUs, start one process for each (``torchrun``).

    The log of the run is written. Progress is reported after every step, with ``train: loss ...``; losses are read at
    each tenth step and for each line. There is a line for each validation or, without validation, each checkpoint.
    """

    def __init__(
        self,
        step: Step,
        arguments: TrainingArguments,
        batches: Sized,
        collator: Collate,
        *,
        settings: LoopSettings,
        validate: Validate | None,
        folder: RunFolder,
        callbacks: Sequence[TrainerCallback] = (),
    ) -> None:
        self._elapsed = ElapsedTime()
        self._log = RunLog(folder.path / LOG, self._elapsed)
        self._numbers: Any = range(
            len(batches)
        )  # a data set of the numbers that the collator turns into batches
        super().__init__(
            model=step,
            args=arguments,
            train_dataset=self._numbers,
            eval_dataset=self._numbers,  # required by the Trainer, never read: see `evaluate`
            data_collator=collator,
            callbacks=list(callbacks),
        )
        self.remove_callback(PrinterCallback)
        if validate is not None:
            self.add_callback(EverySteps(settings.save_every))
        self.add_callback(ProgressLines(folder.execution, self._take_losses, self._elapsed))
        self._step = step
        self._network = step.network
        self._settings = settings
        self._validate = validate
        self._say = folder.execution.say
        self._losses: list[tuple[int, torch.Tensor]] = []

    @property
    def seconds(self) -> float:
        """Seconds of training so far, over all sessions of the run."""
        return self._elapsed.seconds

    @property
    def best(self) -> dict[str, Any]:
        """Step and measures of the selected weights; empty if they were not validated."""
        if self._settings.take == "last":
            step = self.state.global_step
        elif self.state.best_model_checkpoint is None:
            return {}
        else:
            step = step_of(self.state.best_model_checkpoint)
        validations = [
            line
            for line in self.state.log_history
            if line.get("step") == step and f"{EVAL}{SELECTION_MEASURE}" in line
        ]
        if self._settings.take == "last" and not validations:
            return {}
        return {"step": step} | {
            name.removeprefix(EVAL): value
            for line in validations
            for name, value in line.items()
            if name.startswith(EVAL)
        }

    def train(
        self,
        resume_from_checkpoint: str | bool | None = None,
        trial: Any = None,
        ignore_keys_for_eval: list[str] | None = None,
    ) -> TrainOutput:
        """Train, or continue from a checkpoint; a finished run makes no further step."""
        if not isinstance(resume_from_checkpoint, str):
            self._elapsed.start(None)
            self._begin_log(0)
            return super().train()
        checkpoint = Path(resume_from_checkpoint)
        self._elapsed.start(checkpoint)
        state = self._restored_state(checkpoint)
        if state.global_step < self.args.max_steps:
            self._begin_log(state.global_step)
            return super().train(resume_from_checkpoint)
        self.state = state
        self._load_from_checkpoint(resume_from_checkpoint)
        if state.best_model_checkpoint is not None and self.args.load_best_model_at_end:
            self._load_best_model()
        return TrainOutput(state.global_step, 0.0, {})

    def _begin_log(self, step: int) -> None:
        if self.is_world_process_zero():
            self._log.begin(step)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Write a line of the log too, without the epoch, because the Trainer counts all batches as one epoch."""
        if self.is_world_process_zero():
            self._log.write(self.state.global_step, logs)
        super().log(logs, start_time)

    def _restored_state(self, checkpoint: Path) -> TrainerState:
        """Read the state of a checkpoint and update the path of the best one: the folder may have been moved.

        If the best checkpoint has no weights, it is dropped, so that a later one can become the best.
        """
        file = checkpoint / STATE
        state: TrainerState = TrainerState.load_from_json(str(file))
        if not state.best_global_step:
            return state
        best = Path(str(self.args.output_dir)) / f"{PREFIX}{state.best_global_step}"
        if not has_weights(best):
            self._say(
                f"warning: the weights of {best}, the best so far, are missing or damaged; it is skipped"
            )
            state.best_model_checkpoint = state.best_metric = state.best_global_step = None
        elif state.best_model_checkpoint == str(best):
            return state
        else:
            state.best_model_checkpoint = str(best)
        state.save_to_json(f"{file}.new")
        Path(f"{file}.new").replace(file)
        return state

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the planned batches, in their order."""
        loader = DataLoader(
            self._numbers,
            batch_size=1,
            sampler=SequentialSampler(self._numbers),
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            # Epochs are planned lazily, and a plan cannot be pickled for a new process.
            multiprocessing_context="fork" if self.args.dataloader_num_workers else None,
        )
        return self.accelerator.prepare(loader)  # type: ignore[no-any-return]

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make AdamW with a separate learning rate for the head; without decay it equals Adam."""
        if self.optimizer is None:
            heads = {id(parameter) for parameter in self._network.head_parameters()}
            parameters = [parameter for parameter in self._network.parameters() if parameter.requires_grad]
            chosen = (
                [parameter for parameter in parameters if id(parameter) not in heads],
                [parameter for parameter in parameters if id(parameter) in heads],
            )
            self.optimizer = torch.optim.AdamW(
                [{"params": part, "lr": rate} for part, rate in zip(chosen, self._rates(), strict=True)],
                lr=self._settings.learning_rate,
                weight_decay=self._settings.weight_decay,
            )
        return self.optimizer

    def _rates(self) -> tuple[float, float]:
        """Return the learning rates of encoder and head."""
        settings = self._settings
        return settings.learning_rate, settings.head_learning_rate or settings.learning_rate

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: torch.Tensor | int | None = None
    ) -> torch.Tensor:
        """Compute loss and gradients of a batch; the loss is read later, because reading waits for the GPU."""
        self._step.progress = self.state.global_step / self.args.max_steps
        loss = super().training_step(model, inputs, num_items_in_batch)
        self._losses.append((self.state.global_step + 1, loss))
        return loss

    def _take_losses(self) -> list[float]:
        """Return the loss of each step since the last call; raise `DivergedError` if one is not finite."""
        batch_losses, self._losses = self._losses, []
        losses: dict[int, float] = {}
        for step, loss in batch_losses:
            losses[step] = losses.get(step, 0.0) + float(loss)
            if not math.isfinite(losses[step]):
                raise self._diverged("the loss is not a finite number", "loss", losses[step], step)
        return list(losses.values())

    def _diverged(self, message: str, label: str, seen: object, step: int) -> DivergedError:
        settings = self._settings
        checkpoint = newest_complete(Path(str(self.args.output_dir)))
        slower = Code(f"{settings.learning_rate / 2:g}")
        fixes = [Fix.use("continue with {}", resume=True, learning_rate=slower)] if checkpoint else []
        fixes.append(Fix.use("start again in another folder with {}", learning_rate=slower))
        if not settings.clip:
            fixes.append(Fix.use("limit the gradients with {}", clip=1))
        if settings.precision != "float32":
            fixes.append(Fix.settings("compute in float32 with {}", precision="float32"))
        return DivergedError(
            message,
            facts=[
                ("step", step),
                (label, seen),
                ("learning rate", f"{settings.learning_rate:g}"),
                ("last checkpoint", checkpoint or "none"),
            ],
            fixes=fixes,
        )

    def evaluate(self, *_: object, **__: object) -> dict[str, float]:
        """Validate, log the measures, and return them under the names of the Trainer."""
        if self._validate is None:
            return {}
        self._check_weights()
        measures = {f"{EVAL}{name}": value for name, value in self._validate().items()}
        self.log(dict(measures))  # a copy, because `log` adds entries
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, measures)
        return measures

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        self._check_weights()
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self._network, str(folder / WEIGHTS))
        self._elapsed.save(folder)

    def _check_weights(self) -> None:
        for name, parameter in self._network.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                step = self.state.global_step + 1
                raise self._diverged("the weights are not finite numbers", "tensor", name, step)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        self._load_weights(Path(resume_from_checkpoint))

    def _load_best_model(self) -> None:
        self._load_weights(Path(str(self.state.best_model_checkpoint)))

    def _load_weights(self, checkpoint: Path) -> None:
        with _loading(checkpoint / WEIGHTS):
            load_model(self._network, str(checkpoint / WEIGHTS))

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with _loading(Path(checkpoint or "") / RANDOM):
            super()._load_rng_state(checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Load optimizer and schedule; the learning rates are read from the settings, because they may have changed."""
        if checkpoint is None:
            return
        with _loading(Path(checkpoint) / OPTIMIZER):
            super()._load_optimizer_and_scheduler(checkpoint)
        schedule: Any = self.lr_scheduler
        optimizer: Any = self.optimizer
        schedule.base_lrs = list(self._rates())
        for group, rate, share in zip(
            optimizer.param_groups, self._rates(), schedule.lr_lambdas, strict=True
        ):
            group["initial_lr"] = rate
            group["lr"] = rate * share(schedule.last_epoch)


def _loading(file: Path) -> AbstractContextManager[None]:
    return loading(
        file,
        Fix.sentence(
            "remove {}, then continue from the checkpoint before it with {}",
            file.parent,
            Fix.use(resume=True),
        ),
    )


def training_arguments(
    folder: Path, settings: LoopSettings, *, steps: int, validation: bool
) -> TrainingArguments:
    """Convert settings into arguments of the Trainer for a run of this number of optimiser steps.

    With validation data the best checkpoint is loaded at the end, if `take` is ``best``.
    """
    check_precision(settings.precision)
    if settings.workers and "fork" not in get_all_start_methods():
        raise ParameterError(
            "worker processes need fork, which this system does not have",
            facts=[("workers", settings.workers)],
            fixes=[Fix.use(workers=0)],
        )
    every = settings.validate_every if validation else settings.save_every
    rising = settings.schedule == "constant" and settings.warm_up > 0
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=settings.accumulate,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if rising else settings.schedule,
        warmup_steps=round(settings.warm_up * steps),
        max_grad_norm=settings.clip,
        bf16=settings.precision == "bfloat16",
        fp16=settings.precision == "float16",
        eval_strategy="steps" if validation else "no",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        load_best_model_at_end=validation and settings.take == "best",
        metric_for_best_model=SELECTION_MEASURE if validation else None,
        greater_is_better=True if validation else None,
        logging_steps=min(10, every),
        logging_first_step=True,
        logging_nan_inf_filter=False,  # the filter would wait for each loss; `TermTrainer` raises an error instead
        dataloader_num_workers=settings.workers,
        report_to=["tensorboard"] if find_spec("tensorboard") else [],
        seed=settings.seed,
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        use_cpu=not torch.cuda.is_available(),
    )
    # By default the Trainer splits each batch between the GPUs of one process.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def check_precision(precision: TrainingPrecision) -> None:
    """Raise `ParameterError` if a precision needs a GPU and there is none."""
    if precision == "float16" and not torch.cuda.is_available():
        raise ParameterError(
            "float16 needs a GPU",
            facts=[("precision", precision), ("device", "cpu")],
            fixes=[Fix.settings(precision="bfloat16"), Fix.settings(precision="float32")],
        )
