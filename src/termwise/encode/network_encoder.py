"""What all encoders that run the network of an encoder folder have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.encode.document_encoder import Advance, fingerprint_of, no_advance, part_of
from termwise.encode.encoder_folder import EncoderFolder, require_kind
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.onnx_session import OnnxSession, network_description
from termwise.encode.windows import chunks
from termwise.text import Analyzer, Vocabulary
from termwise.validation import check_texts
from termwise.weights import TermWeights


class NetworkEncoder(ABC):
    """The network of an encoder folder and the settings it runs with.

    Parameters
    ----------
    session : OnnxSession
        The network.
    kind : {"tilde", "tildev2", "splade-doc"}
        The kind it has to be.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    """

    def __init__(self, session: OnnxSession, kind: EncoderKind) -> None:
        require_kind(session.folder, kind)
        self._session = session

    @property
    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """JSON-like settings that determine the output besides the network."""

    @property
    def _files(self) -> Sequence[str]:
        """Files of the folder that determine the output."""
        return [self._session.file]

    @property
    def folder(self) -> EncoderFolder:
        """The encoder folder."""
        return self._session.folder

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms of the network, numbered as it numbers them."""
        return self.folder.vocabulary

    @property
    def analyzer(self) -> Analyzer:
        """Cuts queries into word pieces and leaves out those that the cleaning removes."""
        return self.folder.query_analyzer

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of network, precision and settings."""
        return fingerprint_of({"encoder": self.folder.fingerprint(self._files), "settings": self._settings})

    @property
    def description(self) -> dict[str, Any]:
        """Network, precision, processor and settings, for the manifest of an index."""
        return network_description(self._session, self.fingerprint, self._settings)

    def load(self) -> None:
        """Load the network now; see `OnnxSession.load`."""
        self._session.load()


class NetworkDocumentEncoder(NetworkEncoder):
    """A network that encodes documents, one block at a time; each kind defines what the rows hold."""

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each term that a query holds, shape (V,); None where terms of a query are counted."""
        return self.folder.query_weights

    @property
    @abstractmethod
    def block(self) -> int:
        """Documents that are encoded together."""

    @abstractmethod
    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        """Return one row for each text of a block."""

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return one row for each text.

        Parameters
        ----------
        texts : sequence of str
            Any number, of any length.
        advance : callable, optional
            Called with the fraction that is done.

        Returns
        -------
        TermWeights
            A text without a piece has an empty row.

        Raises
        ------
        ModelFormatError
            If a network gives something that is not a finite number.
        """
        check_texts(texts)
        parts = [
            self._rows(texts[first:last], part_of(advance, first, last, len(texts)))
            for first, last in chunks(len(texts), self.block)
        ]
        return TermWeights.concatenate(parts) if parts else TermWeights([0], [], [], self.vocabulary.id)
