"""The training loop, with a checkpoint that a killed run goes on from.

It is not the Trainer that the encoders are trained with. That one brings several devices, mixed precision and
accumulation, of which nothing is needed here, and one dense optimiser, which would take most of the time of a step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from termwise.errors import CorruptModelError, DivergedError
from termwise.progress import Progress, no_progress
from termwise.train.data.sampling import Draw
from termwise.train.loop.elapsed_time import Clock
from termwise.train.loop.validation import CHOSEN_BY
from termwise.train.messages import Say, clock_time, first_line, nothing_to_resume, silent
from termwise.train.neural_model1.network import TranslationNetwork
from termwise.train.neural_model1.optimiser import Optimiser, learning_rate
from termwise.train.neural_model1.sampling import Questions
from termwise.train.neural_model1.scoring import scores_of, vectors_of
from termwise.train.neural_model1.settings import NeuralModel1Settings

CHECKPOINT = "checkpoint.safetensors"
"""Weights and moments, and what else a run goes on with."""

BEST = "best.safetensors"
"""The weights that ranked the held-out queries best, and how well."""

LOG = "log.jsonl"

_LOG_EVERY = 50
_STATE = "state"

Validate = Callable[[], Mapping[str, float]]


def train(
    network: TranslationNetwork,
    questions: Questions,
    folder: Path,
    *,
    settings: NeuralModel1Settings,
    validate: Validate | None = None,
    resume: bool = False,
    progress: Progress = no_progress,
    say: Say = silent,
) -> dict[str, Any]:
    """Train a network; it has the best weights afterwards, or the last where nothing is validated.

    Parameters
    ----------
    network : TranslationNetwork
    questions : Questions
    folder : Path
        For checkpoint, best weights and log.
    settings : NeuralModel1Settings
    validate : callable, optional
        Returns measures by name; called after each epoch.
    resume : bool, optional
        Go on from the checkpoint in `folder`, if there is one. On one CPU the result is, bit for bit, that of a run
        that was never interrupted.
    progress : callable, optional
        Called with ``train: loss ...``, the number of the step, and how many there are.
    say : callable, optional
        Called with a line on each epoch.

    Returns
    -------
    dict
        JSON-like: ``steps``, ``seconds`` of training, and ``best``, the step and its measures; empty without
        validation.

    Raises
    ------
    DivergedError
        If a loss is not a finite number.
    CorruptModelError
        If checkpoint or best weights are damaged.
    """
    epoch_steps = -(-len(questions.judged) // settings.batch)
    steps = epoch_steps * settings.epochs
    steps = min(steps, settings.max_steps) if settings.max_steps else steps
    optimiser = Optimiser(network, weight_decay=settings.weight_decay)
    clock = Clock()
    begin = _load(folder, network, optimiser, clock) if resume else 0
    best = _best(folder) if begin else {}
    log = _Log(folder / LOG, begin, clock)
    drawn = -1, Draw(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    if begin:
        say(f"resuming at step {begin:,} of {steps:,}")
    elif resume:
        say(nothing_to_resume(folder))
    losses: list[float] = []
    for step in range(begin, steps):
        epoch, place = divmod(step, epoch_steps)
        if drawn[0] != epoch:
            drawn = epoch, questions.judged.draw(settings.seed, epoch)
        if settings.restart and place == 0:
            optimiser.reset()
        rate = learning_rate(step, settings, steps=steps, epoch_steps=epoch_steps)
        part = slice(place * settings.batch, (place + 1) * settings.batch)
        loss = loss_of(network, questions, drawn[1], part, settings)
        loss.backward()
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise _diverged(step, losses[-1], settings)
        optimiser.step(rate)
        done = step + 1
        progress(f"train: loss {losses[-1]:.4g}", done, steps)
        ended = done % epoch_steps == 0 or done == steps
        if ended or done % _LOG_EVERY == 0:
            log.write(done, loss=sum(losses) / len(losses), rate=rate)
            mean, losses = sum(losses) / len(losses), []
        if ended:
            measures = dict(validate()) if validate is not None else {}
            better = bool(measures) and measures[CHOSEN_BY] > best.get(CHOSEN_BY, -math.inf)
            if better:
                best = {"step": done, **measures}
                _save(folder / BEST, network.state_dict(), best)
            if measures:
                log.write(done, **measures)
            shown = "".join(f", {name} {value:.4f}" for name, value in measures.items())
            say(
                f"epoch {epoch + 1} of {settings.epochs}, step {done:,} of {steps:,}: loss {mean:.4g}{shown}, "
                f"{clock_time(clock.seconds)} elapsed{'; the best so far, kept' if better else ''}"
            )
        if ended or done % settings.save_every == 0:
            tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
            tensors |= {f"optimiser.{name}": value for name, value in optimiser.state().items()}
            _save(folder / CHECKPOINT, tensors, {"step": done, "seconds": clock.seconds})
    if best:
        with _reading(folder / BEST):
            network.load_state_dict(load_file(folder / BEST))
    return {"steps": steps, "seconds": round(clock.seconds, 1), "best": best}


def loss_of(
    network: TranslationNetwork,
    questions: Questions,
    draw: Draw,
    part: slice,
    settings: NeuralModel1Settings,
) -> Tensor:
    """Return the loss of a batch: max(0, margin - (score of the relevant passage - score of the negative)).

    Every term of the batch goes through the layers of its side once.
    """
    queries = questions.queries.take(draw.queries[part])
    count = len(queries)
    chosen = np.stack((draw.relevant[part], draw.negatives[part]), axis=1).reshape(
        -1
    )  # of a query, side by side
    documents = questions.passages.take(chosen)
    asked, query_rows = np.unique(queries.terms, return_inverse=True)
    held, document_rows = np.unique(documents.terms, return_inverse=True)
    device = network.query_rows.weight.device
    ours, theirs = vectors_of(network, asked, query=True), vectors_of(network, held, query=False)
    times = queries.shares() if settings.score_norm == "mean" else queries.counts.astype(np.float32)
    shares = documents.shares()
    losses = []
    for number in range(count):
        query = slice(queries.starts[number], queries.starts[number + 1])
        both = slice(documents.starts[2 * number], documents.starts[2 * number + 2])
        same = documents.terms[both, None] == queries.terms[query]
        relevant, other = scores_of(
            network.pair,
            ours.index_select(0, torch.from_numpy(query_rows[query]).to(device)),
            theirs.index_select(0, torch.from_numpy(document_rows[both]).to(device)),
            times=torch.from_numpy(times[query]).to(device),
            shares=torch.from_numpy(shares[both]).to(device),
            sizes=documents.sizes[2 * number : 2 * number + 2].tolist(),
            same=torch.from_numpy(same).to(device),
            p_self=settings.self_translation,
        )
        losses.append(functional.relu(settings.margin - (relevant - other)))
    loss = torch.stack(losses)
    return loss.sum() if settings.reduction == "sum" else loss.mean()


class _Log:
    """Appends lines to a JSONL file; those of steps that are made again are dropped first."""

    def __init__(self, path: Path, begin: int, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        kept = []
        if begin and path.exists():
            kept = [line for line in path.read_text().splitlines(keepends=True) if _step_of(line) <= begin]
        path.write_text("".join(kept))

    def write(self, step: int, **values: float) -> None:
        line = {"step": step, "seconds": round(self._clock.seconds, 1), **values}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _step_of(line: str) -> float:
    """Return the step of a line; infinity for one that a kill has cut."""
    try:
        return float(json.loads(line)["step"]) if line.endswith("\n") else math.inf
    except (ValueError, KeyError, TypeError):
        return math.inf


def _save(file: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Write tensors and a state, whole or not at all."""
    unfinished = file.with_suffix(".unfinished")
    held = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    save_file(held, unfinished, metadata={_STATE: json.dumps(state)})
    unfinished.replace(file)


def _load(folder: Path, network: TranslationNetwork, optimiser: Optimiser, clock: Clock) -> int:
    """Take up a checkpoint, if there is one; return the step it was written at."""
    file = folder / CHECKPOINT
    if not file.exists():
        return 0
    with _reading(file):
        state = _state(file)
        tensors = load_file(file)
        step = int(state["step"])
        clock.go_on(float(state["seconds"]))
        network.load_state_dict(_under("network.", tensors))
        optimiser.load(_under("optimiser.", tensors))
    return step


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _best(folder: Path) -> dict[str, Any]:
    """Return what is known of the best weights so far."""
    if not (folder / BEST).exists():
        return {}
    with _reading(folder / BEST):
        return _state(folder / BEST)


def _state(file: Path) -> dict[str, Any]:
    with safe_open(file, "pt") as opened:
        state = json.loads(opened.metadata()[_STATE])
    if not isinstance(state, dict):
        raise ValueError("its state is not an object")
    return state


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn what goes wrong while a file of a run is read into an error of ours."""
    try:
        yield
    except Exception as error:  # safetensors and torch document no common type
        raise CorruptModelError(
            "a file that a training run keeps has been damaged",
            facts=[("file", file), ("why", first_line(error))],
            fixes=[f"begin again: remove {file.parent}, then the same command"],
        ) from error


def _diverged(step: int, loss: float, settings: NeuralModel1Settings) -> DivergedError:
    return DivergedError(
        "the loss is not a finite number",
        facts=[("step", step + 1), ("loss", loss), ("learning rate", f"{settings.learning_rate:g}")],
        fixes=[f"start again in another folder: --set learning_rate={settings.learning_rate / 2:g}"],
    )
