"""Parameters of a training run, its initial network and its batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from transformers import set_seed

from termwise.collection.training_pairs import PairSource
from termwise.encode.tildev2 import Expander
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.progress import Execution
from termwise.train.data.batches import BatchPlan, neighbour_order, pairs_of_an_epoch, plan_batches
from termwise.train.data.expansions import load_or_make_expansions
from termwise.train.data.hard_negatives import load_or_mine_negatives
from termwise.train.data.held_out import HeldOut
from termwise.train.data.passage_idf import load_or_make_query_weights, source_term_factors
from termwise.train.data.teacher import TeacherVectors
from termwise.train.dense_encoder import DenseEncoder
from termwise.train.inputs import Pieces
from termwise.train.loop.initial_weights import encoder_of_same_kind, initial_network
from termwise.train.loop.step import Collator, PlannedBatches
from termwise.train.loop.warm_start import fit_head, set_prior_bias
from termwise.train.networks import (
    SpladeDocNetwork,
    TermNetwork,
    TildeNetwork,
    TildeV2Network,
    check_network,
    output_layer,
    set_dropout,
)
from termwise.train.run_folder import RunFolder
from termwise.train.settings import TrainSettings

_HEAD_LOG = "head.jsonl"

MOST_LISTED = 10**7
"""Largest number of batches of a run with expansions or a teacher; all their passages are listed before the first
step."""


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Parameters of a run; see `termwise.train.loop.run.train_network`. Only the first process says something."""

    kind: str
    sources: Sequence[PairSource]
    base: str | Path
    folder: RunFolder
    pieces: Pieces
    settings: TrainSettings
    held_out: HeldOut | None
    expander: Expander | None
    processes: PartialState

    @property
    def is_first(self) -> bool:
        """Whether this process mines, expands, fits the head and writes."""
        return bool(self.processes.is_main_process)

    @property
    def execution(self) -> Execution:
        """How the run is carried out."""
        return self.folder.execution

    @cached_property
    def continues(self) -> bool:
        """Whether the base is an encoder of this kind, so that its head is trained further."""
        return encoder_of_same_kind(self.kind, self.base) is not None

    @cached_property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Fixed weight of each query term, shape (V,), see `load_or_make_query_weights`; None for counts."""
        if not self.settings.fixed_queries:
            return None
        return load_or_make_query_weights(
            self.settings.query_weights,
            self.sources,
            self.pieces,
            self.folder,
            cleaning=self.settings.cleaning,
            length=self.settings.document_length,
            seed=self.settings.seed,
        )

    @property
    def batches_per_step(self) -> int:
        """Batches of a step."""
        return self.settings.accumulate * int(self.processes.num_processes)

    @property
    def epoch_pairs(self) -> list[int]:
        """Pairs of each source in an epoch; 0 for a source that is too small."""
        settings = self.settings
        pairs: list[int] = pairs_of_an_epoch(
            [len(source) for source in self.sources],
            batch=settings.batch,
            mixing=settings.mixing,
            flattening=settings.flattening,
            block=settings.block,
        ).tolist()
        return pairs

    @property
    def used(self) -> dict[str, int]:
        """Number of pairs by name of the sources used for training."""
        return {
            source.name: len(source)
            for source, taken in zip(self.sources, self.epoch_pairs, strict=True)
            if taken
        }

    @property
    def omitted(self) -> dict[str, int]:
        """Number of pairs by name of the sources that are too small."""
        used = self.used
        return {source.name: len(source) for source in self.sources if source.name not in used}

    def identity(self) -> dict[str, Any]:
        """Return the JSON-like facts that distinguish this run from others."""
        return {
            "kind": self.kind,
            "base": str(self.base),
            "sources": {source.name: source.digest() for source in self.sources},
            "validation": None if self.held_out is None else self.held_out.digest(),
            "expansion": None
            if self.expander is None
            else {"fingerprint": self.expander.fingerprint, "precision": self.expander.session.precision},
            "settings": asdict(self.settings),
        }


def load_network(run: TrainingRun) -> TermNetwork:
    """Load the base with a head; parameters that the base lacks are random."""
    if run.settings.initial_weight and run.continues:
        raise ParameterError(
            "initial_weight is for a new head, and the base has a trained one",
            facts=[("base", run.base), ("initial_weight", run.settings.initial_weight)],
            fixes=["omit initial_weight"],
        )
    set_seed(run.settings.seed)
    network = initial_network(run.kind, run.base)
    if isinstance(network, SpladeDocNetwork):
        _set_activation(network, run)
    added = 0 if run.expander is None else run.expander.terms
    longest = longest_input(run.kind, run.settings, expansion_terms=added)
    check_network(network, terms=len(run.pieces.analyzer.vocabulary), length=longest)
    network.to(run.processes.device)
    set_dropout(network, run.settings.dropout)
    return network


def _set_activation(network: SpladeDocNetwork, run: TrainingRun) -> None:
    """Set the activation of a network with a new head; that of a trained one has to be the same."""
    activation = run.settings.activation
    if run.continues and network.activation != activation:
        raise ParameterError(
            "the base has another activation",
            facts=[("base", run.base), ("its activation", network.activation), ("activation", activation)],
            fixes=[Fix.use(activation=network.activation)],
        )
    network.activation = activation


def apply_settings(network: TermNetwork, run: TrainingRun) -> None:
    """Apply the settings on memory and on initial biases to a network."""
    settings = run.settings
    if settings.checkpointing:
        network.checkpoint_activations()
    if settings.prior_bias and isinstance(network, TildeNetwork):
        set_prior_bias(network, run.pieces, run.sources, settings)
    if isinstance(network, TildeV2Network) and not run.continues:
        torch.nn.init.constant_(network.token_projection.bias, settings.initial_weight)
    if isinstance(network, SpladeDocNetwork):
        output_layer(network.pretrained).bias.data += settings.initial_weight


def longest_input(kind: str, settings: TrainSettings, *, expansion_terms: int = 0) -> int:
    """Return the largest number of pieces of an input, special ones and the expansion with its separator included."""
    if kind != TildeNetwork.kind:
        return settings.document_length + (expansion_terms + 1 if expansion_terms else 0)
    return max(settings.document_length, settings.query_length if settings.reads_queries else 0)


def number_of_batches(run: TrainingRun) -> int:
    """Return the number of batches of the run without planning them."""
    settings = run.settings
    count = sum(run.epoch_pairs) // settings.batch * settings.epochs
    if settings.max_steps:
        count = min(count, settings.max_steps * run.batches_per_step)
    if (run.expander is not None or settings.taught) and count > MOST_LISTED:
        raise ParameterError(
            "the run has too many batches to list the passages that are read before training",
            facts=[("batches", count), ("most", MOST_LISTED)],
            fixes=[
                Fix.use(max_steps=MOST_LISTED // run.batches_per_step),
                "omit the teacher" if run.expander is None else Fix.use(expansion=None),
            ],
        )
    return count


def planned_batches(run: TrainingRun, count: int) -> PlannedBatches:
    """Plan exactly `count` batches, because passages of further batches would be expanded needlessly."""
    settings = run.settings
    orders = None
    if settings.block > 1:
        orders = [neighbour_order(source, threads=run.execution.threads) for source in run.sources]

    def plan(epoch: int) -> BatchPlan:
        return plan_batches(
            [len(source) for source in run.sources],
            batch=settings.batch,
            seed=settings.seed,
            epoch=epoch,
            mixing=settings.mixing,
            flattening=settings.flattening,
            neighbours=orders,
            block=settings.block,
        )

    return PlannedBatches(plan, epochs=settings.epochs, most=count)


def fit_head_if_set(network: TermNetwork, run: TrainingRun, batches: PlannedBatches) -> None:
    """Fit the head of TILDE if the settings have `head_steps`, in the first process.

    The other processes receive the weights when training begins.
    """
    if not (run.settings.head_steps and run.is_first and isinstance(network, TildeNetwork)):
        return
    texts = _pair_texts(run.sources, batches.epoch(0), run.settings.head_pairs)
    losses = fit_head(network, run.pieces, texts, run.settings, progress=run.execution.progress)
    (run.folder.path / _HEAD_LOG).write_text("".join(f"{json.dumps(loss)}\n" for loss in losses))


def _pair_texts(sources: Sequence[PairSource], plan: BatchPlan, count: int) -> list[tuple[str, str]]:
    texts = []
    for owner, number in zip(
        plan.sources.reshape(-1)[:count].tolist(), plan.pairs.reshape(-1)[:count].tolist(), strict=True
    ):
        query, passage = sources[owner].pairs[number].tolist()
        texts.append((sources[owner].queries[query], sources[owner].passages[passage]))
    return texts


def make_collator(run: TrainingRun, batches: PlannedBatches, teacher: DenseEncoder | None) -> Collator:
    """Mine negatives, count terms, expand passages and compute vectors of the teacher according to the settings.

    The first process saves negatives, expansions, query weights and vectors, and the others load them.
    """
    settings = run.settings
    term_factors = None
    if settings.idf_power:
        term_factors = source_term_factors(
            run.sources,
            run.pieces,
            power=settings.idf_power,
            length=settings.document_length,
            seed=settings.seed,
            progress=run.execution.progress,
        )
    with run.processes.main_process_first():
        collator = Collator(
            run.kind,
            settings,
            run.pieces,
            run.sources,
            batches,
            term_factors=term_factors,
            query_weights=run.query_weights,
        )
        if teacher is not None and settings.negatives_from == "teacher":
            collator.teacher = _teacher_vectors(run, teacher, collator)
        if settings.negatives:
            collator.negatives = load_or_mine_negatives(
                run.sources,
                run.folder,
                depth=settings.negative_depth,
                seed=settings.seed,
                by_teacher=None if collator.teacher is None else partial(_mined_by, collator.teacher, run),
            )
        if teacher is not None and collator.teacher is None:
            collator.teacher = _teacher_vectors(run, teacher, collator)
        if run.expander is not None:
            collator.expansions = load_or_make_expansions(
                run.expander,
                run.sources,
                collator.all_places(),
                run.pieces,
                run.folder,
                length=settings.document_length,
            )
    return collator


def _teacher_vectors(run: TrainingRun, teacher: DenseEncoder, collator: Collator) -> TeacherVectors:
    """Return the vectors of the queries and passages of all batches, without negatives that are not mined yet."""
    return TeacherVectors.make(
        teacher,
        run.sources,
        collator.all_queries(),
        collator.all_places(),
        run.folder,
        length=run.settings.document_length,
    )


def _mined_by(
    teacher: TeacherVectors, run: TrainingRun, number: int, source: PairSource
) -> npt.NDArray[np.int32]:
    settings = run.settings
    return teacher.mine_negatives(
        number, source, depth=settings.negative_depth, seed=settings.seed, progress=run.execution.progress
    )
