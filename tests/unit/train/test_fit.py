"""What is looked at before a run from data to an encoder begins."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.errors import ForeignFolderError, ParameterError
from termwise.train.describe import card_facts
from termwise.train.fit import fit
from termwise.train.settings import TrainSettings


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
        ("expansion", ("tilde", "64", "new")),
        ("expansion", ("tilde", 64, "old")),
        ("resume", 1),
        ("card", "card.json"),
        ("threads", 0),
        ("threads", 1025),
        ("progress", "bar"),
        ("say", None),
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
        fit(given.pop("kind"), given.pop("data"), given.pop("base"), given.pop("out"), **given)
    facts = dict(caught.value.facts)
    assert facts["given"] == repr(value)
    assert facts["expected"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("origin", "said"),
    [("none", "nothing was held out"), ("split dev", "the best on held-out pairs were lost")],
)
def test_a_card_says_why_it_has_the_last_weights_and_names_no_folder_above(origin, said, tmp_path):
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
def test_what_training_starts_from_is_not_written_over(inside, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="written over what it starts from"):
        fit("tilde", ["pairs.jsonl"], base, base / inside, settings=TrainSettings())
    assert [path.name for path in base.iterdir()] == ["config.json"]


@pytest.mark.parametrize("resume", [False, True])
def test_an_encoder_without_its_run_is_not_replaced(resume, tmp_path):
    (tmp_path / "encoder.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="holds an encoder already"):
        fit("tilde", ["pairs.jsonl"], "base", tmp_path, settings=TrainSettings(), resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.json"]
