"""Ownership of training folders, and clean-up after a run that is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import ForeignFolderError, ParameterError, StorageError
from termwise.train.export.folder_writer import FOLDER
from termwise.train.loop.ownership import SETTINGS, check_folder, claim, unclaimed_if_refused

REFUSED = ParameterError("float16 needs a graphics processor")


def begin(folder: Path, ends: BaseException) -> None:
    """Claim a folder, write files into it, and raise."""
    with unclaimed_if_refused(folder):
        claim(folder, {"settings": {}}, resume=False)
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
        unclaimed_if_refused(folder),
    ):
        claim(folder, {"settings": {}}, resume=False)
    assert dict(caught.value.facts)["folder"] == folder
    assert (tmp_path / "notes").read_text() == "mine"


def test_earlier_files_stay(tmp_path):
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "mine").write_text("")
    with pytest.raises(ParameterError):
        begin(tmp_path / "training", REFUSED)
    assert [path.name for path in (tmp_path / "training").iterdir()] == ["mine"]


def test_an_earlier_run_stays(tmp_path):
    claim(tmp_path, {"settings": {"batch": 4}}, resume=False)
    with (
        pytest.raises(ForeignFolderError, match="holds another training run"),
        unclaimed_if_refused(tmp_path),
    ):
        claim(tmp_path, {"settings": {"batch": 8}}, resume=True)
    assert json.loads((tmp_path / SETTINGS).read_text()) == {"settings": {"batch": 4}}


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), ZeroDivisionError()])
def test_other_exceptions_keep_the_folder(tmp_path, ends):
    with pytest.raises(type(ends)):
        begin(tmp_path / "training", ends)
    assert (tmp_path / "training" / "head.jsonl").exists()


def test_the_model_of_a_run_is_not_replaced_by_another_run(tmp_path):
    assert check_folder(FOLDER, tmp_path, resume=False) == tmp_path / "training"
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="already holds an encoder"):
        check_folder(FOLDER, tmp_path, resume=True)
    claim(tmp_path / "training", {"settings": {}}, resume=False)
    check_folder(FOLDER, tmp_path, resume=True)
    with pytest.raises(ForeignFolderError, match="already holds a training run"):
        check_folder(FOLDER, tmp_path, resume=False)
