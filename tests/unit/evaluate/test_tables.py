import csv
import io

import pytest
from tests.unit.evaluate.compared_runs import compare_runs

from termwise.errors import ParameterError, UnknownNameError
from termwise.evaluate import (
    Column,
    Criterion,
    Latency,
    Table,
    comparison_latex,
    comparison_text,
    contrast_table,
    conventions,
    evaluate,
    evaluation_text,
    latency_table,
    methods,
    query_table,
    summary_table,
    to_csv,
    to_text,
)
from termwise.evaluate.latex import escape
from termwise.records import Qrel, Ranking, Run

QREL = [Qrel(f"q{i}", "yes", 1) for i in range(12)]


def run_at(name, ranks):
    return Run(
        [
            Ranking([f"n{j}" for j in range(rank - 1)] + ["yes"], [0.0] * rank, query_id=f"q{i}")
            for i, rank in enumerate(ranks)
        ],
        name,
    )


def comparison(**options):
    runs = [run_at("base", [2] * 11 + [1]), run_at("good_1 & <co>", [1] * 12), run_at("bad", [3] * 11 + [2])]
    return compare_runs(runs, QREL, ["RR@10", "P@1"], **options)


def read(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_wide_characters_take_two_columns_of_a_text():
    table = Table((Column("run", "Run", "text"), Column("n", "n", "count")), (("重み", 3), ("abcd", 12)))
    assert to_text(table).split("\n") == ["Run    n", "重み   3", "abcd  12"]


def test_the_name_of_a_baseline_cannot_control_the_terminal():
    runs = [run_at("a\x1b]0;x\x07", [2] * 12), run_at("b", [1] * 12)]
    result = compare_runs(runs, [*QREL, Qrel("q99", "yes", 1)], ["RR"])
    for text in (comparison_text(result), evaluation_text(result.evaluations), *methods(result)):
        assert not set(text) & {"\x1b", "\x07"}
    assert "RR, against a�]0;x�" in comparison_text(result)


def test_a_name_cannot_control_the_terminal():
    table = Table((Column("run", "Run", "text"),), (("a\x1b[2J\nb",),))
    assert to_text(table) == "Run\na�[2J b"
    assert to_csv(table) == 'run\n"a\x1b[2J\nb"\n'  # files keep it


def test_text_is_aligned():
    table = Table(
        (Column("run", "Run", "text"), Column("x", "X", "measure"), Column("n", "n", "count")),
        (("a", 0.5, 3), ("longer", None, 12)),
    )
    assert to_text(table).split("\n") == [
        "Run          X   n",
        "a       0.5000   3",
        "longer       –  12",
    ]


def test_an_unknown_column_is_refused():
    with pytest.raises(UnknownNameError):
        summary_table(comparison().evaluations).pick(["ran"])


def test_csv_gives_the_values_back():
    result = comparison()
    rows = read(to_csv(contrast_table(result.contrasts)))
    assert len(rows) == 4
    for row, contrast in zip(rows, result.contrasts, strict=True):
        for key, value in contrast.row().items():
            if value is None:
                assert row[key] == ""
            else:
                assert type(value)(row[key]) == value


def test_csv_of_queries():
    rows = read(to_csv(query_table(comparison().evaluations)))
    assert len(rows) == 36
    assert {float(row["RR@10"]) for row in rows if row["run"] == "bad"} == {1 / 3, 0.5}


def test_csv_quotes_what_needs_it():
    table = Table((Column("run", "Run", "text"),), (('a "b", c',), ("new\nline",)))
    assert [row["run"] for row in read(to_csv(table))] == ['a "b", c', "new\nline"]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_holds_no_formula(first):
    table = Table(
        (Column("run", "Run", "text"), Column("d", "d", "difference")), ((f"{first}cmd|'x'!A1", -0.5),)
    )
    (row,) = read(to_csv(table))
    assert row == {"run": f"'{first}cmd|'x'!A1", "d": "-0.5"}


def test_latencies():
    table = latency_table({"mine": Latency.of([0.001, 0.003], [0.002, 0.002])})
    assert table.formatted()[2] == ("mine", "total", "4.000", "4.000", "4.980", "5.000", "2")


def test_conventions_list_what_was_left_out():
    qrels = [*QREL, Qrel("q99", "yes", 1), Qrel("q98", "yes", 0), Qrel("q0", "n0", 1)]
    run = Run([*run_at("r", [2] * 12), Ranking(["a"], [1], query_id="stranger")], "r")
    notes = " ".join(conventions([evaluate(run, qrels, ["RR"], exclude={"q0": "n0"})]))
    assert "over 14 queries" in notes
    assert "without results count 0: 2" in notes
    assert "without a relevant document stay in the average with 0: 1" in notes
    assert "without judgments are ignored: 1" in notes
    assert "from rankings 1, from judgments 1" in notes
    evaluations = [
        evaluate(run_at(name, [2] * queries), QREL, ["RR"]) for name, queries in (("r", 12), ("s", 9))
    ]
    assert "Judged queries without results count 0: s 3." in conventions(evaluations)
    notes = conventions([evaluate(run_at("r", [1] * 12), QREL, ["RR"], missing="skip", exclude="id")])
    assert notes[1] == (
        "Documents with the query's own id are left out before any cutoff: from rankings 0, from judgments 0."
    )


def test_text_of_an_evaluation():
    evaluation = evaluate(run_at("r", [1] * 6 + [2] * 6), QREL, ["RR@10", "NumRet"])
    assert evaluation_text([evaluation]) == (
        "Run   RR@10  NumRet  queries  without results\n"
        "r    0.7500      18       12                0\n"
        "\n"
        "Averages over 12 queries; equal scores in the order of the ranking."
    )
    assert "r    q11    0.5000       2" in evaluation_text([evaluation], per_query=True)


def test_text_of_a_comparison():
    text = comparison_text(comparison())
    assert "RR@10, against base" in text
    assert text.count("Bonf") == 4 + 1  # twice a measure, and in the notes
    assert "p(perm)" in text
    lines = [line for line in text.split("\n") if line.startswith("good_1")]
    assert "+0.4583" in lines[1]
    assert lines[1].split()[-4:] == ["11", "1", "0", "better"]
    alone = comparison_text(compare_runs([run_at("a", [1] * 12), run_at("b", [2] * 12)], QREL, ["RR"]))
    assert "  Holm" not in alone
    pairs = comparison_text(comparison(pairs="all"))
    assert "every pair of runs" in pairs
    assert "Baseline" in pairs
    assert methods(comparison())[0] in text


def test_a_text_names_the_criterion_and_the_verdicts():
    strict = Criterion(test="t", correction="bonferroni", level=1e-9)
    usual, text = comparison_text(comparison()), comparison_text(comparison(), criterion=strict)
    assert "Verdict better or worse: paired sign-flip permutation test, Holm correction, p < 0.05;" in usual
    assert "Verdict better or worse: paired t-test, Bonferroni correction, p < 1e-09;" in text
    last = [
        [line.rsplit("  ", 1)[1] for line in one.split("\n") if line.startswith("bad")][1:]
        for one in (usual, text)
    ]
    assert last == [["worse", "not significant"], ["not significant", "not significant"]]


def test_latex_against_a_baseline():
    text = comparison_latex(comparison(), label="tab:x_1}")
    assert r"\label{tab:x1}" in text
    assert r"good\_1 \& \textless{}co\textgreater{} & \textbf{1.0000}$^{\dagger}$ & \textbf{1.0000}" in text
    assert r"$^{\ddagger}$" in text
    assert "paired sign-flip permutation test, Holm correction over 2 comparisons, $p < 0.05$" in text
    assert text.count("{") == text.count("}")
    for rule in ("toprule", "midrule", "bottomrule"):
        assert rule in text
    body = text.split("\\midrule\n")[1].split("  \\bottomrule")[0].strip().split("\n")
    assert all(line.count("&") - line.count(r"\&") == 2 for line in body)


def test_latex_between_all_pairs():
    text = comparison_latex(comparison(pairs="all"), criterion=Criterion(test="t", correction="none"))
    assert r"a: base & 0.5417$^{\mathrm{c}}$" in text
    assert r"$^{\mathrm{a,c}}$" in text
    assert "paired t-test, no correction, $p < 0.05$" in text


def test_latex_escapes_every_special_character():
    assert escape(r"\{}$&#%_~^<>|") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{}"
    )
    assert escape("a\nb\x00") == "a b "


def test_evaluations_that_cannot_share_a_table_are_refused():
    one = evaluate(run_at("r", [1] * 12), QREL, ["RR"])
    other = evaluate(run_at("s", [1] * 12), QREL, ["AP"])
    for together in ([], [one, other], [one, one]):
        with pytest.raises(ParameterError):
            evaluation_text(together)
