"""Checks of an output folder before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise.errors import ForeignFolderError, StorageError
from termwise.storage.atomic_folder import AtomicFolder

KIND = AtomicFolder(
    noun="pot",
    article="a",
    manifest="pot.json",
    files=frozenset({"pot.json", "lid.npy", "training"}),
    kept="training",
)


def test_free_places(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    for place in ("new", "empty", "link", "new/deeper"):
        KIND.check_output(tmp_path / place)
        KIND.refuse_finished(tmp_path / place)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("loop", "Too many levels of symbolic links"),
        ("loop/deeper", "Too many levels of symbolic links"),
        ("dangling", "No such file or directory"),
        ("file/deeper", "Not a directory"),
    ],
)
def test_paths_that_lead_nowhere(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    for base in (None, tmp_path / "loop"):
        with pytest.raises(StorageError, match="the pot cannot be written") as caught:
            KIND.check_output(tmp_path / place, base=base)
        assert dict(caught.value.facts) == {"path": str(tmp_path / place), "reason": reason}
        assert "`out=DIR`" in caught.value.fixes[0]


def test_what_it_starts_from_is_known_behind_links(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "link").symlink_to("base")
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        KIND.check_output(tmp_path / "link" / "mine", base=tmp_path / "base")


def test_one_that_is_finished(tmp_path: Path) -> None:
    (tmp_path / "lid.npy").write_text("")
    KIND.refuse_finished(tmp_path)
    (tmp_path / "pot.json").write_text("{}")
    KIND.check_output(tmp_path)
    with pytest.raises(ForeignFolderError, match="already holds a pot") as caught:
        KIND.refuse_finished(tmp_path)
    assert dict(caught.value.facts) == {"folder": tmp_path, "found": "pot.json"}
    assert "`out=DIR`" in caught.value.fixes[0]


def work(folder: Path, ends: BaseException, *, keeping: str | None = None) -> None:
    """Begin in a folder, leave a file there, and end otherwise than well."""
    with KIND.working_in(folder):
        assert list(folder.iterdir()) == []
        if keeping is not None:
            (folder / keeping).write_text("hours of work")
        raise ends


def test_a_place_to_work_in_is_made_and_goes_again_if_nothing_came_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "pot" / "training"
    for ends in (ForeignFolderError("no"), KeyboardInterrupt()):
        with pytest.raises(type(ends)):
            work(folder, ends)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ForeignFolderError):
        work(folder, ForeignFolderError("no"), keeping="state")
    assert (folder / "state").read_text() == "hours of work"


def test_an_empty_place_that_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "pot").mkdir()
    with KIND.working_in(tmp_path / "pot" / "training"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "pot"]


def test_a_place_that_cannot_be_worked_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = AssertionError("it began")
    (tmp_path / "file").write_text("mine")
    for place in ("file", "file/deeper/training"):
        with pytest.raises(StorageError, match="the pot cannot be written") as caught:
            work(tmp_path / place, began)
        assert str(tmp_path / "file") in str(dict(caught.value.facts)["path"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def full(**_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("termwise.storage.atomic_folder.tempfile.TemporaryFile", full)
    with pytest.raises(StorageError, match="cannot be written"):
        work(tmp_path / "pot" / "training", began)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
