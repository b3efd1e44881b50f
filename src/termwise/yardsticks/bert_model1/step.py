"""Training step of BERT-Model1: sampled batches, collation and loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from termwise.collection.training_pairs import PairSource
from termwise.fast_dataclass import dataclass
from termwise.train.data.sampling import EpochSample, JudgedQueries
from termwise.train.inputs import Pieces
from termwise.train.loop.step import Step
from termwise.yardsticks.bert_model1.network import BertModel1, log_means
from termwise.yardsticks.bert_model1.settings import BertModel1Settings
from termwise.yardsticks.bert_model1.windows import Inputs, Window, windows_of

Batch = dict[str, Any]


class SampledBatches:
    """Batches of all epochs; the last batch of an epoch may be smaller."""

    def __init__(self, judged: JudgedQueries, settings: BertModel1Settings) -> None:
        self._judged = judged
        self._settings = settings
        self._per_epoch = -(-len(judged) // settings.batch)
        limit = settings.max_steps * settings.accumulate
        count = self._per_epoch * settings.epochs
        self._count = min(count, limit) if limit else count
        self._epoch = lru_cache(maxsize=1)(lambda epoch: judged.sample(settings.seed, epoch))

    def __len__(self) -> int:
        return self._count

    def sample(self, number: int) -> EpochSample:
        """Return the queries and passages of a batch, which depend on the seed and the number only."""
        epoch, position = divmod(number, self._per_epoch)
        sample = self._epoch(epoch)
        part = slice(position * self._settings.batch, (position + 1) * self._settings.batch)
        queries = self._judged.queries[sample.queries[part]]
        return EpochSample(queries, sample.relevant[part], sample.negatives[part])


class PairCollator:
    """Converts a sampled batch into windows: each query with its relevant passage, then with its negative."""

    def __init__(
        self,
        settings: BertModel1Settings,
        pieces: Pieces,
        sources: Sequence[PairSource],
        batches: SampledBatches,
    ) -> None:
        self._settings = settings
        self._pieces = pieces
        self._queries = [text for source in sources for text in source.queries]
        self._passages = [text for source in sources for text in source.passages]
        self._batches = batches

    def __call__(self, items: Sequence[int]) -> dict[str, Batch]:
        """Return ``{"batch": ...}`` for a list of one batch number."""
        (number,) = items
        sample = self._batches.sample(number)
        texts = []
        for query, *passages in zip(
            sample.queries.tolist(), sample.relevant.tolist(), sample.negatives.tolist(), strict=True
        ):
            query_ids = self._pieces(self._queries[query])[: self._settings.query_length]
            for passage in passages:
                ids = self._pieces(self._passages[passage])[: self._settings.document_length or None]
                texts.append(windows_of(query_ids, ids, chunk_length=self._settings.chunk_length))
        inputs = Inputs.of([window for windows in texts for window in windows], self._pieces)
        return {"batch": {**vars(inputs), "texts": _WindowList(texts)}}


@dataclass(frozen=True)
class _WindowList:
    """Windows of each text of a batch; not a list, so that the trainer does not search it for tensors."""

    windows: Sequence[tuple[Window, ...]]


class MarginStep(Step):
    """BERT-Model1 with the loss max(0, margin - (score of the relevant passage - score of the negative))."""

    def __init__(self, network: BertModel1, settings: BertModel1Settings) -> None:
        super().__init__(network)
        self._bert_model1 = [network]  # in a list, so that it is not registered twice
        self._settings = settings

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``{"loss": tensor of shape ()}``."""
        (network,) = self._bert_model1
        vectors = network(Inputs(batch["ids"], batch["mask"], batch["segments"]))
        scores, begin = [], 0
        for windows in batch["texts"].windows:
            end = begin + len(windows)
            means = log_means(network.log_translations(windows, vectors[begin:end]))
            scores.append(means.mean() if self._settings.score_norm == "mean" else means.sum())
            begin = end
        relevant, negative = torch.stack(scores).view(-1, 2).unbind(1)
        losses = functional.relu(self._settings.margin - (relevant - negative))
        return {"loss": losses.sum() if self._settings.reduction == "sum" else losses.mean()}
