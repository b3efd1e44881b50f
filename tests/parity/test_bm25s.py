"""Parity of all variants of BM25 with bm25s: equal weights and equal scores.

bm25s computes in float32 where ours rounds once, hence the tolerance. One difference is on purpose: in the
Robertson form bm25s leaves out the constant factor k1 + 1, which ours has; the test multiplies it in. Both
floor a negative Robertson idf at 0, and both count documents without tokens in N and in the mean length.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

import numpy as np
import pytest

from termwise.collection.statistics import CollectionStatistics
from termwise.models import BM25, CountQueryEncoder
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

bm25s = pytest.importorskip("bm25s")

TOLERANCE = 1e-5
FACTOR = {"lucene": lambda k1: 1.0, "robertson": lambda k1: k1 + 1.0, "atire": lambda k1: 1.0}


class Words:
    """Analyzer of lower-case words, because tokenisation is not compared here."""

    spec = AnalyzerSpec("words")
    vocabulary = None

    def tokens(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    def analyze(self, text: str) -> Analysis:
        raise NotImplementedError


def random_texts() -> list[str]:
    rng = np.random.default_rng(20)
    words = np.array([f"w{number}" for number in range(60)])
    share = 1.0 / np.arange(1, 61)
    lengths = [*rng.integers(1, 40, 80), 300, 0, 0]
    return [" ".join(rng.choice(words, size, p=share / share.sum())) for size in lengths]


def real_texts() -> list[str]:
    lines = files("termwise").joinpath("assets/python_docs/queries.jsonl").read_text("utf-8")
    return [json.loads(line)["text"] for line in lines.splitlines()]


@pytest.fixture(params=[random_texts, real_texts], ids=["random", "questions"])
def texts(request: pytest.FixtureRequest) -> list[str]:
    return request.param()


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire"])
@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75), (2.75, 1.0), (0.5, 0.0)])
def test_weights_and_scores(texts: list[str], variant: str, k1: float, b: float) -> None:
    tokens = [Words().tokens(text) for text in texts]
    vocabulary = Vocabulary(sorted({token for row in tokens for token in row}))
    numbers = [[vocabulary.number(token) for token in row] for row in tokens]
    counts = TermWeights.from_rows(
        [{term: row.count(term) for term in row} for row in numbers], vocabulary.id
    )
    statistics = CollectionStatistics.from_counts([counts], n_terms=len(vocabulary))
    ours = BM25(k1=k1, b=b, variant=variant).weigh(counts, statistics)

    theirs = bm25s.BM25(k1=k1, b=b, method=variant)
    theirs.index((numbers, dict(vocabulary._numbers)), show_progress=False)

    table = np.zeros((len(texts), len(vocabulary)))
    for row, (terms, weights) in enumerate(ours):
        table[row, terms] = weights
    expected = np.zeros_like(table)
    scores = theirs.scores
    for term in range(len(vocabulary)):
        stored = slice(scores["indptr"][term], scores["indptr"][term + 1])
        expected[scores["indices"][stored], term] = scores["data"][stored]
    expected *= FACTOR[variant](k1)
    np.testing.assert_allclose(table, expected, rtol=TOLERANCE)
    assert (table > 0).sum() > len(texts)

    encoder = CountQueryEncoder(Words(), vocabulary)
    for query in (
        texts[0],
        texts[1] + " " + texts[1],
        texts[2] + " " + texts[5],
        "no such words at all xyzzy",
    ):
        terms, weights = encoder.encode_query(query).row(0)
        known = [token for token in Words().tokens(query) if token in vocabulary]
        wanted = theirs.get_scores(known) * FACTOR[variant](k1) if known else np.zeros(len(texts))
        np.testing.assert_allclose(table[:, terms] @ weights, wanted, rtol=TOLERANCE)
