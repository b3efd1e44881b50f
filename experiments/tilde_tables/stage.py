"""One dataset with what the tables of the TILDE paper rank it by: BM25, query likelihood, document likelihood."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar, cast

import numpy as np
import record
from encoded import Built, index_counts, index_encoded
from judged import PREFIX, Judged
from questions import Expanded, QuestionMaker, Questions

from termwise.collection import Collection
from termwise.encode import EncoderFolder, open_query_encoder
from termwise.errors import ParameterError
from termwise.models import Tilde
from termwise.records import Ranking, Run
from termwise.search import Searcher
from termwise.search.likelihoods import QueryDocumentLikelihood
from termwise.search.searcher import TimedRun

Precision = Literal["float32", "int8"]
First = Literal["bm25", "doctquery"]

T = TypeVar("T")

WARM = 10
"""Queries that are run before those that are timed."""


class Stage:
    """A dataset, its first stages, and the scores of TILDE on their candidates.

    Parameters
    ----------
    judged : Judged
        Documents, queries, judgments.
    work : Path
        Folder for what is indexed and encoded; datasets over the same documents share it.
    depth : int
        Documents of a first stage that are re-ranked.
    encode : {"all", "candidates"}
        Which documents a network reads: all, or those that a first stage finds for some query.
    threads : int
        Threads that encode and index; queries are run with one.
    precision : {"float32", "int8"} or None
        In which numbers networks compute.
    question_maker : Path or None
        Folder of the T5 of docTquery.
    """

    def __init__(
        self,
        judged: Judged,
        work: Path,
        *,
        depth: int = 1000,
        encode: Literal["all", "candidates"] = "all",
        threads: int = 1,
        precision: Precision | None = None,
        question_maker: Path | None = None,
    ) -> None:
        if encode not in ("all", "candidates"):
            raise ParameterError("all documents are encoded, or the candidates", facts=[("encode", encode)])
        self.judged = judged
        self._work = work
        self._depth = depth
        self._encode = encode
        self._threads = threads
        self._precision = precision
        self._question_maker = question_maker
        self._kept: dict[tuple[object, ...], object] = {}

    @property
    def makes_questions(self) -> bool:
        """Whether documents can be expanded by questions."""
        return self._question_maker is not None

    def first(self, name: First) -> TimedRun:
        """Rank with a first stage: BM25 over the documents, or over the documents with generated questions."""
        return self._once(("first", name), lambda: self._first(name))

    def index(self, encoder: str, form: str) -> Built:
        """Index the documents with TILDE."""

        def make() -> Built:
            documents, folder = self._encoded_documents()
            return index_encoded(
                documents,
                folder / f"tilde-{_digest(EncoderFolder.open(encoder).id, form)}",
                model=Tilde(encoder=encoder, form=form),  # type: ignore[arg-type]
                threads=self._threads,
                precision=self._precision,
            )

        return self._once(("tilde", encoder, form), make)

    def query_likelihood(
        self, encoder: str, form: str, first: First = "bm25", depth: int | None = None
    ) -> TimedRun:
        """Re-rank by ln P(q|d); see `likelihoods`."""

        def make() -> TimedRun:
            searcher = self.index(encoder, form).searcher
            candidates = self._head(first, depth)
            searcher.rank_many(self.judged.queries[:WARM], k=self._depth, candidates=candidates)
            timed = searcher.rank_many(self.judged.queries, k=self._depth, candidates=candidates)
            return replace(timed, run=self._with_tail(timed.run, first))

        return self._once(("ql", encoder, form, first, depth), make)

    def likelihoods(
        self,
        encoder: str | None,
        query_encoder: str,
        alpha: float,
        form: str,
        first: First = "bm25",
        depth: int | None = None,
    ) -> TimedRun:
        """Re-rank by alpha ln P(q|d) + (1 - alpha) of the mean ln P(t|q) over the terms of d.

        Parameters
        ----------
        encoder : str or None
            What reads documents; at ``alpha=0`` none is needed.
        query_encoder : str
            What reads queries.
        alpha, form, first
            Share of the query likelihood; form of the index; first stage.
        depth : int, optional
            Candidates that are re-ranked; those below keep their order, after them.
        """

        def make() -> TimedRun:
            shares = self._shares(query_encoder)
            if encoder is None and alpha > 0:
                raise ParameterError("a query likelihood needs an encoder", facts=[("alpha", alpha)])
            searcher = shares.searcher if encoder is None else self.index(encoder, form).searcher
            ranker = QueryDocumentLikelihood(
                searcher,
                alpha=alpha,
                documents=shares.searcher.index,
                query_encoder=open_query_encoder(query_encoder, precision=self._precision),
            )
            candidates = self._head(first, depth)
            ranker.rank_many(self.judged.queries[:WARM], candidates=candidates, k=self._depth)
            timed = ranker.rank_many(self.judged.queries, candidates=candidates, k=self._depth)
            return replace(timed, run=self._with_tail(timed.run, first))

        return self._once(("qdl", encoder, query_encoder, alpha, form, first, depth), make)

    def _head(self, first: First, depth: int | None) -> Run:
        """Return the candidates that are re-ranked."""
        run = self.first(first).run
        return run if depth is None else self.judged.without_seeds(run, depth)

    def _with_tail(self, run: Run, first: First) -> Run:
        """Put behind the re-ranked documents those of the first stage that were not, in its order."""
        rankings = []
        for ranking in run:
            known = set(ranking.doc_ids)
            tail = [
                doc_id for doc_id in self.first(first).run[ranking.query_id].doc_ids if doc_id not in known
            ]
            last = float(ranking.scores[-1]) if len(ranking) else 0.0
            scores = np.concatenate([ranking.scores, last - np.arange(1, len(tail) + 1)])
            rankings.append(Ranking([*ranking.doc_ids, *tail], scores, ranking.query_id))
        return Run(rankings, run.name)

    def _first(self, name: First) -> TimedRun:
        documents: Collection = self.judged.documents
        if name == "doctquery":
            documents = self._with_questions()
        searcher = self._bm25(documents, name)
        k = self._depth + self.judged.deepest
        searcher.rank_many(self.judged.queries[:WARM], k=k)
        timed = searcher.rank_many(self.judged.queries, k=k, name=name)
        return replace(timed, run=self.judged.without_seeds(timed.run, self._depth))

    def _bm25(self, documents: Collection, name: str) -> Searcher:
        return index_counts(
            documents,
            self._work / name,
            model="bm25",
            settings={"k1": "0.9", "b": "0.4"},
            analyzer="english",
            threads=self._threads,
        ).searcher

    def _with_questions(self) -> Expanded:
        if self._question_maker is None:
            raise ParameterError("docTquery needs a T5", fixes=["--t5 FOLDER"])
        maker = QuestionMaker(self._question_maker, threads=self._threads)
        questions = Questions.made(self.judged.documents, maker, self._work)
        return Expanded(self.judged.documents, questions)

    def _shares(self, encoder: str) -> Built:
        """Index the share of each term in each document, for the vocabulary of an encoder."""
        folder = EncoderFolder.open(encoder)

        def make() -> Built:
            documents, place = self._encoded_documents()
            analyzer = folder.query_analyzer
            return index_counts(
                documents,
                place / f"ml-{_digest(analyzer.spec.fingerprint)}",
                model="ml",
                settings={},
                analyzer=analyzer,
                quantiser="float32",
                threads=self._threads,
            )

        return self._once(("ml", folder.query_analyzer.spec.fingerprint), make)

    def _encoded_documents(self) -> tuple[Collection, Path]:
        if self._encode == "all":
            return self.judged.documents, self._work
        firsts: list[First] = ["bm25"] if self._question_maker is None else ["bm25", "doctquery"]
        pool = frozenset(
            doc_id for first in firsts for ranking in self.first(first).run for doc_id in ranking.doc_ids
        )
        reduced = self.judged.reduced_to(pool)
        return reduced.documents, self._work / f"pool-{_digest(*sorted(pool))}"

    def _once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])


def dataset(data: str, split: str, root: Path) -> tuple[str, str | Path]:
    """Return the name of a dataset and where it is: below `root`, a path, or in ir_datasets."""
    if data.startswith(PREFIX):
        return data.removeprefix(PREFIX), data
    folder = root / data if (root / data).is_dir() else Path(data)
    return f"{folder.name}/{split}", folder


def documents_folder(work: Path, data: str | Path) -> Path:
    """Return the work folder of the documents of a dataset: subsets of ir_datasets share theirs."""
    if str(data).startswith(PREFIX):
        return work / re.sub(r"[^\w-]+", "-", str(data).split("/")[0])
    corpus = next(
        Path(data) / name for name in ("corpus.jsonl", "corpus.jsonl.gz") if (Path(data) / name).is_file()
    )
    return work / f"{Path(data).name}-{record.file_hash(corpus)[:8]}"


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
