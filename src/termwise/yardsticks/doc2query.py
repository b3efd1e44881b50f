"""doc2query: queries that a text might answer, drawn from a network that was taught to ask them.

Nogueira, Yang, Lin and Cho, arXiv 1904.08375; with T5, Nogueira and Lin, 2019. The network reads the text, and each
piece of a query is drawn from the most probable ones, as often as they are probable.

What is drawn depends on a seed and the text alone: not on other texts, their order, or how many go through the network
at once. Numbers of a network change in their last places with the batch, so on the rare edge between two pieces a draw
can still fall to the other side; with ``batch=1`` it never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from termwise.encode.pieces import padded
from termwise.errors import ModelFormatError
from termwise.storage.file_record import folder_fingerprint
from termwise.text.characters import without_surrogates
from termwise.train.pretrained import load_pretrained, quiet
from termwise.validation import check, check_count, check_texts, is_whole_number
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.checkpoint import foreign_tokenizer, open_tokenizer, readable_words, tokenizer_folder
from termwise.yardsticks.compatibility import check_length
from termwise.yardsticks.locate import located

COUNT = 4
"""Queries of a text."""

TOP = 10
"""Pieces among which the next one is drawn."""

LONGEST = 64
"""Pieces of a query at the most, its end included."""

MOST = {"count": 1000, "longest": 1000}
"""What fits into memory with a batch of one text."""

LENGTH = 512
"""Pieces of a text at the most; the rest is not read."""

_KIND = "doc2query"
_FIXES = (
    "name a folder that Seq2SeqTrainer has saved, with config.json, model.safetensors and a tokenizer, or "
    "castorini/doc2query-t5-base-msmarco on the hub, with tokenizer=google-t5/t5-base",
)


class Doc2Query:
    """Generates queries; a `termwise.scorers.TextExpander`, and an expander of the probe ``append-queries``.

    Stateless: no call changes what a later call returns.

    Parameters
    ----------
    network : PreTrainedModel
        An encoder with a decoder, in evaluation mode.
    tokenizer : tokenizer of transformers
    fingerprint : str
        Of network and tokenizer: equal ones give equal queries.
    count : int, optional
        Queries of a text. The first ones are the same for any count.
    top : int, optional
        Pieces among which the next one is drawn; 1 for the most probable.
    longest : int, optional
        Pieces of a query at the most.
    length : int, optional
        Pieces of a text at the most.
    prompt : str, optional
        Put before every text, for networks that were taught several tasks.
    seed : int, optional
        Of the draws.
    batch : int, optional
        Texts that go through the network at once.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        fingerprint: str,
        count: int = COUNT,
        top: int = TOP,
        longest: int = LONGEST,
        length: int = LENGTH,
        prompt: str = "",
        seed: int = 0,
        batch: int = 8,
    ) -> None:
        for name, value in (("top", top), ("batch", batch)):
            check_count(name, value)
        for name, value in (("count", count), ("longest", longest)):
            most = MOST[name]
            check(
                name, value, is_whole_number(value, least=1, most=most), f"a whole number from 1 to {most:,}"
            )
        check_count("length", length, least=8)
        check_count("seed", seed, least=0)
        check("prompt", prompt, isinstance(prompt, str), "a text")
        self._network = network
        self._tokenizer = tokenizer
        self._count, self._top, self._longest, self._length = count, top, longest, length
        self._prompt = prompt
        self._seed = seed
        self._batch = batch
        said = repr((_KIND, count, top, longest, length, prompt, seed, fingerprint))
        self.fingerprint = f"sha256:{sha256(said.encode()).hexdigest()}"

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
        """Load a network from a folder in the layout of transformers.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on its hub, such as
            ``castorini/doc2query-t5-base-msmarco``.
        device : str, optional
            Where the network runs, as torch names it.
        count, top, longest, length, prompt, seed, batch
            See the class.
        tokenizer : str or Path, optional
            A folder with the tokenizer, or a name on the hub, where the network brings none; that of
            ``castorini/doc2query-t5-base-msmarco`` is ``google-t5/t5-base``.

        Raises
        ------
        MissingFileError
            If there is no such folder.
        ModelFormatError
            If the hub has no such model, it is no encoder with a decoder, weights are missing, or the tokenizer is
            another.
        ParameterError
            If there is no such device, or a number is out of range.
        """
        placed = torch_device(device)
        folder = located(f"checkpoint of {_KIND}", place, _FIXES)
        check_length(folder, length, 8)
        network = load_pretrained(AutoModelForSeq2SeqLM, folder).eval()
        if network.config.decoder_start_token_id is None or network.config.eos_token_id is None:
            raise ModelFormatError(
                "the configuration of the network does not say how a query begins and ends",
                facts=[
                    ("folder", folder),
                    ("decoder_start_token_id", network.config.decoder_start_token_id),
                    ("eos_token_id", network.config.eos_token_id),
                ],
                fixes=_FIXES,
            )
        beside = tokenizer_folder(tokenizer, folder)
        return cls(
            cast(PreTrainedModel, network.to(placed)),
            open_tokenizer(_KIND, beside, network.config.vocab_size, _FIXES),
            count=count,
            top=top,
            longest=longest,
            length=length,
            prompt=prompt,
            seed=seed,
            batch=batch,
            fingerprint=folder_fingerprint(folder, _KIND, *foreign_tokenizer(beside, folder)),
        )

    def expand(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the queries of each text, in the order in which they were drawn; none of a text without a word.

        Raises
        ------
        ParameterError
            If a text is no string.
        ModelFormatError
            If the network gives a number that is not finite.
        """
        check_texts(texts)
        rows = [self._pieces(text) if text.strip() else [] for text in texts]
        found: list[tuple[str, ...]] = [()] * len(texts)
        order = [place for place in np.argsort([len(row) for row in rows], kind="stable") if rows[place]]
        for begin in range(0, len(order), self._batch):
            places = order[begin : begin + self._batch]
            draws = np.stack([self._draws(texts[place]) for place in places])
            drawn = self._drawn([rows[place] for place in places], draws)
            for place, start in zip(places, range(0, len(drawn), self._count), strict=True):
                found[place] = self._read(drawn[start : start + self._count])
        return found

    def __call__(self, doc_id: str, text: str) -> tuple[str, ...]:
        """Return the queries of one text; its identifier does not count."""
        return self.expand([text])[0]

    def _pieces(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(
            self._prompt + without_surrogates(readable_words(text, self._length)),
            truncation=True,
            max_length=self._length,
            verbose=False,
        )["input_ids"]
        return found

    def _draws(self, text: str) -> npt.NDArray[np.float64]:
        """Return a number from 0 to 1 for each piece of each query."""
        digest = sha256(f"{self._seed} {text}".encode("utf-8", "surrogatepass")).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
        return generator.random((self._count, self._longest))

    @torch.inference_mode()
    def _drawn(self, rows: list[list[int]], draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Draw the pieces of queries, `count` rows a text; what follows an end is padding."""
        config, device = self._network.config, self._network.device
        ids, mask = padded([np.array(row) for row in rows], config.pad_token_id)
        read = torch.from_numpy(mask).to(device)
        held = self._network.get_encoder()(
            input_ids=torch.from_numpy(ids).to(device), attention_mask=read
        ).last_hidden_state.repeat_interleave(self._count, dim=0)
        read = read.repeat_interleave(self._count, dim=0)
        chances = torch.from_numpy(draws.reshape(-1, self._longest)).to(device)
        last = torch.full((len(held), 1), config.decoder_start_token_id, device=device)
        ended = torch.zeros(len(held), dtype=torch.bool, device=device)
        past = None
        found = []
        for step in range(self._longest):
            out = self._network(
                encoder_outputs=BaseModelOutput(last_hidden_state=held),
                attention_mask=read,
                decoder_input_ids=last,
                past_key_values=past,
                use_cache=True,
            )
            past = out.past_key_values
            last = self._next(out.logits[:, -1], chances[:, step : step + 1])
            last = last.masked_fill(ended[:, None], config.pad_token_id)
            found.append(last)
            ended |= last[:, 0] == config.eos_token_id
            if bool(ended.all()):
                break
        pieces: npt.NDArray[np.int64] = torch.cat(found, dim=1).cpu().numpy()
        return pieces

    def _next(self, logits: Tensor, chances: Tensor) -> Tensor:
        if not bool(torch.isfinite(logits).all()):
            raise ModelFormatError("the network of doc2query gave a number that is not finite")
        best, places = logits.double().topk(min(self._top, logits.shape[1]), dim=1)
        shares = best.softmax(1).cumsum(1)
        chosen = (shares[:, :-1] <= chances).sum(1, keepdim=True)
        return places.gather(1, chosen)

    def _read(self, rows: npt.NDArray[np.int64]) -> tuple[str, ...]:
        with quiet(bars=False):
            texts = [self._tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in rows]
        return tuple(query for text in texts if (query := " ".join(str(text).split())))
