"""Benchmarks are scripts, which tests import from their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return their folder, which is on the path."""
    if not BENCHMARKS.is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(BENCHMARKS.parent / "experiments"))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return BENCHMARKS
