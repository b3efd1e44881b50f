import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text import UnicodeWords
from termwise.text.characters import INVISIBLE, character_table, classify
from termwise.text.tokenizer import unicode_word

tokenizer = UnicodeWords()
ascii_text = st.text(st.sampled_from("aZ09'_-. \n\x00") | st.characters(max_codepoint=127))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("'_- .", []),
        ("merge two lists", ["merge", "two", "lists"]),
        ("a I 7", ["a", "I", "7"]),
        ("snake_case x_1", ["snake", "case", "x", "1"]),
        ("world's world’s", ["world's", "world’s"]),
        ("'tis rock'n'roll dogs' o''clock", ["tis", "rock'n'roll", "dogs", "o", "clock"]),
        ("5'10 90's a'1 R2'D2", ["5", "10", "90", "s", "a", "1", "R2", "D2"]),
        ("b2b'c 2b'c", ["b2b'c", "2b'c"]),
        ("3.14 1,000", ["3", "14", "1", "000"]),
        ("km² H₂O Ⅷ ½", ["km²", "H₂O", "Ⅷ", "½"]),
        ("Schlaf\u00adsack \u00adab\u200d's", ["Schlaf\u00adsack", "ab\u200d's"]),
        ("cafe\u0301 cafe\u0301's", ["cafe\u0301", "cafe\u0301's"]),
        ("हिन्दी नमस्ते", ["हिन्दी", "नमस्ते"]),
        ("\u0301 ❤\ufe0f a", ["a"]),
        ("東京の人 한국어", ["東京の人", "한국어"]),
        ("שלום, مرحبا", ["שלום", "مرحبا"]),
        ("𐐀𐐁'𐐂 𝟙", ["𐐀𐐁'𐐂", "𝟙"]),
        ("a\ud800b a\x00b", ["a", "b", "a", "b"]),
    ],
)
def test_words(text, words):
    assert tokenizer.words(text) == words
    assert [text[start:end] for start, end in tokenizer.spans(text)] == words


def by_hand(text):
    """Walk the rule character by character."""
    text = re.sub(f"[{INVISIBLE}]", "\u0301", text.replace("’", "'"))
    table = character_table()
    kinds = [table.kinds[table.classes[ord(char)]] for char in text] + ["-", "-"]
    words, start = [], None
    for position in range(len(text) + 1):
        kind, before = kinds[position], kinds[position - 1] if position else "-"
        apostrophe = position < len(text) and text[position] == "'"
        if start is None:
            start = position if kind in "LN" else None
        elif kind not in "LMN" and not (apostrophe and before in "LM" and kinds[position + 1] == "L"):
            words.append((start, position))
            start = None
    return words


@settings(deadline=None)
@given(st.text(st.sampled_from("aé1²'’_ \u0301\u00ad\u200d-"), max_size=12) | st.text())
def test_the_rule_by_hand(text):
    assert tokenizer.spans(text) == by_hand(text)


@settings(deadline=None)
@given(ascii_text)
def test_the_short_cut_for_ascii_is_the_rule(text):
    assert tokenizer.spans(text) == [word.span() for word in unicode_word().finditer(classify(text))]
    assert tokenizer.words(text) == [text[start:end] for start, end in tokenizer.spans(text)]
