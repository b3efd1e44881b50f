import sys
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import MissingExtraError, UnknownNameError
from termwise.text import (
    ENGLISH_CLITICS,
    LOWER_CASE,
    PORTER,
    SIMPLE_LEMMA,
    STRAIGHT_APOSTROPHES,
    make_analyzer,
    snowball,
    stop_list,
    stop_words,
)
from termwise.text import token_filters as steps
from termwise.text.registry import step_named

needs_simplemma = pytest.mark.skipif(
    find_spec("simplemma") is None, reason="needs termwise[simplemma], which scripts/setup dev installs"
)
every_step = pytest.mark.parametrize(
    "step",
    [
        LOWER_CASE,
        STRAIGHT_APOSTROPHES,
        stop_words("lucene-english"),
        snowball("english"),
        PORTER,
        ENGLISH_CLITICS,
        pytest.param(SIMPLE_LEMMA, marks=needs_simplemma),
    ],
    ids=lambda step: step.name,
)


@every_step
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1) | st.from_regex(r"\A[a-z']{1,12}\Z"))
def test_no_step_returns_an_empty_word(step, word):
    assert step(word) != ""
    assert step(word) == step(word)


@every_step
def test_a_step_is_found_by_its_name(step):
    assert step_named(step.name) == step


def test_an_unknown_step_is_named():
    with pytest.raises(UnknownNameError, match="unknown analyzer step 'stem:lovins'"):
        step_named("stem:lovins")


def test_stop_lists_have_the_sizes_they_are_known_by():
    assert len(stop_list("lucene-english")) == 33
    assert len(stop_list("nltk-english")) == 179
    assert stop_list("lucene-english") <= stop_list("nltk-english")
    assert sum("'" in word for word in stop_list("nltk-english")) == 26


def test_an_unknown_stop_list_is_named():
    with pytest.raises(UnknownNameError, match="unknown stop list 'french'"):
        stop_words("french")("le")


def test_lower_case_makes_two_characters_of_one():
    assert LOWER_CASE("İZMİR") == "i\u0307zmi\u0307r"


# From the vocabulary that comes with the algorithm: one word or more for each of its steps.
SNOWBALL = {
    "caresses": "caress", "ties": "tie", "cries": "cri", "gas": "gas", "this": "this", "gaps": "gap",
    "feed": "feed", "agreed": "agre", "luxuriated": "luxuri", "hopping": "hop", "hoping": "hope",
    "cry": "cri", "by": "by", "say": "say", "skis": "ski", "dying": "die", "news": "news", "only": "onli",
    "relational": "relat", "conditional": "condit", "digitizer": "digit", "sensibiliti": "sensibl",
    "analogously": "analog", "university": "universiti", "universe": "univers", "generate": "generat",
    "communism": "communism", "community": "communiti", "national": "nation", "hopefulness": "hope",
    "replacement": "replac", "adoption": "adopt", "probate": "probat", "controll": "control", "world's": "world",
    "dogs'": "dog", "3d": "3d", "naïve": "naïv", "1990s": "1990s", "東京": "東京",
}  # fmt: skip


@pytest.mark.parametrize(("word", "stem"), SNOWBALL.items())
def test_snowball_english(word, stem):
    assert snowball("english")(word) == stem


def test_clitics_are_removed():
    words = ["it's", "we'll", "i'd", "o'clock", "isn't", "'s", "s", "'", "''s", "rock'n'roll's"]
    cut = ["it", "we", "i", "o'clock", "isn't", "'s", "s", "'", "'", "rock'n'roll"]
    assert [ENGLISH_CLITICS(word) for word in words] == cut


@needs_simplemma
def test_simplemma_looks_words_up_and_leaves_the_others():
    words = ["mice", "studying", "i", "xyzzy", "3.14"]
    assert [SIMPLE_LEMMA(word) for word in words] == ["mouse", "study", "i", "xyzzy", "3.14"]


@needs_simplemma
def test_another_release_of_simplemma_is_refused(monkeypatch):
    monkeypatch.setattr("simplemma.__version__", "1.1.2")
    steps._lemmatizer.cache_clear()
    with pytest.raises(MissingExtraError, match="another dictionary") as caught:
        SIMPLE_LEMMA("mice")
    steps._lemmatizer.cache_clear()
    assert caught.value.fixes == ("pip install 'simplemma==2.0.0'",)


def test_without_simplemma_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplemma", None)
    steps._lemmatizer.cache_clear()
    with pytest.raises(MissingExtraError) as caught:
        make_analyzer("lemmas-simple").tokens("mice")
    steps._lemmatizer.cache_clear()
    assert caught.value.fixes == ("pip install 'termwise[simplemma]'",)
