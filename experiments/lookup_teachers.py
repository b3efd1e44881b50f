r"""Document encoders of ``lookup``: nDCG@10 of tables for several of them, alone and mixed with BM25, on dev splits.

Question
    How much does another dense encoder improve ``lookup``, if its table is fitted to the vectors of the same texts?
Run
    ``lookup_teachers.py --work WORK --encoder NAME=FOLDER --encoder NAME=FOLDER``; a FOLDER is written by
    ``termwise train lookup``. Others are compared with the first. Encoded documents stay in WORK.
Quality
    nDCG@10 of an index of vectors, and of its mixture with BM25.
Result
    ``results/lookup_teachers.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import record
from indexes import index_counts, index_encoded
from judged_collection import Judged, documents_folder
from macro_means import macro_ratios
from query_table import BM25, WAYS, Values, evaluated, quality_tables

from termwise.encode import EncoderFolder
from termwise.models import Lookup
from termwise.search import Searcher

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "scipy", "onnxruntime", "tokenizers", "ir-measures")


def facts_of(folder: str) -> dict[str, Any]:
    """Return identity, size and training figures of an encoder of lookup."""
    encoder = EncoderFolder.open(folder)
    trained = encoder.manifest.trained
    return {
        "id": encoder.id,
        "texts": trained["fitted"],
        "cosine": trained["cosine"],
        "rows": trained["terms"],
        "dimensions": encoder.manifest.dimensions,
        "pooling": trained["pooling"],
        "settings": trained["settings"],
        "two tokenizers": encoder.manifest.document_tokenizer is not None,
        "bytes": min(encoder.manifest.files[file].bytes for file in encoder.manifest.networks().values()),
    }


def each_collection(values: Mapping[str, Values]) -> str:
    """Return a table with the mean of each system (rows) on each collection (columns)."""
    rows = []
    for system in next(iter(values.values())):
        means = (record.number(float(found[system].mean()), digits=4) for found in values.values())
        rows.append([system, *means])
    heads = [f"{name}, {len(found[BM25])} queries" for name, found in values.items()]
    return record.table(("system", *heads), rows)


def page(result: Mapping[str, Any], values: Mapping[str, Values]) -> str:
    """Return the page with the result."""
    plan, variants = result["config"], result["variants"]
    first = next(iter(variants))
    sizes = "; ".join(
        f"{name}: {facts['bytes'] / 1e6:.1f} MB, {facts['dimensions']} dimensions, "
        f"{facts['pooling']} pooling, {facts['rows']:,} rows"
        for name, facts in variants.items()
    )
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/lookup_teachers.py` on the dev splits of {', '.join(values)}. Macro mean "
        f"{plan['measure']} of the table alone and mixed with BM25 by {plan['weights'][0]:g} and "
        f"{plan['weights'][1]:g}. Documents are encoded in windows of {plan['length']} pieces. Cosine: of held-out "
        "texts, less the mean vector, with the sum of their rows; it does not measure ranking, and values of different "
        f"encoders cannot be compared. {sizes}.",
        *quality_tables(result, reference=first, label="document encoder"),
        each_collection(values),
        record.about(dict(result)),
    ]
    return "\n\n".join(parts)


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "precision", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "lookup_teachers.toml")
    parser.add_argument("--encoder", action="append", required=True, metavar="NAME=FOLDER", help="repeatable")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    encoders = record.named_folders(arguments.encoder)
    variants = {name: facts_of(folder) for name, folder in encoders.items()}
    values: dict[str, Values] = {}
    for name in record.selected("collection", arguments.only, plan["collections"]):
        source = arguments.collections / name
        judged = Judged.read(name, source, plan["collections"][name])
        work = documents_folder(arguments.work, source)
        words = index_counts(judged.documents, work / "bm25", model="bm25", settings={}, analyzer="english")
        tables: dict[str, Searcher] = {}
        for encoder, folder in encoders.items():
            built = index_encoded(
                judged.documents,
                work / f"lookup-{encoder}",
                model=Lookup(encoder=folder, length=plan["length"]),
                threads=arguments.threads,
                precision=arguments.precision,
            )
            tables[encoder] = built.searcher
            record.say(f"{name}, {encoder}: indexed, {record.seconds()} s")
        values[name] = evaluated(plan, judged, words.searcher, tables)
    first = next(iter(encoders))
    contrasts = [(f"{one}, {way}", f"{first}, {way}") for one in encoders if one != first for way in WAYS]
    systems = list(next(iter(values.values())))
    result = {
        "experiment": plan["name"],
        "config": plan,
        "variants": variants,
        "means": {
            name: {system: float(each.mean()) for system, each in found.items()}
            for name, found in values.items()
        },
        "macro": macro_ratios(values, systems, BM25, counted=list(values), contrasts=contrasts),
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] + ("_partial" if arguments.only else "")
    record.save(result, page(result, values), arguments.out, name)


if __name__ == "__main__":
    record.script(main)
