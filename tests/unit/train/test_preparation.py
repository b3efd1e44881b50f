"""Preparation of a training run."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from termwise.train.loop.preparation import longest_input
from termwise.train.settings import TrainSettings


@pytest.mark.parametrize(
    ("changes", "longest"),
    [
        ({}, 40),
        ({"objective": "query-likelihood"}, 30),
        ({"objective": "query-likelihood", "head_steps": 5}, 30),  # the head is fitted to the same objective
        ({"objective": "document-likelihood"}, 40),
    ],
)
def test_the_longest_input_of_tilde(changes, longest):
    assert longest_input("tilde", TrainSettings(document_length=30, query_length=40, **changes)) == longest


@pytest.mark.parametrize("kind", ["tildev2", "splade-doc"])
def test_the_longest_input_of_a_contrastive_network_is_its_passage(kind):
    settings = TrainSettings(objective="contrastive", document_length=30, query_length=40)
    assert longest_input(kind, settings) == 30


def test_an_expansion_adds_one_separator():
    settings = TrainSettings(objective="contrastive", document_length=30)
    assert longest_input("tildev2", settings, expansion_terms=7) == 30 + 1 + 7
