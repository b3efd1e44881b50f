"""The folder of a scorer: a trained network with all it takes to run it, and the manifest that describes it.

::

    scorer.json           the manifest
    config.json           the configuration of the encoder, in the layout of transformers
    model.safetensors     its weights, float32
    head.safetensors      the weights of what stands on it, float32
    tokenizer.json        the tokenizer (or vocab.txt), unless it is the one that ships with the package
    README.md             a card for readers, never read here
    training/             settings, log and checkpoints of the training, never read here
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from termwise.errors import (
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UsageError,
)
from termwise.storage.atomic_folder import AtomicFolder
from termwise.storage.file_record import FileRecord
from termwise.storage.model_folder import TRAINING
from termwise.text import WordPieceAnalyzer
from termwise.text.analyzer_files import AnalyzerRecord, read_analyzer
from termwise.train.messages import first_line
from termwise.train.pretrained import load_encoder
from termwise.validation import check_path
from termwise.yardsticks.bert_model1.network import (
    BertModel1,
    BertModel1Config,
    BertModel1Scorer,
    check_weights,
)
from termwise.yardsticks.scorer_manifest import FOLDERS, NAME, ScorerManifest

CONFIG, WEIGHTS, HEAD, CARD = "config.json", "model.safetensors", "head.safetensors", "README.md"

FOLDER = AtomicFolder(
    noun="scorer",
    article="a",
    manifest=NAME,
    files=frozenset({NAME, CONFIG, WEIGHTS, HEAD, CARD, TRAINING, "tokenizer.json", "vocab.txt"}),
    kept=TRAINING,
)
"""How a scorer folder is written."""

KINDS = {BertModel1.kind: (BertModel1Config, BertModel1, BertModel1Scorer)}
"""For each kind of network: its configuration, the network, and the scorer."""

_MAX_FILE = 1 << 36
_ENCODER = "pretrained."


def write_scorer(
    network: BertModel1,
    analyzer: WordPieceAnalyzer,
    out: str | Path,
    *,
    trained: Mapping[str, Any] = {},
    card: str | None = None,
) -> None:
    """Write the folder of a scorer, whole or not at all.

    Everything is made in a hidden folder inside `out` and moved into place afterwards, the manifest last. A scorer that
    was there before is replaced; what training keeps there (``training/``) stays.

    Parameters
    ----------
    network : BertModel1
        It is not changed.
    analyzer : WordPieceAnalyzer
        The tokenizer of the encoder.
    out : str or Path
    trained : mapping, optional
        JSON-like facts on the training.
    card : str, optional
        Markdown.

    Raises
    ------
    ForeignFolderError
        If `out` holds something that is not a scorer.
    ModelFormatError
        If a weight is not a finite number.
    StorageError
        If the folder cannot be written.
    """
    out = Path(out)
    check_weights(network)
    held = {name: value.detach().cpu().float().contiguous() for name, value in network.state_dict().items()}
    encoder = {
        name.removeprefix(_ENCODER): value for name, value in held.items() if name.startswith(_ENCODER)
    }
    head = {name: value for name, value in held.items() if not name.startswith(_ENCODER)}
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
        (stage / NAME).write_bytes(manifest.to_bytes())
        FOLDER.publish(stage, out)


def read_scorer_folder(
    folder: str | Path, *, device: str = "cpu", batch: int = 32, name: str | None = None
) -> BertModel1Scorer:
    """Open the folder of a scorer, comparing every file with the manifest.

    Parameters
    ----------
    folder : str or Path
        One that `write_scorer` wrote, as ``termwise train bert-model1`` does.
    device : str, optional
        Where the network runs, as torch names it: ``cpu``, ``cuda``.
    batch : int, optional
        Windows that go through the encoder at once.
    name : str, optional
        By default that of the folder.

    Returns
    -------
    BertModel1Scorer

    Raises
    ------
    ParameterError
        If there is no such device.
    MissingFileError
        If there is no such folder, or a file of it cannot be read.
    ModelFormatError
        If it is not the folder of a scorer, was written by a later version, or its parts do not go together.
    CorruptModelError
        If a file was truncated or changed.
    """
    check_path("the scorer", folder)
    folder = Path(folder)
    placed = torch_device(device)
    manifest = ScorerManifest.parse(_manifest_bytes(folder), folder / NAME)
    if manifest.kind not in KINDS:
        raise ModelFormatError(
            "a scorer of this kind is not known",
            facts=[("scorer", folder), ("kind", manifest.kind), ("known", ", ".join(KINDS))],
            fixes=["pip install --upgrade termwise"],
        )
    kind, network_kind, scorer_kind = KINDS[manifest.kind]
    config = _config(kind, manifest, folder)
    analyzer = read_analyzer(FOLDERS, folder, manifest.tokenizer, WordPieceAnalyzer)
    for file in (CONFIG, WEIGHTS, HEAD):
        if file not in manifest.files:
            raise FOLDERS.damaged(folder / NAME, f"a file {file}", ", ".join(manifest.files) or "none")
        FOLDERS.check_recorded(folder / file, manifest.files[file], _MAX_FILE)
    with torch.random.fork_rng(devices=[]):  # layers are filled at random before they are loaded
        network = network_kind(load_encoder(folder), config)
    _load_head(network, folder / HEAD)
    try:
        return scorer_kind(
            network.to(placed), analyzer, name=name or folder.resolve().name or manifest.kind, batch=batch
        )
    except ModelFormatError as error:
        raise ModelFormatError(
            error.message, facts=[("scorer", folder), *error.facts], fixes=error.fixes
        ) from None


def fastest_device() -> str:
    """Return ``cuda`` where there is a graphics processor that torch can use, ``cpu`` elsewhere."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def torch_device(name: str) -> torch.device:
    """Return a device by the name that torch has for it.

    Raises
    ------
    ParameterError
        If there is no such device.
    """
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
        why = "nothing is computed there" if device.type == "meta" else None
    except (RuntimeError, AssertionError, TypeError) as error:  # the last two of builds without it
        why = first_line(error)
    if why is not None:
        raise ParameterError(
            "there is no such device", facts=[("device", name), ("why", why)], fixes=["device=cpu"]
        )
    return device


def _config(kind: type[BertModel1Config], manifest: ScorerManifest, folder: Path) -> BertModel1Config:
    names = {one.name for one in fields(kind)}
    if set(manifest.reading) != names:
        raise FOLDERS.damaged(
            folder / NAME, f"reading with {', '.join(sorted(names))}", ", ".join(manifest.reading)
        )
    try:
        return kind(**manifest.reading)
    except UsageError as error:
        raise FOLDERS.damaged(folder / NAME, "a configuration in range", error.message) from None


def _load_head(network: BertModel1, path: Path) -> None:
    try:
        head: dict[str, Tensor] = load_file(path)
        wanted = {
            name: value for name, value in network.state_dict().items() if not name.startswith(_ENCODER)
        }
        if set(head) != set(wanted):
            raise ValueError(f"tensors {', '.join(sorted(set(head) ^ set(wanted)))}")
        network.load_state_dict(head, strict=False)
    except Exception as error:  # safetensors and torch document no common type
        raise ModelFormatError(
            "the head of the scorer is not that of its configuration",
            facts=[("file", path), ("why", first_line(error))],
            fixes=FOLDERS.repairs,
        ) from error


def _manifest_bytes(folder: Path) -> bytes:
    train = "termwise train bert-model1 --data DATA --base ENCODER --out DIR"
    named = "or name a cross-encoder: its folder, or its name on the hub, such as cross-encoder/ms-marco-MiniLM-L6-v2"
    return FOLDERS.manifest_bytes(
        folder / NAME,
        missing=lambda: MissingFileError(
            "there is no such scorer", facts=[("path", folder)], fixes=[train, named]
        ),
        other=lambda: ModelFormatError(
            "this folder does not hold a scorer",
            facts=[("path", folder), ("missing", NAME)],
            fixes=[train, named],
        ),
    )
