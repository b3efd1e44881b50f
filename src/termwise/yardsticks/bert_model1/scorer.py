"""Scores and explanations of BERT-Model1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from termwise.errors import ModelFormatError
from termwise.kernels.translation import LEAST_MEAN
from termwise.text import Analysis, WordPieceAnalyzer
from termwise.train.inputs import Ids, Pieces
from termwise.train.networks import check_finite
from termwise.validation import check, check_count, check_texts
from termwise.yardsticks.bert_model1.explanation import PairExplanation, QueryShare, Span, TextShare
from termwise.yardsticks.bert_model1.network import (
    KIND,
    BertModel1,
    BertModel1Config,
    check_windows,
    log_means,
)
from termwise.yardsticks.bert_model1.windows import Inputs, Window, windows_of

_LOG_LEAST_MEAN = math.log(LEAST_MEAN)


class Unread(NamedTuple):
    """Numbers of truncated tokens: of the query, and of each text, an array of shape (n,), int64."""

    query: int
    texts: npt.NDArray[np.int64]


class _Text(NamedTuple):
    """Position of a text in the argument, and its windows."""

    place: int
    windows: tuple[Window, ...]


class BertModel1Scorer:
    """Scores texts by BERT-Model1; a stateless `termwise.scorers.protocol.TextScorer`.

    An empty query gives every text the score 0, the empty sum. For an empty text, every m is 1e-8, the smallest value.

    Parameters
    ----------
    network : BertModel1
        It is put into evaluation mode.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    name : str, optional
        Name of the scorer in tables.
    batch : int, optional
        Windows in one forward pass. Scores do not depend on it, up to rounding.

    Raises
    ------
    ModelFormatError
        If a weight is not a finite number, or encoder and tokenizer do not match.
    ParameterError
        If the longest window exceeds the encoder.
    """

    def __init__(
        self, network: BertModel1, analyzer: WordPieceAnalyzer, *, name: str = KIND, batch: int = 32
    ) -> None:
        check_count("batch", batch)
        check_finite(network)
        check_windows(network, analyzer)
        self._network = network.eval()
        self._pieces = Pieces(analyzer, KIND)
        self._batch = batch
        self.name = name

    @property
    def config(self) -> BertModel1Config:
        """Configuration of the network and its input."""
        return self._network.reading

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query; see `termwise.scorers.protocol.TextScorer`. Scores are at most 0, in nats.

        The query is truncated to `BertModel1Config.query_length` tokens (see `unread`), each text to
        `BertModel1Config.document_length`.

        Raises
        ------
        ParameterError
            If the query or a text is not a string.
        ModelFormatError
            If a result of the network is not finite.
        """
        check("query", query, isinstance(query, str), "a string")
        check_texts(texts)
        query_ids = self._token_ids(query, self.config.query_length)
        if not len(query_ids):
            return np.zeros(len(texts), dtype=np.float64)
        empty = self._total(np.full(len(query_ids), _LOG_LEAST_MEAN))
        scores = np.full(len(texts), empty, dtype=np.float64)
        for text, logs in self._log_translations(query_ids, texts):
            means = log_means(logs).double().cpu().numpy()
            if not np.isfinite(means).all():
                raise ModelFormatError(
                    "a result of the network is not finite",
                    facts=[("scorer", self.name), ("text", f"number {text.place + 1}")],
                    fixes=["train the network again with a smaller learning rate"],
                )
            scores[text.place] = self._total(np.maximum(means, _LOG_LEAST_MEAN))
        return scores

    def explain(self, query: str, text: str) -> PairExplanation:
        """Return a score as a sum.

        Parameters
        ----------
        query, text : str
            See `score`.

        Returns
        -------
        PairExplanation
            One contribution per query token, a sum over the tokens of the text. The contributions add up to `score`
            exactly.
        """
        check("query", query, isinstance(query, str), "a string")
        check("text", text, isinstance(text, str), "a string")
        query_ids = self._token_ids(query, self.config.query_length)
        logs = np.empty((0, len(query_ids)), dtype=np.float64)
        means = np.full(len(query_ids), _LOG_LEAST_MEAN)
        if len(query_ids):
            for _, translations in self._log_translations(query_ids, [text]):
                logs = translations.double().cpu().numpy()
                means = np.maximum(log_means(translations).double().cpu().numpy(), _LOG_LEAST_MEAN)
        shares = np.exp(logs - logs.max(axis=0, initial=-np.inf, keepdims=True))
        shares /= shares.sum(axis=0, keepdims=True)
        averaged = self.config.score_norm == "mean" and len(means)
        scores = means / len(means) if averaged else means
        query_analysis, text_analysis = map(self._pieces.analyzer.analyze, (query, text))
        contributions = []
        for position, (score, log_mean) in enumerate(zip(scores.tolist(), means.tolist(), strict=True)):
            sources = tuple(
                TextShare(
                    text_analysis.tokens[row],
                    _span(text_analysis, row),
                    float(np.exp(logs[row, position])),
                    share,
                    share * score,
                )
                for row, share in enumerate(shares[:, position].tolist())
            )
            token, span = query_analysis.tokens[position], _span(query_analysis, position)
            contributions.append(QueryShare(token, span, float(np.exp(log_mean)), score, sources))
        unread = self.unread(query, [text])
        return PairExplanation(
            query, text, float(scores.sum()), tuple(contributions), unread.query, int(unread.texts[0])
        )

    def unread(self, query: str, texts: Sequence[str]) -> Unread:
        """Return how many tokens `score` truncates."""
        check("query", query, isinstance(query, str), "a string")
        check_texts(texts)
        lengths = np.array([len(self._pieces(text)) for text in texts], dtype=np.int64)
        limit = self.config.document_length
        truncated = np.maximum(0, lengths - limit) if limit else np.zeros_like(lengths)
        return Unread(max(0, len(self._pieces(query)) - self.config.query_length), truncated)

    def _token_ids(self, text: str, limit: int) -> Ids:
        return self._pieces(text)[: limit or None]

    def _total(self, log_means: npt.NDArray[np.float64]) -> float:
        """Return the score for ln m of each query token."""
        return float(log_means.mean() if self.config.score_norm == "mean" else log_means.sum())

    @torch.inference_mode()
    def _log_translations(self, query_ids: Ids, texts: Sequence[str]) -> Iterator[tuple[_Text, Tensor]]:
        """Yield ln T for each text that is not empty, in order of window length."""
        config = self.config
        windowed = [
            _Text(
                position,
                windows_of(
                    query_ids, self._token_ids(text, config.document_length), chunk_length=config.chunk_length
                ),
            )
            for position, text in enumerate(texts)
        ]
        for group in self._batches([text for text in windowed if text.windows]):
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

    def _batches(self, texts: list[_Text]) -> Iterator[list[_Text]]:
        """Yield batches of texts with windows of similar lengths; a batch has at least one text."""
        group: list[_Text] = []
        size = 0
        for text in sorted(texts, key=lambda text: max(map(len, text.windows))):
            if group and size + len(text.windows) > self._batch:
                yield group
                group, size = [], 0
            group.append(text)
            size += len(text.windows)
        if group:
            yield group


def _span(analysis: Analysis, place: int) -> Span:
    begin, end = analysis.spans[place].tolist()
    return begin, end


def vectors_of(network: BertModel1, pieces: Pieces, windows: Sequence[Window]) -> Tensor:
    """Return the vectors of one batch of windows, of shape (b, l, w)."""
    device = next(network.parameters()).device
    vectors: Tensor = network(Inputs.of(windows, pieces).to(device))
    return vectors
