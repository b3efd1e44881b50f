r"""Quality of documents that are cut into chunks, beside whole documents.

Question
    Do chunks (``index --chunk N``) improve models of term counts on collections with long documents, and with how many
    words? Does it help that each chunk has the title?
Run
    ``chunks.py --work WORK``. No network takes part.
Quality
    nDCG@10, and its difference to whole documents, over queries, with bootstrap intervals and permutation tests; on dev
    splits, and on the train split of scifact, which has no dev split. The documents of medquad have no titles.
Result
    ``results/chunks.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import record
from judged_collection import Judged, documents_folder

from termwise import BuildOptions, build_index, open_collection

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "ir-measures")
WHOLE = "whole"
FIELDS = {"title": 1, "text": 1}
"""The title is part of each chunk if the fields have weights."""


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all models and numbers of words on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    index = documents_folder(arguments.work, source) / "chunks"
    documents = list(open_collection(source, fields=FIELDS).documents())
    variants: dict[str, dict[str, Any]] = {WHOLE: {}}
    variants |= {f"{number} words": {"chunk": number} for number in plan["words"]}
    if any(document.fields and document.fields["title"] for document in documents):
        titled = {f"{number} words, title in each": number for number in plan["words"]}
        variants |= {each: {"chunk": number, "fields": FIELDS} for each, number in titled.items()}
    models: dict[str, Any] = {}
    for model in plan["models"]:
        runs, chunks = [], {}
        for variant, chosen in variants.items():
            searcher = build_index(
                documents,
                index,
                model=model,
                analyzer="english",
                overwrite=True,
                **chosen,
                options=BuildOptions(threads=arguments.threads),
            )
            run = searcher.rank_many(judged.queries, k=plan["depth"], threads=arguments.threads, name=variant)
            runs.append(run)
            chunks[variant] = len(searcher.index)
            record.say(f"{judged.name} {model} {variant}: {record.seconds()} s")
        contrasts = judged.compare(runs, [plan["measure"]], WHOLE).contrasts
        models[model] = [
            {
                "chunks": chunks[each.run],
                "whole": each.baseline_mean,
                "cut": each.run_mean,
                **record.contrast_record(each),
            }
            for each in contrasts
        ]
    words = sum(len(document.text.split()) for document in documents) / len(documents)
    sizes = {"queries": len(judged.queries), "documents": len(documents), "words": words}
    return {**sizes, "data": judged.data, "models": models}


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, collections = result["config"], result["collections"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/chunks.py` on queries for development: {plan['measure']} of whole documents, and of "
        "documents that are cut into chunks of at most so many words. Without *title in each*, the title is part of "
        "the first chunk only.",
        record.table(
            ("collection", "queries", "documents", "words a document"),
            [
                (
                    f"{name}/{plan['collections'][name]}",
                    str(entry["queries"]),
                    f"{entry['documents']:,}",
                    f"{entry['words']:.0f}",
                )
                for name, entry in collections.items()
            ],
        ),
    ]
    for model in plan["models"]:
        rows = [
            (
                name,
                each["run"],
                f"{each['chunks']:,}",
                record.number(each["whole"]),
                record.number(each["cut"]),
                *record.paired_cells(each),
                record.outcomes(each),
            )
            for name, entry in collections.items()
            for each in entry["models"][model]
        ]
        head = ("collection", "chunks of", "chunks", "whole", "cut", "difference", "interval", "p")
        parts += [f"## {model}", record.table((*head, "better / equal / worse"), rows, left=2)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "chunks.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
