r"""How much of what an oracle gains by a share of BM25 for each query can be foretold.

Question
    One share serves all queries of an interpolation; the oracle of `termwise.fusion.oracle` has one for each. What part
    of the gap between them can be had from what is known of a query for nothing: its length, the rarity of its terms,
    how far scores are apart, how much the rankings agree?
Declared
    ``query_alpha.toml``: collections, the two systems, folds.
Run
    ``python experiments/query_alpha/query_alpha.py --work WORK``. Indexes and what networks read stay in WORK.
Method
    Both systems score BM25's candidates; z-scores per query are added. Queries of all collections are pooled and dealt
    out to folds; the best share for all and the learners are fitted on the other folds, several times with other folds,
    and the mean over these is what a query is worth. `transfer`: each collection is foretold from the others. How far a
    learner is believed is chosen in folds within these, see `foretelling`.
    The gap closed is (foretold − one share) / (oracle − one share) of the pooled means, with an interval by bootstrap
    over the queries within collections. No collection is named to a learner.
Looked at before
    A first version, which believed learners in full and lacked three of the features, was run on the same queries:
    ridge closed -4.5 % of the gap (-8.0 to -1.2), boosting -5.0 % (-11.3 to 0.7). The second version is reported.
Result
    ``results/query_alpha.md``, ``.json``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from encoded import index_counts, index_encoded  # noqa: E402
from features import NAMES, features, idf_of  # noqa: E402
from foretelling import LEARNERS, chosen, folds  # noqa: E402
from judged import Judged, documents_folder  # noqa: E402

from termwise.errors import ParameterError, UnknownNameError  # noqa: E402
from termwise.evaluate.paired_tests import sign_flip_p  # noqa: E402
from termwise.fusion import objective_of, oracle, reciprocal_rank_fusion  # noqa: E402
from termwise.models import NetworkModel, make_model  # noqa: E402
from termwise.records import Run  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "scipy", "scikit-learn", "onnxruntime", "ir-measures")
FIXED, ORACLE, RRF = "one share", "oracle", "reciprocal ranks"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """The queries of one collection.

    Attributes
    ----------
    query_ids, groups : tuple of str of length n
        Queries, and what decides which fold they are in.
    features : ndarray of shape (n, f), float64
        See `features`.
    curves : ndarray of shape (n, alphas), float64
        The measure at each share of the first system.
    fused : ndarray of shape (n,), float64
        The measure of reciprocal-rank fusion.
    shares : ndarray of shape (n,), float64
        The best share of each query, the nearest to the best for all.
    indifferent : ndarray of shape (n,), bool
        Where all shares are equally good.
    data : dict
        Hashes of the files.
    """

    query_ids: tuple[str, ...]
    groups: tuple[str, ...]
    features: Floats
    curves: Floats
    fused: Floats
    shares: Floats
    indifferent: npt.NDArray[np.bool_]
    data: dict[str, str]


def measured(name: str, plan: Mapping[str, Any], arguments: argparse.Namespace) -> Measured:
    """Rank with both systems, and measure every share."""
    entry = plan["collections"][name]
    folder = arguments.collections / name
    judged = Judged.read(name, folder, entry["split"])
    work = documents_folder(arguments.work, folder)
    depth, measure = plan["depth"], plan["measure"]
    one = index_counts(
        judged.documents, work / "bm25", **plan["first"], threads=arguments.threads, reuse=True
    ).searcher
    model = make_model(plan["second"]["model"], {})
    if not isinstance(model, NetworkModel):
        raise ParameterError("the second system is one with a network", facts=[("given", plan["second"])])
    other = index_encoded(
        judged.documents,
        work / "query-alpha",
        model=model,
        threads=arguments.threads,
        precision="int8",
        reuse=True,
    ).searcher
    first = judged.without_seeds(one.rank_many(judged.queries, k=depth + judged.deepest).run, depth)
    second = other.rank_many(judged.queries, k=depth, candidates=first).run
    qrels = [
        qrel for qrel in judged.qrels if qrel.doc_id not in judged.seeds.get(qrel.query_id, frozenset[str]())
    ]
    objective = objective_of([first, second], qrels, measure, missing="drop")
    alphas = np.linspace(0, 1, plan["alphas"])
    curves = np.stack([objective.values((alpha, 1 - alpha)) for alpha in alphas.tolist()], axis=1)
    best = oracle([first, second], qrels, measure=measure, missing="drop", method="grid")
    texts = {query.query_id: query.text for query in judged.queries}
    idf = idf_of(one)
    evaluation = judged.evaluate(_same(reciprocal_rank_fusion([first, second]), objective.held), [measure])
    fused = dict(zip(evaluation.query_ids, evaluation.values[measure].tolist(), strict=True))
    return Measured(
        query_ids=objective.held,
        groups=tuple(f"{name} {_group(query_id, entry.get('group'))}" for query_id in objective.held),
        features=np.stack(
            [
                features(texts[query_id], one, idf, first[query_id], second[query_id])
                for query_id in objective.held
            ]
        ),
        curves=curves,
        fused=np.array([fused[query_id] for query_id in objective.held]),
        shares=best.alphas,
        indifferent=best.indifferent,
        data=judged.data,
    )


def _same(run: Run, query_ids: Sequence[str]) -> Run:
    return Run([run[query_id] for query_id in query_ids], run.name)


def _group(query_id: str, mark: str | None) -> str:
    return query_id if mark is None else query_id.partition(mark)[0]


def values_of(
    found: Mapping[str, Measured], plan: Mapping[str, Any], *, transfer: bool
) -> dict[str, dict[str, Floats]]:
    """Return what every way to choose is worth, by its name, then by collection, query by query.

    Parameters
    ----------
    found : mapping of str to Measured
        The collections.
    plan : mapping
        The declarative file.
    transfer : bool
        Whether each collection is foretold from the others, instead of folds of all.
    """
    names = list(found)
    rows = np.concatenate([entry.features for entry in found.values()])
    curves = np.concatenate([entry.curves for entry in found.values()])
    owner = np.repeat(np.arange(len(names)), [len(entry.curves) for entry in found.values()])
    groups = [group for entry in found.values() for group in entry.groups]
    if transfer:
        dealings = [[np.flatnonzero(owner == number) for number in range(len(names))]]
    else:
        seeds = range(plan["seed"], plan["seed"] + plan["repeats"])
        dealings = [list(folds(groups, plan["folds"], seed)) for seed in seeds]
    everywhere = np.arange(len(curves))
    ways: dict[str, Floats] = {}
    for way, make in {FIXED: None, **LEARNERS}.items():
        worth = [curves[everywhere, chosen(rows, curves, groups, parts, make)] for parts in dealings]
        ways[way] = np.mean(worth, axis=0)
    ways[RRF] = np.concatenate([entry.fused for entry in found.values()])
    ways[ORACLE] = curves.max(axis=1)
    return {
        way: {name: values[owner == number] for number, name in enumerate(names)}
        for way, values in ways.items()
    }


def gaps(ways: Mapping[str, Mapping[str, Floats]]) -> dict[str, dict[str, Any]]:
    """Say how much of the gap between one share and the oracle each way closes, with intervals and tests."""
    names = list(ways[FIXED])
    sizes = np.array([len(ways[FIXED][name]) for name in names])
    order = list(ways)
    means, draws = [], []
    for number, name in enumerate(names):
        values = np.stack([ways[way][name] for way in order])
        means.append(values.mean(axis=1))
        draws.append(record.resampled_means(values, (record.SEED, number)))
    pooled = np.average(means, axis=0, weights=sizes)
    drawn = np.average(draws, axis=0, weights=sizes)
    fixed, best = order.index(FIXED), order.index(ORACLE)
    report: dict[str, dict[str, Any]] = {}
    for place, way in enumerate(order):
        difference = np.concatenate([ways[way][name] - ways[FIXED][name] for name in names])
        low, high = np.percentile(drawn[:, place] - drawn[:, fixed], record.PERCENTILES)
        closed = (drawn[:, place] - drawn[:, fixed]) / (drawn[:, best] - drawn[:, fixed])
        report[way] = {
            "pooled": float(pooled[place]),
            "collections": {name: float(means[number][place]) for number, name in enumerate(names)},
            "difference": float(pooled[place] - pooled[fixed]),
            "interval": [float(low), float(high)],
            "p": None
            if way in (FIXED, ORACLE)
            else float(sign_flip_p(difference, resamples=record.RESAMPLES, seed=record.SEED)),
            "gap closed": float((pooled[place] - pooled[fixed]) / (pooled[best] - pooled[fixed])),
            "gap interval": [float(bound) for bound in np.percentile(closed, record.PERCENTILES)],
        }
    return report


def correlations(found: Mapping[str, Measured]) -> dict[str, dict[str, float]]:
    """Return Spearman's correlation of each feature with the best share, where shares differ, by collection."""
    from scipy.stats import spearmanr

    report: dict[str, dict[str, float]] = {name: {} for name in NAMES}
    for collection, entry in found.items():
        told = ~entry.indifferent
        for place, name in enumerate(NAMES):
            column = entry.features[told, place]
            alike = len(column) < 3 or np.ptp(column) == 0 or np.ptp(entry.shares[told]) == 0
            report[name][collection] = (
                0.0 if alike else float(spearmanr(column, entry.shares[told]).statistic)
            )
    return report


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    names = list(plan["collections"])
    queries = result["queries"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/query_alpha/query_alpha.py`. {plan['measure']} of α z(BM25) + (1 − α) z(TILDEv2) over "
        f"{plan['depth']:,} candidates of BM25, {sum(queries.values()):,} queries of {len(names)} collections, test "
        f"splits. One share and learners are fitted on other queries: {plan['folds']} folds, {plan['repeats']} times. "
        "Pooled: the mean over all queries. The oracle has read the judgments.",
    ]
    for title, key in (
        ("Folds of all collections together", "folds"),
        ("Each collection from the others", "transfer"),
    ):
        report = result[key]
        head = ("share", "pooled", "− one share", "95 %", "p", "of the gap", "95 %", *names)
        rows = [_row(way, entry, names) for way, entry in report.items()]
        parts += [f"## {title}", record.table(head, rows)]
    best, entry = max(
        ((way, result["folds"][way]) for way in LEARNERS), key=lambda pair: pair[1]["gap closed"]
    )
    low, high = entry["gap interval"]
    parts += [
        "## What was to be reached",
        f"{plan['target']:.0%} of the gap. {best} closes {entry['gap closed']:.1%} ({low:.1%} to {high:.1%}): "
        f"{'reached' if entry['gap closed'] >= plan['target'] else '**not reached**'}.",
        "## The oracle",
        record.table(
            ("collection", "queries", "all shares equal", "mean share of the others", "quartiles"),
            [
                [
                    name,
                    f"{queries[name]:,}",
                    f"{told['indifferent']:,}",
                    record.number(told["mean"], digits=2),
                    ", ".join(record.number(one, digits=2) for one in told["quartiles"]),
                ]
                for name, told in result["shares"].items()
            ],
        ),
        "## What goes with a large share of BM25",
        "Spearman's correlation of each feature with the best share, over the queries for which shares differ.",
        record.table(
            ("feature", *names),
            [
                [feature, *(record.number(row[name], digits=2, signed=True) for name in names)]
                for feature, row in result["correlations"].items()
            ],
        ),
    ]
    return "\n\n".join([*parts, record.about(dict(result))])


def _row(way: str, entry: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    alone = way == FIXED
    low, high = entry["gap interval"]
    return [
        way,
        record.number(entry["pooled"], digits=4),
        "" if alone else record.number(entry["difference"], digits=4, signed=True),
        "" if alone else record.interval(entry["interval"], digits=4, signed=True),
        "" if entry["p"] is None else record.p_value(entry["p"]),
        "" if alone else f"{entry['gap closed']:.1%}".replace("-", "−"),
        "" if alone or way == ORACLE else f"{low:.1%} to {high:.1%}".replace("-", "−"),
        *(record.number(entry["collections"][name]) for name in names),
    ]


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plan", type=Path, default=HERE / "query_alpha.toml")
    parser.add_argument("--work", type=Path, required=True, help="kept between runs")
    parser.add_argument("--collections", type=Path, default=record.COLLECTIONS)
    parser.add_argument("--only", metavar="A,B", help="only these collections")
    parser.add_argument("--out", type=Path, default=record.RESULTS)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args(given)
    record.need("sklearn", "scikit-learn", "learning what a share is worth")
    begin = time.perf_counter()
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    wanted = arguments.only.split(",") if arguments.only else list(plan["collections"])
    for name in wanted:
        if name not in plan["collections"]:
            raise UnknownNameError.of("collection", name, plan["collections"])
    plan["collections"] = {name: plan["collections"][name] for name in wanted}
    found = {}
    for name in wanted:
        found[name] = measured(name, plan, arguments)
        record.say(f"{name}: {len(found[name].query_ids):,} queries, {time.perf_counter() - begin:.0f} s")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "queries": {name: len(entry.query_ids) for name, entry in found.items()},
        "folds": gaps(values_of(found, plan, transfer=False)),
        "transfer": gaps(values_of(found, plan, transfer=True)) if len(found) > 1 else {},
        "shares": {
            name: {
                "indifferent": int(entry.indifferent.sum()),
                "mean": float(entry.shares[~entry.indifferent].mean()),
                "quartiles": np.percentile(entry.shares[~entry.indifferent], (25, 50, 75)).tolist(),
            }
            for name, entry in found.items()
        },
        "correlations": correlations(found),
        "data": {name: entry.data for name, entry in found.items()},
        "provenance": provenance | {"seconds": round(time.perf_counter() - begin)},
    }
    record.save(result, page(result), arguments.out, plan["name"])


if __name__ == "__main__":
    record.script(main)
