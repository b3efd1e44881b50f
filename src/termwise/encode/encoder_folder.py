"""The folder of an encoder: a trained network, all that is needed to run it, and the manifest that describes it.

::

    encoder.json          the manifest
    tokenizer.json        the tokenizer, unless it is the one that ships with the package
    model.onnx            the network in float32    } at least one of the two
    model.int8.onnx       the network in int8       }
    floors.npy            kind tilde: float32 of shape (V,), the mean ln P(t|d) over a sample of passages
    query_weights.npy     kinds tildev2 and splade-doc, not in all: float32 of shape (V,), the weight of each term that
                          a query holds, however often it does

Anything else there (weights to continue training from, a model card, the training log) is ignored.

The networks take ``input_ids`` and ``attention_mask``, int64 of shape (b, l), and give one output:

===========  ============  =======================  ==============================================================
kind         output        shape, float32           meaning
===========  ============  =======================  ==============================================================
tilde        ``logits``    (b, V)                   one for each term, read at position 0
tildev2      ``weights``   (b, l)                   0 or more, one for each position
splade-doc   ``weights``   (b, V)                   0 or more, one for each term
===========  ============  =======================  ==============================================================
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from termwise.encode.encoder_manifest import FOLDERS, NAME, EncoderKind, EncoderManifest, ExpansionRecord
from termwise.errors import MissingFileError, ModelFormatError
from termwise.models.tildev2 import Counting
from termwise.storage.model_folder import ModelFolders
from termwise.text import CleanedAnalyzer, Vocabulary, WordPieceAnalyzer
from termwise.text.analyzer_files import read_analyzer
from termwise.text.vocabulary_cleaning import clean_vocabulary
from termwise.validation import check_path

FLOORS, QUERY_WEIGHTS = "floors.npy", "query_weights.npy"

VECTORS = {
    FLOORS: "one finite number of at most 0 for each term",
    QUERY_WEIGHTS: "one finite number of at least 0 for each term",
}
"""What the vectors hold."""

OUTPUTS: dict[EncoderKind, str] = {"tilde": "logits", "tildev2": "weights", "splade-doc": "weights"}
"""The output of a network of each kind."""

MAX_FILE = 1 << 32
"""Largest size of a network, twice what its format can hold, or of a vector, in bytes."""

_PUBLISHED = ("config.json", "modules.json")
"""Files that mark a checkpoint of transformers or of sentence-transformers."""

_NAME_ANOTHER = "name one that ships, or the path of an encoder folder"

_NPY = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(rb"\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d{1,10}),\), \} *\n")


@dataclass(frozen=True, eq=False)
class EncoderFolder:
    """An encoder folder whose manifest was read and whose tokenizer matches it.

    Use `open` to make one. A file is checked against the manifest when it is first used (`path`).

    Attributes
    ----------
    name : str
        The name or path it was opened by.
    folder : Path
        Its path.
    manifest : EncoderManifest
        Its manifest.
    analyzer : WordPieceAnalyzer
        Cuts text into the pieces the network reads, leaving none out.
    """

    name: str
    folder: Path
    manifest: EncoderManifest
    analyzer: WordPieceAnalyzer
    _checked: set[str] = field(default_factory=set, init=False, repr=False)

    @classmethod
    def open(cls, name_or_path: str | Path) -> EncoderFolder:
        """Open an encoder that ships with the package, or a folder.

        Parameters
        ----------
        name_or_path : str or Path
            A name of `shipped_encoders`, or a path; ``./tilde`` is a folder of that name.

        Raises
        ------
        ParameterError
            If this is not a path.
        MissingFileError
            If there is no such folder, or it cannot be read.
        ModelFormatError
            If it is not an encoder folder, its training is not finished, it was written by a later version, or its
            tokenizer has another number of terms than its network.
        CorruptModelError
            If its manifest or its tokenizer was changed.
        """
        check_path("the encoder", name_or_path)
        name = str(name_or_path)
        shipped = isinstance(name_or_path, str) and name in shipped_encoders()
        folder = _shipped_root() / name if shipped else Path(name_or_path)
        manifest = EncoderManifest.parse(_manifest_bytes(name, folder), folder / NAME)
        return cls(name, folder, manifest, _analyzer(name, folder, manifest))

    @property
    def vocabulary(self) -> Vocabulary:
        """All terms, numbered as the network numbers them."""
        return self.analyzer.vocabulary

    def expansion(self, *, terms: int, counting: Counting, length: int, lift: float = 0.0) -> ExpansionRecord:
        """Describe how this encoder expands documents, for the manifest of the one that reads them.

        Parameters
        ----------
        terms, counting, length, lift
            See `ExpansionRecord`.

        Raises
        ------
        ModelFormatError
            If it is not of kind tilde.
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
        """Cuts queries into the terms that take part."""
        return CleanedAnalyzer.of(self.analyzer, cleaning=self.manifest.cleaning)

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Mark the terms that take part: those the cleaning keeps, without special pieces; shape (V,)."""
        kept = clean_vocabulary(self.vocabulary, self.manifest.cleaning)
        kept[list(asdict(self.manifest.special).values())] = False
        kept.setflags(write=False)
        return kept

    @cached_property
    def floors(self) -> npt.NDArray[np.float32]:
        """What an absent term contributes to the compact form of TILDE, in nats.

        Returns
        -------
        ndarray of shape (V,), float32
            At most 0; 0 for terms that do not take part.

        Raises
        ------
        ModelFormatError
            If the folder has no floors, or they do not have this form.
        CorruptModelError
            If the file was changed.
        """
        if FLOORS not in self.manifest.files:
            raise ModelFormatError(
                "this encoder has no floors, which the compact form needs",
                facts=[("encoder", self.folder), ("missing", FLOORS)],
                fixes=[
                    "--set form=exact",
                    f"termwise train convert {self.folder} --floors-from COLLECTION --out DIR",
                ],
            )
        return self._taking_part(FLOORS)

    @cached_property
    def query_weights(self) -> npt.NDArray[np.float32] | None:
        """What each term weighs that a query holds, however often it does.

        Returns
        -------
        ndarray of shape (V,), float32, or None
            At least 0; 0 for terms that do not take part. None where terms of a query are counted.

        Raises
        ------
        ModelFormatError
            If the weights do not have this form.
        CorruptModelError
            If the file was changed.
        """
        return self._taking_part(QUERY_WEIGHTS) if QUERY_WEIGHTS in self.manifest.files else None

    def _taking_part(self, name: str) -> npt.NDArray[np.float32]:
        """Return a vector of `VECTORS`, 0 for terms that do not take part."""
        terms = self.manifest.terms
        vector = _vector(self.path(name), terms)
        if vector is None or not is_valid_vector(name, vector):
            raise ModelFormatError(
                f"what {name} holds is not {VECTORS[name]}",
                facts=[("file", self.folder / name), ("expected", f"float32 of shape ({terms},)")],
            )
        taking_part = np.where(self.kept, vector, np.float32(0))
        taking_part.setflags(write=False)
        return cast("npt.NDArray[np.float32]", taking_part)

    @cached_property
    def id(self) -> str:
        """``sha256:`` and a digest of networks, tokenizer and whatever else determines their output.

        The defaults of the manifest (length, expansion, power of the idf) are left out, since a model may override
        them; so are the path of the folder, how it was trained, and files the manifest does not list.
        """
        return self.fingerprint(self.manifest.files)

    def fingerprint(self, files: Iterable[str]) -> str:
        """Return ``sha256:`` and a digest of what determines the output when only `files` are used."""
        manifest = self.manifest
        head = {
            "kind": manifest.kind,
            "tokenizer": manifest.tokenizer.fingerprint,
            "terms": manifest.terms,
            "cleaning": manifest.cleaning,
            "special": asdict(manifest.special),
            "positions": manifest.positions,
            "files": {name: manifest.files[name].sha256 for name in files},
        }
        return f"sha256:{hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()}"

    def path(self, file: str) -> Path:
        """Return the path of a file that the manifest lists, after checking it the first time.

        Raises
        ------
        ModelFormatError
            If the manifest lists no such file.
        MissingFileError
            If it is not there or cannot be read.
        CorruptModelError
            If it does not match the manifest, is too long or not a regular file.
        """
        record = self.manifest.files.get(file)
        path = self.folder / file
        if record is None:
            raise ModelFormatError(
                "the encoder has no such file",
                facts=[
                    ("encoder", self.folder),
                    ("asked for", file),
                    ("has", ", ".join(self.manifest.files)),
                ],
            )
        if file not in self._checked:
            _folders(self.name).check_recorded(path, record, MAX_FILE)
            self._checked.add(file)
        return path


def is_valid_vector(name: str, vector: npt.NDArray[np.float32]) -> bool:
    """Tell whether the numbers of one of the `VECTORS` are what it holds."""
    within = vector <= 0 if name == FLOORS else vector >= 0
    return bool((np.isfinite(vector) & within).all())


def shipped_encoders() -> tuple[str, ...]:
    """Return the names of the encoders that ship with the package, sorted."""
    root = _shipped_root()
    if not root.is_dir():
        return ()
    return tuple(sorted(path.name for path in root.iterdir() if (path / NAME).is_file()))


def require_kind(folder: EncoderFolder, kind: EncoderKind) -> None:
    """Refuse an encoder of another kind.

    Raises
    ------
    ModelFormatError
        If it is of another kind.
    """
    if folder.manifest.kind != kind:
        raise ModelFormatError(
            f"an encoder of kind {kind} is needed, and this is one of kind {folder.manifest.kind}",
            facts=[("encoder", folder.name), ("kind", folder.manifest.kind), ("expected", kind)],
            fixes=[f"--model {folder.manifest.kind}", "--set encoder=FOLDER of the kind that is needed"],
        )


def _shipped_root() -> Path:
    return Path(str(resources.files("termwise"))) / "assets" / "models"


def _manifest_bytes(name: str, folder: Path) -> bytes:
    ships = ("ship with the package", ", ".join(shipped_encoders()) or "none")

    def other() -> ModelFormatError:
        published = any((folder / file).is_file() for file in _PUBLISHED)
        return ModelFormatError(
            "this is a checkpoint for training, not an encoder folder"
            if published
            else "this folder is not an encoder folder",
            facts=[("path", folder), ("missing", NAME), ships],
            fixes=[f"termwise train convert {folder} --out DIR" if published else _NAME_ANOTHER],
        )

    return _folders(name).manifest_bytes(
        folder / NAME,
        missing=lambda: MissingFileError(
            "there is no such encoder", facts=[("path", folder), ships], fixes=[_NAME_ANOTHER]
        ),
        other=other,
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
            fixes=["export the encoder again with the tokenizer it was trained with"],
        )
    return analyzer


def _vector(path: Path, size: int) -> npt.NDArray[np.float32] | None:
    """Return the float32 vector of this size in a file written by `numpy.save`; None if it holds anything else.

    The header is checked before memory is allocated for what it claims.
    """
    with path.open("rb") as file:
        start = file.read(len(_NPY) + 2)
        header = file.read(int.from_bytes(start[len(_NPY) :], "little"))
        claimed = _HEADER.fullmatch(header)
        if not start.startswith(_NPY) or claimed is None or int(claimed.group(1)) != size:
            return None
        data = file.read(4 * size + 1)
    return np.frombuffer(data, dtype="<f4") if len(data) == 4 * size else None


def _folders(name: str) -> ModelFolders:
    """Return how to read the folder of an encoder; for one that ships, the fix for damage is to install it again."""
    if name in shipped_encoders():
        return replace(FOLDERS, repairs=("pip install --force-reinstall termwise",))
    return FOLDERS
