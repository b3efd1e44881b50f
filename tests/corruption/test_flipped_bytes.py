"""Every byte of an index is changed in turn: `verify` finds it, and using the index is safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.errors import CorruptIndexError, DataError, TermwiseError
from termwise.index import Index, IndexWriter, open_files, verify
from termwise.index.container import Container
from termwise.index.updater import IndexUpdater
from termwise.search import Boost, Relevance, Search
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

STEPS = {"impacts": 1, "texts": 5, "vectors": 5, "changes": 7}
"""Every byte of the simplest index is changed, and every fifth or seventh of those that are slower to open."""


def flips(folder: Path, pattern: int, step: int) -> Iterator[tuple[Path, int]]:
    """Change and restore every byte of each file, or one of `step` bytes."""
    for path in sorted(folder.iterdir()):
        with path.open("r+b", buffering=0) as file:
            original = file.read()
            for position, byte in islice(enumerate(original), 0, None, step):
                file.seek(position)
                file.write(bytes([byte ^ pattern]))
                yield path, position
                file.seek(position)
                file.write(bytes([byte]))


@pytest.mark.parametrize(("name", "pattern"), [("impacts", 0x01), ("vectors", 0x80), ("changes", 0x01)])
def test_verify_finds_every_flipped_byte_and_names_its_place(
    request: pytest.FixtureRequest, name: str, pattern: int
) -> None:
    folder = request.getfixturevalue(name)
    found = known = tried = 0
    for path, position in flips(folder, pattern, STEPS[name]):
        tried += 1
        try:
            (damage,) = verify(folder)
            file, offset = damage.file, damage.offset
        except DataError as error:
            assert path.name == "manifest.json"
            file, offset = Path(str(dict(error.facts)["file"])).name, None
        assert file == path.name, position
        found += 1
        if offset is not None:
            # One checksum covers the header and the table in parts, and one the numbers of a section.
            assert offset in (0, 8, 48) or position - 64 < offset <= position
            known += 1
    assert found == tried >= sum(path.stat().st_size for path in folder.iterdir()) // STEPS[name]
    assert known > found / 3  # manifest, attachment and padding have one checksum only
    assert verify(folder) == []


def sections(folder: Path) -> list[tuple[int, Path, str, int]]:
    """Return length, file, name and offset of each section, shortest first."""
    found = []
    for path in folder.glob("*.tw"):
        kind = path.name.split("-")[0]
        container = Container(path, "views" if kind == "segment" else kind)
        sizes = container.section_bytes().items()
        found += [(length, path, name, container.offset(name)) for name, length in sizes]
    return sorted(found)


@pytest.mark.parametrize("name", ["impacts", "texts", "vectors", "changes"])
def test_opening_finds_every_flipped_byte_of_a_small_index(request: pytest.FixtureRequest, name: str) -> None:
    folder = request.getfixturevalue(name)
    ranges = [(path, range(offset, offset + length)) for length, path, _, offset in sections(folder)]
    step = STEPS[name]
    found = 0
    for path, position in flips(folder, 0x01, step):
        try:
            Index.open(folder)
        except DataError:
            found += 1
        else:  # padding, or an attachment, which is compared when it is read
            assert not any(path == file and position in section for file, section in ranges)
    assert found > sum(len(section) // step for _, section in ranges)


def test_opening_compares_the_smallest_sections(blocks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Index.open(blocks)
    with IndexUpdater(blocks) as updater:
        updater.delete(["d3"])
        updater.commit()
    found = sections(blocks)
    assert found[-1][0] > found[-2][0] > 0
    monkeypatch.setattr(open_files, "CHECKED", sum(length for length, *_ in found) - 1)
    for (_, path, name, offset), compared in ((found[-1], False), (found[-2], True)):
        data = bytearray(path.read_bytes())
        data[offset] ^= 1
        path.write_bytes(data)
        if compared:
            with pytest.raises(CorruptIndexError) as error:
                Index.open(blocks)
            assert ("expected", f"a section {name} that matches its checksum") in error.value.facts
            assert (
                len(opened.newest()) == len(opened) - 1
            )  # files that are open already are not compared again
        else:
            Index.open(blocks)


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
    view = Index.open(tmp_path / "blocks").segments[0].inverted
    assert view is not None
    assert set(view.entry_block.tolist()) == {0, 1, 2}
    return tmp_path / "blocks"


def test_using_a_damaged_index_gives_an_answer_or_a_typed_error(
    impacts: Path,
    floats: Path,
    texts: Path,
    vectors: Path,
    changes: Path,
    blocks: Path,
    run: Callable[..., Any],
) -> None:
    size = sum(path.stat().st_size for path in impacts.iterdir())
    result = run(
        "sweep",
        "0x01",
        f"{impacts}:1",
        f"{floats}:17",
        f"{texts}:17",
        f"{vectors}:17",
        f"{changes}:17",
        f"{blocks}:701",
    )
    assert result["impacts"]["changed"] == size
    for name in ("impacts", "floats", "texts", "vectors", "changes", "blocks"):
        assert result[name]["outcomes"]["CorruptIndexError"] > 10
        assert result[name]["outcomes"]["done"] > 10


def test_kernels_stay_inside_their_arrays(
    impacts: Path,
    floats: Path,
    texts: Path,
    vectors: Path,
    changes: Path,
    blocks: Path,
    run: Callable[..., Any],
) -> None:
    small = [f"{folder}:17" for folder in (impacts, floats, texts, vectors, changes)]
    result = run("sweep", "0x80", *small, f"{blocks}:3001", NUMBA_DISABLE_JIT="1")
    for name in ("impacts", "floats", "texts", "vectors", "changes", "blocks"):
        assert result[name]["outcomes"]["CorruptIndexError"] > 1
        assert result[name]["outcomes"]["done"] > 10


def test_searches_read_damaged_attributes_that_were_added_later_safely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without checksums, each search with boosts, order, filter and facets is an answer, or a typed error."""
    teas = [Document(f"d{number}", f"tea w{number}") for number in range(6)]
    termwise.build_index(teas, tmp_path / "i", store_text=True)
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add(
            [Document(f"n{n}", "tea", {"sold": n, "kind": "ab"[n % 2], "on": "2026-01-02"}) for n in range(5)]
        )
    boosts = [
        Boost("sold", 1, saturation=2),
        Boost("kind", -1, values=["a"]),
        Boost("on", 1, half_life="9 days", now="2026-02-03"),
    ]
    steered = Search(
        "tea", relevance=Relevance(boosts), sort="_score,-sold", filter="sold < 4", facets=["kind"]
    )
    files = [path for path in (tmp_path / "i").glob("attributes-*") if path.stat().st_size]
    assert files
    whole = termwise.open(tmp_path / "i").search(steered)
    expected = whole.ranking, whole.facets()
    monkeypatch.setattr(open_files, "CHECKED", 0)
    refused = 0
    for path in files:
        data = path.read_bytes()
        for position in range(0, len(data), 3):
            path.write_bytes(data[:position] + bytes([data[position] ^ 0x81]) + data[position + 1 :])
            try:
                found = termwise.open(tmp_path / "i").search(steered)
                assert set(found.ranking.doc_ids) <= {f"n{number}" for number in range(5)}
                found.facets()
                termwise.open(tmp_path / "i").attributes([f"n{number}" for number in range(5)])
            except TermwiseError:
                refused += 1
        path.write_bytes(data)
    assert refused > 0
    whole = termwise.open(tmp_path / "i").search(steered)
    assert (whole.ranking, whole.facets()) == expected
