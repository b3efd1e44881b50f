"""The training loop: loss, selected weights, resumption."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from termwise.progress import Execution
from termwise.train.run_folder import RunFolder

pytest.importorskip("torch")

import torch
from tests.unit.train.neural_model1.conftest import small_network

from termwise.collection.training_pairs import read_sources
from termwise.errors import CorruptModelError, DivergedError
from termwise.train.neural_model1.bags import JudgedBags
from termwise.train.neural_model1.scoring import rank_all
from termwise.train.neural_model1.settings import NeuralModel1Settings
from termwise.train.neural_model1.training_loop import BEST, CHECKPOINT, batch_loss, train
from termwise.train.run_folder import LOG

SETTINGS = NeuralModel1Settings(epochs=3, batch=4, learning_rate=0.02, save_every=4, warm_up=0.0)


@pytest.fixture
def questions(pairs, analyzer):
    sources = read_sources(pairs)
    none = [np.full((len(one), 64), -1, dtype=np.int32) for one in sources]
    return JudgedBags.of(
        sources,
        none,
        analyzer,
        analyzer.vocabulary,
        negatives=4,
        query_length=0,
        document_length=0,
    )


class Killed(BaseException):
    """Imitates a killed process."""


def test_the_loss_of_a_batch(questions):
    network = small_network()
    draw = questions.judged.sample(0, 0)
    part = slice(2, 7)
    p = SETTINGS.self_translation
    asked = questions.queries.take(draw.queries[part])
    chosen = (draw.relevant[part], draw.negatives[part, 0])
    relevant, other = (
        np.diag(rank_all(network, asked, questions.passages.take(one), p_self=p)) for one in chosen
    )
    losses = np.maximum(0, 1 - (relevant - other))
    assert (losses > 0).sum() > 0
    for reduction, expected in (("sum", losses.sum()), ("mean", losses.mean())):
        settings = NeuralModel1Settings(reduction=reduction)
        assert float(batch_loss(network, questions, draw, part, settings).detach()) == pytest.approx(
            expected, rel=1e-4
        )
    lengths = np.array(
        [asked.counts[a:b].sum() for a, b in zip(asked.starts, asked.starts[1:], strict=False)]
    )
    expected = np.maximum(0, 0.5 - (relevant - other) / lengths).sum()
    settings = NeuralModel1Settings(score_norm="mean", margin=0.5)
    assert float(batch_loss(network, questions, draw, part, settings).detach()) == pytest.approx(
        expected, rel=1e-4
    )


def test_training_learns_translations(questions, tmp_path):
    network = small_network()
    before = float(
        batch_loss(network, questions, questions.judged.sample(9, 9), slice(0, 64), SETTINGS).detach()
    )
    settings = dataclasses.replace(SETTINGS, epochs=30)
    facts = train(network, questions, RunFolder(tmp_path), settings=settings)
    after = float(
        batch_loss(network, questions, questions.judged.sample(9, 9), slice(0, 64), SETTINGS).detach()
    )
    assert after < before / 2
    assert facts["steps"] == 30 * math.ceil(len(questions.judged) / 4)
    assert facts["best"] == {}
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    assert lines[-1]["step"] == facts["steps"]
    assert set(lines[-1]) == {"step", "seconds", "loss", "rate"}


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(("at", "kept"), [(2, 0), (6, 4), (13, 12)])
def test_a_killed_run_resumes_to_the_same_weights(questions, tmp_path, at, kept, restart):
    settings = NeuralModel1Settings(epochs=5, batch=4, learning_rate=0.02, save_every=4, restart=restart)

    def ranked(network):
        # any measure that changes with the weights will do
        return lambda: {"nDCG@10": float(network.query_rows.weight.detach().sum())}

    def kill(stage, done, total):
        if done == at:
            raise Killed

    whole = small_network()
    told = train(whole, questions, RunFolder(tmp_path), settings=settings, validate=ranked(whole))
    other = tmp_path / "other"
    other.mkdir()
    first = small_network()
    with pytest.raises(Killed):
        train(
            first,
            questions,
            RunFolder(other, execution=Execution(progress=kill)),
            settings=settings,
            validate=ranked(first),
        )
    said = []
    second = small_network(seed=77)
    if not kept:
        second = small_network()  # nothing was kept yet: it begins as the run did
    facts = train(
        second,
        questions,
        RunFolder(other, resume=True, execution=Execution(say=said.append)),
        settings=settings,
        validate=ranked(second),
    )
    assert facts["best"] == told["best"]
    assert facts["steps"] == told["steps"]
    for mine, theirs in zip(whole.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert any(line.startswith(f"resuming at step {kept} of 15") for line in said) == (kept > 0)
    steps = [json.loads(line)["step"] for line in (other / LOG).read_text().splitlines()]
    assert steps == [json.loads(line)["step"] for line in (tmp_path / LOG).read_text().splitlines()]


def test_the_best_weights_are_kept(questions, tmp_path):
    network = small_network()
    values = iter([0.5, 0.75, 0.25])
    seen = []

    def validate():
        seen.append(network.query_rows.weight.detach().clone())
        return {"nDCG@10": next(values), "RR@10": 0.1}

    said = []
    facts = train(
        network,
        questions,
        RunFolder(tmp_path, execution=Execution(say=said.append)),
        settings=SETTINGS,
        validate=validate,
    )
    epoch = math.ceil(len(questions.judged) / 4)
    assert facts["best"] == {"step": 2 * epoch, "nDCG@10": 0.75, "RR@10": 0.1}
    assert torch.equal(network.query_rows.weight, seen[1])
    assert [line.endswith("the best so far, saved") for line in said] == [True, True, False]
    measured = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines() if "nDCG@10" in line]
    assert [line["nDCG@10"] for line in measured] == [0.5, 0.75, 0.25]


def test_the_number_of_steps_is_limited(questions, tmp_path):
    settings = NeuralModel1Settings(batch=4, max_steps=3)
    assert train(small_network(), questions, RunFolder(tmp_path), settings=settings)["steps"] == 3
    assert (tmp_path / CHECKPOINT).exists()


def test_a_damaged_checkpoint(questions, tmp_path):
    settings = NeuralModel1Settings(batch=4, max_steps=3)
    train(small_network(), questions, RunFolder(tmp_path), settings=settings)
    content = (tmp_path / CHECKPOINT).read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"{}" * 100):
        (tmp_path / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(CorruptModelError) as error:
            train(small_network(), questions, RunFolder(tmp_path, resume=True), settings=settings)
        assert CHECKPOINT in str(dict(error.value.facts)["file"])


def test_a_loss_that_is_not_finite(questions, tmp_path):
    network = small_network()
    torch.nn.init.constant_(network.pair.layers[-1].bias, math.nan)
    with pytest.raises(DivergedError) as error:
        train(network, questions, RunFolder(tmp_path), settings=SETTINGS)
    assert dict(error.value.facts)["step"] == 1
    assert not (tmp_path / CHECKPOINT).exists()
    assert not (tmp_path / BEST).exists()
