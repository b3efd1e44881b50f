"""Availability and download of models from the hub of transformers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

from huggingface_hub import HfApi, get_hf_file_metadata, hf_hub_url, snapshot_download, try_to_load_from_cache

from termwise.errors import ModelFormatError
from termwise.fixes import Code, Fix
from termwise.storage.safe_read import is_folder
from termwise.train.library_errors import first_line

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
"""Folders with the same network in formats of other libraries."""

_TIMEOUT = 5.0
"""Seconds to wait for a response of the hub."""


def hub_options(base: str | Path, *needed: tuple[str, ...]) -> dict[str, bool]:
    """Return the options of ``from_pretrained`` for a local folder, a cached model, or a download.

    Without these options transformers repeats its requests if the hub does not answer. They forbid running code of a
    model. The model needs one file of each tuple `needed`.
    """
    options = {"trust_remote_code": False}
    if is_folder(Path(base)):
        return options
    if all(any(_is_cached(str(base), name) for name in names) for names in needed):
        return options | {"local_files_only": True}
    reason = _refusal(str(base))
    if reason is None:
        return options
    fixes = (
        Fix.use("{}, a folder with config.json, model.safetensors and tokenizer.json", base=Code("FOLDER")),
    )
    raise _not_found("encoder", base, reason, fixes)


def hub_snapshot(name: str, *, noun: str, fixes: tuple[str, ...], weights: bool = True) -> Path:
    """Return the cache folder of a model, in the layout of the hub; download missing files, with progress bars.

    If the hub does not answer, files of earlier downloads are used. `noun` and `fixes` are for the error.
    """
    reason = _refusal(name)
    if reason is None:
        try:
            patterns = _files_for_torch(HfApi().list_repo_files(name), weights)
            return Path(snapshot_download(name, allow_patterns=patterns))
        except Exception as error:  # as in _refusal
            reason = first_line(error)
    patterns = [f"*{suffix}" for suffix in (*_SETTINGS, *((_SAFE,) if weights else ()))]
    ignored = [f"{folder}/*" for folder in _OTHERS]
    try:
        folder = snapshot_download(
            name, local_files_only=True, allow_patterns=patterns, ignore_patterns=ignored
        )
    except Exception:  # as in _refusal
        raise _not_found(noun, name, reason, fixes) from None
    return Path(folder)


def _files_for_torch(files: Iterable[str], weights: bool = True) -> list[str]:
    """Select the files that torch reads; pickled weights only if there are no safetensors.

    Examples
    --------
    >>> _files_for_torch(["config.json", "model.safetensors", "onnx/model.onnx", "pytorch_model.bin", "tf_model.h5"])
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


def _not_found(noun: str, name: str | Path, reason: str, fixes: tuple[str | Fix, ...]) -> ModelFormatError:
    return ModelFormatError(
        f"there is no {noun} of that name",
        facts=[
            ("name", name),
            ("local folder", "does not exist"),
            ("downloaded before", "no"),
            ("hub", reason),
        ],
        fixes=fixes,
    )


def _is_cached(base: str, name: str) -> bool:
    try:
        return isinstance(try_to_load_from_cache(base, name), str)
    except ValueError:  # not a valid name on the hub
        return False


@cache
def _refusal(base: str) -> str | None:
    """Request the configuration of a model once; return the reason for a failure, else None."""
    try:
        get_hf_file_metadata(hf_hub_url(base, CONFIG[0]), timeout=_TIMEOUT)
    except Exception as error:  # the errors of the client and of its HTTP library have no common type
        return first_line(error)
    return None
