"""The systems of the study on one collection: each as a run of its candidates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import record
from dividing import Part, by_paper
from encoded import index_counts, index_encoded
from judged import Judged, documents_folder, with_tail
from study_plan import Data, Plan, System

from termwise.collection import read_run, write_run
from termwise.encode import EncoderFolder, shipped_encoders
from termwise.engine.query_settings import QuerySettings
from termwise.errors import DataError, ParameterError
from termwise.models import NetworkModel, make_model
from termwise.records import Qrel, Ranking, Run
from termwise.search import Searcher

WEIGH = "weigh"
"""In a variant: how the terms of queries weigh. All else are settings of the model."""


@dataclass(frozen=True)
class Tools:
    """What systems are made with.

    Attributes
    ----------
    networks : mapping of str to str
        Folder or shipped name of each encoder and cross-encoder, by the name that the plan calls it.
    files : mapping of str to str
        Other files by name, such as a vocabulary: ``{name}`` in an analyzer of the plan stands for its path.
    work : Path
        Folder for indexes, runs, and what networks have read.
    threads : int
    """

    networks: Mapping[str, str]
    files: Mapping[str, str]
    work: Path
    threads: int = 1

    def lacking(self, plan: Plan, name: str) -> str | None:
        """Return why a system cannot be run, or None."""
        system = plan.systems[name]
        for network in system.needs:
            if network not in self.networks:
                return f"no network {network} was named"
        if "{" in system.analyzer:
            file = system.analyzer.partition("{")[2].rstrip("}")
            if file not in self.files:
                return f"no file {file} was named"
        return next((reason for one in system.mix if (reason := self.lacking(plan, one))), None)

    def identities(self, names: Iterable[str]) -> dict[str, str]:
        """Return what tells the networks from others."""
        found = {}
        for name in names:
            place = self.networks.get(name)
            if place is None:
                continue
            folder = Path(place)
            if place in shipped_encoders() or (folder / "encoder.json").is_file():
                found[name] = EncoderFolder.open(place).id
            else:
                found[name] = f"sha256:{record.file_hash(folder / 'model.safetensors')}"
        return found


class Bench:
    """One collection, the queries that are reported and those that choose, and the systems on it.

    Parameters
    ----------
    data : Data
        What is ranked.
    plan : Plan
        The declarative file.
    tools : Tools
        Networks and folders.
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
        """The measures; the graded ones only where a judgment says more than relevant."""
        graded = any(qrel.relevance > 1 for qrel in self.reported.qrels)
        return [*self.plan.measures, *(self.plan.graded if graded else ())]

    @property
    def qrels(self) -> list[Qrel]:
        """The judgments that are reported, without those of the documents that queries are made of."""
        return _without_seeds(self.reported)

    @property
    def all_qrels(self) -> list[Qrel]:
        """The same with those that choose."""
        return _without_seeds(self.judged)

    def run(self, system: System, variant: Mapping[str, Any]) -> Run:
        """Rank with a variant of a system: for all queries, those that choose included, seeds left out."""
        key = _digest(system.name, json.dumps(variant, sort_keys=True))
        if key not in self._runs:
            run = self._crossed(system) if system.cross_encoder else self._ranked(system, variant)
            self._runs[key] = Run(list(run), system.name)
        return self._runs[key]

    def searcher(self, system: System, variant: Mapping[str, Any]) -> Searcher:
        """Index with a variant of a system, or open what is there."""
        model = system.model or self._kind(system)
        settings = {**system.settings, **{key: str(value) for key, value in variant.items() if key != WEIGH}}
        expanding = settings.get("expansion_encoder", "none")
        if expanding != "none":
            settings["expansion_encoder"] = self.tools.networks[expanding]
        if system.encoder:
            settings["encoder"] = self.tools.networks[system.encoder]
        identities = self.tools.identities(system.needs)
        shown = {key: value for key, value in settings.items() if key not in ("encoder", "expansion_encoder")}
        folder = (
            self.work / f"{model}-{_digest(system.analyzer, json.dumps([shown, identities], sort_keys=True))}"
        )
        key = folder.name
        if key not in self._searchers:
            documents = self.judged.documents
            if system.encoder:
                network = make_model(model, settings)
                if not isinstance(network, NetworkModel):
                    raise ParameterError("an encoder goes with a network", facts=[("system", system.name)])
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
        weigh = QuerySettings.parse({name: str(value) for name, value in variant.get(WEIGH, {}).items()})
        return Searcher.open(folder, query=weigh) if weigh != QuerySettings() else self._searchers[key]

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
        timed = searcher.rank_many(self.judged.queries, k=k, candidates=candidates, name=system.name)
        return self.judged.without_seeds(timed.run, self.plan.depth)

    def _pool(self) -> Run:
        """Return the judged documents of each query, in an order that says nothing of their relevance."""
        pools: dict[str, list[str]] = {}
        for qrel in self.judged.qrels:
            if qrel.doc_id not in self.judged.seeds.get(qrel.query_id, ()):
                pools.setdefault(qrel.query_id, []).append(qrel.doc_id)
        rankings = []
        for query_id, doc_ids in pools.items():
            order = sorted(set(doc_ids), key=lambda doc_id: _digest(query_id, doc_id))
            rankings.append(Ranking(order, np.zeros(len(order)), query_id))
        return Run(rankings, "judged")

    def _crossed(self, system: System) -> Run:
        """Score the head of the first stage by a cross-encoder; the tail follows in its order.

        Nothing is chosen for it, so that it reads the queries that are reported alone.
        """
        from termwise.yardsticks.cross_encoder import CrossEncoderScorer

        reported = {query.query_id for query in self.reported.queries}
        whole = self.run(self.plan.systems[self.plan.first], {})
        first = Run([ranking for ranking in whole if ranking.query_id in reported], whole.name)
        place = self.tools.networks[system.cross_encoder]
        known = [
            self.judged.data,
            self.tools.identities(system.needs),
            system.length,
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
            scorer = CrossEncoderScorer.open(place, length=system.length)
            texts = self.texts()
            rankings = []
            asked = {query.query_id: query.text for query in self.judged.queries}
            for number, ranking in enumerate(first):
                scored = scorer.score(
                    asked[ranking.query_id], [texts[one] for one in ranking.doc_ids[: system.depth]]
                )
                order = np.argsort(-scored, kind="stable")
                rankings.append(
                    Ranking([ranking.doc_ids[i] for i in order.tolist()], scored[order], ranking.query_id)
                )
                if number % 20 == 0:
                    record.say(f"  {self.data.name}: cross-encoder, {number:,} of {len(first):,} queries")
            write_run(Run(rankings, system.name), file)
        return with_tail(read_run(file), first)

    def _check(self, folder: Path) -> None:
        """See that there is something to report and to choose by, before anything is ranked.

        Raises
        ------
        DataError
            If a judged query has no text, a part no query to choose by, or no judged document but its seeds.
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
                "there are no other queries to choose by",
                facts=[
                    ("collection", folder),
                    ("queries", len(self.reported.queries)),
                    ("folds", self.data.folds),
                ],
            )
        if self.data.candidates == "judged":
            ranked = {qrel.query_id for qrel in self.all_qrels}
            seedy = sorted(texts - ranked)
            if seedy:
                raise DataError(
                    "nothing is judged for a query but its own document",
                    facts=[("collection", folder), ("query", ", ".join(seedy[:5]))],
                )

    def _parts(self, choosing: Judged | None) -> list[Part]:
        asked = tuple(query.query_id for query in self.reported.queries)
        if choosing is None:
            return by_paper(asked, self.data.folds, self.data.paper)
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
                "a query is both reported and chosen by",
                facts=[("collection", self.data.name), ("query", min(both))],
            )
        return replace(
            self.reported,
            queries=[*self.reported.queries, *other.queries],
            qrels=[*self.reported.qrels, *other.qrels],
            data=self.reported.data | other.data,
        )


def _without_seeds(judged: Judged) -> list[Qrel]:
    return [qrel for qrel in judged.qrels if qrel.doc_id not in judged.seeds.get(qrel.query_id, ())]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
