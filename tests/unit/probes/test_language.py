"""Words, sentences, noun chunks and names: by rules and by spaCy."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import MissingExtraError, ParameterError, UnknownNameError
from termwise.probes.language import CachedLanguage, Language, RuleLanguage, SpacyLanguage, open_language
from termwise.probes.language import spacy_language as spacy_module
from termwise.probes.language.rule_lemmas import rule_lemma

RULES = RuleLanguage()
ODD = [
    "",
    " \n\t ",
    "word",
    "!!! ... ?",
    "caf\u0301e 你好。再见。 😀 नमस्ते",
    "half\ud800 of a character. Next.",
    "x" * 45_000,
    '" ' * 3_000,
    "a.b." * 3_000,
    "-" * 3_000,
    "\x00 \x1c \u2029 \ufeff.",
]


def sentences(parsed):
    return [parsed.of(sentence) for sentence in parsed.sentences]


def words(parsed):
    return [token.text for token in parsed.tokens]


def holds_the_contract(text, parsed):
    """What `Parsed` promises, whichever language it comes from."""
    assert parsed.text == text
    done = 0
    for token in parsed.tokens:
        assert token.start >= done
        assert token.text == text[token.start : token.end] != ""
        assert not any(character.isspace() for character in token.text)
        assert text[done : token.start].strip() == ""
        assert token.lemma
        done = token.end
    assert text[done:].strip() == ""
    for spans, cover in ((parsed.sentences, True), (parsed.chunks, False), (parsed.entities, False)):
        done = 0
        for first, last, *_ in spans:
            assert done <= first < last <= len(parsed.tokens)
            assert not cover or first == done
            done = last
        assert not cover or done == len(parsed.tokens)


@pytest.fixture(scope="module")
def spacy():
    pytest.importorskip("spacy", reason="needs termwise[spacy], which scripts/setup dev installs")
    return SpacyLanguage()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It cost 3.50 euros. He paid.", ["It cost 3.50 euros.", "He paid."]),
        ("Dr. J. R. Hale met Mr. Poe. They left.", ["Dr. J. R. Hale met Mr. Poe.", "They left."]),
        ("Take vitamin C. It helps.", ["Take vitamin C.", "It helps."]),
        ("You and I. Then we.", ["You and I.", "Then we."]),
        (
            "See e.g. Paris. See No. 5 and Fig. 3. No. That is all.",
            ["See e.g. Paris.", "See No. 5 and Fig. 3.", "No.", "That is all."],
        ),
        (
            "Made in the U.S. by Acme Inc. and sold. In the U.S. The end.",
            ["Made in the U.S. by Acme Inc. and sold.", "In the U.S.", "The end."],
        ),
        ('He said: "Stop!" and left. "Go." She went.', ['He said: "Stop!" and left.', '"Go."', "She went."]),
        ("“Yes?” (No!) Well…", ["“Yes?”", "(No!)", "Well…"]),
        ("Wait... what? End.Next one", ["Wait... what?", "End.Next one"]),
        ("A title\n\nA text\nof lines", ["A title", "A text\nof lines"]),
        ("你好。再见。", ["你好。", "再见。"]),
        ("no stop", ["no stop"]),
    ],
)
def test_sentences_by_rules(text, expected):
    assert sentences(RULES.parse(text)) == expected


def test_words_by_rules():
    parsed = RULES.parse("Don’t say the U.S. state-of-the-art (1,234.5%) at 10:30...")
    assert words(parsed) == [
        *("Don’t", "say", "the", "U.S.", "state", "-", "of", "-", "the", "-", "art"),
        *("(", "1,234.5", "%", ")", "at", "10:30", "..."),
    ]


def test_tags_by_rules():
    parsed = RULES.parse("Of three dogs, $5 went into 7:30 + to.")
    assert {token.text: token.tag for token in parsed.tokens} == {
        "Of": "ADP",
        "into": "ADP",
        "three": "NUM",
        "5": "NUM",
        "7:30": "NUM",
        ",": "PUNCT",
        ".": "PUNCT",
        "$": "SYM",
        "+": "SYM",
        "dogs": "",
        "went": "",
        "to": "",
    }


def test_noun_chunks_by_rules_are_runs_of_six_characters_without_function_words():
    parsed = RULES.parse("The old house of Mr. Hale was big. Cats, green tea and the café au lait")
    assert [parsed.of(chunk) for chunk in parsed.chunks] == [
        "old house",
        "Mr. Hale",
        "green tea",
        "café au lait",
    ]
    assert [RULES.parse(text).chunks for text in ("abcde", "abcdef")] == [(), ((0, 1),)]
    assert parsed.entities == ()


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        *(("cities", "city"), ("boxes", "box"), ("houses", "house"), ("glass", "glass"), ("virus", "virus")),
        *(("running", "run"), ("making", "make"), ("hoping", "hope"), ("hopping", "hop"), ("tried", "try")),
        *(("walked", "walk"), ("changed", "change"), ("including", "include"), ("required", "require")),
        *(("thing", "thing"), ("king", "king"), ("red", "red"), ("falling", "fall"), ("visiting", "visit")),
        *(("Were", "be"), ("children", "child"), ("bed", "bed"), ("3.50", "3.50"), ("naïves", "naïves")),
    ],
)
def test_lemmas_by_rules(word, lemma):
    assert rule_lemma(word) == lemma


def test_a_capital_inside_a_sentence_makes_a_name():
    parsed = RULES.parse('"Cities grow," said Mr. Banks.')
    assert [token.lemma for token in parsed.tokens if token.tag == ""] == [
        "city",
        "grow",
        "say",
        "Mr.",
        "Banks",
    ]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts(text, spacy):
    for language in (RULES, spacy):
        holds_the_contract(text, language.parse(text))


@given(st.text(st.sampled_from("abI .,!?'’\"()-\n5é\u0301。А…"), max_size=60))
def test_any_text_by_rules(text):
    parsed = RULES.parse(text)
    holds_the_contract(text, parsed)
    assert parsed == RULES.parse(text)


@settings(max_examples=40)
@given(st.text(max_size=40))
def test_any_text_by_spacy(text):
    pytest.importorskip("spacy")
    holds_the_contract(text, SpacyLanguage().parse(text))


def test_spacy_by_hand(spacy):
    parsed = spacy.parse("Barack Obama didn’t visit  the old mice of Paris. He was running.")
    assert sentences(parsed) == ["Barack Obama didn’t visit  the old mice of Paris.", "He was running."]
    assert [parsed.of(chunk) for chunk in parsed.chunks] == ["Barack Obama", "the old mice", "Paris", "He"]
    assert [(parsed.of(one), one.label) for one in parsed.entities] == [
        ("Barack Obama", "PERSON"),
        ("Paris", "GPE"),
    ]
    found = {token.text: (token.lemma, token.tag) for token in parsed.tokens}
    assert found["n’t"] == ("not", "PART")
    assert found["mice"] == ("mouse", "NOUN")
    assert found["of"] == ("of", "ADP")
    assert found["running"] == ("run", "VERB")


def test_a_long_text_is_read_in_parts(spacy):
    sentence = "The old dogs of Paris sleep in the sun. "
    parsed = spacy.parse(sentence * 1_100)
    assert len(parsed.text) > 2 * 20_000
    assert len(parsed.tokens) == 1_100 * 10
    holds_the_contract(parsed.text, parsed)
    assert {parsed.tokens[first].text for first, _ in parsed.sentences[-5:]} == {"The"}


def test_names_say_versions(spacy):
    assert spacy.name.startswith("spacy 3.8.")
    assert spacy.name.endswith(", en_core_web_sm 3.8.0")
    assert RULES.name == "rules 1"
    assert all(isinstance(language, Language) for language in (RULES, spacy, open_language("rules")))


def test_spacy_where_it_is_installed(spacy):
    assert open_language().name == open_language("spacy").name == spacy.name


def test_rules_where_it_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    spacy_module._pipeline.cache_clear()
    try:
        assert open_language().name == "rules 1"
        with pytest.raises(MissingExtraError, match=r"reading texts with spaCy needs the package spacy"):
            open_language("spacy")
    finally:
        spacy_module._pipeline.cache_clear()


def test_an_unknown_language():
    with pytest.raises(UnknownNameError, match="rules"):
        open_language("rule")


class Counting:
    """Rules that count what they are asked."""

    name = "counting"

    def __init__(self):
        self.asked = []

    def parse(self, text):
        self.asked.append(text)
        return RULES.parse(text)


def test_the_memory_keeps_what_was_asked_for_last():
    inner = Counting()
    language = CachedLanguage(inner, tokens=6)  # two texts of two words, as a text counts one more
    for text in ("a b", "c d", "a b", "e f", "a b", "c d"):
        assert language.parse(text) == RULES.parse(text)
    assert inner.asked == ["a b", "c d", "e f", "c d"]
    assert language.name == "counting"


def test_a_text_larger_than_the_memory_is_read_all_the_same():
    inner = Counting()
    language = CachedLanguage(inner, tokens=2)
    assert [len(language.parse("a b c").tokens) for _ in range(2)] == [3, 3]
    assert inner.asked == ["a b c"] * 2


def test_the_memory_has_a_size():
    with pytest.raises(ParameterError, match="tokens"):
        CachedLanguage(RULES, tokens=0)


def test_threads_share_a_language(spacy):
    language = CachedLanguage(spacy, tokens=50)
    texts = [f"The {number} dogs of Paris." for number in range(20)]
    alone = [spacy.parse(text) for text in texts]
    found = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda kept=kept: kept.extend(map(language.parse, texts))) for kept in found
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(kept == alone for kept in found)
