"""monoT5: a network that was taught to answer "true" or "false" to a query and a text.

T5 reads ``Query: q Document: d Relevant:``, and the score is the logarithm of the probability that its first word is
"true", where there are but "true" and "false" (Nogueira et al., Findings of EMNLP 2020):

    score = ln( e^t / (e^t + e^f) )

Where that is too long, pieces are taken off the end of the text, and ``Relevant:`` stays. The code that came with the
paper cuts the end off as it is, so that the question is lost with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoConfig, PreTrainedTokenizerBase, T5ForConditionalGeneration

from termwise.encode.pieces import padded
from termwise.errors import ModelFormatError, TermwiseError
from termwise.scorers.protocol import BasePairScorer
from termwise.storage.file_record import folder_fingerprint
from termwise.train.messages import first_line
from termwise.train.pretrained import quiet
from termwise.validation import check, check_count, check_pairs
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.checkpoint import foreign_tokenizer, open_tokenizer, readable_words, tokenizer_folder
from termwise.yardsticks.compatibility import check_length
from termwise.yardsticks.locate import located, usual_name
from termwise.yardsticks.network_scorer import check_scores

ANSWERS = ("true", "false")
"""The words between which the network chooses; the first says that a text is relevant."""

_KIND = "monoT5"
_QUESTION = "Relevant:"
_FIXES = (
    "name a folder with config.json, pytorch_model.bin or model.safetensors, and tokenizer.json, "
    "or castorini/monot5-base-msmarco on the hub, with tokenizer=google-t5/t5-base",
)


class MonoT5Scorer(BasePairScorer):
    """Scores texts by monoT5; a `termwise.scorers.protocol.PairScorer`.

    Stateless: no call changes what a later call returns.

    Parameters
    ----------
    network : T5ForConditionalGeneration
        In evaluation mode.
    tokenizer : tokenizer of transformers
    length : int, optional
        Most pieces of query and text together, with the words around them.
    name : str, optional
        What the scorer is called in tables.
    batch : int, optional
        Pairs that go through the network at once. Scores do not depend on it, but for rounding.
    fingerprint : str, optional
        See `termwise.scorers.protocol.FingerprintedScorer`.

    Raises
    ------
    ModelFormatError
        If "true" or "false" is not one piece of the tokenizer.
    """

    def __init__(
        self,
        network: T5ForConditionalGeneration,
        tokenizer: PreTrainedTokenizerBase,
        *,
        length: int = 512,
        name: str = "mono-t5",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        check("name", name, isinstance(name, str) and bool(name), "a name")
        check_count("batch", batch)
        self.name = name
        self.fingerprint = fingerprint
        self._network = network
        self._tokenizer = tokenizer
        self._answers = [_piece(tokenizer, word, network.config.vocab_size) for word in ANSWERS]
        self._question = self._ids(_QUESTION)
        self._length = length
        self._batch = batch

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        called: str | None = None,
        tokenizer: str | Path | None = None,
    ) -> MonoT5Scorer:
        """Load a published checkpoint.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on its hub, such as ``castorini/monot5-base-msmarco``.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of query and text together; 512 unless given, as in training.
        batch : int, optional
            Pairs that go through the network at once.
        called : str, optional
            What the scorer is called in tables; by default like the folder, or like the name on the hub.
        tokenizer : str or Path, optional
            A folder with the tokenizer, or a name on the hub, where the checkpoint brings none; that of
            ``castorini/monot5-base-msmarco`` is ``google-t5/t5-base``.

        Raises
        ------
        MissingFileError
            If there is no such folder.
        ModelFormatError
            If the hub has no such model, it is no T5, weights are missing, or the tokenizer is another.
        ParameterError
            If there is no such device, or the window has no room for a text.
        """
        placed = torch_device(device)
        folder = located(f"checkpoint of {_KIND}", place, _FIXES)
        network = _load(folder, placed)
        beside = tokenizer_folder(tokenizer, folder)
        pieces = open_tokenizer(_KIND, beside, network.config.vocab_size, _FIXES)
        length = 512 if length is None else length
        check_length(folder, length, 16)
        return cls(
            network,
            pieces,
            length=length,
            name=called or usual_name(place),
            batch=batch,
            fingerprint=folder_fingerprint(folder, _KIND, length, *foreign_tokenizer(beside, folder)),
        )

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Returns
        -------
        ndarray of shape (n,), float64
            At most 0, in nats.

        Raises
        ------
        ModelFormatError
            If a score is not a finite number.
        """
        check_pairs(queries, texts)
        rows = [self._cut_off(row) for row in self._asked(queries, texts)]
        order = np.argsort([len(row) for row in rows], kind="stable")
        scores = np.zeros(len(rows), dtype=np.float64)
        for begin in range(0, len(rows), self._batch):
            places = order[begin : begin + self._batch]
            scores[places] = self._log_true([rows[place] for place in places])
        check_scores(self.name, scores)
        return scores

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say of each pair whether its pieces are more than the window; see `WindowedScorer`."""
        return np.array([len(row) > self._length for row in self._asked(queries, texts)], dtype=np.bool_)

    @torch.inference_mode()
    def _log_true(self, rows: list[list[int]]) -> npt.NDArray[np.float64]:
        config, device = self._network.config, self._network.device
        ids, mask = padded([np.array(row) for row in rows], config.pad_token_id or 0)
        logits = self._network(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=torch.from_numpy(mask).to(device),
            decoder_input_ids=torch.full((len(rows), 1), config.decoder_start_token_id, device=device),
        ).logits[:, 0, self._answers]
        found: npt.NDArray[np.float64] = logits.double().log_softmax(1)[:, 0].cpu().numpy()
        return found

    def _asked(self, queries: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
        """Return the pieces of what is asked of each pair, however long."""
        return [
            self._ids(
                f"Query: {readable_words(query, self._length)} "
                f"Document: {readable_words(text, self._length)} {_QUESTION}"
            )
            for query, text in zip(queries, texts, strict=True)
        ]

    def _cut_off(self, row: list[int]) -> list[int]:
        kept = self._length - len(self._question)
        return row if len(row) <= self._length else [*row[:kept], *self._question]

    def _ids(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text, truncation=False, verbose=False)["input_ids"]
        return found


def _load(folder: Path, device: torch.device) -> T5ForConditionalGeneration:
    try:
        with quiet(bars=False):
            model = AutoConfig.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            ).model_type
            if model not in ("t5", "mt5"):
                raise ModelFormatError(
                    f"this is no checkpoint of {_KIND}",
                    facts=[("folder", folder), ("model_type", model), ("expected", "t5")],
                    fixes=_FIXES,
                )
            factory: Any = T5ForConditionalGeneration
            network, report = factory.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, local_files_only=True
            )
    except TermwiseError:
        raise
    except Exception as error:  # transformers documents no type
        raise ModelFormatError(
            f"the checkpoint of {_KIND} cannot be loaded",
            facts=[("folder", folder), ("transformers says", first_line(error))],
            fixes=_FIXES,
        ) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelFormatError(
            f"this is no whole checkpoint of {_KIND}: it would rank by random numbers",
            facts=[("folder", folder), ("missing", f"{len(missing)} tensors, first {missing[0]}")],
            fixes=_FIXES,
        )
    return cast(T5ForConditionalGeneration, network.to(device).eval())


def _piece(tokenizer: PreTrainedTokenizerBase, word: str, rows: int) -> int:
    """Return the number of a word that is one piece."""
    found = tokenizer(word, add_special_tokens=False)["input_ids"]
    if len(found) != 1 or found[0] == tokenizer.unk_token_id or found[0] >= rows:
        raise ModelFormatError(
            f"the tokenizer is not that of {_KIND}: an answer is not one piece of it",
            facts=[("answer", word), ("pieces", tokenizer.convert_ids_to_tokens(found))],
            fixes=["put the tokenizer.json of t5-base beside the weights"],
        )
    return int(found[0])
