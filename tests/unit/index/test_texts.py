"""Stored texts, compressed in groups."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import CorruptIndexError
from termwise.index import texts as module
from termwise.index.container import Container
from termwise.index.texts import KIND, TextSpill, TextTable

TEXTS = st.lists(st.text(st.characters(exclude_categories=()), max_size=30), min_size=1, max_size=12)


def table(folder: Path, texts: list[str], first: int = 0, last: int | None = None) -> TextTable:
    spill = TextSpill(folder / "texts.spill")
    for text in texts:
        spill.add(text)
    assert len(spill) == len(texts)
    last = len(texts) if last is None else last
    entry = spill.write(folder / "texts.tw", first, last)
    spill.close()
    assert not (folder / "texts.spill").exists()
    assert entry.length == (folder / "texts.tw").stat().st_size
    return TextTable(Container(folder / "texts.tw", KIND), last - first)


@given(TEXTS, st.sampled_from([1, 7, 1 << 16]))
@settings(max_examples=60)
def test_writing_and_reading_agree(texts: list[str], group_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(module, "GROUP_BYTES", group_bytes)
        stored = table(Path(folder), texts)
        assert [stored.get(i) for i in range(len(texts))] == texts
        backwards = np.arange(len(texts))[::-1]
        assert stored.get_many(np.concatenate([backwards, backwards[:1]])) == [*texts[::-1], texts[-1]]
        stored.check()


def test_several_texts_unpack_each_group_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_BYTES", 8)
    texts = [f"text {i}" for i in range(10)]
    stored = table(tmp_path, texts)
    unpacked = []
    whole = stored._unpack
    monkeypatch.setattr(stored, "_unpack", lambda group: unpacked.append(group) or whole(group))
    assert stored.get_many(np.array([9, 0, 8, 1])) == [texts[9], texts[0], texts[8], texts[1]]
    assert unpacked == [0, 4]


def test_texts_of_a_later_segment(tmp_path: Path) -> None:
    stored = table(tmp_path, ["one", "", "drei ü", "four"], 2, 4)
    assert [stored.get(0), stored.get(1)] == ["drei ü", "four"]


def test_a_text_larger_than_a_group(tmp_path: Path) -> None:
    texts = ["small", "large " * 50_000, "", "after"]
    stored = table(tmp_path, texts)
    assert [stored.get(i) for i in range(4)] == texts
    stored.check()


def test_only_empty_texts(tmp_path: Path) -> None:
    stored = table(tmp_path, ["", "", ""])
    assert [stored.get(i) for i in range(3)] == ["", "", ""]
    stored.check()


@pytest.mark.parametrize(
    ("section", "width", "position", "value"),
    [
        ("texts.group", 4, 1, 1),
        ("texts.group", 4, 1, 2**32 - 1),
        ("texts.start", 4, 1, 2**32 - 1),
        ("texts.start", 4, 2, 0),
        ("groups.offsets", 8, 0, 2**63),
        ("groups.offsets", 8, 1, 2**64 - 1),
        ("groups.offsets", 8, 1, 3),
        ("groups.data", 1, 4, 0),
    ],
)
def test_damage_is_reported_with_file_and_offset(
    tmp_path: Path, section: str, width: int, position: int, value: int
) -> None:
    table(tmp_path, ["merge", "sorted", "lists"])
    path = tmp_path / "texts.tw"
    data = bytearray(path.read_bytes())
    at = Container(path, KIND).offset(section) + width * position
    data[at : at + width] = value.to_bytes(width, "little")
    path.write_bytes(data)
    stored = TextTable(Container(path, KIND), 3)
    with pytest.raises(CorruptIndexError) as caught:
        stored.get(1)
    facts = dict(caught.value.facts)
    assert facts["file"] == path
    assert 0 < facts["offset"] < len(data)
    with pytest.raises(CorruptIndexError):
        stored.check()
