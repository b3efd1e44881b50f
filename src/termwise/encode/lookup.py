"""Lookup encoder of documents; `termwise.models.lookup` has the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import run_windows
from termwise.encode.document_encoder import Advance
from termwise.encode.encoder_manifest import DOCUMENT_TOKENIZER
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.network_inputs import prompt_pieces
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import ModelFormatError, ParameterError
from termwise.fixes import Fix
from termwise.models import Lookup
from termwise.vectors import DocumentVectors, TermVectors


@final
class LookupDocumentEncoder(NetworkDocumentEncoder[DocumentVectors]):
    """Lookup: one vector of length 1, in 8 bits, for each window of a text; see `NetworkDocumentEncoder`.

    The vectors are those of both forms of the model, so that one work folder serves both.
    """

    def __init__(self, model: Lookup, session: OnnxSession) -> None:
        super().__init__(model, session)
        before = len(prompt_pieces(self.folder.document_tokenizer, self.folder.manifest.document_prompt))
        if self._overlap >= self._size - before:
            positions = self.folder.manifest.positions
            longer = min(self._length + before, positions)
            fixes = {
                Fix.use(overlap=0): before < self._size,
                Fix.use(length=longer): before + self._overlap < longer - 2,
            }
            raise ParameterError(
                "the windows have no room for a text between prompt and overlap",
                facts=[
                    ("pieces of a window", self._size),
                    ("prompt", before),
                    ("overlap", self._overlap),
                    ("encoder", f"{positions:,} positions"),
                ],
                fixes=[fix for fix, helps in fixes.items() if helps]
                or ["use an encoder with a shorter prompt"],
            )

    @property
    def term_vectors(self) -> TermVectors:
        """Query table of the encoder."""
        return self.folder.term_vectors

    @property
    def description(self) -> dict[str, Any]:
        """Description of the encoder, with the tokenizer and the prompt that determine the windows of a text."""
        manifest = self.folder.manifest
        described = super().description
        if manifest.document_tokenizer is not None:
            described["document_tokenizer"] = manifest.files[DOCUMENT_TOKENIZER].sha256
        if manifest.document_prompt:
            described["document_prompt"] = manifest.document_prompt
        return described

    @property
    def _settings(self) -> dict[str, Any]:
        return {"length": self._length, "overlap": self._overlap}

    def _rows(self, texts: Sequence[str], advance: Advance) -> DocumentVectors:
        documents: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        dimensions = self.folder.manifest.dimensions or 0
        outputs: list[npt.NDArray[np.float32]] = [np.empty((0, dimensions), dtype=np.float32)]
        for batch, vectors in run_windows(
            self._session,
            texts,
            marker=self.folder.document_special.cls,
            size=self._size,
            overlap=self._overlap,
            advance=advance,
        ):
            documents.append(batch)
            outputs.append(self._normalised(vectors))
        owners = np.concatenate(documents)
        # Windows of one document are of one length, so batches keep their order.
        order = np.argsort(owners, kind="stable")
        indptr = np.searchsorted(owners[order], np.arange(len(texts) + 1))
        return DocumentVectors.of(indptr, np.concatenate(outputs)[order])

    def _normalised(self, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True, dtype=np.float32))
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise ModelFormatError(
                "the network gives a vector without a direction",
                facts=[
                    ("file", self.folder.folder / self._session.file),
                    ("expected", "vectors of length 1"),
                    (
                        "seen",
                        f"a vector of length {float(lengths[~(lengths > 0) | ~np.isfinite(lengths)][0]):g}",
                    ),
                ],
                fixes=["export the encoder again: its weights may be damaged"],
            )
        unit: npt.NDArray[np.float32] = vectors / lengths
        return unit
