"""ANCE: one vector of RoBERTa for the query, one for the text, and their inner product.

    v(t)  = LayerNorm(W h_<s>(t) + b)
    score = v(q) . v(d)

where h_<s> is the last layer of RoBERTa at the first piece (Xiong et al., ICLR 2021; the variant FirstP for passages).
Query and text go through the same network. 64 pieces of a query are read, as in the published code.

The published networks were trained on lower-cased text: transformers 2, with which they were made, lower-cased for
RoBERTa where it was asked to, and later versions do not. So text is lower-cased here unless ``lower_case=False``.

Names of the published weights: ``roberta.*``, ``embeddingHead.weight`` and ``.bias``, ``norm.weight`` and ``.bias``.
The classifier that is saved with them is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, RobertaConfig, RobertaModel

from termwise.encode.pieces import padded
from termwise.validation import check_flag
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.checkpoint import open_tokenizer, read_checkpoint, readable_words
from termwise.yardsticks.compatibility import check_length, readable_pieces
from termwise.yardsticks.network_scorer import DualEncoderScorer, truncation

QUERY_LENGTH = 64
"""Pieces of a query that are read, with the special ones."""

_USUAL = 512
"""Pieces of a text, where a network has places for as many."""

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_FIXES = (
    "name a folder with config.json, pytorch_model.bin and the tokenizer, or castorini/ance-msmarco-passage on the hub",
)


class AnceNetwork(nn.Module):
    """RoBERTa, a linear layer and a LayerNorm."""

    def __init__(self, config: RobertaConfig) -> None:
        super().__init__()
        self.roberta = RobertaModel(config, add_pooling_layer=False)
        self.embeddingHead = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the vectors of a batch, of shape (b, w)."""
        first = self.roberta(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
        return cast(Tensor, self.norm(self.embeddingHead(first)))


class AnceScorer(DualEncoderScorer[Tensor, Tensor]):
    """Scores texts by ANCE.

    Parameters
    ----------
    network : AnceNetwork
        In evaluation mode.
    tokenizer : tokenizer of transformers
    length : int, optional
        Most pieces of a text, special ones included.
    lower_case : bool, optional
        Whether query and text are lower-cased before they are read.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.DualEncoderScorer`.
    """

    def __init__(
        self,
        network: AnceNetwork,
        tokenizer: PreTrainedTokenizerBase,
        *,
        length: int = _USUAL,
        lower_case: bool = True,
        name: str = "ance",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        super().__init__(name=name, batch=batch, fingerprint=fingerprint)
        check_flag("lower_case", lower_case)
        self._network = network
        self._tokenizer = tokenizer
        self._length = length
        self._lower_case = lower_case

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        called: str | None = None,
        lower_case: bool = True,
    ) -> AnceScorer:
        """Load a published checkpoint.

        Parameters
        ----------
        place : str or Path
            A folder with ``config.json``, ``pytorch_model.bin`` or ``model.safetensors``, and the tokenizer; the file
            of weights in such a folder; or a name on the hub of transformers, ``castorini/ance-msmarco-passage``.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of a text; 512 unless given, or what the network reads.
        batch : int, optional
            Texts that go through the network at once.
        called : str, optional
            What the scorer is called in tables; by default like the folder or file, or the name on the hub.
        lower_case : bool, optional
            Whether query and text are lower-cased, as they were in training.

        Raises
        ------
        MissingFileError
            If there is no such file or folder.
        ModelFormatError
            If the hub has no such model, it is no such checkpoint, weights are missing or no numbers, or the tokenizer
            is another.
        ParameterError
            If there is no such device, or the network reads fewer pieces than `length`.
        """
        placed = torch_device(device)
        held = read_checkpoint("ANCE", place, _WEIGHTS, fixes=_FIXES)
        config = held.config(RobertaConfig)
        tokenizer = open_tokenizer("ANCE", held.folder, config.vocab_size, _FIXES)
        readable = readable_pieces(config) or _USUAL
        length = min(_USUAL, readable) if length is None else length
        check_length(held.place, length, 3, readable)
        with torch.random.fork_rng(devices=[]):  # layers are filled at random before they are loaded
            network = AnceNetwork(config)
        held.fill(network, {"roberta.": "roberta."})
        return cls(
            network.to(placed),
            tokenizer,
            length=length,
            lower_case=lower_case,
            name=called or held.name,
            batch=batch,
            fingerprint=held.fingerprint(length, lower_case),
        )

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say which texts are longer than the window; see `termwise.scorers.protocol.WindowedScorer`."""
        return truncation(texts, lambda text: len(self._pieces(text, self._length)), self._length)

    def _read_queries(self, queries: Sequence[str]) -> list[Tensor]:
        return self._read(queries, min(QUERY_LENGTH, self._length))

    def _read_texts(self, texts: Sequence[str]) -> list[Tensor]:
        return self._read(texts, self._length)

    def _compare(self, query: Tensor, text: Tensor) -> Tensor:
        return query @ text

    def _read(self, texts: Sequence[str], length: int) -> list[Tensor]:
        end = self._tokenizer.sep_token_id
        rows = [self._pieces(text, length) for text in texts]
        rows = [row if len(row) <= length else [*row[: length - 1], end] for row in rows]
        ids, mask = padded([np.array(row) for row in rows], _pad(self._network.roberta.config))
        device = self._network.norm.weight.device
        return list(self._network(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)))

    def _pieces(self, text: str, length: int) -> list[int]:
        text = readable_words(text.lower() if self._lower_case else text, length)
        found: list[int] = self._tokenizer(text, truncation=False, verbose=False)["input_ids"]
        return found


def _pad(config: RobertaConfig) -> int:
    """Return the number of the piece that fills up, from which positions are counted."""
    return 1 if config.pad_token_id is None else config.pad_token_id
