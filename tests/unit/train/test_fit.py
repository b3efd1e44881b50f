"""Checks before the training of an encoder."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.encode.expansion import Expansion
from termwise.errors import ForeignFolderError, ParameterError
from termwise.train.export.card_facts import card_facts
from termwise.train.export.folder_writer import write_encoder_folder
from termwise.train.fit import train_encoder
from termwise.train.networks import network_on_base
from termwise.train.settings import TrainSettings

from .conftest import WORDS, write_jsonl


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", None),
        ("data", "pairs.jsonl"),
        ("data", [3]),
        ("data", []),
        ("base", 3),
        ("out", None),
        ("settings", {"batch": 3}),
        ("validation", 50),
        ("expansion", "tilde"),
        ("expansion", ("tilde", 64, "new")),
        ("expansion_precision", "int8"),
        ("expansion_providers", ["cpu"]),
        ("card", "card.json"),
        ("threads", 0),
        ("threads", 1025),
    ],
)
def test_arguments_of_another_type(name, value, tmp_path):
    given = {
        "kind": "tilde",
        "data": ["pairs.jsonl"],
        "base": "base",
        "out": tmp_path / "out",
        "settings": TrainSettings(),
    } | {name: value}
    with pytest.raises(ParameterError, match=name) as caught:
        train_encoder(given.pop("kind"), given.pop("data"), given.pop("base"), given.pop("out"), **given)
    facts = dict(caught.value.facts)
    assert facts["given"] == repr(value)
    assert facts["expected"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["tilde", "splade-doc"])
def test_only_tildev2_is_trained_on_expanded_passages(kind, tmp_path):
    chosen, expansion = TrainSettings.for_kind(kind), Expansion("tilde", 8)
    with pytest.raises(ParameterError, match="only networks of kind tildev2"):
        train_encoder(kind, ["pairs"], "base", tmp_path / "out", settings=chosen, expansion=expansion)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("origin", "said"),
    [("none", "nothing was held out"), ("split dev", "the best on held-out pairs were lost")],
)
def test_the_card_states_the_reason_for_the_last_weights_and_no_local_path(origin, said, tmp_path):
    run = {
        "base": "small",
        "steps": 4,
        "best": {},
        "validation": origin,
        "sources": {"a": 3},
        "pairs_seen": 12,
        "settings": {},
    }
    facts = card_facts(tmp_path, "tilde", run, TrainSettings(), {})
    assert facts["selection"] == f"The last weights, after 4 steps; {said}."
    assert str(tmp_path.parent) not in str(facts)


@pytest.mark.parametrize("inside", ["", "mine"])
def test_the_base_is_not_overwritten(inside, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        train_encoder("tilde", ["pairs.jsonl"], base, base / inside, settings=TrainSettings())
    assert [path.name for path in base.iterdir()] == ["config.json"]


@pytest.mark.parametrize("resume", [False, True])
def test_an_encoder_without_its_run_is_not_replaced(resume, tmp_path):
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="already holds an encoder"):
        train_encoder("tilde", ["pairs.jsonl"], "base", tmp_path, settings=TrainSettings(), resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.json"]


@pytest.fixture
def written(monkeypatch):
    """Options of `write_encoder_folder`, which is replaced because it is slow."""
    given = {}

    def write(network, analyzer, out, **options):
        out.mkdir(parents=True, exist_ok=True)
        given.update(options)

    monkeypatch.setattr("termwise.train.fit.write_encoder_folder", write)
    monkeypatch.setattr("termwise.train.fit.card_facts", lambda *_: {})
    monkeypatch.setattr("termwise.train.fit.model_card", lambda _: "")
    return given


@pytest.fixture
def pairs(tmp_path):
    return write_jsonl(
        tmp_path / "pairs.jsonl",
        *({"query": f"what {a} {b}", "passage": f"{a} of the {b}"} for a in WORDS[:4] for b in WORDS[6:10]),
    )


def short(kind, **changes):
    given = {"document_length": 12, "query_length": 8, "batch": 4, "max_steps": 2, "negatives": 0} | changes
    if kind == "tilde":
        del given["negatives"]
    return TrainSettings.for_kind(kind, {name: str(value) for name, value in given.items()})


@pytest.mark.parametrize(("objective", "has"), [("query-likelihood", True), ("document-likelihood", False)])
def test_floors_are_measured_if_training_reads_passages(objective, has, written, pairs, base, tmp_path):
    train_encoder("tilde", [pairs], base, tmp_path / "out", settings=short("tilde", objective=objective))
    assert (written["floors"] is not None) is has


@pytest.fixture(scope="module")
def expanding(base, analyzer, tmp_path_factory):
    """A TILDE in both precisions."""
    out = tmp_path_factory.mktemp("expanding") / "tilde"
    write_encoder_folder(
        network_on_base("tilde", base), analyzer, out, cleaning="repo", length=32, trained={}
    )
    return out


def test_a_resumed_run_keeps_the_precision_of_its_expansion(
    expanding, written, pairs, base, tmp_path, monkeypatch
):
    def train(out="out", **options):
        expansion = Expansion(expanding, 2)
        chosen = short("tildev2")
        return train_encoder(
            "tildev2", [pairs], base, tmp_path / out, settings=chosen, expansion=expansion, **options
        )

    monkeypatch.setattr("termwise.encode.onnx_session.has_fast_int8", lambda _: True)
    assert train(expansion_providers=["cpu"])["expansion_precision"] == "int8"
    begun = json.loads((tmp_path / "out" / "training" / "settings.json").read_text())
    assert begun["expansion"]["precision"] == "int8"
    monkeypatch.setattr("termwise.encode.onnx_session.has_fast_int8", lambda _: False)
    assert train(resume=True)["expansion_precision"] == "int8"
    with pytest.raises(ForeignFolderError) as error:
        train(resume=True, expansion_precision="float32")
    assert dict(error.value.facts)["differs in"] == "expansion"
    assert train("other")["expansion_precision"] == "float32"
    with pytest.raises(ParameterError, match="no such execution provider"):
        train("third", expansion_providers=["nowhere"])


def test_passages_that_exceed_the_expanding_encoder(expanding, pairs, base, tmp_path):
    with pytest.raises(ParameterError, match="the encoder that expands them") as error:
        train_encoder(
            "tildev2",
            [pairs],
            base,
            tmp_path / "out",
            settings=short("tildev2", document_length=65),
            expansion=Expansion(expanding, 2),
        )
    assert error.value.fixes_worded() == ["use `document_length=64`"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("kind", "changes", "power"),
    [
        ("tildev2", {}, 0.25),
        ("splade-doc", {}, 0.0),
        ("tildev2", {"idf_power": 0.5}, 0.5),
        ("splade-doc", {"idf_power": 0.5}, 0.5),
    ],
)
def test_the_power_of_the_idf_is_that_of_training_or_of_the_base(
    kind, changes, power, written, pairs, base, analyzer, tmp_path
):
    begun = tmp_path / "begun"
    write_encoder_folder(
        network_on_base("tildev2", base),
        analyzer,
        begun,
        cleaning="repo",
        length=32,
        trained={},
        idf_power=0.25,
        precisions=("int8",),
    )
    train_encoder(kind, [pairs], begun, tmp_path / "out", settings=short(kind, **changes))
    assert written["idf_power"] == power


def test_fixed_query_weights_are_part_of_the_encoder(written, pairs, base, tmp_path):
    train_encoder(
        "splade-doc", [pairs], base, tmp_path / "out", settings=short("splade-doc", query_weights="idf")
    )
    assert written["query_weights"].max() > 0
    assert written["idf_power"] == 0
    train_encoder("splade-doc", [pairs], base, tmp_path / "counts", settings=short("splade-doc"))
    assert written["query_weights"] is None
