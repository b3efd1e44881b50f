"""Generate queries for the judged texts of a collection, for the probe ``append-queries``.

    python experiments/probes/generate_queries.py --model DOC2QUERY --judged COLLECTION,QUERIES,QRELS
        --kept expansions.sqlite --out queries.jsonl
    termwise probe … doc2query:DOC2QUERY,longest=32,length=192,kept=expansions.sqlite
        --data append-queries=queries.jsonl

The model is that of ``train_doc2query.py``. Generated queries are stored in ``--kept``, from which an interrupted run
resumes and the ranker reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

from termwise.probes.core.judged_texts import JudgedTexts  # noqa: E402
from termwise.storage.atomic_file import written_whole  # noqa: E402
from termwise.yardsticks import CachedExpander  # noqa: E402

AT_ONCE = 512
"""Texts per step of progress."""


def main() -> None:
    parser = record.parser(__doc__, "threads")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--judged", required=True, help="COLLECTION,QUERIES,QRELS")
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--longest", type=int, default=32, help="maximum pieces of a query")
    parser.add_argument("--length", type=int, default=192, help="maximum pieces of a text")
    given = parser.parse_args()

    import torch

    from termwise.yardsticks.doc2query import Doc2Query

    torch.set_num_threads(given.threads)
    network = Doc2Query.open(given.model, longest=given.longest, length=given.length)
    expander = CachedExpander(network, given.kept)
    texts = JudgedTexts.read(*given.judged.split(",")).texts
    doc_ids = sorted(texts)
    queries: list[tuple[str, ...]] = []
    while len(queries) < len(doc_ids):
        part = doc_ids[len(queries) : len(queries) + AT_ONCE]
        queries += expander.expand([texts[doc_id] for doc_id in part])
        record.say(f"{len(queries):,} of {len(doc_ids):,} texts")
    with written_whole(given.out) as write:
        for doc_id, found in zip(doc_ids, queries, strict=True):
            write(json.dumps({"doc_id": doc_id, "queries": list(found)}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    record.script(main)
