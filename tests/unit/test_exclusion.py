from __future__ import annotations

import pytest

from termwise import Ranking
from termwise.errors import ParameterError
from termwise.records import Excluded

RANKING = Ranking(["a", "b", "c"], [3.0, 2.0, 1.0], query_id="b")


def test_what_is_left_out_moves_the_rest_up():
    kept = Excluded.of({"b": {"a", "c"}}).kept(RANKING)
    assert kept == Ranking(["b"], [2.0], query_id="b")


def test_the_identifier_of_the_query():
    assert Excluded.of("id").kept(RANKING).doc_ids == ("a", "c")


def test_nothing_is_left_out_of_other_queries():
    assert Excluded.of({"q": "a"}).kept(RANKING) is RANKING
    assert Excluded.of(None).kept(RANKING) is RANKING


def test_one_identifier_is_not_taken_for_its_letters():
    assert Excluded.of({"b": "abc"}).of_query("b") == {"abc"}


def test_another_word_is_refused():
    with pytest.raises(ParameterError, match="unknown rule"):
        Excluded.of("seed")
