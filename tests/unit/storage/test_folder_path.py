"""Paths of folders after a change of the working directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import termwise
from termwise import Document, build_index
from termwise.fusion import mix_indexes
from termwise.index import Index, IndexWriter, verify
from termwise.index.updater import IndexUpdater
from termwise.indexing import open_writer
from termwise.search.mixture import MixtureSearcher
from termwise.storage.folder_path import FolderPath
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders, each with another index in `i`; the process is in the first."""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        documents = [Document("a", "merge lists"), Document(folder.name, "sort lists")]
        build_index(documents, folder / "i", store_text=True)
    monkeypatch.chdir(folders[0])
    return folders


def test_the_path_is_shown_as_given_while_it_leads_to_the_folder(places: tuple[Path, Path]) -> None:
    path = FolderPath.of("i")
    assert path.current == Path("i")
    os.chdir(places[1])
    assert path.current == places[0] / "i"
    os.chdir(places[0])
    assert path.current == Path("i")


def test_a_removed_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = FolderPath.of("i")
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert path.current == tmp_path / "i"
    assert FolderPath.of("j").current == Path("j")
    os.chdir(tmp_path)


def test_a_searcher_follows_its_own_folder(places: tuple[Path, Path]) -> None:
    searcher = termwise.open("i")
    os.chdir(places[1])
    assert searcher.refresh() is searcher
    with open_writer(places[0] / "i") as writer:
        writer.add([Document("c", "new lists")])
    assert set(searcher.refresh().rank("lists").doc_ids) == {"a", "one", "c"}


def test_a_writer_changes_its_own_folder(places: tuple[Path, Path]) -> None:
    before = (places[1] / "i" / "manifest.json").read_bytes()
    with open_writer("i") as writer:
        writer.add([Document("c", "new lists")])
        os.chdir(places[1])
        writer.commit()
    assert (places[1] / "i" / "manifest.json").read_bytes() == before
    assert Index.open(places[0] / "i").find("c") == 2
    assert verify(places[0] / "i") == []
    assert not list((places[0] / "i").glob(".*"))


def test_a_build_is_published_where_it_began(places: tuple[Path, Path]) -> None:
    words = Vocabulary(["merge"])
    with IndexWriter("new") as writer:
        writer.add(["a"], TermWeights([0, 1], [0], [1.0], words.id))
        os.chdir(places[1])
        writer.commit(words, encoder={})
    assert len(Index.open(places[0] / "new")) == 1
    assert not (places[1] / "new").exists()
    with IndexWriter("dropped") as writer:
        os.chdir(places[0])
    assert not (places[1] / "dropped").exists()


def test_an_updater_ends_with_its_own_lock(places: tuple[Path, Path]) -> None:
    (places[1] / "i" / ".lock").touch()
    with IndexUpdater("i"):
        assert (places[0] / "i" / ".lock").exists()
        os.chdir(places[1])
    assert not (places[0] / "i" / ".lock").exists()
    assert (places[1] / "i" / ".lock").exists()


def test_a_mixture_keeps_to_its_folder(places: tuple[Path, Path]) -> None:
    for folder in places:
        documents = [Document("a", "merge lists"), Document(folder.name, "sort lists")]
        build_index(documents, folder / "j", model="jm")
        mix_indexes([folder / "i", folder / "j"], [0.5, 0.5], folder / "m")
    mixture = MixtureSearcher.open("m")
    before = (places[1] / "m" / "mixture.json").read_bytes()
    with open_writer("m") as writer:
        writer.add([Document("c", "new lists")])
        os.chdir(places[1])
        assert mixture.refresh() is mixture
        writer.commit()
    assert set(mixture.refresh().rank("lists").doc_ids) == {"a", "one", "c"}
    assert (places[1] / "m" / "mixture.json").read_bytes() == before
    assert not list((places[0] / "m").glob("**/.*"))
