"""A training run from pairs to a network: what ``termwise train`` does before it exports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import set_seed

from termwise.arguments import check, check_callable, check_flag, check_path, check_threads
from termwise.collection.pairs import Source
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError, UnknownNameError
from termwise.progress import Progress, no_progress
from termwise.text.wordpiece import WordPieceAnalyzer
from termwise.train.base import base_name, shown_settings
from termwise.train.batches import BatchPlan, plan_batches
from termwise.train.callbacks import CurvePoints, JsonLog
from termwise.train.checkpoints import last_checkpoint, step_of
from termwise.train.claiming import claim, refuse_taken, unclaimed_if_refused
from termwise.train.clock import Clock
from termwise.train.expansions import expansions_of
from termwise.train.inputs import Pieces
from termwise.train.negatives import negatives_of
from termwise.train.neighbours import neighbour_order
from termwise.train.networks import NETWORKS, TermNetwork, Tilde, TildeV2, check_network, set_dropout
from termwise.train.settings import TrainSettings
from termwise.train.starting import start_from
from termwise.train.step import Collator, PlannedBatches, TrainingStep
from termwise.train.telling import Say, nothing_to_resume, silent
from termwise.train.trainer import TermTrainer, taken, training_arguments
from termwise.train.validation import CHOSEN_BY, HeldOut, validate
from termwise.train.warm_start import fit_head, set_prior_bias

_LOG = "log.jsonl"
_HEAD_LOG = "head.jsonl"
_CHECKPOINTS = "checkpoints"
CURVE = "curve"
"""Folder of the points of a learning curve, in that of the training."""

FEW = 50
"""With fewer held-out queries than these, which checkpoint measures best is mostly chance."""

_MAY_CHANGE = ("learning_rate", "head_learning_rate", "take")
"""Settings that a run may go on with in place of those it began with: how one that diverged is saved, and the choice of
its weights."""


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
        JSON-like: name of the base, settings, sources and their pairs, pairs seen, steps, seconds of training (of all
        legs of a run that was interrupted, see `termwise.train.clock.Clock`), best step and measures.
    """

    network: TermNetwork
    pieces: Pieces
    facts: dict[str, Any]


def train_network(
    kind: str,
    sources: Sequence[Source],
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
    sources : sequence of Source
        Training pairs.
    base : str or Path
        The encoder to start from, see `termwise.train.starting.start_from`.
    folder : str or Path
        Checkpoints, settings and the log are kept here.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    settings : TrainSettings
    held_out : HeldOut, optional
        To validate on; the best checkpoint is then the result.
    expander : Expander, optional
        Expands the passages before the network reads them; not for TILDE.
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
        If the base cannot be loaded.
    CorruptModelError
        If the run has checkpoints and none is whole.
    """
    several = isinstance(sources, Sequence) and len(sources) > 0
    check("kind", kind, isinstance(kind, str), "a name")
    check(
        "sources",
        sources,
        several and all(isinstance(one, Source) for one in sources),
        "a list of sources, as read_sources gives",
    )
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check_path("folder", folder)
    check("analyzer", analyzer, isinstance(analyzer, WordPieceAnalyzer), "a WordPieceAnalyzer")
    check("settings", settings, isinstance(settings, TrainSettings), "TrainSettings")
    check("held_out", held_out, isinstance(held_out, HeldOut | None), "HeldOut, or None")
    check("expander", expander, hasattr(expander, "expansions") or expander is None, "an Expander, or None")
    check_flag("resume", resume)
    check_threads(threads)
    check_callable("progress", progress)
    check_callable("say", say)
    folder = Path(folder)
    _check(kind, settings)
    processes = PartialState(cpu=not torch.cuda.is_available())
    say = say if processes.is_main_process else silent
    if not resume and processes.is_main_process:
        refuse_taken(folder)
    set_seed(settings.seed)
    network = start_from(kind, base)
    check_network(network, terms=len(analyzer.vocabulary), length=settings.document_length)
    network.to(processes.device)
    set_dropout(network, settings.dropout)
    described = {
        "kind": kind,
        "base": str(base),
        "sources": {source.name: source.digest() for source in sources},
        "expansion": None if expander is None else expander.fingerprint,
        "settings": asdict(settings),
    }
    with unclaimed_if_refused(folder) if processes.is_main_process else nullcontext():
        with processes.main_process_first():  # and the others find it claimed
            claim(folder, described, resume=resume or not processes.is_main_process, may_change=_MAY_CHANGE)
        pieces = Pieces(analyzer, kind)
        if settings.checkpointing:
            network.checkpoint_activations()
        if settings.prior_bias and isinstance(network, Tilde):
            set_prior_bias(network, pieces, sources, settings)
        if isinstance(network, TildeV2):
            torch.nn.init.constant_(network.token_projection.bias, settings.initial_weight)
        plans = _plans(
            sources,
            settings,
            threads,
            most=settings.max_steps * settings.accumulate * processes.num_processes,
        )
        together = settings.accumulate * processes.num_processes
        # No more than the run takes: batches are fetched ahead, and only what is taken is expanded.
        batches = PlannedBatches(plans, most=settings.max_steps * together or None)
        steps = -(-len(batches) // together)
        checkpoint = last_checkpoint(folder / _CHECKPOINTS, say=say) if resume else None
        _announce(kind, sources, base, settings, held_out, say, steps=steps, together=together)
        if checkpoint is not None:
            say(f"resuming at step {step_of(checkpoint):,} of {steps:,}")
        elif resume:
            say(nothing_to_resume(folder))
        fresh = settings.head_steps and checkpoint is None and processes.is_main_process
        if fresh and isinstance(network, Tilde):  # other processes get its weights when training begins
            losses = fit_head(
                network, pieces, _texts(sources, plans[0], settings.head_pairs), settings, progress=progress
            )
            (folder / _HEAD_LOG).write_text("".join(f"{json.dumps(loss)}\n" for loss in losses))
        with processes.main_process_first():  # which keeps what it makes, for the others to read
            negatives = None
            if settings.negatives:
                negatives = negatives_of(
                    sources,
                    folder,
                    depth=settings.negative_depth,
                    seed=settings.seed,
                    threads=threads,
                    progress=progress,
                    say=say,
                )
            collator = Collator(kind, settings, pieces, sources, batches, negatives=negatives)
            if expander is not None:
                places = {place for number in range(len(batches)) for place in collator.places(number)}
                collator.expansions = expansions_of(
                    expander,
                    sources,
                    places,
                    pieces,
                    folder,
                    length=settings.document_length,
                    progress=progress,
                    say=say,
                )
                held_out = None if held_out is None else held_out.expanded(expander, pieces, settings)
        step = TrainingStep(network, settings, pieces)
        clock = Clock()
        trainer = TermTrainer(
            step,
            training_arguments(folder / _CHECKPOINTS, settings, steps=steps, validation=held_out is not None),
            batches,
            collator,
            settings=settings,
            validate=None if held_out is None else lambda: validate(network, pieces, held_out, settings),
            clock=clock,
            callbacks=[
                JsonLog(folder / _LOG, clock),
                *(
                    [CurvePoints(network, folder / CURVE, together * settings.batch)]
                    if settings.curve
                    else []
                ),
            ],
            progress=progress,
            say=say,
        )
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    best = taken(trainer, settings)
    say(_chosen(best, trainer.state.global_step, held_out, settings))
    facts = {
        "kind": kind,
        "base": base_name(base),
        "settings": asdict(shown_settings(settings)),
        "sources": {source.name: len(source) for source in sources},
        "steps": trainer.state.global_step,
        "processes": processes.num_processes,
        "pairs_seen": best.get("step", trainer.state.global_step) * together * settings.batch,
        "head_pairs": _head_pairs(sources, settings) if isinstance(network, Tilde) else 0,
        "seconds": round(clock.seconds, 1),
        "best": best,
        "torch": torch.__version__,
    }
    if processes.is_main_process:
        (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
    return Trained(network, pieces, facts)


def _head_pairs(sources: Sequence[Source], settings: TrainSettings) -> int:
    return min(settings.head_pairs, sum(map(len, sources))) if settings.head_steps else 0


def _announce(
    kind: str,
    sources: Sequence[Source],
    base: str | Path,
    settings: TrainSettings,
    held_out: HeldOut | None,
    say: Say,
    *,
    steps: int,
    together: int,
) -> None:
    """Say what is trained on what."""
    pairs = ", ".join(f"{source.name} {len(source):,}" for source in sources)
    say(
        f"training {kind} from {base_name(base)} on {sum(map(len, sources)):,} pairs ({pairs}): "
        f"{steps:,} steps of {together * settings.batch:,} pairs"
    )
    if held_out is None:
        return
    queries = len(held_out.queries)
    say(
        f"validating every {settings.validate_every:,} steps; held-out queries: {queries:,}, "
        f"passages they are ranked over: {len(held_out.passages):,}"
    )
    if queries < FEW:
        say(
            f"warning: the held-out queries are few ({queries:,}), and which checkpoint is the best on them is "
            "mostly chance; --validation names more, --validation none keeps the last weights"
        )


def _chosen(best: dict[str, Any], steps: int, held_out: HeldOut | None, settings: TrainSettings) -> str:
    """Say which weights the result has, and why."""
    if settings.take == "last":
        return f"kept: the last weights, of step {steps:,}, as was set"
    if best:
        return f"kept: the weights of step {best['step']:,} of {steps:,}, the best by {CHOSEN_BY} on held-out queries"
    why = "nothing was held out" if held_out is None else "the best on held-out queries were lost"
    return f"kept: the last weights, of step {steps:,}; {why}"


def _check(kind: str, settings: TrainSettings) -> None:
    if kind not in NETWORKS:
        raise UnknownNameError.of("kind of network", kind, NETWORKS)
    if (settings.objective == "contrastive") == (kind == Tilde.kind):
        raise ParameterError(
            "the objective does not go with the kind of network",
            facts=[("network", kind), ("objective", settings.objective)],
            fixes=["--set objective=biqdl for tilde, contrastive for the others"],
        )
    ranks = settings.objective == "contrastive"
    if settings.contrast and (ranks or settings.objective == "document-likelihood"):
        raise ParameterError(
            "contrast is added to a loss that has the query likelihood and no ranking yet",
            facts=[("objective", settings.objective), ("contrast", settings.contrast)],
            fixes=["leave contrast out"],
        )
    if settings.taught and not (ranks or settings.contrast):
        raise ParameterError(
            "a teacher ranks the passages of a batch, and nothing else here does",
            facts=[("objective", settings.objective), ("teacher", settings.teacher)],
            fixes=["--set contrast=0.1", "leave teacher out"],
        )


def _plans(sources: Sequence[Source], settings: TrainSettings, threads: int, *, most: int) -> list[BatchPlan]:
    """Plan epoch after epoch, until there are `most` batches; all epochs where that is 0."""
    orders = None
    if settings.block > 1:
        orders = [neighbour_order(source, threads=threads) for source in sources]
    plans: list[BatchPlan] = []
    planned = 0
    for epoch in range(settings.epochs):
        plan = plan_batches(
            [len(source) for source in sources],
            batch=settings.batch,
            seed=settings.seed,
            epoch=epoch,
            mixing=settings.mixing,
            flattening=settings.flattening,
            neighbours=orders,
            block=settings.block,
        )
        plans.append(plan)
        planned += len(plan)
        if most and planned >= most:
            break
    return plans


def _texts(sources: Sequence[Source], plan: BatchPlan, count: int) -> list[tuple[str, str]]:
    """Return query and passage of the first pairs of a plan."""
    owners, numbers = plan.sources.reshape(-1)[:count].tolist(), plan.pairs.reshape(-1)[:count].tolist()
    chosen = [
        (sources[owner], *sources[owner].pairs[number].tolist())
        for owner, number in zip(owners, numbers, strict=True)
    ]
    return [(source.queries[query], source.passages[passage]) for source, query, passage in chosen]
