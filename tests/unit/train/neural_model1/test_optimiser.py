"""The optimiser, compared with dense AdamW, and the learning rates of the schedule."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from tests.unit.train.neural_model1.conftest import PIECES, small_network

from termwise.train.neural_model1.optimiser import Optimiser, learning_rate
from termwise.train.neural_model1.settings import NeuralModel1Settings


def backward(network, queries, documents):
    logs = network.pair.log_probabilities(
        network.queries(torch.tensor(queries)), network.documents(torch.tensor(documents))
    )
    logs.sum().backward()


def test_with_every_row_in_every_batch_it_is_adamw():
    ours, theirs = small_network(), small_network()
    for rows in (theirs.query_rows, theirs.document_rows):
        rows.sparse = False
    optimiser = Optimiser(ours, weight_decay=0.1)
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.01, weight_decay=0.1)
    every = list(range(len(PIECES)))
    for _ in range(4):
        backward(ours, every, every)
        backward(theirs, every, every)
        optimiser.step(0.01)
        reference.step()
        reference.zero_grad()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-3, rtol=1e-4)  # epsilon is added elsewhere


def test_only_rows_of_the_batch_change(network):
    before = [rows.detach().clone() for rows in network.row_parameters()]
    optimiser = Optimiser(network, weight_decay=0.1)
    for _ in range(2):
        backward(network, [1, 4], [7, 7, 2])
        optimiser.step(0.01)
    changed = [
        torch.nonzero((now.detach() != old).any(1)).flatten().tolist()
        for now, old in zip(network.row_parameters(), before, strict=True)
    ]
    assert changed == [[1, 4], [2, 7]]
    assert all(parameter.grad is None for parameter in network.parameters())


def test_moments_are_restored():
    first, second = small_network(), small_network()
    whole, half = Optimiser(first, weight_decay=0.0), Optimiser(second, weight_decay=0.0)
    for network, optimiser in ((first, whole), (second, half)):
        backward(network, [1, 4], [7, 2])
        optimiser.step(0.01)
    other = Optimiser(second, weight_decay=0.0)
    other.load(half.state())
    for network, optimiser in ((first, whole), (second, other)):
        backward(network, [1, 5], [7, 3])
        optimiser.step(0.01)
    for mine, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_the_rate_of_the_paper():
    settings = NeuralModel1Settings()
    rates = [learning_rate(step, settings, steps=3200, epoch_steps=100) for step in range(3200)]
    assert rates[0] == pytest.approx(3e-3 / 320)
    assert rates[319] == pytest.approx(3e-3 * 0.9**3)
    assert rates[-1] == pytest.approx(3e-3 * 0.9**31)
    assert max(rates) < 3e-3


def test_the_rate_of_the_published_code():
    settings = NeuralModel1Settings(restart=True, warm_up=0.2, learning_rate=1.0, decay=0.5)
    rates = [learning_rate(step, settings, steps=40, epoch_steps=20) for step in range(40)]
    assert rates[0] == pytest.approx(1 / 25)
    assert rates[4] == max(rates) == pytest.approx(1.0)
    assert rates[19] == pytest.approx(1 / 16)
    assert rates[20:] == pytest.approx([rate / 2 for rate in rates[:20]])


def test_without_warm_up():
    settings = NeuralModel1Settings(warm_up=0.0, learning_rate=1.0)
    assert learning_rate(0, settings, steps=10, epoch_steps=10) == 1.0
    settings = NeuralModel1Settings(warm_up=0.0, learning_rate=1.0, restart=True)
    assert learning_rate(0, settings, steps=10, epoch_steps=10) == 1.0
