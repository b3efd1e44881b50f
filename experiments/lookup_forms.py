r"""Two forms of an index of ``lookup``: bytes a document and nDCG@10, alone and mixed with BM25.

Question
    How much quality does the form ``terms`` lose against ``vectors`` for a number of kept weights, and how many bytes
    does a document take in both?
Run
    ``lookup_forms.py --work WORK --encoder FOLDER``. The network encodes each document once for all indexes. Encoded
    documents stay in WORK.
Quality
    nDCG@10 on the dev splits: as first stage, and mixed with BM25 by z-scores over the first 1,000 documents of both.
Result
    ``results/lookup_forms.md``, ``.json`` and the curve, ``.svg``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import record
from charts import line_chart
from indexes import Built, index_counts, index_encoded
from judged_collection import Judged, documents_folder

from termwise.encode import EncoderFolder
from termwise.fusion import interpolate
from termwise.models import Lookup

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures")
PARTS = ("alone", "with BM25")


def bytes_a_document(built: Built) -> float:
    """Return the bytes of a document: its vectors, or its weights in the inverted and forward view."""
    vectors = [segment.vectors for segment in built.searcher.index.segments if segment.vectors is not None]
    if vectors:
        size = sum(sum(part.section_bytes.values()) for part in vectors)
    else:
        size = built.sizes["inverted"] + built.sizes["forward"]
    return size / built.documents


def measured(plan: Mapping[str, Any], judged: Judged, bm25: Built, built: Built) -> dict[str, Any]:
    """Return bytes and quality of an index."""
    k = plan["depth"] + judged.deepest
    alone, words = (
        judged.without_seeds(each.searcher.rank_many(judged.queries, k=k), plan["depth"])
        for each in (built, bm25)
    )
    either = interpolate(words, alone, alpha=0.5, missing="minimum", documents="union")
    first, second = (
        each.searcher.rank_many(judged.queries, k=2 * k, candidates=either) for each in (bm25, built)
    )
    mixed = interpolate(first, second, alpha=plan["alpha"], missing="minimum")
    measure = plan["measure"]
    values = [judged.evaluate(run, [measure]).values[measure] for run in (alone, mixed)]
    means = [{"mean": float(each.mean()), "interval": record.mean_interval(each)} for each in values]
    return {"bytes a document": bytes_a_document(built), **dict(zip(PARTS, means, strict=True))}


def curve(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure both forms on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    work = documents_folder(arguments.work, source)
    bm25 = index_counts(
        judged.documents,
        work / "bm25",
        model="bm25",
        settings={},
        analyzer="english",
        threads=arguments.threads,
    )

    def point(**settings: Any) -> dict[str, Any]:
        built = index_encoded(
            judged.documents,
            work / "lookup",
            model=Lookup(encoder=arguments.encoder, **settings),
            threads=arguments.threads,
            precision=arguments.precision,
        )
        found = measured(plan, judged, bm25, built)
        record.say(
            f"{name}: {settings}, {found['bytes a document']:,.0f} bytes, {found['alone']['mean']:.4f} alone, "
            f"{found['with BM25']['mean']:.4f} with BM25"
        )
        return found

    return {
        "vectors": point(),
        "terms": [{"keep": keep, **point(form="terms", keep=keep)} for keep in plan["keep"]],
        "data": judged.data,
        "queries": len(judged.queries),
    }


def macro_means(plan: Mapping[str, Any], collections: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the means over the collections of each size, and of the vectors."""
    rows = [("vectors", [entry["vectors"] for entry in collections.values()])]
    for place, keep in enumerate(plan["keep"]):
        rows.append((f"{keep:,} weights", [entry["terms"][place] for entry in collections.values()]))
    return [
        {
            "form": form,
            "bytes a document": float(np.mean([point["bytes a document"] for point in points])),
            **{part: float(np.mean([point[part]["mean"] for point in points])) for part in PARTS},
        }
        for form, points in rows
    ]


def page(result: Mapping[str, Any], name: str) -> str:
    """Write the tables."""
    plan, head = result["config"], ("form", "bytes a document", *PARTS)
    macro = [
        [row["form"], f"{row['bytes a document']:,.0f}", *(record.number(row[part]) for part in PARTS)]
        for row in result["macro"]
    ]
    parts = [
        f"# {plan['title']}",
        "Made by `experiments/lookup_forms.py` on dev splits. Bytes: vectors, or the inverted and forward view of the "
        f"weights; without the query table. Quality: macro mean {plan['measure']} over "
        f"{', '.join(result['collections'])}, as first stage and mixed with {plan['alpha']:g} BM25 by z-scores.",
        f"![{plan['title']}]({name}.svg)",
        record.table(head, macro),
    ]
    for collection, entry in result["collections"].items():
        points = [("vectors", entry["vectors"])]
        points += [(f"{point['keep']:,} weights", point) for point in entry["terms"]]
        lines = [
            [
                form,
                f"{point['bytes a document']:,.0f}",
                *(
                    f"{record.number(point[part]['mean'])} {record.interval(point[part]['interval'])}"
                    for part in PARTS
                ),
            ]
            for form, point in points
        ]
        parts += [f"## {collection}", f"{entry['queries']} queries.", record.table(head, lines)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "precision", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "lookup_forms.toml")
    parser.add_argument("--encoder", default="lookup", help="shipped encoder or folder, of kind lookup")
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    wanted = record.selected("collection", arguments.only, plan["collections"])
    collections = {name: curve(plan, name, arguments) for name in wanted}
    result = {
        "experiment": plan["name"],
        "config": plan,
        "encoder": EncoderFolder.open(arguments.encoder).id,
        "collections": collections,
        "macro": macro_means(plan, collections),
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] + ("_partial" if arguments.only else "")
    arguments.out.mkdir(parents=True, exist_ok=True)
    vectors, *terms = result["macro"]
    chart = line_chart(
        {f"terms, {part}": [(row["bytes a document"], row[part]) for row in terms] for part in PARTS}
        | {f"vectors, {part}": [(vectors["bytes a document"], vectors[part])] for part in PARTS},
        title=plan["title"],
        x="bytes a document",
        y=f"macro {plan['measure']}",
        logarithmic=True,
    )
    (arguments.out / f"{name}.svg").write_text(chart, encoding="utf-8")
    record.save(result, page(result, name), arguments.out, name)


if __name__ == "__main__":
    record.script(main)
