"""Training of re-ranking networks, with BERT-Model1: loss, batches, validation, and resumed runs."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402
from tests.unit.train.conftest import WORDS, write_jsonl  # noqa: E402

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.errors import (  # noqa: E402
    EmptyCollectionError,
    ForeignFolderError,
    ParameterError,
    StorageError,
)
from termwise.progress import Execution  # noqa: E402
from termwise.train.data.held_out import HeldOut  # noqa: E402
from termwise.train.data.sampling import JudgedQueries  # noqa: E402
from termwise.train.inputs import Pieces  # noqa: E402
from termwise.yardsticks.rerankers.bert_model1 import BertModel1, BertModel1Config, BertModel1Settings  # noqa: E402
from termwise.yardsticks.rerankers.folder import read_scorer_folder  # noqa: E402
from termwise.yardsticks.rerankers.step import PairCollator, RankingStep, SampledBatches  # noqa: E402
from termwise.yardsticks.rerankers.training import (  # noqa: E402
    candidates_of,
    reading_of,
    train_reranker,
    validation_of,
)

from .conftest import SMALL, scoring, small_network  # noqa: E402

SETTINGS = BertModel1Settings(
    **SMALL,
    batch=4,
    epochs=2,
    learning_rate=1e-3,
    head_learning_rate=1e-2,
    save_every=2,
    validate_every=2,
    validation_depth=5,
)


def pairs(count):
    """Return queries of one word, and passages with this word among uninformative ones."""
    random = np.random.default_rng(4)
    for place in range(count):
        word = WORDS[place % len(WORDS)]
        words = [*random.choice(WORDS, size=random.integers(2, 15)), word]
        yield word + (" ?" if place % 2 else ""), " ".join(words)


@pytest.fixture
def data(tmp_path):
    return write_jsonl(tmp_path / "pairs.jsonl", *({"query": q, "passage": p} for q, p in pairs(14)))


@pytest.fixture
def source():
    queries, passages = zip(*pairs(14), strict=True)
    numbers = np.arange(14, dtype=np.int32)
    return PairSource("pairs", queries, passages, np.stack([numbers, numbers], axis=1))


@pytest.fixture
def judged(source):
    found = np.full((14, 64), -1, dtype=np.int32)
    found[:, 0] = (np.arange(14) + 1) % 14
    every = np.ones(14, dtype=np.bool_)
    return JudgedQueries.of([source], [found], queries=every, passages=every, negatives=20)


@pytest.mark.parametrize("score_norm", ["sum", "mean"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_loss_of_a_batch(base, analyzer, source, judged, score_norm, reduction):
    settings = dataclasses.replace(SETTINGS, score_norm=score_norm, reduction=reduction, margin=2.0)
    network = small_network(base, score_norm=score_norm).eval()
    batches = SampledBatches(judged, settings)
    collator = PairCollator(network, Pieces(analyzer, network.kind), source, batches)
    loss = RankingStep(network, settings)(**collator([1]))["loss"]
    drawn = batches.sample(1)
    assert (drawn.negatives[:, 0] == (drawn.relevant + 1) % 14).all()
    scorer = scoring(network, analyzer)
    losses = []
    for query, relevant, other in zip(drawn.queries, drawn.relevant, drawn.negatives[:, 0], strict=True):
        scores = scorer.score(source.queries[query], [source.passages[relevant], source.passages[other]])
        losses.append(max(0.0, 2.0 - (scores[0] - scores[1])))
    assert max(losses) > 0
    expected = sum(losses) / (len(losses) if reduction == "mean" else 1)
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-4)
    loss.backward()
    touched = [name for name, one in network.named_parameters() if one.grad is not None and one.grad.any()]
    assert any(name.startswith("pair.") for name in touched)
    assert any(name.startswith("pretrained.") for name in touched)


def test_an_epoch_uses_every_query_once(judged):
    batches = SampledBatches(judged, SETTINGS)
    assert len(batches) == 8  # 4, 4, 4 and 2 queries, twice
    for epoch in range(2):
        taken = [batches.sample(epoch * 4 + number).queries.tolist() for number in range(4)]
        assert [len(part) for part in taken] == [4, 4, 4, 2]
        assert sorted(query for part in taken for query in part) == list(range(14))
    assert batches.sample(0).queries.tolist() != batches.sample(4).queries.tolist()


def test_steps_can_be_limited(judged):
    limited = dataclasses.replace(SETTINGS, max_steps=3, accumulate=2)
    assert len(SampledBatches(judged, limited)) == 6


def test_validation_candidates_are_bm25_passages_then_relevant_ones():
    held_out = HeldOut.sample(
        [
            PairSource(
                "one",
                ["wing", "heat"],
                ["wing lift", "wing drag", "heat"],
                np.array([(0, 0), (1, 2)], dtype=np.int32),
            )
        ],
        queries=2,
        seed=1,
    )
    named = {
        held_out.queries[query]: [held_out.passages[place] for place in places]
        for query, places in enumerate(candidates_of(held_out, depth=5, seed=1))
    }
    assert named == {"wing": ["wing lift"], "heat": ["heat"]}  # the pool holds relevant passages only
    both = HeldOut(("wing",), ("wing lift", "wing drag", "heat"), held_out.qrels[:1])
    place = int(both.qrels[0].doc_id)
    assert candidates_of(both, depth=5, seed=1)[0][-1] == place
    assert sorted(candidates_of(both, depth=5, seed=1)[0]) == [0, 1]
    twice = dataclasses.replace(both, qrels=both.qrels * 2)
    assert candidates_of(twice, depth=5, seed=1) == candidates_of(both, depth=5, seed=1)


def test_validation_restores_the_training_mode(base, analyzer, source):
    network = small_network(base)
    held_out = HeldOut.sample([source], queries=6, seed=1)
    measures = validation_of(network, analyzer, held_out, SETTINGS)()
    assert set(measures) == {"nDCG@10", "RR@10"}
    assert all(0 < value <= 1 for value in measures.values())
    assert network.training


def weights(folder):
    return {
        f"{name} {key}": value
        for name in ("model.safetensors", "head.safetensors")
        for key, value in load_file(folder / name).items()
    }


class Killed(Exception):
    """Imitates a killed process."""


def test_a_resumed_run_gives_identical_weights(data, base, tmp_path):
    messages = []
    whole = train_reranker(
        "bert-model1",
        [data],
        base,
        tmp_path / "whole",
        settings=SETTINGS,
        execution=Execution(say=messages.append),
    )
    assert whole["steps"] == 8
    assert whole["best"]["step"] in (2, 4, 6, 8)
    assert 0 < whole["best"]["nDCG@10"] <= 1
    assert any("validat" in line or "nDCG@10" in line for line in messages)

    def kill(stage, done, _):
        if stage.startswith("train") and done == 5:
            raise Killed

    with pytest.raises(Killed):
        train_reranker(
            "bert-model1",
            [data],
            base,
            tmp_path / "killed",
            settings=SETTINGS,
            execution=Execution(progress=kill),
        )
    with pytest.raises(ForeignFolderError):
        train_reranker("bert-model1", [data], base, tmp_path / "killed", settings=SETTINGS)
    resumed = train_reranker(
        "bert-model1",
        [data],
        base,
        tmp_path / "killed",
        settings=SETTINGS,
        resume=True,
        execution=Execution(say=messages.append),
    )
    assert any(line.startswith("resuming at step 4 of 8") for line in messages)
    assert resumed["best"] == whole["best"]
    one, other = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)

    scorer = read_scorer_folder(tmp_path / "whole")
    assert scorer.network.reading == reading_of(SETTINGS, BertModel1) == BertModel1Config(**SMALL)
    card = (tmp_path / "whole" / "README.md").read_text()
    for shown in ("12,026,187", "| chunk_length | 8 |", f"step {whole['best']['step']}", "pairs"):
        assert shown in card
    manifest = json.loads((tmp_path / "whole" / "scorer.json").read_text())
    assert manifest["trained"]["steps"] == 8
    assert str(tmp_path) not in json.dumps(manifest) + card


def test_training_learns(data, base, tmp_path):
    """The loss of the last epoch is below that of the first."""
    longer = dataclasses.replace(SETTINGS, epochs=10, dropout=0.0, schedule="constant", save_every=100)
    out = tmp_path / "out"
    facts = train_reranker("bert-model1", [data], base, out, settings=longer, validation="none")
    assert facts["best"] == {}
    assert "not validated" in (out / "README.md").read_text()
    losses = [
        line["loss"]
        for line in map(json.loads, (out / "training" / "log.jsonl").read_text().splitlines())
        if "loss" in line
    ]
    assert losses[-1] < 0.8 * losses[0]


def test_data_without_usable_pairs_is_refused(base, tmp_path):
    data = write_jsonl(tmp_path / "one.jsonl", {"query": "wing", "passage": "lift"})
    with pytest.raises(EmptyCollectionError):
        train_reranker("bert-model1", [data], base, tmp_path / "out", settings=SETTINGS, validation="none")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_run(data, base, tmp_path):
    def train(**options):
        messages = []
        given = {"settings": dataclasses.replace(SETTINGS, max_steps=1), **options}
        train_reranker(
            "bert-model1", [data], base, tmp_path / "out", execution=Execution(say=messages.append), **given
        )
        return messages

    return train


def test_mined_negatives_survive_a_failure(small_run, tmp_path, monkeypatch):
    def full(*_, **__):
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("termwise.yardsticks.rerankers.training.candidates_of", full)
        with pytest.raises(StorageError):
            small_run()
    assert (tmp_path / "out" / "training" / "negatives.npz").is_file()
    messages = small_run(resume=True)
    assert f"nothing to resume in {tmp_path / 'out' / 'training'}: starting from the beginning" in messages
    assert not [line for line in messages if "BM25" in line]


def test_other_held_out_queries_are_another_run(small_run, tmp_path):
    held = [
        write_jsonl(tmp_path / f"{word}.jsonl", {"query": word, "passage": f"{word} of the wing"})
        for word in ("lift", "drag")
    ]
    small_run(validation=held[0])
    for changed in (held[1], "none"):
        with pytest.raises(ForeignFolderError) as caught:
            small_run(validation=changed, resume=True)
        assert dict(caught.value.facts)["differs in"] == "validation"


def test_windows_that_exceed_the_encoder_are_refused_before_writing(data, base, tmp_path):
    with pytest.raises(ParameterError, match="longest window"):
        train_reranker("bert-model1", [data], base, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_are_read_and_checked():
    parsed = BertModel1Settings.parse({"chunk_length": "100", "query_vectors": "first", "margin": "2"})
    assert (parsed.chunk_length, parsed.query_vectors, parsed.margin) == (100, "first", 2.0)
    usual = BertModel1Settings()
    assert (usual.epochs, usual.batch, usual.learning_rate, usual.head_learning_rate) == (1, 16, 2e-5, 2e-4)
    with pytest.raises(ParameterError):
        BertModel1Settings(validation_depth=65)


def test_the_base_is_not_overwritten(tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    (base / "config.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="overwrite the base"):
        train_reranker("bert-model1", ["pairs.jsonl"], base, base, settings=BertModel1Settings())
    assert [path.name for path in base.iterdir()] == ["config.json"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_scorer_without_its_run_is_not_replaced(tmp_path, resume):
    (tmp_path / "scorer.json").write_text("{}")
    with pytest.raises(ForeignFolderError, match="already holds a scorer"):
        train_reranker("bert-model1", ["pairs.jsonl"], "base", tmp_path, settings=SETTINGS, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["scorer.json"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="here float16 is computed")
def test_an_unavailable_precision_is_refused_before_training(data, base, tmp_path, monkeypatch):
    def work(*_, **__):
        raise AssertionError

    monkeypatch.setattr("termwise.yardsticks.rerankers.training.load_or_mine_negatives", work)
    half = dataclasses.replace(SETTINGS, precision="float16")
    with pytest.raises(ParameterError, match="float16"):
        train_reranker("bert-model1", [data], base, tmp_path / "out", settings=half)
    assert not (tmp_path / "out").exists()
