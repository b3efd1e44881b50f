"""The training loop: transformers' Trainer over planned batches, with checkpoints that a killed run goes on from."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import nn
from torch.utils.data import DataLoader, SequentialSampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import TrainerControl, TrainerState
from transformers.trainer_utils import TrainOutput

from termwise.errors import DivergedError, ParameterError
from termwise.train.networks import check_network
from termwise.train.settings import TrainSettings
from termwise.train.step import Collator, PlannedBatches, TrainingStep
from termwise.train.warm_start import Progress

WEIGHTS = "model.safetensors"

_STATE = "trainer_state.json"
"""What the Trainer writes last into a checkpoint."""

_PREFIX = "checkpoint-"

Validate = Callable[[], Mapping[str, float]]


class TermTrainer(Trainer):
    """A Trainer whose batches are planned beforehand and whose validation is a function.

    Weights are kept with `safetensors.torch.save_model`, which stores the embedding that encoder and decoder
    share once. Several graphics processors are used by starting as many processes (``torchrun``).

    Parameters
    ----------
    step : TrainingStep
    arguments : TrainingArguments
        See `training_arguments`.
    batches : PlannedBatches
    collator : Collator
    settings : TrainSettings
    validate : callable or None
        Returns measures by name.
    callbacks : list of TrainerCallback
    progress : callable, optional
        Called after every step with ``train: loss ...``, the number of the step, and how many there are.

    Raises
    ------
    ModelFormatError, ParameterError
        If the network does not go with the tokenizer or the length of the inputs, see `check_network`.
    """

    def __init__(
        self,
        step: TrainingStep,
        arguments: TrainingArguments,
        batches: PlannedBatches,
        collator: Collator,
        *,
        settings: TrainSettings,
        validate: Validate | None,
        callbacks: list[TrainerCallback],
        progress: Progress = lambda *_: None,
    ) -> None:
        check_network(step.network, terms=len(collator.kept), length=collator.longest)
        super().__init__(
            model=step,
            args=arguments,
            train_dataset=batches,
            eval_dataset=batches,  # asked for, never read: see `evaluate`
            data_collator=collator,
            callbacks=callbacks,
        )
        self.remove_callback(PrinterCallback)
        self.add_callback(_ShownSteps(progress, self._taken_loss))
        self._network = step.network
        self._batches = batches
        self._settings = settings
        self._validate = validate
        self._loss = 0.0

    def train(
        self,
        resume_from_checkpoint: str | bool | None = None,
        trial: Any = None,
        ignore_keys_for_eval: list[str] | None = None,
    ) -> TrainOutput:
        """Train, or go on from a checkpoint; a run that was at its end makes no further step."""
        if not isinstance(resume_from_checkpoint, str):
            return super().train()
        state = self._found_state(Path(resume_from_checkpoint))
        if state.global_step < self.args.max_steps:
            return super().train(resume_from_checkpoint)
        self.state = state
        self._load_from_checkpoint(resume_from_checkpoint)
        if state.best_model_checkpoint is not None:
            self._load_best_model()
        return TrainOutput(state.global_step, 0.0, {})

    def _found_state(self, checkpoint: Path) -> TrainerState:
        """Read the state of a checkpoint, with the best one where it is now: the folder may have been moved."""
        file = checkpoint / _STATE
        state: TrainerState = TrainerState.load_from_json(str(file))
        if state.best_global_step:
            best = Path(str(self.args.output_dir)) / f"{_PREFIX}{state.best_global_step}"
            found = str(best) if best.is_dir() else None
            if found != state.best_model_checkpoint:
                state.best_model_checkpoint = found
                state.save_to_json(f"{file}.new")
                Path(f"{file}.new").replace(file)
        return state

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the planned batches, in their order."""
        loader = DataLoader(
            self._batches,
            batch_size=1,
            sampler=SequentialSampler(self._batches),
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
        )
        return self.accelerator.prepare(loader)  # type: ignore[no-any-return]

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make AdamW with a rate of its own for the head; without decay it is Adam."""
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
        """Compute loss and gradients of a batch.

        Raises
        ------
        DivergedError
            If the loss is not a finite number. The weights have not been changed yet.
        """
        loss = super().training_step(model, inputs, num_items_in_batch)
        value = float(loss)
        if not math.isfinite(value):
            raise self._diverged("the loss is not a finite number", "loss", value)
        self._loss += value
        return loss

    def _taken_loss(self) -> float:
        """Return the loss of the batches since the last call."""
        loss, self._loss = self._loss, 0.0
        return loss

    def _diverged(self, message: str, label: str, seen: object) -> DivergedError:
        settings = self._settings
        kept = last_checkpoint(Path(str(self.args.output_dir)))
        fixes = [f"--resume --set learning_rate={settings.learning_rate / 2:g}"] if kept else []
        fixes.append(f"start again in another folder: --set learning_rate={settings.learning_rate / 2:g}")
        if not settings.clip:
            fixes.append("limit the gradients: --set clip=1")
        if settings.precision != "float32":
            fixes.append("compute with more digits: --set precision=float32")
        return DivergedError(
            message,
            facts=[
                ("step", self.state.global_step + 1),
                (label, seen),
                ("learning rate", f"{settings.learning_rate:g}"),
                ("last checkpoint", kept or "none"),
            ],
            fixes=fixes,
        )

    def evaluate(self, *_: object, **__: object) -> dict[str, float]:
        """Validate, log the measures, and return them under the names that the Trainer chooses by."""
        if self._validate is None:
            return {}
        self._check_weights()
        measures = {f"eval_{name}": value for name, value in self._validate().items()}
        self.log(measures)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, measures)
        return measures

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        self._check_weights()
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self._network, str(folder / WEIGHTS))

    def _check_weights(self) -> None:
        for name, parameter in self._network.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                raise self._diverged("the weights are not finite numbers", "tensor", name)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        load_model(self._network, str(Path(resume_from_checkpoint) / WEIGHTS))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Load both; the learning rates are those of the settings, so that a run can go on with other ones."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        schedule: Any = self.lr_scheduler
        optimizer: Any = self.optimizer
        schedule.base_lrs = list(self._rates())
        for group, rate, share in zip(
            optimizer.param_groups, self._rates(), schedule.lr_lambdas, strict=True
        ):
            group["initial_lr"] = rate
            group["lr"] = rate * share(schedule.last_epoch)

    def _load_best_model(self) -> None:
        load_model(self._network, str(Path(str(self.state.best_model_checkpoint)) / WEIGHTS))


class JsonLog(TrainerCallback):
    """Appends what the Trainer logs to a JSONL file, with the seconds spent training.

    A run that goes on from a checkpoint first drops the lines of steps that are made again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin = time.monotonic()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Keep the lines up to the step at which training begins."""
        if not state.is_world_process_zero:
            return
        lines = self._path.read_text().splitlines(keepends=True) if self._path.exists() else []
        kept = [
            line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= state.global_step
        ]
        kept = kept if state.global_step else []
        self._path.write_text("".join(kept))
        before = json.loads(kept[-1])["seconds"] if kept else 0.0
        self._begin = time.monotonic() - before

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
            line = {"step": state.global_step, "seconds": round(time.monotonic() - self._begin, 1), **logs}
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")


class _ShownSteps(TrainerCallback):
    """Reports every step as the rest of the package reports progress."""

    def __init__(self, progress: Progress, loss: Callable[[], float]) -> None:
        self._progress = progress
        self._loss = loss

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        loss = self._loss()
        if state.is_world_process_zero:
            self._progress(f"train: loss {loss:.4g}", state.global_step, state.max_steps)


def training_arguments(
    folder: Path, settings: TrainSettings, *, steps: int, validation: bool
) -> TrainingArguments:
    """Translate settings into those of the Trainer.

    Parameters
    ----------
    folder : Path
        Where checkpoints go.
    settings : TrainSettings
    steps : int
        Changes of the weights in the whole run.
    validation : bool
        Whether there is something to validate on; then the best checkpoint is loaded at the end.

    Raises
    ------
    ParameterError
        If `precision` is ``float16`` and there is no graphics processor.
    """
    accelerated = torch.cuda.is_available()
    if settings.precision == "float16" and not accelerated:
        raise ParameterError(
            "float16 needs a graphics processor",
            facts=[("precision", settings.precision), ("device", "cpu")],
            fixes=["--set precision=bfloat16", "--set precision=float32"],
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
        load_best_model_at_end=validation,
        metric_for_best_model="nDCG@10" if validation else None,
        greater_is_better=True if validation else None,
        logging_steps=min(10, every),
        logging_first_step=True,
        report_to=["tensorboard"] if find_spec("tensorboard") else [],
        seed=settings.seed,
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        use_cpu=not accelerated,
    )
    # Left to itself, the Trainer would cut each batch into parts for the processors that one process sees.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint of a run, or None; one that was being written at a kill does not count."""
    found = {
        int(path.name.removeprefix(_PREFIX)): path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name.removeprefix(_PREFIX).isdigit() and _is_complete(path)
    }
    return found[max(found)] if found else None


def _is_complete(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / _STATE).read_text())
    except (OSError, ValueError):
        return False
    return (checkpoint / WEIGHTS).is_file()
