"""Collection statistics: hand counts, one pass in parts, and counts that contradict each other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.collection import CollectionStatistics
from termwise.errors import EmptyCollectionError, VocabularyMismatchError, WeightError
from termwise.weights import TermWeights


def rows(*counts: dict[int, float], vocabulary: str = "toy") -> TermWeights:
    return TermWeights.from_rows(counts, vocabulary)


def test_by_hand() -> None:
    # "a a b", "a c c c", "" with a=0, b=1, c=3; term 2 occurs nowhere.
    found = CollectionStatistics.from_counts([rows({0: 2, 1: 1}), rows({0: 1, 3: 3}, {})], n_terms=6)
    assert (found.n_documents, found.n_tokens, found.n_terms, found.longest) == (3, 7, 6, 4)
    assert found.avgdl == 7 / 3
    assert found.document_frequencies.tolist() == [2, 1, 0, 1, 0, 0]
    assert found.collection_frequencies.tolist() == [3, 1, 0, 3, 0, 0]


def test_arrays_are_int64_and_read_only() -> None:
    found = CollectionStatistics(1, 2, [1], [2], 2)
    for array in (found.document_frequencies, found.collection_frequencies):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_documents_without_tokens() -> None:
    found = CollectionStatistics.from_counts([rows({}, {})])
    assert (found.n_documents, found.n_tokens, found.n_terms, found.avgdl, found.longest) == (2, 0, 0, 0.0, 0)


def test_equality() -> None:
    one = CollectionStatistics(1, 2, [1], [2], 2)
    assert one == CollectionStatistics(1, 2, [1], [2], 2)
    assert one != CollectionStatistics(2, 2, [1], [2], 2)
    assert one != "something else"


@given(
    st.lists(st.dictionaries(st.integers(0, 40), st.integers(1, 9), max_size=8), min_size=1, max_size=12),
    st.integers(1, 5),
)
def test_parts_do_not_matter(documents: list[dict[int, int]], size: int) -> None:
    whole = CollectionStatistics.from_counts([rows(*documents)])
    parts = (rows(*documents[start : start + size]) for start in range(0, len(documents), size))
    assert CollectionStatistics.from_counts(parts) == whole
    for term in range(41):
        counts = [document[term] for document in documents if term in document]
        if term < whole.n_terms:
            assert whole.document_frequencies[term] == len(counts)
            assert whole.collection_frequencies[term] == sum(counts)
        else:
            assert not counts
    assert whole.longest == max(sum(document.values()) for document in documents)


@pytest.mark.parametrize("weight", [0.5, 0.0, -1.0, 1.5])
def test_weights_that_are_not_counts(weight: float) -> None:
    with pytest.raises(WeightError) as error:
        CollectionStatistics.from_counts([rows({0: 1}), rows({}, {2: 1, 5: weight})])
    assert dict(error.value.facts) == {"row": 2, "term": 5, "weight": weight}


def test_term_outside_the_vocabulary() -> None:
    with pytest.raises(WeightError, match="outside the vocabulary"):
        CollectionStatistics.from_counts([rows({5: 1})], n_terms=5)


def test_two_vocabularies() -> None:
    with pytest.raises(VocabularyMismatchError):
        CollectionStatistics.from_counts([rows({0: 1}), rows({0: 1}, vocabulary="other")])


@pytest.mark.parametrize("parts", [[], [rows()]])
def test_no_documents(parts: list[TermWeights]) -> None:
    with pytest.raises(EmptyCollectionError):
        CollectionStatistics.from_counts(parts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 1, [1, 0], [1], 1), "one length"),
        ((2, 1, [-1], [1], 1), "negative"),
        ((2, 3, [3], [3], 2), "more documents than there are"),
        ((5, 2, [3], [2], 1), "more documents than it has occurrences"),
        ((2, 2, [0], [2], 1), "in no document"),
        ((2, 9, [1], [2], 5), "add up"),
        ((2, 6, [2], [6], 2), "longest"),
        ((2, 6, [2], [6], 7), "longest"),
        ((2, 2, [1.0], [2.0], 1), "whole numbers"),
        ((2, 2, [[1]], [[2]], 1), "whole numbers"),
    ],
)
def test_contradictory_counts_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(WeightError, match=message):
        CollectionStatistics(*arguments)
