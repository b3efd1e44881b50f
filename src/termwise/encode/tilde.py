"""Documents encoded with TILDE; for the formulae see `termwise.models.tilde`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import DOCUMENTS, run_windows
from termwise.encode.document_encoder import Advance
from termwise.encode.encoder_folder import FLOORS
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pooled_rows import RowPool
from termwise.encode.windows import window_sizes
from termwise.kernels.likelihood import excess_rows, log_sigmoid, pruning_keys
from termwise.models.tilde import Tilde
from termwise.weights import TermWeights

DENSE_DOCUMENTS = 64
"""`DOCUMENTS` for the exact form, which keeps every term of a document."""


@final
class TildeDocumentEncoder(NetworkDocumentEncoder):
    """Computes rows of TILDE, in the form that the model names.

    ``compact``: at most `keep` weights above 0. ``exact``: ln P(t|d), at most 0, of every term that takes part.

    Parameters
    ----------
    model : Tilde
        The settings; its `encoder` is ignored.
    session : OnnxSession
        A network of kind ``tilde``.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind, or lacks the floors of the compact form.
    ParameterError
        If the windows are longer than the encoder can read or share too many pieces.
    """

    def __init__(self, model: Tilde, session: OnnxSession) -> None:
        super().__init__(session, "tilde")
        folder = self.folder
        self._model = model
        length = folder.manifest.length if model.length is None else model.length
        self._size, self._overlap = window_sizes(
            length=length, overlap=model.overlap, positions=folder.manifest.positions
        )
        special = folder.manifest.special
        self._marker = special.document if model.side == "document" else special.query
        self._terms = np.flatnonzero(folder.kept)
        if not self.gives_log_likelihoods:
            self._floors = np.ascontiguousarray(folder.floors[self._terms])

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """The mean ln P(t|d) of the compact form, shape (V,); None for the exact form."""
        return None if self.gives_log_likelihoods else self.folder.floors.astype(np.float64)

    @property
    def gives_log_likelihoods(self) -> bool:
        """Whether the form is exact: rows then hold ln P(t|d) for every term that takes part."""
        return self._model.form == "exact"

    @property
    def idf_power(self) -> float:
        """0: weights above a floor are not multiplied."""
        return 0.0

    @property
    def only_text_terms(self) -> bool:
        """False: rows also hold terms that are not in the text."""
        return False

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return DENSE_DOCUMENTS if self.gives_log_likelihoods else DOCUMENTS

    @property
    def _files(self) -> list[str]:
        return [self._session.file] if self.gives_log_likelihoods else [self._session.file, FLOORS]

    @property
    def _settings(self) -> dict[str, Any]:
        model = self._model
        return {
            "form": model.form,
            "keep": model.keep,
            "length": self._size + 2,
            "overlap": self._overlap,
            "side": model.side,
        }

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        return self._dense(texts, advance) if self.gives_log_likelihoods else self._compact(texts, advance)

    def pruning_keys(
        self, terms: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """Return what the compact form ranks weights by to choose those it keeps, see `termwise.models.tilde`."""
        return pruning_keys(terms, weights, self.folder.floors)

    def _outputs(
        self, texts: Sequence[str], advance: Advance
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
        return run_windows(
            self._session,
            texts,
            marker=self._marker,
            size=self._size,
            overlap=self._overlap,
            advance=advance,
        )

    def _compact(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        pool = RowPool(len(texts), keep=self._model.keep, keys=self.pruning_keys)
        for documents, logits in self._outputs(texts, advance):
            pool.add(documents, *excess_rows(logits, self._terms, self._floors))
        return pool.rows(self.vocabulary.id)

    def _dense(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        largest = np.full((len(texts), len(self._terms)), -np.inf, dtype=np.float32)
        for documents, logits in self._outputs(texts, advance):
            for document, row in zip(documents.tolist(), logits[:, self._terms], strict=True):
                np.maximum(largest[document], row, out=largest[document])
        seen = np.isfinite(largest[:, 0]) if len(self._terms) else np.zeros(len(texts), dtype=np.bool_)
        indptr = np.concatenate([[0], np.cumsum(seen * len(self._terms))])
        weights = log_sigmoid(largest[seen])
        return TermWeights(indptr, np.tile(self._terms, len(weights)), weights.ravel(), self.vocabulary.id)
