"""Relevance files and their errors."""

from __future__ import annotations

import json
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
