"""Documents encoded with TILDEv2; for the formulae see `termwise.models.tildev2`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from termwise.encode.batches import DOCUMENTS, WINDOWS, run_batches
from termwise.encode.document_encoder import Advance, fingerprint_of, no_advance, part_of
from termwise.encode.encoder_folder import FLOORS, EncoderFolder, require_kind
from termwise.encode.expansion import expand, expandable
from termwise.encode.network_encoder import NetworkDocumentEncoder
from termwise.encode.onnx_session import OnnxSession, network_description
from termwise.encode.pieces import PieceIds, framed, windows_of
from termwise.encode.pooled_rows import RowPool
from termwise.encode.windows import chunks, window_sizes
from termwise.errors import ModelFormatError, ParameterError, VocabularyMismatchError
from termwise.models.tildev2 import Counting, TildeV2
from termwise.weights import TermWeights


class Expander:
    """Chooses the terms that a TILDE encoder appends to windows of text.

    Parameters
    ----------
    session : OnnxSession
        A network of kind ``tilde``.
    terms, counting
        How many terms, see `expand`.
    lift : float, optional
        See `TildeV2.expansion_lift`.

    Raises
    ------
    ModelFormatError
        If the encoder is of another kind, or there is a lift and it has no floors.
    CorruptModelError
        If its floors are damaged.
    """

    def __init__(self, session: OnnxSession, *, terms: int, counting: Counting, lift: float = 0.0) -> None:
        require_kind(session.folder, "tilde")
        self.session = session
        self.terms = terms
        self.counting = counting
        self.lift = lift
        self._usual = np.float32(lift) * _floors(session.folder) if lift else None
        self._allowed = expandable(session.folder.vocabulary)

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of what determines the expansions."""
        encoder = self.session.folder.fingerprint([self.session.file])
        return fingerprint_of({"encoder": encoder, **self.settings})

    @property
    def settings(self) -> dict[str, Any]:
        """How terms are chosen: ``terms``, ``counting`` and, unless it is 0, ``lift``."""
        return {
            "terms": self.terms,
            "counting": self.counting,
            **({"lift": self.lift} if self.lift else {}),
        }

    def expansions(self, windows: Sequence[PieceIds], *, advance: Advance = no_advance) -> list[PieceIds]:
        """Return the terms to append to each window, likeliest first.

        Parameters
        ----------
        windows : sequence of ndarray, int32
            Pieces of the text, without special ones, 1 or more each.
        """
        special = self.session.folder.manifest.special
        inputs = [framed(special.document, window, sep=special.sep) for window in windows]
        found: list[PieceIds] = [np.empty(0, dtype=np.int32)] * len(windows)
        done = 0
        for positions, logits in run_batches(self.session, inputs):
            passages = [inputs[position] for position in positions.tolist()]
            chosen = expand(
                logits,
                passages,
                allowed=self._allowed,
                terms=self.terms,
                counting=self.counting,
                usual=self._usual,
            )
            for position, terms in zip(positions.tolist(), chosen, strict=True):
                found[position] = terms
            done += len(positions)
            advance(done / len(windows))
        return found


def _floors(folder: EncoderFolder) -> npt.NDArray[np.float32]:
    """Return what is usual for each term."""
    if FLOORS not in folder.manifest.files:
        raise ModelFormatError(
            "the encoder that expands has no floors, which a lift is measured from",
            facts=[("encoder", folder.name), ("missing", FLOORS)],
            fixes=[
                "--set expansion_lift=0",
                f"termwise train convert {folder.name} --floors-from COLLECTION --out DIR",
            ],
        )
    return folder.floors


@final
class TildeV2DocumentEncoder(NetworkDocumentEncoder):
    """Computes rows of TILDEv2: the largest weight of each piece of the text and of its expansion.

    Parameters
    ----------
    model : TildeV2
        The settings; the encoders it names are ignored.
    session : OnnxSession
        A network of kind ``tildev2``.
    expander : OnnxSession, optional
        A network of kind ``tilde``; None if documents are not expanded.

    Raises
    ------
    ModelFormatError
        If an encoder is of another kind.
    VocabularyMismatchError
        If the two encoders have different vocabularies.
    ParameterError
        If there is an expander and the encoder does not say that it was trained with one, or windows and expansions
        are longer than the encoders can read, or windows share too many pieces.
    """

    def __init__(self, model: TildeV2, session: OnnxSession, expander: OnnxSession | None = None) -> None:
        super().__init__(session, "tildev2")
        manifest = self.folder.manifest
        self._model = model
        self._length = manifest.length if model.length is None else model.length
        self._expander = None
        if expander is not None:
            self._expander, self._length = self._fitted(expander)
        self._size, self._overlap = window_sizes(
            length=self._length, overlap=model.overlap, positions=manifest.positions
        )

    def _fitted(self, session: OnnxSession) -> tuple[Expander, int]:
        """Return the expander, and a length of windows that both networks can read."""
        manifest, model = self.folder.manifest, self._model
        trained = manifest.expansion
        if trained is None:
            raise ParameterError(
                "this encoder does not say that it was trained on documents that were expanded",
                facts=[("encoder", self.folder.name), ("expansion_encoder", session.folder.name)],
                fixes=[
                    "--set expansion_encoder=none",
                    "convert a published checkpoint again and say so: termwise train convert FOLDER "
                    f"--expand-with {session.folder.name} --out DIR",
                ],
            )
        expander = Expander(
            session,
            terms=trained.terms if model.expansion_terms is None else model.expansion_terms,
            counting=trained.counting if model.counting is None else model.counting,
            lift=trained.lift if model.expansion_lift is None else model.expansion_lift,
        )
        if session.folder.vocabulary.id != self.vocabulary.id:
            raise VocabularyMismatchError(
                "the encoder and the one that expands documents have different vocabularies",
                facts=[
                    ("encoder", f"{self.folder.name}, {len(self.vocabulary)} terms"),
                    ("expansion_encoder", f"{session.folder.name}, {len(session.folder.vocabulary)} terms"),
                ],
                fixes=["name the encoder it was trained with: --set expansion_encoder=FOLDER"],
            )
        length = min(manifest.length, trained.length) if model.length is None else model.length
        room = min(session.folder.manifest.positions, manifest.positions - expander.terms - 1)
        if length > room:
            raise ParameterError(
                "windows and their expansions are longer than what the encoders can read",
                facts=[
                    ("length", length),
                    ("expansion_terms", expander.terms),
                    ("the encoder reads", manifest.positions),
                    ("the one that expands reads", session.folder.manifest.positions),
                ],
                fixes=[f"--set length={room}"] if room >= 3 else ["--set expansion_terms=NUMBER, fewer"],
            )
        return expander, length

    @property
    def floors(self) -> None:
        """None: an absent term contributes 0."""

    @property
    def gives_log_likelihoods(self) -> bool:
        """False: weights are above 0."""
        return False

    @property
    def idf_power(self) -> float:
        """Power of the idf that the weights in an index are multiplied by."""
        power = self._model.idf_power
        return self.folder.manifest.idf_power if power is None else power

    @property
    def only_text_terms(self) -> bool:
        """Whether documents are not expanded: then every weighted term occurs in the text."""
        return self._expander is None

    @property
    def block(self) -> int:
        """Documents that are encoded together."""
        return DOCUMENTS

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of networks, precisions and settings."""
        return fingerprint_of(
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
        described = super().description
        if self._expander is None:
            return {**described, "expansion": None}
        trained = self.folder.manifest.expansion
        settings = self._expander.settings
        return {
            **described,
            "expansion": {
                **network_description(self._expander.session, self._expander.fingerprint, settings),
                "trained_with": trained and asdict(trained),
            },
        }

    def load(self) -> None:
        """Load the networks now; see `OnnxSession.load`."""
        super().load()
        if self._expander is not None:
            self._expander.session.load()

    def _rows(self, texts: Sequence[str], advance: Advance) -> TermWeights:
        pool = RowPool(len(texts))
        windows = windows_of(self.folder.analyzer, texts, size=self._size, overlap=self._overlap)
        for start, stop in chunks(len(windows), WINDOWS):
            heard = part_of(advance, start, stop, len(windows))
            inputs = self._inputs(windows.pieces[start:stop], part_of(heard, 0, 1, 2))
            heard = heard if self._expander is None else part_of(heard, 1, 2, 2)
            done = 0
            for positions, weights in run_batches(self._session, inputs):
                read = [inputs[position] for position in positions.tolist()]
                pool.add(windows.documents[start + positions], *occurrences(read, weights, self.folder.kept))
                done += len(positions)
                heard(done / len(inputs))
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


def occurrences(
    inputs: Sequence[PieceIds], weights: npt.NDArray[np.float32], kept: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], PieceIds, npt.NDArray[np.float32]]:
    """Return the weight of each occurrence of the pieces that take part.

    Parameters
    ----------
    inputs : sequence of b ndarrays, int32
        The pieces that the network read.
    weights : ndarray of shape (b, l), float32
        Its output for each position.
    kept : ndarray of shape (V,), bool
        Terms that take part.

    Returns
    -------
    indptr : ndarray of shape (b + 1,), int64
        Row boundaries.
    terms : ndarray of shape (nnz,), int32
        In the order of the input, repetitions included.
    weights : ndarray of shape (nnz,), float32
        Of each occurrence.

    Examples
    --------
    >>> read = [np.array([0, 2, 2, 1], dtype=np.int32), np.array([0, 2], dtype=np.int32)]
    >>> weights = np.array([[9, 0.5, 1.5, 9], [9, 0.25, 0, 0]], dtype=np.float32)
    >>> [part.tolist() for part in occurrences(read, weights, np.array([False, False, True]))]
    [[0, 2, 3], [2, 2, 2], [0.5, 1.5, 0.25]]
    """
    lengths = np.array([len(one) for one in inputs])
    numbers = np.concatenate(inputs)
    taken = kept[numbers]
    rows = np.repeat(np.arange(len(inputs)), lengths)[taken]
    indptr = np.searchsorted(rows, np.arange(len(inputs) + 1))
    values = weights[np.arange(weights.shape[1]) < lengths[:, None]]
    return indptr, numbers[taken], values[taken]
