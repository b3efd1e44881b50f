"""Bi-encoders of sentence-transformers: similarity of one vector of the query and one of the text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import MissingExtraError, ModelFormatError, ParameterError
from termwise.storage.file_record import folder_fingerprint, text_fingerprint
from termwise.storage.safe_read import is_file
from termwise.yardsticks.compatibility import (
    check_length,
    check_vocabulary,
    load_errors,
    max_length,
    torch_device,
)
from termwise.yardsticks.locate import default_name, locate_model
from termwise.yardsticks.network_scorer import NetworkScorer

CAPACITY = 20_000
"""Largest number of cached vectors."""

Similarity = Literal["cosine", "dot"]

_FIX = "name a folder saved by SentenceTransformer, or a name on the hub"


@dataclass(kw_only=True, eq=False, repr=False)
class BiEncoderScorer(NetworkScorer):
    """Scores texts by the similarity of query and text vectors; vectors are cached between calls.

    Parameters
    ----------
    model : sentence_transformers.SentenceTransformer
    similarity : {"cosine", "dot"}, optional
    query_prompt, text_prompt : str, optional
        Prefixes of queries and texts, for models that were trained with prompts.
    name, batch, fingerprint
        See `termwise.yardsticks.network_scorer.NetworkScorer`.
    """

    model: Any
    name: str = "bi-encoder"
    similarity: Similarity = "cosine"
    query_prompt: str = ""
    text_prompt: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.similarity not in ("cosine", "dot"):
            raise ParameterError(
                "the similarity must be cosine or dot", facts=[("similarity", self.similarity)]
            )
        if self.fingerprint is not None:
            options = f"{self.similarity} {self.query_prompt!r} {self.text_prompt!r}"
            self.fingerprint = text_fingerprint(f"{options} {self.fingerprint}")
        self._vectors: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        device: str = "cpu",
        length: int | None = None,
        batch: int = 32,
        name: str | None = None,
        similarity: Similarity = "cosine",
        query_prompt: str = "",
        text_prompt: str = "",
    ) -> BiEncoderScorer:
        """Load a bi-encoder; see `termwise.yardsticks.network_scorer` for the common options.

        Parameters
        ----------
        place : str or Path
            A folder of sentence-transformers, or a name on the hub, such as ``sentence-transformers/all-MiniLM-L6-v2``.
        length : int, optional
            By default the limit of the model.
        similarity, query_prompt, text_prompt
            See the class.

        Raises
        ------
        MissingExtraError
            If sentence-transformers is not installed.
        """
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtraError.of("sentence-transformers", "cross-encoder", "a bi-encoder") from None
        torch_place = torch_device(device)
        folder = locate_model("bi-encoder", place, (_FIX,))
        if not is_file(folder / "modules.json"):
            raise ModelFormatError(
                "this is not a folder of sentence-transformers",
                facts=[("folder", folder), ("missing", "modules.json")],
                fixes=[_FIX],
            )
        with load_errors("bi-encoder", folder, [_FIX]):
            loaded = SentenceTransformer(str(folder), device=str(torch_place), local_files_only=True)
        network = getattr(loaded[0], "auto_model", None)  # absent from static embeddings
        if network is not None:
            check_vocabulary("a bi-encoder", place, len(loaded.tokenizer), network.config.vocab_size)
        if length is not None:
            check_length(place, length, 4, None if network is None else max_length(network.config))
            loaded.max_seq_length = length
        return cls(
            model=loaded,
            name=name or default_name(place),
            similarity=similarity,
            query_prompt=query_prompt,
            text_prompt=text_prompt,
            batch=batch,
            fingerprint=folder_fingerprint(folder, loaded.max_seq_length),
        )

    def _excess(self, query: str, text: str) -> int:
        longest: int | None = self.model.max_seq_length
        if longest is None:
            return 0
        encoding = self.model.tokenizer(self.text_prompt + text, truncation=False, verbose=False)
        return len(encoding["input_ids"]) - longest

    def _compute(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        queries = [self.query_prompt + query for query in queries]
        texts = [self.text_prompt + text for text in texts]
        with self._lock:
            self._encode(dict.fromkeys([*queries, *texts]))
            left = np.stack([self._vectors[query] for query in queries]).astype(np.float64)
            right = np.stack([self._vectors[text] for text in texts]).astype(np.float64)
            while len(self._vectors) > CAPACITY:
                self._vectors.popitem(last=False)
        products: npt.NDArray[np.float64] = np.einsum("ij,ij->i", left, right)
        return products

    def _encode(self, texts: dict[str, None]) -> None:
        missing = [text for text in texts if text not in self._vectors]
        if not missing:
            return
        vectors = self.model.encode(
            missing,
            batch_size=self.batch,
            normalize_embeddings=self.similarity == "cosine",
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        self._vectors.update(zip(missing, np.asarray(vectors, dtype=np.float32), strict=True))
