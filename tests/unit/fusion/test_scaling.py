"""Scalings that look beyond one query, and those that need its text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.fusion.judged_runs import run_of

from termwise import BuildOptions, Document, Query, Run, build_index
from termwise.errors import ParameterError, UnknownIdError, UnknownNameError, WeightError
from termwise.fusion import QueryScales, fuse, interpolate

ONE = run_of("one", {"p": {"a": 4.0, "b": 2.0}, "q": {"a": 9.0, "b": 1.0}})


def scores(run, query_id):
    ranking = run[query_id]
    return dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


def test_global_takes_all_queries_of_the_run():
    every = np.array([4.0, 2.0, 9.0, 1.0])
    fused = fuse([ONE], [1.0], scaling="global", missing="drop")
    assert scores(fused, "p") == pytest.approx({"a": 0.0, "b": (2 - 4) / every.std()})
    assert scores(fused, "q") == pytest.approx({"a": 5 / every.std(), "b": -3 / every.std()})


def test_global_looks_at_documents_and_queries_that_are_not_fused():
    more = run_of("more", {"q": {"a": 9.0, "b": 1.0, "z": 5.0}, "r": {"a": 100.0}})
    every = np.array([9.0, 1.0, 5.0, 100.0])
    fused = fuse([ONE, more], [0.0, 1.0], scaling="global", missing="drop")
    assert scores(fused, "q") == pytest.approx(
        {"a": (9 - every.mean()) / every.std(), "b": (1 - every.mean()) / every.std()}
    )


def test_global_of_constants_is_zero():
    flat = run_of("flat", {"p": {"a": 1 / 3, "b": 1 / 3}, "q": {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}})
    assert set(scores(fuse([flat], [1.0], scaling="global", missing="drop"), "q").values()) == {0.0}


def test_each_run_has_its_own_scaling():
    other = run_of("other", {"p": {"b": -1.0, "a": -3.0}, "q": {"b": -1.0, "a": -3.0}})
    fused = fuse([ONE, other], [1.0, 2.0], scaling=["raw", "minmax"], missing="drop")
    assert scores(fused, "p") == {"a": 4.0, "b": 4.0}
    assert scores(fused, "q") == {"a": 9.0, "b": 3.0}


def test_divisors_of_queries():
    scales = QueryScales(idf={"p": 2.0, "q": 4.0}, words={"p": 1.0, "q": 2.0})
    by_idf = fuse([ONE], [1.0], scaling="idf", missing="drop", queries=scales)
    assert scores(by_idf, "p") == {"a": 2.0, "b": 1.0}
    assert scores(by_idf, "q") == {"a": 2.25, "b": 0.25}
    both = fuse([ONE, ONE], [1.0, 1.0], scaling=["idf", "query-length"], missing="drop", queries=scales)
    assert scores(both, "q") == {"a": 6.75, "b": 0.75}
    other = QueryScales(idf={"p": 1.0, "q": 1.0}, words={})
    each = fuse([ONE, ONE], [1.0, 1.0], scaling="idf", missing="drop", queries=[scales, other])
    assert scores(each, "q") == {"a": 11.25, "b": 1.25}


@pytest.mark.parametrize("scaling", ["idf", "query-length"])
def test_missing_divisors_are_refused(scaling):
    with pytest.raises(ParameterError, match="needs the texts of the queries"):
        interpolate(ONE, ONE, alpha=0.5, scaling=scaling, missing="drop")
    some = QueryScales(idf={"p": 1.0}, words={"p": 1.0})
    with pytest.raises(UnknownIdError, match="text of a query") as caught:
        fuse([ONE], [1.0], scaling=scaling, missing="drop", queries=some)
    assert ("query", "q") in caught.value.facts
    nothing = QueryScales(idf={"p": 0.0, "q": 0.0}, words={"p": 0.0, "q": 0.0})
    with pytest.raises(WeightError, match="without a term"):
        fuse([ONE], [1.0], scaling=scaling, missing="drop", queries=nothing)
    flat = run_of("flat", {"p": {"a": 0.0, "b": 0.0}})
    assert scores(fuse([flat], [1.0], scaling=scaling, missing="drop", queries=nothing), "p") == {
        "a": 0.0,
        "b": 0.0,
    }


def test_wrong_scalings():
    with pytest.raises(UnknownNameError, match="normalisation 'zscore'"):
        fuse([ONE], [1.0], scaling="zscore", missing="drop")
    with pytest.raises(ParameterError, match="one for all runs"):
        fuse([ONE], [1.0], scaling=["z", "z"], missing="drop")
    with pytest.raises(ParameterError, match="`queries` is one for all runs"):
        fuse([ONE], [1.0], missing="drop", queries=[None, None])


@pytest.mark.parametrize("quantiser", ["uint8", "float32"])
def test_query_scales_of_an_index(tmp_path, quantiser):
    documents = [Document("a", "merge sorted lists"), Document("b", "sort a list"), Document("c", "cards")]
    index = build_index(documents, tmp_path / "i.tw", options=BuildOptions(quantiser=quantiser)).index
    queries = [Query("p", "merging lists and lists"), Query("q", "xylophone"), Query("r", "")]
    scales = QueryScales.of(index, queries)
    # N = 3; merg is in one document, list in two; "and" is no word of the index.
    expected = math.log(1 + 2.5 / 1.5) + math.log(1 + 1.5 / 2.5)
    assert scales.idf == {"p": pytest.approx(expected), "q": 0.0, "r": 0.0}
    tokens = index_tokens(index, queries)
    assert scales.words == tokens
    assert tokens["p"] >= 3


def index_tokens(index, queries):
    from termwise.engine.query_encoder import analyzer_of

    return {query.query_id: float(len(analyzer_of(index).tokens(query.text))) for query in queries}


# --- weights ------------------------------------------------------------------------------------------------------


def test_three_runs_by_hand():
    runs = [run_of(n, {"q": {"a": s, "b": 1.0}}) for n, s in (("x", 2.0), ("y", 5.0), ("z", 3.0))]
    fused = fuse(runs, [1, 2, -1], scaling="raw", missing="drop", name="three")
    assert scores(fused, "q") == {"a": 9.0, "b": 2.0}
    assert fused.name == "three"


def test_runs_of_weight_zero_break_no_ties():
    first = run_of("x", {"q": {"a": 2.0, "b": 1.0, "c": 0.0}})
    second, third = (run_of(n, {"q": dict.fromkeys(order, 1.0)}) for n, order in (("y", "cba"), ("z", "bca")))
    assert fuse([first, second, third], [0, 1, 1], missing="drop")["q"].doc_ids == ("c", "b", "a")
    assert fuse([first, second, third], [0, 0, 1], missing="drop")["q"].doc_ids == ("b", "c", "a")
    assert fuse([first, second, third], [0, 1, 0], missing="drop")["q"].doc_ids == ("c", "b", "a")


@pytest.mark.parametrize(
    "weights", [[1.0], [0.0, 0.0], [1.0, math.nan], [1.0, math.inf], [True, 1.0], ["1", 1]]
)
def test_wrong_weights(weights):
    with pytest.raises(ParameterError, match="weight"):
        fuse([ONE, ONE], weights, missing="drop")


def test_sums_that_are_too_large():
    with pytest.raises(WeightError, match="too large"):
        fuse([ONE, ONE], [1e308, 1e308], scaling="raw", missing="drop")


def test_no_run_and_no_query():
    with pytest.raises(ParameterError, match="no run"):
        fuse([], [], missing="drop")
    assert len(fuse([Run([]), ONE], [1, 1], missing="drop")) == 0
    assert list(fuse([Run([]), ONE], [1, 1], missing="zero", documents="union").rankings) == ["p", "q"]
