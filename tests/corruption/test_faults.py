"""Builds that are killed, or meet an error or a full disk, at each step."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from termwise.errors import IndexLockedError, NotAnIndexError
from termwise.index import Index, IndexWriter, verify
from termwise.index.manifest import BUILD
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]


def test_a_killed_build_leaves_the_old_index_or_the_new_one(tmp_path: Path, run: Run) -> None:
    result = run("faults", tmp_path, "kill")
    assert result["old"]["steps"] > 60
    assert set(result["new"]["left"]) == {"None", "50"}
    assert set(result["old"]["left"]) == {"30", "50"}


def test_a_refused_step_is_reported_and_leaves_nothing_half_written(tmp_path: Path, run: Run) -> None:
    for found in run("faults", tmp_path, "refuse").values():
        assert found["refused"] > 35
        assert {"open", "os.rename", "flush", "os.mkdir", "os.remove"} <= set(found["events"])


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, run: Run) -> None:
    for found in run("faults", tmp_path, "limit").values():
        assert found["refused"] > 20
        assert found["enough"] > 1000


def build(folder: Path, documents: int) -> None:
    vocabulary = Vocabulary(["merge"])
    with IndexWriter(folder, overwrite=True) as writer:
        writer.add(
            [f"d{i}" for i in range(documents)], TermWeights.from_rows([{0: 1.0}] * documents, vocabulary.id)
        )
        writer.commit(vocabulary, encoder={})


@pytest.mark.parametrize("there", [False, True])
def test_a_writer_in_another_process_keeps_others_out_until_it_is_gone(
    tmp_path: Path, start: Start, there: bool
) -> None:
    folder = tmp_path / "index"
    if there:
        build(folder, 3)
    process = start("concurrent_writer", folder, "hold")
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    for _ in range(2):
        with pytest.raises(IndexLockedError) as caught:
            IndexWriter(folder, overwrite=True)
        assert dict(caught.value.facts)["index"] == folder
    if there:
        assert len(Index.open(folder)) == 3  # the lock does not exclude readers
    else:
        with pytest.raises(NotAnIndexError, match="was not finished"):
            Index.open(folder)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert any(name.startswith(BUILD) for name in os.listdir(folder))
    build(folder, 5)
    assert len(Index.open(folder)) == 5
    assert len(os.listdir(folder)) == 4
    assert verify(folder) == []


def test_an_interrupted_writer_in_another_process_tidies_up(tmp_path: Path, start: Start) -> None:
    process = start("concurrent_writer", tmp_path / "index", "hold")
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    while (
        process.poll() is None
    ):  # a signal that arrives just before the process reads does not end the reading
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
    assert os.listdir(tmp_path) == []


def check(index: Index, documents: int) -> None:
    """Check that all parts of an index are of one generation."""
    assert index.manifest.encoder.json == {"documents": documents}
    assert index.attachment("file") == str(documents).encode()
    for ordinal in (0, documents - 1):
        assert index.doc_id(ordinal) == f"d{ordinal} of {documents}"
        assert index.text(ordinal) == f"text {ordinal} of {documents}"
        assert index.row(ordinal)[1].tolist() == [1 + ordinal, documents]


def test_readers_see_one_generation_or_the_other_never_a_mix(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "index"
    process = start("concurrent_writer", folder, "loop")
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "begun\n"
    first = Index.open(folder)
    seen: list[int] = []  # the documents of each generation that a reader saw after another one
    while len(seen) < 6:  # as long as that takes on a busy machine
        index = Index.open(folder)
        check(index, len(index))
        if seen[-1:] != [len(index)]:
            seen.append(len(index))
    process.stdin.close()
    assert int(process.stdout.read()) >= 6
    assert process.wait() == 0
    check(first, len(first))  # also after its files were replaced
    assert verify(folder) == []


def test_a_killed_change_leaves_the_documents_of_a_commit(tmp_path: Path, run: Run) -> None:
    result = run("changes", tmp_path / "index", "kill", "index")
    assert result["steps"] > 150
    assert set(result["left"]) == {"0", "1", "2"}


def test_a_refused_step_of_a_change_is_reported_and_loses_no_commit(tmp_path: Path, run: Run) -> None:
    result = run("changes", tmp_path / "index", "refuse", "index")
    assert result["refused"] > 100
    assert set(result["left"]) == {"0", "1", "2"}


@pytest.mark.parametrize("kills", [15, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["index", "mixture"])
def test_changes_that_are_killed_at_random(tmp_path: Path, run: Run, kills: int, kind: str) -> None:
    result = run("random_kills", tmp_path / kind, kills, kills, kind, timeout=3600)
    assert result["kills"] == kills
    if kills >= 1000:
        assert min(result["commits"], result["unacknowledged"], result["left_over"]) > 10


@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_a_service_that_is_killed_at_random(tmp_path: Path, run: Run, kills: int) -> None:
    result = run("service_kills", tmp_path, kills, kills, timeout=3600)
    assert result["kills"] == kills
    assert result["documents_changed"] > 0


@pytest.mark.parametrize("mode", ["kill", "refuse"])
def test_a_change_of_a_mixture_is_atomic_over_its_parts(tmp_path: Path, run: Run, mode: str) -> None:
    result = run("changes", tmp_path / "mixture", mode, "mixture", 13)
    assert result["steps"] > 300
    assert set(result["left"]) == {"0", "1", "2"}


@pytest.mark.parametrize("kind", ["index", "mixture"])
@pytest.mark.parametrize(("seconds", "readers"), [(4, 3), pytest.param(600, 8, marks=pytest.mark.slow)])
def test_readers_see_whole_commits_while_documents_are_replaced(
    tmp_path: Path, run: Run, seconds: int, readers: int, kind: str
) -> None:
    result = run("batches", tmp_path / kind, seconds, readers, kind, timeout=seconds + 900)
    assert result["generation"] > 3
    assert min(result["searches"]) > 10
    assert min(result["batches"]) > 3
