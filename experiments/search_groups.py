r"""Candidates of a mixture in a browser: vectors that are read, and what is lost by reading few.

Question
    A page cannot read the vectors of all documents for every query. `termwise export --to web` puts similar documents
    into groups, and a search reads those of the documents that are estimated best. How far is the ranking from that
    over all documents, and how many groups are read?
Ways
    *all documents*: the linear form. *first n, D coordinates*: the groups of the n documents with the largest sum of
    the score of the other parts and the product with the first D principal coordinates. *first n of the other parts*:
    the documents that a search without vectors finds first. *without vectors* and *vectors alone*: one kind of part.
Run
    ``search_groups.py INDEX COLLECTION [INDEX COLLECTION ...]``, mixtures with stored scales and BEIR folders.
Quality
    nDCG@10 of at most `QUERIES` queries, the overlap of ten results with those over all documents, the mean number of
    groups, and kilobytes of vectors.
Result
    ``results/search_groups.md`` and ``.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from judged_collection import Judged

import termwise
from termwise.engine.retrieval import score_documents
from termwise.evaluate import evaluate
from termwise.export import ExportSource, LinearForm
from termwise.export.web import groups
from termwise.export.web.groups import grouped, principal_coordinates, window_means
from termwise.records import Ranking, Run

PACKAGES = ("termwise", "numpy", "ir-measures")
QUERIES = 300
MEASURE = "nDCG@10"
COORDINATES = (8, 16, 24, 32)
READ = (15, 20, 30)
FIRST = (20, 50, 100)

Floats = npt.NDArray[np.float64]
Candidates = Callable[[Floats, Floats, Floats], tuple[npt.NDArray[np.int64], int]]


def measured(index: Path, collection: Path, split: str) -> list[list[str]]:
    """Return the rows of the table of one mixture; judgments of documents that the index lacks are left out."""
    judged = Judged.read(collection.name, collection, split)
    source = ExportSource(termwise.open(index))
    known = set(source.index.doc_ids(np.arange(len(source), dtype=np.int64)))
    qrels = [qrel for qrel in judged.qrels if qrel.doc_id in known]
    answered = {qrel.query_id for qrel in qrels}
    queries = [query for query in judged.queries if query.query_id in answered][:QUERIES]
    kept = {query.query_id for query in queries}
    qrels = [qrel for qrel in qrels if qrel.query_id in kept]
    form = LinearForm(source)
    every = np.arange(len(source), dtype=np.int64)
    ids = source.index.doc_ids(every)
    dense = next(part for part in source.parts if part.kind == "dense")
    vectors = dense.index.document_vectors(every)
    means, windows = window_means(vectors), np.diff(vectors.indptr)
    scored = [_scores(form, query.text, every) for query in queries]

    def row(name: str, candidates: Candidates, *, others: bool = True, by_vectors: bool = True) -> list[str]:
        rankings, overlaps, read, files = [], [], [], []
        for query, (other, own, vector) in zip(queries, scored, strict=True):
            chosen, count = candidates(other, own, vector)
            files.append(count)
            total = other * others + own * by_vectors
            best = chosen[np.argsort(-total[chosen], kind="stable")[:10]]
            exact = np.argsort(-(other + own), kind="stable")[:10]
            overlaps.append(len(np.intersect1d(best, exact)) / 10)
            read.append(int(windows[chosen].sum()) * vectors.dimensions * by_vectors)
            rankings.append(Ranking([ids[place] for place in best.tolist()], total[best], query.query_id))
        value = evaluate(Run(rankings, name), qrels, [MEASURE]).means[MEASURE]
        return [
            name,
            record.number(value, digits=4),
            f"{np.mean(overlaps):.3f}",
            f"{np.mean(files):.1f}",
            f"{np.mean(read) / 1000:,.0f}",
        ]

    rows = [
        row("all documents", lambda other, own, vector: (every, 0)),
        row("without vectors", lambda other, own, vector: (every, 0), by_vectors=False),
        row("vectors alone", lambda other, own, vector: (every, 0), others=False),
    ]
    for count in FIRST:

        def first(
            other: Floats, own: Floats, vector: Floats, count: int = count
        ) -> tuple[npt.NDArray[np.int64], int]:
            return np.sort(np.argsort(-other, kind="stable")[:count]), 0

        rows.append(row(f"first {count} of the other parts", first))
    parts = grouped(means, windows, groups.WINDOWS)
    owners = np.zeros(len(every), dtype=np.int64)
    for number, group in enumerate(parts):
        owners[group] = number
    for coordinates in COORDINATES:
        axes, places = principal_coordinates(means, coordinates)
        basis = axes.matrix().astype(np.float64)
        for count in READ:

            def chosen(
                other: Floats,
                own: Floats,
                vector: Floats,
                basis: Floats = basis,
                places: npt.NDArray[np.int8] = places,
                count: int = count,
            ) -> tuple[npt.NDArray[np.int64], int]:
                estimates = other + places @ (basis @ vector)
                read = np.unique(owners[np.argsort(-estimates, kind="stable")[:count]])
                return np.sort(np.concatenate([parts[number] for number in read.tolist()])), len(read)

            rows.append(row(f"first {count}, {coordinates} coordinates", chosen))
    return rows


def _scores(form: LinearForm, text: str, every: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return the scores of all documents in the other parts and by vectors, and the query vector in their unit."""
    other, own = np.zeros(len(every)), np.zeros(len(every))
    vector = np.zeros(1)
    for each in form.part_queries(text):
        scores, _ = score_documents(each.part.index, each.vector, every)
        scores = scores * (each.coefficient / each.vector.unit)
        if each.vector.vector is None:
            other += scores
        else:
            own += scores
            vector = each.vector.vector * each.coefficient
    return other, own, vector


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "out")
    parser.add_argument("pairs", nargs="+", type=Path, help="index and collection, in turns")
    parser.add_argument("--split", default="train")
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    tables: dict[str, Any] = {}
    parts = [
        "# Candidates of a mixture in a browser",
        f"Made by `experiments/search_groups.py` on at most {QUERIES} queries of the split {arguments.split}. "
        f"Groups have at most {groups.WINDOWS} windows. Kilobytes are those of the vectors that are read.",
    ]
    for index, collection in zip(arguments.pairs[::2], arguments.pairs[1::2], strict=True):
        documents = len(termwise.open(index).index)
        title = f"{index.stem}, {collection.name}, {documents:,} documents"
        tables[title] = rows = measured(index, collection, arguments.split)
        parts += [f"## {title}", record.table(("candidates", MEASURE, "overlap", "groups", "kB"), rows)]
        record.say(f"{title}: {record.seconds()} s")
    result = {
        "experiment": "search_groups",
        "tables": tables,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(
        result, "\n\n".join([*parts, record.about(result, intervals=False)]), arguments.out, "search_groups"
    )


if __name__ == "__main__":
    record.script(main)
