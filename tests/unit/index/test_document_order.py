"""Internal order of documents."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from termwise.index.document_order import LEAF, document_order
from termwise.weights import TermWeights


def clustered(documents: int, terms: int, seed: int = 5) -> TermWeights:
    """Make rows of four clusters, documents of one cluster far apart in the input."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(documents):
        chances = np.where(np.arange(terms) % 4 == number % 4, 0.6, 0.02)
        rows.append({int(term): 1.0 for term in np.flatnonzero(generator.random(terms) < chances)})
    return TermWeights.from_rows(rows, "toy")


def order_of(rows: TermWeights, n_terms: int, threads: int = 1, **options: Any) -> list[int]:
    dtype = np.uint16 if n_terms <= 65_536 else np.uint32
    terms = rows.terms.astype(dtype)
    order = document_order(rows.indptr, terms, n_terms=n_terms, threads=threads, **options)
    assert order.dtype == np.int32
    return order.tolist()


@pytest.mark.parametrize("documents", [1, LEAF, LEAF + 1, 100, 257, 1000])
def test_the_order_is_a_permutation_and_the_same_for_any_threads(documents: int) -> None:
    rows = clustered(documents, 40)
    order = order_of(rows, 40)
    assert sorted(order) == list(range(documents))
    assert order_of(rows, 40, threads=2) == order
    assert order_of(rows, 40, threads=3) == order


def test_few_documents_keep_their_order() -> None:
    assert order_of(clustered(LEAF, 40), 40) == list(range(LEAF))


@pytest.mark.parametrize("n_terms", [0, 1])
def test_rows_without_terms(n_terms: int) -> None:
    empty = TermWeights([0] * 101, [], [], "toy")
    assert sorted(order_of(empty, n_terms, threads=2)) == list(range(100))


def test_more_terms_than_16_bits_number() -> None:
    rows = clustered(100, 40)
    far = TermWeights(rows.indptr, rows.terms + 70_000, rows.weights, "toy")
    assert order_of(far, 70_040) == order_of(rows, 40)


def test_documents_of_a_cluster_become_neighbours() -> None:
    order = order_of(clustered(512, 80), 80)
    same = sum(a % 4 == b % 4 for a, b in pairwise(order))
    assert same > 480  # of 511 neighbours; about 128 by chance


def gap_cost(rows: TermWeights, order: list[int]) -> float:
    """Sum the logarithms of the gaps between the documents of each term: what an ordering is to lower."""
    place = np.argsort(order)
    cost = 0.0
    for term in range(int(rows.terms.max()) + 1):
        holders = np.searchsorted(rows.indptr, np.flatnonzero(rows.terms == term), side="right") - 1
        gaps = np.diff(np.sort(place[holders]), prepend=-1)
        cost += float(np.log2(gaps).sum())
    return cost


def test_gaps_between_postings_shrink() -> None:
    rows = clustered(512, 80)
    assert gap_cost(rows, order_of(rows, 80)) < 0.75 * gap_cost(rows, list(range(512)))


def test_progress_ends_at_the_number_of_documents() -> None:
    seen: list[tuple[int, int]] = []
    order_of(clustered(300, 40), 40, threads=2, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (300, 300)
    assert seen == sorted(seen)
