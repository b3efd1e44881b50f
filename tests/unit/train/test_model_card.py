"""Model cards as Markdown."""

from __future__ import annotations

import copy

from termwise.train.export.model_card import model_card

COMPLETE = {
    "name": "tildev2",
    "kind": "tildev2",
    "summary": "A small TILDEv2 for English.",
    "language": "en",
    "license": "Apache-2.0",
    "base": {"name": "all-MiniLM-L6-v2", "license": "Apache-2.0", "seen": "a billion sentence pairs"},
    "data": [{"name": "cooking", "license": "CC-BY-SA-4.0", "count": 12345, "origin": "questions | answers"}],
    "unit": "pairs",
    "seen": "250,000 pairs were seen in training, repetitions counted.",
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


def test_the_card_begins_with_the_header_of_hubs():
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
        "all-MiniLM-L6-v2 (Apache-2.0). Training data: a billion sentence pairs",
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


def test_the_language_is_optional():
    assert "language" not in model_card(changed(language=None))


def test_a_card_without_departures():
    assert "None." in model_card(changed(departures=[]))


def test_an_evaluation_without_measurements_has_no_table():
    text = model_card(changed(evaluation={"note": "Nothing was measured."}))
    assert "## Evaluation\n\nNothing was measured.\n\n## Data" in text
