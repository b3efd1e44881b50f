"""Quality of the probed rankers as re-rankers, from the scores stored in a report.

    python experiments/probes/reranker_quality.py WORK/finding --judged DOCS,QUERIES,QRELS --candidates RUN

A report whose thresholds come from ``--candidates RUN`` contains the scores of all rankers for these candidates, so
that no scorer runs here. Results are ``results/NAME.md`` and ``.json``: each ranker in comparison with the
first, by sign-flip permutation tests with Holm's correction. A candidate without a judgment counts as not relevant.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.collection import open_collection, read_qrels, read_queries, read_run  # noqa: E402
from termwise.evaluate import Comparison, Evaluator, compare  # noqa: E402
from termwise.probes.report import read_report  # noqa: E402
from termwise.probes.report.folder import SCORES  # noqa: E402
from termwise.records import Ranking, Run  # noqa: E402
from termwise.scorers import ScoreCache  # noqa: E402

MEASURES = ("nDCG@10", "RR(rel=2)@10")


def main() -> None:
    parser = record.parser(__doc__, "out")
    parser.add_argument("report", type=Path)
    parser.add_argument("--judged", required=True, metavar="DOCS,QUERIES,QRELS")
    parser.add_argument("--candidates", type=Path, required=True)
    parser.add_argument("--name", default="probes_reranked", help="name of the result files")
    given = parser.parse_args()
    about = record.provenance(["termwise", "numpy", "scipy", "ir-measures"])
    documents, queries, qrels = given.judged.split(",")
    report = read_report(given.report)
    candidates = candidate_texts(read_run(given.candidates), documents)
    asked = {query.query_id: query.text for query in read_queries(queries)}
    with ScoreCache(given.report / SCORES) as store:
        runs = [reranked(one, candidates, asked, store) for one in report["scorers"]]
    evaluator = Evaluator(read_qrels(qrels), MEASURES)
    found = compare([evaluator.evaluate(run) for run in runs], resamples=record.RESAMPLES, seed=record.SEED)
    about["data"] = {
        Path(path).name: record.file_hash(Path(path))
        for path in (documents, queries, qrels, given.candidates)
    }
    about["seconds"] = record.seconds()
    kept = {
        "provenance": about,
        "candidates": {"run": given.candidates.name, "queries": len(candidates)},
        "judged": ", ".join(report["facts"]["judged"]),
        "judgments": Path(qrels).name,
        "statistics": report["facts"]["statistics"],
        "means": {
            run.name: evaluation.means for run, evaluation in zip(runs, found.evaluations, strict=True)
        },
        "contrasts": [record.contrast_record(contrast) for contrast in found.contrasts],
    }
    record.save(kept, page(found, kept), given.out, given.name)


def candidate_texts(run: Run, documents: str) -> dict[str, dict[str, str]]:
    """Return the texts of the candidates of each query by identifier, without those that the collection lacks."""
    wanted = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
    texts = {one.doc_id: one.text for one in open_collection(documents).documents() if one.doc_id in wanted}
    return {
        query_id: {doc_id: texts[doc_id] for doc_id in ranking.doc_ids if doc_id in texts}
        for query_id, ranking in run.rankings.items()
    }


def reranked(
    scorer: Mapping[str, Any],
    candidates: Mapping[str, Mapping[str, str]],
    queries: Mapping[str, str],
    store: ScoreCache,
) -> Run:
    """Return the candidates in the order of the stored scores of a ranker."""
    rankings = []
    for query_id, texts in candidates.items():
        scores = store.find(scorer["fingerprint"], [queries[query_id]] * len(texts), list(texts.values()))
        if np.isnan(scores).any():
            raise SystemExit(
                f"{scorer['name']}: scores of candidates of query {query_id} are not in the report"
            )
        ids = list(texts)
        order = sorted(range(len(ids)), key=lambda place: (-scores[place], ids[place]))
        rankings.append(
            Ranking([ids[place] for place in order], [float(scores[place]) for place in order], query_id)
        )
    return Run(rankings, scorer["name"])


def page(found: Comparison, kept: Mapping[str, Any]) -> str:
    """Return the page."""
    rows = []
    for evaluation in found.evaluations:
        cells = [evaluation.run, *(record.number(evaluation.means[name]) for name in evaluation.means)]
        for contrast in found.contrasts:
            if contrast.run == evaluation.run and contrast.measure == "nDCG@10":
                bounds = (contrast.ci_low, contrast.ci_high)
                cells += [
                    f"{record.number(contrast.difference, signed=True)} {record.interval(bounds, signed=True)}",
                    record.p_value(contrast.p_permutation_holm),
                ]
        rows.append(cells + ["", ""] * (len(cells) < 5))
    head = ["ranker", *found.evaluations[0].means, "nDCG@10 against the first, 95 %", "p, Holm"]
    return "\n".join(
        [
            "# The rankers that were probed, as re-rankers",
            "",
            f"The best 100 of {kept['candidates']['run']} for {kept['candidates']['queries']} queries of "
            f"{kept['judged']}, ranked by each. Judgments: {kept['judgments']}. Term statistics: {kept['statistics']}.",
            "",
            record.table(head, rows),
            "",
            record.about(dict(kept)),
        ]
    )


if __name__ == "__main__":
    record.script(main)
