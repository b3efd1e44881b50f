"""Training doc2query: a T5 of a few thousand weights memorises four pairs."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.yardsticks.doc2query import Doc2Query  # noqa: E402

PAIRS = [
    ("wing lift", "what is lift"),
    ("heat plate", "how hot"),
    ("drag", "what is drag"),
    ("cone", "how round"),
]
WORDS = sorted({word for pair in PAIRS for text in pair for word in text.split()})
VOCABULARY = ["<pad>", "</s>", "<unk>", *(f"▁{word}" for word in WORDS), "▁"]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "experiments" / "probes"))
    yield importlib.import_module("train_doc2query")
    sys.modules.pop("train_doc2query", None)


@pytest.fixture
def base(tmp_path):
    torch.manual_seed(2)
    config = transformers.T5Config(
        vocab_size=len(VOCABULARY), d_model=32, d_kv=16, d_ff=64, num_layers=1, num_heads=2,
        decoder_start_token_id=0, dropout_rate=0.0,
    )  # fmt: skip
    with quiet(bars=False):
        transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path / "base")
        transformers.T5Tokenizer(
            vocab=[(piece, -float(place)) for place, piece in enumerate(VOCABULARY)], extra_ids=0
        ).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def pairs(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    for name, part in (("one", PAIRS[:2]), ("two", PAIRS[2:])):
        lines = [json.dumps({"query": query, "passage": passage}) for passage, query in part]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_doc2query_learns_the_queries_of_passages(module, base, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "drawn", lambda sources, wanted, most, seed: all_of(sources) * 40)
    out = tmp_path / "asks"
    arguments = f"--pairs {pairs} --base {base} --out {out} --max-steps 150 --batch 4 --learning-rate 0.01"
    monkeypatch.setattr(sys, "argv", ["train_doc2query.py", *arguments.split(), "--threads", "1"])
    module.main()
    asked = Doc2Query.open(out, top=1, count=1).expand([passage for passage, _ in PAIRS])
    assert asked == [(query,) for _, query in PAIRS]
    told = json.loads((out / "doc2query.json").read_text())
    losses = list(told["loss"].values())
    assert losses[-1] < 0.2 < losses[0]
    assert told["pairs"] == {"one": 80, "two": 80}
    assert not out.with_name("asks.training").exists()


def all_of(sources):
    return [
        (source.name, source.queries[query], source.passages[passage])
        for source in sources
        for query, passage in source.pairs.tolist()
    ]


def test_pairs_are_drawn_at_random_with_a_limit_per_source(module, pairs):
    sources = read_sources(pairs)
    every = list(module.drawn(sources, 10, 10, 0))
    assert sorted((passage, query) for _, query, passage in every) == sorted(PAIRS)
    assert every == list(module.drawn(sources, 10, 10, 0))
    assert len(list(module.drawn(sources, 3, 10, 0))) == 3
    assert [name for name, _, _ in sorted(module.drawn(sources, 10, 1, 0))] == ["one", "two"]
