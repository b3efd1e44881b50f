"""Ownership of training folders, and clean-up after a run that is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from termwise.progress import Execution

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import ForeignFolderError, ParameterError, StorageError
from termwise.train.export.folder_writer import FOLDER
from termwise.train.run_folder import SETTINGS, RunFolder

REFUSED = ParameterError("float16 needs a graphics processor")


def begin(folder: Path, ends: BaseException) -> None:
    """Claim a folder, write files into it, and raise."""
    with RunFolder(folder).claimed({"settings": {}}):
        (folder / "negatives").mkdir()
        (folder / "negatives" / "passages").write_text("")
        (folder / "head.jsonl").write_text("")
        raise ends


def test_a_refused_run_leaves_no_files(tmp_path):
    with pytest.raises(ParameterError, match="graphics"):
        begin(tmp_path / "deep" / "out" / "training", REFUSED)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "notes").write_text("mine")
    folder = tmp_path / "notes" / "training"
    with (
        pytest.raises(StorageError, match="work folder cannot be used") as caught,
        RunFolder(folder).claimed({"settings": {}}),
    ):
        pass
    assert dict(caught.value.facts)["folder"] == folder
    assert (tmp_path / "notes").read_text() == "mine"


def test_earlier_files_stay(tmp_path):
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "mine").write_text("")
    with pytest.raises(ParameterError):
        begin(tmp_path / "training", REFUSED)
    assert [path.name for path in (tmp_path / "training").iterdir()] == ["mine"]


def test_an_earlier_run_stays(tmp_path):
    RunFolder(tmp_path).claim({"settings": {"batch": 4}})
    with (
        pytest.raises(ForeignFolderError, match="holds another training run"),
        RunFolder(tmp_path, resume=True).claimed({"settings": {"batch": 8}}),
    ):
        pass
    assert json.loads((tmp_path / SETTINGS).read_text()) == {"settings": {"batch": 4}}


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), ZeroDivisionError()])
def test_other_exceptions_keep_the_folder(tmp_path, ends):
    with pytest.raises(type(ends)):
        begin(tmp_path / "training", ends)
    assert (tmp_path / "training" / "head.jsonl").exists()


def test_the_model_of_a_run_is_not_replaced_by_another_run(tmp_path):
    assert RunFolder.of(FOLDER, tmp_path, resume=False, execution=Execution()).path == tmp_path / "training"
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="already holds an encoder"):
        RunFolder.of(FOLDER, tmp_path, resume=True, execution=Execution())
    RunFolder(tmp_path / "training").claim({"settings": {}})
    RunFolder.of(FOLDER, tmp_path, resume=True, execution=Execution())
    with pytest.raises(ForeignFolderError, match="already holds a training run"):
        RunFolder.of(FOLDER, tmp_path, resume=False, execution=Execution())
