"""Base classes of the encoders that run the network of an encoder folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import DOCUMENTS
from termwise.encode.document_encoder import Advance, no_advance
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.folder_encoder import FolderEncoder, Rows, encode_blocks
from termwise.encode.network_inputs import window_sizes
from termwise.encode.onnx_session import OnnxSession
from termwise.models import NetworkModel
from termwise.vectors import TermVectors


class NetworkEncoder(FolderEncoder):
    """Network of an encoder folder, of the required kind, with its settings."""

    def __init__(self, session: OnnxSession, kind: EncoderKind) -> None:
        super().__init__(session.folder, kind)
        self._session = session

    @property
    def _files(self) -> Sequence[str]:
        """Files of the folder that determine the output."""
        return [self._session.file]

    @property
    def description(self) -> dict[str, Any]:
        """Network, precision, processor and settings, for the manifest of an index."""
        return self._session.encoder_description(self.fingerprint, self._settings)

    def load(self) -> None:
        """Load the network, see `OnnxSession.load`."""
        self._session.load()


class NetworkDocumentEncoder(NetworkEncoder, Generic[Rows]):
    """Base class of document encoders; a subclass computes the rows of one block of texts.

    The properties below hold for sparse weights above 0; a subclass overrides those that differ. The name of the model
    is the kind of the encoder, and its `encoder` is ignored. `length` is the number of pieces in a window, if it
    differs from that of the model.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind.
    ParameterError
        If the windows are longer than the input of the encoder, or their overlap is not smaller than a window.
    """

    def __init__(self, model: NetworkModel, session: OnnxSession, *, length: int | None = None) -> None:
        super().__init__(session, cast("EncoderKind", model.name))
        manifest = self.folder.manifest
        power = getattr(model, "idf_power", None)
        self._idf_power: float = manifest.idf_power if power is None else power
        self._length = length or model.length or manifest.length
        self._size, self._overlap = window_sizes(
            length=self._length, overlap=model.overlap, positions=manifest.positions
        )

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each query term, shape (V,), for any count; None if the weight is the count."""
        return self.folder.query_weights

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:
        """Contribution of an absent term, shape (V,); None if it is 0 for all."""
        return None

    @property
    def gives_log_likelihoods(self) -> bool:
        """Whether rows contain ln P(t|d) of every term of the cleaned vocabulary."""
        return False

    @property
    def idf_power(self) -> float:
        """Power of the idf that an index build multiplies weights by; 0 for none."""
        return self._idf_power

    @property
    def only_text_terms(self) -> bool:
        """Whether every weighted term occurs in the text of its document."""
        return False

    @property
    def term_vectors(self) -> TermVectors | None:
        """Query table of an encoder of vectors; None for term weights."""
        return None

    @property
    def block(self) -> int:
        """Largest number of documents that are encoded together."""
        return DOCUMENTS

    @abstractmethod
    def _rows(self, texts: Sequence[str], advance: Advance) -> Rows:
        """Return one row for each text of a block."""

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> Rows:
        """Return one row for each text; the row of a text without word pieces is empty.

        `advance` is called with the fraction of the work done. `ModelFormatError` if the output of a network is not
        finite.
        """
        return encode_blocks(texts, self.block, self._rows, advance)
