"""Compilation of kernels, and their code on the disk."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise.kernels import code_cache, jit
from termwise.kernels.jit import Kernel, compilation_seconds, compiled_for, on_compilation


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only place for compiled code, a folder that does not exist."""
    place = tmp_path / "cache"
    monkeypatch.setattr(code_cache, "places", lambda: iter([place]))
    return place


def new_kernel(*signatures: str) -> Kernel[[float], float]:
    def add_one(number: float) -> float:
        return number + 1

    return compiled_for(*(signatures or ("int64",)))(add_one)


def compilations(function: Callable[[], object]) -> list[str]:
    """Return a list with one item if a function compiles a kernel, else an empty list."""
    found: list[str] = []
    with on_compilation(lambda: found.append("compiled")):
        function()
    return found


def code_files(place: Path) -> list[Path]:
    return sorted(place.glob("kernels-*/*"))


def test_all_signatures_are_compiled_once_and_nothing_else(place: Path) -> None:
    first = new_kernel("int64", "float64[:]")
    before = compilation_seconds()
    assert compilations(lambda: first(1)) == ["compiled"]
    assert compilation_seconds() > before
    again = new_kernel("int64", "float64[:]")
    assert compilations(lambda: again(1)) == []
    assert compilations(lambda: again(np.ones(2))) == []
    assert again(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="No matching definition"):
        again(np.ones(4)[::2])


def test_another_signature_of_a_known_kernel_is_compiled_and_kept(place: Path) -> None:
    new_kernel("int64")(1)
    assert compilations(lambda: new_kernel("int64", "float64")(1)) == ["compiled"]
    assert compilations(lambda: new_kernel("float64")(1.5)) == []
    assert len(code_files(place)) == 1


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_damaged_code_is_compiled_again(place: Path, damage: bytes | None) -> None:
    new_kernel()(1)
    (path,) = code_files(place)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if damage is None else damage)
    kernel = new_kernel()
    assert compilations(lambda: kernel(1)) == ["compiled"]
    assert path.read_bytes()[:32] == data[:32] or code_cache.read_code(kernel.name)
    assert compilations(lambda: new_kernel()(1)) == []


def test_code_in_a_folder_that_others_can_write_is_not_read(place: Path) -> None:
    new_kernel()(1)
    place.chmod(0o777)
    assert compilations(lambda: new_kernel()(1)) == ["compiled"]
    place.chmod(0o755)
    assert compilations(lambda: new_kernel()(1)) == []


def test_code_for_other_sources_is_not_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_kernel()(1)
    monkeypatch.setattr(code_cache, "_key", lambda: "another")
    assert compilations(lambda: new_kernel()(1)) == ["compiled"]


def test_the_next_place_is_used_if_the_first_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "places", lambda: iter([tmp_path / "file", tmp_path / "second"]))
    new_kernel()(1)
    assert code_files(tmp_path / "second")
    assert compilations(lambda: new_kernel()(1)) == []


def test_without_a_place_each_process_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(code_cache, "places", lambda: iter([tmp_path / "file"]))
    kernel = new_kernel()
    assert kernel(1) == 2
    assert code_cache.uncompiled([kernel.name]) == [kernel.name]


def test_a_full_disk_is_ignored(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert new_kernel()(1) == 2
    assert code_files(place) == []


def test_old_code_is_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in range(code_cache.KEPT + 3):
        monkeypatch.setattr(code_cache, "_key", lambda version=version: f"{version:016x}")
        new_kernel()(1)
    assert len(list(place.glob("kernels-*"))) == code_cache.KEPT + 1
    assert (place / f"kernels-{version:016x}").exists()


def test_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TERMWISE_CACHE", str(tmp_path / "given"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    first, second, _ = code_cache.places()
    assert (first, second) == (tmp_path / "given", tmp_path / "user" / "termwise")
    monkeypatch.delenv("TERMWISE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert len(list(code_cache.places())) == 1


SEARCHES = """
import sys
import termwise
from termwise.kernels import jit

searcher = termwise.open(sys.argv[1])
plain = [searcher.rank(query, k=3) for query in ("green tea", "pot")]
assert not {"numba", "scipy", "rich", "typer", "tokenizers", "logging", "tempfile"} & set(sys.modules)
jit.PLAIN_SECONDS = -1.0
assert [searcher.rank(query, k=3) for query in ("green tea", "pot")] == plain
assert "numba" in sys.modules
"""


def test_the_first_searches_of_a_process_need_no_numba(tmp_path: Path) -> None:
    documents = [termwise.Document(str(n), f"green tea pot {n}"[: 6 + n % 9]) for n in range(50)]
    termwise.build_index(documents, tmp_path / "index")
    subprocess.run([sys.executable, "-c", SEARCHES, str(tmp_path / "index")], check=True)


def test_plain_functions_take_over_if_numba_fails(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(number: int) -> int:
        return number + len(UNKNOWN)  # type: ignore[name-defined]  # noqa: F821

    def plain(number: int) -> int:
        return number + 1

    monkeypatch.setattr(jit, "_failed", False)
    first, second = (compiled_for("int64", plain=plain)(kernel) for _ in range(2))
    with pytest.warns(RuntimeWarning, match="numba cannot be used, searches are slower: TypingError"):
        assert first(1) == 2
    assert first(2) == 3  # without a second warning
    assert second(1) == 2
    with pytest.raises(Exception, match="UNKNOWN"):
        compiled_for("int64")(kernel)(1)
