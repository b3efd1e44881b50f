"""Mixtures of existing indexes, written to a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise import Document, build_index
from termwise.errors import (
    CorruptIndexError,
    ForeignFolderError,
    IndexExistsError,
    IndexLockedError,
    MissingFileError,
    ParameterError,
    StorageError,
)
from termwise.fusion import mix_indexes
from termwise.fusion import mixture as module
from termwise.index import Index, document_spill
from termwise.index.folder import writer_lock
from termwise.indexing import mixture_writer
from termwise.search import Searcher, verify

DOCUMENTS = [
    Document("a", "merge sorted lists"),
    Document("b", "shuffle a list"),
    Document("c", "sort cards"),
]


@pytest.fixture
def parts(tmp_path):
    for model in ("bm25", "jm", "dirichlet"):
        build_index(DOCUMENTS, tmp_path / f"{model}.tw", model=model)
    return [tmp_path / f"{model}.tw" for model in ("bm25", "jm", "dirichlet")]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_files_are_shared(tmp_path, parts):
    mixture = mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    assert names(tmp_path / "m") == ["bm25", "jm", "mixture.json"]
    for file in Index.open(parts[0]).manifest.files():
        assert os.path.samefile(parts[0] / file.name, tmp_path / "m" / "bm25" / file.name)
    ranking = mixture.rank("merge lists")
    for part in parts:
        build_index(DOCUMENTS[:1], part, model="ml", overwrite=True)  # the mixture keeps its files
    assert termwise.open(tmp_path / "m").rank("merge lists") == ranking


def test_files_are_copied_where_links_are_not_possible(tmp_path, parts, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(mixture_writer.os, "link", refuse)
    mixture = mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    file = next(Index.open(parts[0]).manifest.files())
    assert not os.path.samefile(parts[0] / file.name, tmp_path / "m" / "bm25" / file.name)
    assert len(mixture.rank("merge")) == 1


def test_a_weight_of_zero_leaves_an_index_out(tmp_path, parts):
    mixture = mix_indexes(
        parts, [1.0, 0.0, -0.5], tmp_path / "m", names=["one", "two", "a name: three"], depth=7
    )
    assert [(part.name, part.weight) for part in mixture.parts] == [("one", 1.0), ("a name: three", -0.5)]
    assert mixture.backend.depth == 7
    assert names(tmp_path / "m") == ["a_name__three", "mixture.json", "one"]


def test_the_texts_of_an_index_that_is_left_out_are_kept(tmp_path, parts, monkeypatch):
    build_index(DOCUMENTS, parts[1], model="jm", store_text=True, overwrite=True)
    searcher = termwise.open(parts[0])
    mixture = mix_indexes(parts, [0.3, 0.0, 0.7], tmp_path / "m")
    assert [part.name for part in mixture.parts] == ["bm25", "dirichlet"]
    assert [part.index.stores_text for part in mixture.parts] == [True, False]
    assert [mixture.index.text(ordinal) for ordinal in range(3)] == [one.text for one in DOCUMENTS]
    assert Searcher(mixture.parts[0].backend).rank("sort lists") == searcher.rank("sort lists")
    assert verify(tmp_path / "m") == []
    assert not mix_indexes([parts[0], parts[2]], [0.3, 0.7], tmp_path / "without").index.stores_text
    other = mix_indexes(parts, [0.3, 0.1, 0.7], tmp_path / "all")
    assert [part.index.stores_text for part in other.parts] == [False, True, False]
    monkeypatch.setattr(document_spill, "MAX_DOCUMENTS", 2)
    build_index(DOCUMENTS, parts[0], model="bm25", overwrite=True)
    assert len(Index.open(parts[0]).segments) == 2
    assert not mix_indexes(parts, [0.3, 0.0, 0.7], tmp_path / "segments").index.stores_text


def test_overwriting_keeps_an_open_mixture(tmp_path, parts):
    old = mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    ranking = old.rank("sort lists")
    with pytest.raises(IndexExistsError, match="already holds a mixture"):
        mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    mix_indexes(parts[:2], [0.9, 0.1], tmp_path / "m", overwrite=True)
    assert names(tmp_path / "m") == ["bm25-2", "jm-2", "mixture.json"]
    assert old.rank("sort lists") == ranking
    mix_indexes(parts[1:], [0.9, 0.1], tmp_path / "m", overwrite=True)
    assert names(tmp_path / "m") == ["dirichlet", "jm", "mixture.json"]
    (tmp_path / "m" / "mixture.json").write_text("{")
    with pytest.raises(CorruptIndexError):
        termwise.open(tmp_path / "m")
    with pytest.raises(CorruptIndexError):  # it does not say what is its own
        mix_indexes(parts[1:], [0.9, 0.1], tmp_path / "m", overwrite=True)
    assert names(tmp_path / "m") == ["dirichlet", "jm", "mixture.json"]


def test_a_failed_build_changes_nothing(tmp_path, parts, monkeypatch):
    other = build_index(DOCUMENTS[::-1], tmp_path / "other", model="bm25")
    with pytest.raises(ParameterError, match="different documents"):
        mix_indexes([parts[0], other.index], [0.5, 0.5], tmp_path / "m")
    assert not (tmp_path / "m").exists()
    mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    before = (tmp_path / "m" / "mixture.json").read_bytes()

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(module, "copy_index", fail)
    with pytest.raises(RuntimeError):
        mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m", overwrite=True)
    assert (tmp_path / "m" / "mixture.json").read_bytes() == before
    assert names(tmp_path / "m") == ["bm25", "jm", "mixture.json"]
    with pytest.raises(RuntimeError):
        mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "new" / "m")
    assert not (tmp_path / "new").exists()


def test_an_index_that_is_replaced_while_it_is_copied(tmp_path, parts):
    opened = [Index.open(part) for part in parts[:2]]
    build_index(DOCUMENTS, parts[1], model="ml", overwrite=True)
    with pytest.raises(CorruptIndexError, match="replaced while"):
        mix_indexes(opened, [0.5, 0.5], tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_errors_of_copying_name_the_file(tmp_path, parts, monkeypatch):
    def no_link(*_):
        raise OSError

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mixture_writer.os, "link", no_link)
    with monkeypatch.context() as patch:
        patch.setattr(mixture_writer.shutil, "copyfileobj", full)
        with pytest.raises(StorageError) as caught:
            mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "m")
    assert dict(caught.value.facts)["path"] == tmp_path / "m" / "bm25"
    mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "m")
    assert termwise.open(tmp_path / "m").rank("sort lists")
    opened = [Index.open(part) for part in parts[:2]]
    file = next(Path(parts[0]).glob("ids-*.tw"))
    file.unlink()
    file.symlink_to(file.name)  # cannot be opened
    with pytest.raises(MissingFileError) as caught:
        mix_indexes(opened, [0.5, 0.5], tmp_path / "n")
    assert dict(caught.value.facts)["file"] == file


def test_folders_that_cannot_be_used(tmp_path, parts):
    (tmp_path / "file").write_text("")
    with pytest.raises(ForeignFolderError, match="is a file"):
        mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    with pytest.raises(ForeignFolderError, match=r"do not belong to a mixture"):
        mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "full", overwrite=True)
    with pytest.raises(ForeignFolderError, match="is an index, not a mixture"):
        mix_indexes(parts[:2], [0.5, 0.5], parts[2], overwrite=True)
    mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "m")
    with pytest.raises(ForeignFolderError, match="is a mixture of indexes, not an index"):
        build_index(DOCUMENTS, tmp_path / "m", overwrite=True)
    with pytest.raises(ParameterError, match="cannot be a part of another one") as caught:
        mix_indexes([tmp_path / "m", parts[2]], [0.5, 0.5], tmp_path / "n")
    assert dict(caught.value.facts)["parts"] == f"{tmp_path / 'm' / 'bm25'}, {tmp_path / 'm' / 'jm'}"
    with writer_lock(tmp_path / "m"), pytest.raises(IndexLockedError):
        mix_indexes(parts[:2], [0.5, 0.5], tmp_path / "m", overwrite=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, "weights are one per run"),
        ({"weights": [0.0, 0.0]}, "not all 0"),
        ({"weights": [1.0, float("inf")]}, "finite"),
        ({"weights": [1e10, 1.0]}, r"a number from -1e\+09 to 1e\+09"),
        ({"weights": None}, "weights cannot have this value"),
        ({"names": 5}, "names cannot have this value"),
        ({"names": ["one"]}, "names"),
        ({"names": ["one", "one"]}, "distinct names"),
        ({"depth": 0}, "depth"),
        ({"path": 3}, "path"),
    ],
)
def test_arguments(tmp_path, parts, arguments, message):
    given = {"weights": [0.5, 0.5], "path": tmp_path / "m", **arguments}
    with pytest.raises(ParameterError, match=message):
        mix_indexes(parts[:2], **given)
    assert not (tmp_path / "m").exists()


def test_indexes_are_different_and_outside_of_the_mixture(tmp_path, parts):
    for indexes, message in [(parts[:1], "nothing to fuse"), ([parts[0], parts[0]], "given twice")]:
        with pytest.raises(ParameterError, match=message):
            mix_indexes(indexes, [0.5] * len(indexes), tmp_path / "m")
    with pytest.raises(ParameterError, match="overlaps"):
        mix_indexes(parts[:2], [0.5, 0.5], parts[0] / "m")
    assert termwise.open(parts[0])


def test_weights_of_numpy(tmp_path, parts):
    mixture = mix_indexes(parts[:2], np.array([0.5, 0.5]), tmp_path / "m")
    assert [part.weight for part in mixture.parts] == [0.5, 0.5]


def test_a_link_is_replaced_and_its_mixture_stays(tmp_path, parts):
    first = mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    for folder in ("bm25", "jm"):
        (tmp_path / "copy" / folder).mkdir(parents=True)
        for file in (tmp_path / "m" / folder).iterdir():
            (tmp_path / "copy" / folder / file.name).symlink_to(file)
    (tmp_path / "copy" / "mixture.json").symlink_to(tmp_path / "m" / "mixture.json")
    mix_indexes(parts[1:], [0.5, 0.5], tmp_path / "copy", overwrite=True)
    assert repr(termwise.open(tmp_path / "m")) == repr(first)
    assert [part.name for part in termwise.open(tmp_path / "copy").parts] == ["jm", "dirichlet"]


@pytest.mark.parametrize("damaged", [b"{", b"", b'{"format":"termwise-mixture","version":1}'])
def test_a_damaged_description_is_not_overwritten_and_the_way_out_works(tmp_path, parts, damaged):
    mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    (tmp_path / "m" / "mixture.json").write_bytes(damaged)
    with pytest.raises(CorruptIndexError) as caught:
        mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m", overwrite=True)
    assert caught.value.fixes == ("remove the folder, and build the mixture again",)
    assert names(tmp_path / "m") == ["bm25", "jm", "mixture.json"]
    shutil.rmtree(tmp_path / "m")
    assert mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m").documents == 3


def test_a_mixture_does_not_lie_inside_another_one(tmp_path, parts):
    mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m")
    for inside in ("new", "new/deep"):
        with pytest.raises(ForeignFolderError, match="inside another mixture"):
            mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m" / inside)
    assert mix_indexes(parts[:2], [0.3, 0.7], tmp_path / "m", overwrite=True).documents == 3
