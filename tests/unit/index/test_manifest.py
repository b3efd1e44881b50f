"""The manifest: contents, canonical form, and refused data."""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import (
    CorruptIndexError,
    DataError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    ParameterError,
    StorageError,
)
from termwise.index import manifest as module
from termwise.index.container import IndexFile, file_name
from termwise.index.encoder_description import EncoderDescription
from termwise.index.folder import publish
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import QuantiserRecord, SegmentRecord, VectorsRecord


def record(kind: str, digit: str = "a", length: int = 100) -> IndexFile:
    return IndexFile(file_name(kind, digit * 64), length, digit * 64)


MANIFEST = Manifest(
    documents=7,
    postings=12,
    terms=5,
    vocabulary="sha256:0123",
    background=True,
    encoder=EncoderDescription.of(
        {"model": {"name": "größe", "odd": "\ud800", "list": [1, 2.5, None, True]}}
    ),
    quantiser=QuantiserRecord(
        kind="uint8",
        scale=0.5,
        bias_bits=8,
        largest=127.5,
        max_error=0.375,
        mean_error=0.1,
        bias_error=0.0,
        raised=1,
        dropped=2,
    ),
    terms_file=record("terms"),
    segments=(
        SegmentRecord(3, 4, 8, record("views", "b"), record("ids", "c"), record("texts", "d")),
        SegmentRecord(4, 8, 8, record("views", "e"), record("ids", "f")),
    ),
    attachments={"tokenizer.json": record("attachment", "0", 0)},
    written_by="termwise 0",
)


DENSE = replace(
    MANIFEST,
    segments=tuple(replace(segment, vectors=record("vectors", "8")) for segment in MANIFEST.segments),
    vectors=VectorsRecord(384, 2.0**-12),
)


def body() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(MANIFEST.to_bytes().decode("utf-8", "surrogatepass"))
    return parsed


def dumped(content: Any) -> bytes:
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def sealed(content: dict[str, Any]) -> bytes:
    """Serialise according to the specification, with a correct checksum."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return dumped({**rest, "checksum": "sha256:" + hashlib.sha256(dumped(rest)).hexdigest()})


def parse(data: bytes) -> Manifest:
    return Manifest.parse(data, Path("manifest.json"))


def test_a_manifest_survives_writing_and_reading() -> None:
    data = MANIFEST.to_bytes()
    assert parse(data) == MANIFEST
    assert parse(data).to_bytes() == data
    assert data == sealed(body())


def test_the_text_is_sorted_and_indented() -> None:
    lines = MANIFEST.to_bytes().decode("utf-8", "surrogatepass").split("\n")
    assert lines[0] == "{"
    assert lines[-2:] == ["}", ""]
    keys = [line.split('"')[1] for line in lines if line.startswith('  "')]
    assert keys == sorted(keys)
    assert set(keys) == {
        "format", "version", "checksum", "documents", "postings", "terms", "vocabulary", "background", "encoder",
        "quantiser", "terms_file", "segments", "attachments", "written_by",
    }  # fmt: skip


def test_all_files_are_listed() -> None:
    assert [file.name.split("-")[0] for file in MANIFEST.files()] == [
        "terms", "segment", "ids", "texts", "segment", "ids", "attachment",
    ]  # fmt: skip


def test_a_manifest_with_vectors_has_its_own_version() -> None:
    data = DENSE.to_bytes()
    assert parse(data) == DENSE
    assert (MANIFEST.version, DENSE.version) == (1, 2)
    assert [file.name.split("-")[0] for file in DENSE.files()].count("vectors") == 2
    content: dict[str, Any] = json.loads(data)
    for place, value in [
        ("version", 1),
        ("vectors", None),
        ("vectors", {"dimensions": 0, "scale": 1.0}),
        ("vectors", {"dimensions": 4097, "scale": 1.0}),
        ("vectors", {"dimensions": 2, "scale": 0.0}),
        ("vectors", {"dimensions": 2, "scale": 1}),
        ("segments", [{**content["segments"][0], "vectors": None}, content["segments"][1]]),
        ("segments", body()["segments"]),
    ]:
        with pytest.raises(CorruptIndexError):
            parse(sealed({**content, place: value}))
    with pytest.raises(CorruptIndexError):
        parse(sealed({**body(), "version": 2}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


UNKNOWN_NAMES = st.text(st.characters(exclude_categories=())).map("x".__add__)


@given(st.dictionaries(UNKNOWN_NAMES, JSON, max_size=4))
@settings(max_examples=50)
def test_any_description_survives(encoder: dict[str, Any]) -> None:
    content = {**body(), "encoder": encoder}
    manifest = parse(sealed(content))
    assert manifest.encoder.json == encoder == EncoderDescription.of(encoder).json
    assert replace(manifest).to_bytes() == sealed(content)


@pytest.mark.parametrize("wrong", [{"x": {1, 2}}, {"x": float("nan")}, {"x": b"bytes"}, {1: 0, "a": 0}])
def test_a_description_that_json_cannot_represent_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        EncoderDescription.of(wrong)


def test_tuples_are_described_as_lists() -> None:
    assert EncoderDescription.of({"facts": ("title", "text")}).json == {"facts": ["title", "text"]}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", CorruptIndexError),
        (b"\xff\xfe{}", CorruptIndexError),
        (b"{", CorruptIndexError),
        (b"[" * 100_000, CorruptIndexError),
        (b'{"format": "termwise-index", "version": ' + b"9" * 5000 + b"}", CorruptIndexError),
        (b'{"format": "termwise-index", "version": 1, "x": NaN}', CorruptIndexError),
        (b'{"format": "termwise-index", "version": 1, "x": 1e999}', CorruptIndexError),
        (b'{"format": "termwise-index", "version": true}', CorruptIndexError),
        (b'{"format": "termwise-index"}', CorruptIndexError),
        (b'{"format": "termwise-index", "version": 4}', NewerFormatError),
        (b"{}", NotAnIndexError),
        (b"[]", NotAnIndexError),
        (b'"termwise-index"', NotAnIndexError),
        (b'{"manifest_version": 3, "name": "a browser extension"}', NotAnIndexError),
        (MANIFEST.to_bytes()[:-1], CorruptIndexError),
        (MANIFEST.to_bytes() + b"\n", CorruptIndexError),
        (MANIFEST.to_bytes().replace(b'"documents": 7', b'"documents": 8'), CorruptIndexError),
        (json.dumps(body()).encode(), CorruptIndexError),  # the same content in another form
    ],
)
def test_data_other_than_a_manifest_is_refused(data: bytes, kind: type[DataError]) -> None:
    with pytest.raises(kind) as caught:
        parse(data)
    assert dict(caught.value.facts)["file"] == Path("manifest.json")


def test_a_syntax_error_is_reported_with_its_offset() -> None:
    with pytest.raises(CorruptIndexError) as caught:
        parse(b'{"format": termwise}')
    assert dict(caught.value.facts)["offset"] == 11


FILE = {"name": "terms-aaaaaaaaaaaaaaaa.tw", "length": 100, "sha256": "a" * 64}
WRONG: list[tuple[tuple[Any, ...], Any]] = [
    (("version",), 0),
    (("version",), "1"),
    (("documents",), 8),
    (("documents",), 7.0),
    (("documents",), None),
    (("postings",), 11),
    (("terms",), -1),
    (("terms",), 2**31),
    (("terms",), True),
    (("vocabulary",), None),
    (("background",), 1),
    (("encoder",), []),
    (("encoder", "field_weights"), {"title": 3}),
    (("encoder", "field_weights"), [["title"]]),
    (("encoder", "field_weights"), [["title", 0]]),
    (("encoder", "field_weights"), [[3, 3]]),
    (("encoder", "fields"), "title"),
    (("encoder", "fields"), [["title", 3]]),
    (("attachments",), []),
    (("attachments", "tokenizer.json"), "0" * 64),
    (("attachments", "tokenizer.json", "name"), "../../etc/passwd"),
    (("attachments", "tokenizer.json", "length"), -1),
    (("quantiser",), None),
    (("quantiser", "kind"), "uint4"),
    (("quantiser", "scale"), 0.0),
    (("quantiser", "scale"), -1.0),
    (("quantiser", "scale"), 1),
    (("quantiser", "scale"), "0.5"),
    (("quantiser", "bias_bits"), 9),
    (("quantiser", "bias_bits"), -1),
    (("quantiser", "bias_bits"), 10**9),
    (("quantiser", "dropped"), -1),
    (("quantiser", "other"), 1),
    (("terms_file", "name"), "/etc/passwd"),
    (("terms_file", "name"), "segment-aaaaaaaaaaaaaaaa.tw"),
    (("terms_file", "name"), "terms-aaaaaaaaaaaaaaab.tw"),
    (("terms_file", "sha256"), "A" * 64),
    (("terms_file", "sha256"), None),
    (("terms_file", "length"), 1e3),
    (("terms_file", "extra"), 1),
    (("segments",), []),
    (("segments",), {}),
    (("segments", 0), None),
    (("segments", 0, "documents"), 0),
    (("segments", 0, "postings"), -1),
    (("segments", 0, "block_bits"), 7),
    (("segments", 0, "block_bits"), 10**9),
    (("segments", 0, "views"), FILE),
    (("segments", 0, "texts"), False),
    (("written_by",), 1),
    (("unheard_of",), 1),
]


@pytest.mark.parametrize(
    ("place", "value"), WRONG, ids=[".".join(map(str, place)) + f"={value!r:.12}" for place, value in WRONG]
)
def test_an_invalid_value_is_damage_although_the_checksum_matches(place: tuple[Any, ...], value: Any) -> None:
    content = copy.deepcopy(body())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(CorruptIndexError) as caught:
        parse(sealed(content))
    facts = dict(caught.value.facts)
    assert place[0] in facts["expected"] or str(place[-1]) in f"{facts['expected']} {facts['seen']}"


def test_every_key_must_be_there() -> None:
    places: list[tuple[Any, ...]] = [()]
    places += [("quantiser",), ("terms_file",), ("segments", 0), ("segments", 0, "views")]
    for place in places:
        inner: Any = body()
        for key in place:
            inner = inner[key]
        for key in inner:
            content = copy.deepcopy(body())
            changed: Any = content
            for step in place:
                changed = changed[step]
            if key in ("checksum", "format"):
                continue
            del changed[key]
            with pytest.raises(CorruptIndexError):
                parse(sealed(content))


def test_limits_of_a_segment() -> None:
    content = body()
    content["segments"][0]["documents"] = 2**24
    content["documents"] = 2**24 + 4
    content["segments"][0]["postings"] = 2**32 - 1
    content["postings"] = 2**32 - 1 + 8
    assert parse(sealed(content)).documents == 2**24 + 4
    for key, value in [("documents", 2**24 + 1), ("postings", 2**32)]:
        larger = copy.deepcopy(content)
        larger[key] += 1
        larger["segments"][0][key] = value
        with pytest.raises(CorruptIndexError):
            parse(sealed(larger))


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such index"):
        Manifest.read(tmp_path / "nowhere")
    with pytest.raises(NotAnIndexError, match="holds no index") as caught:
        Manifest.read(tmp_path)
    assert caught.value.fixes_worded() == [f"build an index: `build_index(COLLECTION, '{tmp_path}')`"]
    (tmp_path / f"{module.BUILD}0a1b2c3d").mkdir()
    with pytest.raises(NotAnIndexError, match="build of this index was not finished"):
        Manifest.read(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotAnIndexError, match="an index is a folder"):
        Manifest.read(tmp_path / "file")


def test_the_fix_for_a_folder_with_other_files_names_another_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").touch()
    with pytest.raises(NotAnIndexError, match="holds no index") as caught:
        Manifest.read(tmp_path)
    assert caught.value.fixes_worded() == ["build an index: `build_index(COLLECTION, DIR)`"]
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(MissingFileError, match="cannot be read"):
        Manifest.read(tmp_path)


def test_publishing_flushes_before_it_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        events.append("flush " + os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        real_fsync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        events.append(f"rename {self.name} {target.name}")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    publish(tmp_path, MANIFEST)
    assert events == [
        "flush manifest.json.new",
        "rename manifest.json.new manifest.json",
        f"flush {tmp_path.name}",
    ]
    assert Manifest.read(tmp_path) == MANIFEST
    assert os.listdir(tmp_path) == ["manifest.json"]


def test_a_manifest_that_cannot_be_published_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StorageError) as caught:
        publish(tmp_path, MANIFEST)
    assert dict(caught.value.facts)["path"] == tmp_path / "manifest.json.new"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "raises"), [(errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)]
)
def test_publishing_on_a_file_system_that_cannot_flush_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, raises: bool
) -> None:
    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    if raises:
        with pytest.raises(StorageError):
            publish(tmp_path, MANIFEST)
    else:
        publish(tmp_path, MANIFEST)
