"""Every byte of an index, changed in turn: `verify` finds it, and nobody gets hurt using the index as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import DataError
from termwise.index import Index, IndexWriter, verify
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights


def flips(folder: Path, pattern: int) -> Iterator[tuple[Path, int]]:
    """Change each byte of each file, and put it back afterwards."""
    for path in sorted(folder.iterdir()):
        with path.open("r+b", buffering=0) as file:
            original = file.read()
            for position, byte in enumerate(original):
                file.seek(position)
                file.write(bytes([byte ^ pattern]))
                yield path, position
                file.seek(position)
                file.write(bytes([byte]))


@pytest.mark.parametrize("pattern", [0x01, 0x80])
def test_verify_finds_every_flipped_byte_and_names_the_file(impacts: Path, pattern: int) -> None:
    found = 0
    for path, position in flips(impacts, pattern):
        try:
            names = [damage.file for damage in verify(impacts)]
        except DataError as error:
            assert path.name == "manifest.json"
            names = [Path(str(dict(error.facts)["file"])).name]
        assert names == [path.name], position
        found += 1
    assert found == sum(path.stat().st_size for path in impacts.iterdir()) > 4000
    assert verify(impacts) == []


def test_the_offset_of_a_flipped_byte_is_that_of_its_section(impacts: Path) -> None:
    (path,) = impacts.glob("segment-*.tw")
    known = 0
    for flipped, position in flips(impacts, 0x10):
        if flipped == path:
            (damage,) = verify(impacts)
            if damage.offset is not None:
                assert position - 64 < damage.offset <= position or damage.offset in (0, 8, 48)
                known += 1
    assert known > path.stat().st_size / 2  # between sections lie bytes that belong to none


def test_using_a_damaged_index_ends_in_an_answer_or_an_error_of_ours(
    golden: Path, run: Callable[..., Any]
) -> None:
    result = run("sweep", golden, "0x01")
    assert result["changed"] == sum(path.stat().st_size for path in golden.iterdir())
    assert result["outcomes"]["CorruptIndexError"] > 1000
    assert result["outcomes"]["done"] > 1000


def test_no_kernel_leaves_its_arrays(golden: Path, run: Callable[..., Any]) -> None:
    result = run("sweep", golden, "0x80", 5, NUMBA_DISABLE_JIT="1")
    assert result["outcomes"]["CorruptIndexError"] > 100
    assert result["outcomes"]["done"] > 100


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Write an index of several blocks and internal orders, with biases and ties."""
    generator = np.random.default_rng(11)
    vocabulary = Vocabulary([f"t{i}" for i in range(12)], background=True)
    rows = [
        {int(t): float(generator.integers(1, 9)) for t in np.flatnonzero(generator.random(12) < 0.2)}
        | {12: float(generator.integers(0, 4))}
        for _ in range(600)
    ]
    with IndexWriter(tmp_path / "blocks") as writer:
        writer.add([f"d{i}" for i in range(600)], TermWeights.from_rows(rows, vocabulary.id))
        writer.commit(vocabulary, encoder={})
    assert len(Index.open(tmp_path / "blocks").segments[0].block_bits * [0]) == 8
    return tmp_path / "blocks"


@pytest.mark.parametrize("pattern", [0x01, 0xFF])
def test_several_blocks(blocks: Path, run: Callable[..., Any], pattern: int) -> None:
    result = run("sweep", blocks, pattern, 61)
    assert result["outcomes"]["CorruptIndexError"] > 20
    result = run("sweep", blocks, pattern, 499, NUMBA_DISABLE_JIT="1")
    assert result["outcomes"]["done"] > 20
