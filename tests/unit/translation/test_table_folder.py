"""Table folders: exact bytes, round trips, and refused folders."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.errors import (
    CorruptModelError,
    ForeignFolderError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    StorageError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.storage.manifest_json import canonical_bytes, checksum_of
from termwise.text import Vocabulary, WordPieceAnalyzer, make_analyzer
from termwise.translation import TranslationTable, open_table, shipped_tables, write_table
from termwise.translation.table_folder import read_manifest

WORDS = ["car", "auto", "straße"]


def made(**changes: Any) -> TranslationTable:
    given: dict[str, Any] = {
        "vocabulary": Vocabulary(WORDS),
        "indptr": [0, 2, 3, 3],
        "targets": [0, 1, 1],
        "probabilities": [0.5, 0.1, 1.0],
        "occurrences": [4, 1, 2],
        "analyzer": make_analyzer("standard+stop").spec,
        "description": {"data": "toy"},
    }
    return TranslationTable(**(given | changes))


def same(one: TranslationTable, other: TranslationTable) -> bool:
    names = ("indptr", "targets", "probabilities", "occurrences")
    return (
        all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)
        and one.vocabulary == other.vocabulary
        and one.analyzer == other.analyzer
        and (one.kind, one.scoring, one.description) == (other.kind, other.scoring, other.description)
    )


def resealed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest, and make its checksum right again."""
    path = folder / "translation.json"
    body = json.loads(path.read_text())
    change(body)
    path.write_bytes(canonical_bytes({**body, "checksum": checksum_of(body)}))


def replaced(folder: Path, name: str, data: bytes) -> None:
    """Put another file in the place of one, as if it had been written so."""
    (folder / name).write_bytes(data)
    record = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    resealed(folder, lambda body: body["files"].update({name: record}))


def npy(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


def test_a_written_table_is_read_back(tmp_path: Path) -> None:
    table = made(kind="neural-model1")
    size = write_table(table, tmp_path / "table")
    assert same(open_table(tmp_path / "table"), table)
    assert size == sum(path.stat().st_size for path in (tmp_path / "table").iterdir())
    assert (tmp_path / "table" / "vocabulary.txt").read_text(encoding="utf-8") == "car\nauto\nstraße\n"


def test_recommended_values_are_read_back(tmp_path: Path) -> None:
    table = made(kind="neural-model1", scoring={"self_translation": 0.05, "lambda": 0.0, "least": 0.0})
    write_table(table, tmp_path / "table")
    assert same(open_table(tmp_path / "table"), table)
    assert read_manifest(tmp_path / "table").scoring == table.scoring
    write_table(made(), tmp_path / "other")
    assert "scoring" not in json.loads((tmp_path / "other" / "translation.json").read_text())
    assert open_table(tmp_path / "other").scoring == {}


def test_tables_that_ship_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assets = tmp_path / "assets"
    monkeypatch.setattr("termwise.translation.table_folder._shipped_root", lambda: assets)
    assert shipped_tables() == ()
    write_table(made(description={"data": "shipped"}), assets / "words")
    (assets / "notes").mkdir()
    write_table(made(), tmp_path / "words")
    assert shipped_tables() == ("words",)
    assert open_table("words").description == {"data": "shipped"}
    for folder in ("./words", Path("words")):
        assert open_table(folder).description == {"data": "toy"}
    with pytest.raises(MissingFileError, match="no such translation table") as caught:
        open_table("wrods")
    assert ("ship with the package", "words") in caught.value.facts
    with pytest.raises(ParameterError, match="translation table cannot"):
        open_table(7)  # type: ignore[arg-type]


def test_the_id_depends_on_the_arrays_only(tmp_path: Path) -> None:
    known = set()
    for number, change in enumerate(
        ({}, {"probabilities": [0.5, 0.2, 1.0]}, {"occurrences": [4, 1, 3]}, {"kind": "neural-model1"})
    ):
        write_table(made(**change), tmp_path / f"{number}")
        known.add(read_manifest(tmp_path / f"{number}").id)
    assert len(known) == 4
    write_table(made(description={"data": "other"}), tmp_path / "other")
    assert read_manifest(tmp_path / "other").id == read_manifest(tmp_path / "0").id


def test_a_model_card_is_part_of_the_folder(tmp_path: Path) -> None:
    write_table(made(), tmp_path / "table")
    (tmp_path / "table" / "README.md").write_text("# words\n")
    assert same(open_table(tmp_path / "table"), made())
    write_table(made(), tmp_path / "table")
    assert not (tmp_path / "table" / "README.md").exists()


def test_equal_tables_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(made(), tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == [
        "indptr.npy",
        "occurrences.npy",
        "probabilities.npy",
        "targets.npy",
        "translation.json",
        "vocabulary.txt",
    ]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert np.load(tmp_path / "a" / "targets.npy").dtype == np.uint16


def test_a_closed_vocabulary_is_not_written(tmp_path: Path) -> None:
    analyzer = make_analyzer("wordpiece-clean")
    terms = len(analyzer.vocabulary or ())
    table = made(
        vocabulary=analyzer.vocabulary,
        indptr=np.minimum(np.arange(terms + 1), 2),
        targets=[5, 6],
        probabilities=[0.5, 0.5],
        occurrences=np.ones(terms, dtype=np.int64),
        analyzer=analyzer.spec,
    )
    write_table(table, tmp_path)
    assert not (tmp_path / "vocabulary.txt").exists()
    assert same(open_table(tmp_path), table)


def test_a_custom_tokenizer_is_stored(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef")))
    analyzer = WordPieceAnalyzer.from_file(tmp_path / "vocab.txt")
    table = made(
        vocabulary=analyzer.vocabulary,
        indptr=[0] * 5 + [1] * 7,
        targets=[6],
        probabilities=[0.5],
        occurrences=[0] * 11,
        analyzer=analyzer.spec,
    )
    write_table(table, tmp_path / "table")
    (tmp_path / "vocab.txt").unlink()
    assert same(open_table(tmp_path / "table"), table)
    (tmp_path / "table" / "vocab.txt").write_text("[UNK]\na\n")
    with pytest.raises(CorruptModelError, match="analyzer"):
        open_table(tmp_path / "table")
    (tmp_path / "table" / "vocab.txt").unlink()
    with pytest.raises(MissingFileError):
        open_table(tmp_path / "table")


def test_more_than_65536_terms(tmp_path: Path) -> None:
    terms = 65_537
    table = made(
        vocabulary=Vocabulary([f"w{number}" for number in range(terms)]),
        indptr=[*[0] * terms, 1],
        targets=[65_536],
        probabilities=[1.0],
        occurrences=np.zeros(terms, dtype=np.int64),
    )
    write_table(table, tmp_path)
    assert np.load(tmp_path / "targets.npy").dtype == np.int32
    assert same(open_table(tmp_path), table)


def test_float16_rounds_towards_zero(tmp_path: Path) -> None:
    third = np.full(3, 1 / 3)
    table = made(indptr=[0, 3, 3, 3], targets=[0, 1, 2], probabilities=third)
    write_table(table, tmp_path, precision="float16")
    found = open_table(tmp_path).probabilities
    assert (tmp_path / "probabilities.npy").stat().st_size == 128 + 6
    assert found.dtype == np.float32
    assert (found <= table.probabilities).all()
    assert found.tolist() == pytest.approx(third, rel=2**-10)
    again = replace(table, probabilities=found)
    write_table(again, tmp_path, precision="float16")
    assert open_table(tmp_path).probabilities.tobytes() == found.tobytes()


def test_float16_refuses_too_small_probabilities(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="float16"):
        write_table(made(probabilities=[0.5, 1e-9, 1.0]), tmp_path / "table", precision="float16")
    assert not (tmp_path / "table").exists()
    with pytest.raises(UnknownNameError):
        write_table(made(), tmp_path / "table", precision="int8")  # type: ignore[arg-type]


def test_terms_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="line"):
        write_table(made(vocabulary=Vocabulary(["a", "b", "c\nd"])), tmp_path / "table")
    with pytest.raises(VocabularyMismatchError):
        write_table(made(analyzer=make_analyzer("wordpiece").spec), tmp_path / "table")
    with pytest.raises(ParameterError, match="JSON"):
        write_table(made(description={"x": float("nan")}), tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_only_a_table_is_replaced(tmp_path: Path) -> None:
    write_table(made(), tmp_path)
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "em.json").write_text("{}")
    write_table(made(description={"data": "other"}), tmp_path)
    assert open_table(tmp_path).description == {"data": "other"}
    assert (tmp_path / "training" / "em.json").exists()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ForeignFolderError, match="do not belong to a translation table"):
        write_table(made(), tmp_path)
    with pytest.raises(ForeignFolderError):
        write_table(made(), tmp_path / "notes.txt")


def test_a_failed_write_keeps_the_previous_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(made(), tmp_path)

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StorageError, match="cannot be written"):
        write_table(made(description={}), tmp_path)
    monkeypatch.undo()
    assert open_table(tmp_path).description == {"data": "toy"}
    assert len(list(tmp_path.iterdir())) == 6


def test_folders_that_are_not_tables(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such"):
        open_table(tmp_path / "nowhere")
    with pytest.raises(ModelFormatError, match="does not hold"):
        open_table(tmp_path)
    (tmp_path / "training").mkdir()
    with pytest.raises(ModelFormatError, match="not finished") as caught:
        open_table(tmp_path)
    assert "`resume=True`" in caught.value.fixes_worded()[0]
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFormatError, match="a folder"):
        open_table(tmp_path / "file")
    (tmp_path / "translation.json").write_text('{"format": "termwise-encoder"}')
    with pytest.raises(ModelFormatError, match="does not belong"):
        open_table(tmp_path)


def test_later_versions_are_not_read(tmp_path: Path) -> None:
    write_table(made(), tmp_path)
    resealed(tmp_path, lambda body: body.update(version=2))
    with pytest.raises(ModelFormatError, match="later version"):
        open_table(tmp_path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("probabilities.npy", npy(np.array([0.5, np.nan, 1.0], np.float32))),
        ("probabilities.npy", npy(np.array([0.5, 0.0, 1.0], np.float32))),
        ("probabilities.npy", npy(np.array([0.5, 0.9, 1.0], np.float32))),
        ("probabilities.npy", npy(np.array([0.5, 0.1, 1.0], np.float64))),
        ("probabilities.npy", npy(np.array([0.5, 0.1], np.float32))),
        ("probabilities.npy", npy(np.array([[0.5, 0.1, 1.0]], np.float32))),
        ("probabilities.npy", npy(np.array([0.5, "a", None], object), allow_pickle=True)),
        ("probabilities.npy", npy(np.array([0.5, 0.1, 1.0], np.float32))[:-1]),
        ("probabilities.npy", npy(np.array([0.5, 0.1, 1.0], np.float32)) + b"\0"),
        ("probabilities.npy", b"\x80\x04N."),
        ("probabilities.npy", b""),
        ("targets.npy", npy(np.array([0, 1, 1], np.int32))),
        ("targets.npy", npy(np.array([0, 9, 1], np.uint16))),
        ("targets.npy", npy(np.array([1, 0, 1], np.uint16))),
        ("indptr.npy", npy(np.array([0, 3, 2, 3]))),
        ("indptr.npy", npy(np.array([0, 2, 3]))),
        ("occurrences.npy", npy(np.array([1, 2, -3]))),
        ("vocabulary.txt", b"car\nauto\nbus\n"),
        ("vocabulary.txt", b"car\nauto\nauto\n"),
        ("vocabulary.txt", b"car\nauto\n\xff\n"),
        ("vocabulary.txt", b"car\nauto\n"),
    ],
)
def test_wrong_contents_with_a_valid_checksum(tmp_path: Path, name: str, data: bytes) -> None:
    write_table(made(), tmp_path)
    replaced(tmp_path, name, data)
    with pytest.raises(ModelFormatError) as caught:
        open_table(tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(kind="model2"),
        lambda body: body.update(terms=-1),
        lambda body: body.update(terms=True),
        lambda body: body.update(entries="3"),
        lambda body: body.update(precision="int8"),
        lambda body: body.update(description=[]),
        lambda body: body.update(scoring=[]),
        lambda body: body.update(extra=1),
        lambda body: body.pop("files"),
        lambda body: body["files"].update({"../up": {"sha256": "0" * 64, "bytes": 1}}),
        lambda body: body["files"]["indptr.npy"].update(sha256="xyz"),
        lambda body: body["analyzer"].update(files=["/etc/passwd"]),
        lambda body: body["analyzer"].update(options=3),
        lambda body: body["analyzer"].update(name=""),
    ],
)
def test_invalid_manifests(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    write_table(made(), tmp_path)
    resealed(tmp_path, change)
    with pytest.raises(CorruptModelError) as caught:
        open_table(tmp_path)
    assert dict(caught.value.facts)["file"] == tmp_path / "translation.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body["files"].pop("targets.npy"), "no such file"),
        (lambda body: body["analyzer"].update(fingerprint="sha256:0"), "analyzer .* was changed"),
        (lambda body: body.update(terms=2), "vocabulary"),
        (lambda body: body.update(scoring={"lambda": 2}), "recommended value"),
        (lambda body: body.update(scoring={"keep": 1}), "recommended value"),
        (lambda body: body.update(entries=2), "wrong type or shape"),
        (lambda body: body.update(vocabulary="sha256:0"), "vocabulary"),
    ],
)
def test_manifests_that_contradict_the_files(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    write_table(made(), tmp_path)
    resealed(tmp_path, change)
    with pytest.raises(ModelFormatError, match=message) as caught:
        open_table(tmp_path)
    assert not re.search("[0-9a-f]{64}", caught.value.render())


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    write_table(made(), tmp_path)
    (tmp_path / "targets.npy").unlink()
    os.mkfifo(tmp_path / "targets.npy")
    with pytest.raises(CorruptModelError) as caught:
        open_table(tmp_path)
    assert dict(caught.value.facts)["seen"] == "a named pipe"
