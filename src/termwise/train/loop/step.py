"""Batches as tensors, and the training step: a network with its loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from termwise.collection.training_pairs import PairSource
from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.train.data.batches import BatchPlan
from termwise.train.data.expansions import Expansions, Place
from termwise.train.data.teacher import TeacherVectors
from termwise.train.inputs import Ids, Pieces, distinct_terms, occurrences
from termwise.train.networks import SpladeDocNetwork, TermNetwork, TildeNetwork
from termwise.train.objectives import (
    QueryTerms,
    biqdl,
    contrastive_loss,
    distillation_loss,
    flops_loss,
    likelihood_loss,
    likelihood_scores,
    margin_loss,
    match_scores,
    vocabulary_scores,
)
from termwise.train.settings import TrainSettings

Batch = dict[str, Tensor]

_NO_SCORE = -1e4
"""Score of a passage excluded from a softmax; with infinity the gradient would be 0 times infinity."""


class PlannedBatches:
    """Batches of pairs, at most `most` over all epochs; only one epoch at a time is planned and kept in memory.

    `plan` returns the plan of an epoch by its number; all epochs have the same number of batches.
    """

    def __init__(self, plan: Callable[[int], BatchPlan], *, epochs: int, most: int | None = None) -> None:
        self.epoch = lru_cache(maxsize=1)(plan)
        self._epoch_batches = len(self.epoch(0))
        count = self._epoch_batches * epochs
        self._count = count if most is None else min(count, most)

    def __len__(self) -> int:
        return self._count

    def pairs(self, number: int) -> tuple[list[int], list[int]]:
        """Return the source of each pair of a batch, and the number of the pair within its source."""
        epoch, batch = divmod(number, self._epoch_batches)
        plan = self.epoch(epoch)
        return plan.sources[batch].tolist(), plan.pairs[batch].tolist()


class Collator:
    """Converts a planned batch into tensors.

    Parameters
    ----------
    negatives : sequence of ndarray of shape (n, m), int32, or None
        For each source, positions of passages that are not relevant to the query of each pair; -1 is padding.
        The negatives of a step are drawn with the seed and the number of the batch.
    expansions : Expansions, optional
        Expansion terms of the passages, at least of those in `places`.
    term_factors : sequence of float32 ndarray of shape (V,), optional
        For each source, the factor of the weights of each term; see `source_term_factors`.
    query_weights : float32 ndarray of shape (V,), optional
        Weight of each query term, for any count; see `load_or_make_query_weights`.
    teacher : TeacherVectors, optional
        Vectors of the queries and passages of all batches.
    """

    def __init__(
        self,
        kind: str,
        settings: TrainSettings,
        pieces: Pieces,
        sources: Sequence[PairSource],
        batches: PlannedBatches,
        *,
        negatives: Sequence[npt.NDArray[np.int32]] | None = None,
        expansions: Expansions | None = None,
        term_factors: Sequence[npt.NDArray[np.float32]] | None = None,
        query_weights: npt.NDArray[np.float32] | None = None,
        teacher: TeacherVectors | None = None,
    ) -> None:
        self.kind, self.settings, self.pieces = kind, settings, pieces
        self.sources, self.batches = sources, batches
        self.negatives, self.expansions, self.term_factors = negatives, expansions, term_factors
        self.query_weights, self.teacher = query_weights, teacher
        self.kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
        self._relevant = [np.unique(_keys(source, *source.pairs.T)) for source in sources]

    def __call__(self, items: Sequence[int]) -> dict[str, Batch]:
        """Return ``{"batch": tensors}`` for a list of one number."""
        (number,) = items
        pairs = self._pairs(number)
        queries = [self.pieces(self.sources[owner].queries[query]) for owner, query, _ in pairs]
        if self.kind == TildeNetwork.kind:
            passages = [self.pieces(self.sources[owner].passages[passage]) for owner, _, passage in pairs]
            batch = self._likelihood_batch(queries, passages)
            if self.settings.contrast:
                places = [(owner, passage) for owner, _, passage in pairs]
                batch |= self._ranking_batch(queries, pairs, places)
            return {"batch": batch}
        return {"batch": self._contrastive_batch(queries, self.places(number), pairs)}

    def _pairs(self, number: int) -> list[tuple[int, int, int]]:
        """Return source, query and passage of each pair of a batch."""
        owners, chosen = self.batches.pairs(number)
        return [
            (owner, *self.sources[owner].pairs[pair].tolist())
            for owner, pair in zip(owners, chosen, strict=True)
        ]

    def places(self, number: int) -> list[Place]:
        """Return the passages of a batch: each relevant one, followed by its hard negatives."""
        random = np.random.default_rng((self.settings.seed, number))
        places: list[Place] = []
        _, chosen = self.batches.pairs(number)
        for (owner, _, passage), pair in zip(self._pairs(number), chosen, strict=True):
            places.append((owner, passage))
            places += [(owner, negative) for negative in self._hard_negatives(owner, pair, passage, random)]
        return places

    def all_places(self) -> set[Place]:
        """Return the passages of all batches."""
        return {place for number in range(len(self.batches)) for place in self.places(number)}

    def all_queries(self) -> set[Place]:
        """Return source and position of the queries of all batches."""
        return {
            (owner, query) for number in range(len(self.batches)) for owner, query, _ in self._pairs(number)
        }

    def _likelihood_batch(self, queries: list[Ids], passages: list[Ids]) -> Batch:
        """Return network inputs and target terms for the likelihood losses."""
        special, settings = self.pieces.special, self.settings
        batch: Batch = {}
        if settings.reads_passages:
            ids = [
                self.pieces.framed(special.document, row[: settings.document_length - 2]) for row in passages
            ]
            batch["passage_ids"], batch["passage_mask"] = self.pieces.padded(ids)
            batch["query_rows"], batch["query_terms"] = distinct_terms(queries, self.kept)
        if settings.reads_queries:
            ids = [self.pieces.framed(special.query, row[: settings.query_length - 2]) for row in queries]
            batch["query_ids"], batch["query_mask"] = self.pieces.padded(ids)
            batch["passage_rows"], batch["passage_terms"] = distinct_terms(passages, self.kept)
        return batch

    def _hard_negatives(self, owner: int, pair: int, passage: int, random: np.random.Generator) -> list[int]:
        """Draw negatives of a pair; without mined ones, random passages, or the excluded one of the pair itself."""
        count = self.settings.negatives
        if count == 0 or self.negatives is None:
            return []
        mined = self.negatives[owner][pair]
        mined = mined[mined >= 0]
        if len(mined) == 0 and self.settings.negatives_from == "teacher":
            return [passage] * count  # other passages may have no vector
        if len(mined) == 0:
            drawn = random.integers(len(self.sources[owner].passages), size=count)
        else:
            drawn = random.choice(mined, size=count, replace=len(mined) < count)
        return [int(number) for number in drawn]

    def _contrastive_batch(
        self, queries: list[Ids], places: list[Place], pairs: list[tuple[int, int, int]]
    ) -> Batch:
        """Return network inputs for the passages, with their expansions, and the inputs of their ranking."""
        texts = [self.sources[owner].passages[passage] for owner, passage in places]
        passages = [self.pieces(text)[: self.settings.document_length - 2] for text in texts]
        rows = []
        for place, row in zip(places, passages, strict=True):
            added = np.empty(0, dtype=np.int64) if self.expansions is None else self.expansions[place]
            rows.append(self.pieces.framed(self.pieces.special.cls, row, added))
        batch: Batch = {}
        batch["passage_ids"], batch["passage_mask"] = self.pieces.padded(rows)
        return batch | self._ranking_batch(queries, pairs, places)

    def _ranking_batch(
        self, queries: list[Ids], pairs: list[tuple[int, int, int]], places: Sequence[Place]
    ) -> Batch:
        """Return the inputs of a ranking of the passages of a batch: query terms, targets, exclusions, teacher."""
        settings = self.settings
        batch: Batch = {}
        kept = [row[self.kept[row]][: settings.query_length - 2] for row in queries]
        if self.query_weights is not None:
            kept = [np.unique(row) for row in kept]
            batch["occurrence_weights"] = torch.from_numpy(self.query_weights[np.concatenate(kept)])
        batch["occurrence_rows"], batch["occurrence_terms"] = occurrences(kept, self.kept)
        if self.term_factors is not None:
            factors = [self.term_factors[owner][row] for (owner, *_), row in zip(pairs, kept, strict=True)]
            batch["occurrence_weights"] = torch.from_numpy(np.concatenate(factors))
        batch["targets"] = torch.arange(len(queries)) * (len(places) // len(queries))
        batch["excluded"] = self._excluded(pairs, places)
        if self.teacher is not None:
            asked = [(owner, query) for owner, query, _ in pairs]
            batch["teacher_scores"] = torch.from_numpy(self.teacher.cosines(asked, places))
        return batch

    def _excluded(self, pairs: Sequence[tuple[int, int, int]], places: Sequence[Place]) -> Tensor:
        """Mark the passages that are no negatives of each query, except the passage of its pair.

        These are the relevant ones and, with ``candidates=own``, those of other pairs.
        """
        owners, queries, _ = np.array(pairs, dtype=np.int64).T
        passage_owners, passages = np.array(places, dtype=np.int64).T
        excluded = np.zeros((len(pairs), len(places)), dtype=np.bool_)
        for owner in np.unique(owners).tolist():
            rows, columns = np.flatnonzero(owners == owner), np.flatnonzero(passage_owners == owner)
            keys = _keys(self.sources[owner], queries[rows, None], passages[columns])
            relevant = self._relevant[owner]
            excluded[np.ix_(rows, columns)] = (
                relevant[np.minimum(np.searchsorted(relevant, keys), len(relevant) - 1)] == keys
            )
        own, group = np.arange(len(pairs)), len(places) // len(pairs)
        if self.settings.candidates == "own":
            excluded |= own[:, None] != np.arange(len(places)) // group
        excluded[own, own * group] = False
        return torch.from_numpy(excluded)


def _keys(source: PairSource, queries: npt.NDArray[Any], passages: npt.NDArray[Any]) -> Ids:
    """Return a unique number for each pair of a query and a passage of a source."""
    keys: Ids = queries.astype(np.int64) * len(source.passages) + passages
    return keys


class Step(nn.Module):
    """A network with its loss for the Trainer: a call with ``batch`` returns ``{"loss": ...}``.

    `progress` is the share of finished steps, from 0 to below 1; the Trainer sets it before each step.
    """

    def __init__(self, network: TermNetwork) -> None:
        super().__init__()
        self.network = network
        self.progress = 0.0


class TrainingStep(Step):
    """A term network with its loss."""

    kept: Tensor
    ends: Tensor

    def __init__(self, network: TermNetwork, settings: TrainSettings, pieces: Pieces) -> None:
        super().__init__(network)
        self.settings = settings
        kept = torch.from_numpy(clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning))
        self.register_buffer("kept", kept, persistent=False)
        special = pieces.special
        ends = torch.tensor([special.cls, special.sep, special.pad, special.document, special.query])
        self.register_buffer("ends", ends, persistent=False)

    def forward(self, batch: Batch) -> dict[str, Any]:
        """Return ``{"loss": tensor of shape ()}``."""
        if self.settings.objective == "contrastive":
            return {"loss": self._contrastive_loss(batch)}
        losses = []
        ranking: Tensor | float = 0.0
        if "passage_ids" in batch:
            logits = self.network(batch["passage_ids"], batch["passage_mask"])
            losses.append(likelihood_loss(logits, batch["query_rows"], batch["query_terms"], self.kept))
            if self.settings.contrast:
                ranking = self._ranking_loss(likelihood_scores(logits, _query_terms(batch)), batch)
        if "query_ids" in batch:
            logits = self.network(batch["query_ids"], batch["query_mask"])
            losses.append(likelihood_loss(logits, batch["passage_rows"], batch["passage_terms"], self.kept))
        loss = biqdl(*losses) if len(losses) == 2 else losses[0]
        return {"loss": loss + self.settings.contrast * ranking}

    def _contrastive_loss(self, batch: Batch) -> Tensor:
        """Return the ranking loss of weighted passages, with the sparsity regulariser of SPLADE-doc."""
        weights = self.network(batch["passage_ids"], batch["passage_mask"])
        query_terms = _query_terms(batch)
        if isinstance(self.network, SpladeDocNetwork):
            scores = vocabulary_scores(weights, query_terms)
        else:
            ids = batch["passage_ids"]
            matching = weights.masked_fill(torch.isin(ids, self.ends), 0.0)
            scores = match_scores(matching, ids, query_terms, len(self.kept))
        loss = self._ranking_loss(scores, batch)
        if self.settings.sparsity and isinstance(self.network, SpladeDocNetwork):
            budget = self.settings.sparsity_budget
            loss = loss + self._sparsity_factor() * flops_loss(weights, budget=budget)
        return loss

    def _sparsity_factor(self) -> float:
        ramp = self.settings.sparsity_ramp
        return self.settings.sparsity * (min(self.progress / ramp, 1.0) ** 2 if ramp else 1.0)

    def _ranking_loss(self, scores: Tensor, batch: Batch) -> Tensor:
        """Return the contrastive loss of the scores, mixed with the distillation loss if there is a teacher."""
        excluded, targets, share = batch["excluded"], batch["targets"], self.settings.teacher_weight
        loss = contrastive_loss(scores.masked_fill(excluded, float("-inf")), targets)
        if not self.settings.taught:
            return loss
        teacher = self.settings.teacher_scale * batch["teacher_scores"]
        if self.settings.teacher_loss == "margin-mse":
            distillation = margin_loss(scores, teacher, targets, excluded)
        else:
            distillation = distillation_loss(
                scores.masked_fill(excluded, _NO_SCORE), teacher.masked_fill(excluded, _NO_SCORE)
            )
        return (1 - share) * loss + share * distillation


def _query_terms(batch: Batch) -> QueryTerms:
    return QueryTerms(
        batch["occurrence_rows"],
        batch["occurrence_terms"],
        len(batch["targets"]),
        batch.get("occurrence_weights"),
    )
