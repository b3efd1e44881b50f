r"""Quality by the weight of the title, beside an index without weights of fields.

Question
    Does a weight of the title improve the models that count terms, and which?
Run
    ``field_weights.py --work WORK``. No network takes part.
Quality
    nDCG@10, and its difference to the weight 1, over queries, with bootstrap intervals; on dev splits, and on the
    train split of scifact, which has no dev split.
Result
    ``results/field_weights.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import record
from judged_collection import Judged, documents_folder

from termwise import BuildOptions, build_index

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "ir-measures")


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all models and weights on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    index = documents_folder(arguments.work, source) / "fields"
    measure, k = plan["measure"], plan["depth"] + judged.deepest
    models: dict[str, Any] = {}
    for model in plan["models"]:
        values = {}
        for weight in plan["weights"]:
            fields = {"title": weight, "text": 1}
            searcher = build_index(
                source,
                index,
                model=model,
                analyzer="english",
                fields=fields,
                overwrite=True,
                options=BuildOptions(threads=arguments.threads),
            )
            run = judged.without_seeds(searcher.rank_many(judged.queries, k=k), plan["depth"])
            values[weight] = judged.evaluate(run, [measure]).values[measure]
        differences = {weight: values[weight] - values[1] for weight in plan["weights"][1:]}
        models[model] = {
            "weight_1": float(values[1].mean()),
            "differences": [
                {
                    "weight": weight,
                    "difference": float(each.mean()),
                    "interval": record.mean_interval(each),
                }
                for weight, each in differences.items()
            ],
        }
        record.say(
            f"{name} {model}: " + ", ".join(f"{weight} {each.mean():.4f}" for weight, each in values.items())
        )
    return {"queries": len(judged.queries), "data": judged.data, "models": models}


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/field_weights.py` on queries for development: {plan['measure']} of an index whose title "
        "has the weight 1, and the differences of other weights, with 95 % intervals over the queries. The text has "
        "the weight 1.",
    ]
    for model in plan["models"]:
        rows = []
        for name, entry in result["collections"].items():
            of_model = entry["models"][model]
            cells = [
                f"{record.number(row['difference'], digits=4, signed=True)} "
                f"{record.interval(row['interval'], digits=4, signed=True)}"
                for row in of_model["differences"]
            ]
            split = f"{name}/{plan['collections'][name]}"
            rows.append([split, str(entry["queries"]), record.number(of_model["weight_1"]), *cells])
        head = ("collection", "queries", "title^1", *(f"title^{weight}" for weight in plan["weights"][1:]))
        parts += [f"## {model}", record.table(head, rows)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "field_weights.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
