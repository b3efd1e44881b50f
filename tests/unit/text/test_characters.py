import hashlib
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text.characters import character_table, classify, lower_case, without_surrogates

not_newer = pytest.mark.skipif(
    tuple(map(int, unicodedata.unidata_version.split("."))) > (17, 0, 0),
    reason="this Python knows more than Unicode 17",
)
anything = st.text(st.characters(exclude_categories=()))


def test_a_character_has_the_kind_and_the_properties_of_the_unicode_database():
    table = character_table()

    def of(char):
        number = table.classes[ord(char)]
        return table.kinds[number], table.properties[number]

    assert of("a") == ("L", {"ALetter"})
    assert of("\u0301") == ("M", {"Extend"})
    assert of("½") == ("N", frozenset())
    assert of("'") == ("-", {"Single_Quote"})
    assert of("漢") == ("L", {"Han"})
    assert of("ก") == ("L", {"Complex_Context"})
    assert of("😀") == ("-", {"Emoji", "Extended_Pictographic"})
    assert of("\ufe0f") == ("M", {"Extend", "Emoji_Selector"})
    assert of(" ") == of("\ud800") == of("\U0010ffff") == ("-", frozenset())


@not_newer
def test_kinds_agree_with_python_for_characters_that_python_knows():
    table = character_table()
    kinds = np.array(table.kinds)[table.classes]
    for code in range(0x110000):
        category = unicodedata.category(chr(code))[0]
        if category in "LMN":
            assert kinds[code] == category, hex(code)


def test_the_table_has_a_fixed_digest():
    table = character_table()
    classes = zip(table.kinds, table.properties, strict=True)
    told = "\n".join(f"{kind} {sorted(properties)}" for kind, properties in classes)
    digest = hashlib.sha256(told.encode() + table.classes.tobytes() + table.lower.astype("<u4").tobytes())
    assert digest.hexdigest() == "69cdedc0e1b46b9ce3c9cee47e7d345f9dd15e30e60225a9e3c1e1f23a4d0e26"


@settings(deadline=None)
@given(anything)
def test_each_class_has_the_position_of_its_character(text):
    table = character_table()
    assert [ord(char) for char in classify(text)] == [table.classes[ord(char)] for char in text]


@not_newer
def test_lower_case_agrees_with_python_for_characters_that_python_knows():
    for code in range(0x110000):
        char = chr(code)
        if char.lower() != char:
            assert lower_case(char) == char.lower(), hex(code)


@settings(deadline=None)
@given(anything)
def test_a_text_is_lower_cased_character_by_character(text):
    assert lower_case(text) == "".join(lower_case(char) for char in text)


def test_lower_case_does_not_look_at_the_context():
    assert "ΟΔΟΣ".lower() == "οδος"
    assert lower_case("ΟΔΟΣ") == "οδοσ"


@settings(deadline=None)
@given(anything)
def test_text_without_surrogates_can_be_encoded_and_keeps_its_length(text):
    clean = without_surrogates(text)
    clean.encode()
    assert len(clean) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, clean, strict=True))
