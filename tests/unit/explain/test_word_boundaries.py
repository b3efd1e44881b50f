"""Places inside words are shown with the words around them, and nowhere else is anything widened."""

from __future__ import annotations

import pytest

from termwise.explain.passages import Mark
from termwise.explain.word_boundaries import united, whole_matches, whole_words
from termwise.text.words_around import inside_word, word_around


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("the unlinked file", (6, 10), "unlinked"),
        ("snake_case.name", (1, 3), "snake"),
        ("snake_case.name", (6, 10), "case"),
        ("world's", (0, 3), "world"),
        ("nai\u0308vete\u0301", (3, 5), "nai\u0308vete\u0301"),
        ("utf8", (0, 3), "utf8"),
        ("\u6771\u4eac\u90fd", (1, 2), "\u4eac"),
        ("\u0e20\u0e32\u0e29\u0e32", (1, 2), "\u0e32"),
        ("", (0, 0), ""),
    ],
)
def test_the_word_around_a_span(text: str, place: tuple[int, int], word: str) -> None:
    start, end = word_around(text, *place)
    assert text[start:end] == word


def test_marks_in_one_word_meet_and_cover_it() -> None:
    text = "unlinked paths"
    marks = [Mark(2, 6, 1.0, 0), Mark(0, 2, 2.0, 1), Mark(2, 6, 3.0, 2), Mark(9, 14, 1.0, 3)]
    places = {mark.term: text[mark.start : mark.end] for mark in whole_words(text, marks)}
    assert places == {0: "linked", 1: "un", 2: "linked", 3: "paths"}


def test_marks_of_whole_words_stay() -> None:
    marks = [Mark(0, 5, 1.0, 0), Mark(6, 11, 1.0, 1)]
    assert whole_words("merge lists", marks) == marks


def test_many_marks_in_a_long_word_take_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "termwise.text.words_around.inside_word",
        lambda text, place: asked.append(place) or inside_word(text, place),
    )
    marks = [Mark(place, place + 1, 1.0, place) for place in range(1, 150)]
    assert whole_words("a" * 150, marks)[:2] == [Mark(0, 2, 1.0, 1), Mark(2, 3, 1.0, 2)]
    assert len(asked) == 2 * len(marks)


def test_a_word_ends_after_200_characters() -> None:
    assert word_around("a" * 1000, 500, 501) == (300, 701)
    assert word_around("-" + "a" * 198 + "-", 100, 101) == (1, 199)


def test_matches_of_many_words_in_pieces_take_linear_time() -> None:
    # 4,000 words of the query and as many of the text, all with the piece "s"; every second one is a common word
    def words(step: int) -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
        text = " ".join(f"{number * step:05}s" for number in range(4000))
        return text, [(7 * n, 7 * n + 5) for n in range(4000)], [(7 * n + 5, 7 * n + 6) for n in range(4000)]

    query, in_query, endings = words(1)
    text, in_text, text_endings = words(2)
    places = dict(zip((text[start:end] for start, end in in_text), in_text, strict=True))
    terms = [([span], [places[query[slice(*span)]]] if n % 2 == 0 else []) for n, span in enumerate(in_query)]
    found = whole_matches(query, text, [*terms, (endings, text_endings)])
    assert [len(spans) for spans in found[:-1]] == [1, 0] * 2000
    assert found[-1] == frozenset(text_endings[:2000])


def test_a_term_that_is_a_word_here_and_a_piece_there_does_not_match() -> None:
    # "token" is a word of the query and a piece of "tokenizer"; in the second pair it is the reverse
    assert whole_matches("token", "tokenizer", [([(0, 5)], [(0, 5)])]) == [frozenset()]
    assert whole_matches("tokenizer", "token", [([(0, 5)], [(0, 5)])]) == [frozenset()]
    assert whole_matches("token", "a Token", [([(0, 5)], [(2, 7)])]) == [frozenset({(2, 7)})]
    assert whole_matches("", "token", [([], [(0, 5)])]) == [frozenset({(0, 5)})]


def test_two_pieces_of_different_words_do_not_match() -> None:
    sonic, link = ([(5, 10)], [(5, 10)]), ([(13, 17)], [(10, 14)])
    assert whole_matches("supersonic unlink", "hypersoniclink", [sonic, link]) == [frozenset(), frozenset()]


def test_only_overlapping_marks_are_united() -> None:
    chain = [Mark(0, 3, 1.0, 0), Mark(2, 5, 2.0, 1), Mark(4, 6, 1.0, 2), Mark(6, 8, 1.0, 3)]
    assert [(mark.start, mark.end, mark.term) for mark in united(chain)] == [
        (0, 6, 0), (0, 6, 1), (0, 6, 2), (6, 8, 3),
    ]  # fmt: skip
    assert united([]) == []
