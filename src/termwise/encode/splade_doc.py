"""Documents encoded with SPLADE-doc; for the formulae see `termwise.models.splade_doc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from termwise.encode.batches import DOCUMENTS, PIECES_OF_LOGITS, run_windows
from termwise.encode.document_encoder import Advance
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pooled_rows import RowPool
from termwise.encode.windows import window_sizes
from termwise.models.splade_doc import SpladeDoc
from termwise.weights import TermWeights


@final
class SpladeDocumentEncoder(NetworkDocumentEncoder):
    """Computes rows of SPLADE-doc: weights above 0 of terms that take part, or the `keep` largest of these.

    Parameters
    ----------
    model : SpladeDoc
        The settings; its `encoder` is ignored.
    session : OnnxSession
        A network of kind ``splade-doc``.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    ParameterError
        If the windows are longer than the encoder can read or share too many pieces.
    """

    def __init__(self, model: SpladeDoc, session: OnnxSession) -> None:
        super().__init__(session, "splade-doc")
        manifest = self.folder.manifest
        self._model = model
        length = manifest.length if model.length is None else model.length
        self._size, self._overlap = window_sizes(
            length=length, overlap=model.overlap, positions=manifest.positions
        )

    @property
    def floors(self) -> None:
        """None: an absent term contributes 0."""

    @property
    def gives_log_likelihoods(self) -> bool:
        """False: weights are above 0."""
        return False

    @property
    def idf_power(self) -> float:
        """Power of the idf that the weights in an index are multiplied by."""
        power = self._model.idf_power
        return self.folder.manifest.idf_power if power is None else power

    @property
    def only_text_terms(self) -> bool:
        """False: rows also hold terms that are not in the text."""
        return False

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return DOCUMENTS

    @property
    def _settings(self) -> dict[str, Any]:
        return {"keep": self._model.keep, "length": self._size + 2, "overlap": self._overlap}

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        pool = RowPool(len(texts), keep=self._model.keep)
        found = run_windows(
            self._session,
            texts,
            marker=self.folder.manifest.special.cls,
            size=self._size,
            overlap=self._overlap,
            pieces=PIECES_OF_LOGITS,
            advance=advance,
        )
        for documents, weights in found:
            rows, terms = np.nonzero((weights > 0) & self.folder.kept)
            indptr = np.searchsorted(rows, np.arange(len(weights) + 1))
            pool.add(documents, indptr, terms, weights[rows, terms])
        return pool.rows(self.vocabulary.id)
