"""Judged collections of the experiments, from BEIR folders and ir_datasets."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import record

from termwise.collection import Collection, open_collection, read_qrels, read_queries, read_seeds
from termwise.errors import MissingFileError
from termwise.evaluate import Comparison, Evaluation, compare, evaluate
from termwise.records import Document, Qrel, Query, Ranking, Run

PREFIX = "ir_datasets:"

LAYOUTS = (
    ("corpus.jsonl", "queries.jsonl", "qrels/{}.tsv"),
    ("docs.jsonl", "queries.tsv", "qrels.{}.txt"),
)
"""Names of the files with documents, queries and judgments: in BEIR folders, and in folders of TREC passages."""


@dataclass(frozen=True)
class Selection:
    """Some documents of a collection, in its order."""

    collection: Collection
    doc_ids: Container[str]
    length: int

    @property
    def name(self) -> str:
        """Name of the collection."""
        return self.collection.name

    def documents(self) -> Iterator[Document]:
        """Yield the chosen documents."""
        return (document for document in self.collection.documents() if document.doc_id in self.doc_ids)


@dataclass(frozen=True)
class Judged:
    """A collection with the queries and judgments of one split.

    Attributes
    ----------
    name : str
        Name in tables.
    source : str or Path
        BEIR folder, folder of TREC passages (see `LAYOUTS`), or ``ir_datasets:NAME``.
    documents : Collection
        Documents, read again for each index.
    queries : list of Query
        Judged queries.
    qrels : list of Qrel
        Judgments.
    seeds : mapping of str to frozenset of str
        For query by example: the documents that form a query, which are excluded from its results.
    data : dict of str to str
        SHA-256 of each file; empty for ir_datasets, which verifies its files.
    """

    name: str
    source: str | Path
    documents: Collection
    queries: list[Query]
    qrels: list[Qrel]
    seeds: Mapping[str, frozenset[str]]
    data: dict[str, str]

    @classmethod
    def read(cls, name: str, data: str | Path, split: str) -> Judged:
        """Read a folder, or a dataset of ir_datasets, whose name includes its split.

        Raises
        ------
        MissingFileError
            With all missing files of the folder.
        """
        if str(data).startswith(PREFIX):
            spec = str(data)
            qrels = read_qrels(spec)
            queries = _judged(read_queries(spec), qrels)
            return cls(name, data, open_collection(spec), queries, qrels, {}, {})
        folder = Path(data)
        corpus, asked, judgments = _files(folder, split)
        missing = [path for path in (corpus, asked, judgments) if not path.is_file()]
        if missing:
            raise MissingFileError(
                "a judged collection is not complete",
                facts=[("missing", path) for path in missing],
                fixes=["--collections FOLDER, with one folder per collection"],
            )
        qrels = read_qrels(judgments)
        seeds = folder / "seeds.tsv"
        files = [corpus, asked, judgments, *([seeds] if seeds.is_file() else [])]
        return cls(
            name,
            data,
            open_collection(folder),
            _judged(read_queries(asked), qrels),
            qrels,
            read_seeds(seeds) if seeds.is_file() else {},
            {path.relative_to(folder).as_posix(): record.file_hash(path) for path in files},
        )

    def reduced_to(self, doc_ids: frozenset[str]) -> Judged:
        """Return the collection with some of the documents only."""
        chosen = Selection(self.documents, doc_ids, len(doc_ids))
        return replace(self, documents=chosen)

    def sampled(self, most: int) -> Judged:
        """Return the collection with at most so many of its queries, drawn at random."""
        order = np.random.default_rng(record.SEED).permutation(len(self.queries))[:most]
        queries = [self.queries[place] for place in sorted(order.tolist())]
        kept = {query.query_id for query in queries}
        return replace(self, queries=queries, qrels=[one for one in self.qrels if one.query_id in kept])

    def without_seeds(self, run: Run, k: int) -> Run:
        """Remove the seeds of the queries from a run, and the ranks below `k`.

        Seeds are removed before scores are scaled or fused, because they score far above all other documents.
        """
        rankings = []
        for ranking in run:
            own = self.seeds.get(ranking.query_id, frozenset())
            kept = [place for place, doc_id in enumerate(ranking.doc_ids) if doc_id not in own][:k]
            doc_ids = [ranking.doc_ids[place] for place in kept]
            rankings.append(Ranking(doc_ids, ranking.scores[kept], ranking.query_id))
        return Run(rankings, run.name)

    @property
    def deepest(self) -> int:
        """Largest number of seeds of a query, by which a run has to be longer."""
        return max((len(doc_ids) for doc_ids in self.seeds.values()), default=0)

    @property
    def qrels_without_seeds(self) -> list[Qrel]:
        """Judgments without those of seeds."""
        return [qrel for qrel in self.qrels if qrel.doc_id not in self.seeds.get(qrel.query_id, ())]

    def evaluate(self, run: Run, measures: Sequence[str]) -> Evaluation:
        """Evaluate a run without seeds."""
        return evaluate(run, self.qrels, measures, exclude=self.seeds or None)

    def compare(
        self,
        runs: Sequence[Run],
        measures: Sequence[str],
        baseline: str,
        *,
        pairs: Literal["baseline", "all"] = "baseline",
    ) -> Comparison:
        """Compare runs with one of them, or all with each other, without seeds."""
        return compare(
            [self.evaluate(run, measures) for run in runs],
            baseline=baseline,
            pairs=pairs,
            resamples=record.RESAMPLES,
            seed=record.SEED,
        )


def with_tail(head: Run, first: Run) -> Run:
    """Append to a run the further documents of another one, in their order."""
    rankings = []
    for ranking in first:
        if ranking.query_id not in head:
            rankings.append(ranking)
            continue
        best = head[ranking.query_id]
        known = set(best.doc_ids)
        tail = [doc_id for doc_id in ranking.doc_ids if doc_id not in known]
        last = float(best.scores[-1]) if len(best) else 0.0
        scores = np.concatenate([best.scores, last - np.arange(1, len(tail) + 1)])
        rankings.append(Ranking([*best.doc_ids, *tail], scores, ranking.query_id))
    return Run(rankings, head.name)


def documents_folder(work: Path, data: str | Path) -> Path:
    """Return the work folder of the documents of a dataset; datasets with the same documents share it."""
    if str(data).startswith(PREFIX):
        ir_datasets = record.need("ir_datasets", "ir_datasets", "datasets of that name")
        documents = ir_datasets.docs_parent_id(str(data).removeprefix(PREFIX))
        return work / re.sub(r"[^\w-]+", "-", f"ir_datasets-{documents}")
    corpus = _files(Path(data), "")[0]
    return work / f"{Path(data).name}-{record.file_hash(corpus)[:8]}"


def _files(folder: Path, split: str) -> tuple[Path, Path, Path]:
    """Return the paths of documents, queries and judgments in the layout of a folder."""
    beir, passages = (tuple(_either(folder, name.format(split)) for name in layout) for layout in LAYOUTS)
    return passages if passages[0].is_file() else beir


def _either(folder: Path, name: str) -> Path:
    """Return the path of a file, or of its compressed form if only that exists."""
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() and not (folder / name).is_file() else folder / name


def _judged(queries: Iterator[Query], qrels: Sequence[Qrel]) -> list[Query]:
    judged = {qrel.query_id for qrel in qrels}
    return [query for query in queries if query.query_id in judged]
