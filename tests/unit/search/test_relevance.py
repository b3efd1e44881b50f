"""Relevance files and their errors."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise import Document
from termwise.errors import MalformedRecordError, MissingFileError, ParameterError, UnknownNameError
from termwise.search import Boost, Relevance, Search, Searcher

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
        ({"attribute": "added", "weight": 1, "half_life": "30D"}, "half_life cannot have"),
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


def test_the_weight_of_synonyms_without_one(tmp_path: Path) -> None:
    lines = ["sofa, couch", "tv, television ^0.9", "telly => tv"]

    def weights(body: dict[str, Any], file: Path | None = None) -> list[float]:
        return [line.weight for line in Relevance.of(body, file=file).synonyms.lines]

    assert weights({"synonyms": lines}) == [0.7, 0.9, 1.0]
    assert weights({"synonyms": lines, "synonym_weight": 0.25}) == [0.25, 0.9, 1.0]
    (tmp_path / "s.txt").write_text("\n".join(lines))
    body = {"synonyms_file": "s.txt", "synonym_weight": 1}
    assert weights(body, tmp_path / "r.toml") == [1, 0.9, 1.0]
    for wrong in (0, 1.5, "0.5", True, None, float("nan")):
        with pytest.raises(ParameterError, match="synonym_weight cannot have") as raised:
            Relevance.of({"synonym_weight": wrong}, file=tmp_path / "r.toml")
        assert dict(raised.value.facts)["file"] == tmp_path / "r.toml"


def test_weights_of_parts(tmp_path: Path) -> None:
    """A mixture ranks as one with these weights, and explains its scores with them."""
    texts = ["green tea", "a green pot for tea", "tea", "pot", "black tea and green tea"]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    parts = {
        model: termwise.build_index(documents, tmp_path / model, model=model)
        for model in ("bm25", "jm", "dirichlet")
    }
    mixture = Searcher.mix(parts, [0.2, 0.3, 0.5])

    def scores(searcher: Searcher, relevance: Relevance | None = None) -> list[tuple[str, float]]:
        ranking = searcher.search(Search("green tea", relevance=relevance)).ranking
        return [(hit.doc_id, hit.score) for hit in ranking]

    for weights in ({"bm25": 0.9, "jm": 0.1, "dirichlet": 0.0}, {"jm": -1.0}):
        relevance = Relevance(parts=weights)
        of_parts = [weights.get(name, own) for name, own in zip(parts, [0.2, 0.3, 0.5], strict=True)]
        assert scores(mixture, relevance) == scores(Searcher.mix(parts, of_parts))
        (explanation,) = mixture.search(Search("green tea", relevance=relevance)).explain(["1"])
        assert [part.weight for part in explanation.parts] == of_parts
    assert scores(mixture, Relevance()) == scores(mixture, Relevance(parts={"bm25": 0.2})) == scores(mixture)
    with pytest.raises(UnknownNameError, match="bm25"):
        mixture.search(Search("tea", relevance=Relevance(parts={"bm2": 1})))
    with pytest.raises(ParameterError, match="all 0"):
        mixture.search(Search("tea", relevance=Relevance(parts=dict.fromkeys(parts, 0))))
    with pytest.raises(ParameterError, match="only a mixture has parts"):
        parts["jm"].search(Search("tea", relevance=Relevance(parts={"jm": 1})))


@pytest.mark.parametrize("parts", [3, ["bm25"], {"bm25": "1"}, {"bm25": 1e12}, {"bm25": True}])
def test_wrong_weights_of_parts(parts: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="parts cannot have") as raised:
        Relevance.of({"parts": parts}, file=tmp_path / "r.json")
    assert dict(raised.value.facts)["file"] == tmp_path / "r.json"
