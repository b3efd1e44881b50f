"""Scores, compared with plain sums, and their independence of the batch."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.unit.train.neural_model1.conftest import PIECES, small_network

from termwise.train.neural_model1 import scoring
from termwise.train.neural_model1.bags import Bags
from termwise.train.neural_model1.scoring import rank_all, scores_of

P = 0.1
QUERIES = [[1, 2, 1], [3], [4, 11, 5]]
DOCUMENTS = [[6, 1, 6, 11], [7, 7], [3, 8, 9, 10, 2, 2, 2]]


def probability(network, query, document):
    prepared = network.queries(torch.tensor([query])), network.documents(torch.tensor([document]))
    return float(network.pair.log_probabilities(*prepared).detach().exp())


def plain(network, query, document, *, mean=False, p=P):
    """Return the score by a loop over tokens."""
    total = 0.0
    for q in query:
        m = sum(p if q == d else (1 - p) * probability(network, q, d) for d in document) / len(document)
        total += math.log(m)
    return total / len(query) if mean else total


def scored(network, query, documents, *, mean=False):
    asked, held = Bags.of([query]), Bags.of(documents)
    return scores_of(
        network.pair,
        network.queries(torch.from_numpy(asked.terms).long()),
        network.documents(torch.from_numpy(held.terms).long()),
        times=torch.from_numpy(asked.shares() if mean else asked.counts.astype(np.float32)),
        shares=torch.from_numpy(held.shares()),
        sizes=held.sizes.tolist(),
        same=torch.from_numpy(held.terms[:, None] == asked.terms),
        p_self=P,
    ).detach()


@pytest.mark.parametrize("form", ["network", "cosine"])
@pytest.mark.parametrize("mean", [False, True])
def test_scores_equal_the_definition(form, mean):
    network = small_network(form)
    for query in QUERIES:
        expected = [plain(network, query, document, mean=mean) for document in DOCUMENTS]
        assert scored(network, query, DOCUMENTS, mean=mean).tolist() == pytest.approx(expected, rel=1e-5)


def test_scores_of_very_small_probabilities_stay_finite(network):
    torch.nn.init.constant_(network.pair.layers[-1].bias, -400.0)
    (score,) = scored(network, [1], [[6, 7]]).tolist()
    assert -420 < score < -380


def test_every_document_is_ranked_for_every_query(network, monkeypatch):
    monkeypatch.setattr("termwise.train.neural_model1.scoring._ROWS", 3)  # several blocks
    queries, documents = Bags.of([*QUERIES, []]), Bags.of([*DOCUMENTS, []])
    scores = rank_all(network, queries, documents, p_self=P)
    assert scores.shape == (4, 4)
    for i, query in enumerate(QUERIES):
        expected = [plain(network, query, document) for document in DOCUMENTS]
        assert scores[i, :3].tolist() == pytest.approx(expected, rel=1e-5)
        assert scores[i, 3] == pytest.approx(len(query) * math.log(1e-8))
    assert not scores[3].any()


@pytest.mark.parametrize("rows", [3, 512])
def test_the_network_computes_every_pair_of_pieces_once(network, monkeypatch, rows):
    monkeypatch.setattr("termwise.train.neural_model1.scoring._ROWS", rows)
    seen = []

    def vectors_of(network, terms, *, query):
        made = of_terms(network, terms, query=query)
        named[id(made)] = made, terms.tolist()
        return made

    def table(asked, held):
        seen.extend((q, d) for q in named[id(asked)][1] for d in named[id(held)][1])
        return of_pairs(asked, held)

    named, of_terms, of_pairs = {}, scoring.vectors_of, network.pair.table
    monkeypatch.setattr(scoring, "vectors_of", vectors_of)
    monkeypatch.setattr(network.pair, "table", table)
    rank_all(network, Bags.of([*QUERIES, *QUERIES]), Bags.of([*DOCUMENTS, *DOCUMENTS]), p_self=P)
    queries, documents = ({piece for text in texts for piece in text} for texts in (QUERIES, DOCUMENTS))
    assert sorted(seen) == sorted((q, d) for q in queries for d in documents)


def test_two_threads_give_the_same_ranking(network):
    asked = [(Bags.of([query]), Bags.of(DOCUMENTS)) for query in QUERIES * 4]
    alone = [rank_all(network, *one, p_self=P).tolist() for one in asked]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda one: rank_all(network, *one, p_self=P).tolist(), asked))
    assert together == alone


def test_means_are_at_least_1e_8(network):
    torch.nn.init.constant_(network.pair.layers[-1].bias, -60.0)
    scores = rank_all(network, Bags.of([[1]]), Bags.of([[6], [1, 6]]), p_self=P)
    assert scores[0].tolist() == pytest.approx([math.log(1e-8), math.log(P / 2)])


def test_pieces_name_the_fixture():
    assert max(max(row) for row in QUERIES + DOCUMENTS) < len(PIECES)
