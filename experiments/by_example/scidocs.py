"""SciDocs as a judged collection, and as training pairs of each task.

    python experiments/by_example/scidocs.py --data SCIDOCS --out WORK/scidocs

SCIDOCS is the folder of the data set as published: `PAPERS`, an object of papers by identifier with ``title`` and
``abstract``, and for each of `TASKS` the judgments ``TASK/test.qrel`` and ``TASK/val.qrel`` in the format of TREC.

A query or document is the title and abstract of a paper. As in the query-by-example paper, 85 % of the queries of
``val.qrel`` are for training, and 15 % for choices. The paper has no seed; here the split is drawn with `SEED`.

The output is a BEIR folder with the splits ``TASK-test``, ``TASK-dev`` and ``TASK-train``, so that all tasks share one
index, and ``pairs/TASK`` with ``train`` and ``validation``: the queries with their relevant papers, for ``train.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

from termwise.collection import read_qrels  # noqa: E402
from termwise.errors import MalformedRecordError, MissingFileError  # noqa: E402
from termwise.records import Qrel  # noqa: E402

PAPERS = "paper_metadata_view_cite_read.json"
TASKS = ("coview", "coread", "cocite", "cite")

HELD_OUT = 0.15
"""Share of the queries of ``val.qrel`` that are for choices."""

SEED = 0


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of SciDocs, as published")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    convert(given.data, given.out)


def convert(data: Path, out: Path) -> None:
    """Write the collection and the pairs.

    Raises
    ------
    MissingFileError
        With all missing files.
    MalformedRecordError, DuplicateIdError
        If a file has another format.
    """
    files = {(task, part): data / task / f"{part}.qrel" for task in TASKS for part in ("val", "test")}
    missing = [path for path in (data / PAPERS, *files.values()) if not path.is_file()]
    if missing:
        raise MissingFileError(
            "SciDocs is not complete",
            facts=[("missing", path) for path in missing],
            fixes=["--data FOLDER, the folder of SciDocs with " + PAPERS],
        )
    papers = read_papers(data / PAPERS)
    texts = {paper: f"{title} {abstract}".strip() for paper, (title, abstract) in papers.items()}
    rows = ({"_id": one, "title": title, "text": text} for one, (title, text) in papers.items())
    _write(out / "corpus.jsonl", map(json.dumps, rows))
    asked: set[str] = set()
    for task in TASKS:
        judged = [read_qrels(files[task, part]) for part in ("val", "test")]
        val, test = ([one for one in part if {one.query_id, one.doc_id} <= texts.keys()] for part in judged)
        if left_out := sum(map(len, judged)) - len(val) - len(test):
            record.say(f"{task}: left out {left_out:,} judgments of papers without a text")
        for part, qrels in split(val, test).items():
            asked |= {qrel.query_id for qrel in qrels}
            lines = (f"{qrel.query_id}\t{qrel.doc_id}\t{qrel.relevance}" for qrel in qrels)
            _write(out / "qrels" / f"{task}-{part}.tsv", ["query-id\tcorpus-id\tscore", *lines])
            if part != "test":
                folder = out / "pairs" / task / {"train": "train", "dev": "validation"}[part]
                relevant = ((one.query_id, one.doc_id) for one in qrels if one.relevance > 0)
                pairs = ({"query": texts[query], "passage": texts[paper]} for query, paper in relevant)
                _write(folder / f"{task}.jsonl", map(json.dumps, pairs))
    queries = sorted(asked)
    _write(out / "queries.jsonl", (json.dumps({"_id": one, "text": texts[one]}) for one in queries))
    _write(out / "seeds.tsv", (f"{one}\t{one}" for one in queries))
    record.say(f"{out}: {len(papers):,} papers, {len(queries):,} queries of {len(TASKS)} tasks")


def read_papers(path: Path) -> dict[str, tuple[str, str]]:
    """Return title and abstract of each paper that has one of them."""
    try:
        found = {
            paper: tuple(" ".join((entry[field] or "").split()) for field in ("title", "abstract"))
            for paper, entry in json.loads(path.read_text(encoding="utf-8")).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedRecordError(
            "the papers of SciDocs cannot be read", facts=[("file", path), ("reason", repr(error))]
        ) from error
    return {paper: (title, abstract) for paper, (title, abstract) in found.items() if title or abstract}


def split(val: Sequence[Qrel], test: Sequence[Qrel]) -> Mapping[str, list[Qrel]]:
    """Return the judgments of the queries for the test, for choices and for training.

    Examples
    --------
    >>> val = [Qrel(f"q{number}", "d", 1) for number in range(20)]
    >>> {part: len(qrels) for part, qrels in split(val, [Qrel("q7", "d", 1)]).items()}
    {'test': 1, 'dev': 3, 'train': 16}
    """
    tested = {qrel.query_id for qrel in test}
    others = sorted({qrel.query_id for qrel in val} - tested)
    drawn = np.random.default_rng(SEED).permutation(len(others))[: round(HELD_OUT * len(others))]
    held_out = {others[place] for place in drawn.tolist()}
    return {
        "test": list(test),
        "dev": [qrel for qrel in val if qrel.query_id in held_out],
        "train": [qrel for qrel in val if qrel.query_id not in held_out | tested],
    }


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    record.script(main)
