"""A dataset with the rankers of the TILDE paper: BM25, query likelihood, document likelihood."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
import record
from doctquery import Expanded, open_expander
from indexes import Built, Quantiser, index_counts, index_encoded
from judged_collection import PREFIX, Judged, documents_folder, with_tail

from termwise.collection import Collection, read_run
from termwise.encode import EncoderFolder, open_query_encoder
from termwise.errors import ParameterError, UnknownNameError
from termwise.indexing.recipes import RECIPES
from termwise.models import NetworkModel, Tilde, TildeV2, make_model
from termwise.rankers import ScorerContext, open_scorer
from termwise.records import Query, Run
from termwise.scorers import Background
from termwise.search import Searcher
from termwise.search.candidates import CandidateRanker, rank_candidates
from termwise.search.query_document_likelihood import (
    QueryDocumentLikelihood,
    QueryLikelihoods,
    StoredQueryVectors,
)
from termwise.search.timed_run import TimedRun
from termwise.text import Analyzer

Precision = Literal["float32", "int8"]
First = Literal["bm25", "doctquery"]

T = TypeVar("T")

ENCODE = ("auto", "all", "candidates")
FORMS = ("auto", "exact", "compact")


@dataclass(frozen=True)
class Limits:
    """Numbers of documents up to which ``auto`` selects the more expensive way.

    Attributes
    ----------
    read : int
        Up to this number, networks encode all documents; above, the candidates of the first stage.
    exact : int
        Up to this number of encoded documents, indexes have the exact form, 170 kB a document; above, the compact form.
    """

    read: int = 100_000
    exact: int = 50_000


@dataclass(frozen=True)
class Timing:
    """Latency measurement: warm-up queries, and passes over all queries; a query has the median of its passes."""

    warm: int = 10
    passes: int = 1


class Stage:
    """A dataset, its first stages, and the scores of TILDE on their candidates.

    Parameters
    ----------
    judged : Judged
    work : Path
        Folder of indexes and encoded documents of this collection (`documents_folder`), which datasets over the same
        documents share and reuse.
    depth : int
        Number of candidates of a first stage.
    encode : {"auto", "all", "candidates"}
        Documents that networks encode: all, or the candidates of the first stages; see `Limits`.
    limits : Limits
        Meaning of ``auto`` in `encode` and in the form of an index.
    timing : Timing
    threads : int
        Threads of encoding and indexing; queries run on one.
    precision : {"float32", "int8"} or None
        Number format of networks.
    question_maker : Path or None
        Folder of the T5 of docTquery.
    questions : int
        Questions that it generates per document.
    candidates : Run, optional
        First stage in place of BM25.
    """

    def __init__(
        self,
        judged: Judged,
        work: Path,
        *,
        depth: int = 1000,
        encode: Literal["auto", "all", "candidates"] = "all",
        limits: Limits | None = None,
        timing: Timing | None = None,
        threads: int = 1,
        precision: Precision | None = None,
        question_maker: Path | None = None,
        questions: int = 40,
        candidates: Run | None = None,
    ) -> None:
        if encode not in ENCODE:
            raise UnknownNameError.of("way to encode", encode, ENCODE)
        self.judged = judged
        self.work = work
        self._depth = depth
        self._encode = encode
        self._limits = limits or Limits()
        self._timing = timing or Timing()
        self._threads = threads
        self._precision = precision
        self._question_maker = question_maker
        self._questions = questions
        self._candidates = candidates
        self._kept: dict[tuple[object, ...], object] = {}

    @property
    def makes_questions(self) -> bool:
        """Whether documents can be expanded with questions."""
        return self._question_maker is not None

    @property
    def timed_first(self) -> bool:
        """Whether BM25 runs here, so that its time is known."""
        return self._candidates is None

    @property
    def by_example(self) -> bool:
        """Whether every query is a document of the collection."""
        return all(len(self.judged.seeds.get(query.query_id, ())) == 1 for query in self.judged.queries)

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of documents and of encoded documents, and the latency measurement, for the result file."""
        documents, _ = self._encoded_documents()
        return {
            "documents": self._documents,
            "networks read": self._which,
            "documents read": documents.length or self._documents,
            "timing": asdict(self._timing),
        }

    def form(self, given: str) -> str:
        """Return the form of an index, with ``auto`` resolved by the number of encoded documents."""
        if given not in FORMS:
            raise UnknownNameError.of("form", given, FORMS)
        if given != "auto":
            return given
        return "exact" if self.facts["documents read"] <= self._limits.exact else "compact"

    def mean(self, run: Run, measure: str) -> dict[str, Any]:
        """Return the mean of a measure with its interval."""
        values = self.judged.evaluate(run, [measure]).values[measure]
        return {"mean": float(values.mean()), "interval": record.mean_interval(values)}

    def re_ranked_and_alone(self, built: Built) -> tuple[Run, Run]:
        """Return two runs of an index: re-ranking of the candidates of BM25, and as first stage."""
        judged, searcher = self.judged, built.searcher
        candidates = self.first("bm25").run
        again = searcher.rank_many(judged.queries, k=self._depth, candidates=candidates)
        alone = searcher.rank_many(judged.queries, k=self._depth + judged.deepest)
        return again, judged.without_seeds(alone, self._depth)

    def first(self, name: First) -> TimedRun:
        """Rank with a first stage: BM25 over the documents, or over the documents with generated questions."""
        return self._once(("first", name), lambda: self._first(name))

    def index(self, encoder: str, form: str) -> Built:
        """Build or open the index of TILDE."""
        chosen = self.form(form)
        return self._encoded(Tilde(encoder=encoder, form=chosen), chosen)  # type: ignore[arg-type]

    def query_likelihood(
        self, encoder: str, form: str, first: First = "bm25", depth: int | None = None
    ) -> TimedRun:
        """Re-rank by ln P(q|d); see `likelihoods`."""
        key = ("ql", encoder, form, first, depth)
        return self._once(key, lambda: self._re_ranked(self.index(encoder, form).searcher, first, depth))

    def tildev2(self, encoder: str, first: First = "bm25", depth: int | None = None) -> TimedRun:
        """Re-rank by the weights of TILDEv2."""
        return self._re_ranked(self._encoded(TildeV2(encoder=encoder)).searcher, first, depth)

    def mixture(
        self, name: str, encoders: Mapping[str, str], first: First = "bm25", depth: int | None = None
    ) -> TimedRun:
        """Re-rank with a mixture of ``termwise index --model``; BM25 counts the encoded documents."""
        recipe = RECIPES[name]
        parts = {}
        for part in recipe.parts:
            if part.model == "bm25":
                parts[part.name] = self._counted("bm25", "english", part.settings, part.name)
            else:
                encoder = encoders[part.settings.get("encoder", part.model)]
                model = make_model(part.model, {**part.settings, "encoder": encoder})
                assert isinstance(model, NetworkModel)
                parts[part.name] = self._encoded(model, part.name)
        searcher = Searcher.mix(
            {part: built.searcher for part, built in parts.items()},
            [part.weight for part in recipe.parts],
            depth=recipe.depth,
            feedback=recipe.feedback,
            only_scoring=[part.name for part in recipe.parts if not part.retrieves],
        )
        return self._re_ranked(searcher, first, depth)

    def scored(self, specification: str, first: First = "bm25", depth: int | None = None) -> TimedRun:
        """Re-rank by a scorer that reads the texts, see `termwise.rankers.open_scorer`; each query is timed once."""

        def make() -> TimedRun:
            scorer = open_scorer(specification, ScorerContext(Background(list), device="cpu"))
            candidates = self._head(first, depth)
            wanted = {doc_id for ranking in candidates for doc_id in ranking.doc_ids}
            texts = {
                document.doc_id: document.text
                for document in self.judged.documents.documents()
                if document.doc_id in wanted
            }
            rankings, seconds = [], []
            for query in self.judged.queries:
                doc_ids = candidates[query.query_id].doc_ids if query.query_id in candidates else ()
                began = time.perf_counter()
                scores = scorer.score(query.text, [texts[doc_id] for doc_id in doc_ids])
                rankings.append(rank_candidates(doc_ids, scores, query.query_id))
                seconds.append(time.perf_counter() - began)
            run = with_tail(Run(rankings, scorer.name), self.first(first).run)
            return TimedRun(run, np.zeros(len(seconds)), np.array(seconds))

        return self._once(("scorer", specification, first, depth), make)

    def _re_ranked(self, searcher: Searcher | CandidateRanker, first: First, depth: int | None) -> TimedRun:
        candidates = self._head(first, depth)
        timed = self._timed(lambda queries: searcher.timed_run(queries, k=self._depth, candidates=candidates))
        return replace(timed, run=with_tail(timed.run, self.first(first).run))

    def _encoded(self, model: NetworkModel, *key: str) -> Built:
        """Build or open the index of a network."""

        def make() -> Built:
            documents, folder = self._encoded_documents()
            return index_encoded(
                documents,
                folder / f"{model.name}-{_digest(EncoderFolder.open(model.encoder).id, *key)}",
                model=model,
                threads=self._threads,
                precision=self._precision,
                reuse=True,
            )

        return self._once((model, *key), make)

    def likelihoods(
        self,
        encoder: str | None,
        query_encoder: str,
        alpha: float,
        form: str,
        first: First = "bm25",
        depth: int | None = None,
        stored: str | None = None,
    ) -> TimedRun:
        """Re-rank by alpha ln P(q|d) + (1 - alpha) of the mean ln P(t|q) over the terms of d.

        Parameters
        ----------
        encoder : str or None
            Encoder of documents; None at ``alpha=0``.
        query_encoder : str
            Encoder of queries.
        alpha, form, first
            Share of the query likelihood; form of the index; first stage.
        depth : int, optional
            Number of candidates that are re-ranked; the others follow in their order.
        stored : {"auto", "exact", "compact"}, optional
            If queries are documents of the collection: form of the index with their query vectors, which were encoded
            at index time, so that no network runs at query time.
        """

        def make() -> TimedRun:
            shares = self._shares(query_encoder)
            if encoder is None and alpha > 0:
                raise ParameterError("a query likelihood needs an encoder", facts=[("alpha", alpha)])
            searcher = shares.searcher if encoder is None else self.index(encoder, form).searcher
            reader: QueryLikelihoods
            examples: dict[str, str] = {}
            if stored is None:
                reader = open_query_encoder(query_encoder, precision=self._precision)
            else:
                reader, examples = self._stored(query_encoder, stored)
            ranker = QueryDocumentLikelihood(
                searcher,
                alpha=alpha,
                documents=shares.searcher.index,
                query_encoder=reader,
                examples=examples,
            )
            return self._re_ranked(ranker, first, depth)

        return self._once(("qdl", encoder, query_encoder, alpha, form, first, depth, stored), make)

    def _stored(self, encoder: str, form: str) -> tuple[StoredQueryVectors, dict[str, str]]:
        """Return the stored query vectors of documents that are queries, and the document of each query."""
        if not self.by_example:
            raise ParameterError(
                "only queries that are documents can be encoded in advance",
                facts=[("dataset", self.judged.name)],
            )
        examples = {query.query_id: min(self.judged.seeds[query.query_id]) for query in self.judged.queries}
        asked = frozenset(examples.values())
        folder = EncoderFolder.open(encoder)
        built = index_encoded(
            self.judged.reduced_to(asked).documents,
            self.work / f"asked-{_digest(*sorted(asked))}" / f"tilde-{_digest(folder.id, form)}",
            # The windows of queries have the full length of the network.
            model=Tilde(
                encoder=encoder,
                form=self.form(form),  # type: ignore[arg-type]
                side="query",
                length=folder.manifest.positions,
            ),
            threads=self._threads,
            precision=self._precision,
            reuse=True,
        )
        return StoredQueryVectors(built.searcher.index), examples

    def _timed(self, run: Callable[[list[Query]], TimedRun]) -> TimedRun:
        """Run all queries in several passes, and return the median seconds of each query."""
        run(self.judged.queries[: self._timing.warm])
        first = run(self.judged.queries)
        seconds = [(first.encoding, first.scoring)]
        for _ in range(self._timing.passes - 1):
            again = run(self.judged.queries)
            seconds.append((again.encoding, again.scoring))
        encoding, scoring = np.median(np.array(seconds), axis=0)
        return replace(first, encoding=encoding, scoring=scoring)

    def _head(self, first: First, depth: int | None) -> Run:
        """Return the candidates to re-rank."""
        run = self.first(first).run
        return run if depth is None else self.judged.without_seeds(run, depth)

    def _first(self, name: First) -> TimedRun:
        if name == "bm25" and self._candidates is not None:
            untimed = np.zeros(0)
            return TimedRun(self.judged.without_seeds(self._candidates, self._depth), untimed, untimed)
        searcher = self._bm25(name).searcher
        k = self._depth + self.judged.deepest
        timed = self._timed(lambda queries: searcher.timed_run(queries, k=k, name=name))
        return replace(timed, run=self.judged.without_seeds(timed.run, self._depth))

    def _bm25(self, name: First) -> Built:
        def make() -> Built:
            documents: Collection = self.judged.documents
            folder = name
            if name == "doctquery":
                documents = expanded = self._with_questions()
                folder = f"doctquery-{_digest(expanded.expander.fingerprint)}"
            return index_counts(
                documents,
                self.work / folder,
                model="bm25",
                settings={"k1": "0.9", "b": "0.4"},
                analyzer="english",
                threads=self._threads,
                reuse=True,
            )

        return self._once(("bm25", name), make)

    def _with_questions(self) -> Expanded:
        """Return the documents with their questions."""
        if self._question_maker is None:
            raise ParameterError("docTquery needs a T5", fixes=["--t5 FOLDER"])
        kept = self.work / "questions.sqlite"
        expander = open_expander(self._question_maker, kept, questions=self._questions, threads=self._threads)
        return Expanded(self.judged.documents, expander)

    def _shares(self, encoder: str) -> Built:
        """Build or open the index of the share of each term in each document, with the vocabulary of an encoder."""
        analyzer = EncoderFolder.open(encoder).query_analyzer
        return self._counted("ml", analyzer, {}, _digest(analyzer.spec.fingerprint), "float32")

    def _counted(
        self,
        model: str,
        analyzer: str | Analyzer,
        settings: Mapping[str, str],
        key: str,
        quantiser: Quantiser = "uint8",
    ) -> Built:
        """Build or open an index of the encoded documents without a network."""

        def make() -> Built:
            documents, folder = self._encoded_documents()
            return index_counts(
                documents,
                folder / f"{model}-{key}",
                model=model,
                settings=settings,
                analyzer=analyzer,
                quantiser=quantiser,
                threads=self._threads,
                reuse=True,
            )

        return self._once(("counted", model, key), make)

    @property
    def _documents(self) -> int:
        return self.judged.documents.length or self._bm25("bm25").documents

    @property
    def _which(self) -> str:
        if self._encode != "auto":
            return self._encode
        few = self._candidates is None and self._documents <= self._limits.read
        return "all" if few else "candidates"

    def _encoded_documents(self) -> tuple[Collection, Path]:
        """Return the documents that networks encode, and the folder of their indexes."""
        return self._once(("documents",), self._read_documents)

    def _read_documents(self) -> tuple[Collection, Path]:
        if self._which == "all":
            return self.judged.documents, self.work
        firsts: list[First] = ["bm25"] if self._question_maker is None else ["bm25", "doctquery"]
        pool = frozenset(
            doc_id for first in firsts for ranking in self.first(first).run for doc_id in ranking.doc_ids
        )
        reduced = self.judged.reduced_to(pool)
        return reduced.documents, self.work / f"pool-{_digest(*sorted(pool))}"

    def _once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])


def open_stage(
    data: str, split: str, root: Path, work: Path, *, candidates: Sequence[Path] = (), **settings: Any
) -> Stage:
    """Open a dataset below a folder of collections, at a path or in ir_datasets; see `Stage` for the settings.

    The rankings of `candidates`, runs of one or several datasets, are the first stage of their queries.
    """
    name, source = dataset(data, split, root)
    judged = Judged.read(name, source, split)
    given = None
    if candidates:
        rankings = {ranking.query_id: ranking for path in candidates for ranking in read_run(path)}
        given = Run([rankings[one.query_id] for one in judged.queries if one.query_id in rankings], "bm25")
        if not len(given):
            raise ParameterError(
                "the candidates are of other queries",
                facts=[("dataset", name), ("runs", ", ".join(map(str, candidates)))],
            )
        judged = replace(
            judged, data=judged.data | {path.name: record.file_hash(path) for path in candidates}
        )
    return Stage(judged, documents_folder(work, source), candidates=given, **settings)


def dataset(data: str, split: str, root: Path) -> tuple[str, str | Path]:
    """Return the name of a dataset and its location: below `root`, a path, or in ir_datasets."""
    if data.startswith(PREFIX):
        return data.removeprefix(PREFIX), data
    folder = root / data if (root / data).is_dir() else Path(data)
    return f"{folder.name}/{split}", folder


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]
