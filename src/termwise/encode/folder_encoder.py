"""Base class of the encoders that read an encoder folder, and the division of their texts into blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from termwise.encode.document_encoder import Advance, part_of, settings_fingerprint
from termwise.encode.encoder_folder import EncoderFolder, require_kind
from termwise.encode.encoder_manifest import EncoderKind
from termwise.encode.network_inputs import chunks
from termwise.text import Analyzer, Vocabulary
from termwise.validation import check_texts
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights

Rows = TypeVar("Rows", TermWeights, DocumentVectors)


class FolderEncoder(ABC):
    """Encoder of the required kind, whose output depends on files of its folder and on settings."""

    def __init__(self, folder: EncoderFolder, kind: EncoderKind) -> None:
        require_kind(folder, kind)
        self.folder = folder

    @property
    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """JSON-like settings that determine the output together with the files."""

    @property
    @abstractmethod
    def _files(self) -> Sequence[str]:
        """Files of the folder that determine the output."""

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms of the encoder."""
        return self.folder.vocabulary

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of queries: word pieces, then the cleaning of the encoder."""
        return self.folder.query_analyzer

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the files and the settings, after ``sha256:``."""
        return settings_fingerprint(
            {"encoder": self.folder.fingerprint(self._files), "settings": self._settings}
        )


def encode_blocks(
    texts: Sequence[str], block: int, encode: Callable[[Sequence[str], Advance], Rows], advance: Advance
) -> Rows:
    """Encode texts in blocks of at most `block` texts, and return the rows of all; `encode` encodes one block."""
    check_texts(texts)
    parts: list[Rows] = [
        encode(texts[first:last], part_of(advance, first, last, len(texts)))
        for first, last in chunks(len(texts), block)
    ]
    return type(parts[0]).concatenate(parts) if parts else encode([], advance)
