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


def test_free_paths_are_accepted(tmp_path: Path) -> None:
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
def test_broken_links_and_files_are_refused(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    for base in (None, tmp_path / "loop"):
        with pytest.raises(StorageError, match="the pot cannot be written") as caught:
            KIND.check_output(tmp_path / place, base=base)
        assert dict(caught.value.facts) == {"path": str(tmp_path / place), "reason": reason}
        assert "`out=DIR`" in caught.value.fixes_worded()[0]


def test_a_base_behind_a_link_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "link").symlink_to("base")
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        KIND.check_output(tmp_path / "link" / "mine", base=tmp_path / "base")


def test_a_finished_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lid.npy").write_text("")
    KIND.refuse_finished(tmp_path)
    (tmp_path / "pot.json").write_text("{}")
    KIND.check_output(tmp_path)
    with pytest.raises(ForeignFolderError, match="already holds a pot") as caught:
        KIND.refuse_finished(tmp_path)
    assert dict(caught.value.facts) == {"folder": tmp_path, "found": "pot.json"}
    assert "`out=DIR`" in caught.value.fixes_worded()[0]


def work(folder: Path, ends: BaseException, *, keeping: str | None = None) -> None:
    """Begin in a folder, leave a file there, and end otherwise than well."""
    with KIND.working_in(folder):
        assert list(folder.iterdir()) == []
        if keeping is not None:
            (folder / keeping).write_text("hours of work")
        raise ends


def test_a_work_folder_is_created_and_removed_after_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "pot" / "training"
    for ends in (ForeignFolderError("no"), KeyboardInterrupt()):
        with pytest.raises(type(ends)):
            work(folder, ends)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ForeignFolderError):
        work(folder, ForeignFolderError("no"), keeping="state")
    assert (folder / "state").read_text() == "hours of work"


def test_an_existing_empty_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "pot").mkdir()
    with KIND.working_in(tmp_path / "pot" / "training"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "pot"]


def test_a_folder_that_cannot_be_written_is_refused_before_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
