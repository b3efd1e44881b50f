"""Passage expansion: allowed terms, and the choice and order of appended terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from termwise.encode.expansion import QUESTION_WORDS, Expansion, expand, expandable
from termwise.errors import ParameterError
from termwise.text import Vocabulary, WordPieceAnalyzer, clean_vocabulary


def test_the_terms_of_uncased_bert_that_may_be_appended() -> None:
    vocabulary = WordPieceAnalyzer.shipped().vocabulary
    allowed = expandable(vocabulary)
    assert (~allowed).sum() == 2_128
    assert allowed.sum() == 28_394
    cleaned = clean_vocabulary(vocabulary, "repo")
    assert {vocabulary.token(number) for number in np.flatnonzero(cleaned & ~allowed)} == QUESTION_WORDS
    assert not allowed[vocabulary.number("##s")]
    assert allowed[vocabulary.number("##ing")]


@pytest.mark.parametrize("token", ["[unused5]", "[MASK]", "...", "ab²", "über", "日本", "–", "##s"])
def test_symbols_of_several_characters_are_symbols(token: str) -> None:
    assert expandable(Vocabulary([token, "word"])).tolist() == [False, True]


def scores(*values: float) -> Any:
    return np.array([values], dtype=np.float32)


ALL = np.ones(5, dtype=np.bool_)


def test_terms_of_the_passage_are_not_appended() -> None:
    found = expand(scores(5, 4, 3, 2, 1), [np.array([0, 2])], allowed=ALL, terms=2)
    assert [one.tolist() for one in found] == [[1, 3]]


def test_equally_likely_terms_go_by_number() -> None:
    (found,) = expand(scores(1, 7, 7, 7, 9), [np.array([], dtype=np.int32)], allowed=ALL, terms=3)
    assert found.tolist() == [4, 1, 2]
    assert found.dtype == np.int32


def test_the_baseline_is_subtracted_from_the_log_likelihood() -> None:
    logits = scores(2, 1, 0, -1, -2)  # ln sigmoid: -0.127, -0.313, -0.693, -1.313, -2.127
    usual = np.array([-0.1, -0.2, -1.0, -1.5, -4.0], dtype=np.float32)
    # What is left: -0.027, -0.113, 0.307, 0.187, 1.873
    (found,) = expand(logits, [np.array([], dtype=np.int32)], allowed=ALL, terms=4, baseline=usual)
    assert found.tolist() == [4, 2, 3, 0]
    nothing = np.zeros(5, dtype=np.float32)
    (same,) = expand(logits, [np.array([], dtype=np.int32)], allowed=ALL, terms=5, baseline=nothing)
    assert same.tolist() == [0, 1, 2, 3, 4]


def test_the_largest_logits_stay_in_order_and_finite() -> None:
    usual = np.zeros(5, dtype=np.float32)
    with np.errstate(over="raise", invalid="raise"):
        (found,) = expand(
            scores(88, -3e38, -100, 5, 4),
            [np.array([], dtype=np.int32)],
            allowed=ALL,
            terms=5,
            baseline=usual,
        )
    assert found.tolist() == [0, 3, 4, 2, 1]


@pytest.mark.parametrize(
    "given",
    [
        {"encoder": 3},
        {"terms": 0},
        {"terms": "64"},
        {"counting": "old"},
        {"lift": 1.01},
        {"lift": float("nan")},
        {"lift": None},
    ],
)
def test_invalid_expansions(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Expansion(**{"encoder": "tilde", "terms": 64, **given})


def test_fewer_allowed_terms_than_requested() -> None:
    allowed = np.array([False, True, True, False, False])
    (found,) = expand(scores(9, -1e30, 2, 3, 4), [np.array([2])], allowed=allowed, terms=4)
    assert found.tolist() == [1]
    (found,) = expand(scores(9, 1, 2, 3, 4), [np.array([1, 2])], allowed=allowed, terms=4)
    assert found.tolist() == []


def test_raw_counting_counts_before_filtering() -> None:
    allowed = np.array([False, True, True, False, True])
    logits, passage = scores(9, 1, 6, 7, 8), [np.array([4])]
    by_terms = {
        terms: expand(logits, passage, allowed=allowed, terms=terms, counting="raw")[0].tolist()
        for terms in range(1, 6)
    }
    assert by_terms == {1: [], 2: [], 3: [], 4: [2], 5: [2, 1]}


LOGITS = arrays(np.float32, (3, 12), elements=st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0]))


@given(LOGITS, st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.integers(1, 15))
def test_expand_agrees_with_a_full_sort(logits: Any, bad: set[int], passage: set[int], terms: int) -> None:
    allowed = np.array([term not in bad for term in range(12)])
    pieces = np.array(sorted(passage), dtype=np.int32)
    for counting in ("new", "raw"):
        found = expand(logits, [pieces] * 3, allowed=allowed, terms=terms, counting=counting)  # type: ignore[arg-type]
        for row, one in zip(logits, found, strict=True):
            order = sorted(range(12), key=lambda term: (-row[term], term))
            order = order[:terms] if counting == "raw" else order
            usable = [term for term in order if term not in bad | passage]
            assert one.tolist() == usable[:terms]
