"""Parity of measures with ir_measures on runs without ties."""

import os
import shutil
import subprocess
import sys

import ir_measures
import numpy as np
import pytest

from termwise.evaluate import evaluate, parse_measures
from termwise.records import Qrel, Ranking, Run

MEASURES = [
    "nDCG@10",
    "nDCG",
    "nDCG(gains={1:3,2:1})@5",
    "AP@1000",
    "AP@5",
    "AP(rel=2)",
    "RR",
    "RR@10",
    "RR(rel=2)@3",
    "P@5",
    "P(rel=2)@3",
    "R@100",
    "R(rel=2)@4",
    "Success@1",
    "Success@5",
    "Rprec",
    "Bpref",
    "Judged@10",
    "IPrec@0.5",
    "SetP",
    "SetR",
    "SetF",
    "SetAP",
    "infAP",
    "Compat",
    "NumRet",
    "NumRelRet",
    "NumRel",
    "NumQ",
]


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(11)
    docs = [f"d{i}" for i in range(60)]
    qrels, rankings = [], []
    for q in range(40):
        judged = rng.choice(60, size=int(rng.integers(1, 25)), replace=False)
        qrels += [Qrel(f"q{q}", docs[d], int(rng.choice([-1, 0, 0, 1, 2, 3]))) for d in judged]
        if q % 10 == 3:
            continue  # missing from the run
        order = rng.permutation(60)[: int(rng.integers(1, 50))]
        scores = np.sort(rng.normal(size=len(order)))[::-1]
        rankings.append(Ranking([docs[d] for d in order], scores, query_id=f"q{q}"))
    rankings.append(Ranking(["d1"], [1.0], query_id="unjudged"))
    return Run(rankings), qrels


def lines(run):
    return [ir_measures.ScoredDoc(s.query_id, s.doc_id, s.score) for ranking in run for s in ranking]


@pytest.mark.parametrize("name", MEASURES)
def test_values_are_those_of_ir_measures(world, name):
    run, qrels = world
    (measure,) = parse_measures([name])
    expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, lines(run))}
    result = evaluate(run, qrels, [name])
    values = dict(zip(result.query_ids, result.values[str(measure)].tolist(), strict=True))
    assert values == pytest.approx({q: v for q, v in expected.items() if q != "unjudged"}, abs=1e-12)
    total = ir_measures.calc_aggregate([measure], qrels, lines(run))[measure]
    assert result.means[str(measure)] == pytest.approx(total, abs=1e-12)


def test_all_at_once_are_those_one_by_one(world):
    run, qrels = world
    together = evaluate(run, qrels, MEASURES).means
    for name in MEASURES:
        apart = evaluate(run, qrels, [name]).means
        assert together | apart == together


@pytest.mark.skipif(
    shutil.which("perl") is None, reason="ERR and exponential gains are computed by a Perl script"
)
def test_the_perl_measures_are_those_of_ir_measures(world):
    run, qrels = world
    some = [q._replace(query_id=q.query_id[1:]) for q in qrels]  # it requires numbers as query ids
    names = ["ERR@20", "nDCG(dcg='exp-log2')@10"]
    measures = parse_measures(names)
    numbered = [s._replace(query_id=s.query_id[1:]) for s in lines(run) if s.query_id != "unjudged"]
    expected = ir_measures.calc_aggregate(measures, some, numbered)
    means = evaluate(run, qrels, names).means
    assert means == pytest.approx({str(m): expected[m] for m in measures}, abs=1e-9)


def test_ties_are_where_we_differ():
    # ir_measures sorts equal scores by descending document id; termwise keeps the order of the ranking.
    run = Run([Ranking(["a", "b"], [1.0, 1.0], query_id="q")])
    qrels = [Qrel("q", "a", 1)]
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, lines(run))[ir_measures.RR] == 0.5
    assert evaluate(run, qrels, ["RR"]).means["RR"] == 1.0


@pytest.mark.parametrize("seed", range(8))
def test_gains_of_one_measure_do_not_reach_another(seed):
    # ir_measures alone changes their order for about half of these seeds, because it iterates over a set.
    program = (
        "from termwise.evaluate import evaluate\n"
        "from termwise.records import Qrel, Ranking, Run\n"
        "run = Run([Ranking(['a', 'b'], [2.0, 1.0], query_id='q')])\n"
        "qrels = [Qrel('q', 'a', 1), Qrel('q', 'b', 2)]\n"
        "names = ['nDCG@10', 'nDCG(gains={1:3,2:1})@5']\n"
        "print(evaluate(run, qrels, names).means['nDCG@10'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))
    assert float(done.stdout) == pytest.approx(expected, abs=1e-9)
