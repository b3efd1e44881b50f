"""TILDEv2 encoder of documents and the expander of passages; `termwise.models.tildev2` has the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import WINDOWS, run_batches
from termwise.encode.document_encoder import Advance, no_advance, part_of, settings_fingerprint
from termwise.encode.encoder_folder import FLOORS, EncoderFolder, require_kind
from termwise.encode.expansion import expand, expandable
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.network_inputs import PieceIds, chunks, framed, windows_of
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.pooled_rows import RowPool
from termwise.errors import ModelFormatError, ParameterError, VocabularyMismatchError
from termwise.fixes import Call, Code, Fix
from termwise.models.tildev2 import Counting, TildeV2
from termwise.weights import TermWeights


class Expander:
    """Expansion of passages by a network of kind ``tilde``; a lift needs its floors. See `expand`."""

    def __init__(self, session: OnnxSession, *, terms: int, counting: Counting, lift: float = 0.0) -> None:
        require_kind(session.folder, "tilde")
        self.session = session
        self.terms = terms
        self.counting = counting
        self.lift = lift
        self._baseline = np.float32(lift) * _floors(session.folder) if lift else None
        self._allowed = expandable(session.folder.vocabulary)

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of everything that determines the expansions."""
        encoder = self.session.folder.fingerprint([self.session.file])
        return settings_fingerprint({"encoder": encoder, **self.settings})

    @property
    def settings(self) -> dict[str, Any]:
        """``terms``, ``counting`` and, unless it is 0, ``lift``."""
        lift = {"lift": self.lift} if self.lift else {}
        return {"terms": self.terms, "counting": self.counting, **lift}

    def expansions(self, windows: Sequence[PieceIds], *, advance: Advance = no_advance) -> list[PieceIds]:
        """Return the terms to append to each window, most likely first.

        A window has 1 or more piece ids, without special tokens. `advance` is called with the fraction of windows done.
        """
        special = self.session.folder.manifest.special
        inputs = [framed(special.document, window, sep=special.sep) for window in windows]
        expansions: list[PieceIds] = [np.empty(0, dtype=np.int32)] * len(windows)
        done = 0
        for positions, logits in run_batches(self.session, inputs):
            batch = expand(
                logits,
                [inputs[position] for position in positions.tolist()],
                allowed=self._allowed,
                terms=self.terms,
                counting=self.counting,
                baseline=self._baseline,
            )
            for position, terms in zip(positions.tolist(), batch, strict=True):
                expansions[position] = terms
            done += len(positions)
            advance(done / len(windows))
        return expansions


def _floors(folder: EncoderFolder) -> npt.NDArray[np.float32]:
    if FLOORS not in folder.manifest.files:
        raise ModelFormatError(
            "the expanding encoder has no floors, which an expansion lift needs",
            facts=[("encoder", folder.name), ("missing", FLOORS)],
            fixes=[
                Fix.use(expansion_lift=0),
                Fix.sentence(
                    "measure them with {}",
                    Fix.call("convert_checkpoint", folder.name, floors_from=Code("COLLECTION")),
                ),
            ],
        )
    return folder.floors


@final
class TildeV2DocumentEncoder(NetworkDocumentEncoder[TermWeights]):
    """TILDEv2: the largest weight of each piece of the text and of its expansion, see `NetworkDocumentEncoder`.

    Without the network of an expander, of kind ``tilde``, there is no expansion. The two encoders need the same
    vocabulary, the encoder a record of the expansion of its training passages, and windows must fit with their
    expansions.
    """

    def __init__(self, model: TildeV2, session: OnnxSession, expander: OnnxSession | None = None) -> None:
        require_kind(session.folder, "tildev2")
        self._expander, length = None, None
        if expander is not None:
            self._expander, length = _expander_and_length(model, session.folder, expander)
        super().__init__(model, session, length=length)

    @property
    def only_text_terms(self) -> bool:
        """True without expansion."""
        return self._expander is None

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of networks, precisions and settings."""
        return settings_fingerprint(
            {
                "encoder": self.folder.fingerprint([self._session.file]),
                "expansion": self._expander and self._expander.fingerprint,
                "settings": self._settings,
            }
        )

    @property
    def _settings(self) -> dict[str, Any]:
        return {"length": self._length, "overlap": self._overlap}

    @property
    def description(self) -> dict[str, Any]:
        """Networks, precisions, processor and settings, for the manifest of an index."""
        if self._expander is None:
            return {**super().description, "expansion": None}
        trained = self.folder.manifest.expansion
        session = self._expander.session
        network = session.encoder_description(self._expander.fingerprint, self._expander.settings)
        return {**super().description, "expansion": {**network, "trained_with": trained and asdict(trained)}}

    def load(self) -> None:
        """Load the networks, see `OnnxSession.load`."""
        super().load()
        if self._expander is not None:
            self._expander.session.load()

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        pool = RowPool(len(texts))
        windows = windows_of(self.folder.analyzer, texts, size=self._size, overlap=self._overlap)
        count = len(windows.pieces)
        for start, stop in chunks(count, WINDOWS):
            chunk_advance = part_of(advance, start, stop, count)
            inputs = self._inputs(windows.pieces[start:stop], part_of(chunk_advance, 0, 1, 2))
            if self._expander is not None:
                chunk_advance = part_of(chunk_advance, 1, 2, 2)
            done = 0
            for positions, weights in run_batches(self._session, inputs):
                batch = [inputs[position] for position in positions.tolist()]
                pool.add(windows.documents[start + positions], *occurrences(batch, weights, self.folder.kept))
                done += len(positions)
                chunk_advance(done / len(inputs))
        return pool.rows(self.vocabulary.id)

    def _inputs(self, windows: Sequence[PieceIds], advance: Advance) -> list[PieceIds]:
        special = self.folder.manifest.special
        if self._expander is None:
            return [framed(special.cls, window, sep=special.sep) for window in windows]
        expansions = self._expander.expansions(windows, advance=advance)
        return [
            framed(special.cls, window, terms, sep=special.sep)
            for window, terms in zip(windows, expansions, strict=True)
        ]


def _expander_and_length(model: TildeV2, folder: EncoderFolder, session: OnnxSession) -> tuple[Expander, int]:
    """Return the expander, and a length of windows that fits the input of both networks."""
    manifest, expanding = folder.manifest, session.folder
    trained = manifest.expansion
    if trained is None:
        raise ParameterError(
            "this encoder records no expansion of its training passages",
            facts=[("encoder", folder.name), ("expansion_encoder", expanding.name)],
            fixes=[
                Fix.use(expansion_encoder="none"),
                Fix.sentence(
                    "convert the published checkpoint again with {}",
                    Fix.call(
                        "convert_checkpoint", expansion=Call.of("Expansion", expanding.name, Code("TERMS"))
                    ),
                ),
            ],
        )
    expander = Expander(
        session,
        terms=trained.terms if model.expansion_terms is None else model.expansion_terms,
        counting=trained.counting if model.counting is None else model.counting,
        lift=trained.lift if model.expansion_lift is None else model.expansion_lift,
    )
    if expanding.vocabulary.id != folder.vocabulary.id:
        raise VocabularyMismatchError(
            "the encoder and the expanding encoder have different vocabularies",
            facts=[
                ("encoder", f"{folder.name}, {len(folder.vocabulary)} terms"),
                ("expansion_encoder", f"{expanding.name}, {len(expanding.vocabulary)} terms"),
            ],
            fixes=[
                Fix.use("use {}, the expanding encoder of its training", expansion_encoder=Code("FOLDER"))
            ],
        )
    length = min(manifest.length, trained.length) if model.length is None else model.length
    room = min(expanding.manifest.positions, manifest.positions - expander.terms - 1)
    if length > room:
        raise ParameterError(
            "the windows with their expansions are longer than the input of the encoders",
            facts=[
                ("length", length),
                ("expansion_terms", expander.terms),
                ("input of the encoder", manifest.positions),
                ("input of the expanding encoder", expanding.manifest.positions),
            ],
            fixes=[
                Fix.use(length=room)
                if room >= 3
                else Fix.use("use {}, fewer terms", expansion_terms=Code("NUMBER"))
            ],
        )
    return expander, length


def occurrences(
    inputs: Sequence[PieceIds], weights: npt.NDArray[np.float32], kept: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], PieceIds, npt.NDArray[np.float32]]:
    """Return the weight of each occurrence of a piece of the cleaned vocabulary, in the order of the inputs.

    The output of the network has the shape (b, l). The result has boundaries of shape (b + 1,), terms and weights.

    Examples
    --------
    >>> inputs = [np.array([0, 2, 2, 1], dtype=np.int32), np.array([0, 2], dtype=np.int32)]
    >>> weights = np.array([[9, 0.5, 1.5, 9], [9, 0.25, 0, 0]], dtype=np.float32)
    >>> [part.tolist() for part in occurrences(inputs, weights, np.array([False, False, True]))]
    [[0, 2, 3], [2, 2, 2], [0.5, 1.5, 0.25]]
    """
    lengths = np.array([len(ids) for ids in inputs])
    terms = np.concatenate(inputs)
    mask = kept[terms]
    rows = np.repeat(np.arange(len(inputs)), lengths)[mask]
    indptr = np.searchsorted(rows, np.arange(len(inputs) + 1))
    values = weights[np.arange(weights.shape[1]) < lengths[:, None]]
    return indptr, terms[mask], values[mask]
