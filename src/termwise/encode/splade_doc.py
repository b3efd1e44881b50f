"""Documents encoded with SPLADE-doc; the formulae stand with the model, `termwise.models.splade_doc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from termwise.arguments import check_texts
from termwise.encode.batching import DOCUMENTS, PIECES_OF_LOGITS, run_windows
from termwise.encode.documents import Advance, part_of, unheard
from termwise.encode.network import NetworkEncoder
from termwise.encode.rows import RowPool
from termwise.encode.session import OnnxSession
from termwise.encode.windows import chunks, window_sizes
from termwise.models.splade_doc import SpladeDoc
from termwise.weights import TermWeights


@final
class SpladeDocumentEncoder(NetworkEncoder):
    """Rows of SPLADE-doc: the weights above 0 of the terms that take part.

    Parameters
    ----------
    model : SpladeDoc
        The settings; its `encoder` is not looked at.
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
    def minimum_floor(self) -> bool:
        """False: weights are above 0."""
        return False

    @property
    def idf_power(self) -> float:
        """Power of the idf that the weights in an index are multiplied by."""
        power = self._model.idf_power
        return self.folder.manifest.idf_power if power is None else power

    @property
    def exact(self) -> bool:
        """False: rows also hold terms that are not in the text."""
        return False

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return DOCUMENTS

    @property
    def _settings(self) -> dict[str, Any]:
        return {"keep": self._model.keep, "length": self._size + 2, "overlap": self._overlap}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = unheard) -> TermWeights:
        """Return one row for each text: weights above 0, the `keep` largest where the model says so.

        A text without a piece has an empty row.

        Raises
        ------
        ModelFormatError
            If the network gives something that is not a finite number.
        """
        check_texts(texts)
        pool = RowPool(len(texts), keep=self._model.keep)
        for first, last in chunks(len(texts), DOCUMENTS):
            found = run_windows(
                self._session,
                texts[first:last],
                marker=self.folder.manifest.special.cls,
                size=self._size,
                overlap=self._overlap,
                pieces=PIECES_OF_LOGITS,
                advance=part_of(advance, first, last, len(texts)),
            )
            for documents, weights in found:
                rows, terms = np.nonzero((weights > 0) & self.folder.kept)
                indptr = np.searchsorted(rows, np.arange(len(weights) + 1))
                pool.add(first + documents, indptr, terms, weights[rows, terms])
        return pool.rows(self.vocabulary.id)
