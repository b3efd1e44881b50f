"""Processor classes from /proc/cpuinfo."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise.encode import cpu_features as module
from termwise.encode.cpu_features import classify, has_fast_int8, processor_class


@pytest.mark.parametrize(
    ("cpuinfo", "machine", "expected"),
    [
        ("processor : 0\nflags\t\t: fpu sse avx2 avx512f avx512_vnni\n", "x86_64", "avx512-vnni"),
        ("flags : avx2 avx_vnni", "x86_64", "avx-vnni"),
        ("flags : avx avx2 avx512f avx512bw", "x86_64", "avx2"),
        ("flags : sse2", "x86_64", "other"),
        ("Features : fp asimd asimddp", "aarch64", "arm-dotprod"),
        ("Features : fp asimd", "aarch64", "other"),
        ("Features : fp asimd asimddp", "arm64", "arm-dotprod"),
        ("model name : avx512_vnni", "x86_64", "other"),
        ("", "x86_64", "other"),
    ],
)
def test_classes(cpuinfo: str, machine: str, expected: str) -> None:
    assert classify(cpuinfo, machine) == expected


def test_fast_int8() -> None:
    assert [has_fast_int8(kind) for kind in ("avx512-vnni", "avx-vnni", "arm-dotprod")] == [True] * 3
    assert not has_fast_int8("avx2")
    assert not has_fast_int8("other")


def test_unknown_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert processor_class() in ("avx512-vnni", "avx-vnni", "avx2", "arm-dotprod", "other")
    monkeypatch.setattr(module, "_CPUINFO", tmp_path / "missing")
    assert processor_class() == "other"
