"""Folder of a re-ranking network: format, writer and reader.

::

    scorer.json           the manifest
    config.json           configuration of the encoder, in the layout of transformers
    model.safetensors     weights of the encoder, float32
    head.safetensors      weights of the network over pairs, float32
    tokenizer.json        the tokenizer (or vocab.txt), unless it is the one that ships with the package
    README.md             model card; not read by this package
    training/             settings, log and checkpoints of the training; not read by the reader
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from termwise.errors import ModelFormatError, UsageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.file_record import FileRecord, text_fingerprint
from termwise.storage.manifest_json import (
    expect_object,
    expect_objects,
    expect_text,
    expect_whole,
)
from termwise.storage.model_folder import TRAINING, ModelFolders
from termwise.storage.safe_read import is_file
from termwise.text import WordPieceAnalyzer
from termwise.text.analyzer_files import AnalyzerRecord, read_analyzer
from termwise.train.library_errors import errors_as
from termwise.train.networks import check_finite, network_on_base
from termwise.validation import check_path
from termwise.yardsticks.compatibility import torch_device
from termwise.yardsticks.rerankers.kinds import KINDS, network_type
from termwise.yardsticks.rerankers.network import Reranker
from termwise.yardsticks.rerankers.scorer import RerankerScorer
from termwise.yardsticks.rerankers.settings import Reading

NAME, CONFIG, WEIGHTS, HEAD, CARD = (
    "scorer.json",
    "config.json",
    "model.safetensors",
    "head.safetensors",
    "README.md",
)
VERSION = 1

FOLDERS = ModelFolders(
    noun="scorer",
    article="a",
    format="termwise-scorer",
    version=VERSION,
    repairs=("copy the folder again, or train the network again",),
)
FOLDER = AtomicFolder(
    noun="scorer",
    article="a",
    manifest=NAME,
    files=frozenset({NAME, CONFIG, WEIGHTS, HEAD, CARD, TRAINING, "tokenizer.json", "vocab.txt"}),
    kept=TRAINING,
)

_MAX_FILE = 1 << 36
_ENCODER = "pretrained."


@dataclass(frozen=True, kw_only=True)
class ScorerManifest:
    """Manifest of the folder: `kind` is one of `KINDS`, and `reading` has the fields of the configuration of the kind.

    `trained` has facts on the training, free JSON that this package does not read.
    """

    kind: str
    tokenizer: AnalyzerRecord
    reading: Mapping[str, Any]
    files: Mapping[str, FileRecord]
    trained: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> ScorerManifest:
        """Parse the JSON object of a manifest, or raise `Misfit`."""
        body = expect_object(body, {one.name for one in fields(cls)} | {"format", "checksum"}, "manifest")
        expect_objects(body, ("reading", "files", "trained"))
        return cls(
            kind=expect_text(body["kind"], "kind"),
            tokenizer=AnalyzerRecord.parse(body["tokenizer"], "tokenizer"),
            reading=body["reading"],
            files=FileRecord.parse_all(body["files"]),
            trained=body["trained"],
            version=expect_whole(body["version"], "version", 1, VERSION),
        )


def write_scorer(
    network: Reranker,
    analyzer: WordPieceAnalyzer,
    out: str | Path,
    *,
    trained: Mapping[str, Any] = {},
    card: str | None = None,
) -> None:
    """Write the folder of a scorer atomically, with the tokenizer of the encoder, and facts on its training.

    Files are staged in a hidden folder inside `out` and moved into place, the manifest last. An earlier scorer is
    replaced; the folder ``training`` is kept. `trained` has JSON-like facts on the training, and `card` is a model card
    in Markdown.
    """
    out = Path(out)
    check_finite(network)
    state = _distinct(network)
    encoder = {
        name.removeprefix(_ENCODER): value for name, value in state.items() if name.startswith(_ENCODER)
    }
    head = {name: value for name, value in state.items() if not name.startswith(_ENCODER)}
    with FOLDER.stage(out) as stage:
        network.config.to_json_file(stage / CONFIG, use_diff=True)
        save_file(encoder, stage / WEIGHTS, metadata={"format": "pt"})
        save_file(head, stage / HEAD, metadata={"format": "pt"})
        for name, data in analyzer.spec.files.items():
            (stage / name).write_bytes(data)
        if card is not None:
            (stage / CARD).write_text(card, encoding="utf-8")
        manifest = ScorerManifest(
            kind=network.kind,
            tokenizer=AnalyzerRecord.of(analyzer.spec),
            reading=asdict(network.reading),
            files={name: FileRecord.of(stage / name) for name in (CONFIG, WEIGHTS, HEAD)},
            trained=trained,
        )
        (stage / NAME).write_bytes(FOLDERS.sealed(asdict(manifest)))
        FOLDER.publish(stage, out)


def _distinct(network: Reranker) -> dict[str, Tensor]:
    """Return the tensors of a network by name, each once: a decoder that is the embedding is left out."""
    names: dict[int, str] = {}
    for name, value in network.state_dict(keep_vars=True).items():
        names.setdefault(id(value), name)
    state = network.state_dict()
    return {name: state[name].cpu().float().contiguous() for name in names.values()}


def read_scorer_folder(
    folder: str | Path,
    *,
    device: str = "cpu",
    batch: int = 32,
    name: str | None = None,
    reading: Mapping[str, str] = {},
) -> RerankerScorer:
    """Open the folder of a scorer, and verify its files against the manifest.

    Parameters
    ----------
    folder : str or Path
        Written by `write_scorer` or `train_reranker`.
    device : str, optional
        Torch device, such as ``cpu`` or ``cuda``.
    batch : int, optional
        Windows in one forward pass.
    name : str, optional
        By default the name of the folder.
    reading : mapping of str to str, optional
        Settings of the configuration that differ from those of the training, such as ``document_length``.

    Raises
    ------
    ParameterError
        If there is no such device, or a value of `reading` is out of range.
    MissingFileError
        If there is no such folder, or one of its files cannot be read.
    ModelFormatError
        If it is not the folder of a scorer, was written by a later version, or its parts do not match.
    CorruptModelError
        If a file was truncated or changed.
    """
    check_path("the scorer", folder)
    folder = Path(folder)
    torch_place = torch_device(device)
    fixes: list[str | Fix] = [Fix.call("train_reranker"), "name the folder of a trained scorer"]
    data = FOLDERS.manifest_bytes(folder / NAME, fixes=fixes)
    manifest = FOLDERS.parsed(data, folder / NAME, ScorerManifest.parse)
    if manifest.kind not in KINDS:
        raise ModelFormatError(
            "a scorer of this kind is not known",
            facts=[("scorer", folder), ("kind", manifest.kind), ("known", ", ".join(KINDS))],
            fixes=["install a newer version of termwise"],
        )
    kind = network_type(manifest.kind)
    stored = _reading(kind.reading_type, manifest, folder)
    chosen = kind.reading_type.parse(reading, defaults=asdict(stored))
    analyzer = read_analyzer(FOLDERS, folder, manifest.tokenizer, WordPieceAnalyzer)
    for file in (CONFIG, WEIGHTS, HEAD):
        if file not in manifest.files:
            raise FOLDERS.damaged(folder / NAME, f"a file {file}", ", ".join(manifest.files) or "none")
        FOLDERS.check_recorded(folder / file, manifest.files[file], _MAX_FILE)
    with torch.random.fork_rng(devices=[]):  # layers are initialised at random before they are loaded
        network = kind(network_on_base(kind.base_kind, folder).pretrained, chosen)
    _load_head(network, folder / HEAD)
    try:
        return RerankerScorer(
            network=network.to(torch_place),
            analyzer=analyzer,
            name=name or folder.resolve().name or manifest.kind,
            batch=batch,
            fingerprint=text_fingerprint(
                repr((manifest.kind, manifest.tokenizer, asdict(chosen), manifest.files))
            ),
        )
    except ModelFormatError as error:
        raise ModelFormatError(
            error.message, facts=[("scorer", folder), *error.facts], fixes=error.fixes
        ) from None


def scorer_tokenizer(folder: str | Path) -> WordPieceAnalyzer | None:
    """Return the tokenizer of the folder of a scorer, whose network can be the base of another; None for other bases.

    Raises
    ------
    ModelFormatError, CorruptModelError
        If the manifest of the folder is damaged.
    """
    folder = Path(folder)
    if not is_file(folder / NAME):
        return None
    manifest = FOLDERS.parsed(
        FOLDERS.manifest_bytes(folder / NAME, fixes=[]), folder / NAME, ScorerManifest.parse
    )
    return read_analyzer(FOLDERS, folder, manifest.tokenizer, WordPieceAnalyzer)


def _reading(kind: type[Reading], manifest: ScorerManifest, folder: Path) -> Reading:
    names = {one.name for one in fields(kind)}
    if set(manifest.reading) != names:
        raise FOLDERS.damaged(
            folder / NAME, f"reading with {', '.join(sorted(names))}", ", ".join(manifest.reading)
        )
    try:
        return kind(**manifest.reading)
    except UsageError as error:
        raise FOLDERS.damaged(folder / NAME, "a configuration in range", error.message) from None


def _load_head(network: Reranker, path: Path) -> None:
    with errors_as(
        ModelFormatError,
        "the head of the scorer does not fit its configuration",
        facts=[("file", path)],
        fixes=FOLDERS.repairs,
    ):
        head: dict[str, Tensor] = load_file(path)
        expected = {name for name in network.state_dict() if not name.startswith(_ENCODER)}
        if set(head) != expected:
            raise ValueError(f"tensors {', '.join(sorted(set(head) ^ expected))}")
        network.load_state_dict(head, strict=False)
