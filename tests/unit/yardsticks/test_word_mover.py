"""Word Mover's Distance: three words by hand, comparison with a linear programme, and invalid input."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from termwise import Document
from termwise.collection.word_vectors import WordTable, read_word_vectors
from termwise.errors import DataError, MissingExtraError, MissingFileError, ParameterError
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background
from termwise.scorers.protocol import PairScorer, fingerprint_of
from termwise.text import make_analyzer
from termwise.yardsticks import WordMoverScorer

pytest.importorskip("ot", reason="needs the extra yardsticks")

CONTEXT = ScorerContext(Background(lambda: [Document("a", "x")]))
THREE = WordTable(["cat", "lion", "car"], [[0, 0], [0, 3], [4, 0]])
LETTERS = "abcdefgh"
SOME = WordTable(list(LETTERS), np.random.default_rng(5).normal(size=(8, 4)))
heaps = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def scorer():
    return WordMoverScorer(THREE)


@pytest.mark.parametrize(
    ("query", "text", "distance"),
    [
        ("cat", "Cat!", 0),
        ("cat", "lion", 3),
        ("lion", "car", 5),
        ("cat", "lion car", (3 + 4) / 2),
        ("cat lion", "cat car", 5 / 2),  # cat stays, lion moves to car
        ("cat lion", "lion car", 4 / 2),  # lion stays, cat moves to car: 2, not (3 + 5) / 2
        ("cat cat lion", "cat lion lion", 3 / 3),
        ("cat cat cat lion", "car", (3 * 4 + 5) / 4),  # repeated words weigh by count
        ("cat", "a cat and a dog", 0),  # words without a vector do not count
    ],
)
def test_distances_by_hand(scorer, query, text, distance):
    assert scorer.score(query, [text])[0] == pytest.approx(-distance, abs=1e-12)


def by_programme(query, text):
    """Solve the transport of two lists of words as a linear programme."""
    mine, theirs = sorted(set(query)), sorted(set(text))
    costs = cdist([SOME[word] for word in mine], [SOME[word] for word in theirs])
    rows = np.kron(np.eye(len(mine)), np.ones(len(theirs)))
    columns = np.kron(np.ones(len(mine)), np.eye(len(theirs)))
    shares = [query.count(word) / len(query) for word in mine] + [
        text.count(word) / len(text) for word in theirs
    ]
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=shares).fun


@given(heaps, heaps)
def test_distances_are_the_optimum_of_a_linear_programme(query, text):
    found = WordMoverScorer(SOME, make_analyzer("whitespace")).score(" ".join(query), [" ".join(text)])
    assert found[0] == pytest.approx(-by_programme(query, text), abs=1e-9)


@given(heaps, heaps, heaps)
def test_it_is_a_distance(one, other, third):
    scorer = WordMoverScorer(SOME, make_analyzer("whitespace"))
    one, other, third = map(" ".join, (one, other, third))
    there, back, by_way = (
        -scorer.score(*pair)[0] for pair in ((one, [other]), (other, [one]), (one, [third]))
    )
    assert there == pytest.approx(back, abs=1e-9)
    assert there <= by_way - scorer.score(third, [other])[0] + 1e-9
    assert scorer.score(one, [one])[0] == pytest.approx(0, abs=1e-12)


@given(heaps)
def test_a_text_without_known_words_has_the_mean_distance(query):
    scorer = WordMoverScorer(SOME, make_analyzer("whitespace"))
    unknown, empty = scorer.score(" ".join(query), ["?!", ""])
    assert unknown == empty == pytest.approx(scorer.score(" ".join(query), list(LETTERS)).mean())


def test_the_average_is_taken_over_the_whole_table(scorer, monkeypatch):
    assert scorer.score("cat lion", ["nothing known"])[0] == pytest.approx(
        -((0 + 3 + 4) / 3 + (3 + 0 + 5) / 3) / 2
    )
    monkeypatch.setattr("termwise.yardsticks.word_mover._BLOCK", 2)
    assert WordMoverScorer(THREE).score("cat", [""])[0] == pytest.approx(-7 / 3)


def test_a_query_without_known_words_scores_zero(scorer):
    assert scorer.score("dog", ["cat", "dog", ""]).tolist() == [0, 0, 0]
    assert not np.signbit(scorer.score("cat", ["cat"])[0])
    assert scorer.score("cat", []).shape == (0,)


def test_a_score_does_not_depend_on_the_others(scorer):
    assert isinstance(scorer, PairScorer)
    assert fingerprint_of(scorer) == scorer.fingerprint
    queries = ["cat lion", "car", "cat lion", "unknown", "cat lion"]
    texts = ["lion car", "lion", "none", "cat", "lion car"]
    together = scorer.score_pairs(queries, texts)
    alone = [scorer.score(query, [text])[0] for query, text in zip(queries, texts, strict=True)]
    assert together.tolist() == alone
    with pytest.raises(ParameterError):
        scorer.score_pairs(["cat"], [])
    with pytest.raises(ParameterError):
        scorer.score("cat", "cat")


def test_vectors_can_be_normalised():
    words = WordTable(["a", "b", "zero"], [[3, 0], [0, 5], [0, 0]])
    scorer = WordMoverScorer(words, make_analyzer("whitespace"), unit=True)
    assert scorer.score("a", ["b", "zero"]) == pytest.approx([-np.sqrt(2), -1])


def test_fingerprints_depend_on_what_changes_scores():
    same = WordTable(["cat", "lion", "car", "cat"], [[0, 0], [0, 3], [4, 0], [9, 9]])
    others = [
        WordMoverScorer(THREE, unit=True),
        WordMoverScorer(THREE, make_analyzer("whitespace")),
        WordMoverScorer(WordTable(["cat", "car", "lion"], THREE.vectors)),
        WordMoverScorer(WordTable(["cat", "lion", "car"], THREE.vectors + 1)),
    ]
    prints = [WordMoverScorer(THREE).fingerprint, *(one.fingerprint for one in others)]
    assert len(set(prints)) == 5
    assert WordMoverScorer(THREE, name="other").fingerprint == prints[0]
    assert same["cat"].tolist() == [0, 0], "the first of two"


def test_it_is_opened_by_a_specification(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("3 2\ncat 0 0\nlion 0 3\nthe 4 0\n")
    assert open_scorer(f"wmd:{path}", CONTEXT).score("cat", ["the cat"]).tolist() == [-2]
    scorer = open_scorer(f"mine=wmd:{path},analyzer=standard+stop,unit=true", CONTEXT)
    assert scorer.name == "mine"
    assert scorer.score("cat", ["the cat"]).tolist() == [0]
    with pytest.raises(MissingFileError):
        open_scorer(f"wmd:{tmp_path / 'none'}", CONTEXT)


def test_an_array_with_its_words(tmp_path):
    path = tmp_path / "vectors.npy"
    np.save(path, THREE.vectors)
    with pytest.raises(MissingFileError):
        read_word_vectors(path)
    (tmp_path / "vectors.txt").write_text("cat\nlion\ncar\n")
    assert read_word_vectors(path).digest == THREE.digest
    (tmp_path / "vectors.txt").write_text("cat\nlion\n")
    with pytest.raises(DataError, match="do not match") as caught:
        read_word_vectors(path)
    assert ("words", "2") in caught.value.facts
    path.write_bytes(b"something else")
    with pytest.raises(DataError, match="not an array of numpy"):
        read_word_vectors(path)
    for vectors in ([[1.0, np.nan]], [1.0], np.empty((1, 0))):
        with pytest.raises(DataError):
            WordTable(["a"], vectors)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtraError) as caught:
        WordMoverScorer(THREE)
    assert "termwise[yardsticks]" in caught.value.fixes_worded()[0]
