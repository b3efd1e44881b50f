import ir_measures
import pytest

from termwise.errors import MissingExtraError, ParameterError, UnknownNameError
from termwise.evaluate import measure_names, parse_measures
from termwise.evaluate.measures import is_count


def names(*given):
    return [str(measure) for measure in parse_measures(given)]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("nDCG@10", "nDCG@10"),
        (" nDCG@10 ", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("AP@1000", "AP@1000"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("MAP", "AP"),
        ("R@100", "R@100"),
        ("R(rel=2)@1000", "R(rel=2)@1000"),
        ("MRR@10", "RR@10"),
        ("P@5", "P@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("Success@5", "Success@5"),
        ("Judged@10", "Judged@10"),
        ("Bpref", "Bpref"),
        ("IPrec@0.5", "IPrec@0.5"),
        ("IPrec@1", "IPrec@1.0"),
        ("NumRelRet", "NumRet(rel=1)"),
        ("nDCG(gains={1:1,2:3})@5", "nDCG(gains={2:3})@5"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
    ],
)
def test_the_spelling_of_ir_measures_is_read(given, canonical):
    (measure,) = parse_measures([given])
    assert isinstance(measure, ir_measures.Measure)
    assert str(measure) == canonical
    assert names(canonical) == [canonical]


def test_measure_objects_pass():
    assert parse_measures([ir_measures.nDCG @ 10]) == (ir_measures.nDCG @ 10,)


def test_order_is_kept_and_a_repetition_dropped():
    assert names("RR@10", "nDCG@10", "MRR@10") == ["RR@10", "nDCG@10"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("ndcg@10", "nDCG@10"),
        ("nDGC@10", "nDCG@10"),
        ("recal@100", "R@100"),
        ("succes@5", "Success@5"),
        ("map", "AP"),
        ("map_cut_1000", "AP@1000"),
        ("ndcg_cut_10", "nDCG@10"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_measure(given, hint):
    with pytest.raises(UnknownNameError) as caught:
        parse_measures([given])
    assert dict(caught.value.facts)["given"] == given
    assert hint in caught.value.fixes_worded()[0]


def test_a_name_far_from_all_lists_them():
    with pytest.raises(UnknownNameError) as caught:
        parse_measures(["frobnicate"])
    assert dict(caught.value.facts)["known"] == ", ".join(measure_names())


@pytest.mark.parametrize(
    "given",
    [
        "",
        "nDCG@",
        "nDCG@10 AP",
        "nDCG@10,AP",
        "AP(2)",
        "P@5(rel=2)",
        "nDCG@k",
        "(AP)(rel=1)(rel=2)",
        "\0",
        "nDCG(**{})",
    ],
)
def test_an_unreadable_name_shows_the_form(given):
    with pytest.raises(ParameterError) as caught:
        parse_measures([given])
    assert "NAME@CUTOFF" in dict(caught.value.facts)["expected"]


@pytest.mark.parametrize(
    "given",
    [
        "P",
        "R",
        "IPrec",
        "nDCG@0",
        "nDCG@-1",
        "nDCG@1.5",
        "nDCG@True",
        "nDCG@'a'",
        "AP(rel=0)",
        "AP(rel=2.0)",
        "nDCG(depth=3)@10",
        "nDCG(dcg='other')@10",
        "nDCG(gains={1:-5})",
        "nDCG(gains={1:1000000})",
        "nDCG(gains={'a':1})",
        "IPrec@1.5",
        "IPrec@0.123",
        "SetF(beta=-1)",
        "Compat(p=1)",
        "RBP(p=0.8)",
        "RR(judged_only=True)@5",
    ],
)
def test_a_parameter_out_of_place_is_refused(given):
    with pytest.raises(ParameterError):
        parse_measures([given])


@pytest.mark.parametrize(("given", "reason"), [("alpha_nDCG@10", "subtopic"), ("Accuracy", "undefined")])
def test_measures_that_do_not_fit_the_records_are_refused(given, reason):
    with pytest.raises(ParameterError, match=reason):
        parse_measures([given])
    assert given.split("@")[0] not in measure_names()


def test_a_measure_of_an_absent_package_names_it(monkeypatch):
    monkeypatch.setattr(ir_measures.cwl_eval, "_is_available", False)
    with pytest.raises(MissingExtraError) as caught:
        parse_measures(["RBP(p=0.8,rel=1)"])
    assert "cwl_eval" in caught.value.fixes_worded()[0]


def test_several_problems_come_together():
    with pytest.raises(UnknownNameError) as caught:
        parse_measures(["ndcg@10", "AP", "P"])
    text = str(caught.value)
    assert "'ndcg@10'" in text
    assert "P@10" in text


def test_none_and_a_bare_string_are_refused():
    with pytest.raises(ParameterError):
        parse_measures([])
    with pytest.raises(ParameterError) as caught:
        parse_measures("nDCG@10")
    assert caught.value.fixes == ("pass ['nDCG@10']",)


@pytest.mark.parametrize("name", measure_names())
def test_counting_measures_are_those_that_ir_measures_adds_up(name):
    family = ir_measures.measures.registry[name]
    assert is_count(name) == isinstance(family.aggregator(), ir_measures.SumAgg)
