"""BERT-Model1: neural Model 1 over the vectors of an encoder that reads query and document together.

With the vectors x_q of the query tokens and x_d of the document tokens, over all windows,

    T(q|d) = sigmoid(F_n(... relu(F_1([P_q x_q ; P_d x_d ; P_q x_q * P_d x_d]))))
    m(q)   = mean over the document tokens d of T(q|d)
    score  = sum (or mean) over the query tokens q of ln m(q)

(Boytsov & Kolter, ECIR 2021, section 3.2). The vectors are the outputs of the last layer of the encoder, which ends
with a LayerNorm. Therefore no further LayerNorm and tanh are applied, in contrast to rows of a table. A mean of many T
is computed by log-sum-exp of their logarithms, in float32 for every precision of the encoder.

A document of several windows (see `termwise.yardsticks.rerankers.windows`) has one query vector for each query token
and window. By default the tokens of a window are paired with the query vectors of the same window, so that T(q|d)
compares two vectors of one forward pass. ``query_vectors="first"`` uses the query vectors of the first window for all,
as the published code does.

Special tokens and padding are left out of the sums, and the encoder does not attend to padding. Therefore a score does
not depend on the other texts of a batch, up to rounding.

For ranking, m is at least 1e-8, as for scores from a table, and for a document without tokens. Training has no such
floor, because its gradient would be 0.

Notice: a patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers for
ranking. Take legal advice before production use. No default path of termwise depends on this module, and no network
made by it ships with termwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from termwise.fast_dataclass import dataclass
from termwise.kernels.translation import LEAST_MEAN
from termwise.train.neural_model1.network import PairNetwork
from termwise.train.neural_model1.settings import WIDEST, layer_widths
from termwise.yardsticks.rerankers.network import WindowedReranker
from termwise.yardsticks.rerankers.settings import Reading, TrainingSettings
from termwise.yardsticks.rerankers.windows import Window

KIND = "bert-model1"

LOG_LEAST_MEAN = math.log(LEAST_MEAN)


@dataclass(frozen=True, kw_only=True)
class BertModel1Config(Reading):
    """Configuration of the network and its input, including that of `Reading`.

    Attributes
    ----------
    query_vectors : {"window", "first"}
        Query vectors paired with a document token: those of its own window, or of the first window.
    score_norm : {"sum", "mean"}
        Whether a score is the sum over the query tokens, or their mean.
    self_translation : float
        p: T(q|q) is set to p, and every other T is multiplied by 1 - p. 0, the default, applies none, because T of
        equal tokens depends on their contexts.
    projection : int
        Elements of a projected vector.
    hidden : str
        Widths of the hidden layers, separated by commas.
    """

    query_vectors: Literal["window", "first"] = "window"
    score_norm: Literal["sum", "mean"] = "sum"
    self_translation: float = 0.0
    projection: int = 128
    hidden: str = "128,64"

    ranges = MappingProxyType(
        {**Reading.ranges, "projection": (1.0, WIDEST), "self_translation": (0.0, 1 - 1e-6)}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        layer_widths(self.hidden)


@dataclass(frozen=True, kw_only=True)
class BertModel1Settings(TrainingSettings, BertModel1Config):
    """Settings of the training of BERT-Model1: those of `BertModel1Config` and of `TrainingSettings`."""

    ranges = MappingProxyType({**BertModel1Config.ranges, **TrainingSettings.ranges})


class BertModel1(WindowedReranker):
    """Encoder without a head, and the network over pairs of vectors."""

    kind = KIND
    title = "BERT-Model1"
    about = (
        "BERT-Model1: a network that reads a query and a text together, and estimates the probability of each query "
        "token given the tokens of the text."
    )
    notice = (
        "A patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers "
        "for ranking. Take legal advice before production use."
    )
    reading_type = BertModel1Config
    settings_type = BertModel1Settings
    reading: BertModel1Config

    def __init__(self, pretrained: PreTrainedModel, reading: BertModel1Config) -> None:
        super().__init__(pretrained, reading)
        width = pretrained.config.hidden_size
        self.pair = PairNetwork(
            width, width, projection=reading.projection, hidden=layer_widths(reading.hidden)
        )

    def score(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return the score of a query and a document, at most 0, in nats; see `WindowedReranker.score`."""
        means = log_means(self.log_translations(windows, vectors))
        if not self.training:
            means = with_floor(means)
        return means.mean() if self.reading.score_norm == "mean" else means.sum()

    def log_translations(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return ln T of all tokens of one query and one document, float32 of shape (L, n); row i is ln T(.|d_i).

        Arguments as of `score`; a document without tokens has L = 0.
        """
        p = self.reading.self_translation
        first = vectors[0][windows[0].query_places]
        parts = []
        # If training uses half precision, only the encoder runs in it.
        with torch.autocast(first.device.type, enabled=False):
            for window, rows in zip(windows, vectors, strict=True):
                queries = first if self.reading.query_vectors == "first" else rows[window.query_places]
                logs = self.pair.log_probabilities(
                    self.pair.queries(queries), self.pair.documents(rows[window.chunk_places])
                )
                if p:
                    same = torch.from_numpy(window.chunk[:, None] == window.query).to(logs.device)
                    logs = torch.where(same, math.log(p), logs + math.log1p(-p))
                parts.append(logs)
        return torch.cat(parts)


def log_means(logs: Tensor) -> Tensor:
    """Return ln m of each query token, of shape (n,), from ln T of shape (L, n); minus infinity if L is 0."""
    return logs.logsumexp(0) - math.log(max(1, len(logs)))


def with_floor(means: Tensor) -> Tensor:
    """Return ln m, float64, at least `LOG_LEAST_MEAN`; what is not a number stays so."""
    return means.double().clamp(min=LOG_LEAST_MEAN)
