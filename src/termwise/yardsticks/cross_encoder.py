"""A cross-encoder of sentence-transformers as a scorer of texts.

BERT reads ``[CLS] query [SEP] document [SEP]``, and a linear layer over what stands at ``[CLS]`` gives one number
(Nogueira & Cho, arXiv 1901.04085). The score is that number as it leaves the layer: whatever function the model would
put over it, a logistic one mostly, rounds scores of good documents to 1 and changes no order.

Where the two texts are too long together, the tokenizer takes pieces off the end of the longer one, so that of two long
documents each keeps half of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from termwise.errors import MissingExtraError, ModelFormatError, TermwiseError
from termwise.scorers.protocol import BasePairScorer
from termwise.storage.file_record import folder_fingerprint
from termwise.train.messages import first_line
from termwise.train.pretrained import quiet
from termwise.validation import check, check_count, check_pairs
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.compatibility import check_length, check_vocabulary, readable_pieces
from termwise.yardsticks.locate import located, usual_name
from termwise.yardsticks.network_scorer import check_scores

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_USUAL = 512
"""Pieces of a window where a model does not say."""

_LONGEST = 100_000
"""Words that are read at the most, where a tokenizer names a window without end."""

_FIX = "name a folder that CrossEncoder has saved, with config.json, model.safetensors and a tokenizer, or one of a hub"


class CrossEncoderScorer(BasePairScorer):
    """Scores texts by a cross-encoder; a `termwise.scorers.protocol.TextScorer`.

    Stateless: no call changes what a later call returns.

    Parameters
    ----------
    model : sentence_transformers.CrossEncoder
        With one output.
    name : str, optional
        What the scorer is called in tables.
    batch : int, optional
        Texts that go through the network at once. Scores do not depend on it, but for rounding.
    fingerprint : str, optional
        Says that the same model gives the same scores; see `termwise.scorers.protocol.FingerprintedScorer`.

    Raises
    ------
    ModelFormatError
        If the model has several outputs, as one that tells classes apart has.
    """

    def __init__(
        self,
        model: CrossEncoder,
        *,
        name: str = "cross-encoder",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        check("name", name, isinstance(name, str), "a name")
        check_count("batch", batch)
        if model.num_labels != 1:
            raise ModelFormatError(
                "a ranker gives one score, and this network several",
                facts=[("scorer", name), ("outputs", model.num_labels)],
                fixes=["name a cross-encoder that was trained to rank"],
            )
        self._model = model
        self._name = name
        self._batch = batch
        self.fingerprint = fingerprint

    @classmethod
    def open(
        cls,
        model: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        called: str | None = None,
    ) -> CrossEncoderScorer:
        """Load a cross-encoder.

        Parameters
        ----------
        model : str or Path
            A folder in the layout of transformers, or a name on its hub, such as
            ``cross-encoder/ms-marco-MiniLM-L6-v2``.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of query and document together, special ones included; what the model brings unless given.
        batch : int, optional
            Texts that go through the network at once.
        called : str, optional
            What the scorer is called in tables; by default like the folder, or like the name on the hub.

        Returns
        -------
        CrossEncoderScorer

        Raises
        ------
        MissingExtraError
            If sentence-transformers is not installed.
        ModelFormatError
            If there is no such model, or it is none that gives one score for two texts.
        ParameterError
            If there is no such device, or the network reads fewer pieces than `length`.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError.of("sentence-transformers", "cross-encoder", "a cross-encoder") from None
        placed = torch_device(device)
        folder = located("cross-encoder", model, (_FIX,))
        try:
            with quiet(bars=False):
                _check_whole(folder)
                loaded = CrossEncoder(
                    str(folder),
                    device=str(placed),
                    local_files_only=True,
                    max_length=length,
                    activation_fn=torch.nn.Identity(),
                )
        except TermwiseError:
            raise
        except Exception as error:  # neither library documents a type
            raise ModelFormatError(
                "the cross-encoder cannot be loaded",
                facts=[("scorer", model), ("sentence-transformers says", first_line(error))],
                fixes=[_FIX],
            ) from error
        if length is not None:
            check_length(model, length, 4, readable_pieces(loaded.model.config))
        return cls(
            loaded,
            name=called or usual_name(model),
            batch=batch,
            fingerprint=folder_fingerprint(folder, length),
        )

    @property
    def name(self) -> str:
        """What the scorer is called in tables."""
        return self._name

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Returns
        -------
        ndarray of shape (n,), float64
            Any number.

        Raises
        ------
        ModelFormatError
            If a score is not a finite number.
        """
        check_pairs(queries, texts)
        if not texts:
            return np.zeros(0)
        found = self._model.predict(
            [
                (self._readable(query), self._readable(text))
                for query, text in zip(queries, texts, strict=True)
            ],
            batch_size=self._batch,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_numpy=True,
        )
        scores = np.asarray(found, dtype=np.float64)
        check_scores(self._name, scores)
        return scores

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say of each pair whether its pieces are more than the window; see `WindowedScorer`."""
        longest = self._window
        pieces = self._model.tokenizer(
            [self._readable(query) for query in queries],
            [self._readable(text) for text in texts],
            truncation=False,
            verbose=False,
        )["input_ids"]
        return np.array([len(row) > longest for row in pieces], dtype=np.bool_)

    @property
    def _window(self) -> int:
        """Pieces of query and text together."""
        known = "max_seq_length" if hasattr(type(self._model), "max_seq_length") else "max_length"  # before 6
        return min(getattr(self._model, known) or _USUAL, _LONGEST)

    def _readable(self, text: str) -> str:
        """Cut off words that no window holds: the tokenizer takes time and memory for what it cuts off itself."""
        longest = self._window
        words = text.split(maxsplit=longest)
        return text if len(words) <= longest else " ".join(words[:longest])


def _check_whole(model: Path) -> None:
    """See that no weight would be filled with random numbers, and that the tokenizer is that of the network.

    Raises
    ------
    ModelFormatError
        If weights are missing, or most pieces of the vocabulary.
    """
    options = {"local_files_only": True, "trust_remote_code": False}
    network, report = AutoModelForSequenceClassification.from_pretrained(
        model, output_loading_info=True, **options
    )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelFormatError(
            "weights of the cross-encoder are missing: it would rank by random numbers",
            facts=[("scorer", model), ("missing", f"{len(missing)} tensors, first {missing[0]}")],
            fixes=["name a cross-encoder that was trained to rank; an encoder by itself is none"],
        )
    pieces = len(AutoTokenizer.from_pretrained(model, **options))
    check_vocabulary("a cross-encoder", model, pieces, network.config.vocab_size)
