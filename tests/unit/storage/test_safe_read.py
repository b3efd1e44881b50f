"""Lookups of paths that the system refuses."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from termwise.collection import open_collection, read_qrels, read_queries, read_run
from termwise.collection.training_pairs import read_sources
from termwise.encode import EncoderFolder
from termwise.errors import MissingFileError
from termwise.indexing import chosen_model
from termwise.probes.inputs import data_names, open_inputs
from termwise.probes.report import read_report
from termwise.probes.report.folder import prepare_folder
from termwise.rankers import ScorerContext, open_scorer
from termwise.storage.model_folder import kind_of
from termwise.storage.safe_read import folder_entries, is_file, is_folder, path_exists


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder in which the system refuses all paths, also for the superuser."""
    folder = tmp_path / "closed"
    folder.mkdir()
    real = os.stat

    def refuse(path: object, *arguments: object, **options: object) -> os.stat_result:
        if isinstance(path, str | os.PathLike) and folder in Path(os.fspath(path)).parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **options)  # type: ignore[call-overload,no-any-return]

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", refuse)
        yield folder


@pytest.mark.parametrize("lookup", [path_exists, is_file, is_folder])
def test_a_lookup_that_the_system_refuses(closed: Path, lookup: Callable[[Path], bool]) -> None:
    with pytest.raises(MissingFileError, match="Permission denied") as caught:
        lookup(closed / "file")
    assert dict(caught.value.facts)["file"] == closed / "file"


@pytest.mark.parametrize("name", ["nothing", "file/part", "x" * 1000, "a\0b"])
def test_paths_that_do_not_exist(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert not path_exists(tmp_path / name)


def test_the_entries_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    (tmp_path / "a").touch()
    assert folder_entries(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(MissingFileError, match="Not a directory"):
        folder_entries(tmp_path / "a")


@pytest.mark.parametrize(
    "read",
    [
        open_collection,
        read_qrels,
        read_queries,
        read_run,
        read_sources,
        kind_of,
        lambda path: chosen_model(path, {}),
        lambda path: open_inputs(data={data_names()[0]: path / "part"}),
        lambda path: open_scorer(str(path), ScorerContext(background=None)),  # type: ignore[arg-type]
        EncoderFolder.open,
        lambda path: read_report(path / "report"),
        lambda path: prepare_folder(path / "report"),
    ],
)
def test_the_readers_name_the_path_and_the_reason(closed: Path, read: Callable[[Path], object]) -> None:
    for path in (closed, closed / "docs.jsonl"):
        if path == closed and read is read_run:
            continue
        with pytest.raises(MissingFileError, match="Permission denied") as caught:
            read(path)
        assert str(closed) in str(caught.value)


def test_training_and_checkpoints_name_the_path_and_the_reason(closed: Path) -> None:
    pytest.importorskip("torch")
    from termwise.train.base_encoder import base_analyzer, base_name, open_base
    from termwise.train.dense_encoder import load_dense_encoder
    from termwise.train.loop.ownership import refuse_taken
    from termwise.yardsticks.checkpoint import read_checkpoint

    for read in (
        open_base,
        base_name,
        base_analyzer,
        refuse_taken,
        lambda path: load_dense_encoder(path, say=print),
        lambda path: read_checkpoint("epic", path, weights=("model.bin",), fixes=()),
    ):
        with pytest.raises(MissingFileError, match="Permission denied") as caught:
            read(closed / "base")
        assert str(closed) in str(caught.value)
