"""Maximum likelihood: relative term frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise import BuildOptions, Document, build_index
from termwise.collection.statistics import CollectionStatistics
from termwise.errors import UnknownNameError, WeightError
from termwise.models import CountModel, MaximumLikelihood, make_model
from termwise.weights import TermWeights


def weighed(rows: list[dict[int, float]]) -> TermWeights:
    counts = TermWeights.from_rows(rows, "toy")
    return MaximumLikelihood().weigh(counts, CollectionStatistics.from_counts([counts]))


def test_relative_frequencies_by_hand() -> None:
    rows = weighed([{0: 3, 1: 1}, {}, {1: 2}])
    assert rows.indptr.tolist() == [0, 2, 2, 3]
    assert rows.weights.tolist() == [0.75, 0.25, 1.0]


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 10**6), max_size=5), min_size=1, max_size=8),
    st.lists(st.floats(-30, 0), min_size=7, max_size=7),
)
def test_the_product_with_a_vector_is_its_mean_over_the_tokens(rows, vector) -> None:
    shares = weighed(rows)
    for row, (terms, weights) in zip(rows, shares, strict=True):
        mean = np.average([vector[t] for t in row], weights=list(row.values())) if row else 0.0
        assert np.array(vector)[terms] @ weights == pytest.approx(mean, rel=1e-5, abs=1e-9)


def test_it_is_a_model_of_counts_without_parameters() -> None:
    model = make_model("ml", {})
    assert isinstance(model, CountModel)
    assert model == MaximumLikelihood()
    assert model.parameters() == {}
    with pytest.raises(UnknownNameError, match="parameter of ml"):
        make_model("ml", {"mu": "1"})


def test_weights_that_are_not_counts_are_refused() -> None:
    counts = TermWeights.from_rows([{0: 2}], "toy")
    statistics = CollectionStatistics.from_counts([counts])
    with pytest.raises(WeightError, match="weights instead of counts"):
        MaximumLikelihood().weigh(TermWeights.from_rows([{0: 0.5}], "toy"), statistics)


def test_an_index_of_relative_frequencies(tmp_path) -> None:
    documents = [Document("a", "x y x z"), Document("b", "x"), Document("c", "")]
    searcher = build_index(
        documents,
        tmp_path / "i",
        model="ml",
        analyzer="whitespace",
        options=BuildOptions(quantiser="float32"),
    )
    assert searcher.rank("x").scores.tolist() == [1.0, 0.5]
    assert searcher.rank("x x y", candidates=["a", "b", "c"]).scores.tolist() == [2.0, 1.25, 0.0]
