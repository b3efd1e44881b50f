"""Query encoding: known tokens, weights, and the background term."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from termwise.errors import ParameterError, UnknownNameError, WeightError
from termwise.models import CountQueryEncoder
from termwise.text.analyzer import Analysis, AnalyzerSpec
from termwise.text.vocabulary import Vocabulary
from termwise.text.wordpiece import WordPieceAnalyzer

VOCABULARY = Vocabulary(["lists", "merge", "sorted"])


class Words:
    """Words between spaces."""

    spec = AnalyzerSpec("words")
    vocabulary = None

    def tokens(self, text: str) -> list[str]:
        return text.split()

    def analyze(self, text: str) -> Analysis:
        raise NotImplementedError


def row(encoder: CountQueryEncoder, query: str) -> dict[int, float]:
    encoded = encoder.encode_query(query)
    assert len(encoded) == 1
    assert encoded.vocabulary == encoder.vocabulary.id
    terms, weights = encoded.row(0)
    return dict(zip(terms.tolist(), weights.tolist(), strict=True))


def test_counts() -> None:
    encoder = CountQueryEncoder(Words(), VOCABULARY)
    assert row(encoder, "sorted merge of sorted lists") == {0: 1.0, 1: 1.0, 2: 2.0}


def test_occurrences() -> None:
    encoder = CountQueryEncoder(Words(), VOCABULARY, weighting="occurrences")
    assert row(encoder, "sorted merge of sorted lists") == {0: 1.0, 1: 1.0, 2: 1.0}


def test_idf_counts_presence_and_drops_zeros() -> None:
    encoder = CountQueryEncoder(Words(), VOCABULARY, weighting="idf", term_weights=np.array([0.0, 1.5, 4.0]))
    assert row(encoder, "sorted merge of sorted lists") == {1: 1.5, 2: 4.0}


@pytest.mark.parametrize("query", ["", "   ", "unknown words only"])
@pytest.mark.parametrize("background", [False, True])
def test_a_query_without_known_tokens_is_an_empty_row(query: str, background: bool) -> None:
    vocabulary = Vocabulary(VOCABULARY, background=True) if background else VOCABULARY
    assert row(CountQueryEncoder(Words(), vocabulary), query) == {}


def test_the_background_term_gets_the_length_of_the_query() -> None:
    encoder = CountQueryEncoder(Words(), Vocabulary(VOCABULARY, background=True))
    assert row(encoder, "sorted merge of sorted lists") == {0: 1.0, 1: 1.0, 2: 2.0, 3: 4.0}
    once = CountQueryEncoder(Words(), Vocabulary(VOCABULARY, background=True), weighting="occurrences")
    assert row(once, "sorted sorted") == {2: 1.0, 3: 1.0}


def test_the_name_of_the_background_term_is_not_a_token() -> None:
    assert row(CountQueryEncoder(Words(), Vocabulary(VOCABULARY, background=True)), "[background]") == {}


def test_searching_changes_nothing() -> None:
    encoder = CountQueryEncoder(Words(), VOCABULARY)
    first = encoder.encode_query("merge lists")
    encoder.encode_query("sorted")
    assert encoder.encode_query("merge lists") == first


def test_term_weights_are_copied_and_read_only() -> None:
    given = np.ones(3, dtype=np.float32)
    encoder = CountQueryEncoder(Words(), VOCABULARY, weighting="idf", term_weights=given)
    given[:] = 7
    assert row(encoder, "merge") == {1: 1.0}
    with pytest.raises(ValueError, match="read-only"):
        encoder.term_weights[0] = 2.0


def test_unknown_weighting() -> None:
    with pytest.raises(UnknownNameError, match="counts"):
        CountQueryEncoder(Words(), VOCABULARY, weighting="count")


@pytest.mark.parametrize(
    "options",
    [
        {"weighting": "idf"},
        {"weighting": "counts", "term_weights": np.ones(3)},
        {"weighting": "idf", "term_weights": np.ones(4)},
        {"weighting": "idf", "term_weights": np.ones((3, 1))},
    ],
)
def test_term_weights_that_do_not_fit(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        CountQueryEncoder(Words(), VOCABULARY, **options)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_term_weights_name_the_token(bad: float) -> None:
    with pytest.raises(WeightError) as caught:
        CountQueryEncoder(Words(), VOCABULARY, weighting="idf", term_weights=np.array([1.0, bad, bad]))
    assert dict(caught.value.facts)["term"] == "1, 'merge'"
    assert dict(caught.value.facts)["terms affected"] == 2


def test_encoding_a_query_loads_no_kernels() -> None:
    code = "import sys, termwise.models; sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_words_without_pieces_do_not_match_each_other():
    pieces = WordPieceAnalyzer.shipped()
    encoder = CountQueryEncoder(pieces, pieces.vocabulary)
    assert pieces.tokens("🍕 lists") == ["[UNK]", "lists"]
    assert row(encoder, "🍕 lists [UNK]") == {pieces.vocabulary.number("lists"): 1.0}
    assert row(encoder, "🍕") == {}
