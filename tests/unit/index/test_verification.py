"""Reports of `verify`; tests/corruption shows that it finds every flipped byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from termwise.errors import CorruptIndexError, DataError, MissingFileError, NotAnIndexError
from termwise.index import Damage, Index, Manifest, verify
from termwise.index.container import Container

Make = Callable[..., Any]


@pytest.fixture
def index(write: Make, random_rows: Make) -> Index:
    made: Index = write(
        random_rows(300, 20, background=True),
        background=True,
        tokens=[f"t{i}" for i in range(20)],
        texts=[f"text {i}" for i in range(300)],
        attachments={"file": b"one", "other": b"one"},
        floors=[-1.0] * 21,
        query_weights=[1.0] * 20,
    )
    return made


@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
@pytest.mark.parametrize("background", [False, True])
def test_an_undamaged_index(write: Make, random_rows: Make, quantiser: str, background: bool) -> None:
    index = write(
        random_rows(300, 20, background=background),
        background=background,
        tokens=[f"t{i}" for i in range(20)],
        quantiser=quantiser,
    )
    assert verify(index.path) == []
    assert verify(str(index.path)) == []


def test_progress_counts_bytes(index: Index) -> None:
    seen: list[tuple[str, int, int | None]] = []
    verify(index.path, progress=lambda *now: seen.append(now))
    files = {file.name: file.length for file in index.manifest.files()}
    assert seen[-1] == ("read", sum(files.values()), sum(files.values()))
    assert len(seen) == len(files) == 5


def test_a_changed_section_is_named_with_its_offset(index: Index) -> None:
    path = index.segments[0].path
    offset = Container(path, "views").offset("forward.starts")
    data = bytearray(path.read_bytes())
    data[offset + 5] ^= 0x10
    path.write_bytes(data)
    assert verify(index.path) == [
        Damage(path.name, offset, "section forward.starts does not match its checksum")
    ]


def test_a_changed_byte_between_sections(index: Index) -> None:
    path = index.segments[0].path
    data = bytearray(path.read_bytes())
    data[Container(path, "views").offset("forward.starts") - 1] ^= 1
    path.write_bytes(data)
    assert verify(index.path) == [Damage(path.name, None, "the file does not match its SHA-256")]


def test_all_damages_are_listed(index: Index) -> None:
    (ids,) = index.path.glob("ids-*.tw")
    (texts,) = index.path.glob("texts-*.tw")
    (attachment,) = index.path.glob("attachment-*.bin")
    (terms,) = index.path.glob("terms-*.tw")
    length = ids.stat().st_size
    ids.write_bytes(ids.read_bytes()[:-3])
    texts.unlink()
    attachment.write_bytes(b"two")
    terms.write_bytes(b"PK" + terms.read_bytes()[2:])
    assert verify(index.path) == [
        Damage(terms.name, 0, "this is not a file of a termwise index: b'termwise' expected"),
        Damage(ids.name, length - 3, f"{length - 3} bytes instead of {length}"),
        Damage(texts.name, None, "No such file or directory"),
        Damage(attachment.name, None, "the file does not match its SHA-256"),
    ]


def test_a_damaged_section_table_is_named(index: Index) -> None:
    (terms,) = index.path.glob("terms-*.tw")
    data = bytearray(terms.read_bytes())
    data[50] ^= 1
    terms.write_bytes(data)
    assert verify(index.path) == [Damage(terms.name, 48, "the section table does not match its checksum")]


def test_the_manifest_itself(index: Index, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        verify(tmp_path / "nowhere")
    with pytest.raises(NotAnIndexError):
        verify(tmp_path)
    path = index.path / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"documents": 300', b'"documents": 301'))
    with pytest.raises(CorruptIndexError) as caught:
        verify(index.path)
    assert dict(caught.value.facts)["file"] == path
    assert isinstance(caught.value, DataError)


def test_a_build_that_finishes_during_verification_is_not_damage(
    index: Index, write: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Manifest.read, []

    def read(folder: Path, known: Manifest | None = None) -> Manifest:
        manifest = real(folder)
        calls.append(folder)
        if len(calls) == 1:
            write([{0: 1.0}], overwrite=True)
        return manifest

    monkeypatch.setattr(Manifest, "read", read)
    assert verify(index.path) == []
