"""Exclusion of documents from rankings."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import Ranking
from termwise.errors import ParameterError
from termwise.records import ExcludedDocuments

RANKING = Ranking(["a", "b", "c"], [3.0, 2.0, 1.0], query_id="b")


def test_lower_documents_move_up():
    kept = ExcludedDocuments.of({"b": {"a", "c"}}).remove_from(RANKING)
    assert kept == Ranking(["b"], [2.0], query_id="b")


def test_the_document_with_the_id_of_the_query_is_excluded():
    assert ExcludedDocuments.of("id").remove_from(RANKING).doc_ids == ("a", "c")


def test_rankings_of_other_queries_are_unchanged():
    assert ExcludedDocuments.of({"q": "a"}).remove_from(RANKING) is RANKING
    assert ExcludedDocuments.of(None).remove_from(RANKING) is RANKING


def test_a_string_is_one_doc_id():
    assert ExcludedDocuments.of({"b": "abc"}).for_query("b") == {"abc"}


@pytest.mark.parametrize("exclusion", ["seed", ["a"], 3])
def test_other_rules_are_refused(exclusion):
    with pytest.raises(ParameterError, match="unknown rule for excluding documents"):
        ExcludedDocuments.of(exclusion)


@pytest.mark.parametrize("given", [3, None, [1], ["a", None]])
def test_identifiers_are_strings(given):
    with pytest.raises(ParameterError, match="excluded documents are identifiers") as caught:
        ExcludedDocuments.of({"q": given})
    assert dict(caught.value.facts)["query"] == "q"


def test_an_array_is_no_rule():
    with pytest.raises(ParameterError, match="unknown rule"):
        ExcludedDocuments.of(np.array([1, 2]))
