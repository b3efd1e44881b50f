r"""Compact form of TILDE: bytes per document and nDCG@10, in comparison with the exact form.

Question
    How many weights of a document must the compact form keep to lose at most 1 % of the quality of the exact form, in
    re-ranking and as first stage, and is this within 1.5 KB a document, inverted and forward view together? The
    published code stores 61 KB.
Run
    ``compact_form.py --work WORK --encoder FOLDER``. The network encodes each document once for all sizes
    (`TrimmedEncoder`) and once for the exact form. Encoded documents stay in WORK.
Quality
    nDCG@10 on the dev splits: re-ranking the candidates of BM25, and as first stage. Expansion terms beyond the `keep`
    largest count as absent from the document.
Result
    ``results/tilde_compact_form.md``, ``.json``, ``.csv`` and the curve, ``.svg``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from charts import line_chart  # noqa: E402
from indexes import Built, index_encoded  # noqa: E402
from stage import Stage, open_stage  # noqa: E402

from termwise.encode import EncoderFolder  # noqa: E402
from termwise.models import Tilde  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures")
PARTS = ("re-ranking", "first stage")


def measured(plan: Mapping[str, Any], stage: Stage, built: Built) -> dict[str, Any]:
    """Return bytes and quality of an index."""
    sizes = {name: size / built.documents for name, size in built.sizes.items()}
    means = (stage.mean(run, plan["measure"]) for run in stage.re_ranked_and_alone(built))
    return {
        "bytes a document": sizes["inverted"] + sizes["forward"],
        "parts": sizes,
        **dict(zip(PARTS, means, strict=True)),
    }


def curve(
    plan: Mapping[str, Any], name: str, entry: Mapping[str, Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Measure every size on one collection."""
    stage = open_stage(
        name,
        entry["split"],
        arguments.collections,
        arguments.work,
        depth=plan["depth"],
        threads=arguments.threads,
        precision=arguments.precision,
    )
    judged = stage.judged

    def build(folder: str, **settings: Any) -> dict[str, Any]:
        built = index_encoded(
            judged.documents,
            stage.work / folder,
            model=Tilde(encoder=arguments.encoder, **settings),
            threads=arguments.threads,
            precision=arguments.precision,
        )
        return measured(plan, stage, built)

    points = []
    for keep in plan["keep"]:
        points.append({"keep": keep, **build("compact", keep=keep)})
        record.say(
            f"{name}: keep {keep}, {points[-1]['bytes a document']:.0f} bytes, {points[-1]['re-ranking']['mean']:.4f}"
        )
    exact = None
    if plan["exact"] and entry["exact"]:
        exact = build("exact", form="exact")
        record.say(f"{name}: exact, {exact['bytes a document']:.0f} bytes, {exact['re-ranking']['mean']:.4f}")
    bm25 = stage.mean(stage.first("bm25").run, plan["measure"])
    return {
        "points": points,
        "exact": exact,
        "bm25": bm25,
        "data": judged.data,
        "queries": len(judged.queries),
    }


def summary(plan: Mapping[str, Any], collections: Mapping[str, Any]) -> dict[str, Any]:
    """Return macro means over the collections with the exact form, or over all if there is none, and a choice."""
    with_exact = [name for name in collections if collections[name]["exact"] is not None]
    counted = with_exact or list(collections)
    rows: list[dict[str, Any]] = []
    for place, keep in enumerate(plan["keep"]):
        points = [collections[name]["points"][place] for name in counted]
        rows.append(
            {
                "keep": keep,
                "bytes a document": float(np.mean([point["bytes a document"] for point in points])),
                "re-ranking": float(np.mean([point["re-ranking"]["mean"] for point in points])),
                "first stage": float(np.mean([point["first stage"]["mean"] for point in points])),
            }
        )
    exact: dict[str, float] | None = None
    if with_exact:
        exact = {
            part: float(np.mean([collections[name]["exact"][part]["mean"] for name in with_exact]))
            for part in PARTS
        }
        exact["bytes a document"] = float(
            np.mean([collections[name]["exact"]["bytes a document"] for name in with_exact])
        )
    best = exact or {part: max(row[part] for row in rows) for part in PARTS}
    for row in rows:
        row["loss"] = {part: 1 - row[part] / best[part] if best[part] else None for part in PARTS}
        row["within"] = {
            "budget": row["bytes a document"] <= plan["budget"],
            **{part: row[part] >= (1 - plan["loss"]) * best[part] for part in PARTS},
        }
    within = [row for row in rows if all(row["within"].values())]
    return {
        "collections": counted,
        "rows": rows,
        "exact": exact,
        "fewest": within[0]["keep"] if within else None,
        "suggested keep": max(within, key=lambda row: row["re-ranking"])["keep"] if within else None,
    }


def page(result: Mapping[str, Any], name: str) -> str:
    """Write the tables."""
    plan, macro = result["config"], result["macro"]
    exact = macro["exact"]
    against = "the exact form" if exact else "the largest size"
    rows = [
        [
            f"{row['keep']:,}",
            f"{row['bytes a document']:,.0f}",
            *(
                cell
                for part in PARTS
                for cell in (record.number(row[part], digits=4), record.percent(row["loss"][part]))
            ),
            "yes" if all(row["within"].values()) else "no",
        ]
        for row in macro["rows"]
    ]
    if exact:
        qualities = (cell for part in PARTS for cell in (record.number(exact[part], digits=4), ""))
        rows.append(["exact", f"{exact['bytes a document']:,.0f}", *qualities, ""])
    reference = plan["reference"]
    rows.append([reference["name"], f"{reference['bytes']:,}", "", "", "", "", ""])
    found = macro["suggested keep"]
    limits = f"{plan['budget']:,} bytes and {plan['loss']:.0%} of {against}, in re-ranking and as first stage"
    verdict = (
        f"Within {limits}: {macro['fewest']} and more. Best of these in re-ranking: **{found}**, "
        f"{reference['bytes'] / _bytes(macro, found):.0f} times smaller than {reference['name']}."
        if found
        else f"No size is within {limits}."
    )
    parts = [
        f"# {plan['title']}",
        *([plan["note"]] if "note" in plan else []),
        "Made by `experiments/tilde_tables/compact_form.py` on dev splits. Bytes: inverted and forward view, one byte "
        "a weight (exact: four, and no inverted view). Quality: macro mean "
        f"{plan['measure']} over {', '.join(macro['collections'])}, re-ranking {plan['depth']:,} candidates of BM25 "
        f"and as first stage; loss against {against}. {reference['name'].capitalize()}: {reference['said']}.",
        f"![{plan['title']}]({name}.svg)",
        record.table(
            ("keep", "bytes a document", "re-ranking", "loss", "first stage", "loss", "within both limits"),
            rows,
        ),
        verdict,
    ]
    for collection, entry in result["collections"].items():
        sized = [(f"{point['keep']:,}", point) for point in entry["points"]]
        lines = [
            [
                keep,
                f"{point['bytes a document']:,.0f}",
                record.number(point["re-ranking"]["mean"]),
                record.interval(point["re-ranking"]["interval"]),
                record.number(point["first stage"]["mean"]),
            ]
            for keep, point in [*sized, *([("exact", entry["exact"])] if entry["exact"] else [])]
        ]
        lines.append(
            ["BM25", "", record.number(entry["bm25"]["mean"]), record.interval(entry["bm25"]["interval"]), ""]
        )
        head = ("keep", "bytes a document", "re-ranking", "95 %", "first stage")
        parts += [f"## {collection}", f"{entry['queries']} queries.", record.table(head, lines)]
    return "\n\n".join([*parts, record.about(dict(result))])


def _bytes(macro: Mapping[str, Any], keep: int) -> float:
    (size,) = [row["bytes a document"] for row in macro["rows"] if row["keep"] == keep]
    return float(size)


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "precision", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "compact_form.toml")
    parser.add_argument("--encoder", default="tilde", help="shipped encoder or folder, of kind tilde")
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    wanted = record.selected("collection", arguments.only, plan["collections"])
    collections = {name: curve(plan, name, plan["collections"][name], arguments) for name in wanted}
    macro = summary(plan, collections)
    result = {
        "experiment": plan["name"],
        "config": plan,
        "encoder": EncoderFolder.open(arguments.encoder).id,
        "collections": collections,
        "macro": macro,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] + ("_partial" if arguments.only else "")
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = ["collection,keep,bytes,re_ranking,first_stage"]
    for collection, entry in collections.items():
        last = [{"keep": "exact", **entry["exact"]}] if entry["exact"] else []
        lines += [
            f"{collection},{point['keep']},{point['bytes a document']:.1f},"
            f"{point['re-ranking']['mean']:.6f},{point['first stage']['mean']:.6f}"
            for point in [*entry["points"], *last]
        ]
    (arguments.out / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chart = line_chart(
        {part: [(row["bytes a document"], row[part]) for row in macro["rows"]] for part in PARTS},
        title=plan["title"],
        x="bytes a document, inverted and forward",
        y=f"macro {plan['measure']}",
        logarithmic=True,
        levels={f"exact, {part}": macro["exact"][part] for part in PARTS} if macro["exact"] else None,
    )
    (arguments.out / f"{name}.svg").write_text(chart, encoding="utf-8")
    record.save(result, page(result, name), arguments.out, name)


if __name__ == "__main__":
    record.script(main)
