"""Errors for folders of another kind: they name the kind and its uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from termwise.cli.hints import spell
from termwise.cli.main import run
from termwise.encode import EncoderFolder, block_encoding
from termwise.encode import encoder_manifest as encoders
from termwise.errors import ModelFormatError, NotAnIndexError
from termwise.index import Index
from termwise.search import mixture_folder
from termwise.storage.model_folder import FOLDER_KINDS, wrong_kind
from termwise.translation import open_table
from termwise.translation import table_manifest as tables
from termwise.yardsticks import gradient_boosting_folder as boosted

ENCODER, TABLE, SCORER, ENCODING, MIXTURE, BOOSTED = FOLDER_KINDS


def test_these_are_the_manifests() -> None:
    assert (ENCODER, TABLE, ENCODING) == (encoders.NAME, tables.NAME, block_encoding.NAME)
    assert mixture_folder.NAME == MIXTURE
    assert boosted.NAME == BOOSTED
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from termwise.yardsticks.rerankers import folder as scorers

    assert scorers.NAME == SCORER


def read_scorer_folder(folder: Path) -> object:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from termwise.yardsticks.rerankers.folder import read_scorer_folder

    return read_scorer_folder(folder)


@pytest.mark.parametrize(
    ("opens", "expected"), [(EncoderFolder.open, ENCODER), (open_table, TABLE), (read_scorer_folder, SCORER)]
)
@pytest.mark.parametrize(
    ("held", "argument"),
    [
        (ENCODER, "build_index(model="),
        (TABLE, "open_table("),
        (SCORER, "read_scorer_folder("),
        (ENCODING, "model=MODEL, options=BuildOptions(encoding="),
    ],
)
def test_a_folder_of_another_kind_is_refused(
    opens: Callable[[Path], object], expected: str, held: str, argument: str, tmp_path: Path
) -> None:
    for name in (held, "config.json", "training"):
        (tmp_path / name).touch()
    if held == expected:
        assert wrong_kind(tmp_path, expected) is None
        return
    with pytest.raises(ModelFormatError) as caught:
        opens(tmp_path)
    assert caught.value.message == f"this folder is {FOLDER_KINDS[held][0]}, not {FOLDER_KINDS[expected][0]}"
    assert dict(caught.value.facts) == {"folder": tmp_path, "found": held, "expected": expected}
    assert any(f"{argument}'{tmp_path}'" in fix for fix in caught.value.fixes_worded())


@pytest.mark.parametrize(
    ("held", "command"),
    [
        (ENCODER, "termwise index COLLECTION --out DIR --model {}"),
        (TABLE, "termwise index COLLECTION --out DIR --model {}"),
        (SCORER, "termwise rerank --scorer {} INDEX --run RUN --queries FILE --out FILE"),
        (ENCODING, "termwise index COLLECTION --out DIR --model MODEL --encoding {}"),
    ],
)
def test_a_folder_of_another_kind_is_not_an_index(held: str, command: str, tmp_path: Path) -> None:
    (tmp_path / held).touch()
    with pytest.raises(NotAnIndexError) as caught:
        Index.open(tmp_path)
    assert caught.value.message == f"this folder is {FOLDER_KINDS[held][0]}, not an index"
    assert dict(caught.value.facts) == {"path": tmp_path, "found": held, "missing": "manifest.json"}
    assert f"fix      {command.format(tmp_path)}\n" in caught.value.render(spell) + "\n"
    assert not any(f"--out {tmp_path}" in fix for fix in caught.value.fixes_worded())


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs.jsonl").write_text('{"_id": "a", "text": "one"}\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / SCORER).touch()
    index = ["index", str(tmp_path / "docs.jsonl"), "--out", str(tmp_path / "i"), "--model"]
    for given in ([str(tmp_path / "mine")], ["tilde", "--set", f"encoder={tmp_path / 'mine'}"]):
        assert run([*index, *given]) == 3
        assert "this folder is a scorer, not an encoder" in capsys.readouterr().err
    assert run(["table", str(tmp_path / "mine"), "word"]) == 3
    assert "--scorer" in capsys.readouterr().err
    assert not (tmp_path / "i").exists()
