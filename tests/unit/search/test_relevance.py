"""Relevance files and their errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from termwise.errors import MalformedRecordError, MissingFileError, ParameterError, UnknownNameError
from termwise.search import Boost, Relevance, Search

BOOSTS: list[dict[str, Any]] = [
    {"attribute": "sold", "weight": 2, "saturation": 100},
    {"attribute": "added", "weight": 1, "half_life": "30 days", "now": "2026-03-01"},
    {"attribute": "price", "weight": -0.5, "near": 20, "distance": 5},
    {"attribute": "brand", "weight": 1, "values": ["acme", "zen"]},
]


def test_toml_and_json_are_the_same(tmp_path: Path) -> None:
    as_json, as_toml = tmp_path / "r.json", tmp_path / "r.toml"
    as_json.write_text(json.dumps({"boosts": BOOSTS}))
    tables = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) for each in BOOSTS]
    as_toml.write_text(
        "".join(f"[[boosts]]\n{table}\n" for table in tables).replace('"2026-03-01"', "2026-03-01")
    )
    read = Relevance.read(as_json)
    assert read == Relevance.read(as_toml) == Relevance.of({"boosts": BOOSTS})
    assert read.boosts[3] == Boost("brand", 1, values=("acme", "zen"))
    assert Relevance.of({}) == Relevance()


@pytest.mark.parametrize(
    ("boost", "said"),
    [
        ({"attribute": "sold", "weight": 2}, "exactly one shape"),
        ({"attribute": "sold", "weight": 2, "saturation": 1, "values": ["a"]}, "exactly one shape"),
        ({"attribute": "sold", "saturation": 1}, "weight"),
        ({"attribute": "", "weight": 1, "saturation": 1}, "attribute cannot have"),
        ({"attribute": "sold", "weight": "2", "saturation": 1}, "weight cannot have"),
        ({"attribute": "sold", "weight": float("nan"), "saturation": 1}, "weight cannot have"),
        ({"attribute": "sold", "weight": 1e7, "saturation": 1}, "weight cannot have"),
        ({"attribute": "sold", "weight": 1, "saturation": 0}, "saturation cannot have"),
        ({"attribute": "sold", "weight": 1, "saturation": True}, "saturation cannot have"),
        ({"attribute": "added", "weight": 1, "half_life": "30"}, "half_life cannot have"),
        ({"attribute": "added", "weight": 1, "half_life": "0 days"}, "half_life cannot have"),
        ({"attribute": "added", "weight": 1, "half_life": "1 day", "now": "soon"}, "now cannot have"),
        ({"attribute": "sold", "weight": 1, "saturation": 1, "now": "2026-01-01"}, "now cannot have"),
        ({"attribute": "price", "weight": 1, "near": 1}, "distance cannot have"),
        ({"attribute": "price", "weight": 1, "saturation": 1, "distance": 1}, "distance cannot have"),
        ({"attribute": "brand", "weight": 1, "values": []}, "values cannot have"),
        ({"attribute": "brand", "weight": 1, "values": "acme"}, "values cannot have"),
        ({"attribute": "brand", "weight": 1, "values": ["a", True]}, "values cannot have"),
    ],
)
def test_a_wrong_boost_is_named(boost: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=said):
        Relevance.of({"boosts": [boost]})
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"boosts": [BOOSTS[0], boost]}))
    with pytest.raises(ParameterError, match=said) as raised:
        Relevance.read(file)
    assert raised.value.facts[:2] == (("file", file), ("key", "boosts[1]"))


def test_unknown_keys_and_other_forms() -> None:
    with pytest.raises(UnknownNameError, match="did you mean boosts"):
        Relevance.of({"boost": []})
    with pytest.raises(UnknownNameError, match="did you mean saturation"):
        Relevance.of({"boosts": [{"attribute": "sold", "weight": 1, "saturatio": 1}]})
    for wrong in ([], {"boosts": {}}, {"boosts": [1]}):
        with pytest.raises(ParameterError, match="another type"):
            Relevance.of(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="relevance cannot have"):
        Search("tea", relevance={})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at most 100"):
        Relevance.of({"boosts": BOOSTS * 26})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        Relevance.read(tmp_path / "none.toml")
    with pytest.raises(UnknownNameError, match="known endings"):
        Relevance.read(tmp_path / "r.yaml")
    (tmp_path / "r.toml").write_text("boosts = [")
    with pytest.raises(MalformedRecordError, match="TOML"):
        Relevance.read(tmp_path / "r.toml")


def test_synonyms_and_rules(tmp_path: Path) -> None:
    (tmp_path / "synonyms.txt").write_text("sofa, couch\ntv => television\n")
    file = tmp_path / "r.toml"
    rules = '[[rules]]\nquery = "sofa"\nmatch = "prefix"\npin = ["p1", "p7"]\nban = ["p9"]\n'
    file.write_text('synonyms_file = "synonyms.txt"\n' + rules)
    read = Relevance.read(file)
    lines = {"synonyms": ["sofa, couch", "tv => television"]}
    assert read == Relevance.of(
        lines | {"rules": [{"query": "sofa", "match": "prefix", "pin": ["p1", "p7"], "ban": ["p9"]}]}
    )
    assert read.files == (file, tmp_path / "synonyms.txt")
    assert pickle.loads(pickle.dumps(read)) == read


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        ({"synonyms": "sofa, couch"}, ParameterError, "another type"),
        ({"synonyms": [1]}, ParameterError, "synonyms cannot have"),
        ({"synonyms": ["a, b", "sofa"]}, MalformedRecordError, "element of synonyms  2"),
        ({"rules": {}}, ParameterError, "another type"),
        ({"rules": [{"pin": ["a"]}]}, ParameterError, "missing"),
        ({"rules": [{"query": "a", "pins": ["a"]}]}, UnknownNameError, "did you mean pin"),
        ({"rules": [{"query": "a", "pin": "a"}]}, ParameterError, "rules.0."),
        ({"rules": [{"query": "a", "match": "any", "pin": ["a"]}]}, UnknownNameError, "rules.0."),
    ],
)
def test_wrong_synonyms_and_rules(body: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Relevance.of(body)


def test_a_file_of_synonyms_is_named_by_a_file_only(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="synonyms_file"):
        Relevance.of({"synonyms_file": "/etc/passwd"})
    file = tmp_path / "r.json"
    for body, error, said in (
        ({"synonyms_file": "none.txt"}, MissingFileError, "none.txt"),
        ({"synonyms_file": 1}, ParameterError, "a path"),
        ({"synonyms_file": "none.txt", "synonyms": ["a, b"]}, ParameterError, "no synonyms beside it"),
    ):
        file.write_text(json.dumps(body))
        with pytest.raises(error, match=said):
            Relevance.read(file)
