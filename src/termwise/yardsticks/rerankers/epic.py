"""EPIC: salience of query tokens times importance of vocabulary terms in the text.

With the BERT vectors x of query and text, encoded separately, and A(z) = ln(1 + softplus(z)),

    q_i   = A(w_q . x_i + b_q)                                       salience of token i of the query
    d_v   = sigmoid(w_l . x_[CLS] + b_l) max_j A(w_d . x_j + b_d) A(M_v(x_j))     weight of term v in the text
    score = sum over i of q_i d_{v(i)}

where j runs over the tokens of the text and M is the language-model head of BERT (MacAvaney et al., SIGIR 2020). [CLS]
and [SEP] are part of the input, but not of the sum or the maximum. An empty query or text has the score 0. A text is
truncated to `chunk_length` tokens; OpenNIR reads longer ones in several passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from termwise.fast_dataclass import dataclass
from termwise.train.inputs import Ids, Pieces
from termwise.train.networks import SpladeDocNetwork, head_transform, output_layer
from termwise.yardsticks.rerankers.network import Batch, Opaque, Reranker, TokenPair
from termwise.yardsticks.rerankers.settings import Reading, TrainingSettings

_FRAME = 2
"""Special tokens of an input."""


@dataclass(frozen=True, kw_only=True)
class EpicReading(Reading):
    """Number of tokens that EPIC reads; see `Reading`."""

    document_length: int = 477

    @property
    def longest(self) -> int:
        """Number of tokens of the longest input; query and text are read separately."""
        return max(self.query_length, self.chunk_length) + _FRAME


@dataclass(frozen=True, kw_only=True)
class EpicSettings(TrainingSettings, EpicReading):
    """Settings of the training of EPIC: those of `EpicReading` and of `TrainingSettings`."""

    ranges = MappingProxyType({**EpicReading.ranges, **TrainingSettings.ranges})


class Epic(Reranker):
    """The network of EPIC: an encoder with the head of a masked language model, and three linear layers."""

    kind = "epic"
    title = "EPIC"
    about = (
        "EPIC: a network that reads query and text separately, and multiplies the salience of each query token by the "
        "weight of this term in the text."
    )
    base_kind = SpladeDocNetwork.kind
    reading_type = EpicReading
    settings_type = EpicSettings

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        width = pretrained.config.hidden_size
        self.query_salience = nn.Linear(width, 1)
        self.doc_salience = nn.Linear(width, 1)
        self.doc_quality = nn.Linear(width, 1)

    def inputs(self, pairs: Sequence[TokenPair], pieces: Pieces) -> Batch:
        """Return the inputs for the distinct queries and texts of the pairs; see `Reranker.inputs`."""
        queries = {query.tobytes(): query for query, _ in pairs}
        texts = {text.tobytes(): text[: self.reading.chunk_length] for _, text in pairs}
        rows = {key: row for row, key in enumerate(queries)}
        columns = {key: column for column, key in enumerate(texts)}
        return {
            "queries": _framed(list(queries.values()), pieces),
            "texts": _framed(list(texts.values()), pieces),
            "places": Opaque([(rows[query.tobytes()], columns[text.tobytes()]) for query, text in pairs]),
        }

    def forward(self, batch: Batch, *, windows: int | None = None) -> Tensor:
        """Return the score of each pair; see `Reranker.forward`."""
        queries = self._states(batch["queries"], 0)
        texts = [self._weigher(*states) for states in self._states(batch["texts"], 1)]
        saliences = [activation(self.query_salience(states))[:, 0] for _, _, states in queries]
        scores = []
        for row, column in batch["places"].value:
            ids = queries[row][0]
            scores.append(saliences[row] @ texts[column](ids) if len(ids) else texts[column](ids).sum())
        return torch.stack(scores)

    def saliences(self, query: Batch) -> list[tuple[Tensor, Tensor]]:
        """Return the token ids of queries and their saliences, the weights of a query in an index.

        `query` has the value of ``queries`` in an input of the network.
        """
        return [
            (ids, activation(self.query_salience(states))[:, 0]) for ids, _, states in self._states(query, 0)
        ]

    def weights(self, texts: Batch) -> list[Tensor]:
        """Return the weights of all terms of the vocabulary in texts, each of shape (V,): the rows of an index.

        `texts` has the value of ``texts`` in an input of the network.
        """
        terms = torch.arange(
            cast(Any, output_layer(self.pretrained)).weight.shape[0], device=texts["ids"].device
        )
        return [self._weigher(*states)(terms) for states in self._states(texts, 1)]

    def _weigher(self, ids: Tensor, first: Tensor, states: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the function that gives the weights of terms in a text."""
        terms = cast(Any, output_layer(self.pretrained))
        vectors = head_transform(self.pretrained)(states)
        salience = activation(self.doc_salience(states))
        quality = torch.sigmoid(self.doc_quality(first))[0]

        def weights(chosen: Tensor) -> Tensor:
            if not len(ids):
                return quality * torch.zeros(len(chosen), device=quality.device)
            logits = nn.functional.linear(vectors, terms.weight[chosen], terms.bias[chosen])
            return quality * (activation(logits) * salience).amax(0)

        return weights

    def _states(self, part: Batch, segment: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Encode texts, and return for each its token ids, the vector of [CLS] and the vectors of its tokens."""
        ids, mask = part["ids"], part["mask"]
        hidden = self.outputs(ids, mask, torch.full_like(ids, segment)).last_hidden_state.float()
        ends = (mask.sum(1) - 1).tolist()
        return [
            (row[1:end], vectors[0], vectors[1:end])
            for row, vectors, end in zip(ids, hidden, ends, strict=True)
        ]


def activation(values: Tensor) -> Tensor:
    """Return A(z) = ln(1 + softplus(z))."""
    return torch.log1p(nn.functional.softplus(values))


def _framed(rows: Sequence[Ids], pieces: Pieces) -> Batch:
    ids, mask = pieces.padded([pieces.framed(pieces.special.cls, row) for row in rows])
    return {"ids": ids, "mask": mask}
