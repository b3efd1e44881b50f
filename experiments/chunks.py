r"""Quality of documents that are cut into chunks, beside whole documents.

Question
    Do chunks (``index --chunk N``) improve BM25 and lookup on collections with long documents, and with how many words?
    Does it help that each chunk has the title?
Run
    ``chunks.py --work WORK``. Lookup uses the shipped encoder; encoded texts stay in WORK.
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

from termwise import build_index, open_collection
from termwise.records import Document

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures")
WHOLE = "whole"
FIELDS = {"title": 1, "text": 1}
"""The title is part of each chunk if the fields have weights."""


def measured(plan: Mapping[str, Any], name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all models and numbers of words on one collection."""
    split = plan["collections"][name]
    source = arguments.collections / name
    judged = Judged.read(f"{name}/{split}", source, split)
    documents = list(open_collection(source, fields=FIELDS).documents())
    models = {
        model: _of_model(plan, model, judged, documents, arguments)
        for model, settings in plan["models"].items()
        if name in settings["collections"]
    }
    words = sum(len(document.text.split()) for document in documents) / len(documents)
    return {"queries": len(judged.queries), "words": words, "data": judged.data, "models": models}


def _of_model(
    plan: Mapping[str, Any],
    model: str,
    judged: Judged,
    documents: Sequence[Document],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Measure one model on one collection."""
    words = plan["models"][model]["words"]
    variants: dict[str, dict[str, Any]] = {WHOLE: {}}
    variants |= {f"{number} words": {"chunk": number} for number in words}
    if any(document.fields and document.fields["title"] for document in documents):
        variants |= {
            f"{number} words, title in each": {"chunk": number, "fields": FIELDS} for number in words
        }
    if model == "lookup":
        work = documents_folder(arguments.work, judged.source)
        variants = {name: options | {"encoding": work / "encoding"} for name, options in variants.items()}
    runs, rows = [], {}
    for name, options in variants.items():
        index = documents_folder(arguments.work, judged.source) / "chunks"
        searcher = build_index(
            documents, index, model=model, threads=arguments.threads, overwrite=True, **options
        )
        rows[name] = len(searcher.index)
        timed = searcher.rank_many(judged.queries, k=plan["depth"], threads=arguments.threads, name=name)
        runs.append(timed.run)
        record.say(f"{judged.name} {model} {name}: {rows[name]} rows, {record.seconds()} s")
    compared = judged.compare(runs, [plan["measure"]], WHOLE)
    return {
        "whole": compared.contrasts[0].baseline_mean,
        "chunks": [{"rows": rows[each.run], **record.contrast_record(each)} for each in compared.contrasts],
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/chunks.py` on queries for development: {plan['measure']} of whole documents, and the "
        "differences of documents that are cut into chunks of at most so many words. Without *title in each*, the "
        "title is part of the first chunk only.",
    ]
    for model in plan["models"]:
        rows = []
        for name, entry in result["collections"].items():
            for each in entry["models"].get(model, {}).get("chunks", ()):
                whole = entry["models"][model]["whole"]
                rows.append(
                    [
                        f"{name}/{plan['collections'][name]}",
                        each["run"],
                        str(entry["queries"]),
                        f"{each['rows']:,}",
                        record.number(whole),
                        record.number(whole + each["difference"]),
                        *record.paired_cells(each),
                        record.outcomes(each),
                    ]
                )
        head = ("collection", "chunks of", "queries", "rows", "whole", "cut", "difference", "interval", "p")
        parts += [f"## {model}", record.table((*head, "better / equal / worse"), rows, left=2)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    record.run_collections(__doc__, HERE / "chunks.toml", PACKAGES, measured, page, given)


if __name__ == "__main__":
    record.script(main)
