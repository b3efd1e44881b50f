"""Networks that re-rank, trained here, on the judged collections.

    python experiments/rerankers/rerankers.py train --pairs PAIRS --base ENCODER --models MODELS [--only NAME]
    python experiments/rerankers/rerankers.py run --work WORK --models MODELS [--plan PLAN] [--data DATA]

Question
    What does a network at query time add to BM25, if it is trained on the pairs that the encoders of termwise are
    trained on? Which of the networks of the papers adds most?
Method
    Each network re-ranks the first documents of BM25 (k1 = .9, b = .4, ``english``). Runs are kept in WORK, so that an
    interrupted experiment continues. Rows without their network in MODELS are left out, with a note.
Data
    The plan names the collections; ``--data`` (repeatable) replaces them, for instance by ``ir_datasets:ID``.
Result
    ``results/rerankers.md`` and ``.json``: nDCG@10, paired differences to BM25 with intervals and tests, and the pairs
    that each network has read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402
from indexes import Built, index_counts  # noqa: E402
from judged_collection import PREFIX, Judged, documents_folder, with_tail  # noqa: E402
from termwise_command import run_train_command  # noqa: E402

from termwise.collection import read_run, write_run  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.records import Run  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.scorers.protocol import TextScorer, fingerprint_of  # noqa: E402
from termwise.search.candidates import rank_candidates  # noqa: E402

PACKAGES = ("termwise", "numpy", "torch", "transformers", "ir-measures")
BM25 = "BM25"
MANIFEST = "scorer.json"


def main() -> None:
    parser = record.parser(__doc__, "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "collections.toml")
    parser.add_argument("--models", type=Path, required=True, help="folder with one network each")
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("--pairs", type=Path, required=True)
    training.add_argument("--base", type=Path, required=True)
    training.add_argument("--only", action="append", metavar="NAME")
    running = commands.add_parser("run")
    running.add_argument("--work", type=Path, required=True)
    running.add_argument("--collections", type=Path, default=record.COLLECTIONS)
    running.add_argument("--data", action="append", default=[], metavar="DATA")
    running.add_argument("--split", default="test", help="of --data")
    running.add_argument("--out", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    plan = tomllib.loads(given.plan.read_text(encoding="utf-8"))
    if given.command == "train":
        train(plan, given)
    else:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        try:
            measure(plan, given)
        finally:
            torch.set_float32_matmul_precision(before)


def train(plan: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Train the networks of the plan, or resume; finished ones are not trained again."""
    record.check_names("network", given.only or (), plan["networks"])
    for name, entry in plan["networks"].items():
        out = given.models / name
        if given.only and name not in given.only:
            continue
        if (out / MANIFEST).is_file():
            record.say(f"{name}: {out} exists")
            continue
        changes = {key: value for key, value in entry.items() if key not in ("kind", "base")}
        settings = {**plan["train"], **changes}
        if settings.get("teacher") == "base":
            settings["teacher"] = given.base
        base = entry.get("base", str(given.base))
        options = ["--base", base, "--threads", str(given.threads)]
        options += ["--data", str(given.pairs / "train"), "--validation", str(given.pairs / "validation")]
        run_train_command(entry["kind"], out, options=options, settings=settings)


def measure(plan: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Re-rank the collections with all networks, and write the result."""
    about = record.provenance(PACKAGES)
    present = {name for name in plan["networks"] if (given.models / name / MANIFEST).is_file()}
    rows = {row: entry for row, entry in plan["rows"].items() if entry["network"] in present}
    missing = sorted({entry["network"] for entry in plan["rows"].values()} - present)
    if missing:
        record.say(f"left out, not in {given.models}: {', '.join(missing)}")
    if not rows:
        raise SystemExit(f"{given.models} has no network of the plan; train one first")
    scorers = {row: opened(entry, given.models) for row, entry in rows.items()}
    data = dict.fromkeys(given.data, given.split) or plan["collections"]
    collections = {}
    for name, split in data.items():
        place = name if name.startswith(PREFIX) else given.collections / name
        collections[Path(name).name] = re_ranked(
            plan, Judged.read(Path(name).name, place, split), scorers, given
        )
    facts = {
        name: json.loads((given.models / name / MANIFEST).read_text(encoding="utf-8"))["trained"]
        for name in sorted(present)
    }
    result = {
        "experiment": plan["name"],
        "config": plan,
        "networks": facts,
        "missing": missing,
        "collections": collections,
        "provenance": about | {"seconds": record.seconds()},
    }
    record.save(result, page(result), given.out, plan["name"])


def opened(entry: Mapping[str, Any], models: Path) -> TextScorer:
    """Open the network of a row with its settings."""
    settings = "".join(f",{name}={value}" for name, value in entry.items() if name != "network")
    return open_scorer(
        f"{models / entry['network']}{settings}", ScorerContext(Background(list), device="cpu")
    )


def re_ranked(
    plan: Mapping[str, Any], judged: Judged, scorers: Mapping[str, TextScorer], given: argparse.Namespace
) -> dict[str, Any]:
    """Return the measures of BM25 and of each row on a collection."""
    work = documents_folder(given.work, judged.source)
    chosen = judged.sampled(plan["queries"])
    built = bm25_index(judged, work, given.threads)
    whole = built.searcher.rank_many(chosen.queries, k=1000 + judged.deepest)
    first = Run(list(judged.without_seeds(whole, 1000)), BM25)
    wanted = {doc_id for ranking in first for doc_id in ranking.doc_ids[: plan["depth"]]}
    texts = {one.doc_id: one.text for one in judged.documents.documents() if one.doc_id in wanted}
    runs, seconds = [first], {}
    for row, scorer in scorers.items():
        known = f"{judged.name} {plan['depth']} {plan['queries']} {fingerprint_of(scorer)}"
        file = work / f"run-{hashlib.sha256(known.encode()).hexdigest()[:16]}.trec"
        if not file.is_file():
            begin = time.perf_counter()
            record.say(f"{judged.name}: {row}")
            write_run(scored(first, scorer, texts, chosen, plan["depth"]), file)
            seconds[row] = round(time.perf_counter() - begin, 1)
        runs.append(with_tail(Run(list(read_run(file)), row), first))
    comparison = chosen.compare(runs, [plan["measure"]], BM25)
    return {
        "queries": len(chosen.queries),
        "documents": built.documents,
        "split": given.split,
        "means": {run.name: chosen.evaluate(run, [plan["measure"]]).means[plan["measure"]] for run in runs},
        "contrasts": {contrast.run: record.contrast_record(contrast) for contrast in comparison.contrasts},
        "seconds": seconds,
        "data": judged.data,
    }


def bm25_index(judged: Judged, work: Path, threads: int) -> Built:
    """Build the index of BM25 whose first documents are re-ranked, or open it."""
    return index_counts(
        judged.documents,
        work / "bm25",
        model="bm25",
        settings={"k1": "0.9", "b": "0.4"},
        analyzer="english",
        threads=threads,
        reuse=True,
    )


def scored(first: Run, scorer: TextScorer, texts: Mapping[str, str], judged: Judged, depth: int) -> Run:
    """Re-rank the first documents of each query by the scores of a network."""
    queries = {query.query_id: query.text for query in judged.queries}
    rankings = []
    for ranking in first:
        head = ranking.doc_ids[:depth]
        scores = scorer.score(queries[ranking.query_id], [texts[doc_id] for doc_id in head])
        rankings.append(rank_candidates(head, scores, ranking.query_id))
    return Run(rankings, scorer.name)


def page(result: Mapping[str, Any]) -> str:
    """Return the page of the result."""
    plan, found = result["config"], result["collections"]
    rows = list(next(iter(found.values()))["means"])
    lines = []
    for name, one in found.items():
        cells = [record.number(one["means"][BM25])]
        for row in rows[1:]:
            contrast = one["contrasts"][row]
            cells.append(f"{record.number(one['means'][row])}{mark(contrast)}")
        lines.append([name, str(one["queries"]), *cells])
    means = [np.mean([one["means"][row] for one in found.values()]) for row in rows]
    lines.append(["mean", "", *(record.number(float(mean)) for mean in means)])
    above = [str(sum(one["means"][row] > one["means"][BM25] for one in found.values())) for row in rows[1:]]
    lines.append([f"above BM25, of {len(found)}", "", "", *above])
    read = [
        [
            name,
            facts["base"],
            f"{facts['queries']:,}",
            f"{facts['pairs_read']:,}",
            f"{facts['seconds'] / 60:.0f} min",
        ]
        for name, facts in result["networks"].items()
    ]
    parts = [
        f"# {plan['title']}",
        f"{plan['measure']} of the first {plan['depth']} documents of BM25 in the order of each network, on at most "
        f"{plan['queries']} test queries of a collection. + or −: the 95 % interval of the paired difference to BM25 "
        "does not contain 0. Products of matrices are computed in bfloat16 where the processor can. The training pairs "
        "share no query, title or eight words in a row with the collections. Made by "
        "`experiments/rerankers/rerankers.py`.",
        record.table(["collection", "queries", *rows], lines),
        "## Exposure",
        "Pairs of a query and a passage that each network has read in training, each as often as it was read.",
        record.table(["network", "base", "queries", "pairs", "time"], read),
    ]
    if result["missing"]:
        parts.append(f"Not trained yet: {', '.join(result['missing'])}.")
    parts.append(record.about(dict(result)))
    return "\n\n".join(parts) + "\n"


def mark(contrast: Mapping[str, Any]) -> str:
    """Return + or − if the interval of a difference excludes 0."""
    if not record.excludes_zero(contrast["interval"]):
        return ""
    return " +" if contrast["difference"] > 0 else " −"


if __name__ == "__main__":
    record.script(main)
