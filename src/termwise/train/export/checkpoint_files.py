"""Files of a published checkpoint: JSON, and named tensors.

The files are untrusted input: their contents are checked, and code in them is never run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file

from termwise.errors import MissingFileError, ModelFormatError
from termwise.storage.safe_read import is_file
from termwise.train.library_errors import errors_as, first_line

Arrays = dict[str, npt.NDArray[np.float32]]

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def read_json(path: Path, kind: type) -> Any:
    """Read a JSON file whose top-level value has the type `kind`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingFileError(
            "a file of the checkpoint is missing",
            facts=[("file", path)],
            fixes=["download the complete checkpoint"],
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(
            "a file of the checkpoint is not JSON",
            facts=[("file", path), ("reason", first_line(error))],
            fixes=["download the checkpoint again"],
        ) from error
    if not isinstance(content, kind):
        raise misfit(path, "the whole file", "an object" if kind is dict else "a list", content)
    return content


def read_settings(path: Path) -> dict[str, Any]:
    """Read a JSON object; it is empty if there is no such file."""
    return read_json(path, dict) if is_file(path) else {}


def misfit(file: Path, key: str, expected: str, seen: object) -> ModelFormatError:
    """Return the error for an unexpected value in a file."""
    return ModelFormatError(
        "a file of the checkpoint has an unexpected value",
        facts=[("file", file), ("key", key), ("expected", expected), ("seen", repr(seen)[:80])],
        fixes=["download the checkpoint again"],
    )


def read_tensors(folder: Path) -> tuple[Arrays, dict[str, str]]:
    """Read the tensors of ``model.safetensors`` or ``pytorch_model.bin``.

    Those of floating-point numbers become float32; of the others, data type and layout are returned.
    """
    path = next((folder / name for name in _WEIGHTS if is_file(folder / name)), None)
    if path is None:
        raise MissingFileError(
            "the checkpoint has no weights",
            facts=[("folder", folder), ("expected", " or ".join(_WEIGHTS))],
            fixes=["download the complete checkpoint"],
        )
    with errors_as(
        ModelFormatError,
        "the weights of the checkpoint cannot be read, or contain more than tensors",
        facts=[("file", path)],
        fixes=["convert them to model.safetensors if you trust the file"],
    ):
        if path.suffix == ".safetensors":
            state: Mapping[str, Any] = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in state.items()
    ):
        raise ModelFormatError(
            "the weights are not named tensors",
            facts=[("file", path)],
            fixes=["save only the state_dict() of the network"],
        )
    plain = {name: tensor.detach().float().numpy() for name, tensor in state.items() if _is_plain(tensor)}
    others = {
        name: f"{str(tensor.dtype).removeprefix('torch.')}, {tensor.layout}"
        for name, tensor in state.items()
        if not _is_plain(tensor)
    }
    return plain, others


def check_finite(folder: Path, weights: Arrays) -> None:
    """Raise `ModelFormatError` for the first tensor with a number that is not finite."""
    for name, array in weights.items():
        not_finite = int((~np.isfinite(array)).sum())
        if not_finite:
            raise ModelFormatError(
                "a weight of the checkpoint is not a finite number",
                facts=[("folder", folder), ("tensor", name), ("not finite", f"{not_finite} of {array.size}")],
                fixes=["download the checkpoint again, or use an earlier one"],
            )


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.layout == torch.strided and not tensor.is_meta
