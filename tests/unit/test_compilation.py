"""Compilation of all kernels in advance."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import termwise
from termwise import compilation
from termwise.cli.main import run
from termwise.errors import StorageError
from termwise.kernels import code_cache
from termwise.kernels.jit import kernels

SOME = ["weighting.jelinek_mercer_weights", "string_lookup.insert_hashes", "likelihood.log_sigmoid"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only place for compiled code, in other processes too."""
    monkeypatch.setenv("TERMWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "no" / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    monkeypatch.setattr(
        compilation, "uncompiled", lambda: [name for name in SOME if not code_cache.has_code(name)]
    )
    return tmp_path / "cache"


def test_every_kernel_that_python_calls_is_listed() -> None:
    names = {kernel.name for kernel in compilation.all_kernels()}
    assert {"retrieval.retrieve_segments", *SOME} <= names
    inner = {each.name for each in kernels if each.__module__.startswith("termwise.kernels.")} - names
    assert "retrieval.offer" in inner
    assert len(names) == len(compilation.all_kernels())


def test_kernels_are_compiled_once(place: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    assert termwise.warm(progress=lambda *given: told.append(given)) == 3
    assert told == [("compile", done, 3) for done in range(4)]
    assert sorted(path.name for path in place.glob("kernels-*/*")) == sorted(SOME)
    assert termwise.warm() == 0


def test_two_processes_that_compile_at_once_do_no_harm(place: Path) -> None:
    program = f"from termwise import compilation; compilation.compile_kernels({SOME!r})"
    both = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert sorted(path.name for path in place.glob("kernels-*/*")) == sorted(SOME)
    assert all(code_cache.read_code(name) for name in SOME)


def test_a_process_that_fails_is_left_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(compilation, "_CHILD", "raise SystemExit(1)")
    compilation.compile_kernels(SOME, progress=lambda stage, done, total: told.append(done))
    assert told == [0]


def test_without_a_folder_that_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "places", lambda: iter([tmp_path / "file"]))
    with pytest.raises(StorageError, match="no folder for compiled kernels can be written") as caught:
        termwise.warm()
    assert "TERMWISE_CACHE" in str(caught.value.render())


def test_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warm"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("compiled 3 kernels in ")
    assert str(place) in first
    assert run(["warm", "--json"]) == 0
    assert capsys.readouterr().out.startswith('{"compiled": 0, "folder": ')
