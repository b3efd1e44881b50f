"""Table folders with changed or lost bytes are refused with the name of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise.errors import CorruptModelError, MissingFileError, ModelFormatError
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, open_table, write_table

FILES = ("indptr.npy", "targets.npy", "probabilities.npy", "occurrences.npy", "vocabulary.txt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a small table."""
    table = TranslationTable(
        vocabulary=Vocabulary(["car", "auto", "bus"]),
        indptr=[0, 2, 3, 3],  # type: ignore[arg-type]
        targets=[0, 1, 1],  # type: ignore[arg-type]
        probabilities=[0.5, 0.25, 1.0],  # type: ignore[arg-type]
        occurrences=[4, 1, 2],  # type: ignore[arg-type]
        analyzer=make_analyzer("standard").spec,
    )
    write_table(table, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_changed_or_truncated_file_is_named(folder: Path, name: str) -> None:
    path = folder / name
    data = path.read_bytes()
    for place in range(len(data)):
        for changed in (data[:place] + bytes([data[place] ^ 0x04]) + data[place + 1 :], data[:place]):
            path.write_bytes(changed)
            with pytest.raises(CorruptModelError, match="damaged") as caught:
                open_table(folder)
            assert dict(caught.value.facts)["file"] == path
    path.write_bytes(data + b"\0")
    with pytest.raises(CorruptModelError):
        open_table(folder)
    path.unlink()
    with pytest.raises(MissingFileError) as missing:
        open_table(folder)
    assert dict(missing.value.facts)["file"] == path


def test_a_truncated_manifest_or_one_with_any_bit_flipped(folder: Path) -> None:
    path = folder / "translation.json"
    data = path.read_bytes()
    for place in range(len(data) - 2):
        path.write_bytes(data[:place])
        with pytest.raises(CorruptModelError) as caught:
            open_table(folder)
        assert dict(caught.value.facts)["file"] == path
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x02]) + data[place + 1 :])
        with pytest.raises(ModelFormatError):
            open_table(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[" * 100_000,
        b"\xff",
        b'{"format": "termwise-translation"}',
        b"1" * 5_000,
        b'{"a": NaN}',
    ],
)
def test_manifests_of_anything(folder: Path, content: bytes) -> None:
    (folder / "translation.json").write_bytes(content)
    with pytest.raises(ModelFormatError):
        open_table(folder)
