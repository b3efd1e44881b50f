"""Query likelihood of a language model: BERT that reads from left to right, "QLM-BERT" of the TILDE paper.

In every layer a token attends to itself and the tokens before it (Zhuang & Zuccon, "TILDE: Term Independent Likelihood
moDEl", SIGIR 2021, section 4.2), so that the head predicts the next token. With the two orders of query q and document
d,

    QL  = sum over i of ln P(q_i | [CLS] d [SEP] q_1 ... q_(i-1))
    DL  = mean over j of ln P(d_j | [CLS] q [SEP] d_1 ... d_(j-1))
    DQL = alpha QL + (1 - alpha) DL

`likelihood` chooses ``query`` (QL), ``document`` (DL) or ``both`` (DQL). A scorer can be opened with another choice
than that of the training. Training maximises, for relevant passages alone, the mean of ln P over the tokens of each
chosen text. Of a document, at most `chunk_length` tokens are read. A document without tokens has DL = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from termwise.fast_dataclass import dataclass
from termwise.train.inputs import Ids, Pieces
from termwise.train.networks import SpladeDocNetwork, language_model_head
from termwise.yardsticks.rerankers.network import Batch, Reranker, TokenPair
from termwise.yardsticks.rerankers.settings import Reading, TrainingSettings


@dataclass(frozen=True, kw_only=True)
class LikelihoodConfig(Reading):
    """Configuration of the network, including that of `Reading`.

    Attributes
    ----------
    likelihood : {"query", "document", "both"}
        The score: QL, DL or DQL.
    alpha : float
        Share of QL in DQL.
    """

    document_length: int = 477
    likelihood: Literal["query", "document", "both"] = "both"
    alpha: float = 0.5

    ranges = MappingProxyType({**Reading.ranges, "alpha": (0.0, 1.0)})


@dataclass(frozen=True, kw_only=True)
class LikelihoodSettings(TrainingSettings, LikelihoodConfig):
    """Settings of the training: those of `LikelihoodConfig` and of `TrainingSettings`."""

    ranges = MappingProxyType({**LikelihoodConfig.ranges, **TrainingSettings.ranges})


class QueryLikelihood(Reranker):
    """Encoder with the head of a masked language model, read from left to right."""

    kind = "qlm-bert"
    title = "QLM-BERT"
    about = (
        "QLM-BERT: a network that reads a text from left to right, and estimates the probability of each query token "
        "given the text and the query tokens before it, or of the text given the query."
    )
    base_kind = SpladeDocNetwork.kind
    generative = True
    reading_type = LikelihoodConfig
    settings_type = LikelihoodSettings
    reading: LikelihoodConfig

    def __init__(self, pretrained: PreTrainedModel, reading: LikelihoodConfig) -> None:
        super().__init__(pretrained, reading)
        self.logits = language_model_head(pretrained)

    def inputs(self, pairs: Sequence[TokenPair], pieces: Pieces) -> Batch:
        """Return the inputs of the two orders; see `Reranker.inputs`."""
        pairs = [(query, document[: self.reading.chunk_length]) for query, document in pairs]
        batch: Batch = {}
        if self.reading.likelihood != "document":
            batch["query"] = _conditional([(document, query) for query, document in pairs], pieces)
        if self.reading.likelihood != "query":
            batch["document"] = _conditional(pairs, pieces)
        return batch

    def forward(self, batch: Batch, *, windows: int | None = None) -> Tensor:
        """Return the score of each pair, at most 0, in nats; see `Reranker.forward`.

        In training, the mean of ln P over the tokens of each chosen text.
        """
        query = self._log_likelihood(batch["query"], mean=self.training) if "query" in batch else None
        document = self._log_likelihood(batch["document"], mean=True) if "document" in batch else None
        if query is None or document is None:
            only = document if query is None else query
            assert only is not None
            return only
        alpha = 0.5 if self.training else self.reading.alpha
        return alpha * query + (1 - alpha) * document

    def _log_likelihood(self, part: Batch, *, mean: bool) -> Tensor:
        """Return the sum or the mean of ln P over the predicted tokens of each row."""
        ids, mask = part["ids"], part["mask"].bool()
        before = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
        hidden = self.hidden(ids, (before & mask[:, None, :])[:, None])
        rows, places = part["rows"], part["places"]
        logits = self.logits(hidden[rows, places - 1]).float()
        found = logits.log_softmax(-1).gather(1, ids[rows, places][:, None])[:, 0]
        sums = torch.zeros(len(ids), device=ids.device).index_add(0, rows, found)
        if not mean:
            return sums
        return sums / torch.bincount(rows, minlength=len(ids)).clamp(min=1)


def _conditional(pairs: Sequence[tuple[Ids, Ids]], pieces: Pieces) -> Batch:
    """Return rows ``[CLS] condition [SEP] target [SEP]``, and row and position of each token of the targets."""
    framed = [
        np.concatenate(([pieces.special.cls], condition, [pieces.special.sep], target, [pieces.special.sep]))
        for condition, target in pairs
    ]
    ids, mask = pieces.padded(framed)
    rows = np.repeat(np.arange(len(pairs)), [len(target) for _, target in pairs])
    places = [np.arange(len(target)) + len(condition) + 2 for condition, target in pairs]
    return {
        "ids": ids,
        "mask": mask,
        "rows": torch.from_numpy(rows),
        "places": torch.from_numpy(np.concatenate(places).astype(np.int64)),
    }
