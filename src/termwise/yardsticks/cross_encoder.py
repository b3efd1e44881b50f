"""Cross-encoders of sentence-transformers.

BERT reads ``[CLS] query [SEP] document [SEP]``, and a linear layer over the vector of ``[CLS]`` gives one number
(Nogueira & Cho, arXiv 1901.04085). The score is this number without the activation function of the model: a logistic
function would round scores of good documents to 1, and would not change the order.

If query and document are too long together, the tokenizer truncates the longer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from termwise.errors import MissingExtraError, ModelFormatError
from termwise.storage.file_record import folder_fingerprint
from termwise.yardsticks.checkpoint import readable_words
from termwise.yardsticks.compatibility import (
    check_complete,
    check_length,
    check_vocabulary,
    load_errors,
    max_length,
    torch_device,
)
from termwise.yardsticks.locate import default_name, locate_model
from termwise.yardsticks.network_scorer import NetworkScorer

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_LENGTH = 512
"""Number of tokens of a window, if the model does not specify it."""

_MAX_WORDS = 100_000
"""Largest number of words that are tokenised, for tokenizers without a limit."""

_FIX = "name a folder saved by CrossEncoder, with config.json, model.safetensors and a tokenizer, or a name on the hub"


@dataclass(kw_only=True, eq=False, repr=False)
class CrossEncoderScorer(NetworkScorer):
    """Scores texts by a cross-encoder; stateless.

    Parameters
    ----------
    model : sentence_transformers.CrossEncoder
        A model with one output.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.NetworkScorer`.

    Raises
    ------
    ModelFormatError
        If the model has several outputs, like a classifier.
    """

    reads_pairs: ClassVar[bool] = True
    model: CrossEncoder
    name: str = "cross-encoder"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model.num_labels != 1:
            raise ModelFormatError(
                "a ranker returns one score, and this network has several outputs",
                facts=[("scorer", self.name), ("outputs", self.model.num_labels)],
                fixes=["name a cross-encoder that was trained to rank"],
            )

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
    ) -> CrossEncoderScorer:
        """Load a cross-encoder; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder in the layout of transformers, or a name on the hub, such as
            ``cross-encoder/ms-marco-MiniLM-L6-v2``.
        length : int, optional
            Largest number of tokens of query and document together; by default the limit of the model.

        Raises
        ------
        MissingExtraError
            If sentence-transformers is not installed.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError.of("sentence-transformers", "cross-encoder", "a cross-encoder") from None
        torch_place = torch_device(device)
        folder = locate_model("cross-encoder", place, (_FIX,))
        with load_errors("cross-encoder", folder, [_FIX]):
            _check(folder)
            loaded = CrossEncoder(
                str(folder),
                device=str(torch_place),
                local_files_only=True,
                max_length=length,
                activation_fn=torch.nn.Identity(),
            )
        if length is not None:
            check_length(place, length, 4, max_length(loaded.model.config))
        return cls(
            model=loaded,
            name=name or default_name(place),
            batch=batch,
            fingerprint=folder_fingerprint(folder, length),
        )

    def _excess(self, query: str, text: str) -> int:
        pair = map(self._readable, (query, text))
        return len(self.model.tokenizer(*pair, truncation=False, verbose=False)["input_ids"]) - self._window

    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        scores = self.model.predict(
            list(zip(map(self._readable, queries), map(self._readable, texts), strict=True)),
            batch_size=self.batch,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_numpy=True,
        )
        return np.asarray(scores, dtype=np.float64)

    @property
    def _window(self) -> int:
        """Largest number of tokens of query and text together."""
        attribute = (
            "max_seq_length" if hasattr(type(self.model), "max_seq_length") else "max_length"
        )  # before 6
        return min(getattr(self.model, attribute) or _LENGTH, _MAX_WORDS)

    def _readable(self, text: str) -> str:
        return readable_words(text, self._window)


def _check(folder: Path) -> None:
    """Raise `ModelFormatError` if weights are missing, or the tokenizer belongs to another network."""
    options = {"local_files_only": True, "trust_remote_code": False}
    network, report = AutoModelForSequenceClassification.from_pretrained(
        folder, output_loading_info=True, **options
    )
    fixes = ["name a cross-encoder that was trained to rank; an encoder alone does not suffice"]
    check_complete("cross-encoder", folder, report["missing_keys"], fixes)
    tokens = len(AutoTokenizer.from_pretrained(folder, **options))
    check_vocabulary("a cross-encoder", folder, tokens, network.config.vocab_size)
