"""Models named as on the hub of transformers: whether they can be had, before anything waits for a network."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

from huggingface_hub import (
    HfApi,
    get_hf_file_metadata,
    hf_hub_url,
    snapshot_download,
    try_to_load_from_cache,
)

from termwise.errors import ModelFormatError
from termwise.train.messages import first_line

CONFIG = ("config.json",)
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
TOKENIZER = ("tokenizer.json", "vocab.txt")

_SETTINGS = (".json", ".txt", ".model", ".metadata")
_SAFE, _PICKLED = ".safetensors", ".bin"
_OTHERS = ("onnx", "openvino")
"""Folders with the same network for other libraries."""

_PATIENCE = 5.0
"""Seconds to wait for the hub to answer."""


def hub_options(
    base: str | Path,
    *needed: tuple[str, ...],
) -> dict[str, bool]:
    """Find out how a model is loaded: from its folder, from what was downloaded before, or from the hub.

    Parameters
    ----------
    base : str or Path
        A folder, or a name on the hub.
    *needed : tuple of str
        Files of the model, one of each tuple.

    Returns
    -------
    dict
        Further options of ``from_pretrained``, which otherwise asks the hub again and again where it does not answer.
        No code that a model brings along is run.

    Raises
    ------
    ModelFormatError
        If there is no such folder, nothing of that name was downloaded, and the hub does not answer or has none.
    """
    options = {"trust_remote_code": False}
    if Path(base).is_dir():
        return options
    if all(any(_is_cached(str(base), name) for name in names) for names in needed):
        return options | {"local_files_only": True}
    reason = _refusal(str(base))
    if reason is None:
        return options
    raise _unknown(
        "encoder",
        base,
        reason,
        ("--base FOLDER, one with config.json, model.safetensors and tokenizer.json",),
    )


def hub_copy(name: str, *, noun: str, fixes: tuple[str, ...], weights: bool = True) -> Path:
    """Return the folder with what the hub has under a name; what is missing here is downloaded, bars show how far.

    Where the hub does not answer, what was downloaded before is taken.

    Parameters
    ----------
    name : str
        Such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    noun : str
        For the error: what is looked for.
    fixes : tuple of str
        For the error: what to do.
    weights : bool, optional
        Whether the weights are downloaded too.

    Returns
    -------
    Path
        A folder of the hub's cache: weights, settings and tokenizer as they are there.

    Raises
    ------
    ModelFormatError
        If nothing of that name was downloaded, and the hub does not answer or has none.
    """
    reason = _refusal(name)
    if reason is None:
        try:
            return Path(
                snapshot_download(name, allow_patterns=_needed(HfApi().list_repo_files(name), weights))
            )
        except Exception as error:  # as in _refusal
            reason = first_line(error)
    try:
        kinds = [f"*{suffix}" for suffix in (*_SETTINGS, *((_SAFE,) if weights else ()))]
        others = [f"{folder}/*" for folder in _OTHERS]
        copy = snapshot_download(name, local_files_only=True, allow_patterns=kinds, ignore_patterns=others)
    except Exception:  # as in _refusal
        raise _unknown(noun, name, reason, fixes) from None
    return Path(copy)


def _needed(files: Iterable[str], weights: bool = True) -> list[str]:
    """Return the files of a model that torch reads: no other formats, and the safe one of weights that are there twice.

    Examples
    --------
    >>> _needed(["config.json", "model.safetensors", "onnx/model.onnx", "pytorch_model.bin", "tf_model.h5"])
    ['config.json', 'model.safetensors']
    """
    paths = [PurePosixPath(file) for file in files]
    safe = {path.parent for path in paths if path.suffix == _SAFE}
    return [
        str(path)
        for path in paths
        if path.parts[0] not in _OTHERS
        and (
            path.suffix in _SETTINGS
            or (weights and path.suffix == (_SAFE if path.parent in safe else _PICKLED))
        )
    ]


def _unknown(noun: str, name: str | Path, reason: str, fixes: tuple[str, ...]) -> ModelFormatError:
    return ModelFormatError(
        f"there is no {noun} of that name",
        facts=[
            ("name", name),
            ("as a folder", "there is none"),
            ("downloaded before", "no"),
            ("the hub", reason),
        ],
        fixes=fixes,
    )


def _is_cached(base: str, name: str) -> bool:
    try:
        return isinstance(try_to_load_from_cache(base, name), str)
    except ValueError:  # no name that a hub could have
        return False


@cache
def _refusal(base: str) -> str | None:
    """Ask the hub for the configuration of a model, once; return why it cannot be had."""
    try:
        get_hf_file_metadata(hf_hub_url(base, CONFIG[0]), timeout=_PATIENCE)
    except Exception as error:  # the client has one tree of errors of its own, and that of its HTTP library
        return first_line(error)
    return None
