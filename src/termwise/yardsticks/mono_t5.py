"""monoT5: probability of the output "true" of T5 for a query and a text.

T5 reads ``Query: q Document: d Relevant:``. The score is the log probability of "true" as the first token, normalised
over "true" and "false" (Nogueira et al., Findings of EMNLP 2020):

    score = ln( e^t / (e^t + e^f) )

A long input is truncated at the end of the text, and ``Relevant:`` is kept. The code of the paper truncates the whole
input, so that ``Relevant:`` is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from termwise.errors import ModelFormatError
from termwise.text.characters import without_surrogates
from termwise.yardsticks.checkpoint import readable_words
from termwise.yardsticks.encoder_decoder import open_encoder_decoder
from termwise.yardsticks.locate import default_name
from termwise.yardsticks.network_scorer import NetworkScorer, padded_tensors

ANSWERS = ("true", "false")
"""Tokens whose probabilities are compared; the first means relevant."""

_KIND = "monoT5"
_QUESTION = "Relevant:"
_FIXES = (
    "name a folder with config.json, pytorch_model.bin or model.safetensors, and tokenizer.json, "
    "or castorini/monot5-base-msmarco on the hub, with tokenizer=google-t5/t5-base",
)


@dataclass(kw_only=True, eq=False, repr=False)
class MonoT5Scorer(NetworkScorer):
    """Scores texts by monoT5, at most 0, in nats; stateless. `open` makes one.

    `length` is the largest number of tokens of the input. A tokenizer for which "true" or "false" is not one token
    raises `ModelFormatError`.
    """

    reads_pairs: ClassVar[bool] = True
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self.network.config.vocab_size
        self._answers = [_single_token(self.tokenizer, word, rows) for word in ANSWERS]
        self._question = self._token_ids(_QUESTION)

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
        tokenizer: str | Path | None = None,
    ) -> MonoT5Scorer:
        """Load a published checkpoint; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on the hub, such as ``castorini/monot5-base-msmarco``.
        length : int, optional
            Largest number of tokens of the input; by default 512, as in training.
        tokenizer : str or Path, optional
            Folder or hub name of the tokenizer, if the checkpoint has none; ``google-t5/t5-base`` for
            ``castorini/monot5-base-msmarco``.
        """
        length = 512 if length is None else length
        opened = open_encoder_decoder(
            _KIND, place, length, device=device, length=length, least=16, tokenizer=tokenizer, fixes=_FIXES
        )
        return cls(**opened._asdict(), length=length, name=name or default_name(place), batch=batch)

    def _excess(self, query: str, text: str) -> int:
        return len(self._input(query, text)) - self.length

    @torch.inference_mode()
    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        rows = [self._truncated(self._input(*pair)) for pair in zip(queries, texts, strict=True)]
        order = np.argsort([len(row) for row in rows], kind="stable")
        scores = np.zeros(len(rows), dtype=np.float64)
        for begin in range(0, len(rows), self.batch):
            positions = order[begin : begin + self.batch]
            scores[positions] = self._log_true([rows[position] for position in positions])
        return scores

    def _log_true(self, rows: list[list[int]]) -> npt.NDArray[np.float64]:
        config, device = self.network.config, self.network.device
        ids, mask = padded_tensors(rows, config.pad_token_id, device)
        logits = self.network(
            input_ids=ids,
            attention_mask=mask,
            decoder_input_ids=torch.full((len(rows), 1), config.decoder_start_token_id, device=device),
        ).logits[:, 0, self._answers]
        scores: npt.NDArray[np.float64] = logits.double().log_softmax(1)[:, 0].cpu().numpy()
        return scores

    def _input(self, query: str, text: str) -> list[int]:
        """Return the token ids of the input of a pair, before truncation."""
        query, text = (without_surrogates(readable_words(part, self.length)) for part in (query, text))
        return self._token_ids(f"Query: {query} Document: {text} {_QUESTION}")

    def _truncated(self, row: list[int]) -> list[int]:
        kept = self.length - len(self._question)
        return row if len(row) <= self.length else [*row[:kept], *self._question]

    def _token_ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, truncation=False, verbose=False)["input_ids"]
        return ids


def _single_token(tokenizer: PreTrainedTokenizerBase, word: str, rows: int) -> int:
    """Return the id of a word that is one token, or raise `ModelFormatError`."""
    ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    if len(ids) != 1 or ids[0] == tokenizer.unk_token_id or ids[0] >= rows:
        raise ModelFormatError(
            f"the tokenizer does not belong to {_KIND}: an answer is not one token",
            facts=[("answer", word), ("tokens", tokenizer.convert_ids_to_tokens(ids))],
            fixes=["put the tokenizer.json of t5-base beside the weights"],
        )
    return int(ids[0])
