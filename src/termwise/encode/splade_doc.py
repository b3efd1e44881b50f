"""SPLADE-doc encoder of documents; `termwise.models.splade_doc` has the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from termwise.encode.batches import PIECES_OF_LOGITS, run_windows
from termwise.encode.document_encoder import Advance
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pooled_rows import RowPool
from termwise.models.splade_doc import SpladeDoc
from termwise.weights import TermWeights


@final
class SpladeDocumentEncoder(NetworkDocumentEncoder[TermWeights]):
    """SPLADE-doc: weights above 0 of terms of the cleaned vocabulary, or only the `keep` largest."""

    def __init__(self, model: SpladeDoc, session: OnnxSession) -> None:
        super().__init__(model, session)
        self._model = model

    @property
    def _settings(self) -> dict[str, Any]:
        return {"keep": self._model.keep, "length": self._length, "overlap": self._overlap}

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        pool = RowPool(len(texts), keep=self._model.keep)
        batches = run_windows(
            self._session,
            texts,
            marker=self.folder.manifest.special.cls,
            size=self._size,
            overlap=self._overlap,
            pieces=PIECES_OF_LOGITS,
            advance=advance,
        )
        for documents, weights in batches:
            rows, terms = np.nonzero((weights > 0) & self.folder.kept)
            indptr = np.searchsorted(rows, np.arange(len(weights) + 1))
            pool.add(documents, indptr, terms, weights[rows, terms])
        return pool.rows(self.vocabulary.id)
