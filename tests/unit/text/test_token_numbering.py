"""Texts as numbers."""

import numpy as np

from termwise.text import Numbering, make_analyzer, number_texts


def test_tokens_are_numbered_as_they_are_met():
    numbered = number_texts(make_analyzer("whitespace"), ["b a b", "", "c a"])
    assert numbered.tokens == ("b", "a", "c")
    assert numbered.indptr.tolist() == [0, 3, 3, 5]
    assert numbered.numbers.tolist() == [0, 1, 0, 2, 1]
    assert (numbered.indptr.dtype, numbered.numbers.dtype) == (np.int64, np.int32)


def test_no_texts():
    numbered = number_texts(make_analyzer("whitespace"), [])
    assert (numbered.tokens, numbered.indptr.tolist(), numbered.numbers.tolist()) == ((), [0], [])


def test_a_numbering_continues_after_its_initial_tokens():
    numbering = Numbering((token, number) for number, token in enumerate("xy"))
    assert numbering.of(["y", "a", "y", "b"]).tolist() == [1, 2, 1, 3]
    assert numbering.get("c") is None
    assert len(numbering) == 4
