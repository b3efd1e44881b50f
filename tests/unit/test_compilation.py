"""Compilation of all kernels in advance."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
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
    monkeypatch.setattr(compilation, "uncompiled", lambda: code_cache.uncompiled(SOME))
    return tmp_path / "cache"


def test_every_kernel_that_python_calls_is_listed() -> None:
    names = {kernel.name for kernel in compilation.all_kernels()}
    assert {"retrieval.retrieve_segments", *SOME} <= names
    inner = {each.name for each in kernels if each.__module__.startswith("termwise.kernels.")} - names
    assert "retrieval.offer" in inner
    assert len(names) == len(compilation.all_kernels())


def test_kernels_are_compiled_once(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, int, int | None]] = []
    assert termwise.warm(progress=lambda *given: told.append(given)) == 3
    assert told == [("compile", done, 3) for done in range(4)]
    assert sorted(path.name for path in place.glob("kernels-*/*")) == sorted(SOME)
    assert termwise.warm() == 0
    assert capfd.readouterr().err == ""


SMALL = """
import sys
import termwise
from termwise.kernels.jit import compiled_names

documents = [termwise.Document(str(n), f"green tea pot {n}", {"n": n}) for n in range(300)]
searcher = termwise.build_index(documents, sys.argv[1], store_text=True)
assert searcher.rank("tea 17", k=3, filter="n < 50").doc_ids[0] == "17"
with termwise.open_writer(sys.argv[1]) as writer:
    writer.add([termwise.Document("new", "black tea")])
assert searcher.refresh().rank("black", k=3).doc_ids == ("new",)
assert "numba" not in sys.modules and not compiled_names
"""


def test_a_small_collection_needs_no_compiled_code(place: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SMALL, str(tmp_path / "index")], check=True)
    assert not place.exists()


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


def test_interruption_ends_the_children(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_CHILD", "print(1, flush=True); import time; time.sleep(600)")

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compilation.compile_kernels(SOME, progress=interrupt)
    assert time.monotonic() - begin < 60


def test_a_child_ends_with_its_parent(place: Path) -> None:
    with compilation._child(["retrieval.retrieve_segments"]) as child:
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(60) == 1
    assert not list(place.glob("kernels-*/*"))


@pytest.mark.parametrize("signals", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_command(place: Path, signals: int) -> None:
    words = [sys.executable, "-m", "termwise", "warm"]
    usual = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=usual) as command:
        try:
            time.sleep(2)
            command.send_signal(signals)
            _, said = command.communicate(timeout=20)
        finally:
            command.kill()
    assert command.returncode == 128 + signals
    assert "Traceback" not in said


def test_code_is_written_with_any_umask(place: Path) -> None:
    before = os.umask(0o002)
    try:
        compilation.compile_kernels(SOME[1:2])
    finally:
        os.umask(before)
    assert code_cache.uncompiled(SOME[1:2]) == []
    assert place.stat().st_mode & 0o777 == 0o700


def test_damaged_and_exchanged_files_are_compiled_again(place: Path) -> None:
    compilation.compile_kernels(SOME)
    folder = code_cache.writable_folder()
    assert folder is not None
    (folder / SOME[0]).write_bytes((folder / SOME[2]).read_bytes())
    (folder / SOME[1]).write_bytes((folder / SOME[1]).read_bytes()[:100])
    assert code_cache.uncompiled(SOME) == SOME[:2]
    assert code_cache.read_code(SOME[0]) == {}
    assert termwise.warm() == 2


def test_other_folders_stay_and_a_given_place_is_filled(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (place / f"kernels-mine{number}").mkdir(parents=True, mode=0o755)
    compilation.compile_kernels(SOME)
    assert len(list(place.glob("kernels-mine*"))) == 9
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.parent))
    monkeypatch.setenv("TERMWISE_CACHE", str(tmp_path / "image"))
    assert code_cache.uncompiled(SOME) == SOME


@pytest.mark.parametrize("bad", ["x" * 300, "/dev/null/inside", "a\n/b"])
def test_a_place_that_cannot_be_used_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    monkeypatch.setattr(code_cache, "places", lambda: iter([Path(bad), tmp_path / "good"]))
    monkeypatch.chdir(tmp_path)
    assert code_cache.is_empty()
    assert code_cache.read_code(SOME[0]) == {}
    assert code_cache.uncompiled(SOME) == SOME
    compilation_folder = code_cache.writable_folder()
    assert compilation_folder is not None


def test_without_a_folder_that_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "places", lambda: iter([tmp_path / "file"]))
    with pytest.raises(StorageError, match="no folder for compiled kernels can be written") as caught:
        termwise.warm()
    assert "TERMWISE_CACHE" in str(caught.value.render())


def test_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["warm"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("compiled 3 numerical functions in ")
    assert str(place) in first
    assert run(["warm", "--json"]) == 0
    assert capsys.readouterr().out.startswith('{"compiled": 0, "folder": ')
