"""Model cards: every fact, or none."""

from __future__ import annotations

import copy

import pytest

from termwise.errors import ParameterError
from termwise.train.export.model_card import FACTS, model_card

COMPLETE = {
    "name": "tildev2",
    "kind": "tildev2",
    "summary": "A small TILDEv2 for English.",
    "language": "en",
    "license": "Apache-2.0",
    "base": {"name": "all-MiniLM-L6-v2", "license": "Apache-2.0", "seen": "a billion sentence pairs"},
    "data": [{"name": "cooking", "license": "CC-BY-SA-4.0", "pairs": 12345, "origin": "questions | answers"}],
    "pairs_seen": 250000,
    "settings": {"learning_rate": 2e-5, "batch": 8, "warmup": None},
    "departures": [{"setting": "batch", "published": 8, "here": 32, "reason": "fits the machine"}],
    "selection": "Step 4,000, the best nDCG@10 on held-out pairs.",
    "evaluation": {
        "columns": ["collection", "BM25", "this"],
        "rows": [["nfcorpus", 0.31, 0.33]],
        "note": "Test split.",
    },
    "limits": ["English only."],
    "usage": ["termwise index docs.jsonl --model tildev2 --out docs.tw"],
    "files": {"model.int8.onnx": 24134468},
}


def changed(**changes):
    facts = copy.deepcopy(COMPLETE) | changes
    return {name: value for name, value in facts.items() if value is not None}


def wrong(facts):
    with pytest.raises(ParameterError, match="missing or wrong") as caught:
        model_card(facts)
    return dict(caught.value.facts)


def test_the_card_begins_with_what_hubs_read():
    head = model_card(COMPLETE).split("\n\n")[0].split("\n")
    assert head == [
        "---",
        'language: ["en"]',
        'license: "apache-2.0"',
        'base_model: "all-MiniLM-L6-v2"',
        'datasets: ["cooking"]',
        'tags: ["termwise", "tildev2", "learned-sparse-retrieval", "onnx"]',
        "---",
    ]


def test_every_fact_is_in_the_card():
    text = model_card(COMPLETE)
    for expected in (
        "# tildev2",
        "A small TILDEv2 for English.",
        "```sh\ntermwise index docs.jsonl --model tildev2 --out docs.tw\n```",
        "| nfcorpus | 0.31 | 0.33 |",
        "Test split.",
        "| cooking | 12,345 | CC-BY-SA-4.0 | questions \\| answers |",
        "250,000 pairs were seen",
        "all-MiniLM-L6-v2 (Apache-2.0). What it had seen before: a billion sentence pairs",
        "Step 4,000",
        "| batch | 8 | 32 | fits the machine |",
        "| learning_rate | 2e-05 |",
        "| warmup | none |",
        "- English only.",
        "| model.int8.onnx | 24,134,468 |",
    ):
        assert expected in text
    assert text.endswith("|\n")


def test_the_same_facts_make_the_same_card():
    assert model_card(COMPLETE) == model_card(dict(reversed(list(COMPLETE.items()))))


@pytest.mark.parametrize("name", sorted(set(FACTS) - {"language"}))
def test_every_fact_is_needed(name):
    assert wrong(changed(**{name: None}))[name].startswith("missing")


def test_a_language_that_nobody_said_is_not_asserted():
    assert "language" not in model_card(changed(language=None))


def test_all_gaps_are_reported_at_once():
    assert set(wrong({"name": "x"})) == set(FACTS) - {"name", "language"}


def test_no_departures_is_an_answer_and_no_data_is_none():
    assert "None." in model_card(changed(departures=[]))
    assert wrong(changed(data=[]))["data"].startswith("empty")
    assert wrong(changed(limits=[]))["limits"].startswith("empty")


@pytest.mark.parametrize("text", ["TODO", "todo: measure", "TBD", "...", "<unknown>", " ", "N/A"])
def test_what_is_not_filled_in_is_refused(text):
    assert "limits[1]" in wrong(changed(limits=["English only.", text]))
    assert "base.seen" in wrong(changed(base=COMPLETE["base"] | {"seen": text}))


def test_entries_are_checked():
    assert "data[0].license" in wrong(changed(data=[{"name": "a", "pairs": 3, "origin": "b"}]))
    assert "data[0].pairs" in wrong(changed(data=[COMPLETE["data"][0] | {"pairs": "many"}]))
    assert "data[1].name" in wrong(changed(data=[COMPLETE["data"][0], "wikipedia"]))
    assert "departures[0].reason" in wrong(changed(departures=[{"setting": "a", "published": 1, "here": 2}]))
    assert "base.license" in wrong(changed(base={"name": "a", "seen": "b"}))


def test_types_names_and_kinds_are_checked():
    assert "pairs_seen" in wrong(changed(pairs_seen="many"))
    assert "pairs_seen" in wrong(changed(pairs_seen=True))
    assert wrong(changed(colour="blue")) == {"colour": "not a fact of a model card"}
    assert "kind" in wrong(changed(kind="bm25"))


def test_the_table_must_be_whole():
    assert "evaluation.note" in wrong(changed(evaluation={"columns": ["a"], "rows": [[1]]}))
    ragged = COMPLETE["evaluation"] | {"rows": [["nfcorpus", 0.3]]}
    assert "evaluation.rows" in wrong(changed(evaluation=ragged))
    assert "evaluation.columns" in wrong(changed(evaluation={"rows": [[1]], "note": "Test split."}))


def test_where_nothing_was_measured_there_is_no_table():
    text = model_card(changed(evaluation={"note": "Nothing was measured."}))
    assert "## Evaluation\n\nNothing was measured.\n\n## Data" in text
