"""Training step of a re-ranking network: sampled batches, collation and loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from termwise.collection.training_pairs import PairSource
from termwise.train.data.sampling import EpochSample, JudgedQueries
from termwise.train.data.teacher import TeacherVectors
from termwise.train.inputs import Pieces
from termwise.train.loop.step import Step
from termwise.yardsticks.rerankers.bm25_teacher import Bm25Teacher
from termwise.yardsticks.rerankers.network import Batch, Reranker
from termwise.yardsticks.rerankers.settings import Reading, TrainingSettings


class SampledBatches:
    """Batches of all epochs, without negatives for a generative network; the last of an epoch may be smaller."""

    def __init__(
        self, judged: JudgedQueries, settings: TrainingSettings, *, generative: bool = False
    ) -> None:
        self._judged = judged
        self._settings = settings
        self._per_epoch = -(-len(judged) // settings.batch)
        limit = settings.max_steps * settings.accumulate
        count = self._per_epoch * settings.epochs
        self._count = min(count, limit) if limit else count
        self._epoch = lru_cache(maxsize=1)(
            lambda epoch: judged.sample(
                settings.seed, epoch, negatives=0 if generative else settings.query_negatives
            )
        )

    def __len__(self) -> int:
        return self._count

    def sample(self, number: int) -> EpochSample:
        """Return the queries and passages of a batch, which depend on the seed and the number only."""
        epoch, position = divmod(number, self._per_epoch)
        sample = self._epoch(epoch)
        part = slice(position * self._settings.batch, (position + 1) * self._settings.batch)
        queries = self._judged.queries[sample.queries[part]]
        return EpochSample(queries, sample.relevant[part], sample.negatives[part])

    def passages(self, number: int) -> npt.NDArray[np.int64]:
        """Return the passages of a batch, of shape (queries, 1 + negatives): the relevant one first."""
        sample = self.sample(number)
        return np.column_stack([sample.relevant, sample.negatives])


class PairCollator:
    """Makes the input of a network from a sampled batch: each query with its relevant passage, then its negatives.

    With a teacher, the batch has its scores too: cosines, plus those of `bm25`. Its only source is the joined one.
    """

    def __init__(
        self,
        network: Reranker,
        pieces: Pieces,
        source: PairSource,
        batches: SampledBatches,
        teacher: TeacherVectors | None = None,
        bm25: Bm25Teacher | None = None,
    ) -> None:
        self._network = network
        self._pieces = pieces
        self._source = source
        self._batches = batches
        self._teacher = teacher
        self._bm25 = bm25

    def __call__(self, items: Sequence[int]) -> dict[str, Batch]:
        """Return ``{"batch": ...}`` for a list of one batch number."""
        (number,) = items
        reading: Reading = self._network.reading
        queries = self._batches.sample(number).queries.tolist()
        passages = self._batches.passages(number).tolist()
        pairs = []
        for query, places in zip(queries, passages, strict=True):
            query_ids = reading.of_query(self._pieces(self._source.queries[query]))
            pairs += [
                (query_ids, reading.of_document(self._pieces(self._source.passages[place])))
                for place in places
            ]
        batch: Batch = {"inputs": self._network.inputs(pairs, self._pieces), "queries": len(queries)}
        if self._teacher is not None:
            rows = [
                self._teacher.cosines([(0, query)], [(0, place) for place in places])
                for query, places in zip(queries, passages, strict=True)
            ]
            scores = np.concatenate(rows)
            if self._bm25 is not None:
                for row, query, places in zip(scores, queries, passages, strict=True):
                    texts = [self._source.passages[place] for place in places]
                    row += self._bm25.scores(self._source.queries[query], texts)
            batch["teacher"] = torch.from_numpy(scores)
        return {"batch": batch}


class RankingStep(Step):
    """Training step of a network, with a loss over the margins between relevant passage and negatives.

    A margin is the score of the relevant passage, less that of a negative. Without a teacher the loss is
    max(0, `margin` - margin), with one the squared difference to the margin of the teacher. The loss of a generative
    network is minus the score of the relevant passage.
    """

    def __init__(self, network: Reranker, settings: TrainingSettings) -> None:
        super().__init__(network)
        self._generative = network.generative
        self._settings = settings

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``{"loss": tensor of shape ()}``."""
        scores = self.network(batch["inputs"]).view(batch["queries"], -1)
        margins = _margins(scores)
        if self._generative:
            losses = -scores
        elif "teacher" in batch:
            losses = (margins - self._settings.teacher_scale * _margins(batch["teacher"])).square()
        else:
            losses = functional.relu(self._settings.margin - margins)
        return {"loss": losses.sum() if self._settings.reduction == "sum" else losses.mean()}


def _margins(scores: Tensor) -> Tensor:
    return scores[:, :1] - scores[:, 1:]
