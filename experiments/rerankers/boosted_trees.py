r"""Quality of LambdaMART over the scores of a mixture and lexical features.

Question
    Do boosted trees rank better than BM25, and than a fusion of BM25 and Model 1 with learned weights?
Systems
    ``bm25``. ``fusion``: BM25 and the shipped Model 1, with the weights of ``termwise learn-weights``. ``trees``:
    ``learn-weights --method lambdamart``, which re-ranks the first candidates of a fusion with equal weights; their
    features are the scores of both parts and those of `termwise.yardsticks.text_features`.
Training
    The training queries of the same collection, for ``fusion`` and ``trees``. No choice is made on test queries.
Run
    ``rerankers/boosted_trees.py --work WORK``; needs the extra ``yardsticks``.
Quality
    nDCG@10 on test queries, with sign-flip permutation tests and Holm's correction.
Result
    ``results/boosted_trees.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import record  # noqa: E402
from judged_collection import Judged, documents_folder, with_tail  # noqa: E402
from termwise_command import run_termwise  # noqa: E402

import termwise  # noqa: E402
from termwise.collection import read_run, write_run  # noqa: E402
from termwise.fusion import Fusion, mix_indexes  # noqa: E402
from termwise.records import Run  # noqa: E402

PACKAGES = ("termwise", "numpy", "lightgbm", "ir-measures")
PARTS = ("bm25", "model1")
SYSTEMS = ("bm25", "fusion", "trees")


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on a collection, and measure all systems."""
    source = arguments.collections / name
    train = Judged.read(name, source, plan["train"]).sampled(plan["train_queries"])
    split = plan["collections"][name]
    test = Judged.read(f"{name}/{split}", source, split).sampled(plan["test_queries"])
    work = documents_folder(arguments.work, source) / "trees"
    work.mkdir(parents=True, exist_ok=True)
    for model in PARTS:
        if not (work / model).exists():
            termwise.build_index(source, work / model, model=model, store_text=True)
    mix_indexes([work / model for model in PARTS], [0.5, 0.5], work / "equal", overwrite=True)
    judged = [str(path) for path in written(train, work / "train")]
    learn = [
        "learn-weights",
        str(work / "equal"),
        "--queries",
        judged[0],
        "--qrels",
        judged[1],
        "--overwrite",
    ]
    run_termwise([*learn, "--out", str(work / "weights.json")])
    run_termwise([*learn, "--method", "lambdamart", "--out", str(work / "trees")])
    weights = Fusion.open(work / "weights.json").weights
    k = plan["depth"] + test.deepest
    runs = {"bm25": termwise.open(work / "bm25").rank_many(test.queries, k=k)}
    mixed = {
        "equal": termwise.open(work / "equal"),
        "fusion": mix_indexes([work / model for model in PARTS], weights, work / "learned", overwrite=True),
    }
    runs |= {system: searcher.rank_many(test.queries, k=k) for system, searcher in mixed.items()}
    runs = {system: Run(test.without_seeds(run, plan["depth"]), system) for system, run in runs.items()}
    write_run(runs["equal"], work / "candidates.trec")
    asked = [str(path) for path in written(test, work / "test")]
    rerank = ["rerank", str(work / "equal"), "--scorer", str(work / "trees"), "--overwrite"]
    paths = [
        "--run",
        str(work / "candidates.trec"),
        "--queries",
        asked[0],
        "--out",
        str(work / "ranked.trec"),
    ]
    run_termwise([*rerank, *paths])
    trees = with_tail(read_run(work / "ranked.trec"), runs["equal"])
    compared = [runs["bm25"], runs["fusion"], Run(trees, "trees")]
    comparison = test.compare(compared, plan["measures"], "bm25", pairs="all")
    learned_from, own = ({qrel.doc_id for qrel in one.qrels if qrel.relevance > 0} for one in (train, test))
    measure = plan["measures"][0]
    return {
        "train": len(train.queries),
        "test": len(test.queries),
        "relevant": len(own),
        "shared": len(own & learned_from),
        "weights": list(weights),
        "means": {one.run: one.means[measure] for one in comparison.evaluations},
        "contrasts": [
            record.contrast_record(contrast) | {"p_holm": contrast.p_permutation_holm}
            for contrast in comparison.contrasts
        ],
        "data": test.data,
    }


def written(judged: Judged, folder: Path) -> tuple[Path, Path]:
    """Write queries and judgments, and return their files."""
    folder.mkdir(exist_ok=True)
    queries, qrels = folder / "queries.jsonl", folder / "qrels.txt"
    lines = (json.dumps({"id": query.query_id, "text": query.text}) for query in judged.queries)
    queries.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = (f"{qrel.query_id} 0 {qrel.doc_id} {qrel.relevance}\n" for qrel in judged.qrels)
    qrels.write_text("".join(rows), encoding="utf-8")
    return queries, qrels


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, collections = result["config"], result["collections"]
    means, contrasts = [], []
    for name, each in collections.items():
        shared = f"{each['shared']:,} of {each['relevant']:,}"
        weights = " / ".join(record.number(weight, digits=2) for weight in each["weights"])
        values = [record.number(each["means"][system]) for system in SYSTEMS]
        means.append([name, f"{each['train']:,}", f"{each['test']:,}", shared, weights, *values])
        for contrast in each["contrasts"]:
            pair = f"{contrast['run']} against {contrast['baseline']}"
            contrasts.append(
                [name, pair, *record.paired_cells(contrast, "p_holm"), record.outcomes(contrast)]
            )
    macro = [
        sum(each["means"][system] for each in collections.values()) / len(collections) for system in SYSTEMS
    ]
    means.append(["**mean**", "", "", "", "", *map(record.number, macro)])
    head = ("collection", "training queries", "test queries", "shared", "weights of the fusion", *SYSTEMS)
    parts = [
        f"# {plan['title']}",
        *([plan["note"]] if "note" in plan else []),
        "Made by `experiments/rerankers/boosted_trees.py`: LambdaMART (`learn-weights --method lambdamart`) re-ranks "
        f"the first {plan['depth']} documents of BM25 and Model 1, and a fusion of both has learned weights. Both "
        "learn from training queries of the same collection. *shared*: of the documents that are relevant to a test "
        "query, those that are relevant to a training query, too. The test queries are at most "
        f"{plan['test_queries']}, drawn at random.",
        f"## {plan['measures'][0]}",
        record.table(head, means),
        "## System against system",
        "Paired by query; p by Holm over the pairs of a collection.",
        record.table(
            ("collection", "systems", "difference", "95 %", "p (Holm)", "better / equal / worse"),
            contrasts,
            left=2,
        ),
    ]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "boosted_trees.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
