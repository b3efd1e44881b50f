"""Documents encoded with TILDE; the formulae stand with the model, `termwise.models.tilde`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.arguments import check_texts
from termwise.encode.batching import DOCUMENTS, run_windows
from termwise.encode.documents import Advance, part_of, unheard
from termwise.encode.folder import FLOORS
from termwise.encode.network import NetworkEncoder
from termwise.encode.rows import RowPool
from termwise.encode.session import OnnxSession
from termwise.encode.windows import chunks, window_sizes
from termwise.kernels.likelihood import excess_rows, log_sigmoid, telling
from termwise.models.tilde import Tilde
from termwise.weights import TermWeights

DENSE_DOCUMENTS = 64
"""`DOCUMENTS` where every term of a document is kept."""


@final
class TildeDocumentEncoder(NetworkEncoder):
    """Rows of TILDE, in the form that the model names.

    Parameters
    ----------
    model : Tilde
        The settings; its `encoder` is not looked at.
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
        if not self.minimum_floor:
            self._floors = np.ascontiguousarray(folder.floors[self._terms])

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """The mean ln P(t|d) of the compact form, shape (V,); None for the exact form."""
        return None if self.minimum_floor else self.folder.floors.astype(np.float64)

    @property
    def minimum_floor(self) -> bool:
        """Whether the form is exact: rows then hold ln P(t|d) of every term that takes part."""
        return self._model.form == "exact"

    @property
    def exact(self) -> bool:
        """False: rows also hold terms that are not in the text."""
        return False

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return DENSE_DOCUMENTS if self.minimum_floor else DOCUMENTS

    @property
    def _files(self) -> list[str]:
        return [self._session.file] if self.minimum_floor else [self._session.file, FLOORS]

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

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = unheard) -> TermWeights:
        """Return one row for each text.

        Parameters
        ----------
        texts : sequence of str
            Any number, of any length.
        advance : callable, optional
            Hears of the share of the work that is done.

        Returns
        -------
        TermWeights
            ``compact``: at most `keep` weights above 0 in a row. ``exact``: ln P(t|d), at most 0, of every term
            that takes part. In both, a text without a piece has an empty row.

        Raises
        ------
        ModelFormatError
            If the network gives something that is not a finite number.
        """
        check_texts(texts)
        encode = self._dense if self.minimum_floor else self._compact
        parts = []
        for first, last in chunks(len(texts), self.block):
            parts.append(encode(texts[first:last], part_of(advance, first, last, len(texts))))
        if not parts:
            return TermWeights([0], [], [], self.vocabulary.id)
        return TermWeights.concatenate(parts)

    def telling(
        self, terms: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """Return what the weights of the compact form are kept by, see `termwise.models.tilde`."""
        return telling(terms, weights, self.folder.floors)

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
        pool = RowPool(len(texts), keep=self._model.keep, keys=self.telling)
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
