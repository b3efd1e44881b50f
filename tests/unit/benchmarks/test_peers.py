"""Retrieval engines of the benchmarks return the scores of exhaustive scoring."""

from __future__ import annotations

import numpy as np
import pytest

TERMS, QUERIES = 50, [[3, 7, 7], [49, 1], [12]]


@pytest.fixture
def matrix():
    random = np.random.default_rng(0)
    rows = [np.sort(random.choice(TERMS, size=size, replace=False)) for size in random.integers(1, 20, 300)]
    terms = np.concatenate(rows).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return indptr, terms, random.integers(1, 256, len(terms)).astype(np.uint8)


def test_termwise_and_exhaustive_scoring_agree(matrix, tmp_path):
    from peers import BruteForce, recall
    from termwise_engine import Termwise

    results = []
    for engine in (Termwise(threads=1), BruteForce()):
        engine.build(matrix, tmp_path)
        engine.open(tmp_path)
        engine.warm(QUERIES, 5)
        hits, seconds = engine.search(QUERIES, 5)
        assert seconds.shape == (3,)
        assert (seconds > 0).all()
        assert engine.bytes_on_disk(tmp_path) > 0
        results.append(hits)
    for (ordinals, scores), (expected, truth) in zip(*results, strict=True):
        assert ordinals.tolist() == expected.tolist()
        assert scores.tolist() == truth.tolist()
    assert recall(*results) == 1.0
    assert recall(
        [(ordinals[:4], scores[:4]) for ordinals, scores in results[0]], results[1]
    ) == pytest.approx(0.8)
    taken = Termwise()
    taken.open(tmp_path)
    assert taken.rerank(QUERIES, [np.arange(10)] * 3).shape == (3,)


def test_engines_on_text_find_the_documents_with_the_terms(tmp_path):
    pytest.importorskip("bm25s")
    from peers import BM25S
    from termwise_engine import TermwiseBM25

    texts = ["a red car", "blue bicycles", "the car and the bicycle", "trees"]
    for engine in (BM25S(), TermwiseBM25(threads=1)):
        engine.build(texts, tmp_path)
        engine.open(tmp_path)
        (cars, none), _ = engine.search(["cars", "the"], 4)
        assert sorted(cars[0].tolist()) == [0, 2]
        assert len(none[0]) == 0
        assert engine.version
