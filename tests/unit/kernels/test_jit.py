"""Cache and callback of compilation."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config
from numba.core.caching import IndexDataCacheFile

import termwise
from termwise.kernels.jit import compiled, compiled_or, on_compilation, use_unique_names


def files(folder: Path) -> IndexDataCacheFile:
    return IndexDataCacheFile(str(folder), "kernel-1.py311", "stamp")


@pytest.mark.parametrize("apart", [True, False])
def test_two_processes_that_compile_at_once(tmp_path: Path, apart: bool) -> None:
    """One has read the index before the other writes it, and writes its code last; numba by itself mixes them up."""
    first, second = files(tmp_path), files(tmp_path)
    if apart:
        use_unique_names(first)
        use_unique_names(second)
    read, write = second._load_index(), first._save_data
    second._load_index = lambda: read

    def interrupted(name: str, code: str) -> None:
        second.save("integers", "code for integers")
        write(name, code)

    first._save_data = interrupted
    first.save("floats", "code for floats")
    found = files(tmp_path).load("integers")
    assert found == ("code for integers" if apart else "code for floats")


def test_cache_files_have_unique_names() -> None:
    @compiled
    def kernel(number: int) -> int:
        return number + 1

    file = kernel.compiled._cache._cache_file
    assert file._data_name(1) != file._data_name(1)
    assert file._data_name(1).endswith(".nbc")
    assert kernel(1) == 2


def test_the_callback_runs_once_and_not_for_cached_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def kernel(number: float) -> float:
        return number + 1

    told: list[str] = []
    with on_compilation(lambda: told.append("first")):
        first = compiled(kernel)
        assert told == []
        first(1)
        first(1.0)
    with on_compilation(lambda: told.append("again")):
        compiled(kernel)(1)
    first(1j)
    assert told == ["first"]


def test_a_cache_that_cannot_be_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)

    @compiled
    def kernel(number: int) -> int:
        return number + 1

    assert kernel(1) == 2


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


def test_a_plain_function_takes_over_if_numba_fails() -> None:
    def kernel(number: int) -> int:
        return number + 1

    failing = compiled_or(kernel)(kernel)
    failing.__dict__["compiled"] = lambda number: 1 // 0
    with pytest.warns(RuntimeWarning, match="numba cannot be used, searches are slower: ZeroDivisionError"):
        assert failing(1) == 2
    assert failing(2) == 3  # without a second warning
