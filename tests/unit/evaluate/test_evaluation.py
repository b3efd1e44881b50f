import ast
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import DataError, DuplicateIdError, ParameterError
from termwise.evaluate import Evaluator, evaluate
from termwise.records import Qrel, Ranking, Run


def run_of(orders, name="run", scores=None):
    return Run(
        [
            Ranking(list(docs), scores or list(range(len(docs), 0, -1)), query_id=query_id)
            for query_id, docs in orders.items()
        ],
        name,
    )


def test_ndcg_by_hand():
    # Gains 0, 2, 1 at ranks 1 to 3; ideal order 2, 1.
    qrels = [Qrel("q", "a", 0), Qrel("q", "b", 2), Qrel("q", "c", 1)]
    dcg = 2 / math.log2(3) + 1 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    result = evaluate(run_of({"q": "abc"}), qrels, ["nDCG@3", "nDCG@2"])
    assert result.means["nDCG@3"] == pytest.approx(dcg / ideal, abs=1e-12)
    assert result.means["nDCG@2"] == pytest.approx(2 / math.log2(3) / ideal, abs=1e-12)


def test_the_other_measures_by_hand():
    # Relevant at ranks 2 and 4, one more not found.
    qrels = [Qrel("q", d, 1) for d in "bdz"] + [Qrel("q", "a", 0)]
    means = evaluate(
        run_of({"q": "abcd"}),
        qrels,
        ["AP", "AP@2", "RR@10", "RR@1", "P@2", "P@5", "R@3", "Success@1", "Judged@4", "NumRet", "NumRel"],
    ).means
    assert means == pytest.approx(
        {
            "AP": (1 / 2 + 2 / 4) / 3,
            "AP@2": (1 / 2) / 3,
            "RR@10": 1 / 2,
            "RR@1": 0,
            "P@2": 1 / 2,
            "P@5": 2 / 5,
            "R@3": 1 / 3,
            "Success@1": 0,
            "Judged@4": 3 / 4,
            "NumRet": 4,
            "NumRel": 3,
        }
    )


@pytest.mark.parametrize("order", ["abc", "bca", "cab", "cba", "bac", "acb"])
def test_equal_scores_are_measured_in_the_order_of_the_ranking(order):
    # trec_eval would rank c, b, a whatever the order, the Python evaluators a, b, c.
    run = run_of({"q": order}, scores=[1.0, 1.0, 1.0])
    qrels = [Qrel("q", "b", 1), Qrel("q", "other", 0)]
    means = evaluate(run, qrels, ["RR", "RR@3", "AP", "nDCG", "P@1", "Judged@1"]).means
    rank = order.index("b") + 1
    assert means["RR"] == means["RR@3"] == means["AP"] == pytest.approx(1 / rank)
    assert means["nDCG"] == pytest.approx(1 / math.log2(rank + 1))
    assert means["P@1"] == means["Judged@1"] == (rank == 1)


def test_equal_scores_can_be_measured_in_the_order_of_trec_eval():
    qrels = [Qrel("q", "b", 1)]
    for order in ("abc", "bca", "cba"):
        result = evaluate(run_of({"q": order}, scores=[1.0, 1.0, 1.0]), qrels, ["RR"], ties="trec_eval")
        assert result.means["RR"] == 0.5  # c, b, a
        assert result.ties == json.loads(next(result.to_json_lines()))["ties"] == "trec_eval"
    nearly = run_of({"q": "abc"}, scores=[1.0 + 1e-12, 1.0, -1e300])  # a and b are equal as float32
    assert evaluate(nearly, qrels, ["RR"], ties="trec_eval").means["RR"] == 1.0
    assert evaluate(nearly, qrels, ["RR"]).means["RR"] == 0.5


@given(st.lists(st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 2.0, 1e39, 1e300]), min_size=1, max_size=8))
def test_the_order_of_trec_eval_is_that_of_pytrec_eval(scores):
    import pytrec_eval

    scores = sorted(scores, reverse=True)
    docs = [f"d{(7 * place) % 10}" for place in range(len(scores))]
    qrels = [Qrel("q", "d0", 1), Qrel("q", "d8", 2)]
    judged = pytrec_eval.RelevanceEvaluator({"q": {"d0": 1, "d8": 2}}, {"ndcg", "recip_rank"})
    expected = judged.evaluate({"q": dict(zip(docs, scores, strict=True))})["q"]
    result = evaluate(Run([Ranking(docs, scores, query_id="q")]), qrels, ["nDCG", "RR"], ties="trec_eval")
    assert result.means == pytest.approx({"nDCG": expected["ndcg"], "RR": expected["recip_rank"]}, abs=1e-12)


def test_an_evaluation_is_short_when_printed():
    qrels = [Qrel(f"q{number}", "a", 1) for number in range(1000)]
    assert repr(evaluate(run_of({"q0": "a"}), qrels, ["RR"])) == (
        "Evaluation(run='run', queries=1000, means={'RR': 0.001})"
    )


def test_differences_below_float32_keep_the_order():
    run = run_of({"q": "ab"}, scores=[1.0 + 1e-12, 1.0])
    assert evaluate(run, [Qrel("q", "a", 1)], ["RR"]).means["RR"] == 1.0


def test_infinite_and_negative_scores_are_ranked_like_others():
    run = run_of({"q": "abc"}, scores=[math.inf, -1.0, -math.inf])
    assert evaluate(run, [Qrel("q", "c", 1)], ["RR"]).means["RR"] == pytest.approx(1 / 3)


def test_missing_queries_count_zero_or_are_skipped():
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "a", 1), Qrel("q3", "a", 1)]
    run = run_of({"q3": "a", "q1": "ba"})
    zero = evaluate(run, qrels, ["RR"])
    assert zero.query_ids == ("q1", "q2", "q3")
    assert zero.values["RR"].tolist() == [0.5, 0.0, 1.0]
    assert zero.means["RR"] == 0.5
    skip = evaluate(run, qrels, ["RR"], missing="skip")
    assert skip.query_ids == ("q1", "q3")
    assert skip.means["RR"] == 0.75
    assert skip.missing == "skip"
    assert zero.counts.missing == skip.counts.missing == 1


def test_a_query_with_an_empty_ranking_is_not_missing():
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "a", 1)]
    run = run_of({"q1": "a", "q2": ""})
    result = evaluate(run, qrels, ["RR@10", "nDCG@10", "Judged@10", "NumRet"], missing="skip")
    assert result.counts.missing == 0
    assert result.means == {"RR@10": 0.5, "nDCG@10": 0.5, "Judged@10": 0.5, "NumRet": 1.0}


def test_queries_without_judgments_are_ignored_and_counted():
    result = evaluate(run_of({"q": "a", "x": "a", "y": "a"}), [Qrel("q", "a", 1)], ["RR"])
    assert result.query_ids == ("q",)
    assert result.counts.unjudged == 2


def test_queries_without_relevant_documents_stay_with_zero():
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "a", 0), Qrel("q3", "a", -1)]
    run = run_of({"q1": "a", "q2": "a", "q3": "a"})
    result = evaluate(run, qrels, ["nDCG@10", "AP", "RR", "R@5", "Bpref"])
    assert result.counts.without_relevant == 2
    for values in result.values.values():
        assert values.tolist() == [1.0, 0.0, 0.0]


CRASHING = """
from termwise.evaluate import evaluate
from termwise.records import Qrel, Ranking, Run

run = Run([Ranking(["a", "b"], [2.0, 1.0], query_id="q1"), Ranking(["b"], [1.0], query_id="q2")])
qrels = [Qrel("q1", "a", -1), Qrel("q2", "b", 1)]
result = evaluate(run, qrels, ["AP", "Bpref", "infAP", "NumQ", "NumRet", "NumRel", "Judged@1", "nDCG(gains={0:1})"])
print({name: values.tolist() for name, values in result.values.items()})
"""


def test_a_query_without_a_positive_grade_does_not_crash_the_evaluator():
    # pytrec_eval 0.5.11 ends the process.
    done = subprocess.run([sys.executable, "-c", CRASHING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert ast.literal_eval(done.stdout) == {
        "AP": [0.0, 1.0],
        "Bpref": [0.0, 1.0],
        "infAP": [0.0, 1.0],
        "NumQ": [1.0, 1.0],
        "NumRet": [2.0, 1.0],
        "NumRel": [0.0, 1.0],
        "Judged@1": [1.0, 1.0],
        "nDCG(gains={0:1})": [0.0, 1.0],
    }


def test_only_queries_without_a_positive_grade():
    qrels = [Qrel("q1", "a", 0), Qrel("q2", "b", -1)]
    result = evaluate(run_of({"q1": "ab", "q2": ""}), qrels, ["nDCG@10", "NumRet", "NumQ", "Judged@2"])
    assert {name: values.tolist() for name, values in result.values.items()} == {
        "nDCG@10": [0.0, 0.0],
        "NumRet": [2.0, 0.0],
        "NumQ": [1.0, 0.0],
        "Judged@2": [0.5, 0.0],
    }


def test_a_grade_below_rel_is_not_relevant():
    qrels = [Qrel("q", "a", 1), Qrel("q", "b", 2)]
    assert evaluate(run_of({"q": "ab"}), qrels, ["RR(rel=2)@10", "RR@10"]).means == {
        "RR(rel=2)@10": 0.5,
        "RR@10": 1.0,
    }


def test_negative_grades_gain_nothing():
    some = [Qrel("q", "a", -2), Qrel("q", "b", 1)]
    none = [Qrel("q", "a", 0), Qrel("q", "b", 1)]
    names = ["nDCG@10", "AP", "RR", "P@2", "Judged@2"]
    run = run_of({"q": "ab"})
    assert evaluate(run, some, names).means == evaluate(run, none, names).means


def test_seeds_are_dropped_from_run_and_judgments_before_the_cutoff():
    qrels = [Qrel("q", "seed", 3), Qrel("q", "b", 1), Qrel("q", "c", 1)]
    run = run_of({"q": ["seed", "b", "c"]})
    names = ["P@2", "R@2", "nDCG@2", "NumRel", "NumRet"]
    with_seed = evaluate(run, qrels, names)
    assert with_seed.means["R@2"] == pytest.approx(2 / 3)
    expected = evaluate(run_of({"q": "bc"}), qrels[1:], names).means
    for seeds in ({"q": "seed"}, {"q": {"seed", "x"}, "other": {"b"}}):
        result = evaluate(run, qrels, names, exclude=seeds)
        assert result.means == expected
        assert expected["R@2"] == 1.0
        assert result.exclusion == "listed"
        assert (result.counts.excluded_documents, result.counts.excluded_judgments) == (1, 1)


def test_one_excluded_id_is_not_read_as_a_sequence_of_characters():
    qrels = [Qrel("q", d, 1) for d in ("ab", "a", "b")]
    result = evaluate(run_of({"q": ["ab", "a", "b"]}), qrels, ["NumRet"], exclude={"q": "ab"})
    assert result.means["NumRet"] == 2


def test_equal_ids_are_dropped_only_with_exclude_id():
    qrels = [Qrel("1", "1", 1), Qrel("1", "2", 1)]
    run = run_of({"1": ["1", "2"]})
    assert evaluate(run, qrels, ["NumRet"]).means["NumRet"] == 2
    result = evaluate(run, qrels, ["NumRet", "RR"], exclude="id")
    assert result.means == {"NumRet": 1, "RR": 1}
    assert result.exclusion == "id"


def test_a_query_whose_only_judgment_is_excluded_is_not_judged():
    qrels = [Qrel("q1", "s", 1), Qrel("q2", "a", 1)]
    result = evaluate(run_of({"q1": "s", "q2": "a"}), qrels, ["RR"], exclude={"q1": "s"})
    assert result.query_ids == ("q2",)
    assert result.counts.unjudged == 1


def test_a_ranking_of_the_seed_alone_counts_zero():
    qrels = [Qrel("q", "a", 1)]
    result = evaluate(run_of({"q": "s"}), qrels, ["RR", "Judged@1"], exclude={"q": "s"}, missing="skip")
    assert result.means == {"RR": 0.0, "Judged@1": 0.0}


def test_ids_of_any_kind_reach_every_evaluator():
    ids = ["with space", "日本語", "tab\there", "Q0", "'"]
    qrels = [Qrel(i, i, 1) for i in ids]
    run = Run([Ranking([i, "x"], [2, 1], query_id=i) for i in ids])
    names = ["nDCG@10", "RR@10", "Judged@1", "Compat"]
    for values in evaluate(run, qrels, names).values.values():
        assert values == pytest.approx(np.ones(5))


def test_many_queries_pass_in_batches():
    count = 2501
    qrels = [Qrel(f"q{i}", "a", 1) for i in range(count)]
    run = Run([Ranking(["b"] * (i % 2) + ["a"], [2, 1][: 1 + i % 2], query_id=f"q{i}") for i in range(count)])
    result = evaluate(run, qrels, ["RR@10", "P@1"])
    assert result.values["RR@10"].tolist() == [0.5 if i % 2 else 1.0 for i in range(count)]


def test_order_of_run_and_judgments_does_not_change_values():
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "b", 1), Qrel("q1", "b", 2)]
    run, turned = run_of({"q1": "ab", "q2": "ab"}), run_of({"q2": "ab", "q1": "ab"})
    first = evaluate(run, qrels, ["nDCG@10", "AP"])
    second = evaluate(turned, qrels[::-1], ["AP", "nDCG@10"])
    assert second.query_ids == ("q1", "q2")
    assert first.means == pytest.approx(second.means)


def test_an_empty_run_counts_zero_and_an_average_over_nothing_is_none():
    qrels = [Qrel("q", "a", 1)]
    assert evaluate(Run([]), qrels, ["RR", "NumRet"]).means == {"RR": 0.0, "NumRet": 0.0}
    skipped = evaluate(Run([]), qrels, ["RR", "NumRet"], missing="skip")
    assert skipped.means == {"RR": None, "NumRet": None}
    assert json.loads(next(skipped.to_json_lines()))["measures"] == {"RR": None, "NumRet": None}


def test_a_run_of_other_queries_is_refused():
    with pytest.raises(DataError) as caught:
        evaluate(run_of({"x": "a"}, name="mine"), [Qrel("q", "a", 1)], ["RR"])
    facts = dict(caught.value.facts)
    assert facts["run"] == "mine"
    assert facts["queries of the run"] == "'x'"
    assert facts["judged queries"] == "'q'"


def test_no_judgments_are_refused():
    with pytest.raises(DataError):
        evaluate(run_of({"q": "a"}), [], ["RR"])
    with pytest.raises(DataError, match="of excluded documents"):
        evaluate(run_of({"q": "a"}), [Qrel("q", "q", 1)], ["RR"], exclude="id")


@pytest.mark.parametrize("digits", [300, 5000])
def test_a_grade_that_is_too_large_is_shortened(digits):
    with pytest.raises(DataError, match="grade") as caught:
        evaluate(run_of({"q": "a"}), [Qrel("q", "a", 10**digits)], ["RR"])
    assert len(dict(caught.value.facts)["relevance"]) <= 80


@pytest.mark.parametrize("grade", [1.5, "1", None, 10_001, -10_001])
def test_a_grade_that_is_none_is_refused(grade):
    with pytest.raises(DataError) as caught:
        evaluate(run_of({"q": "a"}), [Qrel("q", "a", grade)], ["RR"])
    assert ("document", "a") in caught.value.facts


def test_conflicting_judgments_are_refused_and_repeated_ones_not():
    with pytest.raises(DuplicateIdError) as caught:
        evaluate(run_of({"q": "a"}), [Qrel("q", "a", 1), Qrel("q", "a", 2)], ["RR"])
    assert "'q' 'a': 1 and 2" in str(caught.value)
    assert evaluate(run_of({"q": "a"}), [Qrel("q", "a", 1)] * 2, ["RR", "NumRel"]).means["NumRel"] == 1


def test_err_beyond_its_scale_is_refused():
    with pytest.raises(DataError, match="grades up to 4"):
        Evaluator([Qrel("q", "a", 5)], ["ERR@20"])


@pytest.mark.parametrize("options", [{"missing": "ignore"}, {"exclude": "ids"}])
def test_unknown_options_are_refused(options):
    with pytest.raises(ParameterError):
        evaluate(run_of({"q": "a"}), [Qrel("q", "a", 1)], ["RR"], **options)


def test_an_evaluation_cannot_be_changed():
    result = evaluate(run_of({"q": "a"}), [Qrel("q", "a", 1)], ["RR"])
    with pytest.raises(ValueError, match="read-only"):
        result.values["RR"][0] = 7


def test_one_evaluator_gives_the_same_values_every_time():
    evaluator = Evaluator([Qrel("q1", "a", 1), Qrel("q2", "a", 1)], ["RR", "RR@10"])
    good, bad = run_of({"q1": "a", "q2": "a"}), run_of({"q1": "ba"})
    first = [evaluator.evaluate(run).means for run in (good, bad, good)]
    assert first[0] == first[2] == {"RR": 1.0, "RR@10": 1.0}
    assert first[1] == {"RR": 0.25, "RR@10": 0.25}


def test_json_lines_give_the_values_back():
    qrels = [Qrel("q1", "a", 1), Qrel("q2", "c", 2), Qrel("q2", "b", 1)]
    result = evaluate(run_of({"q1": "cba", "q2": "abc"}, name="mïne"), qrels, ["nDCG@10", "AP"])
    lines = [json.loads(line) for line in result.to_json_lines(per_query=True)]
    assert lines[0]["kind"] == "mean"
    assert lines[0]["run"] == "mïne"
    assert lines[0]["measures"] == result.means
    assert lines[0]["counts"]["queries"] == 2
    for row, line in enumerate(lines[1:]):
        assert line["query_id"] == result.query_ids[row]
        assert line["measures"] == {name: values[row] for name, values in result.values.items()}
    assert len(list(result.to_json_lines())) == 1


def test_rows_of_some_queries():
    qrels = [Qrel(f"q{i}", "a", 1) for i in range(3)]
    part = evaluate(run_of({"q0": "a", "q1": "ba", "q2": "a"}), qrels, ["RR"]).at_rows([2, 1])
    assert part.query_ids == ("q2", "q1")
    assert part.values["RR"].tolist() == [1.0, 0.5]
    assert part.counts.queries == 2


@st.composite
def cases(draw):
    docs = [f"d{i}" for i in range(8)]
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    qrels = [
        Qrel(q, d, draw(st.integers(-1, 3)))
        for q in queries
        for d in draw(st.sets(st.sampled_from(docs), min_size=1))
    ]
    rankings = []
    for q in queries:
        order = draw(st.permutations(docs))[: draw(st.integers(0, 8))]
        scores = sorted(
            draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=len(order), max_size=len(order)))
        )
        rankings.append(Ranking(order, scores[::-1], query_id=q))
    return Run(rankings), qrels


@given(cases())
def test_values_are_in_range_and_depend_on_the_order_alone(case):
    run, qrels = case
    names = ["nDCG@5", "AP", "RR@10", "R@3", "P@4", "Success@2", "Judged@5"]
    result = evaluate(run, qrels, names)
    for values in result.values.values():
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()
    spread = Run([Ranking(r.doc_ids, r.rank_scores(), r.query_id) for r in run])
    assert evaluate(spread, qrels, names).means == result.means


@pytest.mark.parametrize("order", [["P(judged_only=True)@1", "P@1"], ["P@1", "P(judged_only=True)@1"]])
def test_judged_only_removes_unjudged_documents_alone(order):
    """trec_eval takes a negative grade for none."""
    qrels = [Qrel("q", "bad", -1), Qrel("q", "good", 1), Qrel("r", "good", 1), Qrel("r", "zero", 0)]
    ranked = run_of({"q": ["new", "bad", "good"], "r": ["new", "good", "zero"], "s": ["new"]})
    result = evaluate(
        ranked, qrels, [*order, "RR(judged_only=True)", "nDCG(judged_only=True, gains={1: 3})@1"]
    )
    assert result.query_ids == ("q", "r")
    assert {name: values.tolist() for name, values in result.values.items()} == {
        "P(judged_only=True)@1": [0, 1],
        "P@1": [0, 0],
        "RR(judged_only=True)": [1 / 2, 1],
        "nDCG(judged_only=True,gains={1:3})@1": [0, 1],
    }
    none = evaluate(run_of({"q": ["new"], "r": ["good"]}), qrels, ["P(judged_only=True)@1"])
    assert none.values["P(judged_only=True)@1"].tolist() == [0, 1]


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1),
)
def test_judged_only_without_negative_grades_is_that_of_pytrec_eval(order, grades):
    import ir_measures

    measures = [
        f"{name}(judged_only=True){cutoff}" for name, cutoff in (("AP", ""), ("nDCG", "@3"), ("R", "@2"))
    ]
    qrels = [Qrel("q", doc_id, grade) for doc_id, grade in grades.items()]
    found = evaluate(run_of({"q": order}), [*qrels, Qrel("r", "a", 1)], measures).values
    scores = {"q": {doc_id: float(-rank) for rank, doc_id in enumerate(order)}}
    parsed = [ir_measures.parse_measure(measure) for measure in measures]
    if any(grades.values()):  # without, pytrec_eval 0.5.11 crashes
        expected = ir_measures.iter_calc(parsed, {"q": grades}, scores)
        assert {str(each.measure): each.value for each in expected} == {
            name: values[0] for name, values in found.items()
        }
