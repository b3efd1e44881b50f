"""The public interface: seventeen names, and sub-packages that list their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

import termwise

PACKAGES = [name for name in dir(termwise) if not name.startswith("__") and name not in termwise.__all__]


def test_public_names_are_sorted_and_load():
    assert termwise.__all__ == sorted(termwise.__all__)
    assert len(termwise.__all__) == 20
    for name in termwise.__all__:
        value = getattr(termwise, name)
        assert value.__doc__, name
        assert name in dir(termwise)


def test_unknown_names_are_refused():
    assert not hasattr(termwise, "no_such_name")


@pytest.mark.parametrize("package", PACKAGES)
def test_sub_packages_load_when_they_are_used(package):
    program = f"import termwise; print(termwise.{package}.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"termwise.{package}\n"


@pytest.mark.parametrize("package", PACKAGES)
def test_sub_packages_list_their_public_names_only(package):
    module = getattr(termwise, package)
    if hasattr(module, "__path__"):
        assert dir(module) == sorted(module.__all__)
        assert all(getattr(module, name) is not None for name in module.__all__)
