"""Public names of `termwise.train`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import termwise.train


def test_importing_the_package_needs_no_torch() -> None:
    code = "import sys, termwise.train; assert not {'torch', 'transformers', 'onnx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_sorted_and_can_be_loaded() -> None:
    pytest.importorskip("torch")
    assert termwise.train.__all__ == sorted(termwise.train.__all__) == dir(termwise.train)
    for name in termwise.train.__all__:
        assert getattr(termwise.train, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'fit_encoder'"):
        getattr(termwise.train, "fit_encoder")  # noqa: B009
