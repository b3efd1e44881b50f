r"""Quality, size and time of an index whose statistics follow its documents, beside one that keeps those of its build.

Question
    An index begins with one text of 5,000 words, and a collection is added in commits. What is its nDCG@10, with
    counts of its terms, from which commits compute the weights again, and without? What do the counts cost?
Run
    ``following_statistics.py --work WORK``. No network takes part.
Quality
    nDCG@10 of the grown index minus that of a new one of the same documents, over queries, with bootstrap intervals.
Time
    CPU seconds of all commits, which do not depend on the load of the machine.
Result
    ``results/following_statistics.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import record
from judged_collection import Judged, documents_folder
from statistics_of_build import PACKAGES, without_counts

import termwise
from termwise import Document, build_index, open_writer

HERE = Path(__file__).resolve().parent


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all models on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    work = documents_folder(arguments.work, source)
    documents = list(judged.documents.documents())
    words = (word for document in documents for word in document.text.split())
    unusual = Document("unusual", " ".join(islice(words, plan["words"])))
    measure, k = plan["measure"], plan["depth"] + judged.deepest

    def values(searcher: Any) -> Any:
        run = judged.without_seeds(searcher.rank_many(judged.queries, k=k), plan["depth"])
        return judged.evaluate(run, [measure]).values[measure]

    def grown(model: str, counts: bool) -> tuple[Any, float]:
        ends = np.linspace(0, len(documents), plan["commits"] + 1).astype(int)
        with nullcontext() if counts else without_counts():
            build_index([unusual], work / "grown", model=model, analyzer="english", overwrite=True)
        with open_writer(work / "grown") as writer:
            begin = time.process_time()
            for first, last in pairwise(ends):
                writer.add(documents[first:last])
                writer.commit()
            seconds = time.process_time() - begin
        return termwise.open(work / "grown"), seconds

    found: dict[str, Any] = {"queries": len(judged.queries), "data": judged.data, "models": {}}
    for model in plan["models"]:
        fresh = build_index(
            [unusual, *documents], work / "new", model=model, analyzer="english", overwrite=True
        )
        new = values(fresh)
        entry: dict[str, Any] = {"new": float(new.mean())}
        for counts in (False, True):
            searcher, seconds = grown(model, counts)
            difference = values(searcher) - new
            entry["with counts" if counts else "without"] = {
                "value": float(new.mean() + difference.mean()),
                "difference": float(difference.mean()),
                "interval": record.mean_interval(difference),
                "seconds": seconds,
            }
        sections = [segment.section_bytes for segment in fresh.index.segments]
        entry["count bytes"] = sum(
            size for each in sections for at, size in each.items() if at[:7] == "counts."
        )
        entry["bytes"] = sum(file.length for file in fresh.index.manifest.files())
        entry["postings"] = fresh.index.manifest.postings
        found["models"][model] = entry
        record.say(f"{name} {model}: {entry}")
    return found


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, lines, sizes = result["config"], [], []
    for name, found in result["collections"].items():
        for model, entry in found["models"].items():
            cells = [name, model, str(found["queries"]), record.number(entry["new"])]
            for kind in ("without", "with counts"):
                row = entry[kind]
                difference = record.number(row["difference"], digits=4, signed=True)
                cells += [record.number(row["value"]), f"{difference} {_interval(row)}"]
            lines.append([*cells, *(f"{entry[kind]['seconds']:.2f}" for kind in ("without", "with counts"))])
        entry = found["models"][plan["models"][0]]
        share = entry["count bytes"] / (entry["bytes"] - entry["count bytes"])
        each = entry["count bytes"] / entry["postings"]
        sizes.append([name, f"{entry['postings']:,}", f"{entry['bytes']:,}", f"{share:.1%}", f"{each:.2f}"])
    head = (
        "collection",
        "model",
        "queries",
        "new index",
        "without counts",
        "difference",
        "with counts",
        "difference",
    )
    head += ("CPU s without", "CPU s with")
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/following_statistics.py`: {plan['measure']} of an index that began with one text of "
        f"{plan['words']:,} words and got a collection in {plan['commits']} commits, without a merge of all segments "
        "at the end, beside a new index of the same documents. Without counts, the index keeps the statistics of the "
        "first text.",
        record.table(head, lines),
        f"Bytes of an index of `{plan['models'][0]}` that keeps no texts; the share of the counts is that of the "
        "other bytes.",
        record.table(("collection", "postings", "bytes", "counts", "bytes of counts for a posting"), sizes),
    ]
    return "\n\n".join([*parts, record.about(dict(result))])


def _interval(row: Mapping[str, Any]) -> str:
    return str(record.interval(row["interval"], digits=4, signed=True))


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "following_statistics.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
