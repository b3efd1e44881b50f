"""Scores of a re-ranking network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch

from termwise.text import WordPieceAnalyzer
from termwise.train.inputs import Pieces
from termwise.train.networks import check_finite
from termwise.validation import check, check_texts
from termwise.yardsticks.network_scorer import NetworkScorer
from termwise.yardsticks.rerankers.network import Batch, Reranker, TokenPair, check_windows
from termwise.yardsticks.rerankers.windows import even_chunks


class Unread(NamedTuple):
    """Numbers of truncated tokens: of the query, and of each text, an array of shape (n,), int64."""

    query: int
    texts: npt.NDArray[np.int64]


@dataclass(kw_only=True, eq=False, repr=False)
class RerankerScorer(NetworkScorer):
    """Scores texts by a re-ranking network; stateless.

    A query without tokens gives every text the score 0. Queries and texts are truncated as in the training of the
    network, see `termwise.yardsticks.rerankers.settings.Reading`.

    Parameters
    ----------
    network : Reranker
        It is put into evaluation mode.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.NetworkScorer`; a batch has windows in place of texts.

    Raises
    ------
    ModelFormatError
        If a weight is not a finite number, or encoder and tokenizer do not match.
    ParameterError
        If the longest window exceeds the encoder.
    """

    network: Reranker
    analyzer: WordPieceAnalyzer
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.name or self.network.kind
        super().__post_init__()
        check_finite(self.network)
        check_windows(self.network, self.analyzer)
        self.network.eval()
        self.pieces = Pieces(self.analyzer, self.network.kind)

    def unread(self, query: str, texts: Sequence[str]) -> Unread:
        """Return how many tokens are truncated."""
        check("query", query, isinstance(query, str), "a string")
        check_texts(texts)
        excess = [max(0, self._excess(query, text)) for text in texts]
        limit = self.network.reading.query_length
        return Unread(max(0, len(self.pieces(query)) - limit), np.array(excess, dtype=np.int64))

    def _excess(self, query: str, text: str) -> int:
        limit = self.network.reading.document_length
        return len(self.pieces(text)) - limit if limit else 0

    @torch.inference_mode()
    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        reading = self.network.reading
        query_ids = {text: reading.of_query(self.pieces(text)) for text in set(queries)}
        text_ids = {text: reading.of_document(self.pieces(text)) for text in set(texts)}
        pairs = [(query_ids[query], text_ids[text]) for query, text in zip(queries, texts, strict=True)]
        scores = np.zeros(len(pairs), dtype=np.float64)
        for places in self._batches(pairs):
            batch = on_device(
                self.network.inputs([pairs[place] for place in places], self.pieces), self.network
            )
            scores[places] = self.network(batch, windows=self.batch).double().cpu().numpy()
        return scores

    def _batches(self, pairs: Sequence[TokenPair]) -> Iterator[list[int]]:
        """Yield positions of pairs with windows of similar lengths; each batch has at least one."""
        chunks = {
            place: even_chunks(len(document), self.network.reading.chunk_length)
            for place, (query, document) in enumerate(pairs)
            if len(query)
        }

        def longest(place: int) -> int:
            last: slice = chunks[place][-1]  # none is longer
            return len(pairs[place][0]) + int(last.stop - last.start)

        group: list[int] = []
        size = 0
        for place in sorted(chunks, key=longest):
            if group and size + len(chunks[place]) > self.batch:
                yield group
                group, size = [], 0
            group.append(place)
            size += len(chunks[place])
        if group:
            yield group


def on_device(batch: Batch, network: Reranker) -> Batch:
    """Return a batch with its tensors on the device of a network."""
    device = next(network.parameters()).device

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: moved(part) for name, part in value.items()}
        return value.to(device) if isinstance(value, torch.Tensor) else value

    return cast(Batch, moved(batch))
