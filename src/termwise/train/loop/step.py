"""One training step: from a planned batch to a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from termwise.collection.pairs import PairSource
from termwise.text.vocabulary_cleaning import clean_vocabulary
from termwise.train.data.batches import BatchPlan
from termwise.train.data.expansions import Expansions, Place
from termwise.train.data.inputs import Ids, Pieces, distinct_terms, occurrences
from termwise.train.networks import SpladeDocNetwork, TermNetwork, TildeNetwork, check_network
from termwise.train.objectives import (
    biqdl,
    contrastive_loss,
    distillation_loss,
    flops_loss,
    likelihood_loss,
    likelihood_scores,
    match_scores,
    vocabulary_scores,
)
from termwise.train.settings import TrainSettings
from termwise.train.teacher import Teacher

Batch = dict[str, Tensor]

_TEACHER_QUERY = 64
"""Pieces of a query that a teacher reads at the most, special ones included, unless longer ones are learned from."""

_NO_SCORE = -1e4
"""Stands for a passage that takes no part in a softmax, where infinity would give 0 times infinity."""


class Batches(Dataset[int]):
    """The batches of all epochs in order: item i is the number i, and a collator makes the batch of it."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> int:
        return number


class PlannedBatches(Batches):
    """Batches of pairs, planned epoch by epoch as they are asked for: one plan is in memory at a time.

    Parameters
    ----------
    plan : callable
        Returns the plan of an epoch, by its number; all have as many batches.
    epochs : int
    most : int, optional
        Batches to stop after, whatever `epochs` says.
    """

    def __init__(self, plan: Callable[[int], BatchPlan], *, epochs: int, most: int | None = None) -> None:
        self.epoch = lru_cache(maxsize=1)(plan)
        self._of_an_epoch = len(self.epoch(0))
        count = self._of_an_epoch * epochs
        super().__init__(count if most is None else min(count, most))

    def pairs(self, number: int) -> tuple[list[int], list[int]]:
        """Return the source of each pair of a batch, and the number of the pair within it."""
        epoch, place = divmod(number, self._of_an_epoch)
        plan = self.epoch(epoch)
        return plan.sources[place].tolist(), plan.pairs[place].tolist()


class Collator:
    """Turns a planned batch into tensors.

    Parameters
    ----------
    kind : str
        Kind of network.
    settings : TrainSettings
    pieces : Pieces
        The tokenizer.
    sources : sequence of PairSource
    batches : PlannedBatches
    negatives : sequence of ndarray of shape (n, m), int32, or None
        For each source, positions of passages that are not relevant to the query of each pair; -1 fills up.
        Which of them a step takes is drawn from the seed and the number of the batch.
    expansions : Expansions, optional
        The terms that expand the passages, those of `places` at least.
    rarity : sequence of float32 ndarray of shape (V,), optional
        For each source, what the weights of each term are multiplied by; see `factors_of_sources`.
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
        rarity: Sequence[npt.NDArray[np.float32]] | None = None,
    ) -> None:
        self.kind, self.settings, self.pieces = kind, settings, pieces
        self.sources, self.batches = sources, batches
        self.negatives, self.expansions, self.rarity = negatives, expansions, rarity
        self.kept = clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning)
        self._relevant = [np.unique(_keys(source, *source.pairs.T)) for source in sources]

    def __call__(self, items: Sequence[int]) -> dict[str, Batch]:
        """Return ``{"batch": tensors}`` for a list of one number."""
        (number,) = items
        pairs = self._pairs(number)
        queries = [self.pieces(self.sources[owner].queries[query]) for owner, query, _ in pairs]
        if self.kind == TildeNetwork.kind:
            passages = [self.pieces(self.sources[owner].passages[passage]) for owner, _, passage in pairs]
            batch = self._likelihoods(queries, passages)
            if self.settings.contrast:
                places = [(owner, passage) for owner, _, passage in pairs]
                batch |= self._ranking(queries, passages, pairs, places)
            return {"batch": batch}
        return {"batch": self._contrast(queries, self.places(number), pairs)}

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
            places += [(owner, passage), *((owner, other) for other in self._hard(owner, pair, random))]
        return places

    def _likelihoods(self, queries: list[Ids], passages: list[Ids]) -> Batch:
        special, settings = self.pieces.special, self.settings
        room_d, room_q = settings.document_length - 2, settings.query_length - 2
        batch: Batch = {}
        if settings.reads_passages:
            ids = [self.pieces.framed(special.document, row[:room_d]) for row in passages]
            batch["passage_ids"], batch["passage_mask"] = self.pieces.padded(ids)
            batch["query_rows"], batch["query_terms"] = distinct_terms(queries, self.kept)
        if settings.objective != "query-likelihood":
            ids = [self.pieces.framed(special.query, row[:room_q]) for row in queries]
            batch["query_ids"], batch["query_mask"] = self.pieces.padded(ids)
            batch["passage_rows"], batch["passage_terms"] = distinct_terms(passages, self.kept)
        return batch

    def _hard(self, owner: int, pair: int, random: np.random.Generator) -> list[int]:
        count = self.settings.negatives
        if count == 0 or self.negatives is None:
            return []
        known = self.negatives[owner][pair]
        known = known[known >= 0]
        if len(known) == 0:
            drawn = random.integers(len(self.sources[owner].passages), size=count)
        else:
            drawn = random.choice(known, size=count, replace=len(known) < count)
        return [int(passage) for passage in drawn]

    def _contrast(self, queries: list[Ids], places: list[Place], pairs: list[tuple[int, int, int]]) -> Batch:
        special, settings = self.pieces.special, self.settings
        texts = [self.sources[owner].passages[passage] for owner, passage in places]
        plain = [self.pieces(text)[: settings.document_length - 2] for text in texts]
        rows = []
        for (owner, passage), row in zip(places, plain, strict=True):
            added = np.empty(0, dtype=np.int64)
            if self.expansions is not None:
                added = self.expansions[owner, passage]
            rows.append(self.pieces.framed(special.cls, row, added))
        batch: Batch = {}
        batch["passage_ids"], batch["passage_mask"] = self.pieces.padded(rows)
        return batch | self._ranking(queries, plain, pairs, places)

    def _ranking(
        self,
        queries: list[Ids],
        passages: list[Ids],
        pairs: list[tuple[int, int, int]],
        places: Sequence[Place],
    ) -> Batch:
        """Make what it takes to rank the passages of a batch for its queries."""
        special, settings = self.pieces.special, self.settings
        batch: Batch = {}
        kept = [row[self.kept[row]][: settings.query_length - 2] for row in queries]
        batch["asked_rows"], batch["asked_terms"] = occurrences(kept, self.kept)
        if self.rarity is not None:
            factors = [self.rarity[owner][row] for (owner, *_), row in zip(pairs, kept, strict=True)]
            batch["asked_weights"] = torch.from_numpy(np.concatenate(factors))
        batch["targets"] = torch.arange(len(queries)) * (len(places) // len(queries))
        batch["same"] = self._same(pairs, places)
        if settings.taught:
            teacher_rows = [
                self.pieces.framed(special.cls, row[: settings.document_length - 2]) for row in passages
            ]
            batch["teacher_passage_ids"], batch["teacher_passage_mask"] = self.pieces.padded(teacher_rows)
            asked = [self.pieces.framed(special.cls, row[: _teacher_query(settings) - 2]) for row in queries]
            batch["teacher_query_ids"], batch["teacher_query_mask"] = self.pieces.padded(asked)
        return batch

    def _same(self, pairs: Sequence[tuple[int, int, int]], places: Sequence[Place]) -> Tensor:
        """Mark passages of the batch that are relevant to a query, but for the one that stands for its pair.

        Its own passage once more, or one that is relevant to it by any other pair of its source, is no negative.
        """
        owners, queries, _ = np.array(pairs, dtype=np.int64).T
        homes, passages = np.array(places, dtype=np.int64).T
        marked = np.zeros((len(pairs), len(places)), dtype=np.bool_)
        for owner in np.unique(owners).tolist():
            rows, columns = np.flatnonzero(owners == owner), np.flatnonzero(homes == owner)
            keys = _keys(self.sources[owner], queries[rows, None], passages[columns])
            known = self._relevant[owner]
            found = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys
            marked[np.ix_(rows, columns)] = found
        own = np.arange(len(pairs))
        marked[own, own * (len(places) // len(pairs))] = False
        return torch.from_numpy(marked)


def _keys(source: PairSource, queries: npt.NDArray[Any], passages: npt.NDArray[Any]) -> Ids:
    """Return one number for each pair of a query and a passage of a source."""
    keys: Ids = queries.astype(np.int64) * len(source.passages) + passages
    return keys


class Step(nn.Module):
    """A network with its loss, which is what the Trainer trains: called with ``batch``, it returns ``{"loss": ...}``.

    Parameters
    ----------
    network : TermNetwork

    Attributes
    ----------
    progress : float
        Share of the steps that are done, 0 to below 1, which the Trainer tells before each.
    """

    def __init__(self, network: TermNetwork) -> None:
        super().__init__()
        self.network = network
        self.progress = 0.0


class TrainingStep(Step):
    """A network that gives terms weights, with its loss.

    Parameters
    ----------
    network : TermNetwork
    settings : TrainSettings
    pieces : Pieces

    Raises
    ------
    ModelFormatError
        If the teacher cannot be loaded, or has another vocabulary.
    """

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
        # In a list, so that it is no part of what is trained and kept.
        self._teacher = [Teacher.load(settings.teacher)] if settings.taught else []
        for teacher in self._teacher:
            check_network(
                teacher, terms=len(kept), length=max(settings.document_length, _teacher_query(settings))
            )

    def forward(self, batch: Batch) -> dict[str, Any]:
        """Return ``{"loss": tensor of shape ()}``."""
        if self.settings.objective == "contrastive":
            return {"loss": self._contrast(batch)}
        losses = []
        ranking: Tensor | float = 0.0
        if "passage_ids" in batch:
            logits = self.network(batch["passage_ids"], batch["passage_mask"])
            losses.append(likelihood_loss(logits, batch["query_rows"], batch["query_terms"], self.kept))
            if self.settings.contrast:
                asked = batch["asked_rows"], batch["asked_terms"]
                ranking = self._ranking(likelihood_scores(logits, *asked, len(batch["targets"])), batch)
        if "query_ids" in batch:
            logits = self.network(batch["query_ids"], batch["query_mask"])
            losses.append(likelihood_loss(logits, batch["passage_rows"], batch["passage_terms"], self.kept))
        loss = biqdl(*losses) if len(losses) == 2 else losses[0]
        return {"loss": loss + self.settings.contrast * ranking}

    def _contrast(self, batch: Batch) -> Tensor:
        weights = self.network(batch["passage_ids"], batch["passage_mask"])
        asked, rarity = (batch["asked_rows"], batch["asked_terms"]), batch.get("asked_weights")
        count = len(batch["targets"])
        if isinstance(self.network, SpladeDocNetwork):
            scores = vocabulary_scores(weights, *asked, count, query_weights=rarity)
        else:
            ids = batch["passage_ids"]
            shown = weights.masked_fill(torch.isin(ids, self.ends), 0.0)
            scores = match_scores(shown, ids, *asked, count, len(self.kept), query_weights=rarity)
        loss = self._ranking(scores, batch)
        if self.settings.sparsity and isinstance(self.network, SpladeDocNetwork):
            loss = loss + self._sparsity() * flops_loss(weights)
        return loss

    def _sparsity(self) -> float:
        """Return the factor of the regulariser at this step."""
        ramp = self.settings.sparsity_ramp
        return self.settings.sparsity * (min(self.progress / ramp, 1.0) ** 2 if ramp else 1.0)

    def _ranking(self, scores: Tensor, batch: Batch) -> Tensor:
        """Compute the loss of a ranking of the batch, by what is judged and by what the teacher says."""
        loss = contrastive_loss(scores.masked_fill(batch["same"], float("-inf")), batch["targets"])
        if not self._teacher:
            return loss
        with torch.no_grad():
            teacher = self._teacher[0].to(scores.device)
            asked = teacher(batch["teacher_query_ids"], batch["teacher_query_mask"])
            shown = teacher(batch["teacher_passage_ids"], batch["teacher_passage_mask"])
            wanted = self.settings.teacher_scale * (asked @ shown.T).float()
        distilled = distillation_loss(
            scores.masked_fill(batch["same"], _NO_SCORE), wanted.masked_fill(batch["same"], _NO_SCORE)
        )
        share = self.settings.teacher_weight
        return (1 - share) * loss + share * distilled


def _teacher_query(settings: TrainSettings) -> int:
    return max(_TEACHER_QUERY, settings.query_length)
