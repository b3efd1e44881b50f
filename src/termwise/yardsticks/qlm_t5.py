"""QLM-T5: likelihood of a query given a text, by an encoder-decoder that generates queries.

The encoder reads one of the two, and the decoder is forced to the tokens of the other (Zhuang, Li and Zuccon, ECIR
2021). With query q and document d,

    QL  = sum over i of ln P(q_i | q_1 ... q_(i-1), d)
    DL  = mean over j of ln P(d_j | d_1 ... d_(j-1), q)
    DQL = alpha QL + (1 - alpha) DL

`likelihood` chooses ``query`` (QL), ``document`` (DL) or ``both`` (DQL), as in
`termwise.yardsticks.rerankers.query_likelihood`. The end token is read by the encoder, but its probability is in
neither sum. A text without tokens has the likelihood 0. A network of `termwise.yardsticks.doc2query` is trained for QL
only; DL and DQL need one that is trained in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from termwise.encode.network_inputs import chunks
from termwise.errors import UnknownNameError
from termwise.validation import check, is_finite_number
from termwise.yardsticks.encoder_decoder import open_encoder_decoder, token_ids
from termwise.yardsticks.locate import default_name
from termwise.yardsticks.network_scorer import NetworkScorer, batches_by_length, padded_tensors

Likelihood = Literal["query", "document", "both"]

_KIND = "QLM-T5"
_FIXES = (
    "name a folder of doc2query, with config.json, model.safetensors and a tokenizer, or "
    "castorini/doc2query-t5-base-msmarco on the hub, with tokenizer=google-t5/t5-base",
)


@dataclass(kw_only=True, eq=False, repr=False)
class QlmT5Scorer(NetworkScorer):
    """Scores texts by QLM-T5, at most 0, in nats; stateless. `open` makes one.

    In one call each distinct text is encoded once. `length` is the largest number of tokens of a query or text, the end
    token included.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    length: int
    likelihood: Likelihood = "query"
    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.likelihood not in get_args(Likelihood):
            raise UnknownNameError.of("likelihood", self.likelihood, get_args(Likelihood))
        valid = is_finite_number(self.alpha) and 0 <= self.alpha <= 1
        check("alpha", self.alpha, valid, "a number from 0 to 1")

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
        likelihood: Likelihood = "query",
        alpha: float = 0.5,
    ) -> QlmT5Scorer:
        """Load a network; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on the hub, such as
            ``castorini/doc2query-t5-base-msmarco``.
        length : int, optional
            Largest number of tokens of a query or text; by default 512.
        tokenizer : str or Path, optional
            Folder or hub name of the tokenizer, if the network has none; ``google-t5/t5-base`` for
            ``castorini/doc2query-t5-base-msmarco``.
        likelihood : {"query", "document", "both"}, optional
            The score: QL, DL or DQL.
        alpha : float, optional
            Share of QL in DQL.
        """
        length = 512 if length is None else length
        options = (length, likelihood, float(alpha))
        opened = open_encoder_decoder(
            _KIND, place, *options, device=device, length=length, least=8, tokenizer=tokenizer, fixes=_FIXES
        )
        return cls(
            **opened._asdict(),
            length=length,
            likelihood=likelihood,
            alpha=alpha,
            name=name or default_name(place),
            batch=batch,
        )

    def _excess(self, query: str, text: str) -> int:
        return len(token_ids(self.tokenizer, text, self.length + 1)) - self.length

    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        share = {"query": 1.0, "document": 0.0}.get(self.likelihood, self.alpha)
        scores = np.zeros(len(texts))
        if share > 0:
            scores += share * self._log_likelihoods(texts, queries, "sum")
        if share < 1:
            scores += (1 - share) * self._log_likelihoods(queries, texts, "mean")
        return scores

    @torch.inference_mode()
    def _log_likelihoods(
        self, conditions: Sequence[str], targets: Sequence[str], reduction: str
    ) -> npt.NDArray[np.float64]:
        """Return the sum or mean of ln P over the tokens of each target, given its condition."""
        rows = {text: token_ids(self.tokenizer, text, self.length, special=False) for text in set(targets)}
        places: dict[str, list[int]] = {}
        for place, (condition, target) in enumerate(zip(conditions, targets, strict=True)):
            if rows[target]:
                places.setdefault(condition, []).append(place)
        values = np.zeros(len(targets))
        for batch in batches_by_length(places, self.batch):
            ids, mask = self._padded([token_ids(self.tokenizer, text, self.length) for text in batch])
            hidden = self.network.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            pairs = [(row, place) for row, text in enumerate(batch) for place in places[text]]
            pairs.sort(key=lambda pair: len(rows[targets[pair[1]]]))
            for begin, end in chunks(len(pairs), self.batch):
                of, found = map(list, zip(*pairs[begin:end], strict=True))
                decoded = [rows[targets[place]] for place in found]
                values[found] = self._decoder_values(hidden[of], mask[of], decoded, reduction)
        return values

    def _decoder_values(
        self, hidden: Tensor, mask: Tensor, targets: list[list[int]], reduction: str
    ) -> npt.NDArray[np.float64]:
        start = self.network.config.decoder_start_token_id
        logits = self.network(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
            attention_mask=mask,
            decoder_input_ids=self._padded([[start, *target[:-1]] for target in targets])[0],
            use_cache=False,
        ).logits
        losses = [
            cross_entropy(row[: len(target)], torch.tensor(target, device=row.device), reduction=reduction)
            for row, target in zip(logits, targets, strict=True)
        ]
        values: npt.NDArray[np.float64] = -torch.stack(losses).double().cpu().numpy()
        return values

    def _padded(self, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        return padded_tensors(rows, self.network.config.pad_token_id, self.network.device)
