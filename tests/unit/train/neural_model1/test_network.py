"""The network, compared with its definition."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from tests.unit.train.neural_model1.conftest import PIECES, small_network
from torch.nn import functional

from termwise.train.neural_model1.network import CosinePair, PairNetwork


def concatenated(pair: PairNetwork, query: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """Return T by the definition, with the complete [x_q ; x_d ; x_q * x_d]."""
    x, y = torch.broadcast_tensors(pair.project_query(query), pair.project_document(document))
    outputs = torch.cat([x, y, x * y], dim=-1)
    for layer in pair.layers[:-1]:
        outputs = functional.relu(layer(outputs))
    return torch.sigmoid(pair.layers[-1](outputs)).squeeze(-1)


@pytest.mark.parametrize("hidden", [(7,), (7, 5), (4, 6, 3)])
def test_the_factored_first_layer_is_the_concatenated_one(hidden):
    torch.manual_seed(1)
    pair = PairNetwork(8, 9, projection=6, hidden=hidden)
    queries, documents = torch.randn(4, 8), torch.randn(11, 9)
    expected = concatenated(pair, queries[None], documents[:, None])
    got = pair.log_probabilities(pair.queries(queries), pair.documents(documents)).exp()
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-5)
    weights = list(pair.parameters())
    for theirs, ours in zip(
        torch.autograd.grad(expected.sum(), weights), torch.autograd.grad(got.sum(), weights), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", ["network", "cosine"])
@pytest.mark.parametrize("rows", [1, 8, 11])
def test_a_table_has_every_pair(form, rows, monkeypatch):
    monkeypatch.setattr("termwise.train.neural_model1.network._CELLS", 200)  # several parts
    network = small_network(form)
    queries = network.queries(torch.arange(len(PIECES)))
    documents = network.documents(torch.arange(rows))
    expected = network.pair.log_probabilities(queries, documents).exp()
    torch.testing.assert_close(network.pair.table(queries, documents), expected.detach())


def test_a_vector_is_the_tanh_of_its_normalised_row(network):
    terms = torch.tensor([4, 1])
    rows = network.query_rows.weight[terms]
    mean, deviation = rows.mean(1, keepdim=True), rows.var(1, keepdim=True, unbiased=False)
    expected = torch.tanh((rows - mean) / torch.sqrt(deviation + 1e-5))
    expected = network.pair.project_query(expected)
    torch.testing.assert_close(network.queries(terms), expected, atol=1e-5, rtol=1e-4)


def test_each_side_has_its_table(network):
    assert not torch.equal(network.query_rows.weight, network.document_rows.weight)


def test_the_cosine_form():
    pair = CosinePair()
    vectors = pair.queries(torch.tensor([[3.0, 4.0], [-3.0, -4.0], [4.0, -3.0]]))
    logs = pair.log_probabilities(vectors[:1], vectors)
    torch.testing.assert_close(logs.exp(), torch.tensor([[1.0], [1e-8], [0.5]]))
    assert not list(pair.parameters())


def test_the_cosine_uses_unchanged_rows():
    network = small_network("cosine")
    rows = network.query_rows.weight[:2]
    expected = rows / rows.square().sum(1, keepdim=True).sqrt()
    torch.testing.assert_close(network.queries(torch.arange(2)), expected)


def test_extreme_outputs_stay_finite():
    pair = PairNetwork(4, 4, projection=3, hidden=(3,))
    torch.nn.init.constant_(pair.layers[-1].bias, -300.0)
    logs = pair.log_probabilities(pair.queries(torch.zeros(1, 4)), pair.documents(torch.zeros(1, 4)))
    assert -320 < float(logs.detach()) < -280


def test_an_untrained_network_gives_the_expected_probability():
    network = small_network()
    torch.nn.init.zeros_(network.pair.layers[-1].weight)
    table = network.pair.table(network.queries(torch.tensor([1])), network.documents(torch.tensor([2])))
    assert float(table) == pytest.approx(0.2)
