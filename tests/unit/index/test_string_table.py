"""Tables of strings on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from termwise.errors import CorruptIndexError
from termwise.index import string_table
from termwise.index.container import Container, ContainerWriter
from termwise.index.string_table import SECTIONS, StringTable, write_strings

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=12)


def table(folder: Path, strings: list[str]) -> StringTable:
    path = folder / "strings.tw"
    with ContainerWriter(path, "ids", SECTIONS) as writer:
        write_strings(writer, "ids", [string.encode("utf-8", "surrogatepass") for string in strings])
        writer.finish()
    return StringTable(Container(path, "ids"), "ids", len(strings))


@given(st.lists(ANYTHING, unique=True, max_size=20), ANYTHING)
@example(["", "\0", "\0\0", "a", "a\0", "\ud800", "\udfff", "\U0010ffff", "é", "e\u0301"], "\ud800\udc00")
@example([], "")
@settings(max_examples=150)
def test_writing_and_reading_agree(strings: list[str], other: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stored = table(Path(folder), strings)
        stored.check()
        assert len(stored) == len(strings)
        assert [stored.get(i) for i in range(len(strings))] == strings
        assert stored.get_many(np.arange(len(strings))[::-1]) == strings[::-1]
        assert [stored.find(string) for string in strings] == list(range(len(strings)))
        if other not in strings:
            assert stored.find(other) is None
        numbers = {string: number for number, string in enumerate(strings)}
        begin = other[:2]
        beginning = {i for i, string in enumerate(strings) if string.startswith(begin)}
        assert set(stored.starting_with(begin).tolist()) == beginning
        points, starts = stored.code_points()
        assert points.tolist() == [ord(character) for string in strings for character in string]
        assert np.diff(starts).tolist() == [len(string) for string in strings]
        wanted = [other, *reversed(strings), other]
        assert stored.find_many(wanted).tolist() == [numbers.get(string, -1) for string in wanted]


@given(
    st.lists(st.text("abä", max_size=9), unique=True, max_size=20),
    st.text("abä", max_size=3),
    st.integers(1, 40),
)
@settings(max_examples=150)
def test_strings_with_a_part(strings: list[str], part: str, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_table, "BYTES", size)  # the strings are searched in several pieces
        found = table(Path(folder), strings).containing(part).tolist()
        assert found == [number for number, string in enumerate(strings) if part in string]


def test_prefixes_are_different_strings(tmp_path: Path) -> None:
    stored = table(tmp_path, ["merge", "merged", "mer", "m"])
    assert [stored.find(s) for s in ("m", "me", "mer", "merg", "merge", "merged", "mergedx")] == [
        3, None, 2, None, 0, 1, None,
    ]  # fmt: skip


def test_many_strings_are_written_in_pieces(tmp_path: Path) -> None:
    strings = [f"{i:x}" for i in range(65_536 + 10)]
    stored = table(tmp_path, strings)
    assert stored.find("ffff") == 65_535
    assert stored.get(65_536) == "10000"
    stored.check()


def damaged(folder: Path, name: str, position: int, value: int) -> StringTable:
    """Write three strings, then change one number of one section, checksums aside."""
    table(folder, ["a", "bc", "d"])
    path = folder / "strings.tw"
    container = Container(path, "ids")
    width = {"ids.data": 1, "ids.offsets": 8, "ids.sorted": 4}[name]
    data = bytearray(path.read_bytes())
    at = container.offset(name) + width * position
    data[at : at + width] = value.to_bytes(width, "little")
    path.write_bytes(data)
    return StringTable(Container(path, "ids"), "ids", 3)


@pytest.mark.parametrize(
    ("section", "position", "value"),
    [
        ("ids.offsets", 1, 2**64 - 1),
        ("ids.offsets", 1, 2**63),
        ("ids.offsets", 1, 5),
        ("ids.offsets", 1, 4),  # the second string would end before it begins
        ("ids.data", 1, 0xFF),
    ],
)
def test_a_damaged_entry_is_reported_with_file_and_offset(
    tmp_path: Path, section: str, position: int, value: int
) -> None:
    stored = damaged(tmp_path, section, position, value)
    with pytest.raises(CorruptIndexError) as caught:
        stored.get(1)
    facts = dict(caught.value.facts)
    assert facts["file"] == tmp_path / "strings.tw"
    assert facts["offset"] == Container(tmp_path / "strings.tw", "ids").offset("ids.offsets") + 8
    with pytest.raises(CorruptIndexError):
        stored.get_many(np.array([0, 1, 2]))
    with pytest.raises(CorruptIndexError):
        stored.check()


def test_a_lookup_in_a_damaged_table_is_an_error(tmp_path: Path) -> None:
    for section, position, value in [
        ("ids.sorted", 1, 3),
        ("ids.sorted", 1, 2**32 - 1),
        ("ids.offsets", 2, 2**63),
    ]:
        stored = damaged(tmp_path, section, position, value)
        with pytest.raises(CorruptIndexError):
            stored.find("bc")
        with pytest.raises(CorruptIndexError):
            stored.find_many(["nothing", "bc"])
        with pytest.raises(CorruptIndexError):
            stored.starting_with("bc")
        with pytest.raises(CorruptIndexError):
            stored.check()


@pytest.mark.parametrize(
    ("section", "position", "value"),
    [("ids.offsets", 0, 1), ("ids.offsets", 2, 0), ("ids.offsets", 3, 2**40), ("ids.data", 1, 0xFF)],
)
def test_damaged_strings_are_not_read_as_characters(tmp_path, section, position, value) -> None:
    with pytest.raises(CorruptIndexError):
        damaged(tmp_path, section, position, value).code_points()


def test_the_sorted_order_is_checked(tmp_path: Path) -> None:
    with pytest.raises(CorruptIndexError):
        damaged(tmp_path, "ids.sorted", 2, 1).check()  # a number twice
    with pytest.raises(CorruptIndexError):
        damaged(tmp_path, "ids.data", 0, ord("z")).check()  # "z" sorted before "bc"
    with pytest.raises(CorruptIndexError):
        damaged(tmp_path, "ids.offsets", 0, 1).check()  # a byte that belongs to no string
