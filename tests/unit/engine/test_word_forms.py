"""Spellings of a word that may be meant by a mistyped one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from termwise.engine.similar_terms import edits
from termwise.engine.word_forms import is_form_of, respellings


@given(st.text("abes", min_size=1, max_size=8))
def test_respellings_differ_by_one_edit_inside_the_word(word: str) -> None:
    found = respellings(word)
    assert {edits(word, each) for each in found} <= {1}
    without_ending, without_beginning = word[:-1], word[1:]
    assert word[-2:-1] == word[-1] or without_ending not in found or without_ending in _inside(word)
    assert word[:1] == word[1:2] or without_beginning not in found or without_beginning in _inside(word)


def _inside(word: str) -> set[str]:
    return {word[:place] + word[place + 1 :] for place in range(1, len(word) - 1)}


@given(st.text("abes", min_size=2, max_size=8), st.data())
def test_a_letter_that_is_doubled_or_swapped_is_found_in_both_directions(
    word: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(word) - 1))
    doubled = word[: place + 1] + word[place:]
    assert doubled in respellings(word)
    assert word in respellings(doubled)
    swapped = word[:place] + word[place : place + 2][::-1] + word[place + 2 :]
    assert swapped == word or (swapped in respellings(word) and word in respellings(swapped))


def test_respellings_by_hand() -> None:
    assert "adidas" in respellings("adiddas") & respellings("addidas") & respellings("aiddas")
    assert "vossen" in respellings("vosen") & respellings("voseen") & respellings("vosssen")
    assert "battery" not in respellings("batterys")
    assert is_form_of("batterys", "battery")
