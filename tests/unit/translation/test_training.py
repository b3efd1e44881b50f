"""Training of a translation table, from judged pairs to the folder."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise import Document, build_index
from termwise.errors import (
    EmptyCollectionError,
    ForeignFolderError,
    MissingFileError,
    ParameterError,
    StorageError,
    UnknownNameError,
)
from termwise.translation import Model1Settings, open_table, train_model1

SPOKEN = "merge sort list tree graph node edge path stack queue heap hash table key value byte file disk page"
WORDS = SPOKEN.split()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of pairs that share some of their words."""
    random = np.random.default_rng(7)
    lines = []
    for _ in range(120):
        chosen = random.permutation(WORDS)
        query, passage = " ".join(chosen[:3]), " ".join([*chosen[1:9], "the"])
        lines.append(json.dumps({"query": query, "passage": passage}) + "\n")
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(lines))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_facts_and_the_table(data: Path, tmp_path: Path) -> None:
    facts = train_model1(data, tmp_path / "table", settings=Model1Settings(analyzer="english"))
    table = open_table(tmp_path / "table")
    assert facts["pairs"] == 120
    assert facts["chunks"] == 120 * 2  # eight terms, the stop word left out, in chunks of five
    assert facts["sequences"] == 2 * facts["chunks"]
    assert facts["tokens"] == 120 * (8 + 2 * 3)
    assert facts["terms"] == len(WORDS) == len(table)
    assert facts["updates"] == 120 * (3 * (8 + 2) + 8 * (3 + 1))
    assert facts["entries"] == table.nnz <= facts["cells"]
    assert facts["bytes"] == sum(path.stat().st_size for path in (tmp_path / "table").iterdir())
    assert len(facts["perplexities"]) == 5
    assert facts["perplexities"] == sorted(facts["perplexities"], reverse=True)
    assert facts["seconds"]["total"] >= facts["seconds"]["train"]
    assert table.analyzer.name == "english"
    assert table.occurrences.sum() == facts["tokens"]
    assert table.row("merg")[0][0] == "merg"
    assert "seconds" not in table.description
    assert table.description["data"][0]["name"] == "pairs"
    assert table.description["settings"]["ratio"] == 1.5


def test_pruning_is_measured(data: Path, tmp_path: Path) -> None:
    whole = train_model1(data, tmp_path / "a", settings=Model1Settings(analyzer="english", least=0.0))
    pruned = train_model1(data, tmp_path / "b", settings=Model1Settings(analyzer="english", least=0.05))
    assert whole["lost"] == pytest.approx(0.0, abs=1e-6)
    assert whole["entries"] == whole["cells"]
    table = open_table(tmp_path / "b")
    assert table.probabilities.min() >= np.float32(0.05)
    expected = ((1 - table.row_sums) * table.occurrences).sum() / table.occurrences.sum()
    assert pruned["lost"] == pytest.approx(expected)
    assert 0.05 < pruned["lost"] < 0.9


def test_the_vocabulary_can_be_cut(data: Path, tmp_path: Path) -> None:
    settings = Model1Settings(analyzer="english", vocabulary=5)
    train_model1(data, tmp_path / "table", settings=settings)
    table = open_table(tmp_path / "table")
    assert 5 <= (table.occurrences > 0).sum() < len(WORDS)
    assert set(np.flatnonzero(np.diff(table.indptr))) <= set(np.flatnonzero(table.occurrences))


class Stopped(Exception):
    """Raised by a progress report, as an interrupt would be."""


@pytest.mark.parametrize("stage", ["read passages", "find cells", "iterate: 1 ", "iterate: 4 "])
def test_a_resumed_training_gives_identical_files(data: Path, tmp_path: Path, stage: str) -> None:
    settings = Model1Settings(analyzer="english", precision="float16")
    train_model1(data, tmp_path / "whole", settings=settings)

    def stop(name: str, done: int, total: int | None) -> None:
        if name.startswith(stage):
            raise Stopped

    out = tmp_path / "table"
    with pytest.raises(Stopped):
        train_model1(data, out, settings=settings, progress=stop)
    if stage == "iterate: 4 ":
        with pytest.raises(ForeignFolderError, match="unfinished"):
            train_model1(data, out, settings=settings)
        other = Model1Settings(analyzer="english", ratio=2.0)
        with pytest.raises(ForeignFolderError, match="data or settings") as caught:
            train_model1(data, out, settings=other, resume=True)
        assert ("ratio", "2.0, began with 1.5") in caught.value.facts
        other = Model1Settings(analyzer="standard")
        with pytest.raises(ForeignFolderError) as caught:
            train_model1(data, out, settings=other, resume=True)
        assert caught.value.facts == (
            ("folder", out / "training"),
            ("analyzer", "standard, began with english"),
        )
    train_model1(data, out, settings=settings, resume=True, threads=2)
    assert content(out) == content(tmp_path / "whole")


def test_sources_with_the_same_name_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="the same name"):
        train_model1([data, data], tmp_path / "table")


def test_errors_in_data_or_folder(data: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        train_model1(tmp_path / "nowhere", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(EmptyCollectionError):
        train_model1(tmp_path / "empty.jsonl", tmp_path / "b")
    (tmp_path / "stop.jsonl").write_text('{"query": "the", "passage": "of the"}\n')
    with pytest.raises(EmptyCollectionError, match="nothing to train on"):
        train_model1(tmp_path / "stop.jsonl", tmp_path / "c")
    with pytest.raises(ForeignFolderError):
        train_model1(data, tmp_path)
    with pytest.raises(UnknownNameError):
        train_model1(data, tmp_path / "d", settings=Model1Settings(analyzer="klingon"))


@pytest.mark.parametrize("resume", [False, True])
def test_a_finished_table_is_not_replaced(data: Path, tmp_path: Path, resume: bool) -> None:
    out = tmp_path / "table"
    train_model1(data, out)
    before = content(out)
    with pytest.raises(ForeignFolderError, match="already holds a translation table") as caught:
        train_model1(data, out, settings=Model1Settings(iterations=1), resume=resume)
    assert "`out=DIR`" in caught.value.fixes_worded()[0]
    assert content(out) == before


def test_too_many_threads_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="from 1 to 1024"):
        train_model1(data, tmp_path / "out", settings=Model1Settings(), threads=1025)
    assert not (tmp_path / "out").exists()


def test_a_training_of_another_kind_is_not_changed(data: Path, tmp_path: Path) -> None:
    kept = tmp_path / "table" / "training" / "checkpoint.safetensors"
    kept.parent.mkdir(parents=True)
    kept.write_text("hours of work")
    for resume in (False, True):
        with pytest.raises(ForeignFolderError, match="another kind"):
            train_model1(data, tmp_path / "table", resume=resume)
    assert kept.read_text() == "hours of work"


def test_resuming_without_a_run_is_reported(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    train_model1(data, tmp_path / "table", resume=True, say=said.append)
    assert said == [f"nothing to resume in {tmp_path / 'table' / 'training'}: starting from the beginning"]


def test_an_unwritable_folder_is_refused_before_reading(data: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "training").write_text("mine")
    with pytest.raises(StorageError, match="translation table cannot be written") as caught:
        train_model1(data, tmp_path / "table", progress=lambda stage, *_: stages.append(stage))
    assert dict(caught.value.facts)["path"] == str(tmp_path / "table" / "training")
    assert stages == []
    assert (tmp_path / "table" / "training").read_text() == "mine"


def test_a_training_that_is_refused_leaves_no_folder(data: Path, tmp_path: Path) -> None:
    with pytest.raises(EmptyCollectionError):
        train_model1(data, tmp_path / "new" / "table", settings=Model1Settings(sample=0.0))
    with pytest.raises(ParameterError, match="the same name"):
        train_model1([data, data], tmp_path / "new" / "table")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_settings_that_remove_every_entry(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(ParameterError, match="the table is empty") as caught:
        train_model1(data, tmp_path / "table", settings=Model1Settings(least=1.0))
    assert "`resume=True, least=NUMBER`" in caught.value.fixes_worded()[0]
    facts = train_model1(data, tmp_path / "table", resume=True, say=said.append)
    train_model1(data, tmp_path / "whole")
    assert facts["entries"] > 0
    assert said == []
    assert content(tmp_path / "table") == content(tmp_path / "whole")


def test_settings_from_text() -> None:
    given = {
        "analyzer": "english",
        "ratio": "2",
        "symmetrise": "False",
        "iterations": "3",
        "precision": "float16",
    }
    assert Model1Settings.parse(given) == Model1Settings(
        analyzer="english", ratio=2.0, symmetrise=False, iterations=3, precision="float16"
    )
    assert Model1Settings.parse({}) == Model1Settings()


@pytest.mark.parametrize(
    "given",
    [
        {"ratio": "-1"},
        {"ratio": "nan"},
        {"longest_ratio": "inf"},
        {"ratio": "two"},
        {"longest_ratio": "0.5"},
        {"iterations": "0"},
        {"iterations": "2.5"},
        {"symmetrise": "maybe"},
        {"sample": "1.1"},
        {"least": "2"},
        {"vocabulary": "0"},
        {"drop": "1e-7"},
        {"seed": "-1"},
    ],
)
def test_invalid_settings(given: dict[str, str]) -> None:
    with pytest.raises(ParameterError):
        Model1Settings.parse(given)


@pytest.mark.parametrize("given", [{"precision": "int8"}, {"lambda": "0.1"}])
def test_unknown_settings(given: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError):
        Model1Settings.parse(given)


@pytest.mark.parametrize(
    "changes", [{"symmetrise": "yes"}, {"analyzer": 3}, {"iterations": True}, {"ratio": None}]
)
def test_settings_of_another_type(changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Model1Settings(**changes)


@pytest.mark.parametrize("analyzer", ["english", "standard", "lemmas", "lemmas-simple", "wordpiece"])
def test_a_table_of_any_analyzer_can_be_searched(analyzer: str, tmp_path: Path) -> None:
    extra = {"lemmas": "spacy", "lemmas-simple": "simplemma"}.get(analyzer)
    if extra is not None and find_spec(extra) is None:
        pytest.skip(f"needs termwise[{extra}], which scripts/setup dev installs")
    pairs = [("car repair", "automobile fixing"), ("car wheels", "automobile tyres")] * 20
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps({"query": query, "passage": text}) + "\n" for query, text in pairs))
    train_model1(data, tmp_path / "table", settings=Model1Settings(analyzer=analyzer))
    table = open_table(tmp_path / "table")
    assert table.analyzer.name == analyzer
    assert table.row("automobile" if analyzer != "english" else "automobil")[0][0] == "car"
    documents = [Document("a", "An old automobile."), Document("b", "An old house.")]
    searcher = build_index(documents, tmp_path / "index", model=str(tmp_path / "table"))
    assert searcher.analyzer.spec == table.analyzer
    assert searcher.rank("car").doc_ids == ("a",)


def test_the_table_does_not_depend_on_processes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("termwise.parallel.WORTH_PROCESSES", 0)
    for threads in (1, 2):
        train_model1(
            data, tmp_path / str(threads), settings=Model1Settings(analyzer="english"), threads=threads
        )
    assert content(tmp_path / "1") == content(tmp_path / "2")
