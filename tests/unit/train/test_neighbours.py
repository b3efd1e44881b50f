"""Orders of pairs by similarity of their passages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource
from termwise.train.data.batches import neighbour_order


def topics(repeats: int = 1) -> PairSource:
    """Passages on sixteen topics, eight each, shuffled; each pair is listed `repeats` times."""
    random = np.random.default_rng(4)
    topic = random.permutation(np.repeat(np.arange(16), 8))
    passages = [
        " ".join(f"word{number}x{word}" for word in random.choice(6, size=5, replace=False)) + f" own{place}"
        for place, number in enumerate(topic)
    ]
    pairs = [(query, passage) for query in range(repeats) for passage in range(len(passages))]
    return PairSource("topics", [f"q{i}" for i in range(repeats)], passages, np.array(pairs, dtype=np.int32))


def test_pairs_of_one_topic_are_neighbours():
    source = topics()
    order = neighbour_order(source)
    assert sorted(order.tolist()) == list(range(128))
    topic = np.array([source.passages[p].split()[0].partition("x")[0] for p in source.pairs[order, 1]])
    distinct = [len(set(part)) for part in topic.reshape(-1, 32)]
    assert max(distinct) <= 8  # 4 at best, about 14 in a random order


def test_pairs_of_one_passage_are_distributed():
    source = topics(repeats=3)
    passages = source.pairs[neighbour_order(source), 1]
    for start in range(0, len(passages), 128):
        assert len(set(passages[start : start + 128].tolist())) == 128


def test_the_number_of_threads_changes_nothing():
    source = topics()
    assert np.array_equal(neighbour_order(source, threads=1), neighbour_order(source, threads=2))
