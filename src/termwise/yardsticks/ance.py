"""ANCE: inner product of one RoBERTa vector of the query and one of the text.

    v(t)  = LayerNorm(W h_<s>(t) + b)
    score = v(q) . v(d)

where h_<s> is the output of the last layer of RoBERTa at the first token (Xiong et al., ICLR 2021; variant FirstP for
passages). The same network encodes query and text. Queries are truncated to 64 tokens, as in the published code.

The published networks were trained on lower-cased text: transformers 2 lower-cased the input of RoBERTa if the
configuration said so, and later versions do not. Therefore query and text are lower-cased here unless
``lower_case=False``.

Names of the published weights: ``roberta.*``, ``embeddingHead.weight`` and ``.bias``, ``norm.weight`` and ``.bias``.
The classifier in the same file is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, RobertaConfig, RobertaModel

from termwise.yardsticks.checkpoint import open_tokenizer, read_checkpoint, readable_words
from termwise.yardsticks.compatibility import check_length, max_length, torch_device
from termwise.yardsticks.network_scorer import DualEncoderScorer, padded_tensors

QUERY_LENGTH = 64
"""Largest number of tokens of a query, special tokens included."""

_LENGTH = 512
"""Default number of tokens of a text."""

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


@dataclass(kw_only=True, eq=False, repr=False)
class AnceScorer(DualEncoderScorer[Tensor, Tensor]):
    """Scores texts by ANCE; `open` makes one.

    `length` is the largest number of tokens of a text, special tokens included.
    """

    network: AnceNetwork
    tokenizer: PreTrainedTokenizerBase
    length: int
    lower_case: bool

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
        lower_case: bool = True,
    ) -> AnceScorer:
        """Load a published checkpoint; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder with ``config.json``, ``pytorch_model.bin`` or ``model.safetensors``, and the tokenizer; the file
            of weights in such a folder; or a name on the hub, such as ``castorini/ance-msmarco-passage``.
        length : int, optional
            By default 512, or the limit of the network if it is smaller.
        lower_case : bool, optional
            Whether to lower-case query and text, as in training.
        """
        torch_place = torch_device(device)
        checkpoint = read_checkpoint("ANCE", place, _WEIGHTS, fixes=_FIXES)
        config = checkpoint.config(RobertaConfig)
        tokenizer = open_tokenizer("ANCE", checkpoint.folder, config.vocab_size, _FIXES)
        longest = max_length(config) or _LENGTH
        length = min(_LENGTH, longest) if length is None else length
        check_length(checkpoint.place, length, 3, longest)
        return cls(
            network=checkpoint.load(lambda: AnceNetwork(config), {"roberta.": "roberta."}, torch_place),
            tokenizer=tokenizer,
            length=length,
            lower_case=lower_case,
            name=name or checkpoint.name,
            batch=batch,
            fingerprint=checkpoint.fingerprint(length, lower_case),
        )

    def _excess(self, query: str, text: str) -> int:
        return len(self._token_ids(text, self.length)) - self.length

    def _encode_queries(self, queries: Sequence[str]) -> list[Tensor]:
        return self._encode(queries, min(QUERY_LENGTH, self.length))

    def _encode_texts(self, texts: Sequence[str]) -> list[Tensor]:
        return self._encode(texts, self.length)

    def _compare(self, query: Tensor, text: Tensor) -> Tensor:
        return query @ text

    def _encode(self, texts: Sequence[str], length: int) -> list[Tensor]:
        end = self.tokenizer.sep_token_id
        rows = [self._token_ids(text, length) for text in texts]
        rows = [row if len(row) <= length else [*row[: length - 1], end] for row in rows]
        padding = self.network.roberta.config.pad_token_id
        padding = 1 if padding is None else padding
        return list(self.network(*padded_tensors(rows, padding, self.network.norm.weight.device)))

    def _token_ids(self, text: str, length: int) -> list[int]:
        text = readable_words(text.lower() if self.lower_case else text, length)
        ids: list[int] = self.tokenizer(text, truncation=False, verbose=False)["input_ids"]
        return ids
