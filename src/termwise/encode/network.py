"""What all encoders have in common that run the network of an encoder folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from termwise.encode.documents import fingerprint_of
from termwise.encode.folder import EncoderFolder, require_kind
from termwise.encode.manifest import Kind
from termwise.encode.session import OnnxSession, network_description
from termwise.text import Analyzer, Vocabulary


class NetworkEncoder(ABC):
    """A network of an encoder folder and the settings it is run with.

    Parameters
    ----------
    session : OnnxSession
        The network.
    kind : {"tilde", "tildev2", "splade-doc"}
        What it has to be.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    """

    def __init__(self, session: OnnxSession, kind: Kind) -> None:
        require_kind(session.folder, kind)
        self._session = session

    @property
    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What decides about the numbers besides the network, JSON-like."""

    @property
    def _files(self) -> Sequence[str]:
        """Files of the folder that decide about the numbers."""
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
        """What cuts queries: word pieces without those that are cleaned away."""
        return self.folder.query_analyzer

    @property
    def idf_power(self) -> float:
        """Power of the idf that the weights in an index are multiplied by; it changes no row, nor the fingerprint."""
        return 0.0

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
