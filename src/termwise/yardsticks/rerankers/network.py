"""Networks that score a query and a document together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.text import WordPieceAnalyzer
from termwise.train.inputs import Ids, Pieces
from termwise.train.loop.initial_weights import initial_network
from termwise.train.networks import TermNetwork, TildeV2Network, check_network, positions
from termwise.yardsticks.rerankers.settings import Reading, RerankerSettings, TrainingSettings
from termwise.yardsticks.rerankers.windows import SPECIAL_TOKENS, Inputs, Window, windows_of

TokenPair = tuple[Ids, Ids]
"""Token ids of a query and of a document, truncated; that of the query is not empty."""

Batch = dict[str, Any]


class Reranker(TermNetwork):
    """An encoder with a head that scores a query and a document.

    Attributes
    ----------
    kind, title : str
        Name in commands and manifests, and in messages and cards.
    about : str
        What the network does, for the card.
    notice : str
        Warning for the card; empty for none.
    base_kind : str
        Kind of a network with the same part of transformers: an encoder alone, or with the head of a masked language
        model.
    generative : bool
        Whether a score is a likelihood that training maximises for relevant passages, without negatives.
    reading_type, settings_type : type
        Configuration of the network, a `Reading`, and the settings of its training, which include it.
    """

    title: ClassVar[str]
    about: ClassVar[str]
    notice: ClassVar[str] = ""
    base_kind: ClassVar[str] = TildeV2Network.kind
    generative: ClassVar[bool] = False
    reading_type: ClassVar[type[Reading]] = Reading
    settings_type: ClassVar[type[TrainingSettings]] = RerankerSettings

    def __init__(self, pretrained: PreTrainedModel, reading: Reading) -> None:
        super().__init__(pretrained)
        self.reading = reading

    @classmethod
    def from_base(cls, base: str | Path, reading: Reading) -> Self:
        """Load an encoder as `initial_network` does, and add an untrained head.

        Set the seed of torch first. The result is in training mode, float32.
        """
        return cls(initial_network(cls.base_kind, base).pretrained, reading).train()

    def outputs(self, ids: Tensor, mask: Tensor, segments: Tensor, **options: bool) -> Any:
        """Return the outputs of the encoder; `segments` are for encoders that have some."""
        if getattr(self.config, "type_vocab_size", 0) > 1:
            return self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments, **options)
        return self.encoder(input_ids=ids, attention_mask=mask, **options)

    @abstractmethod
    def inputs(self, pairs: Sequence[TokenPair], pieces: Pieces) -> Batch:
        """Return the input of the network for pairs: tensors, and what else `forward` needs, by name."""

    @abstractmethod
    def forward(self, batch: Batch, *, windows: int | None = None) -> Tensor:
        """Return the score of each pair, of shape (pairs,).

        With `windows`, the encoder reads at most so many windows at once.
        """


@dataclass(frozen=True)
class Opaque:
    """A value in a batch that the trainer does not search for tensors."""

    value: Any


class WindowedReranker(Reranker):
    """A network that reads windows of a query and a chunk of the document, and scores their vectors."""

    def inputs(self, pairs: Sequence[TokenPair], pieces: Pieces) -> Batch:
        """Return the windows of pairs; see `Reranker.inputs`."""
        texts = [
            windows_of(query, document, chunk_length=self.reading.chunk_length) for query, document in pairs
        ]
        inputs = Inputs.of([window for windows in texts for window in windows], pieces)
        return {**vars(inputs), "texts": Opaque(texts)}

    def forward(self, batch: Batch, *, windows: int | None = None) -> Tensor:
        """Return the score of each pair; see `Reranker.forward`."""
        vectors = self.window_vectors(batch, windows=windows)
        scores, begin = [], 0
        for text in batch["texts"].value:
            scores.append(self.score(text, vectors[begin : begin + len(text)]))
            begin += len(text)
        return torch.stack(scores)

    def window_vectors(self, batch: Batch, *, windows: int | None = None) -> list[Tensor]:
        """Return the vectors of each window of a batch; with `windows`, so many are read at once."""
        count = len(batch["ids"])
        step = windows or count
        return [
            rows
            for begin in range(0, count, step)
            for rows in self.vectors(
                Inputs(*(batch[name][begin : begin + step] for name in ("ids", "mask", "segments")))
            ).unbind()
        ]

    def vectors(self, inputs: Inputs) -> Tensor:
        """Return the vectors of windows, float32 of shape (b, l, w); values at padding are undefined."""
        return cast(Tensor, self.outputs(**vars(inputs)).last_hidden_state).float()

    @abstractmethod
    def score(self, windows: Sequence[Window], vectors: Sequence[Tensor]) -> Tensor:
        """Return the score of one query and one document, of shape (), from its windows and their vectors.

        There is at least one window, in order. Of the vectors of a window, those after its last token are not used.
        """


def check_windows(network: Reranker, analyzer: WordPieceAnalyzer) -> None:
    """Check that encoder and tokenizer match, and that the longest window fits into the encoder."""
    reading = network.reading
    limit = positions(network)
    if reading.longest > limit:
        room = limit - reading.query_length - SPECIAL_TOKENS
        raise ParameterError(
            "the longest window exceeds the encoder",
            facts=[
                ("query_length", reading.query_length),
                ("chunk_length", reading.chunk_length),
                ("with three special tokens", reading.longest),
                ("encoder", f"{limit:,} positions"),
            ],
            fixes=[
                Fix.use(chunk_length=room)
                if room > 0
                else Fix.use(query_length=Code("N"), chunk_length=Code("N"))
            ],
        )
    check_network(network, terms=len(analyzer.vocabulary), length=reading.longest)
