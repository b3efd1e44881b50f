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
    """SPLADE-doc: weights above 0 of terms of the cleaned vocabulary, or only the largest."""

    def __init__(self, model: SpladeDoc, session: OnnxSession) -> None:
        super().__init__(model, session)
        self._model = model

    @property
    def _settings(self) -> dict[str, Any]:
        settings = {"keep": self._model.keep, "length": self._length, "overlap": self._overlap}
        ratio = self._model.prune_ratio
        return settings | {"prune_ratio": ratio} if ratio else settings

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
        return _pruned(pool.rows(self.vocabulary.id), self._model.prune_ratio)


def _pruned(rows: TermWeights, ratio: float) -> TermWeights:
    """Drop weights below a share of the largest weight of their row.

    Examples
    --------
    >>> rows = TermWeights.from_rows([{0: 2.0, 1: 0.5}, {}, {1: 0.25, 2: 0.5}], "toy")
    >>> _pruned(rows, 0.5) == TermWeights.from_rows([{0: 2.0}, {}, {1: 0.25, 2: 0.5}], "toy")
    True
    """
    if ratio == 0:
        return rows
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    largest = np.zeros(len(rows), dtype=np.float32)
    np.maximum.at(largest, row_of, rows.weights)
    kept = rows.weights >= np.float32(ratio) * largest[row_of]
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return TermWeights(indptr, rows.terms[kept], rows.weights[kept], rows.vocabulary)
