"""Models by name, and from stored parameters."""

from __future__ import annotations

import json

import pytest

from termwise.errors import ParameterError, UnknownNameError
from termwise.models import (
    BM25,
    Lookup,
    MaximumLikelihood,
    Model,
    Model1,
    QueryLikelihoodDirichlet,
    QueryLikelihoodJM,
    SpladeDoc,
    Tilde,
    TildeV2,
    VectorModel,
    make_model,
    model_from_parameters,
    model_names,
    registry,
)

EXAMPLES = [
    BM25(k1=1.2, b=0.75, variant="robertson", lengths="lucene", negative_idf="refuse"),
    QueryLikelihoodJM(lambda_=0.7),
    QueryLikelihoodDirichlet(mu=1500),
    MaximumLikelihood(),
    Model1(),
    Model1(table="runs/table", lambda_=0.1, keep=0, renormalise=True, background="bitext"),
    VectorModel(query="idf", idf="idf.json", idf_missing=0),
    VectorModel(),
    Tilde(),
    Tilde(encoder="runs/a", form="exact", length=64, overlap=8),
    TildeV2(),
    TildeV2(encoder="runs/b", expansion_encoder="runs/a", expansion_terms=50, counting="raw"),
    SpladeDoc(keep=100),
    Lookup(encoder="runs/c", form="terms", keep=64),
]

NAMES = ("bm25", "dirichlet", "jm", "lookup", "ml", "model1", "splade-doc", "tilde", "tildev2", "vectors")


def test_names() -> None:
    assert model_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_its_model(name: str) -> None:
    model = make_model(name, {})
    assert model.name == name
    assert isinstance(model, Model)


def test_settings_become_parameters() -> None:
    assert make_model("bm25", {"k1": "1.2", "b": "0", "variant": "atire"}) == BM25(
        k1=1.2, b=0, variant="atire"
    )
    assert make_model("jm", {"lambda": "0.7"}) == QueryLikelihoodJM(lambda_=0.7)
    assert make_model("dirichlet", {"mu": "1e3"}) == QueryLikelihoodDirichlet(mu=1000)
    made = make_model("vectors", {"query": "idf", "idf": "a.json"})
    assert made == VectorModel(query="idf", idf="a.json")


def test_settings_are_converted_to_the_parameter_types() -> None:
    made = make_model("tilde", {"keep": "64", "length": "128", "overlap": "0", "form": "compact"})
    assert made == Tilde(keep=64, length=128, overlap=0)
    made = make_model("tildev2", {"expansion_terms": "30", "counting": "raw", "encoder": "7"})
    assert made == TildeV2(expansion_terms=30, counting="raw", encoder="7")


def test_booleans_are_true_or_false() -> None:
    assert registry._value("toy", "flag", "true", bool) is True
    assert registry._value("toy", "flag", "false", bool) is False
    with pytest.raises(ParameterError, match="flag of toy is not true or false"):
        registry._value("toy", "flag", "yes", bool)


@pytest.mark.parametrize("model", EXAMPLES)
def test_parameters_survive_json(model: Model) -> None:
    kept = json.loads(json.dumps(model.parameters()))
    assert model_from_parameters(model.name, kept) == model


def test_unknown_model_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean bm25") as caught:
        make_model("bm52", {})
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownNameError, match="unknown model"):
        model_from_parameters("tild", {})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bm25", {"k": "1"}, "unknown parameter of bm25"),
        ("bm25", {"name": "x"}, "unknown parameter of bm25"),
        ("jm", {"lambda_": "0.5"}, "did you mean lambda"),
        ("bm25", {"variant": "lucen"}, "did you mean lucene"),
        ("vectors", {"query": "tf"}, "unknown query of vectors"),
    ],
)
def test_unknown_parameters(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        make_model(name, settings)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bm25", {"k1": "high"}, "not a number"),
        ("bm25", {"k1": ""}, "not a number"),
        ("bm25", {"k1": "nan"}, "out of range"),
        ("bm25", {"k1": "-1"}, "out of range"),
        ("bm25", {"b": "1.5"}, "out of range"),
        ("jm", {"lambda": "1"}, "out of range"),
        ("dirichlet", {"mu": "0"}, "out of range"),
        ("vectors", {"idf": "a.json"}, "require each other"),
        ("vectors", {"query": "idf"}, "require each other"),
        ("vectors", {"idf_missing": "-1"}, "out of range"),
        ("tilde", {"keep": "many"}, "keep of tilde is not a whole number"),
        ("tilde", {"keep": "1.5"}, "not a whole number"),
        ("tilde", {"keep": "0"}, "out of range"),
        ("tilde", {"overlap": "-1"}, "out of range"),
    ],
)
def test_invalid_parameter_values(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_model(name, settings)


def test_stored_parameters_are_checked() -> None:
    with pytest.raises(UnknownNameError):
        model_from_parameters("bm25", {"k3": 7.0})
    with pytest.raises(ParameterError):
        model_from_parameters("bm25", {"k1": "0.9"})
