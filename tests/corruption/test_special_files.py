"""Special files and links in the folder of an index do not block, fill memory, or lead out of the folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from termwise import Document, build_index
from termwise.errors import CorruptIndexError, DataError, StorageError
from termwise.index import verify

SECONDS = 60


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with limited memory; a call that blocks raises TimeoutExpired."""
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (4_000_000_000,) * 2)\n"
        "from termwise.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture
def index(tmp_path: Path) -> Path:
    build_index([Document("a", "merge two sorted lists"), Document("b", "shuffle cards")], tmp_path / "i.tw")
    return tmp_path / "i.tw"


def replace(path: Path, kind: str) -> None:
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["manifest.json", "segment"])
def test_a_special_file_is_damage(index: Path, kind: str, name: str) -> None:
    (path,) = (file for file in index.iterdir() if file.name.startswith(name))
    replace(path, kind)
    found = run("search", str(index), "lists")
    assert found.returncode == 3
    assert "a regular file" in found.stderr
    verified = run("verify", str(index))
    assert verified.returncode in (3, 5)
    assert "regular file" in verified.stderr
    if name == "manifest.json":
        with pytest.raises(CorruptIndexError):
            verify(index)
    else:
        assert verify(index)[0].file == path.name


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_build_refuses_a_folder_with_a_special_manifest(index: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "docs.jsonl").write_text('{"_id": "a", "text": "merge"}\n')
    replace(index / "manifest.json", kind)
    found = run("index", str(tmp_path / "docs.jsonl"), "--model", "bm25", "--out", str(index), "--overwrite")
    assert found.returncode == 2
    assert "[foreign-folder]" in found.stderr


def test_a_lock_that_is_a_link_is_not_followed(index: Path, tmp_path: Path) -> None:
    (index / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is a link"):
        build_index([Document("a", "merge")], index, overwrite=True)
    assert not (tmp_path / "elsewhere").exists()


def test_left_over_build_files_and_folders_are_removed(index: Path) -> None:
    (index / ".termwise-build-zz").write_text("left")
    (index / ".termwise-build-yy").mkdir()
    build_index([Document("a", "merge")], index, overwrite=True)
    assert not list(index.glob(".termwise-build-*"))


@pytest.mark.parametrize("scale", [1e308, 1e-300])
def test_a_scale_that_no_writer_writes_is_damage(index: Path, scale: float) -> None:
    from termwise.storage.manifest_json import canonical_bytes, checksum_of

    path = index / "manifest.json"
    body = json.loads(path.read_text())
    body["quantiser"]["scale"] = scale
    body["checksum"] = checksum_of(body)
    path.write_bytes(canonical_bytes(body))
    with pytest.raises(CorruptIndexError):
        verify(index)
    found = run("search", str(index), "lists", "--json")
    assert found.returncode == 3
    assert "quantiser.scale" in found.stderr


def test_the_helpers_can_fail(index: Path) -> None:
    assert run("search", str(index), "lists").returncode == 0
    assert verify(index) == []
    shutil.rmtree(index)
    with pytest.raises(DataError):
        build_index(iter(()), index)
