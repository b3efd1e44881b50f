"""Query likelihood with Jelinek-Mercer smoothing: the summed score is ln P(q|d)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.collection.statistics import CollectionStatistics
from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.models import CountModel, QueryLikelihoodJM
from termwise.weights import TermWeights

ROWS = TermWeights.from_rows([{0: 3, 1: 1}, {0: 1, 1: 1, 2: 4}, {}, {1: 2}], "toy")
STATISTICS = CollectionStatistics.from_counts([ROWS], n_terms=4)


def score(rows: TermWeights, floors: np.ndarray, row: int, query: dict[int, int]) -> float:
    held = dict(zip(*(part.tolist() for part in rows.row(row)), strict=True))
    return sum(count * (held.get(term, 0.0) + floors[term]) for term, count in query.items())


def test_weights_by_hand() -> None:
    weights = QueryLikelihoodJM(lambda_=0.25).weigh(ROWS, STATISTICS).weights
    # Row 0, term 0: tf 3 of dl 4; cf 4 of C 12.
    assert weights[0] == pytest.approx(math.log(1 + (0.75 * 3 / 4) / (0.25 * 4 / 12)), rel=1e-6)
    # Row 3, term 1: tf 2 of dl 2; cf 4 of C 12.
    assert weights[5] == pytest.approx(math.log(1 + 0.75 / (0.25 * 4 / 12)), rel=1e-6)


def test_floors_by_hand() -> None:
    floors = QueryLikelihoodJM(lambda_=0.25).floors(STATISTICS)
    assert floors.dtype == np.float64
    assert floors[:3] == pytest.approx([math.log(0.25 / 3)] * 3)
    assert floors[3] == 0.0  # never occurs in the collection


def test_an_empty_document_scores_its_floors() -> None:
    model = QueryLikelihoodJM()
    assert score(model.weigh(ROWS, STATISTICS), model.floors(STATISTICS), 2, {0: 2}) == pytest.approx(
        2 * math.log(0.1 * 4 / 12)
    )


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 100), max_size=5), min_size=1, max_size=8),
    st.floats(0.01, 0.99),
    st.dictionaries(st.integers(0, 6), st.integers(1, 5), max_size=5),
)
def test_the_sum_is_the_log_likelihood(rows, lambda_, query) -> None:
    counts = TermWeights.from_rows(rows, "toy")
    statistics = CollectionStatistics.from_counts([counts], n_terms=7)
    model = QueryLikelihoodJM(lambda_=lambda_)
    weighed, floors = model.weigh(counts, statistics), model.floors(statistics)
    assert len(weighed) == len(rows)
    assert np.isfinite(weighed.weights).all()
    assert (weighed.weights >= 0).all()
    seen = {term: count for term, count in query.items() if statistics.collection_frequencies[term] > 0}
    for number, row in enumerate(rows):
        length = sum(row.values())
        expected = 0.0
        for term, count in seen.items():
            share = row.get(term, 0) / length if length else 0.0
            collection = statistics.collection_frequencies[term] / statistics.n_tokens
            expected += count * math.log((1 - lambda_) * share + lambda_ * collection)
        assert score(weighed, floors, number, query) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_is_a_count_model_without_background() -> None:
    model = QueryLikelihoodJM()
    assert isinstance(model, CountModel)
    assert (model.name, model.has_background_term, model.parameters()) == ("jm", False, {"lambda": 0.1})


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan, "0.5"])
def test_lambda_out_of_range(value: float) -> None:
    with pytest.raises(ParameterError) as caught:
        QueryLikelihoodJM(lambda_=value)
    assert dict(caught.value.facts)["parameter"] == "lambda"


def test_bad_rows() -> None:
    with pytest.raises(WeightError, match="weights instead of counts"):
        QueryLikelihoodJM().weigh(TermWeights([0, 1], [0], [0.5], "toy"), STATISTICS)
    with pytest.raises(WeightError, match="different collections"):
        QueryLikelihoodJM().weigh(TermWeights([0, 1], [3], [1.0], "toy"), STATISTICS)
    with pytest.raises(VocabularyMismatchError):
        QueryLikelihoodJM().weigh(TermWeights([0, 1], [4], [1.0], "toy"), STATISTICS)


def test_only_empty_documents() -> None:
    empty = TermWeights([0, 0], [], [], "toy")
    statistics = CollectionStatistics.from_counts([empty], n_terms=2)
    assert len(QueryLikelihoodJM().weigh(empty, statistics)) == 1
    assert QueryLikelihoodJM().floors(statistics).tolist() == [0.0, 0.0]
