"""TILDE encoders of documents and of queries; `termwise.models.tilde` has the formulas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import DOCUMENTS, run_batches, run_windows
from termwise.encode.document_encoder import Advance
from termwise.encode.encoder_folder import FLOORS
from termwise.encode.network_encoder import NetworkDocumentEncoder, NetworkEncoder
from termwise.encode.network_inputs import PieceIds, cut_windows, framed, window_sizes
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pooled_rows import RowPool
from termwise.kernels.likelihood import excess_rows, log_sigmoid, pruning_keys
from termwise.models.tilde import Tilde
from termwise.validation import check_texts
from termwise.weights import TermWeights

DENSE_DOCUMENTS = 64
"""Documents in a block of the exact form, whose rows have every term."""


@final
class TildeDocumentEncoder(NetworkDocumentEncoder[TermWeights]):
    """TILDE document encoder for the form of the model, see `NetworkDocumentEncoder`.

    ``compact``: at most `keep` weights above 0. ``exact``: ln P(t|d), at most 0, of every term of the cleaned
    vocabulary. An encoder without floors has no compact form.
    """

    def __init__(self, model: Tilde, session: OnnxSession) -> None:
        super().__init__(model, session)
        self._model = model
        self._terms = np.flatnonzero(self.folder.kept)
        if not self.gives_log_likelihoods:
            self._floors = np.ascontiguousarray(self.folder.floors[self._terms])

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """Mean ln P(t|d) of the compact form, shape (V,); None for the exact form."""
        return None if self.gives_log_likelihoods else self.folder.floors.astype(np.float64)

    @property
    def gives_log_likelihoods(self) -> bool:
        """Whether the form is exact."""
        return self._model.form == "exact"

    @property
    def block(self) -> int:
        """Number of documents that are encoded together."""
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
            "length": self._length,
            "overlap": self._overlap,
            "side": model.side,
        }

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        return self._dense(texts, advance) if self.gives_log_likelihoods else self._compact(texts, advance)

    def pruning_keys(
        self, terms: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """Return the keys by which the compact form chooses `keep` weights, see `termwise.models.tilde`."""
        return pruning_keys(terms, weights, self.folder.floors)

    def _outputs(
        self, texts: Sequence[str], advance: Advance
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]]:
        special = self.folder.manifest.special
        return run_windows(
            self._session,
            texts,
            marker=special.document if self._model.side == "document" else special.query,
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
        filled = np.isfinite(largest[:, 0]) if len(self._terms) else np.zeros(len(texts), dtype=np.bool_)
        indptr = np.concatenate([[0], np.cumsum(filled * len(self._terms))])
        weights = log_sigmoid(largest[filled])
        return TermWeights(indptr, np.tile(self._terms, len(weights)), weights.ravel(), self.vocabulary.id)


@final
class TildeQueryEncoder(NetworkEncoder):
    """TILDE query encoder: ln P(t|q), the log-likelihood of each term in a document, given the query.

    It computes the values for the document likelihood of TILDE [1]_, with one run of the network per query:

        DL(d|q) = 1/n * sum over the n kept pieces t of the document, with repetitions, of ln P(t|q)

    Parameters
    ----------
    session : OnnxSession
        Network of kind ``tilde``.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.

    References
    ----------
    .. [1] S. Zhuang and G. Zuccon, *TILDE: Term Independent Likelihood moDEl for Passage Re-ranking*, SIGIR 2021.
    """

    def __init__(self, session: OnnxSession) -> None:
        super().__init__(session, "tilde")
        positions = self.folder.manifest.positions
        self._size, self._overlap = window_sizes(length=positions, overlap=None, positions=positions)

    @property
    def kept(self) -> npt.NDArray[np.bool_]:
        """True for the terms of the cleaned vocabulary, shape (V,); the likelihoods of others are meaningless."""
        return self.folder.kept

    @property
    def _settings(self) -> dict[str, Any]:
        return {"side": "query", "length": self._size + 2, "overlap": self._overlap}

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Run the network over queries.

        A query may be a whole document (query by example). A query that exceeds the input of the network is cut into
        windows, of which neighbours share an eighth, and a term gets its largest likelihood over the windows.

        Parameters
        ----------
        texts : sequence of str of length n
            The input of a text without word pieces is the query marker and the separator.

        Returns
        -------
        ndarray of shape (n, V), float32
            ln P(t|q), at most 0.

        Raises
        ------
        ModelFormatError
            If the output of the network is not finite.
        """
        check_texts(texts)
        special = self.folder.manifest.special
        inputs: list[PieceIds] = []
        queries: list[int] = []
        for query, text in enumerate(texts):
            pieces = self.folder.analyzer.numbers(text)
            windows = cut_windows(len(pieces), size=self._size, overlap=self._overlap)
            for start, stop in windows or [(0, 0)]:
                inputs.append(framed(special.query, pieces[start:stop], sep=special.sep))
                queries.append(query)
        largest = np.full((len(texts), self.folder.manifest.terms), -np.inf, dtype=np.float32)
        for positions, logits in run_batches(self._session, inputs):
            for row, position in enumerate(positions.tolist()):
                query = queries[position]
                np.maximum(largest[query], logits[row], out=largest[query])
        return log_sigmoid(largest)
