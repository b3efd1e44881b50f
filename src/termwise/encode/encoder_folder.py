"""Encoder folder: a trained network, its tokenizer and the manifest that describes them.

``docs/encoder-format.md`` describes the files, and the inputs and outputs of the networks. Files that the manifest does
not list, such as weights to continue training from, a model card and the training log, are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from termwise.encode.document_tokenizer import DocumentTokenizer
from termwise.encode.encoder_manifest import (
    DOCUMENT_TOKENIZER,
    FOLDERS,
    NAME,
    EncoderKind,
    EncoderManifest,
    ExpansionRecord,
    SpecialIds,
)
from termwise.encode.network_inputs import PieceTokenizer
from termwise.errors import ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.models.tildev2 import Counting
from termwise.storage.file_record import json_fingerprint
from termwise.storage.model_folder import ModelFolders
from termwise.storage.safe_read import folder_entries, is_file, is_folder
from termwise.text import CleanedAnalyzer, Vocabulary, WordPieceAnalyzer
from termwise.text.analyzer_files import read_analyzer
from termwise.text.cleaned_analyzer import clean_vocabulary
from termwise.validation import check_path
from termwise.vectors import LARGEST_SHIFT, LEVELS, TermVectors

FLOORS, QUERY_WEIGHTS = "floors.npy", "query_weights.npy"
QUERY_ROWS, QUERY_SHIFTS = "query_rows.npy", "query_shifts.npy"

VECTORS = {
    FLOORS: "one finite number of at most 0 for each term",
    QUERY_WEIGHTS: "one finite number of at least 0 for each term",
}
"""Valid content of each vector file."""

OUTPUTS: dict[EncoderKind, str] = {
    "tilde": "logits",
    "tildev2": "weights",
    "splade-doc": "weights",
    "lookup": "vectors",
}
"""Name of the network output of each kind."""

MAX_FILE = 1 << 32
"""Largest size of a network or vector file in bytes, twice what ONNX allows."""

_CHECKPOINT_FILES = ("config.json", "modules.json")
"""Files of a checkpoint of transformers or of sentence-transformers."""

_NPY = b"\x93NUMPY\x01\x00"


@dataclass(frozen=True, eq=False)
class EncoderFolder:
    """Encoder folder with its parsed manifest and tokenizer; created by `open`.

    A file is compared with the manifest when it is first used, see `path`.

    Attributes
    ----------
    name : str
        Argument of `open`.
    folder : Path
    manifest : EncoderManifest
    analyzer : WordPieceAnalyzer
        Tokenizer of queries and, unless the manifest names another one, of documents; without cleaning.
    """

    name: str
    folder: Path
    manifest: EncoderManifest
    analyzer: WordPieceAnalyzer
    _checked: set[str] = field(default_factory=set, init=False, repr=False)

    @classmethod
    def open(cls, name_or_path: str | Path) -> EncoderFolder:
        """Open a shipped encoder or an encoder folder.

        Parameters
        ----------
        name_or_path : str or Path
            A name of `shipped_encoders`, or a path; ``./tilde`` is a folder of that name.

        Raises
        ------
        ParameterError
            If this is not a path.
        MissingFileError
            If the folder does not exist or cannot be read.
        ModelFormatError
            If it is not an encoder folder, its training is not finished, it was written by a later version, or its
            tokenizer and network have vocabularies of different sizes.
        CorruptModelError
            If its manifest or tokenizer was changed.
        """
        check_path("the encoder", name_or_path)
        name = str(name_or_path)
        shipped = isinstance(name_or_path, str) and name in shipped_encoders()
        folder = _shipped_root() / name if shipped else Path(name_or_path)
        manifest = EncoderManifest.parse(_manifest_bytes(name, folder), folder / NAME)
        return cls(name, folder, manifest, _analyzer(name, folder, manifest))

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms of queries and of sparse rows."""
        return self.analyzer.vocabulary

    @cached_property
    def document_tokenizer(self) -> PieceTokenizer:
        """Tokenizer of the texts that the network reads.

        Raises
        ------
        ModelFormatError
            If the tokenizer cannot be used, or does not fit the manifest.
        CorruptModelError
            If its file was changed.
        """
        record = self.manifest.document_tokenizer
        if record is None:
            return self.analyzer
        path = self.path(DOCUMENT_TOKENIZER)
        tokenizer = DocumentTokenizer(path.read_bytes(), source=path)
        seen = (tokenizer.first, tokenizer.last)
        if seen != (record.special.cls, record.special.sep) or tokenizer.terms > record.terms:
            raise ModelFormatError(
                "the tokenizer of documents does not fit the manifest",
                facts=[
                    ("file", path),
                    (
                        "expected",
                        f"special tokens {record.special.cls} and {record.special.sep} of {record.terms}",
                    ),
                    ("seen", f"special tokens {seen[0]} and {seen[1]} of {tokenizer.terms}"),
                ],
                fixes=["export the encoder again with the tokenizer of its training"],
            )
        return tokenizer

    @property
    def document_special(self) -> SpecialIds:
        """Ids of the special tokens of the network."""
        record = self.manifest.document_tokenizer
        return self.manifest.special if record is None else record.special

    def expansion(self, *, terms: int, counting: Counting, length: int, lift: float = 0.0) -> ExpansionRecord:
        """Return the record of an expansion by this encoder, for the manifest of a TILDEv2 encoder.

        Parameters
        ----------
        terms, counting, length, lift
            See `ExpansionRecord`.

        Raises
        ------
        ModelFormatError
            If this encoder is not of kind tilde.
        """
        require_kind(self, "tilde")
        return ExpansionRecord(
            terms=terms,
            counting=counting,
            length=length,
            encoder=self.id,
            name=self.folder.absolute().name,
            lift=lift,
        )

    @cached_property
    def query_analyzer(self) -> CleanedAnalyzer:
        """Analyzer of queries: the tokenizer, then the cleaning of the manifest."""
        return CleanedAnalyzer.of(self.analyzer, cleaning=self.manifest.cleaning)

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """True for the terms of the cleaned vocabulary, which excludes special tokens; shape (V,)."""
        kept = clean_vocabulary(self.vocabulary, self.manifest.cleaning)
        kept[list(asdict(self.manifest.special).values())] = False
        kept.setflags(write=False)
        return kept

    @cached_property
    def floors(self) -> npt.NDArray[np.float32]:
        """Contribution of an absent term to the compact form of TILDE, in nats.

        Returns
        -------
        ndarray of shape (V,), float32
            At most 0; 0 outside the cleaned vocabulary.

        Raises
        ------
        ModelFormatError
            If the folder has no floors, or the content of the file is not valid.
        CorruptModelError
            If the file was changed.
        """
        if FLOORS not in self.manifest.files:
            raise ModelFormatError(
                "this encoder has no floors, which the compact form needs",
                facts=[("encoder", self.folder), ("missing", FLOORS)],
                fixes=[
                    Fix.use(form="exact"),
                    Fix.sentence(
                        "measure them with {}",
                        Fix.call("convert_checkpoint", self.folder, floors_from=Code("COLLECTION")),
                    ),
                ],
            )
        return self._cleaned_vector(FLOORS)

    @cached_property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """Weight of each query term, for any count.

        Returns
        -------
        ndarray of shape (V,), float32, or None
            At least 0; 0 outside the cleaned vocabulary. None if the weight of a query term is its count.

        Raises
        ------
        ModelFormatError
            If the content of the file is not valid.
        CorruptModelError
            If the file was changed.
        """
        return self._cleaned_vector(QUERY_WEIGHTS) if QUERY_WEIGHTS in self.manifest.files else None

    @cached_property
    def term_vectors(self) -> TermVectors:
        """Query table of the kind lookup: one vector for each term, zeros outside the cleaned vocabulary.

        Raises
        ------
        ModelFormatError
            If the encoder is of another kind, has no table, or the content of a file is not valid.
        CorruptModelError
            If a file was changed.
        """
        require_kind(self, "lookup")
        terms, dimensions, scale = self.manifest.terms, self.manifest.dimensions, self.manifest.query_scale
        assert dimensions is not None  # the manifest of this kind has both
        assert scale is not None
        rows = _read_array(self.path(QUERY_ROWS), "|i1", (terms, dimensions))
        if rows is None or (rows < -LEVELS).any():
            raise ModelFormatError(
                f"{QUERY_ROWS} does not hold one vector for each term",
                facts=[
                    ("file", self.folder / QUERY_ROWS),
                    ("expected", f"int8 of shape ({terms}, {dimensions}), from -{LEVELS} to {LEVELS}"),
                ],
            )
        shifts = _read_array(self.path(QUERY_SHIFTS), "|u1", (terms,))
        if shifts is None or (shifts > LARGEST_SHIFT).any():
            raise ModelFormatError(
                f"{QUERY_SHIFTS} does not hold one shift for each term",
                facts=[
                    ("file", self.folder / QUERY_SHIFTS),
                    ("expected", f"uint8 of shape ({terms},), at most {LARGEST_SHIFT}"),
                ],
            )
        rows = np.where(self.kept[:, None], rows, np.int8(0))
        rows.setflags(write=False)
        return TermVectors(rows, shifts, scale, self.vocabulary.id)

    def _cleaned_vector(self, name: str) -> npt.NDArray[np.float32]:
        """Return the vector in a file of `VECTORS`, with 0 outside the cleaned vocabulary."""
        terms = self.manifest.terms
        vector = _read_array(self.path(name), "<f4", (terms,))
        if vector is None or not is_valid_vector(name, vector):
            raise ModelFormatError(
                f"{name} is not {VECTORS[name]}",
                facts=[("file", self.folder / name), ("expected", f"float32 of shape ({terms},)")],
            )
        cleaned = np.where(self.kept, vector, np.float32(0))
        cleaned.setflags(write=False)
        return cast("npt.NDArray[np.float32]", cleaned)

    @cached_property
    def id(self) -> str:
        """``sha256:`` and a digest of networks, tokenizer and everything else that determines their output.

        It does not cover the defaults of the manifest (length, expansion, power of the idf), which a model may
        override, the path of the folder, facts about the training, and files that the manifest does not list.
        """
        return self.fingerprint(self.manifest.files)

    def fingerprint(self, files: Iterable[str]) -> str:
        """Return ``sha256:`` and a digest of everything that determines the output if only `files` are used."""
        manifest = self.manifest
        head: dict[str, Any] = {
            "kind": manifest.kind,
            "tokenizer": manifest.tokenizer.fingerprint,
            "terms": manifest.terms,
            "cleaning": manifest.cleaning,
            "special": asdict(manifest.special),
            "positions": manifest.positions,
            "files": {name: manifest.files[name].sha256 for name in files},
        }
        if manifest.document_tokenizer is not None:
            head["document_tokenizer"] = [
                manifest.files[DOCUMENT_TOKENIZER].sha256,
                asdict(manifest.document_tokenizer),
            ]
        if manifest.document_prompt:
            head["document_prompt"] = manifest.document_prompt
        if QUERY_ROWS in head["files"]:
            head["query_scale"] = manifest.query_scale
        elif manifest.kind == "lookup":
            del head["cleaning"]  # it cleans queries only; vectors of documents do not depend on it
        return json_fingerprint(head)

    def path(self, file: str) -> Path:
        """Return the path of a file of the manifest; the first call for a file compares it with the manifest.

        Raises
        ------
        ModelFormatError
            If the manifest does not list this file.
        MissingFileError
            If the file does not exist or cannot be read.
        CorruptModelError
            If it differs from the manifest, is too long, or is not a regular file.
        """
        record = self.manifest.files.get(file)
        path = self.folder / file
        if record is None:
            available = ", ".join(self.manifest.files)
            raise ModelFormatError(
                "the encoder has no such file",
                facts=[("encoder", self.folder), ("given", file), ("available", available)],
            )
        if file not in self._checked:
            _folders(self.name).check_recorded(path, record, MAX_FILE)
            self._checked.add(file)
        return path


def is_valid_vector(name: str, vector: npt.NDArray[np.float32]) -> bool:
    """Return whether all numbers are in the range that `VECTORS` gives for this file."""
    in_range = vector <= 0 if name == FLOORS else vector >= 0
    return bool((np.isfinite(vector) & in_range).all())


def shipped_encoders() -> tuple[str, ...]:
    """Return the names of the encoders that ship with the package, sorted."""
    root = _shipped_root()
    if not is_folder(root):
        return ()
    return tuple(sorted(path.name for path in folder_entries(root) if is_file(path / NAME)))


def require_kind(folder: EncoderFolder, kind: EncoderKind) -> None:
    """Raise `ModelFormatError` unless the encoder is of this kind."""
    if folder.manifest.kind != kind:
        raise ModelFormatError(
            f"the encoder is of kind {folder.manifest.kind}, not {kind}",
            facts=[("encoder", folder.name), ("kind", folder.manifest.kind), ("expected", kind)],
            fixes=[
                Fix.use(model=folder.manifest.kind),
                Fix.sentence("use {} of kind {}", Fix.use(encoder=Code("FOLDER")), kind),
            ],
        )


def _shipped_root() -> Path:
    return Path(str(resources.files("termwise"))) / "assets" / "models"


def _manifest_bytes(name: str, folder: Path) -> bytes:
    shipped = ("ship with the package", ", ".join(shipped_encoders()) or "none")

    def checkpoint() -> ModelFormatError | None:
        if not any(is_file(folder / file) for file in _CHECKPOINT_FILES):
            return None
        return ModelFormatError(
            "this folder is a checkpoint for training, not an encoder folder",
            facts=[("path", folder), ("missing", NAME), shipped],
            fixes=[
                Fix.sentence("convert it with {}", Fix.call("convert_checkpoint", folder)),
                Fix.sentence(
                    "if it is a dense encoder, fit a query table to it: {}",
                    Fix.call("train_lookup", teacher=folder),
                ),
            ],
        )

    return _folders(name).manifest_bytes(
        folder / NAME,
        facts=[shipped],
        fixes=["give the name of a shipped encoder, or the path of an encoder folder"],
        other=checkpoint,
    )


def _analyzer(name: str, folder: Path, manifest: EncoderManifest) -> WordPieceAnalyzer:
    analyzer = read_analyzer(_folders(name), folder, manifest.tokenizer, WordPieceAnalyzer)
    if len(analyzer.vocabulary) != manifest.terms:
        raise ModelFormatError(
            "the tokenizer and the network of the encoder have different vocabularies",
            facts=[
                ("encoder", folder),
                ("terms of the tokenizer", len(analyzer.vocabulary)),
                ("terms of the network", manifest.terms),
            ],
            fixes=["export the encoder again with the tokenizer of its training"],
        )
    return analyzer


def _read_array(path: Path, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any] | None:
    """Return the array of this type and shape in a file written by `numpy.save`; None for any other content.

    The header is checked before memory is allocated.
    """
    expected = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode("ascii")
    size = np.dtype(dtype).itemsize * math.prod(shape)
    with path.open("rb") as file:
        start = file.read(len(_NPY) + 2)
        header = file.read(int.from_bytes(start[len(_NPY) :], "little"))
        if not start.startswith(_NPY) or not header.endswith(b"\n") or header[:-1].rstrip(b" ") != expected:
            return None
        data = file.read(size + 1)
    return np.frombuffer(data, dtype=dtype).reshape(shape) if len(data) == size else None


def _folders(name: str) -> ModelFolders:
    """Return the reader of encoder folders; a damaged shipped encoder is repaired by a new installation."""
    if name in shipped_encoders():
        return replace(FOLDERS, repairs=("install termwise again",))
    return FOLDERS
