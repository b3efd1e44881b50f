"""Whether what training needs is installed. The one module of this folder that imports none of it."""

from __future__ import annotations

import os
from importlib.util import find_spec

from termwise.errors import MissingExtraError

NEEDED = ("torch", "transformers", "accelerate", "safetensors", "onnx")


def is_first_process() -> bool:
    """Whether this is the first of the processes that torchrun or accelerate started, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def require_training() -> None:
    """Raise `MissingExtraError` where a package that training needs is missing."""
    for package in NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError.of(package, "train", "training")
