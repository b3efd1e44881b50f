"""Weights of a fusion as weights of indexes: which scalings an index can hold."""

from __future__ import annotations

import pytest
from tests.unit.fusion.judged_runs import run_of

from termwise import Document, Qrel, build_index
from termwise.errors import ParameterError
from termwise.fusion import Fusion, fuse, index_weights, learn
from termwise.models import BM25

DOCUMENTS = [
    Document("a", "merge sorted lists"),
    Document("b", "shuffle cards"),
    Document("c", "merge cards"),
]
RUNS = ("one", "other")


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    return [
        build_index(DOCUMENTS, folder / f"{name}.tw", model=model).index
        for name, model in (("one", BM25(k1=1.2)), ("other", "jm"))
    ]


def fusion(scaling, weights=(0.25, 0.75), **options):
    return Fusion(RUNS, weights, missing="zero", scaling=scaling, **options)


def test_raw_weights_are_those_of_the_file(indexes):
    assert index_weights(fusion("raw"), indexes) == (0.25, 0.75)


def test_the_length_of_a_query_divides_all_parts_or_none(indexes):
    assert index_weights(fusion("query-length"), indexes) == (0.25, 0.75)
    with pytest.raises(ParameterError, match="must be the same for all indexes"):
        index_weights(fusion(["query-length", "raw"]), indexes)


@pytest.mark.parametrize("scaling", ["z", "minmax", "idf"])
def test_what_depends_on_the_query_is_refused(indexes, scaling):
    with pytest.raises(ParameterError, match="cannot hold this normalisation") as caught:
        index_weights(fusion(["raw", scaling]), indexes)
    assert dict(caught.value.facts)["run"] == "other"
    assert any("scaling='raw'" in fix for fix in caught.value.fixes_worded())


def test_a_run_that_does_not_count_may_have_any_scaling(indexes):
    assert index_weights(fusion(["raw", "z"], (1.0, 0.0)), indexes) == (1.0, 0.0)


def test_global_divides_by_the_deviation_of_the_runs_learned_on(indexes):
    one = run_of("one", {"q1": {"a": 3.0, "b": 1.0}, "q2": {"a": 5.0, "c": 3.0}})
    other = run_of("other", {"q1": {"a": -1.0, "b": -9.0}, "q2": {"a": -3.0, "c": -1.0}})
    learned = learn(
        [one, other], [Qrel("q1", "a", 1)], method="sweep", measure="RR", missing="drop", scaling="global"
    )
    weights = index_weights(learned, indexes)
    # Over the runs themselves these weights differ from the fusion by a constant.
    expected, folded = learned.apply([one, other]), fuse([one, other], weights, missing="drop", scaling="raw")
    gaps = {
        round(e - f, 9) for q in expected for e, f in zip(q.scores, folded[q.query_id].scores, strict=True)
    }
    assert len(gaps) == 1
    assert [q.doc_ids for q in expected] == [q.doc_ids for q in folded]


def test_a_run_of_equal_scores_is_0_under_global(indexes):
    learned = learn(
        [run_of("one", {"q": {"a": 2.0, "b": 1.0}}), run_of("other", {"q": {"a": 1.0, "b": 1.0}})],
        [Qrel("q", "a", 1)],
        method="grid",
        measure="RR",
        missing="drop",
        scaling=["raw", "global"],
    )
    assert index_weights(learned, indexes)[1] == 0.0


def test_global_with_weights_that_were_given(indexes):
    with pytest.raises(ParameterError, match="deviations are not known"):
        index_weights(fusion("global"), indexes)


def test_other_names_are_allowed_but_no_other_order(indexes):
    assert index_weights(named("x", "y"), indexes) == (0.25, 0.75)
    with pytest.raises(ParameterError, match="in the same order"):
        index_weights(named("other", "one"), indexes)
    with pytest.raises(ParameterError, match="in the same order"):
        index_weights(fusion("raw"), indexes[:1])


def named(*names):
    return Fusion(names, (0.25, 0.75), missing="zero", scaling="raw")


def test_the_settings_that_a_weight_was_tuned_with(indexes):
    assert index_weights(fusion("raw", settings=[{"k1": 1.2}, {}]), indexes) == (0.25, 0.75)
    with pytest.raises(ParameterError, match="settings that its weight was tuned with") as caught:
        index_weights(fusion("raw", settings=[{"k1": 0.9}, {}]), indexes)
    assert ("k1", "1.2, tuned 0.9") in caught.value.facts
    with pytest.raises(ParameterError, match="tuned with"):
        index_weights(fusion("raw", settings=[{}, {"self_translation": 0.9}]), indexes)
