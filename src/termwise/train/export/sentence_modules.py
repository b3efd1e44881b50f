"""Reader of the modules of a sentence-transformers folder: ``modules.json`` and the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from termwise.fast_dataclass import dataclass
from termwise.text.characters import without_surrogates
from termwise.train.export.checkpoint_files import misfit, read_json, read_settings

MODULES = "modules.json"
"""File that identifies the folder."""

SETTINGS = "config_sentence_transformers.json"
"""Settings of the whole folder."""

TRANSFORMER_SETTINGS = "sentence_bert_config.json"
"""Settings of a transformer, in its folder."""

MODULE_SETTINGS = "config.json"
"""Settings of another module, in its folder."""

QUERY_PROMPT, DOCUMENT_PROMPTS = "query", ("document", "passage", "corpus")
"""Names of prompts before queries and before documents; the first one of a folder is used."""


@dataclass(frozen=True)
class Module:
    """A module of a folder: the name of its class, such as ``Pooling``, and its own folder."""

    kind: str
    folder: Path


def read_modules(folder: Path) -> list[Module]:
    """Read the modules of a folder, in their order."""
    file = folder / MODULES
    modules = []
    for number, entry in enumerate(read_json(file, list)):
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise misfit(file, f"[{number}].type", "the name of a class", entry)
        path = inner_path(file, f"[{number}].path", entry.get("path"))
        modules.append(Module(class_name(entry["type"]), folder / path))
    return modules


def read_prompts(folder: Path) -> dict[str, str]:
    """Read the prompts of a folder by name, without empty ones."""
    prompts = read_settings(folder / SETTINGS).get("prompts") or {}
    texts = isinstance(prompts, dict) and all(isinstance(text, str | None) for text in prompts.values())
    if not texts:
        raise misfit(folder / SETTINGS, "prompts", "an object of texts", prompts)
    for name, text in prompts.items():
        if text and without_surrogates(text) != text:
            raise misfit(folder / SETTINGS, f"prompts.{name}", "a text without lone surrogates", text)
    return {name: text for name, text in prompts.items() if text}


def listed_prompts(folder: Path) -> str:
    """Return the prompts that the folder sets before queries or documents; empty for none."""
    used = (QUERY_PROMPT, *DOCUMENT_PROMPTS, read_settings(folder / SETTINGS).get("default_prompt_name"))
    return ", ".join(f"{name}: {text!r}" for name, text in read_prompts(folder).items() if name in used)


def inner_path(file: Path, key: str, path: object) -> str:
    """Return a path in a file if it is inside the folder of the file."""
    text = path if isinstance(path, str) else "/"
    inner = PurePosixPath(text)
    if {"\\", "\0"} & set(text) or inner.is_absolute() or ".." in inner.parts or Path(text).is_absolute():
        raise misfit(file, key, "a folder inside that of the file", path)
    return text


def class_name(dotted: str) -> str:
    """Return the last part of a dotted name.

    Examples
    --------
    >>> class_name("sentence_transformers.models.Pooling")
    'Pooling'
    """
    return dotted.rpartition(".")[2]


def listed(modules: Sequence[Module]) -> str:
    """Return the names of modules for a message."""
    return ", ".join(module.kind for module in modules) or "none"
