"""EPIC in an index: its texts are rows of weights, and its queries are weights of a search.

    python experiments/rerankers/epic_index.py --epic MODELS/epic --work WORK

Question
    EPIC scores a text by the product of two rows over the vocabulary. How does its ranking of a whole collection, from
    an index, compare with BM25? How much does it lose if a text keeps its largest weights only?
Method
    The network reads each text once. An index of ``--model vectors`` has the largest weights of each text, as float32.
    The network also reads each query at query time; the saliences of its tokens are the weights of the search.
Result
    ``results/epic_index.md`` and ``.json``: nDCG@10 on the test queries, with paired differences to BM25.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import record  # noqa: E402
from judged_collection import Judged, documents_folder  # noqa: E402
from rerankers import BM25, PACKAGES, bm25_index, mark, sampled  # noqa: E402

import termwise  # noqa: E402
from termwise.indexing import BuildOptions  # noqa: E402
from termwise.records import Run  # noqa: E402
from termwise.search import Search, Searcher  # noqa: E402
from termwise.yardsticks.rerankers.epic import Epic  # noqa: E402
from termwise.yardsticks.rerankers.folder import read_scorer_folder  # noqa: E402
from termwise.yardsticks.rerankers.scorer import RerankerScorer  # noqa: E402

COLLECTIONS = {"adi": "test", "cranfield": "test", "csfcube": "test", "cystic_fibrosis": "test"}
KEEP = (100, 400, 1600)
MEASURE = "nDCG@10"
QUERIES = 150
BATCH = 16


def main() -> None:
    parser = record.parser(__doc__, "threads", "out")
    parser.add_argument("--epic", type=Path, required=True, help="folder of a trained EPIC")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--collections", type=Path, default=record.COLLECTIONS)
    given = parser.parse_args()
    about = record.provenance(PACKAGES)
    torch.set_num_threads(given.threads)
    scorer = read_scorer_folder(given.epic)
    found = {
        name: measured(Judged.read(name, given.collections / name, split), scorer, given)
        for name, split in COLLECTIONS.items()
    }
    trained = json.loads((given.epic / "scorer.json").read_text(encoding="utf-8"))["trained"]
    result = {
        "experiment": "epic_index",
        "network": trained,
        "collections": found,
        "provenance": about | {"seconds": record.seconds()},
    }
    record.save(result, page(result), given.out, "epic_index")


def measured(judged: Judged, scorer: RerankerScorer, given: Any) -> dict[str, Any]:
    """Return the measures of BM25 and of EPIC with each number of weights."""
    work = documents_folder(given.work, judged.source)
    chosen = sampled(judged, QUERIES)
    bm25 = bm25_index(judged, work, given.threads).searcher
    first = Run(list(chosen.without_seeds(bm25.rank_many(chosen.queries, k=100 + judged.deepest), 100)), BM25)
    documents = list(judged.documents.documents())
    begin = time.perf_counter()
    rows = text_rows(scorer, [one.text for one in documents], max(KEEP))
    seconds = time.perf_counter() - begin
    weights = {query.query_id: query_weights(scorer, query.text) for query in chosen.queries}
    runs, postings = [first], {}
    for keep in KEEP:
        searcher = epic_index(work / f"epic-{keep}", scorer, [one.doc_id for one in documents], rows, keep)
        name = f"EPIC, {keep} weights"
        postings[name] = sum(min(keep, len(terms)) for terms, _ in rows)
        rankings = [
            searcher.search(Search(query, weights=weights[query.query_id], k=100 + judged.deepest)).ranking
            for query in chosen.queries
        ]
        runs.append(Run(list(chosen.without_seeds(Run(rankings, name), 100)), name))
    comparison = chosen.compare(runs, [MEASURE], BM25)
    return {
        "queries": len(chosen.queries),
        "documents": len(documents),
        "encoding": round(seconds, 1),
        "means": {run.name: chosen.evaluate(run, [MEASURE]).means[MEASURE] for run in runs},
        "contrasts": {one.run: record.contrast_record(one) for one in comparison.contrasts},
        "postings": postings,
        "data": judged.data,
    }


@torch.inference_mode()
def text_rows(scorer: RerankerScorer, texts: Sequence[str], keep: int) -> list[tuple[Any, Any]]:
    """Return the terms and the `keep` largest weights of each text, the largest first."""
    network = scorer.network
    assert isinstance(network, Epic), "the folder has an EPIC"
    pieces = [network.reading.of_document(scorer.pieces(text)) for text in texts]
    rows: list[tuple[Any, Any]] = [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(texts)
    order = sorted(range(len(texts)), key=lambda place: len(pieces[place]))
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        inputs = network.inputs([(pieces[place], pieces[place]) for place in places], scorer.pieces)
        weights = network.weights(inputs["texts"])
        columns = [column for _, column in inputs["places"].value]
        for place, column in zip(places, columns, strict=True):
            values, terms = weights[column].topk(keep)
            kept = values > 0
            rows[place] = terms[kept].numpy(), values[kept].numpy()
        if start // BATCH % 20 == 0:
            record.say(f"{start + len(places):,} of {len(texts):,} texts")
    return rows


@torch.inference_mode()
def query_weights(scorer: RerankerScorer, text: str) -> dict[str, float]:
    """Return the salience of each token of a query, summed over its occurrences."""
    network = scorer.network
    assert isinstance(network, Epic), "the folder has an EPIC"
    query = network.reading.of_query(scorer.pieces(text))
    ((ids, saliences),) = network.saliences(network.inputs([(query, query)], scorer.pieces)["queries"])
    found: dict[str, float] = {}
    for term, salience in zip(ids.tolist(), saliences.tolist(), strict=True):
        token = scorer.analyzer.vocabulary.token(term)
        found[token] = found.get(token, 0.0) + salience
    return found


def epic_index(
    path: Path, scorer: RerankerScorer, doc_ids: Sequence[str], rows: Sequence[tuple[Any, Any]], keep: int
) -> Searcher:
    """Build an index of the largest weights of each text."""
    sizes = [min(keep, len(terms)) for terms, _ in rows]
    matrix = path.with_suffix(".npz")
    vocabulary = scorer.analyzer.vocabulary
    np.savez(
        matrix,
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=np.concatenate([terms[:keep] for terms, _ in rows]),
        data=np.concatenate([weights[:keep] for _, weights in rows]),
        shape=(len(rows), len(vocabulary)),
        doc_ids=np.array(doc_ids),
        tokens=np.array([vocabulary.token(number) for number in range(len(vocabulary))]),
    )
    options = BuildOptions(quantiser="float32")
    return termwise.build_index(
        matrix, path, model="vectors", analyzer="whitespace", options=options, overwrite=True
    )


def page(result: dict[str, Any]) -> str:
    """Return the page of the result."""
    found = result["collections"]
    names = list(next(iter(found.values()))["means"])
    lines = []
    for name, one in found.items():
        cells = [record.number(one["means"][BM25])]
        cells += [f"{record.number(one['means'][row])}{mark(one['contrasts'][row])}" for row in names[1:]]
        lines.append([name, f"{one['documents']:,}", str(one["queries"]), *cells])
    network = result["network"]
    parts = [
        "# EPIC in an index",
        f"{MEASURE} of the ranking of the whole collection, on at most {QUERIES} test queries. The network "
        f"({network['base']}, {network['pairs_read']:,} pairs read in training) reads each text once and each query at "
        "query time. + or −: the 95 % interval of the paired difference to BM25 does not contain 0. Made by "
        "`experiments/rerankers/epic_index.py`.",
        record.table(["collection", "documents", "queries", *names], lines),
        record.about(dict(result)),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    record.script(main)
