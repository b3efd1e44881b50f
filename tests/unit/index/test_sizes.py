"""Bytes per posting of realistic indexes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from termwise.index import Index, IndexWriter
from termwise.text import Vocabulary
from termwise.weights import TermWeights

TERMS = 30_522
TOPICS, TOPICAL, SHARE = 500, 500, 0.6
TOKENS = 100


def expanded_passages(
    documents: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows as an expansion leaves them: words that all documents share, and as many or more of one topic.

    Both follow Zipf's law, over the whole vocabulary and over the words of the topic.
    """
    lengths = random.poisson(TOKENS, size=documents)
    owner = np.repeat(np.arange(documents), lengths)
    topic = random.integers(TOPICS, size=documents)[owner]
    words = random.permutation(TERMS)
    of_topics = np.array([random.choice(TERMS, size=TOPICAL, replace=False) for _ in range(TOPICS)])

    topical = random.random(len(owner)) < SHARE
    # The inverse of the cumulated 1/x: rank r comes with a probability of about 1 / (r + 1).
    ranks = (np.where(topical, TOPICAL, TERMS) + 1.0) ** random.random(len(owner)) - 1
    ranks = ranks.astype(np.int32)
    drawn = words[ranks]
    drawn[topical] = of_topics[topic[topical], ranks[topical]]
    cells = np.unique(owner * TERMS + drawn)
    indptr = np.searchsorted(cells // TERMS, np.arange(documents + 1))
    weights = random.gamma(2.0, size=len(cells)) + 0.01
    return indptr, (cells % TERMS).astype(np.int32), weights.astype(np.float32)


def written(folder: Path, documents: int) -> dict[str, float]:
    """Return the bytes of both views for each posting."""
    indptr, terms, weights = expanded_passages(documents, np.random.default_rng(7))
    vocabulary = Vocabulary(str(number) for number in range(TERMS))
    with IndexWriter(folder, threads=2) as writer:
        writer.add(list(map(str, range(documents))), TermWeights(indptr, terms, weights, vocabulary.id))
        writer.commit(vocabulary, encoder={})
    (segment,) = Index.open(folder).segments
    forward = sum(size for name, size in segment.section_bytes.items() if "forward" in name)
    inverted = sum(segment.section_bytes.values()) - forward
    return {
        "forward": forward / len(terms),
        "inverted": inverted / len(terms),
        "documents": len(terms) / documents,
    }


def test_bytes_a_posting_of_30_000_expanded_passages(tmp_path: Path) -> None:
    found = written(tmp_path / "i", 30_000)
    assert 60 < found["documents"] < 100
    assert (
        found["inverted"] <= 3.4
    )  # 3.1 for 100,000 documents, with tables of terms and the order of documents
    assert found["forward"] <= 3.1


def test_the_tables_of_terms_matter_for_few_documents(tmp_path: Path) -> None:
    found = written(tmp_path / "i", 1000)
    tables = 8 * (TERMS + 1) / 1000 / found["documents"]
    assert found["inverted"] > 2 + tables
    assert tables == pytest.approx(3.3, abs=0.3)
