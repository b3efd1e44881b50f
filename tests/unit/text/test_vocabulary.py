import pickle

import pytest

from termwise.errors import DuplicateIdError
from termwise.text import BACKGROUND, AnalyzerSpec, Vocabulary


def test_tokens_are_numbered_in_order():
    vocabulary = Vocabulary(["b", "a", ""])
    assert [vocabulary.number(token) for token in ("b", "a", "", "c")] == [0, 1, 2, None]
    assert [vocabulary.token(number) for number in range(3)] == list(vocabulary) == ["b", "a", ""]
    assert len(vocabulary) == 3
    assert "a" in vocabulary
    assert "c" not in vocabulary


def test_a_token_cannot_be_numbered_twice():
    with pytest.raises(DuplicateIdError) as caught:
        Vocabulary(["a", "b", "a"])
    assert dict(caught.value.facts) == {"token": "'a'"}


def test_the_background_has_the_last_number_and_no_name():
    vocabulary = Vocabulary(["a"], background=True)
    assert vocabulary.background == 1
    assert vocabulary.token(1) == BACKGROUND
    assert vocabulary.number(BACKGROUND) is None
    assert len(vocabulary) == 1
    assert Vocabulary(["a"]).background is None


def test_equal_ids_mean_equal_numberings():
    vocabularies = [
        Vocabulary(["a", "b"]),
        Vocabulary(["b", "a"]),
        Vocabulary(["ab"]),
        Vocabulary(["a", "b"], background=True),
        Vocabulary(["a", "b\ud800"]),
    ]
    assert len({vocabulary.id for vocabulary in vocabularies}) == len(vocabularies)
    assert Vocabulary(["a", "b"]).id == vocabularies[0].id
    assert pickle.loads(pickle.dumps(vocabularies[0])) == vocabularies[0]


def test_a_fingerprint_depends_on_name_options_and_files_and_not_on_their_order():
    spec = AnalyzerSpec("a", {"x": 1, "y": 2}, {"f": b"1"})
    assert spec.fingerprint == AnalyzerSpec("a", {"y": 2, "x": 1}, {"f": b"1"}).fingerprint
    others = [
        AnalyzerSpec("b", {"x": 1, "y": 2}, {"f": b"1"}),
        AnalyzerSpec("a", {"x": 1, "y": 3}, {"f": b"1"}),
        AnalyzerSpec("a", {"x": 1, "y": 2}, {"f": b"2"}),
        AnalyzerSpec("a", {"x": 1, "y": 2}, {"g": b"1"}),
    ]
    assert len({spec.fingerprint, *(other.fingerprint for other in others)}) == 5
