"""Cutting of texts into chunks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.text.chunks import chunk_spans

TEXTS = st.text(st.sampled_from("ab .!\n。漢字"), max_size=80)


@given(TEXTS, st.integers(1, 5))
def test_chunks_cover_the_text_and_are_not_too_long(text, words):
    spans = chunk_spans(text, words)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    for start, end in spans:
        assert len(re.findall(r"[漢字]|\w+", text[start:end])) <= words
        assert start < end or not text


@pytest.mark.parametrize(
    ("text", "words", "chunks"),
    [
        ("", 3, [""]),
        ("Mr. X came. He left.", 3, ["Mr. X came. ", "He left."]),
        ('"Go!" he said. No.', 3, ['"Go!" he said. ', "No."]),
        ("one two three four five six seven", 3, ["one two three ", "four five six ", "seven"]),
        ("one two three four. five six", 3, ["one two three ", "four. five six"]),
        ("A title\n\nA text of words", 4, ["A title\n\n", "A text of words"]),
        ("3.5 of 4.", 9, ["3.5 of 4."]),
        ("漢字。漢字漢。", 3, ["漢字。", "漢字漢。"]),
        ("ab漢字。漢字", 3, ["ab漢字。", "漢字"]),
        ("ภาษาไทย", 4, ["ภาษา", "ไทย"]),
        ('wait..." Now?! Go.', 1, ['wait..." ', "Now?! ", "Go."]),
        ("." * 200_000, 1, ["." * 200_000]),
    ],
)
def test_chunks_by_hand(text, words, chunks):
    assert [text[start:end] for start, end in chunk_spans(text, words)] == chunks
