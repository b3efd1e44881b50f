r"""Quality of an index that grew by changes, beside an index that is built from the same documents.

Question
    An index without counts of its terms keeps the mean document length of BM25 and the language model of ``jm`` and
    ``dirichlet`` of its build. What does that cost in nDCG@10, by the share of the documents that the build had?
    ``following_statistics.py`` measures indexes with counts.
Run
    ``statistics_of_build.py --work WORK``. No network takes part.
Quality
    nDCG@10 on the dev splits, of the grown index minus the new one, over queries, with bootstrap intervals. Documents
    are in the order of the collection, so that the build can have another kind of documents than the rest.
Result
    ``results/statistics_of_build.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import record
from judged_collection import Judged, documents_folder

import termwise
from termwise import BuildOptions, build_index, open_writer
from termwise.indexing import count_rows

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "ir-measures")


def without_counts() -> AbstractContextManager[object]:
    """Build indexes that keep no counts of their terms, as earlier versions did."""
    return mock.patch.object(count_rows, "_occurrences", return_value=None)


def grown(plan: Mapping[str, Any], judged: Judged, model: str, share: float, folder: Path) -> Any:
    """Return a searcher of an index whose build had a share of the documents; the rest was added in ten commits."""
    documents = list(judged.documents.documents())
    first = max(1, round(share * len(documents)))
    with without_counts():
        build_index(documents[:first], folder, model=model, analyzer="english", overwrite=True)
    ends = np.linspace(first, len(documents), plan["commits"] + 1).astype(int)
    with open_writer(folder) as writer:
        for begin, end in pairwise(ends):
            writer.add(documents[begin:end])
            writer.commit()
        writer.merge()
    return termwise.open(folder)


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all models and shares on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    work = documents_folder(arguments.work, source)
    measure, k = plan["measure"], plan["depth"] + judged.deepest

    def values(searcher: Any) -> Any:
        run = judged.without_seeds(searcher.rank_many(judged.queries, k=k), plan["depth"])
        return judged.evaluate(run, [measure]).values[measure]

    found: dict[str, Any] = {"queries": len(judged.queries), "data": judged.data, "models": {}}
    for model in plan["models"]:
        new = values(
            build_index(
                judged.documents,
                work / "new",
                model=model,
                analyzer="english",
                overwrite=True,
                options=BuildOptions(threads=arguments.threads),
            )
        )
        rows = []
        for share in plan["shares"]:
            difference = values(grown(plan, judged, model, share, work / "grown")) - new
            rows.append(
                {
                    "share": share,
                    "difference": float(difference.mean()),
                    "interval": record.mean_interval(difference),
                }
            )
            record.say(f"{name} {model}: {share:.0%} built, {difference.mean():+.4f}")
        found["models"][model] = {"new": float(new.mean()), "grown": rows}
    return found


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/statistics_of_build.py` on dev splits: {plan['measure']} of an index that was built "
        f"from the first documents of a collection and grew by {plan['commits']} changes, minus that of a new index of "
        "all documents; 95 % intervals over the queries.",
    ]
    for model in plan["models"]:
        lines = []
        for name, entry in result["collections"].items():
            of_model = entry["models"][model]
            cells = [
                f"{record.number(row['difference'], digits=4, signed=True)} "
                f"{record.interval(row['interval'], digits=4, signed=True)}"
                for row in of_model["grown"]
            ]
            lines.append([name, str(entry["queries"]), record.number(of_model["new"]), *cells])
        head = ("collection", "queries", "new index", *(f"{share:.0%} built" for share in plan["shares"]))
        parts += [f"## {model}", record.table(head, lines)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "statistics_of_build.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
