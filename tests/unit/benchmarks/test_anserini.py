"""Downloads of Anserini, and runs of its commands."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from termwise.errors import CheckFailedError, StorageError


@pytest.fixture
def pip(monkeypatch):
    """Replace pip by a function that writes an archive with a jar, or a package, to its target."""
    calls = []

    def run(command, **_):
        calls.append(command)
        if "--dest" in command:
            data = b"a jar"
            member = tarfile.TarInfo("pyserini-2.1.0/pyserini/resources/jars/anserini-2.1.1-fatjar.jar")
            member.size = len(data)
            with tarfile.open(
                Path(command[command.index("--dest") + 1]) / "pyserini-2.1.0.tar.gz", "w:gz"
            ) as file:
                file.addfile(member, io.BytesIO(data))
        else:
            (Path(command[command.index("--target") + 1]) / "pyserini").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_the_jar_is_taken_out_of_the_archive_once(tmp_path, pip):
    import anserini

    for _ in range(2):
        jar = anserini.fetch_jar(tmp_path / "cache")
        assert (jar.name, jar.read_bytes()) == (anserini.JAR, b"a jar")
    assert len(pip) == 1
    assert pip[0][-1] == anserini.SOURCE
    assert "--no-deps" in pip[0]
    assert [file.name for file in (tmp_path / "cache").iterdir()] == [anserini.JAR]


def test_the_package_is_unpacked_once(tmp_path, pip):
    import anserini

    for _ in range(2):
        assert (anserini.fetch_reranker(tmp_path) / "pyserini").is_dir()
    assert len(pip) == 1
    assert pip[0][-1] == "pyserini==0.22.1"
    assert "--no-deps" in pip[0]


def test_errors_of_pip_are_reported(tmp_path, monkeypatch):
    import anserini

    failed = subprocess.CompletedProcess([], 1, "", "no route to host")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(StorageError, match="could not fetch") as caught:
        anserini.fetch_jar(tmp_path)
    assert anserini.SOURCE in caught.value.render()
    assert "no route to host" in caught.value.render()
    assert "--jar" in caught.value.render()
    assert list(tmp_path.iterdir()) == []


def test_a_class_runs_and_its_output_is_logged(tmp_path):
    import anserini

    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho "$@"\ntest "$4" != io.Fails\n')
    java.chmod(0o755)
    log = tmp_path / "log"
    said = anserini.run_java(tmp_path, Path("a.jar"), log, ["io.Works", "-index", "x"], options=["-Xmx1g"])
    assert said == log.read_text() == "-Xmx1g -cp a.jar io.Works -index x\n"
    with pytest.raises(CheckFailedError, match="a command of Anserini failed") as caught:
        anserini.run_java(tmp_path, Path("a.jar"), log, ["io.Fails"], options=["-Xmx1g"])
    assert "-Xmx1g -cp a.jar io.Fails" in caught.value.render()
