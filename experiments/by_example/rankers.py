"""Systems of the study on one collection, and the split of its queries into parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import record
from indexes import index_counts, index_encoded
from judged_collection import Judged, documents_folder, with_tail
from study_plan import Data, Plan, System

from termwise.collection import read_run, write_run
from termwise.encode import EncoderFolder, shipped_encoders
from termwise.engine.query_settings import QuerySettings
from termwise.errors import DataError, ParameterError
from termwise.models import NetworkModel, make_model
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers.specification import ScorerSpecification
from termwise.records import Qrel, Ranking, Run
from termwise.scorers import Background
from termwise.search import Search, Searcher
from termwise.search.candidates import rank_candidates

WEIGH = "weigh"
"""Key of the settings of query terms in a variant; all other keys are settings of the model."""

SEED = 0


@dataclass(frozen=True)
class Part:
    """Reported queries, and other queries on which choices for them are made."""

    reported: tuple[str, ...]
    choosing: tuple[str, ...]


def folds_by_paper(query_ids: Sequence[str], folds: int, separator: str) -> list[Part]:
    """Split queries into folds of similar size; queries of one paper are in one fold.

    Examples
    --------
    >>> [part.reported for part in folds_by_paper(["a_x", "b_x", "a_y", "c_x"], 2, "_")]
    [('b_x', 'c_x'), ('a_x', 'a_y')]
    """
    papers = [query_id.partition(separator)[0] if separator else query_id for query_id in query_ids]
    names = sorted(set(papers))
    order = np.random.default_rng(SEED).permutation(len(names))
    fold_of = {names[place]: number % folds for number, place in enumerate(order.tolist())}
    parts = []
    for fold in range(folds):
        inside = [fold_of[paper] == fold for paper in papers]
        reported = tuple(one for one, here in zip(query_ids, inside, strict=True) if here)
        choosing = tuple(one for one, here in zip(query_ids, inside, strict=True) if not here)
        parts.append(Part(reported, choosing))
    return [part for part in parts if part.reported]


def weighted(variant: Mapping[str, Any]) -> Search:
    """Return the search with the weighting of query terms of a variant."""
    given = {name: str(value) for name, value in variant.get(WEIGH, {}).items()}
    return Search(weighting=QuerySettings.parse(given))


@dataclass(frozen=True)
class Tools:
    """Networks, files and folders of the systems.

    Attributes
    ----------
    networks : mapping of str to str
        Folder or shipped name of each encoder and cross-encoder, by its name in the plan.
    files : mapping of str to str
        Other files by name, such as a vocabulary: ``{name}`` in an analyzer of the plan is replaced by its path.
    work : Path
        Work folder of indexes, runs and encoded documents.
    threads : int
    """

    networks: Mapping[str, str]
    files: Mapping[str, str]
    work: Path
    threads: int = 1

    def lacking(self, plan: Plan, name: str) -> str | None:
        """Return the reason why a system cannot run, or None."""
        system = plan.systems[name]
        for network in system.needs:
            if network not in self.networks:
                return f"no network {network} was named"
        if "{" in system.analyzer:
            file = system.analyzer.partition("{")[2].rstrip("}")
            if file not in self.files:
                return f"no file {file} was named"
        return next((reason for one in system.mix if (reason := self.lacking(plan, one))), None)

    def of_collection(self, name: str) -> Tools:
        """Return the tools with the networks ``NAME@COLLECTION`` of a collection under NAME."""
        own = {
            network.partition("@")[0]: place
            for network, place in self.networks.items()
            if network.partition("@")[2] == name
        }
        return replace(self, networks={**self.networks, **own})

    def identities(self, names: Iterable[str]) -> dict[str, str]:
        """Return the identifier of each network."""
        found = {}
        for name in names:
            place = self.networks.get(name)
            if place is None:
                continue
            folder = Path(place)
            if place in shipped_encoders() or (folder / "encoder.json").is_file():
                found[name] = EncoderFolder.open(place).id
            else:
                manifest = folder / "scorer.json"
                file = manifest if manifest.is_file() else folder / "model.safetensors"
                found[name] = f"sha256:{record.file_hash(file)}"
        return found


class Bench:
    """One collection with its reported queries, the queries of choices, and the systems.

    Parameters
    ----------
    data : Data
    plan : Plan
    tools : Tools
    collections : Path
        Folder of the collections.
    """

    def __init__(self, data: Data, plan: Plan, tools: Tools, collections: Path) -> None:
        self.data = data
        self.plan = plan
        self.tools = tools
        folder = collections / (data.folder or data.name)
        self.reported = Judged.read(data.name, folder, data.split)
        choosing = Judged.read(data.name, folder, data.choose) if data.choose else None
        self.parts = self._parts(choosing)
        self.judged = self._with_choosing(choosing)
        self._check(folder)
        self.work = documents_folder(tools.work, folder)
        self._runs: dict[str, Run] = {}
        self._searchers: dict[str, Searcher] = {}

    @property
    def measures(self) -> list[str]:
        """The measures, with the graded ones if judgments have grades above 1."""
        graded = any(qrel.relevance > 1 for qrel in self.reported.qrels)
        return [*self.plan.measures, *(self.plan.graded if graded else ())]

    @property
    def qrels(self) -> list[Qrel]:
        """Judgments of the reported queries, without the documents that are queries."""
        return self.reported.qrels_without_seeds

    @property
    def all_qrels(self) -> list[Qrel]:
        """Judgments of all queries, without the documents that are queries."""
        return self.judged.qrels_without_seeds

    def run(self, system: System, variant: Mapping[str, Any]) -> Run:
        """Rank all queries with a variant of a system, without seeds."""
        key = _digest(system.name, json.dumps(variant, sort_keys=True))
        if key not in self._runs:
            run = self._crossed(system) if system.cross_encoder else self._ranked(system, variant)
            self._runs[key] = Run(list(run), system.name)
        return self._runs[key]

    def searcher(self, system: System, variant: Mapping[str, Any]) -> Searcher:
        """Build or open the index of a variant of a system."""
        model = system.model or self._kind(system)
        settings = {**system.settings, **{key: str(value) for key, value in variant.items() if key != WEIGH}}
        expanding = settings.get("expansion_encoder", "none")
        if expanding != "none":
            settings["expansion_encoder"] = self.tools.networks[expanding]
        if system.encoder:
            settings["encoder"] = self.tools.networks[system.encoder]
        identities = self.tools.identities(system.needs)
        shown = {key: value for key, value in settings.items() if key not in ("encoder", "expansion_encoder")}
        documents, work = self.judged.documents, self.work
        if system.encoder and self.data.candidates == "judged":
            documents = self.judged.reduced_to(frozenset(qrel.doc_id for qrel in self.all_qrels)).documents
            work /= f"judged-{_digest(self.data.split, self.data.choose)}"
        folder = work / f"{model}-{_digest(system.analyzer, json.dumps([shown, identities], sort_keys=True))}"
        key = folder.name
        if key not in self._searchers:
            if system.encoder:
                network = make_model(model, settings)
                if not isinstance(network, NetworkModel):
                    raise ParameterError(
                        "the model of an encoder is not a network", facts=[("system", system.name)]
                    )
                built = index_encoded(
                    documents, folder, model=network, threads=self.tools.threads, reuse=True
                )
            else:
                built = index_counts(
                    documents,
                    folder,
                    model=model,
                    settings=settings,
                    analyzer=system.analyzer.format(**self.tools.files),
                    threads=self.tools.threads,
                    reuse=True,
                )
            self._searchers[key] = built.searcher
        return self._searchers[key]

    def texts(self) -> dict[str, str]:
        """Return the text of every document."""
        return {document.doc_id: document.text for document in self.judged.documents.documents()}

    def _kind(self, system: System) -> str:
        return EncoderFolder.open(self.tools.networks[system.encoder]).manifest.kind

    def _ranked(self, system: System, variant: Mapping[str, Any]) -> Run:
        searcher = self.searcher(system, variant)
        candidates = self._pool() if self.data.candidates == "judged" else None
        if candidates is None and system.encoder:
            candidates = self.run(self.plan.systems[self.plan.first], {})
        k = self.plan.depth + self.judged.deepest
        run = searcher.rank_many(
            self.judged.queries, k=k, candidates=candidates, search=weighted(variant), name=system.name
        )
        return self.judged.without_seeds(run, self.plan.depth)

    def _pool(self) -> Run:
        """Return the judged documents of each query, in an order independent of their relevance."""
        pools: dict[str, list[str]] = {}
        for qrel in self.all_qrels:
            pools.setdefault(qrel.query_id, []).append(qrel.doc_id)
        rankings = []
        for query_id, doc_ids in pools.items():
            order = sorted(set(doc_ids), key=lambda doc_id: _digest(query_id, doc_id))
            rankings.append(Ranking(order, np.zeros(len(order)), query_id))
        return Run(rankings, "judged")

    def _crossed(self, system: System) -> Run:
        """Score the head of the first stage with a cross-encoder; the tail keeps its order.

        It has no choices, so that only the reported queries are ranked.
        """
        reported = {query.query_id for query in self.reported.queries}
        whole = self.run(self.plan.systems[self.plan.first], {})
        first = Run([ranking for ranking in whole if ranking.query_id in reported], whole.name)
        place = self.tools.networks[system.cross_encoder]
        known = [
            self.judged.data,
            self.tools.identities(system.needs),
            dict(system.settings),
            system.depth,
            self.data.split,
            self.data.choose,
        ]
        head = _digest(
            json.dumps(known, sort_keys=True),
            *(f"{r.query_id} {d}" for r in first for d in r.doc_ids[: system.depth]),
        )
        file = self.work / f"crossed-{head}.trec"
        if not file.is_file():
            context = ScorerContext(Background(self.judged.documents.documents), self.tools.threads)
            scorer = open_scorer(ScorerSpecification(place, None, place, system.settings), context)
            texts = self.texts()
            rankings = []
            query_texts = {query.query_id: query.text for query in self.judged.queries}
            for number, ranking in enumerate(first):
                candidates = ranking.doc_ids[: system.depth]
                scored = scorer.score(query_texts[ranking.query_id], [texts[one] for one in candidates])
                rankings.append(rank_candidates(candidates, scored, ranking.query_id))
                if number % 20 == 0:
                    record.say(f"  {self.data.name}: cross-encoder, {number:,} of {len(first):,} queries")
            write_run(Run(rankings, system.name), file)
        return with_tail(read_run(file), first)

    def _check(self, folder: Path) -> None:
        """Check the queries and judgments before any ranking.

        Raises
        ------
        DataError
            If a judged query has no text or no judged document beside its seeds, or a part has no query for choices.
        """
        texts = {query.query_id for query in self.judged.queries}
        without = sorted({qrel.query_id for qrel in self.judged.qrels} - texts)
        if without:
            raise DataError(
                "a judged query has no text",
                facts=[("collection", folder), ("query", ", ".join(without[:5]))],
            )
        if not self.parts or any(not part.reported or not part.choosing for part in self.parts):
            raise DataError(
                "no other queries are left for choices",
                facts=[
                    ("collection", folder),
                    ("queries", len(self.reported.queries)),
                    ("folds", self.data.folds),
                ],
            )
        if self.data.candidates == "judged":
            ranked = {qrel.query_id for qrel in self.all_qrels}
            unjudged = sorted(texts - ranked)
            if unjudged:
                raise DataError(
                    "a query has no judgment beside its own document",
                    facts=[("collection", folder), ("query", ", ".join(unjudged[:5]))],
                )

    def _parts(self, choosing: Judged | None) -> list[Part]:
        asked = tuple(query.query_id for query in self.reported.queries)
        if choosing is None:
            return folds_by_paper(asked, self.data.folds, self.data.paper)
        return [Part(asked, tuple(query.query_id for query in choosing.queries))]

    def _with_choosing(self, other: Judged | None) -> Judged:
        """Return the collection with the queries of both splits."""
        if other is None:
            return self.reported
        both = {query.query_id for query in self.reported.queries} & {
            query.query_id for query in other.queries
        }
        if both:
            raise ParameterError(
                "a query is in both the reported split and that of choices",
                facts=[("collection", self.data.name), ("query", min(both))],
            )
        return replace(
            self.reported,
            queries=[*self.reported.queries, *other.queries],
            qrels=[*self.reported.qrels, *other.qrels],
            data=self.reported.data | other.data,
        )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
