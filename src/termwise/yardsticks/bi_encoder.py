"""A bi-encoder of sentence-transformers as a scorer: one vector for the query, one for the text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import MissingExtraError, ModelFormatError, ParameterError
from termwise.scorers.protocol import BasePairScorer
from termwise.storage.file_record import folder_fingerprint
from termwise.train.messages import first_line
from termwise.train.pretrained import quiet
from termwise.validation import check, check_count, check_pairs
from termwise.yardsticks.bert_model1.folder import torch_device
from termwise.yardsticks.compatibility import check_length, check_vocabulary, readable_pieces
from termwise.yardsticks.locate import located, usual_name
from termwise.yardsticks.network_scorer import truncation

REMEMBERED = 20_000
"""Vectors of texts that are kept, at the most."""

Similarity = Literal["cosine", "dot"]

_FIX = "name a folder that SentenceTransformer has saved, or a model of a hub"


class BiEncoderScorer(BasePairScorer):
    """Scores texts by the likeness of two vectors; a `termwise.scorers.protocol.PairScorer`.

    Vectors are remembered, so that a text is read once however many queries it is scored for.

    Parameters
    ----------
    model : sentence_transformers.SentenceTransformer
    name : str, optional
        What the scorer is called in tables.
    similarity : {"cosine", "dot"}, optional
        How two vectors are compared.
    query_prompt, text_prompt : str, optional
        Put before queries and texts, for models that were trained so.
    batch : int, optional
        Texts that go through the network at once.
    fingerprint : str, optional
        Says that the same model gives the same scores; scores are kept only with one.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str = "bi-encoder",
        similarity: Similarity = "cosine",
        query_prompt: str = "",
        text_prompt: str = "",
        batch: int = 32,
        fingerprint: str | None = None,
    ) -> None:
        check("name", name, isinstance(name, str) and bool(name), "a name")
        check_count("batch", batch)
        if similarity not in ("cosine", "dot"):
            raise ParameterError("vectors are compared by cosine or dot", facts=[("similarity", similarity)])
        self._model = model
        self.name = name
        self._similarity = similarity
        self._prompts = (query_prompt, text_prompt)
        self._batch = batch
        said = f"{similarity} {query_prompt!r} {text_prompt!r} {fingerprint}"
        self.fingerprint = None if fingerprint is None else f"sha256:{sha256(said.encode()).hexdigest()}"
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def open(
        cls,
        model: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        called: str | None = None,
        similarity: Similarity = "cosine",
        query_prompt: str = "",
        text_prompt: str = "",
        batch: int = 32,
    ) -> BiEncoderScorer:
        """Load a folder of sentence-transformers, or a name on its hub.

        Parameters
        ----------
        model : str or Path
            Such as ``sentence-transformers/all-MiniLM-L6-v2``.
        device : str, optional
            Where the network runs, as torch names it.
        length : int, optional
            Most pieces of a text, special ones included; what the model brings unless given.
        called : str, optional
            What the scorer is called in tables; by default like the folder, or like the name on the hub.
        similarity, query_prompt, text_prompt, batch
            See the class.

        Raises
        ------
        MissingExtraError
            If sentence-transformers is not installed.
        ModelFormatError
            If there is no such model, it cannot be loaded, or its tokenizer is that of another network.
        ParameterError
            If there is no such device, or the network reads fewer pieces than `length`.
        """
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtraError.of("sentence-transformers", "cross-encoder", "a bi-encoder") from None
        placed = torch_device(device)
        folder = located("bi-encoder", model, (_FIX,))
        if not (folder / "modules.json").is_file():
            raise ModelFormatError(
                "this is no folder of sentence-transformers",
                facts=[("folder", folder), ("missing", "modules.json")],
                fixes=[_FIX],
            )
        try:
            with quiet(bars=False):
                loaded = SentenceTransformer(str(folder), device=str(placed), local_files_only=True)
        except Exception as error:  # neither library documents a type
            raise ModelFormatError(
                "the bi-encoder cannot be loaded",
                facts=[("model", model), ("sentence-transformers says", first_line(error))],
                fixes=[_FIX],
            ) from error
        network = getattr(loaded[0], "auto_model", None)  # none of static embeddings
        if network is not None:
            check_vocabulary("a bi-encoder", model, len(loaded.tokenizer), network.config.vocab_size)
        if length is not None:
            readable = None if network is None else readable_pieces(network.config)
            check_length(model, length, 4, readable)
            loaded.max_seq_length = length
        return cls(
            loaded,
            name=called or usual_name(model),
            similarity=similarity,
            query_prompt=query_prompt,
            text_prompt=text_prompt,
            batch=batch,
            fingerprint=folder_fingerprint(folder, loaded.max_seq_length),
        )

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Returns
        -------
        ndarray of shape (n,), float64
            Cosines, from -1 to 1, or dot products.
        """
        check_pairs(queries, texts)
        if not texts:
            return np.zeros(0)
        asked = [self._prompts[0] + query for query in queries]
        held = [self._prompts[1] + text for text in texts]
        with self._lock:
            self._read(dict.fromkeys([*asked, *held]))
            left = np.stack([self._vectors[query] for query in asked]).astype(np.float64)
            right = np.stack([self._vectors[text] for text in held]).astype(np.float64)
            while len(self._vectors) > REMEMBERED:
                self._vectors.popitem(last=False)
        products: npt.NDArray[np.float64] = np.einsum("ij,ij->i", left, right)
        return products

    def cut(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Say which texts are longer than the window; see `termwise.scorers.protocol.WindowedScorer`."""
        longest = self._model.max_seq_length
        if longest is None:
            return np.zeros(len(texts), dtype=np.bool_)

        def count(text: str) -> int:
            pieces = self._model.tokenizer(self._prompts[1] + text, truncation=False, verbose=False)
            return len(pieces["input_ids"])

        return truncation(texts, count, longest)

    def _read(self, texts: dict[str, None]) -> None:
        missing = [text for text in texts if text not in self._vectors]
        if not missing:
            return
        vectors = self._model.encode(
            missing,
            batch_size=self._batch,
            normalize_embeddings=self._similarity == "cosine",
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        for text, vector in zip(missing, np.asarray(vectors, dtype=np.float32), strict=True):
            self._vectors[text] = vector
