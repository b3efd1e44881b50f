"""Bags of terms."""

from __future__ import annotations

import numpy as np

from termwise.train.neural_model1.bags import Bags, bags_of

BAGS = Bags.of([[7, 3, 7], [], [2]])


def test_entries_are_the_distinct_terms_in_order():
    assert BAGS.starts.tolist() == [0, 2, 2, 3]
    assert BAGS.terms.tolist() == [3, 7, 2]
    assert BAGS.counts.tolist() == [1, 2, 1]
    assert len(BAGS) == 3
    assert BAGS.sizes.tolist() == [2, 0, 1]
    assert len(Bags.of([])) == 0


def test_shares_add_up_to_one():
    np.testing.assert_allclose(BAGS.shares(), [1 / 3, 2 / 3, 1])
    assert BAGS.shares().dtype == np.float32


def test_texts_are_taken_in_any_order_with_repetitions():
    taken = BAGS.take(np.array([2, 1, 0, 2]))
    assert taken.starts.tolist() == [0, 1, 1, 3, 4]
    assert taken.terms.tolist() == [2, 3, 7, 2]
    assert taken.counts.tolist() == [1, 1, 2, 1]


def test_totals_and_matrix():
    assert BAGS.totals(9).tolist() == [0, 0, 1, 1, 0, 0, 0, 2, 0]
    assert BAGS.matrix(BAGS.counts, 8).toarray()[0].tolist() == [0, 0, 0, 1, 0, 0, 0, 2]


def test_texts_are_truncated_to_the_length(analyzer):
    told = []
    bags = bags_of(
        ["car car auto the", ""],
        analyzer,
        analyzer.vocabulary,
        length=3,
        stage="read",
        progress=lambda *told_: told.append(told_),
    )
    assert bags.counts.tolist() == [2, 1]
    assert told == [("read", 2, 2)]
    assert bags_of(["car car auto the"], analyzer, analyzer.vocabulary).counts.sum() == 4
