"""Training loop of neural Model 1, with resumable checkpoints.

The Trainer of transformers is not used, because its devices, mixed precision and accumulation are not needed and its
dense optimiser would take most of the time of a step.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from termwise.errors import DivergedError
from termwise.fixes import Code, Fix
from termwise.storage.safe_read import path_exists
from termwise.train.data.held_out import SELECTION_MEASURE
from termwise.train.data.sampling import EpochSample
from termwise.train.loop.checkpoints import loading
from termwise.train.neural_model1.bags import JudgedBags
from termwise.train.neural_model1.network import TranslationNetwork
from termwise.train.neural_model1.optimiser import Optimiser, learning_rate
from termwise.train.neural_model1.scoring import scores_of, vectors_of
from termwise.train.neural_model1.settings import NeuralModel1Settings
from termwise.train.run_folder import LOG, ElapsedTime, RunFolder, RunLog, format_seconds

CHECKPOINT = "checkpoint.safetensors"
"""Weights, moments, step and seconds of a run."""

BEST = "best.safetensors"
"""Best weights by validation, and their measures."""

_LOG_EVERY = 50
_STATE = "state"

Validate = Callable[[], Mapping[str, float]]


def train(
    network: TranslationNetwork,
    judged_bags: JudgedBags,
    run: RunFolder,
    *,
    settings: NeuralModel1Settings,
    validate: Validate | None = None,
) -> dict[str, Any]:
    """Train a network; its final weights are the best by validation, or the last ones without validation.

    `run` is the folder of checkpoint, best weights and log. `validate` returns measures by name; it is called after
    each epoch.

    Returns
    -------
    dict
        JSON-like: ``steps``, ``seconds`` of training, and ``best``, a step and its measures, empty without validation.
    """
    folder, how = run.path, run.execution
    epoch_steps = -(-len(judged_bags.judged) // settings.batch)
    steps = epoch_steps * settings.epochs
    steps = min(steps, settings.max_steps) if settings.max_steps else steps
    optimiser = Optimiser(network, weight_decay=settings.weight_decay)
    elapsed = ElapsedTime()
    begin = _load(folder, network, optimiser, elapsed) if run.resume else 0
    best = _best(folder) if begin else {}
    log = RunLog(folder / LOG, elapsed)
    log.begin(begin)
    sampled_epoch, sample = -1, EpochSample(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    run.report_resumption(begin, steps)
    losses: list[float] = []
    for step in range(begin, steps):
        epoch, position = divmod(step, epoch_steps)
        if sampled_epoch != epoch:
            sampled_epoch, sample = epoch, judged_bags.judged.sample(settings.seed, epoch)
        if settings.restart and position == 0:
            optimiser.reset()
        rate = learning_rate(step, settings, steps=steps, epoch_steps=epoch_steps)
        part = slice(position * settings.batch, (position + 1) * settings.batch)
        loss = batch_loss(network, judged_bags, sample, part, settings)
        loss.backward()
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise _diverged(step, losses[-1], settings)
        optimiser.step(rate)
        done = step + 1
        how.progress(f"train: loss {losses[-1]:.4g}", done, steps)
        epoch_done = done % epoch_steps == 0 or done == steps
        if epoch_done or done % _LOG_EVERY == 0:
            mean, losses = sum(losses) / len(losses), []
            log.write(done, {"loss": mean, "rate": rate})
        if epoch_done:
            measures = dict(validate()) if validate is not None else {}
            better = bool(measures) and measures[SELECTION_MEASURE] > best.get(SELECTION_MEASURE, -math.inf)
            if better:
                best = {"step": done, **measures}
                _save(folder / BEST, network.state_dict(), best)
            if measures:
                log.write(done, measures)
            shown = "".join(f", {name} {value:.4f}" for name, value in measures.items())
            how.say(
                f"epoch {epoch + 1} of {settings.epochs}, step {done:,} of {steps:,}: loss {mean:.4g}{shown}, "
                f"{format_seconds(elapsed.seconds)} elapsed{'; the best so far, saved' if better else ''}"
            )
        if epoch_done or done % settings.save_every == 0:
            tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
            tensors |= {f"optimiser.{name}": value for name, value in optimiser.state().items()}
            _save(folder / CHECKPOINT, tensors, {"step": done, "seconds": elapsed.seconds})
    if best:
        with _checked(folder / BEST):
            network.load_state_dict(load_file(folder / BEST))
    return {"steps": steps, "seconds": round(elapsed.seconds, 1), "best": best}


def batch_loss(
    network: TranslationNetwork,
    judged_bags: JudgedBags,
    sample: EpochSample,
    part: slice,
    settings: NeuralModel1Settings,
) -> Tensor:
    """Return the loss of a batch: max(0, margin - (score of the relevant passage - score of the negative)).

    The layers compute every distinct query term and document term of the batch once.
    """
    queries = judged_bags.queries.take(sample.queries[part])
    # Relevant passage and negative of a query, side by side.
    passages = np.stack((sample.relevant[part], sample.negatives[part, 0]), axis=1).reshape(-1)
    documents = judged_bags.passages.take(passages)
    query_terms, query_rows = np.unique(queries.terms, return_inverse=True)
    document_terms, document_rows = np.unique(documents.terms, return_inverse=True)
    device = network.query_rows.weight.device
    query_vectors = vectors_of(network, query_terms, query=True)
    document_vectors = vectors_of(network, document_terms, query=False)
    times = queries.shares() if settings.score_norm == "mean" else queries.counts.astype(np.float32)
    shares = documents.shares()
    losses = []
    for number in range(len(queries)):
        query = slice(queries.starts[number], queries.starts[number + 1])
        both = slice(documents.starts[2 * number], documents.starts[2 * number + 2])
        same = documents.terms[both, None] == queries.terms[query]
        relevant, negative = scores_of(
            network.pair,
            query_vectors.index_select(0, torch.from_numpy(query_rows[query]).to(device)),
            document_vectors.index_select(0, torch.from_numpy(document_rows[both]).to(device)),
            times=torch.from_numpy(times[query]).to(device),
            shares=torch.from_numpy(shares[both]).to(device),
            sizes=documents.sizes[2 * number : 2 * number + 2].tolist(),
            same=torch.from_numpy(same).to(device),
            p_self=settings.self_translation,
        )
        losses.append(functional.relu(settings.margin - (relevant - negative)))
    loss = torch.stack(losses)
    return loss.sum() if settings.reduction == "sum" else loss.mean()


def _save(file: Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Write tensors and a state atomically."""
    unfinished = file.with_suffix(".unfinished")
    saved = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    save_file(saved, unfinished, metadata={_STATE: json.dumps(state)})
    unfinished.replace(file)


def _load(folder: Path, network: TranslationNetwork, optimiser: Optimiser, elapsed: ElapsedTime) -> int:
    """Load the checkpoint, if there is one; return its step."""
    file = folder / CHECKPOINT
    if not path_exists(file):
        return 0
    with _checked(file):
        state = _state(file)
        tensors = load_file(file)
        step = int(state["step"])
        elapsed.resume(float(state["seconds"]))
        network.load_state_dict(_under("network.", tensors))
        optimiser.load(_under("optimiser.", tensors))
    return step


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _best(folder: Path) -> dict[str, Any]:
    """Return step and measures of the best weights so far."""
    if not path_exists(folder / BEST):
        return {}
    with _checked(folder / BEST):
        return _state(folder / BEST)


def _state(file: Path) -> dict[str, Any]:
    with safe_open(file, "pt") as opened:
        state = json.loads(opened.metadata()[_STATE])
    if not isinstance(state, dict):
        raise ValueError("its state is not an object")
    return state


def _checked(file: Path) -> AbstractContextManager[None]:
    return loading(file, f"remove {file.parent} and start again")


def _diverged(step: int, loss: float, settings: NeuralModel1Settings) -> DivergedError:
    return DivergedError(
        "the loss is not a finite number",
        facts=[("step", step + 1), ("loss", loss), ("learning rate", f"{settings.learning_rate:g}")],
        fixes=[
            Fix.use(
                "start again in another folder with {}", learning_rate=Code(f"{settings.learning_rate / 2:g}")
            )
        ],
    )
