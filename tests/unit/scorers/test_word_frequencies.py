"""Statistics of a large collection, estimated from some of its documents and a file of document frequencies."""

from __future__ import annotations

import gzip
from math import log

import numpy as np
import pytest

from termwise import Document
from termwise.errors import MalformedRecordError, MissingFileError
from termwise.scorers import Background, WordFrequencies, model_scorer
from termwise.text import make_analyzer

PASSAGES = [Document("a", "merge sorted lists"), Document("b", "sorted words"), Document("c", "sorted")]
N, AVERAGE = 3000, 4.0
C = N * AVERAGE
"""Tokens of the collection."""

WORDS = WordFrequencies(N, AVERAGE, {"lists": 20, "heap": 7})
BACKGROUND = Background(lambda: PASSAGES, words=WORDS)


def idf(documents):
    return log(1 + (N - documents + 0.5) / (documents + 0.5))


def score(model, query, text, **settings):
    return model_scorer(model, BACKGROUND, settings=settings).score(query, [text])[0]


@pytest.mark.parametrize(
    ("word", "documents"),
    [
        ("lists", 20),  # in the file, although a third of the passages have it
        ("list", 20),  # the same token
        ("heap", 7),  # in the file only
        ("sorted", 3000),  # in 3 of 3 passages
        ("words", 1000),  # in 1 of 3
        ("zeal", 1000),  # in none: as a word of one passage
    ],
)
def test_bm25_by_hand(word, documents):
    expected = idf(documents) * 2 / (2 + 0.9 * (1 - 0.4 + 0.4 * 3 / AVERAGE))
    assert score("bm25", word, f"{word} {word} passage") == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("word", "occurrences"), [("lists", 20), ("heap", 7), ("words", 1000), ("zeal", 1000)]
)
def test_query_likelihood_by_hand(word, occurrences):
    chance = occurrences / C
    text = f"{word} {word} passage"
    assert score("jm", word, text, **{"lambda": "0.5"}) == pytest.approx(
        log(0.5 * 2 / 3 + 0.5 * chance), rel=1e-5
    )
    assert score("dirichlet", word, text, mu="10") == pytest.approx(
        log((2 + 10 * chance) / (3 + 10)), rel=1e-5
    )


def test_occurrences_per_document_are_those_of_the_passages():
    repeated = [Document("a", "list list list"), Document("b", "list of words")]
    words = WordFrequencies(1000, 3.0, {"list": 10})
    counts = Background(lambda: repeated, words=words).tokens(make_analyzer("english")).counts
    assert counts.document_frequencies.tolist() == [10, 500]
    assert counts.collection_frequencies.tolist() == [20, 500]  # 4 occurrences in 2 documents: 2 each
    assert counts.avgdl == 3.0


def test_tildev2_has_the_power_of_this_idf():
    text = "merge sorted lists of words"
    own = model_scorer("tildev2", Background(lambda: PASSAGES))
    with_file = model_scorer("tildev2", BACKGROUND)
    for word, here, there in (("lists", 20, 1), ("words", 1000, 1), ("sorted", 3000, 3)):
        own_idf = log(1 + (3 - there + 0.5) / (there + 0.5))
        ratio = with_file.score(word, [text])[0] / own.score(word, [text])[0]
        assert ratio == pytest.approx((idf(here) / own_idf) ** 0.25, rel=1e-5)


def test_all_numbers_change_the_fingerprint():
    variants = [
        None,
        WORDS,
        WordFrequencies(N, 5.0, WORDS.frequencies),
        WordFrequencies(N + 1, AVERAGE, WORDS.frequencies),
        WordFrequencies(N, AVERAGE, {**WORDS.frequencies, "lists": 21}),
    ]
    found = {model_scorer("bm25", Background(lambda: PASSAGES, words=one)).fingerprint for one in variants}
    assert len(found) == len(variants)


def test_a_word_of_several_tokens_is_not_used():
    words = WordFrequencies(N, AVERAGE, {"androgens": 5, "the": 900, "list": 9})
    assert words.by_token(make_analyzer("wordpiece")) == {"the": 900, "list": 9}
    assert words.by_token(make_analyzer("english")) == {"androgen": 5, "list": 9}


def test_files_are_read_plain_and_compressed(tmp_path):
    data = "\ufeffdocuments=10\taverage_length=7\r\n\r\nnew york\t3\nthe\t10\n".encode()
    (tmp_path / "plain.tsv").write_bytes(data)
    (tmp_path / "packed.tsv.gz").write_bytes(gzip.compress(data))
    for name in ("plain.tsv", "packed.tsv.gz"):
        words = WordFrequencies.read(tmp_path / name)
        assert (words.documents, words.average_length) == (10, 7.0)
        assert words.frequencies == {"new york": 3, "the": 10}


HEAD = "documents=10\taverage_length=7.5\n"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, "documents=N"),
        ("word\t3\n", 1, "documents=N"),
        ("documents=0\taverage_length=7\n", 1, "above 0"),
        ("documents=10\taverage_length=0\n", 1, "above 0"),
        ("documents=10\taverage_length=nan\n", 1, "above 0"),
        (HEAD + "word\n", 2, "a word, a tab"),
        (HEAD + "word\t3\t5\n", 2, "a word, a tab"),
        (HEAD + "\n word\t2\n\t3\n", 4, "a word, a tab"),
        (HEAD + "word\t0\n", 2, "from 1 to 10"),
        (HEAD + "word\t11\n", 2, "from 1 to 10"),
        (HEAD + "word\t-1\n", 2, "from 1 to 10"),
        (HEAD + "word\t2.5\n", 2, "from 1 to 10"),
        (HEAD + "word\t2\nother\t3\nword\t2\n", 4, "each word once"),
    ],
)
def test_a_bad_line_is_named(text, line, expected, tmp_path):
    path = tmp_path / "idf.tsv"
    path.write_text(text)
    with pytest.raises(MalformedRecordError) as error:
        WordFrequencies.read(path)
    facts = dict(error.value.facts)
    assert (facts["file"], facts["line"]) == (path, line)
    assert expected in facts["expected"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError):
        WordFrequencies.read(tmp_path / "none.tsv")


def test_the_numbers_of_a_large_collection_fit():
    words = WordFrequencies(10**12, 1000.0, {"list": 10**12})
    counts = Background(lambda: PASSAGES, words=words).tokens(make_analyzer("english")).counts
    assert counts.document_frequencies.max() == 10**12
    assert np.isfinite(counts.probabilities).all()
