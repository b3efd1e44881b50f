"""Check that the packages of the extra ``train`` are installed; this module imports none of them."""

from __future__ import annotations

import os
from importlib.util import find_spec

from termwise.errors import MissingExtraError


def is_first_process() -> bool:
    """Whether this is the only process, or the first one of ``torchrun`` or ``accelerate launch``."""
    return os.environ.get("RANK", "0") == "0"


def require_training() -> None:
    """Raise `MissingExtraError` if a package required for training is not installed."""
    for package in ("torch", "transformers", "accelerate", "safetensors", "onnx"):
        if find_spec(package) is None:
            raise MissingExtraError.of(package, "train", "training")
