"""The value that keeps weights, and its file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.fusion.judged_runs import run_of

from termwise.errors import DataError, MissingFileError, ParameterError, StorageError, UnknownNameError
from termwise.fusion import Fusion, Learned, TunedTable, fuse
from termwise.storage.manifest_json import canonical_bytes, checksum_of

LEARNED = Learned(
    method="sweep",
    measure="nDCG@10",
    value=0.5,
    alone=(0.25, 1 / 3),
    queries=40,
    queries_sha256="0" * 64,
    low=0.1,
    high=0.3,
    ties=2,
    estimate=0.45,
    folds=5,
    deviations=(None, 2.5),
)
FUSION = Fusion(
    ["bm25", "tilde"],
    [0.2, 0.8],
    missing="minimum",
    scaling=["idf", "raw"],
    documents="union",
    learned=LEARNED,
    settings=[{}, {"lambda": 0.1, "background": "bitext", "renormalise": False}],
)
BM25 = run_of("bm25", {"q": {"a": 4.0, "b": 2.0}})
TILDE = run_of("tilde", {"q": {"b": -1.0, "a": -3.0}})


def test_a_saved_fusion_is_read_unchanged(tmp_path):
    path = tmp_path / "fusion.json"
    for fusion in (FUSION, Fusion(["a"], [1.0], missing="drop")):
        fusion.save(path)
        assert Fusion.open(path) == fusion
        assert path.read_bytes() == fusion.to_bytes()
    body = json.loads(FUSION.to_bytes())
    assert (body["format"], body["version"], body["weights"]) == ("termwise-fusion", 1, [0.2, 0.8])
    assert body["checksum"] == checksum_of(body)
    assert FUSION.to_dict()["learned"]["alone"] == [0.25, 1 / 3]


def test_apply_uses_the_rules_of_the_fusion():
    fusion = Fusion(["bm25", "tilde"], [0.2, 0.8], missing="drop", scaling="minmax")
    expected = fuse([BM25, TILDE], [0.2, 0.8], missing="drop", scaling="minmax", name="mine")
    assert fusion.apply([BM25, TILDE], name="mine") == expected
    renamed = [run_of("test-bm25", {"q": {"a": 4.0, "b": 2.0}}), TILDE]
    assert fusion.apply(renamed)["q"] == expected["q"]


def test_the_file_names_the_tables_that_settings_were_tuned_for(tmp_path):
    path = tmp_path / "fusion.json"
    known = replace(FUSION, tables=[None, TunedTable("words", "sha256:ab")])
    known.save(path)
    assert Fusion.open(path) == known != FUSION
    assert json.loads(path.read_bytes())["tables"] == [None, {"name": "words", "id": "sha256:ab"}]
    assert known.to_dict()["tables"] == [None, {"name": "words", "id": "sha256:ab"}]
    assert "tables" not in json.loads(FUSION.to_bytes())
    with pytest.raises(ParameterError, match="tables are one per run"):
        replace(FUSION, tables=[None])


def test_settings_are_those_of_each_run():
    assert Fusion(["a", "b"], [1, 2], missing="drop").settings == ({}, {})
    with pytest.raises(ParameterError, match="settings are one per run"):
        Fusion(["a", "b"], [1, 2], missing="drop", settings=[{}])


def test_runs_in_another_order_are_refused():
    fusion = Fusion(["bm25", "tilde"], [0.2, 0.8], missing="drop")
    with pytest.raises(ParameterError, match="in the same order") as caught:
        fusion.apply([TILDE, BM25])
    assert caught.value.fixes == ("give them in this order: bm25 tilde",)
    with pytest.raises(ParameterError, match="not the runs"):
        fusion.apply([BM25])


@pytest.mark.parametrize("names", [("tilde", "other"), ("other", "bm25"), ("bm25", "bm25")])
def test_a_run_in_the_place_of_another_is_refused(names):
    fusion = Fusion(["bm25", "tilde"], [0.2, 0.8], missing="drop")
    runs = [run_of(name, {"q": {"a": 4.0}}) for name in names]
    with pytest.raises(ParameterError, match="in the same order") as caught:
        fusion.apply(runs)
    assert dict(caught.value.facts) == {"given": ", ".join(names), "expected": "bm25, tilde"}


def test_arguments_of_a_fusion_are_checked():
    with pytest.raises(UnknownNameError, match="missing"):
        Fusion(["a"], [1.0], missing="skip")
    with pytest.raises(UnknownNameError, match="documents"):
        Fusion(["a"], [1.0], missing="drop", documents="all")
    with pytest.raises(ParameterError, match="one per run"):
        Fusion(["a"], [1.0, 2.0], missing="drop")


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(MissingFileError, match="cannot be read"):
        Fusion.open(tmp_path / "nowhere.json")
    with pytest.raises(MissingFileError, match="cannot be read"):
        Fusion.open(tmp_path)
    with pytest.raises(StorageError, match="cannot be written"):
        FUSION.save(tmp_path / "no" / "folder.json")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": "termwise-index"}']
)
def test_other_files(tmp_path, data):
    path = tmp_path / "other.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match="not a file of fusion weights"):
        Fusion.open(path)


def test_a_file_too_long_is_not_read(tmp_path):
    path = tmp_path / "long.json"
    path.write_bytes(FUSION.to_bytes() + b" " * (1 << 20))
    with pytest.raises(DataError, match="not a file of fusion weights"):
        Fusion.open(path)


def test_a_changed_weight_is_noticed(tmp_path):
    path = tmp_path / "fusion.json"
    path.write_bytes(FUSION.to_bytes().replace(b"0.8", b"0.9"))
    with pytest.raises(DataError, match="is damaged") as caught:
        Fusion.open(path)
    assert ("file", path) in caught.value.facts


def test_a_later_version(tmp_path):
    path = tmp_path / "fusion.json"
    path.write_bytes(resealed(version=2))
    with pytest.raises(DataError, match="later version"):
        Fusion.open(path)


def resealed(**changes):
    body = {**json.loads(FUSION.to_bytes()), **changes}
    return canonical_bytes({**body, "checksum": checksum_of(body)})


LEARNED_BODY = json.loads(FUSION.to_bytes())["learned"]


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"runs": []},
        {"runs": ["bm25"]},
        {"runs": ["bm25", 2]},
        {"weights": [0.2]},
        {"weights": [0, 0]},
        {"weights": [True, 0.5]},
        {"weights": "0.2"},
        {"scaling": ["z"]},
        {"scaling": ["z", "zz"]},
        {"scaling": ["z", []]},
        {"missing": "skip"},
        {"documents": None},
        {"more": 1},
        {"learned": {}},
        {"learned": {**LEARNED_BODY, "alone": [0.1]}},
        {"learned": {**LEARNED_BODY, "method": "guess"}},
        {"learned": {**LEARNED_BODY, "queries": 0}},
        {"learned": {**LEARNED_BODY, "low": "0.1"}},
        {"learned": {**LEARNED_BODY, "ties": -1}},
        {"learned": {**LEARNED_BODY, "measure": ""}},
        {"learned": {**LEARNED_BODY, "estimate": "0.4"}},
        {"learned": {**LEARNED_BODY, "folds": 0.5}},
        {"learned": {**LEARNED_BODY, "deviations": [1.0]}},
        {"learned": {**LEARNED_BODY, "deviations": [1.0, "2"]}},
        {"learned": {**LEARNED_BODY, "deviations": 2.0}},
        {"settings": [{}]},
        {"settings": {}},
        {"settings": [{}, []]},
        {"settings": [{}, {"lambda": None}]},
        {"settings": [{}, {"lambda": [0.1]}]},
        {"tables": [None]},
        {"tables": [None, "words"]},
        {"tables": [None, {"name": "words"}]},
        {"tables": [None, {"name": "words", "id": 3}]},
    ],
    ids=str,
)
def test_values_that_the_format_does_not_allow(tmp_path, changes):
    path = tmp_path / "fusion.json"
    path.write_bytes(resealed(**changes))
    with pytest.raises(DataError, match="is damaged"):
        Fusion.open(path)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"weights": [10**400, 0.8]}, "weights"),
        ({"settings": [{}, {"lambda": 10**400}]}, "settings.lambda"),
        ({"learned": {**LEARNED_BODY, "estimate": 10**400}}, "learned.estimate"),
    ],
)
def test_numbers_that_no_float_holds(tmp_path, changes, key):
    path = tmp_path / "fusion.json"
    path.write_bytes(resealed(**changes))
    with pytest.raises(DataError, match="is damaged") as caught:
        Fusion.open(path)
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["expected"]) == (path, f"{key}: a finite number")
    with pytest.raises(ParameterError, match="finite"):
        fuse([BM25], [10**400], missing="drop")


def test_equal_fusions_are_equal():
    assert replace(LEARNED, ties=3) != LEARNED
    assert Fusion(["a"], [1], missing="drop") == Fusion(("a",), (1.0,), missing="drop", scaling=["z"])
