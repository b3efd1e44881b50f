"""Queries read by the network of TILDE: for the document likelihood, which needs the network for each query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import run_batches
from termwise.encode.network_encoder import NetworkEncoder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pieces import PieceIds, framed
from termwise.encode.windows import cut_windows, window_sizes
from termwise.kernels.likelihood import log_sigmoid
from termwise.models.checks import LONGEST_WINDOW, check_whole
from termwise.validation import check_texts


@final
class TildeQueryEncoder(NetworkEncoder):
    """Computes how likely each term is to be in a document, given the query: ln P(t|q).

    With these the document likelihood of TILDE [1]_ is

        DL(d|q) = 1/n * sum over the n kept pieces t of the document, with repetitions, of ln P(t|q)

    Searching an index runs this only if it is handed one.

    Parameters
    ----------
    session : OnnxSession
        A network of kind ``tilde``.
    overlap : int, optional
        Pieces that neighbouring windows share, for queries longer than the network can read; by default an eighth of
        a window.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    ParameterError
        If windows share more pieces than they have, or `overlap` is not a whole number of at least 0.

    References
    ----------
    .. [1] S. Zhuang and G. Zuccon, *TILDE: Term Independent Likelihood moDEl for Passage Re-ranking*, SIGIR 2021.
    """

    def __init__(self, session: OnnxSession, *, overlap: int | None = None) -> None:
        super().__init__(session, "tilde")
        if overlap is not None:
            check_whole("a query encoder", "overlap", overlap, least=0, most=LONGEST_WINDOW)
        positions = self.folder.manifest.positions
        self._size, self._overlap = window_sizes(length=positions, overlap=overlap, positions=positions)

    @property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Mark the terms that take part, shape (V,); the likelihoods of others are meaningless."""
        return self.folder.kept

    @property
    def _settings(self) -> dict[str, Any]:
        return {"side": "query", "length": self._size + 2, "overlap": self._overlap}

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Run the network over each query.

        A query may be a document, for query by example; documents of the collection can be encoded this way when they
        are indexed (``side="query"`` of `Tilde`). A query that is longer than the network can read takes one pass per
        window, and each term its largest likelihood over the windows.

        Parameters
        ----------
        texts : sequence of str of length n
            For a text without a piece the network reads the marker and the separator alone.

        Returns
        -------
        ndarray of shape (n, V), float32
            ln P(t|q), natural logarithms, at most 0.

        Raises
        ------
        ModelFormatError
            If the network gives something that is not a finite number.
        """
        check_texts(texts)
        special = self.folder.manifest.special
        inputs: list[PieceIds] = []
        owners: list[int] = []
        for position, text in enumerate(texts):
            numbers = self.folder.analyzer.numbers(text)
            windows = cut_windows(len(numbers), size=self._size, overlap=self._overlap)
            for start, stop in windows or [(0, 0)]:
                inputs.append(framed(special.query, numbers[start:stop], sep=special.sep))
                owners.append(position)
        largest = np.full((len(texts), self.folder.manifest.terms), -np.inf, dtype=np.float32)
        for positions, logits in run_batches(self._session, inputs):
            for row, position in enumerate(positions.tolist()):
                owner = owners[position]
                np.maximum(largest[owner], logits[row], out=largest[owner])
        return log_sigmoid(largest)
