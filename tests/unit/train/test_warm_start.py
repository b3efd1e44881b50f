"""Fitting the head before the network."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from termwise.train.loop import warm_start  # noqa: E402
from termwise.train.loop.warm_start import fit_head  # noqa: E402
from termwise.train.networks import TildeNetwork, network_on_base  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

from .conftest import made_source  # noqa: E402

SETTINGS = TrainSettings(document_length=12, query_length=8, head_steps=40, seed=3)


def fitted(base, pieces, settings=SETTINGS, **options):
    torch.manual_seed(1)
    network = network_on_base("tilde", base)
    assert isinstance(network, TildeNetwork)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    source = made_source("air", 30)
    losses = fit_head(
        network, pieces, list(zip(source.queries, source.passages, strict=True)), settings, **options
    )
    return network, before, losses


def test_the_loss_falls_and_only_the_head_moves(base, pieces):
    network, before, losses = fitted(base, pieces)
    assert len(losses) == 40
    assert losses[-1] < 0.95 * losses[0]
    head = {id(parameter) for parameter in network.head_parameters()}
    for name, parameter in network.named_parameters():
        moved = not torch.equal(parameter, before[name])
        assert moved == (id(parameter) in head), name


def test_everything_is_trained_afterwards(base, pieces):
    network, _, _ = fitted(base, pieces)
    assert network.training
    assert all(parameter.requires_grad for parameter in network.parameters())
    assert all(parameter.grad is None for parameter in network.parameters())


def test_the_fit_depends_on_the_seed_and_reports_its_stages(base, pieces):
    seen = []
    _, _, losses = fitted(base, pieces, progress=lambda *given: seen.append(given))
    assert fitted(base, pieces)[2] == losses
    assert ("read the encoder", 30, 30) in seen
    assert seen[-1] == ("fit the head", 40, 40)


@pytest.mark.parametrize(
    ("objective", "side"), [("query-likelihood", "passages"), ("document-likelihood", "queries")]
)
def test_one_likelihood_reads_one_side(base, pieces, monkeypatch, objective, side):
    read = []
    outputs = warm_start.first_outputs
    monkeypatch.setattr(
        warm_start,
        "first_outputs",
        lambda *given, **options: (read.append(given[3]), outputs(*given, **options))[1],
    )
    _, _, losses = fitted(base, pieces, replace(SETTINGS, objective=objective))
    assert read == [side]
    assert losses[-1] < losses[0]
    assert fitted(base, pieces)[2] != losses


def test_in_bfloat16(base, pieces):
    settings = TrainSettings(document_length=12, query_length=8, head_steps=10, precision="bfloat16")
    network, _, losses = fitted(base, pieces, settings)
    assert losses[-1] < losses[0]
    assert all(parameter.dtype == torch.float32 for parameter in network.parameters())
