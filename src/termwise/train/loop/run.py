"""Train a network on pairs, with checkpoints, validation and resumption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from transformers import TrainerCallback, TrainingArguments

from termwise.collection.training_pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.fast_dataclass import dataclass
from termwise.progress import Execution, silent
from termwise.text.wordpiece import WordPieceAnalyzer
from termwise.train.base_encoder import base_name, public_settings
from termwise.train.data.held_out import SELECTION_MEASURE, HeldOut
from termwise.train.data.passage_idf import read_query_weights
from termwise.train.dense_encoder import DenseEncoder, load_dense_encoder
from termwise.train.inputs import Pieces
from termwise.train.loop.callbacks import CurvePoints
from termwise.train.loop.checkpoints import last_checkpoint, step_of
from termwise.train.loop.preparation import (
    TrainingRun,
    apply_settings,
    fit_head_if_set,
    load_network,
    make_collator,
    number_of_batches,
    planned_batches,
)
from termwise.train.loop.step import PlannedBatches, TrainingStep
from termwise.train.loop.trainer import TermTrainer, training_arguments
from termwise.train.loop.validation import validate
from termwise.train.networks import TermNetwork, TildeNetwork, report_slow_bfloat16
from termwise.train.run_folder import CHECKPOINTS, RunFolder
from termwise.train.settings import IDF, TrainSettings

CURVE = "curve"
"""Folder of the points of a learning curve, in the folder of the run."""

_MAY_CHANGE = ("learning_rate", "head_learning_rate", "take", "workers")
"""Settings that may change when a run is resumed: the learning rates, to rescue a run that diverged, the choice of its
weights, and what has no effect on the result."""

_FEW_QUERIES = 50
"""With fewer held-out queries, the selection of the best checkpoint is mostly random."""


@dataclass(frozen=True)
class TrainedNetwork:
    """Result of `train_network`.

    Attributes
    ----------
    network : TermNetwork
        With the best weights by validation, or the last ones without validation.
    pieces : Pieces
        Its tokenizer.
    query_weights : ndarray of shape (V,), float32, or None
        Fixed weight of each query term; None for counts.
    facts : dict
        JSON-like: name of the base, settings, sources with their pairs, sources omitted because they are smaller than a
        batch, pairs seen, steps, seconds of training, best step and its measures.
    """

    network: TermNetwork
    pieces: Pieces
    query_weights: npt.NDArray[np.float32] | None
    facts: dict[str, Any]


def train_network(
    kind: str,
    sources: Sequence[PairSource],
    base: str | Path,
    folder: str | Path,
    *,
    analyzer: WordPieceAnalyzer,
    settings: TrainSettings,
    held_out: HeldOut | None = None,
    expander: Expander | None = None,
    resume: bool = False,
    execution: Execution = Execution(),  # noqa: B008
) -> TrainedNetwork:
    """Train a network.

    Parameters
    ----------
    kind, base, settings, resume, execution
        See `termwise.train.fit.train_encoder`.
    sources : sequence of PairSource
        Training pairs, one source or more.
    folder : str or Path
        Folder of checkpoints, settings and log.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    held_out : HeldOut, optional
        Validation data; the result is then the checkpoint with the best measures on it.
    expander : Expander, optional
        For ``tildev2``: the expander of the passages.

    Raises
    ------
    ForeignFolderError
        If `folder` contains another run, or a run and `resume` is false.
    UnknownNameError
        If there is no such kind.
    ParameterError
        If the settings are not for this kind of network, there are fewer pairs than a batch holds, or inputs are too
        long for the network.
    ModelFormatError
        If the base, the teacher or the file of query weights cannot be loaded.
    MissingFileError
        If there is no such file of query weights.
    CorruptModelError
        If the run has checkpoints and none is complete.

    Notes
    -----
    Under ``torchrun`` or ``accelerate launch`` the processes take the batches in turn, each with its own negatives, and
    a step has as many batches as there are processes. Only the first process mines, expands, fits the head and writes.
    """
    settings.check_kind(kind)
    processes = PartialState(cpu=not torch.cuda.is_available())
    say = execution.say if processes.is_main_process else silent
    report_slow_bfloat16(settings.precision, say)
    run = TrainingRun(
        kind=kind,
        sources=sources,
        base=base,
        folder=RunFolder(Path(folder), resume, replace(execution, say=say)),
        pieces=Pieces(analyzer, kind),
        settings=settings,
        held_out=held_out,
        expander=expander,
        processes=processes,
    )
    network = load_network(run)
    teacher = load_dense_encoder(settings.teacher, say=say) if settings.taught else None
    if settings.fixed_queries and settings.query_weights != IDF:
        read_query_weights(settings.query_weights, terms=len(analyzer.vocabulary))
    step = TrainingStep(network, settings, run.pieces)
    count = number_of_batches(run)
    steps = -(-count // run.batches_per_step)
    checkpoints = run.folder.path / CHECKPOINTS
    arguments = training_arguments(checkpoints, settings, steps=steps, validation=held_out is not None)
    with processes.main_process_first():
        owner = run.folder if run.is_first else replace(run.folder, resume=True)
        owner.claim(run.identity(), may_change=_MAY_CHANGE)
    checkpoint = last_checkpoint(checkpoints, say=say) if resume else None
    _report_start(run, steps=steps, checkpoint=checkpoint)
    apply_settings(network, run)
    batches = planned_batches(run, count)
    if checkpoint is None:
        fit_head_if_set(network, run, batches)
    trainer = _trainer(step, arguments, run, batches, teacher)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    facts = _facts(run, trainer)
    _report_selection(run, steps=facts["steps"], best=facts["best"])
    if run.is_first:
        run.folder.write_facts(facts)
    return TrainedNetwork(network, run.pieces, run.query_weights, facts)


def _trainer(
    step: TrainingStep,
    arguments: TrainingArguments,
    run: TrainingRun,
    batches: PlannedBatches,
    teacher: DenseEncoder | None,
) -> TermTrainer:
    """Mine negatives, expand passages, compute vectors of the teacher and build the training loop."""
    settings, network = run.settings, step.network
    collator = make_collator(run, batches, teacher)
    held_out = run.held_out
    if held_out is not None and run.expander is not None:
        held_out = held_out.expanded(run.expander, run.pieces, settings)
    callbacks: list[TrainerCallback] = []
    if settings.curve:
        callbacks.append(CurvePoints(network, run.folder.path / CURVE, run.batches_per_step * settings.batch))
    return TermTrainer(
        step,
        arguments,
        batches,
        collator,
        settings=settings,
        validate=None
        if held_out is None
        else partial(validate, network, run.pieces, held_out, settings, run.query_weights),
        folder=run.folder,
        callbacks=callbacks,
    )


def _facts(run: TrainingRun, trainer: TermTrainer) -> dict[str, Any]:
    settings, steps = run.settings, trainer.state.global_step
    best = trainer.best
    head_pairs = 0
    if run.kind == TildeNetwork.kind and settings.head_steps:
        head_pairs = min(settings.head_pairs, sum(map(len, run.sources)))
    return {
        "kind": run.kind,
        "base": base_name(run.base),
        "settings": asdict(public_settings(settings)),
        "sources": run.used,
        "omitted": run.omitted,
        "steps": steps,
        "processes": run.processes.num_processes,
        "pairs_seen": best.get("step", steps) * run.batches_per_step * settings.batch,
        "head_pairs": head_pairs,
        "seconds": round(trainer.seconds, 1),
        "best": best,
        "torch": torch.__version__,
    }


def _report_start(run: TrainingRun, *, steps: int, checkpoint: Path | None) -> None:
    """Report training data, validation data and the checkpoint that the run continues from."""
    used, omitted, say = run.used, run.omitted, run.execution.say
    say(
        f"training {run.kind} from {base_name(run.base)} on {sum(used.values()):,} pairs ({_listed(used)}): "
        f"{steps:,} steps of {run.batches_per_step * run.settings.batch:,} pairs"
    )
    if run.continues:
        say(f"{base_name(run.base)} is a {run.kind} encoder: its head is trained further")
    if omitted:
        unit = "batch" if run.settings.mixing == "by-source" else "block"
        say(
            f"warning: omitted, with fewer pairs than a {unit} holds: {_listed(omitted)}; "
            f"the setting {unit} makes it smaller"
        )
    if run.held_out is not None:
        queries = len(run.held_out.queries)
        say(
            f"validating every {run.settings.validate_every:,} steps; held-out queries: {queries:,}, "
            f"passages to rank: {len(run.held_out.passages):,}"
        )
        if queries < _FEW_QUERIES:
            say(
                f"warning: few held-out queries ({queries:,}): the selection of the best checkpoint is mostly random; "
                "give more validation data, or train without validation"
            )
    run.folder.report_resumption(0 if checkpoint is None else step_of(checkpoint), steps)


def _report_selection(run: TrainingRun, *, steps: int, best: Mapping[str, Any]) -> None:
    say = run.execution.say
    last = f"selected: the last weights, of step {steps:,}"
    if run.settings.take == "last":
        say(f"{last}, as set")
    elif best:
        say(
            f"selected: the weights of step {best['step']:,} of {steps:,}, the best by {SELECTION_MEASURE} on "
            "held-out queries"
        )
    elif run.held_out is None:
        say(f"{last}; nothing was held out")
    else:
        say(f"{last}; the best on held-out queries were lost")


def _listed(pairs: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in pairs.items())
