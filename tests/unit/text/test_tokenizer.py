from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.text import WhitespaceWords

anything = st.text(st.characters(exclude_categories=()))
tokenizer = WhitespaceWords()


def test_words_are_cut_at_white_space_only():
    assert tokenizer.words(" U.S.A., e-mail\tx\u00a0y\n") == ["U.S.A.,", "e-mail", "x", "y"]
    assert tokenizer.spans(" ab  c ") == [(1, 3), (5, 6)]


def test_every_character_is_white_space_in_both_ways_or_in_none():
    text = "a".join(map(chr, range(0x110000)))
    assert [text[start:end] for start, end in tokenizer.spans(text)] == tokenizer.words(text)


@settings(deadline=None)
@given(anything)
def test_words_are_the_texts_of_their_spans(text):
    assert tokenizer.words(text) == [text[start:end] for start, end in tokenizer.spans(text)]
