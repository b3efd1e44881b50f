"""BERT-Model1: neural Model 1 over the vectors of an encoder that reads query and document together.

With the vectors x_q of the query tokens and x_d of the document tokens, over all windows,

    T(q|d) = sigmoid(F_n(... relu(F_1([P_q x_q ; P_d x_d ; P_q x_q * P_d x_d]))))
    m(q)   = mean over the document tokens d of T(q|d)
    score  = sum (or mean) over the query tokens q of ln m(q)

(Boytsov & Kolter, ECIR 2021, section 3.2). The vectors are the outputs of the last layer of the encoder, which ends
with a LayerNorm. Therefore no further LayerNorm and tanh are applied, in contrast to rows of a table. A mean of many T
is computed by log-sum-exp of their logarithms, in float32 for every precision of the encoder.

A document of several windows (see `windows`) has one query vector for each query token and window. By default the
tokens of a window are paired with the query vectors of the same window, so that T(q|d) compares two vectors of one
forward pass. ``query_vectors="first"`` uses the query vectors of the first window for all, as the published code does.

Special tokens and padding are left out of the sums, and the encoder does not attend to padding. Therefore a score does
not depend on the other texts of a batch, up to rounding.

For ranking, m is at least 1e-8, as for scores from a table. Training has no such floor, because its gradient would be
0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.settings import TypedSettings
from termwise.text import WordPieceAnalyzer
from termwise.train.loop.initial_weights import initial_network
from termwise.train.networks import TermNetwork, TildeV2Network, check_network, positions
from termwise.train.neural_model1.network import PairNetwork
from termwise.train.neural_model1.settings import WIDEST, layer_widths
from termwise.yardsticks.bert_model1.windows import SPECIAL_TOKENS, Inputs, Window

KIND = "bert-model1"


@dataclass(frozen=True, kw_only=True)
class BertModel1Config(TypedSettings):
    """Configuration of the network and its input.

    Attributes
    ----------
    query_length : int
        Largest number of query tokens; the rest is truncated.
    chunk_length : int
        Largest number of document tokens in a window. Query, chunk and three special tokens must fit into the encoder:
        32 + 477 + 3 is the limit of BERT, 512.
    document_length : int
        Largest number of document tokens; the rest is truncated. 0 for no limit. 1431 tokens are three chunks, the
        "full" documents of the paper.
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

    query_length: int = 32
    chunk_length: int = 477
    document_length: int = 1431
    query_vectors: Literal["window", "first"] = "window"
    score_norm: Literal["sum", "mean"] = "sum"
    self_translation: float = 0.0
    projection: int = 128
    hidden: str = "128,64"

    ranges = MappingProxyType(
        {
            **dict.fromkeys(("query_length", "chunk_length"), (1.0, math.inf)),
            "projection": (1.0, WIDEST),
            "self_translation": (0.0, 1 - 1e-6),
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        layer_widths(self.hidden)

    @property
    def longest(self) -> int:
        """Number of tokens of the longest window."""
        return self.query_length + self.chunk_length + SPECIAL_TOKENS


class BertModel1(TermNetwork):
    """Encoder without a head, and the network over pairs of vectors."""

    kind = KIND

    def __init__(self, pretrained: PreTrainedModel, config: BertModel1Config) -> None:
        super().__init__(pretrained)
        width = pretrained.config.hidden_size
        self.reading = config
        self.pair = PairNetwork(
            width, width, projection=config.projection, hidden=layer_widths(config.hidden)
        )

    @classmethod
    def from_base(cls, base: str | Path, config: BertModel1Config) -> BertModel1:
        """Load an encoder as `initial_network` does, and add an untrained network over pairs.

        Set the seed of torch first. The result is in training mode, float32.
        """
        return cls(initial_network(TildeV2Network.kind, base).pretrained, config).train()

    def forward(self, inputs: Inputs) -> Tensor:
        """Return the vectors of windows: float32 tensor of shape (b, l, w); values at padding are undefined."""
        arguments = {"input_ids": inputs.ids, "attention_mask": inputs.mask}
        if getattr(self.config, "type_vocab_size", 0) > 1:  # not all encoders have segments
            arguments["token_type_ids"] = inputs.segments
        return cast(Tensor, self.encoder(**arguments).last_hidden_state).float()

    def log_translations(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return ln T of all tokens of one query and one document, float32 of shape (L, n); row i is ln T(.|d_i).

        There is at least one window, in order. The vectors of each window have the shape (l, w); only those of its
        tokens are used.
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
    """Return ln m of each query token, of shape (n,), from ln T of shape (L, n), L at least 1."""
    return logs.logsumexp(0) - math.log(len(logs))


def check_windows(network: BertModel1, analyzer: WordPieceAnalyzer) -> None:
    """Check that encoder and tokenizer match, and that the longest window fits into the encoder."""
    config = network.reading
    limit = positions(network)
    if config.longest > limit:
        room = limit - config.query_length - SPECIAL_TOKENS
        raise ParameterError(
            "the longest window exceeds the encoder",
            facts=[
                ("query_length", config.query_length),
                ("chunk_length", config.chunk_length),
                ("with three special tokens", config.longest),
                ("encoder", f"{limit:,} positions"),
            ],
            fixes=[
                Fix.use(chunk_length=room)
                if room > 0
                else Fix.use(query_length=Code("N"), chunk_length=Code("N"))
            ],
        )
    check_network(network, terms=len(analyzer.vocabulary), length=config.longest)
