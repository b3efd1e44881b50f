"""Idf factors of terms among training passages, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource
from termwise.train.data import passage_idf as rarity
from termwise.train.data.passage_idf import source_term_factors, term_factors


def source(name, *passages):
    pairs = np.zeros((1, 2), dtype=np.int32)
    return PairSource(name, ["wing"], list(passages), pairs)


def idf(found, n):
    return math.log(1 + (n - found + 0.5) / (found + 0.5))


def test_a_term_counts_once_per_passage():
    rows = [np.array([0, 0, 1]), np.array([1]), np.empty(0, dtype=np.int64)]
    found = term_factors(rows, power=1.0, terms=3)
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([idf(1, 3), idf(2, 3), idf(1, 3)], rel=1e-6)
    root = term_factors(rows, power=0.5, terms=3)
    assert root.tolist() == pytest.approx([math.sqrt(value) for value in found.tolist()], rel=1e-6)


def test_each_source_has_its_factors_and_passages_are_truncated(pieces, number):
    told = []
    one, other = source_term_factors(
        [source("one", "wing lift drag", "lift"), source("other", "wing")],
        pieces,
        power=1.0,
        length=4,  # two pieces and the special ones: drag is not read
        seed=1,
        progress=lambda *said: told.append(said),
    )
    assert one[number("wing")] == pytest.approx(idf(1, 2))
    assert one[number("lift")] == pytest.approx(idf(2, 2))
    assert one[number("drag")] == pytest.approx(idf(1, 2))  # as if one passage had it
    assert other[number("wing")] == pytest.approx(idf(1, 1))
    assert told == [("count terms of passages", 3, 3)]


def test_passages_of_a_large_source_are_sampled(pieces, number, monkeypatch):
    monkeypatch.setattr(rarity, "MOST_PASSAGES", 3)
    large = source("large", *["wing"] * 5, *["lift"] * 5)
    drawn = [
        source_term_factors([large], pieces, power=1.0, length=8, seed=seed)[0] for seed in (1, 1, 2, 3, 4)
    ]
    assert (drawn[0] == drawn[1]).all()
    assert len({float(found[number("wing")]) for found in drawn}) > 1
    for found in drawn:  # of three passages each holds one of the two
        pair = sorted(found[[number("wing"), number("lift")]].tolist())
        assert pair in (
            [pytest.approx(idf(3, 3)), pytest.approx(idf(1, 3))],
            pytest.approx([idf(2, 3), idf(1, 3)]),
        )
