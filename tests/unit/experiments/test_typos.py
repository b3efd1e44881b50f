"""Mistyped queries, with toy data."""

from __future__ import annotations

import random

import pytest


def test_mistyped_queries(experiment, tmp_path):
    import typos

    plan = 'name = "typos"\ntitle = "Typos"\nmeasure = "nDCG@10"\ndepth = 10\nseed = 0\nwords = 50\n'
    result = experiment(typos.main, f'{plan}[collections]\ncats = "dev"\n')
    found = result["collections"]["cats"]
    assert set(found["quality"]["mistyped"]) == {
        "not fuzzy",
        "bm25 only",
        "kept",
        "most frequent",
        "replaced",
    }
    assert found["quality"]["corrected"] > 0
    assert found["lengths"]["3"]["by chance, 1"]["words"] > 0
    assert "| letters |" in (tmp_path / "out" / "typos.md").read_text()


def test_two_letters_of_the_longest_word_are_exchanged():
    import typos

    chance = random.Random(1)
    assert {typos.mistyped("a list, sees", chance) for _ in range(50)} == {
        "a ilst, sees",
        "a lsit, sees",
        "a lits, sees",
    }
    assert typos.mistyped("12 aaa", chance) == "12 aaa"


@pytest.mark.parametrize(("word", "expected"), [("cta", ["cat"]), ("hepas", ["heaps"]), ("zebra", [])])
def test_nearest_words(word, expected):
    import numpy as np
    import typos

    words = ["cat", "heap", "heaps", "zoo"]
    found = [words[place] for place in typos.nearest(word, words, np.array([1, 2, 3, 9]))]
    assert found == expected
