"""What a training run needs before its first step: the network it begins with, and its batches."""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch
from transformers import set_seed

from termwise.collection.pairs import PairSource
from termwise.errors import ParameterError
from termwise.train.data.batches import BatchPlan, plan_batches
from termwise.train.data.expansions import expansions_of
from termwise.train.data.hard_negatives import negatives_of
from termwise.train.data.neighbours import neighbour_order
from termwise.train.data.passage_idf import factors_of_sources
from termwise.train.loop.initial_weights import start_from
from termwise.train.loop.run_request import TrainingRun
from termwise.train.loop.step import Collator, PlannedBatches
from termwise.train.loop.warm_start import fit_head, set_prior_bias
from termwise.train.networks import TermNetwork, TildeNetwork, TildeV2Network, check_network, set_dropout
from termwise.train.settings import TrainSettings

_HEAD_LOG = "head.jsonl"

MOST_LISTED = 10**7
"""Most batches of a run that expands its passages: which passages these are is listed before the first step."""


def loaded_network(run: TrainingRun) -> TermNetwork:
    """Load the base, with a head; what the base does not bring starts at random."""
    if run.settings.initial_weight and run.continues:
        raise ParameterError(
            "the base has been trained already, and training goes on with what it weighs",
            facts=[("base", run.base), ("initial_weight", run.settings.initial_weight)],
            fixes=["leave initial_weight out"],
        )
    set_seed(run.settings.seed)
    network = start_from(run.kind, run.base)
    added = 0 if run.expander is None else run.expander.terms
    longest = longest_input(run.kind, run.settings, expansion_terms=added)
    check_network(network, terms=len(run.pieces.analyzer.vocabulary), length=longest)
    network.to(run.processes.device)
    set_dropout(network, run.settings.dropout)
    return network


def initialise(network: TermNetwork, run: TrainingRun) -> None:
    """Set what the settings say of the network, and of the values it starts with."""
    settings = run.settings
    if settings.checkpointing:
        network.checkpoint_activations()
    if settings.prior_bias and isinstance(network, TildeNetwork):
        set_prior_bias(network, run.pieces, run.sources, settings)
    if isinstance(network, TildeV2Network) and not run.continues:
        torch.nn.init.constant_(network.token_projection.bias, settings.initial_weight)


def longest_input(kind: str, settings: TrainSettings, *, expansion_terms: int = 0) -> int:
    """Return the most pieces that a network may have to read at once, special ones included.

    Parameters
    ----------
    kind : str
        Kind of network.
    settings : TrainSettings
    expansion_terms : int, optional
        Terms that a passage is expanded by, which stand behind one more separator.
    """
    if kind != TildeNetwork.kind:
        return settings.document_length + (expansion_terms + 1 if expansion_terms else 0)
    reads_queries = settings.objective != "query-likelihood" or settings.head_steps > 0
    return max(settings.document_length, settings.query_length if reads_queries else 0)


def number_of_batches(run: TrainingRun) -> int:
    """Return how many batches the run takes, without planning them.

    Raises
    ------
    ParameterError
        If there are too few pairs for one, see `pairs_of_an_epoch`, or more than can be listed for an expansion.
    """
    settings = run.settings
    count = sum(run.taken) // settings.batch * settings.epochs
    if settings.max_steps:
        count = min(count, settings.max_steps * run.batches_per_step)
    if run.expander is not None and count > MOST_LISTED:
        raise ParameterError(
            "the passages of so many batches cannot be listed, to be expanded before training",
            facts=[("batches", count), ("most", MOST_LISTED)],
            fixes=[f"--set max_steps={MOST_LISTED // run.batches_per_step}", "--expand-with none"],
        )
    return count


def planned_batches(run: TrainingRun, count: int) -> PlannedBatches:
    """Plan the batches: no more than the run takes, as they are fetched ahead and only what is taken is expanded."""
    settings = run.settings
    orders = None
    if settings.block > 1:
        orders = [neighbour_order(source, threads=run.threads) for source in run.sources]

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
    """Fit the head of TILDE, if that is set; other processes than the first get its weights when training begins."""
    if not (run.settings.head_steps and run.is_first and isinstance(network, TildeNetwork)):
        return
    texts = _texts(run.sources, batches.epoch(0), run.settings.head_pairs)
    losses = fit_head(network, run.pieces, texts, run.settings, progress=run.progress)
    (run.folder / _HEAD_LOG).write_text("".join(f"{json.dumps(loss)}\n" for loss in losses))


def _texts(sources: Sequence[PairSource], plan: BatchPlan, count: int) -> list[tuple[str, str]]:
    """Return query and passage of the first pairs of a plan."""
    owners, numbers = plan.sources.reshape(-1)[:count].tolist(), plan.pairs.reshape(-1)[:count].tolist()
    chosen = [
        (sources[owner], *sources[owner].pairs[number].tolist())
        for owner, number in zip(owners, numbers, strict=True)
    ]
    return [(source.queries[query], source.passages[passage]) for source, query, passage in chosen]


def collator_of(run: TrainingRun, batches: PlannedBatches) -> Collator:
    """Mine negatives, count terms and expand passages as is set.

    The first process keeps what it mines and expands, for the others to read.
    """
    settings = run.settings
    rarity = None
    if settings.idf_power:
        rarity = factors_of_sources(
            run.sources,
            run.pieces,
            power=settings.idf_power,
            length=settings.document_length,
            seed=settings.seed,
            progress=run.progress,
        )
    with run.processes.main_process_first():
        negatives = None
        if settings.negatives:
            negatives = negatives_of(
                run.sources,
                run.folder,
                depth=settings.negative_depth,
                seed=settings.seed,
                threads=run.threads,
                progress=run.progress,
                say=run.say,
            )
        collator = Collator(
            run.kind, settings, run.pieces, run.sources, batches, negatives=negatives, rarity=rarity
        )
        if run.expander is not None:
            collator.expansions = expansions_of(
                run.expander,
                run.sources,
                {place for number in range(len(batches)) for place in collator.places(number)},
                run.pieces,
                run.folder,
                length=settings.document_length,
                progress=run.progress,
                say=run.say,
            )
    return collator
