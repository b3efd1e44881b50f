"""A training run from pairs to a network: what ``termwise train`` does before it exports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import TrainerCallback, TrainingArguments

from termwise.collection.pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.progress import Progress, no_progress
from termwise.text.wordpiece import WordPieceAnalyzer
from termwise.train.base_encoder import base_name, shown_settings
from termwise.train.checks import check_asked
from termwise.train.data.inputs import Pieces
from termwise.train.loop.announcements import announce, announce_kept
from termwise.train.loop.callbacks import CurvePoints, JsonLog
from termwise.train.loop.checkpoints import last_checkpoint
from termwise.train.loop.elapsed_time import Clock
from termwise.train.loop.ownership import claim, refuse_taken
from termwise.train.loop.preparation import (
    collator_of,
    fit_head_if_set,
    initialise,
    loaded_network,
    number_of_batches,
    planned_batches,
)
from termwise.train.loop.run_request import TrainingRun
from termwise.train.loop.step import PlannedBatches, TrainingStep
from termwise.train.loop.trainer import TermTrainer, taken, training_arguments
from termwise.train.loop.validation import HeldOut, validate
from termwise.train.messages import Say, silent
from termwise.train.networks import TermNetwork, TildeNetwork
from termwise.train.settings import TrainSettings
from termwise.validation import check, check_path

_LOG = "log.jsonl"
_CHECKPOINTS = "checkpoints"
_FACTS = "facts.json"
CURVE = "curve"
"""Folder of the points of a learning curve, in that of the training."""

_MAY_CHANGE = ("learning_rate", "head_learning_rate", "take", "workers")
"""Settings that a run may go on with in place of those it began with: how one that diverged is saved, the choice of its
weights, and what does not matter to the result."""


@dataclass(frozen=True)
class Trained:
    """What a training run made.

    Attributes
    ----------
    network : TermNetwork
        With the best weights by validation, or the last where there was none.
    pieces : Pieces
        Its tokenizer.
    facts : dict
        JSON-like: name of the base, settings, sources and their pairs, those that were omitted as they have fewer pairs
        than a batch takes, pairs seen, steps, seconds of training (of all legs of a run that was interrupted, see
        `termwise.train.loop.elapsed_time.Clock`), best step and measures.
    """

    network: TermNetwork
    pieces: Pieces
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
    threads: int = 1,
    progress: Progress = no_progress,
    say: Say = silent,
) -> Trained:
    """Train a network.

    Parameters
    ----------
    kind : str
        ``tilde``, ``tildev2`` or ``splade-doc``.
    sources : sequence of PairSource
        Training pairs.
    base : str or Path
        The encoder to start from, see `termwise.train.loop.initial_weights.start_from`.
    folder : str or Path
        Checkpoints, settings and the log are kept here.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    settings : TrainSettings
    held_out : HeldOut, optional
        To validate on; the best checkpoint is then the result.
    expander : Expander, optional
        For ``tildev2``: expands the passages before the network reads them.
    resume : bool, optional
        Go on from the last whole checkpoint in `folder`, or begin where there is none; one that is damaged is named and
        left out. On one CPU the result is, bit for bit, that of a run that was never interrupted.
    threads : int, optional
        For ordering passages; torch has its own setting.
    progress : callable, optional
        Called with a stage, what is done, and the total.
    say : callable, optional
        Called with lines on what is trained, on each validation, on what is kept, and with warnings.

    Returns
    -------
    Trained

    Notes
    -----
    Under ``torchrun`` or ``accelerate launch`` the processes take the batches in turn, each with negatives of its
    own, and a step is as many batches as there are processes. The first process alone mines, expands, fits the head
    and writes.

    Raises
    ------
    ForeignFolderError
        If `folder` holds another run, or a run and `resume` is false.
    UnknownNameError
        If there is no such kind.
    ParameterError
        If the settings do not go with the kind of network, or with each other, or an argument is of another type.
    ModelFormatError
        If the base or the teacher cannot be loaded.
    CorruptModelError
        If the run has checkpoints and none is whole.
    """
    check_asked(
        kind,
        base,
        settings,
        expands=expander is not None,
        resume=resume,
        threads=threads,
        progress=progress,
        say=say,
    )
    several = isinstance(sources, Sequence) and len(sources) > 0
    check(
        "sources",
        sources,
        several and all(isinstance(one, PairSource) for one in sources),
        "a list of sources, as read_sources gives",
    )
    check_path("folder", folder)
    check("analyzer", analyzer, isinstance(analyzer, WordPieceAnalyzer), "a WordPieceAnalyzer")
    check("held_out", held_out, isinstance(held_out, HeldOut | None), "HeldOut, or None")
    check("expander", expander, hasattr(expander, "expansions") or expander is None, "an Expander, or None")
    processes = PartialState(cpu=not torch.cuda.is_available())
    run = TrainingRun(
        kind=kind,
        sources=sources,
        base=base,
        folder=Path(folder),
        pieces=Pieces(analyzer, kind),
        settings=settings,
        held_out=held_out,
        expander=expander,
        resume=resume,
        threads=threads,
        processes=processes,
        progress=progress,
        say=say if processes.is_main_process else silent,
    )
    if run.is_first and not resume:
        refuse_taken(run.folder)
    network = loaded_network(run)
    step = TrainingStep(network, settings, run.pieces)
    count = number_of_batches(run)
    steps = -(-count // run.batches_per_step)
    checkpoints = run.folder / _CHECKPOINTS
    arguments = training_arguments(checkpoints, settings, steps=steps, validation=held_out is not None)
    _claim(run)
    checkpoint = last_checkpoint(checkpoints, say=run.say) if resume else None
    announce(run, steps=steps, checkpoint=checkpoint)
    initialise(network, run)
    batches = planned_batches(run, count)
    if checkpoint is None:
        fit_head_if_set(network, run, batches)
    trainer = _trainer(step, arguments, run, batches)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    facts = _facts(run, trainer)
    announce_kept(run, steps=facts["steps"], best=facts["best"])
    if run.is_first:
        (run.folder / _FACTS).write_text(json.dumps(facts, indent=1) + "\n")
    return Trained(network, run.pieces, facts)


def _claim(run: TrainingRun) -> None:
    """Take the folder: the first process writes down what the run is, and the others find it there."""
    described = run.described()
    with run.processes.main_process_first():
        claim(run.folder, described, resume=run.resume or not run.is_first, may_change=_MAY_CHANGE)


def _trainer(
    step: TrainingStep, arguments: TrainingArguments, run: TrainingRun, batches: PlannedBatches
) -> TermTrainer:
    """Put the training loop together, once the negatives are mined and the passages expanded."""
    settings, network, clock = run.settings, step.network, Clock()
    collator = collator_of(run, batches)
    held_out = run.held_out
    if held_out is not None and run.expander is not None:
        held_out = held_out.expanded(run.expander, run.pieces, settings)
    callbacks: list[TrainerCallback] = [JsonLog(run.folder / _LOG, clock)]
    if settings.curve:
        callbacks.append(CurvePoints(network, run.folder / CURVE, run.batches_per_step * settings.batch))
    return TermTrainer(
        step,
        arguments,
        batches,
        collator,
        settings=settings,
        validate=None if held_out is None else partial(validate, network, run.pieces, held_out, settings),
        clock=clock,
        callbacks=callbacks,
        progress=run.progress,
        say=run.say,
    )


def _facts(run: TrainingRun, trainer: TermTrainer) -> dict[str, Any]:
    """Return the facts of `Trained`."""
    settings, steps = run.settings, trainer.state.global_step
    best = taken(trainer, settings)
    head_pairs = 0
    if run.kind == TildeNetwork.kind and settings.head_steps:
        head_pairs = min(settings.head_pairs, sum(map(len, run.sources)))
    return {
        "kind": run.kind,
        "base": base_name(run.base),
        "settings": asdict(shown_settings(settings)),
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
