"""Checkpoints of published rankers: the tensors of a file, and the configuration and the tokenizer beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase

from termwise.errors import ModelFormatError
from termwise.storage.file_record import digest_of, folder_fingerprint
from termwise.text import WordPieceAnalyzer
from termwise.train.hub import CONFIG, TOKENIZER
from termwise.train.messages import first_line
from termwise.train.pretrained import quiet
from termwise.yardsticks.compatibility import check_vocabulary
from termwise.yardsticks.locate import located, usual_name

_STATE = "model_state_dict"
_PARALLEL = "module."
_LAYER = ".layer."
_TELLING = ("artifact.metadata", "ranker.json", "vocab.json")
"""Files that say how a checkpoint reads, besides its configuration and tokenizer."""

_TOKENIZERS = (*TOKENIZER, "vocab.json", "spiece.model", "sentencepiece.bpe.model")

_SPARE = 64
"""Rows of embeddings without a piece, at the most, where the vocabulary is BERT's."""

_Config = TypeVar("_Config", bound=PretrainedConfig)
_Network = TypeVar("_Network", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What a file of weights holds.

    Attributes
    ----------
    kind : str
        What the network is called in errors.
    name : str
        What a scorer is called by default.
    place : Path
        The folder or the file.
    file : Path
        The weights.
    tensors : dict of str to tensor
        By their published names, on the processor.
    said : mapping
        What stands beside the weights in the file, such as the arguments of a training.
    """

    kind: str
    name: str
    place: Path
    file: Path
    tensors: Mapping[str, Tensor] = field(repr=False)
    said: Mapping[str, Any] = field(repr=False)

    @property
    def folder(self) -> Path:
        """Where the configuration and the tokenizer lie."""
        return self.file.parent

    def config(self, kind: type[_Config]) -> _Config:
        """Return the configuration of the network inside.

        Parameters
        ----------
        kind : class of transformers
            Its defaults hold where no ``config.json`` names a model: those of BERT are bert-base-uncased.

        Raises
        ------
        ModelFormatError
            If it is that of another kind of network.
        """
        found = self.json(CONFIG[0])
        model = found.get("model_type")
        if model is None:
            return kind()
        if model != kind.model_type:
            raise ModelFormatError(
                f"this is no checkpoint of {self.kind}",
                facts=[
                    ("file", self.folder / CONFIG[0]),
                    ("model_type", model),
                    ("expected", kind.model_type),
                ],
            )
        try:
            return kind.from_dict(found)
        except Exception as error:  # transformers documents no type
            raise ModelFormatError(
                "the configuration of the network cannot be used",
                facts=[("file", self.folder / CONFIG[0]), ("transformers says", first_line(error))],
            ) from error

    def json(self, name: str) -> dict[str, Any]:
        """Return what a file of JSON beside the weights says; nothing where there is none.

        Raises
        ------
        ModelFormatError
            If it is no JSON object.
        """
        path = self.folder / name
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ModelFormatError(
                f"a file of the checkpoint of {self.kind} cannot be read",
                facts=[("file", path), ("why", first_line(error))],
            ) from error
        if not isinstance(found, dict):
            raise ModelFormatError(
                f"a file of the checkpoint of {self.kind} is not what it should be",
                facts=[("file", path), ("expected", "a JSON object"), ("seen", type(found).__name__)],
            )
        return found

    def pieces(self, config: PretrainedConfig) -> WordPieceAnalyzer:
        """Return the tokenizer of BERT: the one beside the weights, or the one of bert-base-uncased.

        Raises
        ------
        ModelFormatError
            If it is not that of the network.
        DataError
            If it cannot be read.
        """
        beside = [self.folder / name for name in TOKENIZER if (self.folder / name).is_file()]
        analyzer = WordPieceAnalyzer.from_file(beside[0]) if beside else WordPieceAnalyzer.shipped()
        check_vocabulary(self.kind, self.place, len(analyzer.vocabulary), config.vocab_size, spare=_SPARE)
        return analyzer

    def fill(self, network: _Network, names: Mapping[str, str]) -> _Network:
        """Put the tensors into a network.

        Parameters
        ----------
        network : Module
            Changed in place.
        names : mapping of str to str
            From the beginning of a name in the network to that of the published one.

        Returns
        -------
        Module
            The network, in evaluation mode.

        Raises
        ------
        ModelFormatError
            If a tensor is missing, has another shape or holds what is no number, or the checkpoint has more layers than
            the configuration.
        """
        wanted = network.state_dict()
        published = {name: _published(name, names) for name in wanted}
        missing = sorted(name for name in published.values() if name not in self.tensors)
        if missing:
            raise self._unfit(
                "weights are missing: it would rank by random numbers",
                ("missing", f"{len(missing)} tensors, first {missing[0]}"),
            )
        for ours, name in published.items():
            seen, expected = tuple(self.tensors[name].shape), tuple(wanted[ours].shape)
            if seen != expected:
                raise self._unfit(
                    "a tensor has another shape than the configuration says",
                    ("tensor", name),
                    ("shape", seen),
                    ("expected", expected),
                )
            if not torch.isfinite(self.tensors[name]).all():
                raise self._unfit("a weight is not a finite number", ("tensor", name))
        roots = tuple(names.values())
        more = sorted(set(self.tensors) - set(published.values()))
        deeper = [name for name in more if name.startswith(roots) and _LAYER in name]
        if deeper:
            raise self._unfit(
                "there are more layers than the configuration says",
                ("left over", f"{len(deeper)} tensors, first {deeper[0]}"),
            )
        network.load_state_dict({ours: self.tensors[name] for ours, name in published.items()})
        return network.float().eval()

    def fingerprint(self, *said: object) -> str:
        """Return ``sha256:`` and a digest of the checkpoint, what lies beside it, and what else is said."""
        if self.place.is_dir():
            return folder_fingerprint(self.place, self.kind, *said)
        beside = [self.folder / name for name in (*CONFIG, *TOKENIZER, *_TELLING)]
        files = [self.file, *(path for path in beside if path.is_file())]
        told = repr((self.kind, said, [(path.suffix, digest_of(path)) for path in files]))
        return f"sha256:{hashlib.sha256(told.encode()).hexdigest()}"

    def _unfit(self, what: str, *facts: tuple[str, object]) -> ModelFormatError:
        return ModelFormatError(
            f"this is no whole checkpoint of {self.kind}",
            facts=[("file", self.file), ("why", what), *facts],
            fixes=["name the published checkpoint, with the config.json that belongs to it"],
        )


def read_checkpoint(
    kind: str, place: str | Path, weights: tuple[str, ...], *, fixes: tuple[str, ...]
) -> Checkpoint:
    """Read the tensors of a checkpoint; nothing in it is run.

    Parameters
    ----------
    kind : str
        What the network is called in errors.
    place : str or Path
        A file of weights, a folder with one, or a name on the hub of transformers.
    weights : tuple of str
        The names that a file of weights has in a folder; the first that is there is read.
    fixes : tuple of str
        What to do where there is none.

    Raises
    ------
    MissingFileError
        If there is no such file or folder.
    ModelFormatError
        If the hub has no such model, the folder has no weights, or they cannot be read without running code.
    """
    name = usual_name(place)
    place = located(f"checkpoint of {kind}", place, fixes)
    file = place
    if place.is_dir():
        found = [place / name for name in weights if (place / name).is_file()]
        if not found:
            raise ModelFormatError(
                f"this folder holds no checkpoint of {kind}",
                facts=[("folder", place), ("looked for", ", ".join(weights))],
                fixes=fixes,
            )
        file = found[0]
    try:
        held = (
            load_file(file)
            if file.suffix == ".safetensors"
            else torch.load(file, map_location="cpu", weights_only=True)
        )
    except Exception as error:  # neither library documents a type
        raise ModelFormatError(
            f"the weights of {kind} cannot be read",
            facts=[("file", file), ("why", first_line(error))],
            fixes=["name a file of tensors; one that would run code when it is read is refused"],
        ) from error
    said = {}
    if isinstance(held, dict) and isinstance(held.get(_STATE), dict):
        said = {name: value for name, value in held.items() if name != _STATE}
        held = held[_STATE]
    tensors = (
        {}
        if not isinstance(held, dict)
        else {
            str(name).removeprefix(_PARALLEL): value
            for name, value in held.items()
            if isinstance(value, Tensor)
        }
    )
    if not tensors:
        raise ModelFormatError(
            f"there are no weights of {kind} in this file", facts=[("file", file)], fixes=fixes
        )
    return Checkpoint(kind, name, place, file, tensors, said)


def tokenizer_folder(tokenizer: str | Path | None, folder: Path) -> Path:
    """Return where a tokenizer lies: where it is said to, or in the folder of the network.

    Raises
    ------
    TermwiseError
        As `located` does.
    """
    fixes = ("name a folder with tokenizer.json, or a name on the hub, such as google-t5/t5-base",)
    return folder if tokenizer is None else located("tokenizer", tokenizer, fixes, weights=False)


def foreign_tokenizer(beside: Path, folder: Path) -> tuple[str, ...]:
    """Return what the fingerprint of a network says of a tokenizer that lies elsewhere; nothing of its own."""
    return () if beside == folder else (folder_fingerprint(beside),)


def open_tokenizer(
    kind: str, folder: Path, vocabulary: int, fixes: tuple[str, ...]
) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a folder in the layout of transformers.

    Parameters
    ----------
    kind : str
        What the network is called in errors.
    folder : Path
    vocabulary : int
        Rows of the embeddings of the network.
    fixes : tuple of str
        What to do where there is none.

    Raises
    ------
    ModelFormatError
        If there is none, or it is not that of the network.
    """
    # without a file, transformers makes one up
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise ModelFormatError(
            f"there is no tokenizer of {kind}",
            facts=[("folder", folder), ("looked for", ", ".join(_TOKENIZERS))],
            fixes=fixes,
        )
    try:
        with quiet(bars=False):
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers documents no type
        raise ModelFormatError(
            f"the tokenizer of {kind} cannot be loaded",
            facts=[("folder", folder), ("transformers says", first_line(error))],
            fixes=fixes,
        ) from error
    check_vocabulary(kind, folder, len(tokenizer), vocabulary)
    return cast(PreTrainedTokenizerBase, tokenizer)


def special_piece(analyzer: WordPieceAnalyzer, piece: str) -> int:
    """Return the number of a piece that is not text.

    Raises
    ------
    ModelFormatError
        If the vocabulary does not have it.
    """
    found = analyzer.vocabulary.number(piece)
    if found is None:
        raise ModelFormatError(
            "the tokenizer is not that of the network: a piece that it reads is missing",
            facts=[("missing", piece), ("pieces", len(analyzer.vocabulary))],
            fixes=["put the tokenizer.json that belongs to it beside the weights"],
        )
    return found


def odd_setting(held: Checkpoint, name: str, value: object, expected: str) -> ModelFormatError:
    """Build the error for a setting of a checkpoint that is not what it should be."""
    return ModelFormatError(
        f"a setting of the checkpoint of {held.kind} cannot be used",
        facts=[("checkpoint", held.place), ("setting", name), ("value", value), ("expected", expected)],
    )


def readable_words(text: str, length: int) -> str:
    """Cut off words that no window of so many pieces holds: tokenizers take time and memory for what is not read.

    Examples
    --------
    >>> readable_words("one two  three four", 2), readable_words("one  two", 2)
    ('one two three', 'one  two')
    """
    words = text.split(maxsplit=length + 1)
    return text if len(words) <= length + 1 else " ".join(words[: length + 1])


def _published(name: str, names: Mapping[str, str]) -> str:
    ours = max((one for one in names if name.startswith(one)), key=len, default="")
    return names.get(ours, "") + name.removeprefix(ours)
