"""BM25: variants and weights by hand, and refused input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.collection.statistics import CollectionStatistics
from termwise.errors import ParameterError, UnknownNameError, VocabularyMismatchError, WeightError
from termwise.models import BM25, CountModel
from termwise.weights import TermWeights

# Three documents, one empty: N = 4, C = 12, avgdl = 3; df = 2, 3, 1, 0; cf = 4, 4, 4, 0.
ROWS = TermWeights.from_rows([{0: 3, 1: 1}, {0: 1, 1: 1, 2: 4}, {}, {1: 2}], "toy")
STATISTICS = CollectionStatistics.from_counts([ROWS], n_terms=4)


def test_lucene_form_by_hand() -> None:
    weights = BM25().weigh(ROWS, STATISTICS).weights
    # Row 0, term 0: tf 3, dl 4, df 2; idf = ln(1 + 2.5/2.5) = ln 2.
    assert weights[0] == pytest.approx(math.log(2) * 3 / (3 + 0.9 * (0.6 + 0.4 * 4 / 3)), rel=1e-6)
    # Row 1, term 2: tf 4, dl 6, df 1; idf = ln(1 + 3.5/1.5).
    assert weights[4] == pytest.approx(math.log(1 + 3.5 / 1.5) * 4 / (4 + 0.9 * (0.6 + 0.4 * 2)), rel=1e-6)
    # Row 3, term 1: tf 2, dl 2, df 3; idf = ln(1 + 1.5/3.5).
    assert weights[5] == pytest.approx(
        math.log(1 + 1.5 / 3.5) * 2 / (2 + 0.9 * (0.6 + 0.4 * 2 / 3)), rel=1e-6
    )


def test_robertson_form_by_hand() -> None:
    model = BM25(k1=1.2, b=0.75, variant="robertson")
    weights = model.weigh(ROWS, STATISTICS).weights
    # df 2 of 4: ln(2.5/2.5) = 0 exactly; df 3 of 4: negative, floored at 0; df 1: ln(3.5/1.5).
    assert weights[0] == 0
    assert weights[1] == weights[3] == weights[5] == 0
    expected = 2.2 * math.log(3.5 / 1.5) * 4 / (4 + 1.2 * (0.25 + 0.75 * 6 / 3))
    assert weights[4] == pytest.approx(expected, rel=1e-6)
    assert model.idf(STATISTICS)[1] == pytest.approx(math.log(1.5 / 3.5))
    assert (model.idf(STATISTICS) < 0).sum() == 1


def test_atire_form_by_hand() -> None:
    weights = BM25(k1=1.2, b=0.0, variant="atire").weigh(ROWS, STATISTICS).weights
    assert weights[0] == pytest.approx(2.2 * math.log(4 / 2) * 3 / (3 + 1.2), rel=1e-6)
    assert weights[5] == pytest.approx(2.2 * math.log(4 / 3) * 2 / (2 + 1.2), rel=1e-6)


def test_only_the_robertson_idf_can_be_negative() -> None:
    assert (BM25().idf(STATISTICS) >= 0).all()
    assert (BM25(variant="atire").idf(STATISTICS) >= 0).all()


def test_negative_idf_can_be_refused() -> None:
    with pytest.raises(WeightError, match="1 of 4 terms have a negative idf") as caught:
        BM25(variant="robertson", negative_idf="refuse").weigh(ROWS, STATISTICS)
    assert dict(caught.value.facts)["documents"] == "3 of 4"
    assert any("variant='lucene'" in fix for fix in caught.value.fixes_worded())
    BM25(variant="lucene", negative_idf="refuse").weigh(ROWS, STATISTICS)


def test_lucene_lengths_change_long_documents_only() -> None:
    rows = TermWeights.from_rows([{0: 39}, {0: 41}, {0: 100}], "toy")
    statistics = CollectionStatistics.from_counts([rows])
    exact = BM25().weigh(rows, statistics).weights
    coded = BM25(lengths="lucene").weigh(rows, statistics).weights
    idf = math.log(1 + 0.5 / 3.5)
    assert coded[0] == exact[0]
    for position, (tf, kept) in enumerate([(39, 39), (41, 40), (100, 96)]):
        expected = idf * tf / (tf + 0.9 * (0.6 + 0.4 * kept / 60))
        assert coded[position] == pytest.approx(expected, rel=1e-6)


def test_k1_zero_counts_presence() -> None:
    weights = BM25(k1=0, b=1).weigh(ROWS, STATISTICS).weights
    assert weights[0] == weights[2] == pytest.approx(math.log(2))


def test_rows_vocabulary_and_floors() -> None:
    model = BM25()
    rows = model.weigh(ROWS, STATISTICS)
    assert rows.vocabulary == "toy"
    assert np.array_equal(rows.indptr, ROWS.indptr)
    assert np.array_equal(rows.terms, ROWS.terms)
    assert model.floors(STATISTICS) is None
    assert model.has_background_term is False
    assert isinstance(model, CountModel)


def test_rows_do_not_depend_on_how_they_are_cut() -> None:
    whole = BM25().weigh(ROWS, STATISTICS)
    parts = [BM25().weigh(ROWS.slice(row, row + 1), STATISTICS) for row in range(len(ROWS))]
    assert TermWeights.concatenate(parts) == whole


def test_no_rows_and_only_empty_rows() -> None:
    nothing = TermWeights([0], [], [], "toy")
    assert len(BM25().weigh(nothing, STATISTICS)) == 0
    empty = TermWeights([0, 0, 0], [], [], "toy")
    statistics = CollectionStatistics.from_counts([empty])
    for variant in ("lucene", "robertson", "atire"):
        assert len(BM25(variant=variant).weigh(empty, statistics)) == 2


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.integers(1, 1000), max_size=5), min_size=1, max_size=8),
    st.floats(0, 100),
    st.floats(0, 1),
    st.sampled_from(["lucene", "robertson", "atire"]),
    st.sampled_from(["exact", "lucene"]),
)
def test_weights_are_finite_and_not_negative_and_every_row_is_kept(rows, k1, b, variant, lengths) -> None:
    counts = TermWeights.from_rows(rows, "toy")
    statistics = CollectionStatistics.from_counts([counts], n_terms=7)
    weighed = BM25(k1=k1, b=b, variant=variant, lengths=lengths).weigh(counts, statistics)
    assert len(weighed) == len(rows)
    assert np.array_equal(weighed.indptr, counts.indptr)
    assert np.isfinite(weighed.weights).all()
    assert (weighed.weights >= 0).all()


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"k1": -0.1}, "k1"),
        ({"k1": math.inf}, "k1"),
        ({"k1": math.nan}, "k1"),
        ({"k1": "0.9"}, "k1"),
        ({"k1": True}, "k1"),
        ({"b": 1.0001}, "b"),
        ({"b": -1e-9}, "b"),
        ({"b": None}, "b"),
    ],
)
def test_numbers_out_of_range(settings: dict[str, float], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        BM25(**settings)
    assert dict(caught.value.facts)["parameter"] == parameter


@pytest.mark.parametrize("settings", [{"variant": "luscene"}, {"lengths": "byte"}, {"negative_idf": "shift"}])
def test_unknown_choices(settings: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError):
        BM25(**settings)


def test_integers_become_floats() -> None:
    assert BM25(k1=1, b=1) == BM25(k1=1.0, b=1.0)
    assert BM25(k1=1).parameters()["k1"] == 1.0
    assert isinstance(BM25(k1=1).k1, float)


@pytest.mark.parametrize("weight", [0.5, 0.0, -1.0, 1.5])
def test_weights_that_are_not_counts(weight: float) -> None:
    with pytest.raises(WeightError, match="weights instead of counts") as caught:
        BM25().weigh(TermWeights([0, 0, 1], [1], [weight], "toy"), STATISTICS)
    assert dict(caught.value.facts)["row"] == 1


def test_terms_the_statistics_do_not_know() -> None:
    with pytest.raises(VocabularyMismatchError) as caught:
        BM25().weigh(TermWeights([0, 1], [4], [1.0], "toy"), STATISTICS)
    assert dict(caught.value.facts)["term"] == 4


@pytest.mark.parametrize(("term", "count"), [(3, 1.0), (0, 5.0)])
def test_statistics_of_another_collection(term: int, count: float) -> None:
    with pytest.raises(WeightError, match="different collections"):
        BM25().weigh(TermWeights([0, 1], [term], [count], "toy"), STATISTICS)
