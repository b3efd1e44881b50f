"""SciDocs as judged collections: its four tasks of queries by example, split as the paper trains on them.

    python experiments/by_example/scidocs.py DATA --out COLLECTIONS

DATA is the folder ``data`` of SciDocs (https://github.com/allenai/scidocs, as downloaded by its instructions)::

    paper_metadata_view_cite_read.json    {paper id: {"title": ..., "abstract": ..., ...}}
    cite/val.qrel, cite/test.qrel         query paper, 0, candidate paper, 0 or 1; also cocite, coread, coview

Written is one BEIR folder a task, ``co-view``, ``co-read``, ``co-cite`` and ``cite``: the papers, the queries (papers,
too), ``seeds.tsv``, and judgments in three splits. ``test`` is that of SciDocs. Its validation queries are dealt out:
15 % of them, rounded, are ``validation``, the others ``train``; drawn with a seed, after sorting, so that everyone gets
the same.

Where the published code is followed and where not:

- the corpus of each task is all papers of the file, as statistics of terms were taken from all;
- a paper without an abstract is its title alone. The published code writes the word "nan" for it;
- relevant are judgments of 1. The published training pairs of TILDE also hold the 25 that are not;
- papers that are judged and not in the file cannot be ranked: they are left out, and counted. Queries are too;
- a validation query that is a test query as well would be left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import record  # noqa: E402

from termwise.collection import read_qrels  # noqa: E402
from termwise.errors import DataError, MalformedRecordError, MissingFileError, StorageError  # noqa: E402
from termwise.records import Qrel  # noqa: E402
from termwise.storage.atomic_file import written_whole  # noqa: E402

PAPERS = "paper_metadata_view_cite_read.json"
TASKS = {"co-view": "coview", "co-read": "coread", "co-cite": "cocite", "cite": "cite"}
"""Names of the tasks in the paper, and of their folders."""

VALIDATION = 0.15
SEED = 42


@dataclass(frozen=True)
class Task:
    """The judgments of one task by split, of papers that are there.

    Attributes
    ----------
    splits : mapping of str to list of Qrel
        ``train``, ``validation``, ``test``.
    lost : dict of str to int
        Judgments that are left out, by what is missing: ``queries`` or ``documents``; and ``both``, the validation
        queries that are left out because they are test queries.
    """

    splits: Mapping[str, list[Qrel]]
    lost: dict[str, int]


def convert(data: Path, out: Path) -> dict[str, dict[str, int]]:
    """Write the four collections, and return counts for each.

    Raises
    ------
    MissingFileError
        If a file is missing; all are named.
    MalformedRecordError, DataError
        If a file is not what it should be, or nothing of a split is left.
    """
    needed = [
        data / PAPERS,
        *(data / folder / f"{part}.qrel" for folder in TASKS.values() for part in ("val", "test")),
    ]
    missing = [path for path in needed if not path.is_file()]
    if missing:
        raise MissingFileError(
            "SciDocs is not complete",
            facts=[("missing", path) for path in missing],
            fixes=["name the folder data of SciDocs, as its README says how to download it"],
        )
    papers = read_papers(data / PAPERS)
    tasks = {name: read_task(data / folder, papers) for name, folder in TASKS.items()}
    shared: Path | None = None
    counts = {}
    for name, task in tasks.items():
        place = out / name
        try:
            (place / "qrels").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                "the collections cannot be written",
                facts=[("folder", place), ("reason", error.strerror)],
            ) from error
        shared = _corpus(place / "corpus.jsonl", papers, shared)
        asked = dict.fromkeys(qrel.query_id for qrels in task.splits.values() for qrel in qrels)
        with written_whole(place / "queries.jsonl") as write, written_whole(place / "seeds.tsv") as seed:
            seed("query-id\tcorpus-id\n")
            for query_id in asked:
                text = f"{papers[query_id]['title']} {papers[query_id]['text']}".strip()
                write(json.dumps({"_id": query_id, "text": text}, ensure_ascii=False) + "\n")
                seed(f"{query_id}\t{query_id}\n")
        for split, qrels in task.splits.items():
            with written_whole(place / "qrels" / f"{split}.tsv") as write:
                write("query-id\tcorpus-id\tscore\n")
                for qrel in qrels:
                    write(f"{qrel.query_id}\t{qrel.doc_id}\t{qrel.relevance}\n")
        empty = sum(not any(papers[query_id].values()) for query_id in asked)
        counts[name] = {
            "papers": len(papers),
            "judgments without their paper": task.lost["queries"] + task.lost["documents"],
            "validation queries that are test queries": task.lost["both"],
            "queries without a text": empty,
        } | {split: len({qrel.query_id for qrel in qrels}) for split, qrels in task.splits.items()}
    return counts


def read_papers(path: Path) -> dict[str, dict[str, str]]:
    """Read title and text of each paper; one without either is kept, and empty."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise MalformedRecordError(
            "the papers are not JSON in UTF-8", facts=[("file", path), ("reason", error)]
        ) from error
    if not isinstance(given, dict):
        raise MalformedRecordError(
            "the papers are not an object", facts=[("file", path), ("found", type(given).__name__)]
        )
    papers = {}
    for paper, about in given.items():
        if not paper.strip():
            raise MalformedRecordError("a paper has no identifier", facts=[("file", path)])
        if not isinstance(about, dict):
            raise MalformedRecordError(
                "a paper is not an object",
                facts=[("file", path), ("paper", paper), ("found", repr(about)[:60])],
            )
        papers[paper] = {
            "title": _text(about, "title", paper, path),
            "text": _text(about, "abstract", paper, path),
        }
    return papers


def read_task(folder: Path, papers: Mapping[str, Any]) -> Task:
    """Read and split the judgments of one task."""
    lost = {"queries": 0, "documents": 0, "both": 0}

    def known(name: str) -> list[Qrel]:
        kept = []
        for qrel in read_qrels(folder / name):
            if qrel.query_id not in papers:
                lost["queries"] += 1
            elif qrel.doc_id not in papers:
                lost["documents"] += 1
            else:
                kept.append(qrel)
        return kept

    test = known("test.qrel")
    reported = {qrel.query_id for qrel in test}
    given = known("val.qrel")
    lost["both"] = len({qrel.query_id for qrel in given} & reported)
    validation = [qrel for qrel in given if qrel.query_id not in reported]
    queries = sorted({qrel.query_id for qrel in validation})
    drawn = np.random.default_rng(SEED).permutation(len(queries))[: round(VALIDATION * len(queries))]
    chosen = {queries[place] for place in drawn.tolist()}
    splits = {
        "train": [qrel for qrel in validation if qrel.query_id not in chosen],
        "validation": [qrel for qrel in validation if qrel.query_id in chosen],
        "test": test,
    }
    empty = [split for split, qrels in splits.items() if not qrels]
    if empty:
        raise DataError(
            "no judgment is left in a split",
            facts=[
                ("folder", folder),
                ("splits", ", ".join(empty)),
                ("judgments without their paper", lost["queries"] + lost["documents"]),
            ],
        )
    return Task(splits, lost)


def _text(about: Mapping[str, Any], name: str, paper: str, path: Path) -> str:
    value = about.get(name)
    if value is not None and not isinstance(value, str):
        raise MalformedRecordError(
            f"the {name} of a paper is not a text",
            facts=[("file", path), ("paper", paper), (name, repr(value)[:60])],
        )
    whole = (value or "").encode("utf-8", "replace").decode("utf-8")  # without halves of surrogate pairs
    return " ".join(whole.split())


def _corpus(path: Path, papers: Mapping[str, Mapping[str, str]], same: Path | None) -> Path:
    """Write the papers, or link to where they are written already."""
    path.unlink(missing_ok=True)
    if same is not None:
        try:
            os.link(same, path)
        except OSError:
            path.write_bytes(same.read_bytes())
        return same
    with written_whole(path) as write:
        for paper, about in papers.items():
            write(json.dumps({"_id": paper, **about}, ensure_ascii=False) + "\n")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder data of SciDocs")
    parser.add_argument("--out", type=Path, required=True, help="folder for the four collections")
    given = parser.parse_args()
    for name, counts in convert(given.data, given.out).items():
        record.say(f"{name}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    record.script(main)
