"""Fixtures that several parts of the suite share."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import settings

# Examples can be slow on shared machines, which is not a failure; failures must be reproducible.
settings.register_profile("termwise", deadline=None, derandomize=True)
settings.load_profile("termwise")


@pytest.fixture(autouse=True)
def no_note_on_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppress the note about the compilation of kernels, because it depends on what earlier tests compiled."""
    monkeypatch.setattr("termwise.cli.main.note_compiling", lambda: None)


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of judged collections beside the repository; skip with a warning without one."""
    if not SHARED.is_dir():
        message = f"skipped: the judged collections are not at {SHARED}"
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return SHARED
