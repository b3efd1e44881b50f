"""Fixtures of the encoder tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """Return the module that makes encoders small enough to compute by hand."""
    return load(HERE / "tiny.py")


@pytest.fixture
def tilde(tiny: ModuleType, tmp_path: Path) -> Path:
    """Return the folder of a TILDE encoder with hand-set logits."""
    table = tiny.square(
        {
            tiny.DOC: {tiny.CAT: -1.0, tiny.DOG: -2.0},
            tiny.QRY: {tiny.CAT: -4.0, tiny.DOG: 4.0},
            tiny.MERGE: {tiny.MERGE: 3.0, tiny.SORT: 1.0, tiny.THE: 9.0, tiny.S: 8.0, tiny.HOW: 2.5},
            tiny.SORT: {tiny.SORT: 2.0, tiny.LIST: 0.5, tiny.DEFINITION: 5.0},
            tiny.LIST: {tiny.LIST: 1.5, tiny.MERGE: 0.0},
        }
    )
    floors = [-3.0] * len(tiny.PIECES)
    return tiny.make_folder(tmp_path / "tilde", "tilde", table, floors=floors)
