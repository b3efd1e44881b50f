"""BERT-Model1: neural Model 1 over vectors of an encoder that reads the query and the document together.

With the vectors x_q of the pieces of the query and x_d of those of the document, all pieces of all windows,

    T(q|d) = sigmoid(F_n(... relu(F_1([P_q x_q ; P_d x_d ; P_q x_q * P_d x_d]))))
    m(q)   = mean over the pieces d of the document of T(q|d)
    score  = sum (or mean) over the pieces q of the query of ln m(q)

(Boytsov & Kolter, ECIR 2021, section 3.2). The vectors are the outputs of the encoder's last layer, which ends with a
LayerNorm; there is no further one and no tanh, as there is over the rows of a table. A mean of many T is a sum of their
logarithms (log-sum-exp), in float32 whatever the encoder computes in.

Where a document takes several windows (see `windows`), there is a vector for each piece of the query and window.
By default the pieces of a window meet the query as that window has read it, so that T(q|d) is always said of
two vectors of one pass; ``query_vectors="first"`` takes those of the first window for all, as the published code does.

Only vectors of pieces of the two texts take part: no special piece, and no padding, which the encoder does not attend
to either. So a score does not depend on what else is in a batch, but for rounding.

When documents are ranked, m counts as at least 1e-8, as it does where a table scores. In training it does not: below
that floor there would be no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import PreTrainedModel

from termwise.errors import ModelFormatError, ParameterError
from termwise.kernels.translation import LEAST_MEAN
from termwise.settings import TypedSettings
from termwise.text import WordPieceAnalyzer
from termwise.train.data.inputs import Ids, Pieces
from termwise.train.loop.initial_weights import start_from
from termwise.train.networks import TermNetwork, TildeV2Network, check_network, positions
from termwise.train.neural_model1.network import PairNetwork
from termwise.train.neural_model1.settings import WIDEST, layer_widths
from termwise.validation import check, check_count, check_texts
from termwise.yardsticks.bert_model1.explanation import PairExplanation, explained
from termwise.yardsticks.bert_model1.windows import FRAME, Inputs, Window, windows_of

KIND = "bert-model1"

_LEAST = math.log(LEAST_MEAN)


@dataclass(frozen=True, kw_only=True)
class BertModel1Config(TypedSettings):
    """What a network of this kind is, and how it reads.

    Attributes
    ----------
    query_length : int
        Pieces of a query that are read; the rest is cut off.
    chunk_length : int
        Most pieces of a document that are read with the query at once. With the query and three special pieces they
        have to fit into the encoder: 32 + 477 + 3 are the 512 of BERT.
    document_length : int
        Pieces of a document that are read; the rest is cut off. 0 for no limit. 1431 are three chunks, the paper's
        "full" documents.
    query_vectors : {"window", "first"}
        Which window the vectors of the query come from that a piece of the document meets: its own, or the first.
    score_norm : {"sum", "mean"}
        Whether a score is the sum over the pieces of its query, or their mean.
    self_translation : float
        p: T(q|q) counts as p, and every other T times 1 - p. 0 for none, as what a piece says depends on its context.
    projection : int
        Elements of a vector after its projection.
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
        """Pieces of the longest window."""
        return self.query_length + self.chunk_length + FRAME


class BertModel1(TermNetwork):
    """The encoder and the network over two vectors.

    Parameters
    ----------
    pretrained : PreTrainedModel
        An encoder without a head.
    config : BertModel1Config

    Raises
    ------
    ParameterError
        If the longest window is longer than what the encoder reads.
    """

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
        """Load an encoder and put an untrained network over pairs on it; set the seed of torch first.

        Parameters
        ----------
        base : str or Path
            See `termwise.train.loop.initial_weights.start_from`.
        config : BertModel1Config

        Returns
        -------
        BertModel1
            In training mode, float32.
        """
        return cls(start_from(TildeV2Network.kind, base).pretrained, config).train()

    def forward(self, inputs: Inputs) -> Tensor:
        """Compute the vectors of windows: float32 tensor of shape (b, l, w); what stands at padding means nothing."""
        named = {"input_ids": inputs.ids, "attention_mask": inputs.mask}
        if getattr(self.config, "type_vocab_size", 0) > 1:  # not all encoders tell two texts apart
            named["token_type_ids"] = inputs.segments
        return cast(Tensor, self.encoder(**named).last_hidden_state).float()

    def log_translations(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Compute ln T of all pieces of one query and one document.

        Parameters
        ----------
        windows : sequence of Window
            Of one document, in order; one at least.
        vectors : sequence of float32 tensor of shape (l, w)
            Of each window. What stands elsewhere than at the places of its pieces is not looked at.

        Returns
        -------
        float32 tensor of shape (L, n)
            Row i is ln T(.|d_i).
        """
        p = self.reading.self_translation
        first = vectors[0][windows[0].query_places]
        parts = []
        # Half precision, where training switched it on, is for the encoder alone.
        with torch.autocast(first.device.type, enabled=False):
            for window, rows in zip(windows, vectors, strict=True):
                asked = first if self.reading.query_vectors == "first" else rows[window.query_places]
                logs = self.pair.log_probabilities(
                    self.pair.queries(asked), self.pair.documents(rows[window.chunk_places])
                )
                if p:
                    same = torch.from_numpy(window.chunk[:, None] == window.query).to(logs.device)
                    logs = torch.where(same, math.log(p), logs + math.log1p(-p))
                parts.append(logs)
        return torch.cat(parts)

    def head_parameters(self) -> list[torch.nn.Parameter]:
        """Return the parameters of the network over pairs."""
        return list(self.pair.parameters())


def log_means(logs: Tensor) -> Tensor:
    """Return ln m of each piece of the query, of shape (n,), from ln T of shape (L, n), L at least 1."""
    return logs.logsumexp(0) - math.log(len(logs))


@dataclass(frozen=True)
class Unread:
    """What is cut off before a network reads.

    Attributes
    ----------
    query : int
        Pieces of the query.
    texts : ndarray of shape (n,), int64
        Pieces of each text.
    """

    query: int
    texts: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Text:
    """A text as it is read: its place among all, and its windows."""

    place: int
    windows: tuple[Window, ...]


class BertModel1Scorer:
    """Scores texts by BERT-Model1; a `termwise.scorers.protocol.TextScorer`.

    A query without a piece gives every text 0, the empty sum. A text without a piece counts as one of which every m is
    1e-8, the least there is.

    Stateless: no call changes what a later call returns.

    Parameters
    ----------
    network : BertModel1
        It is put into evaluation mode, on its device.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    name : str, optional
        What the scorer is called in tables.
    batch : int, optional
        Windows that go through the encoder at once. Scores do not depend on it, but for rounding.

    Raises
    ------
    ModelFormatError
        If a weight is not a finite number, or encoder and tokenizer do not go together.
    ParameterError
        If the longest window is longer than what the encoder reads.
    """

    def __init__(
        self, network: BertModel1, analyzer: WordPieceAnalyzer, *, name: str = KIND, batch: int = 32
    ) -> None:
        check("network", network, isinstance(network, BertModel1), "a BertModel1")
        check("analyzer", analyzer, isinstance(analyzer, WordPieceAnalyzer), "a WordPieceAnalyzer")
        check("name", name, isinstance(name, str), "a name")
        check_count("batch", batch)
        check_weights(network)
        check_reading(network, analyzer)
        self._network = network.eval()
        self._pieces = Pieces(analyzer, KIND)
        self._name = name
        self._batch = batch

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        return self._name

    @property
    def config(self) -> BertModel1Config:
        """What the network is, and how it reads."""
        return self._network.reading

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query.

        Parameters
        ----------
        query : str
            What is longer than `BertModel1Config.query_length` is cut off; see `unread`.
        texts : sequence of str of length n
            What is longer than `BertModel1Config.document_length` is cut off.

        Returns
        -------
        ndarray of shape (n,), float64
            At most 0, in nats; larger is better.

        Raises
        ------
        ParameterError
            If query or texts are no strings.
        ModelFormatError
            If the network comes to a number that is not finite.
        """
        _check_query(query)
        check_texts(texts)
        asked = self._read(query, self.config.query_length)
        if not len(asked):
            return np.zeros(len(texts), dtype=np.float64)
        scores = np.full(len(texts), self._total(np.full(len(asked), _LEAST)), dtype=np.float64)
        for text, logs in self._translations(asked, texts):
            means = log_means(logs).double().cpu().numpy()
            if not np.isfinite(means).all():
                raise ModelFormatError(
                    "the network comes to a number that is not finite",
                    facts=[("scorer", self.name), ("text", f"number {text.place + 1}")],
                    fixes=["train it again with a smaller learning rate"],
                )
            scores[text.place] = self._total(np.maximum(means, _LEAST))
        return scores

    def explain(self, query: str, text: str) -> PairExplanation:
        """Show a score as the sum it is.

        Parameters
        ----------
        query, text : str
            See `score`.

        Returns
        -------
        PairExplanation
            One contribution for each piece of the query, and in it one for each piece of the text; they add up to
            `score`, exactly.
        """
        _check_query(query)
        check("text", text, isinstance(text, str), "a string")
        asked = self._read(query, self.config.query_length)
        logs = np.empty((0, len(asked)), dtype=np.float64)
        means = np.full(len(asked), _LEAST)
        if len(asked):
            for _, found in self._translations(asked, [text]):
                logs = found.double().cpu().numpy()
                means = np.maximum(log_means(found).double().cpu().numpy(), _LEAST)
        unread = self.unread(query, [text])
        analyzer = self._pieces.analyzer
        return explained(
            query,
            text,
            analyzer.analyze(query),
            analyzer.analyze(text),
            logs=logs,
            means=means,
            mean=self.config.score_norm == "mean",
            query_unread=unread.query,
            text_unread=int(unread.texts[0]),
        )

    def unread(self, query: str, texts: Sequence[str]) -> Unread:
        """Count the pieces that `score` cuts off."""
        _check_query(query)
        check_texts(texts)
        lengths = np.array([len(self._pieces(text)) for text in texts], dtype=np.int64)
        most = self.config.document_length
        cut = np.maximum(0, lengths - most) if most else np.zeros_like(lengths)
        return Unread(max(0, len(self._pieces(query)) - self.config.query_length), cut)

    def _read(self, text: str, most: int) -> Ids:
        return self._pieces(text)[: most or None]

    def _total(self, means: npt.NDArray[np.float64]) -> float:
        """Return the score that ln m of each piece of a query make."""
        return float(means.mean() if self.config.score_norm == "mean" else means.sum())

    @torch.inference_mode()
    def _translations(self, asked: Ids, texts: Sequence[str]) -> Iterator[tuple[_Text, Tensor]]:
        """Give ln T for each text that has a piece, in an order of its own."""
        config = self.config
        read = [
            _Text(
                place,
                windows_of(asked, self._read(text, config.document_length), chunk_length=config.chunk_length),
            )
            for place, text in enumerate(texts)
        ]
        for group in self._groups([text for text in read if text.windows]):
            windows = [window for text in group for window in text.windows]
            vectors = [
                row
                for begin in range(0, len(windows), self._batch)
                for row in vectors_of(self._network, self._pieces, windows[begin : begin + self._batch])
            ]
            begin = 0
            for text in group:
                end = begin + len(text.windows)
                yield text, self._network.log_translations(text.windows, vectors[begin:end])
                begin = end

    def _groups(self, texts: list[_Text]) -> Iterator[list[_Text]]:
        """Put texts with windows of similar lengths together, as many as make a batch; one text at least."""
        group: list[_Text] = []
        held = 0
        for text in sorted(texts, key=lambda text: max(map(len, text.windows))):
            if group and held + len(text.windows) > self._batch:
                yield group
                group, held = [], 0
            group.append(text)
            held += len(text.windows)
        if group:
            yield group


def vectors_of(network: BertModel1, pieces: Pieces, windows: Sequence[Window]) -> Tensor:
    """Return the vectors of windows that go through the encoder together, of shape (b, l, w)."""
    device = next(network.parameters()).device
    made: Tensor = network(Inputs.of(windows, pieces).to(device))
    return made


def check_reading(network: BertModel1, analyzer: WordPieceAnalyzer) -> None:
    """Check that an encoder goes with its tokenizer, and reads the longest window.

    Raises
    ------
    ModelFormatError
        If the encoder has another number of terms than the tokenizer.
    ParameterError
        If it has fewer positions than the longest window has pieces.
    """
    config = network.reading
    readable = positions(network)
    if config.longest > readable:
        room = readable - config.query_length - FRAME
        raise ParameterError(
            "the longest window is longer than what the encoder reads",
            facts=[
                ("query_length", config.query_length),
                ("chunk_length", config.chunk_length),
                ("with three special pieces", config.longest),
                ("encoder", f"{readable:,} positions"),
            ],
            fixes=[f"--set chunk_length={room}"]
            if room > 0
            else ["--set query_length=N --set chunk_length=N"],
        )
    check_network(network, terms=len(analyzer.vocabulary), length=config.longest)


def check_weights(network: BertModel1) -> None:
    """Raise `ModelFormatError` where a weight is not a finite number."""
    state: dict[str, Any] = network.state_dict()
    for name, weights in state.items():
        if weights.is_floating_point() and not bool(torch.isfinite(weights).all()):
            raise ModelFormatError(
                "the weights of the network are not finite numbers",
                facts=[("tensor", name)],
                fixes=["copy the folder again, or train the network again"],
            )


def _check_query(query: object) -> None:
    check("query", query, isinstance(query, str), "a string")
