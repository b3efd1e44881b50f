"""Quantiles of unrelated queries, and the relevance that they give: by hand, monotone, independent of blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise import Document, Searcher, build_index
from termwise.engine import unrelated_queries
from termwise.engine.query_vector import query_vector
from termwise.engine.unrelated_queries import STEPS, UnrelatedQueries, cosines
from termwise.index import Index
from termwise.models import Lookup

TEXTS = ["green sofa", "red sofa", "green tea", "coffee beans", "a green sofa and a tea table", ""]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    made = [Document(f"d{number}", text) for number, text in enumerate(TEXTS)]
    folder = tmp_path_factory.mktemp("vectors") / "index"
    return build_index(made, folder, model=Lookup(documents="table"))


@pytest.fixture(scope="module")
def index(searcher: Searcher) -> Index:
    return searcher.index


def best_by_hand(index: Index) -> list[float]:
    """Return the best cosine of each unrelated query, in plain loops."""
    vectors = index.document_vectors(np.arange(len(index)))
    best = []
    for query in unrelated_queries._queries(index.term_vectors).tolist():  # type: ignore[arg-type]
        length = sum(each * each for each in query) ** 0.5
        scores = [
            sum(q * w for q, w in zip(query, row, strict=True)) * scale / length
            for row, scale in zip(vectors.rows.tolist(), vectors.scales.tolist(), strict=True)
        ]
        best.append(max(scores))
    return best


def test_quantiles_are_those_of_loops(index: Index) -> None:
    measured = UnrelatedQueries.measure(index)
    expected = np.quantile(best_by_hand(index), np.arange(STEPS + 1) / STEPS)
    assert measured.documents == len(TEXTS)
    assert np.abs(np.array(measured.quantiles) - expected).max() <= 0.5001e-4
    assert list(measured.quantiles) == sorted(measured.quantiles)


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_blocks_do_not_matter(index: Index, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = UnrelatedQueries.measure(index)
    monkeypatch.setattr(unrelated_queries, "BATCH", batch)
    assert UnrelatedQueries.measure(index) == whole


def test_products_are_exact(index: Index) -> None:
    """The largest possible sum of products is exact as float32."""
    queries = unrelated_queries._queries(index.term_vectors)  # type: ignore[arg-type]
    assert queries.shape == (unrelated_queries.QUERIES, index.manifest.vectors.dimensions)  # type: ignore[union-attr]
    assert (queries == np.rint(queries)).all()
    assert np.abs(queries).max() * 128 * queries.shape[1] < 1 << 24


def test_an_index_without_windows(tmp_path: Path) -> None:
    empty = build_index([Document("a", "")], tmp_path / "empty", model=Lookup(documents="table")).index
    assert UnrelatedQueries.measure(empty) == UnrelatedQueries(1, (0.0,) * (STEPS + 1))


def test_the_cosine_of_a_text_and_itself_is_one(index: Index, searcher: Searcher) -> None:
    query = query_vector(index, searcher.backend.parts[0].backend.encoder.encode_query("green sofa"))
    found = cosines(index, query, np.arange(len(TEXTS)))
    assert found[0] == pytest.approx(1, abs=0.01)
    assert found[:5].argmax() == 0
    assert found[5] == -np.inf  # a text without words has no vector
    nothing = query_vector(index, searcher.backend.parts[0].backend.encoder.encode_query(""))
    assert cosines(index, nothing, np.arange(2)).tolist() == [-np.inf, -np.inf]


def test_relevance_by_hand() -> None:
    measured = UnrelatedQueries(10, tuple(np.arange(STEPS + 1) / 10))  # from 0 to 2
    given = np.array([-np.inf, -0.5, 0.0, 0.05, 0.1, 1.0, 1.99, 2.0, 7.0])
    assert measured.relevance(given).tolist() == [0.0, 0.0, 0.0, 0.025, 0.05, 0.5, 0.995, 1.0, 1.0]


@given(
    quantiles=st.lists(st.floats(-1, 1), min_size=STEPS + 1, max_size=STEPS + 1).map(sorted),
    values=st.lists(st.floats(-2, 2), min_size=1, max_size=20).map(sorted),
)
def test_relevance_grows_with_the_score(quantiles: list[float], values: list[float]) -> None:
    found: npt.NDArray[np.float64] = UnrelatedQueries(1, tuple(quantiles)).relevance(np.array(values))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()
    assert all(share == 0 for value, share in zip(values, found, strict=True) if value < quantiles[0])
    assert all(share == 1 for value, share in zip(values, found, strict=True) if value > quantiles[-1])
