"""Checkpoints of published rankers: tensors, configuration and tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase

from termwise.errors import ModelFormatError
from termwise.fast_dataclass import dataclass
from termwise.storage.file_record import digest_of, folder_fingerprint, text_fingerprint
from termwise.storage.safe_read import is_file, is_folder
from termwise.text import WordPieceAnalyzer
from termwise.train.hub import CONFIG, TOKENIZER
from termwise.train.library_errors import errors_as, first_line
from termwise.yardsticks.compatibility import check_complete, check_vocabulary, load_errors
from termwise.yardsticks.locate import default_name, locate_model

_STATE = "model_state_dict"
_PARALLEL = "module."
_LAYER = ".layer."
_SETTINGS = ("artifact.metadata", "ranker.json", "vocab.json")
"""Files with settings of a ranker, besides configuration and tokenizer."""

_TOKENIZERS = (*TOKENIZER, "vocab.json", "spiece.model", "sentencepiece.bpe.model")

_SPARE = 64
"""Largest number of embedding rows without a token, for the vocabulary of BERT."""

_CHECKPOINT_FIXES = ("name the published checkpoint, with its config.json",)
_TOKENIZER_FIX = "put the tokenizer.json of the network beside the weights"

_Config = TypeVar("_Config", bound=PretrainedConfig)
_Network = TypeVar("_Network", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Contents of a file of weights.

    `kind` is the name of the kind of network in errors, `name` the default name of the scorer, and `place` the folder
    or the file. `tensors` are on the CPU, by their published names; `metadata` has other values in the file, such as
    training arguments.
    """

    kind: str
    name: str
    place: Path
    file: Path
    tensors: Mapping[str, Tensor] = field(repr=False)
    metadata: Mapping[str, Any] = field(repr=False)

    @property
    def folder(self) -> Path:
        """Folder with configuration and tokenizer."""
        return self.file.parent

    def config(self, kind: type[_Config]) -> _Config:
        """Return the configuration of the network.

        Without a ``config.json`` with a model type, it is the default of `kind`; for BERT, bert-base-uncased.
        """
        settings = self.json(CONFIG[0])
        model_type = settings.get("model_type")
        if model_type is None:
            return kind()
        file = ("file", self.folder / CONFIG[0])
        if model_type != kind.model_type:
            raise ModelFormatError(
                f"this is not a checkpoint of {self.kind}",
                facts=[file, ("model_type", model_type), ("expected", kind.model_type)],
            )
        with errors_as(ModelFormatError, "the configuration of the network cannot be used", facts=[file]):
            return kind.from_dict(settings)

    def json(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file beside the weights; empty if there is no such file."""
        path = self.folder / name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ModelFormatError(
                f"a file of the checkpoint of {self.kind} cannot be read",
                facts=[("file", path), ("reason", first_line(error))],
            ) from error
        if not isinstance(content, dict):
            raise ModelFormatError(
                f"a file of the checkpoint of {self.kind} is not a JSON object",
                facts=[("file", path), ("type", type(content).__name__)],
            )
        return content

    def wordpiece(self, config: PretrainedConfig) -> WordPieceAnalyzer:
        """Return the WordPiece tokenizer beside the weights; without one, the tokenizer of bert-base-uncased."""
        files = [self.folder / name for name in TOKENIZER if is_file(self.folder / name)]
        analyzer = WordPieceAnalyzer.from_file(files[0]) if files else WordPieceAnalyzer.shipped()
        check_vocabulary(self.kind, self.place, len(analyzer.vocabulary), config.vocab_size, spare=_SPARE)
        return analyzer

    def load(
        self, make_network: Callable[[], _Network], prefixes: Mapping[str, str], device: torch.device
    ) -> _Network:
        """Make a network and copy the tensors into it; return it in float32 and evaluation mode.

        The random weights of the new network do not change the random state of torch. `prefixes` has the published
        prefix of tensor names by the prefix in the network.
        """
        with torch.random.fork_rng(devices=[]):
            network = make_network()
        state = network.state_dict()
        published = {name: _published_name(name, prefixes) for name in state}
        missing = [name for name in published.values() if name not in self.tensors]
        check_complete(f"checkpoint of {self.kind}", self.file, missing, _CHECKPOINT_FIXES)
        for own_name, name in published.items():
            shape, expected = tuple(self.tensors[name].shape), tuple(state[own_name].shape)
            if shape != expected:
                raise self._incomplete(
                    "a tensor does not have the shape of the configuration",
                    ("tensor", name),
                    ("shape", shape),
                    ("expected", expected),
                )
            if not torch.isfinite(self.tensors[name]).all():
                raise self._incomplete("a weight is not a finite number", ("tensor", name))
        unused = sorted(set(self.tensors) - set(published.values()))
        roots = tuple(prefixes.values())
        layers = [name for name in unused if name.startswith(roots) and _LAYER in name]
        if layers:
            raise self._incomplete(
                "the weights have more layers than the configuration",
                ("unused", f"{len(layers)} tensors, first {layers[0]}"),
            )
        network.load_state_dict({own_name: self.tensors[name] for own_name, name in published.items()})
        return network.float().eval().to(device)

    def fingerprint(self, *options: object) -> str:
        """Return a digest of the weights, the files beside them, and the options."""
        if is_folder(self.place):
            return folder_fingerprint(self.place, self.kind, *options)
        others = [self.folder / name for name in (*CONFIG, *TOKENIZER, *_SETTINGS)]
        files = [self.file, *(path for path in others if is_file(path))]
        return text_fingerprint(
            repr((self.kind, options, [(path.suffix, digest_of(path)) for path in files]))
        )

    def invalid_setting(self, name: str, value: object, expected: str) -> ModelFormatError:
        """Build the error for a setting with a wrong value."""
        return ModelFormatError(
            f"a setting of the checkpoint of {self.kind} cannot be used",
            facts=[("checkpoint", self.place), ("setting", name), ("value", value), ("expected", expected)],
        )

    def _incomplete(self, reason: str, *facts: tuple[str, object]) -> ModelFormatError:
        return ModelFormatError(
            f"this is not a complete checkpoint of {self.kind}",
            facts=[("file", self.file), ("reason", reason), *facts],
            fixes=_CHECKPOINT_FIXES,
        )


def read_checkpoint(
    kind: str, place: str | Path, weights: tuple[str, ...], *, fixes: tuple[str, ...]
) -> Checkpoint:
    """Read the tensors of a checkpoint, without running code in it.

    `place` is a file of weights, a folder with one, or a name on the Hugging Face hub. Of a folder, the first existing
    file of `weights` is read. `fixes` are those of the error for a place without weights.
    """
    name = default_name(place)
    place = file = locate_model(f"checkpoint of {kind}", place, fixes)
    if is_folder(place):
        files = [place / name for name in weights if is_file(place / name)]
        if not files:
            raise ModelFormatError(
                f"this folder does not contain a checkpoint of {kind}",
                facts=[("folder", place), ("looked for", ", ".join(weights))],
                fixes=fixes,
            )
        file = files[0]
    fix = "name a file of tensors; files that run code when they are read are refused"
    message = f"the weights of {kind} cannot be read"
    with errors_as(ModelFormatError, message, facts=[("file", file)], fixes=[fix]):
        content: Any
        if file.suffix == ".safetensors":
            content = load_file(file)
        else:
            content = torch.load(file, map_location="cpu", weights_only=True)
    metadata = {}
    if isinstance(content, dict) and isinstance(content.get(_STATE), dict):
        metadata = {name: value for name, value in content.items() if name != _STATE}
        content = content[_STATE]
    items = content.items() if isinstance(content, dict) else ()
    tensors = {str(name).removeprefix(_PARALLEL): value for name, value in items if isinstance(value, Tensor)}
    if not tensors:
        raise ModelFormatError(
            f"this file contains no weights of {kind}", facts=[("file", file)], fixes=fixes
        )
    return Checkpoint(kind, name, place, file, tensors, metadata)


def tokenizer_folder(tokenizer: str | Path | None, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder of a tokenizer, and its fingerprint if it is not the folder of the network.

    `tokenizer` is a folder or a name on the hub; None for `folder`, which is that of the network.
    """
    fixes = ("name a folder with tokenizer.json, or a name on the hub, such as google-t5/t5-base",)
    path = folder if tokenizer is None else locate_model("tokenizer", tokenizer, fixes, weights=False)
    return path, () if path == folder else (folder_fingerprint(path),)


def open_tokenizer(
    kind: str, folder: Path, vocabulary: int, fixes: tuple[str, ...]
) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a folder in the layout of transformers; `vocabulary` is the number of embedding rows."""
    # transformers builds an empty tokenizer if there is no file
    if not any(is_file(folder / name) for name in _TOKENIZERS):
        raise ModelFormatError(
            f"there is no tokenizer of {kind}",
            facts=[("folder", folder), ("looked for", ", ".join(_TOKENIZERS))],
            fixes=fixes,
        )
    with load_errors(f"tokenizer of {kind}", folder, fixes):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    check_vocabulary(kind, folder, len(tokenizer), vocabulary)
    return cast(PreTrainedTokenizerBase, tokenizer)


def special_token(analyzer: WordPieceAnalyzer, token: str) -> int:
    """Return the id of a special token, or raise `ModelFormatError` if the vocabulary lacks it."""
    number = analyzer.vocabulary.number(token)
    if number is None:
        raise ModelFormatError(
            "the tokenizer does not belong to the network: a special token is missing",
            facts=[("missing", token), ("tokens", len(analyzer.vocabulary))],
            fixes=[_TOKENIZER_FIX],
        )
    return number


def readable_words(text: str, length: int) -> str:
    """Drop the words that no window of `length` tokens can contain, to save tokenisation of long texts.

    Examples
    --------
    >>> readable_words("one two  three four", 2), readable_words("one  two", 2)
    ('one two three', 'one  two')
    """
    words = text.split(maxsplit=length + 1)
    return text if len(words) <= length + 1 else " ".join(words[: length + 1])


def _published_name(name: str, prefixes: Mapping[str, str]) -> str:
    prefix = max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default="")
    return prefixes.get(prefix, "") + name.removeprefix(prefix)
