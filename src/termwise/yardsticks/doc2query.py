"""doc2query: generation of queries that a text could answer, by a sequence-to-sequence network.

Nogueira, Yang, Lin and Cho, arXiv 1904.08375; with T5, Nogueira and Lin, 2019. The network reads the text, and each
token of a query is sampled from the most probable tokens, in proportion to their probabilities.

Samples depend on the seed and the text only, not on other texts, their order, or the batch size. The outputs of a
network change in their last digits with the batch, which in rare cases changes a sampled token; with ``batch=1`` this
cannot happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from inspect import signature
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from termwise.errors import ModelFormatError
from termwise.storage.file_record import text_fingerprint
from termwise.train.pretrained import quiet
from termwise.validation import check, check_count, check_texts
from termwise.yardsticks.encoder_decoder import open_encoder_decoder, token_ids
from termwise.yardsticks.network_scorer import padded_tensors

COUNT = 4
"""Default number of queries per text."""

TOP = 10
"""Default number of tokens to sample from."""

LONGEST = 64
"""Default limit of the tokens of a query, the end token included."""

LENGTH = 512
"""Default limit of the tokens of a text."""

_MOST = 1000
"""Largest `count` and `longest`: a batch of one text fits into memory."""

_KIND = "doc2query"
_FIXES = (
    "name a folder saved by Seq2SeqTrainer, with config.json, model.safetensors and a tokenizer, or "
    "castorini/doc2query-t5-base-msmarco on the hub, with tokenizer=google-t5/t5-base",
)


@dataclass(eq=False, repr=False)
class Doc2Query:
    """Generates queries; a stateless `termwise.yardsticks.TextExpander`.

    Parameters
    ----------
    network : PreTrainedModel
        An encoder-decoder in evaluation mode.
    tokenizer : tokenizer of transformers
    fingerprint : str
        Of network and tokenizer.
    count : int, optional
        Queries per text. The first queries are the same for any count.
    top : int, optional
        Number of most probable tokens to sample from; 1 for greedy decoding.
    longest : int, optional
        Largest number of tokens of a query.
    length : int, optional
        Largest number of tokens of a text.
    prompt : str, optional
        Prefix of every text, for networks that were trained on several tasks.
    seed : int, optional
    batch : int, optional
        Texts in one forward pass.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fingerprint: str
    count: int = COUNT
    top: int = TOP
    longest: int = LONGEST
    length: int = LENGTH
    prompt: str = ""
    seed: int = 0
    batch: int = 8

    def __post_init__(self) -> None:
        check_count("top", self.top)
        check_count("batch", self.batch)
        check_count("length", self.length, least=8)
        check_count("seed", self.seed, least=0)
        for name, value in (("count", self.count), ("longest", self.longest)):
            check_count(name, value, most=_MOST)
        check("prompt", self.prompt, isinstance(self.prompt, str), "a text")
        options = (self.count, self.top, self.longest, self.length, self.prompt, self.seed)
        self.fingerprint = text_fingerprint(repr((_KIND, *options, self.fingerprint)))

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        count: int = COUNT,
        top: int = TOP,
        longest: int = LONGEST,
        length: int = LENGTH,
        prompt: str = "",
        seed: int = 0,
        batch: int = 8,
        tokenizer: str | Path | None = None,
    ) -> Doc2Query:
        """Load a network.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on the hub, such as
            ``castorini/doc2query-t5-base-msmarco``.
        device : str, optional
            Torch device.
        count, top, longest, length, prompt, seed, batch
            See the class.
        tokenizer : str or Path, optional
            Folder or hub name of the tokenizer, if the network has none; ``google-t5/t5-base`` for
            ``castorini/doc2query-t5-base-msmarco``.

        Raises
        ------
        MissingFileError
            If there is no such folder.
        ModelFormatError
            If the hub has no such model, it is not an encoder-decoder, weights are missing, or the tokenizer does not
            belong to it.
        ParameterError
            If there is no such device, or a number is out of range.
        """
        opened = open_encoder_decoder(
            _KIND, place, device=device, length=length, least=8, tokenizer=tokenizer, fixes=_FIXES
        )
        return cls(
            **opened._asdict(),
            count=count,
            top=top,
            longest=longest,
            length=length,
            prompt=prompt,
            seed=seed,
            batch=batch,
        )

    def expand(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the queries of each text, in the order of sampling; none for a blank text."""
        check_texts(texts)
        rows = [
            token_ids(self.tokenizer, self.prompt + text, self.length) if text.strip() else []
            for text in texts
        ]
        queries: list[tuple[str, ...]] = [()] * len(texts)
        order = [
            position for position in np.argsort([len(row) for row in rows], kind="stable") if rows[position]
        ]
        for begin in range(0, len(order), self.batch):
            positions = order[begin : begin + self.batch]
            uniforms = np.stack([self._uniforms(texts[position]) for position in positions])
            sampled = self._sample([rows[position] for position in positions], uniforms)
            for position, start in zip(positions, range(0, len(sampled), self.count), strict=True):
                queries[position] = self._decode(sampled[start : start + self.count])
        return queries

    def _uniforms(self, text: str) -> npt.NDArray[np.float64]:
        """Return a uniform number from 0 to 1 for each token of each query."""
        digest = sha256(f"{self.seed} {text}".encode("utf-8", "surrogatepass")).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
        return generator.random((self.count, self.longest))

    @torch.inference_mode()
    def _sample(self, rows: list[list[int]], uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Sample the tokens of queries, `count` rows per text; padding follows the end token."""
        config, device = self.network.config, self.network.device
        ids, attention = padded_tensors(rows, config.pad_token_id, device)
        hidden = self.network.get_encoder()(input_ids=ids, attention_mask=attention)
        hidden = hidden.last_hidden_state.repeat_interleave(self.count, dim=0)
        attention = attention.repeat_interleave(self.count, dim=0)
        thresholds = torch.from_numpy(uniforms.reshape(-1, self.longest)).to(device)
        last = torch.full((len(hidden), 1), config.decoder_start_token_id, device=device)
        ended = torch.zeros(len(hidden), dtype=torch.bool, device=device)
        name, cache = _cache_name(self.network), None
        tokens = []
        for step in range(self.longest):
            output = self.network(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=attention,
                decoder_input_ids=last,
                use_cache=True,
                **{name: cache},
            )
            cache = output[name]
            last = self._next(output.logits[:, -1], thresholds[:, step : step + 1])
            last = last.masked_fill(ended[:, None], config.pad_token_id)
            tokens.append(last)
            ended |= last[:, 0] == config.eos_token_id
            if bool(ended.all()):
                break
        sampled: npt.NDArray[np.int64] = torch.cat(tokens, dim=1).cpu().numpy()
        return sampled

    def _next(self, logits: Tensor, thresholds: Tensor) -> Tensor:
        if not bool(torch.isfinite(logits).all()):
            raise ModelFormatError("an output of the network of doc2query is not finite")
        best, ids = logits.topk(min(self.top, logits.shape[1]), dim=1)
        cumulative = best.double().softmax(1).cumsum(1)
        chosen = (cumulative[:, :-1] <= thresholds).sum(1, keepdim=True)
        return ids.gather(1, chosen)

    def _decode(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        with quiet(bars=False):
            texts = [self.tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in rows]
        return tuple(query for text in texts if (query := " ".join(str(text).split())))


def _cache_name(network: PreTrainedModel) -> str:
    """Return the name of the decoder cache; transformers before 5.24 call it ``past_key_values``."""
    return "cache" if "cache" in signature(network.forward).parameters else "past_key_values"
