"""Cross-encoder: a linear layer over the vector of [CLS] of an encoder that reads query and document together.

    score = w . mean over the windows of x_[CLS] + b

(Nogueira & Cho, arXiv 1901.04085). A document of several windows is represented by the mean of their vectors, as in
MacAvaney et al., "CEDR", SIGIR 2019, and as "BERT-vanilla (full)" in Boytsov & Kolter, ECIR 2021. The mean is over the
windows that the document has. The published code divides a sum over windows of padding too by the number of windows of
the document, so that the score depends on the other documents of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from termwise.yardsticks.rerankers.network import WindowedReranker
from termwise.yardsticks.rerankers.settings import Reading
from termwise.yardsticks.rerankers.windows import Window


class CrossEncoder(WindowedReranker):
    """Encoder, dropout and a linear layer with one output."""

    kind = "cross-encoder"
    title = "cross-encoder"
    about = "A cross-encoder: a network that reads a query and a text together, and returns one score."

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained, reading)
        self.dropout = nn.Dropout()
        self.linear = nn.Linear(pretrained.config.hidden_size, 1)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def score(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return the score of a query and a document; see `WindowedReranker.score`."""
        first = torch.stack([rows[0] for rows in vectors]).mean(0)
        score: Tensor = self.linear(self.dropout(first))[0]
        return score
