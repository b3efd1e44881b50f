"""Temporary files of killed writers are removed by the next writer of the same file, those of live ones are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from termwise.collection import write_run
from termwise.records import Ranking, Run
from termwise.storage.atomic_file import create_bytes_whole, write_bytes_whole, write_together
from termwise.storage.atomic_folder import AtomicFolder

WRITER = """
import sys
from pathlib import Path
from termwise.storage.atomic_file import written_whole
with written_whole(Path(sys.argv[1])) as write:
    write("half")
    print("begun", flush=True)
    sys.stdin.read()
"""

STAGE = """
import sys
from pathlib import Path
from tests.corruption.test_abandoned_files import POT
with POT.stage(Path(sys.argv[1])) as stage:
    (stage / "pot.json").write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
"""

POT = AtomicFolder(
    noun="pot", article="a", manifest="pot.json", files=frozenset({"pot.json", "training"}), kept="training"
)


@pytest.fixture
def writer(tmp_path: Path):
    """Start a process that begins to write and waits."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, path: Path) -> subprocess.Popen[str]:
        source = [str(Path(__file__).resolve().parents[2]), *sys.path]
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(source)},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_bytes_whole(path, b"whole"),
        lambda path: create_bytes_whole(path, b"whole"),
        lambda path: write_together([(path, b"whole")], last=path),
        lambda path: write_run(Run([Ranking(("a",), (1.0,), "q")]), path),
    ],
    ids=["write", "create", "together", "run"],
)
def test_files_of_a_killed_writer_are_removed(tmp_path: Path, writer, write) -> None:
    path = tmp_path / "run.txt"
    kill(writer(WRITER, path))
    assert len(names(tmp_path)) == 1
    write(path)
    assert names(tmp_path) == ["run.txt"]


def test_the_file_of_a_live_writer_stays(tmp_path: Path, writer) -> None:
    path = tmp_path / "run.txt"
    process = writer(WRITER, path)
    (temporary,) = names(tmp_path)
    write_bytes_whole(path, b"whole")
    assert names(tmp_path) == [temporary, "run.txt"]
    process.communicate("")
    assert names(tmp_path) == ["run.txt"]
    assert path.read_bytes() == b"half"


def test_other_files_stay(tmp_path: Path) -> None:
    others = [
        ".run.txt.tmp",
        ".run.txt.0123456.tmp",
        ".run.txt.0123456G.tmp",
        ".other.01234567.tmp",
        "run.tmp",
    ]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".run.txt.01234567.tmp").symlink_to("run.tmp")
    write_bytes_whole(tmp_path / "run.txt", b"whole")
    assert names(tmp_path) == sorted([*others, ".run.txt.01234567.tmp", "run.txt"])


def test_the_hidden_folder_of_a_killed_writer_is_removed(tmp_path: Path, writer) -> None:
    kill(writer(STAGE, tmp_path / "pot"))
    live = writer(STAGE, tmp_path / "pot")
    assert len(names(tmp_path / "pot")) == 1
    with POT.stage(tmp_path / "pot") as stage:
        (stage / "pot.json").write_text("whole")
        assert len(names(tmp_path / "pot")) == 2
        POT.publish(stage, tmp_path / "pot")
    kill(live)
    with POT.stage(tmp_path / "pot"):
        pass
    assert names(tmp_path / "pot") == ["pot.json"]
