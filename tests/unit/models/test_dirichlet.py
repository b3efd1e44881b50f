"""Query likelihood with Dirichlet smoothing: the summed score, background term included, is ln P(q|d)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.collection.statistics import CollectionStatistics
from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.models import CountModel, QueryLikelihoodDirichlet
from termwise.weights import TermWeights

ROWS = TermWeights.from_rows([{0: 3, 1: 1}, {0: 1, 1: 1, 2: 4}, {}, {1: 2}], "toy")
STATISTICS = CollectionStatistics.from_counts([ROWS], n_terms=4)


def score(rows: TermWeights, floors: np.ndarray, row: int, query: dict[int, float]) -> float:
    held = dict(zip(*(part.tolist() for part in rows.row(row)), strict=True))
    return sum(count * (held.get(term, 0.0) + floors[term]) for term, count in query.items())


def test_weights_by_hand() -> None:
    rows = QueryLikelihoodDirichlet(mu=10).weigh(ROWS, STATISTICS)
    assert rows.indptr.tolist() == [0, 3, 7, 8, 10]
    assert rows.terms.tolist() == [0, 1, 4, 0, 1, 2, 4, 4, 1, 4]
    expected = [
        math.log(1 + 3 / (10 * 4 / 12)),
        math.log(1 + 1 / (10 * 4 / 12)),
        math.log(16 / 14),  # the longest document has 6 tokens, this one 4
        math.log(1 + 1 / (10 * 4 / 12)),
        math.log(1 + 1 / (10 * 4 / 12)),
        math.log(1 + 4 / (10 * 4 / 12)),
        0.0,
        math.log(16 / 10),
        math.log(1 + 2 / (10 * 4 / 12)),
        math.log(16 / 12),
    ]
    assert rows.weights == pytest.approx(expected, rel=1e-6)


def test_floors_by_hand() -> None:
    floors = QueryLikelihoodDirichlet(mu=10).floors(STATISTICS)
    assert floors == pytest.approx([math.log(4 / 12)] * 3 + [0.0, math.log(10 / 16)])


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 100), max_size=5), min_size=1, max_size=8),
    st.floats(0.1, 1e5),
    st.dictionaries(st.integers(0, 6), st.integers(1, 5), max_size=5),
)
def test_the_sum_is_the_log_likelihood(rows, mu, query) -> None:
    counts = TermWeights.from_rows(rows, "toy")
    statistics = CollectionStatistics.from_counts([counts], n_terms=7)
    model = QueryLikelihoodDirichlet(mu=mu)
    weighed, floors = model.weigh(counts, statistics), model.floors(statistics)
    assert np.isfinite(weighed.weights).all()
    assert (weighed.weights >= 0).all()
    seen = {term: count for term, count in query.items() if statistics.collection_frequencies[term] > 0}
    encoded = {**seen, 7: sum(seen.values())}
    for number, row in enumerate(rows):
        length = sum(row.values())
        expected = 0.0
        for term, count in seen.items():
            collection = statistics.collection_frequencies[term] / statistics.n_tokens
            expected += count * math.log((row.get(term, 0) + mu * collection) / (length + mu))
        assert score(weighed, floors, number, encoded) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_an_unseen_term_adds_the_same_as_its_likelihood_up_to_a_constant() -> None:
    # Term 3 never occurs: ln P(t|d) = ln(mu P) - ln(mu + dl) with the same P for all documents.
    model = QueryLikelihoodDirichlet(mu=10)
    weighed, floors = model.weigh(ROWS, STATISTICS), model.floors(STATISTICS)
    difference = score(weighed, floors, 3, {3: 1, 4: 1}) - score(weighed, floors, 0, {3: 1, 4: 1})
    assert difference == pytest.approx(-math.log(12) + math.log(14), abs=1e-6)


def test_is_a_count_model_with_background() -> None:
    model = QueryLikelihoodDirichlet()
    assert isinstance(model, CountModel)
    assert (model.name, model.has_background_term, model.parameters()) == ("dirichlet", True, {"mu": 2000.0})
    assert model.weigh(ROWS, STATISTICS).vocabulary == ROWS.vocabulary


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_mu_out_of_range(value: float) -> None:
    with pytest.raises(ParameterError):
        QueryLikelihoodDirichlet(mu=value)


def test_bad_rows() -> None:
    with pytest.raises(WeightError, match="weights instead of counts"):
        QueryLikelihoodDirichlet().weigh(TermWeights([0, 1], [0], [0.5], "toy"), STATISTICS)
    with pytest.raises(VocabularyMismatchError):
        QueryLikelihoodDirichlet().weigh(TermWeights([0, 1], [4], [1.0], "toy"), STATISTICS)


def test_a_document_longer_than_the_longest() -> None:
    rows = TermWeights.from_rows([{0: 4, 1: 4}], "toy")
    with pytest.raises(WeightError, match="different collections") as caught:
        QueryLikelihoodDirichlet().weigh(rows, STATISTICS)
    assert dict(caught.value.facts)["tokens"] == 8


def test_only_empty_documents_and_no_rows() -> None:
    empty = TermWeights([0, 0, 0], [], [], "toy")
    statistics = CollectionStatistics.from_counts([empty], n_terms=2)
    rows = QueryLikelihoodDirichlet().weigh(empty, statistics)
    assert rows.terms.tolist() == [2, 2]
    assert rows.weights.tolist() == [0.0, 0.0]
    assert QueryLikelihoodDirichlet().floors(statistics).tolist() == [0.0, 0.0, 0.0]
    assert len(QueryLikelihoodDirichlet().weigh(TermWeights([0], [], [], "toy"), statistics)) == 0
