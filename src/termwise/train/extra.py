"""Whether what training needs is installed. The one module of this folder that imports none of it."""

from __future__ import annotations

from importlib.util import find_spec

from termwise.errors import MissingExtraError

NEEDED = ("torch", "transformers", "accelerate", "safetensors", "onnx")


def require_training() -> None:
    """Raise `MissingExtraError` where a package that training needs is missing."""
    for package in NEEDED:
        if find_spec(package) is None:
            raise MissingExtraError.of(package, "train", "training")
