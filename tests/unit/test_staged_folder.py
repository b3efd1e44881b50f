"""Where a folder may be written, before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwise.errors import ForeignFolderError, StorageError
from termwise.staged_folder import StagedFolder

KIND = StagedFolder(
    noun="pot",
    an="a pot",
    manifest="pot.json",
    ours=frozenset({"pot.json", "lid.npy", "training"}),
    kept="training",
)


def test_free_places(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    for place in ("new", "empty", "link", "new/deeper"):
        KIND.check_place(tmp_path / place)
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
            KIND.check_place(tmp_path / place, base=base)
        assert dict(caught.value.facts) == {"path": str(tmp_path / place), "system says": reason}
        assert "--out" in caught.value.fixes[0]


def test_what_it_starts_from_is_known_behind_links(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "link").symlink_to("base")
    with pytest.raises(ForeignFolderError, match="written over what it starts from"):
        KIND.check_place(tmp_path / "link" / "mine", base=tmp_path / "base")


def test_one_that_is_finished(tmp_path: Path) -> None:
    (tmp_path / "lid.npy").write_text("")
    KIND.refuse_finished(tmp_path)
    (tmp_path / "pot.json").write_text("{}")
    KIND.check_place(tmp_path)
    with pytest.raises(ForeignFolderError, match="holds a pot already") as caught:
        KIND.refuse_finished(tmp_path)
    assert dict(caught.value.facts) == {"folder": tmp_path, "found": "pot.json"}
    assert "--out" in caught.value.fixes[0]
