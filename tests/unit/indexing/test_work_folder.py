"""Work folders: ownership, foreign files and removal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.encode.counting import DOCUMENTS, Counting, read

from termwise.encode import encoded_blocks
from termwise.encode.block_encoding import claim, remove_work_folder
from termwise.errors import ForeignFolderError, ParameterError, StorageError
from termwise.storage.atomic_file import create_bytes_whole


def test_the_record_of_a_folder(tmp_path: Path) -> None:
    claim(tmp_path, Counting())
    about = json.loads((tmp_path / "encoding.json").read_text())
    assert about["encoder"] == "sha256:a"
    assert about["block"] == 3


def test_another_encoder_may_not_add_to_the_folder(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    with pytest.raises(ForeignFolderError, match="another encoder or of other settings") as caught:
        encoded_blocks(DOCUMENTS, Counting("sha256:b"), tmp_path)
    facts = dict(caught.value.facts)
    assert facts["differs in"] == "encoder"
    assert facts["there"] == "toy, int8, sha256:a"
    assert facts["here"] == "toy, int8, sha256:b"
    assert caught.value.fixes == ("choose another folder", f"rm -r {tmp_path}")
    kept = json.loads((tmp_path / "encoding.json").read_text())
    kept["description"]["settings"]["keep"], kept["encoder"] = 3, f"sha256:{'a' * 64}"
    (tmp_path / "encoding.json").write_text(json.dumps(kept))
    with pytest.raises(ForeignFolderError) as caught:
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    facts = dict(caught.value.facts)
    assert facts["there"] == f"toy, int8, keep 3, sha256:{'a' * 12}"
    assert facts["here"] == "toy, int8, keep 2, sha256:a"


def test_different_encoders_that_start_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "termwise.storage.ownership.create_bytes_whole"

    def late(path: Path, data: bytes) -> None:
        monkeypatch.setattr(name, create_bytes_whole)
        read(tmp_path, Counting("sha256:b"))
        create_bytes_whole(path, data)

    monkeypatch.setattr(name, late)
    with pytest.raises(ForeignFolderError, match="another encoder"):
        claim(tmp_path, Counting())
    again = Counting("sha256:b")
    read(tmp_path, again)
    assert again.seen == []


def test_equal_encoders_that_start_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.iterdir

    def early(path: Path) -> Any:
        monkeypatch.setattr(Path, "iterdir", listed)
        read(tmp_path, Counting())
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", early)
    encoder = Counting()
    assert len(read(tmp_path, encoder)) == 3
    assert encoder.seen == []


def test_named_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "encoding.json")
    with pytest.raises(ForeignFolderError):
        claim(tmp_path, Counting())


def test_descriptions_that_json_cannot_represent(tmp_path: Path) -> None:
    class Odd(Counting):
        @property
        def description(self) -> dict[str, Any]:
            return {"loss": float("nan")}

    with pytest.raises(ParameterError, match="as JSON"):
        claim(tmp_path, Odd())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "another"}', "\ud800"])
def test_foreign_folders(tmp_path: Path, content: str) -> None:
    (tmp_path / "encoding.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ForeignFolderError, match="holds no encoding of a collection"):
        claim(tmp_path, Counting())
    (tmp_path / "encoding.json").unlink()
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ForeignFolderError) as caught:
        claim(tmp_path, Counting())
    assert dict(caught.value.facts)["found"] == "thesis.tex"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_temporary_files_of_another_shard_are_not_foreign(tmp_path: Path) -> None:
    (tmp_path / ".encoding.json.0a1b2c3d.tmp").write_text("{")
    assert len(read(tmp_path, Counting())) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError):
        claim(tmp_path / "a", Counting())


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="work folder cannot be used"):
        claim(tmp_path / "file", Counting())


def test_only_files_of_the_work_folder_are_removed(tmp_path: Path) -> None:
    read(tmp_path / "a", Counting())
    (tmp_path / "a" / ".block-0123456789abcdef.rows.0a1b2c3d.tmp").write_bytes(b"")
    remove_work_folder(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    read(tmp_path / "a", Counting())
    (tmp_path / "a" / "thesis.tex").write_text("")
    remove_work_folder(tmp_path / "a")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["thesis.tex"]
