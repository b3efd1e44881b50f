"""The systems of the experiment on one collection: each ranks, and says what it cost."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from dense import DenseEncoder, DenseIndex
from encoded import Built, index_counts, index_encoded, index_trimmed
from judged import Judged
from plan import BASELINE, Choices, Plan, System

from termwise.errors import ParameterError
from termwise.models import NetworkModel, Tilde, make_model
from termwise.records import Run
from termwise.search.interpolation import interpolate, reciprocal_rank_fusion
from termwise.search.searcher import TimedRun


@dataclass(frozen=True)
class Tools:
    """What systems are made with; the same for all collections.

    Attributes
    ----------
    encoders : mapping of str to str
        Encoder folder, or shipped name, by the name of its model.
    dense : Path or None
        Folder of the dense encoder.
    work : Path
        Folder for indexes and for what is encoded.
    threads : int
        Threads that encode and index; queries are always run with one.
    precision : {"float32", "int8"} or None
        In which numbers networks compute.
    """

    encoders: Mapping[str, str]
    dense: Path | None
    work: Path
    threads: int = 1
    precision: Literal["float32", "int8"] | None = None
    _dense: dict[int, DenseEncoder] = field(default_factory=dict, repr=False)

    def dense_encoder(self, length: int) -> DenseEncoder:
        """Load the dense encoder once."""
        if self.dense is None:
            raise ParameterError("the dense encoder is not named", fixes=["--dense FOLDER"])
        if length not in self._dense:
            self._dense[length] = DenseEncoder(self.dense, length=length, threads=self.threads)
        return self._dense[length]

    def lacking(self, plan: Plan, name: str) -> str | None:
        """Return why a system cannot be run, or None."""
        system = plan.systems[name]
        for part in system.parts:
            reason = self.lacking(plan, part)
            if reason is not None:
                return reason
        if system.dense and self.dense is None:
            return "no dense encoder was named (--dense FOLDER)"
        if system.model in NETWORKS and system.model not in self.encoders:
            return f"no encoder was named (--encoder {system.model}=FOLDER)"
        if system.model == "tildev2" and "tilde" not in self.encoders and not _unexpanded(system):
            return "no encoder that expands was named (--encoder tilde=FOLDER)"
        return None


NETWORKS = ("tilde", "tildev2", "splade-doc")


def _unexpanded(system: System) -> bool:
    return system.settings.get("expansion_encoder") == "none"


@dataclass(frozen=True)
class Outcome:
    """A run and what it cost.

    Attributes
    ----------
    run : Run
        Seeds left out.
    seconds : ndarray of shape (queries,), float64
        From the text of a query to the ranking.
    bytes : float
        Of the index, a document: inverted and forward view, or vectors.
    all_bytes : float
        The same of all files, vocabulary and identifiers included.
    encode_seconds : float
        Seconds a document; 0 without a network.
    facts : dict
        JSON-like: what the encoder and the index say of themselves.
    """

    run: Run
    seconds: npt.NDArray[np.float64]
    bytes: float
    all_bytes: float
    encode_seconds: float
    facts: dict[str, Any]


class Bench:
    """One collection with one split, and the systems on it.

    Parameters
    ----------
    judged : Judged
        Collection, queries, judgments.
    plan : Plan
        The declarative file.
    tools : Tools
        Encoders and folders.
    choices : Choices
        Settings and shares.
    """

    def __init__(self, judged: Judged, plan: Plan, tools: Tools, choices: Choices) -> None:
        self.judged = judged
        self._plan = plan
        self._tools = tools
        self._choices = choices
        self._built: dict[tuple[str, str], Built] = {}
        self._runs: dict[tuple[str, str, bool], TimedRun] = {}

    def choosing(self, choices: Choices) -> Bench:
        """Return the same with other choices; what is indexed and ranked already is kept."""
        other = Bench(self.judged, self._plan, self._tools, choices)
        other._built, other._runs = self._built, self._runs
        return other

    def outcome(self, name: str) -> Outcome:
        """Rank with a system."""
        system = self._plan.systems[name]
        if system.dense:
            return self._dense(system)
        if system.fuse:
            return self._fused(system)
        if system.interpolate:
            return self.mixed(system, self._choices.alpha[name])
        timed, built = self._ranked(name, again=False), self.built(name)
        return Outcome(
            Run(timed.run, name),
            timed.encoding + timed.scoring,
            (built.sizes["inverted"] + built.sizes["forward"] + built.sizes["order"]) / built.documents,
            built.sizes["all"] / built.documents,
            (built.encode_seconds or 0.0) / built.documents,
            {"index": built.sizes, "network": built.network, "model": self._parameters(name)},
        )

    def mixed(self, system: System, alpha: float) -> Outcome:
        """Mix the scores of two systems over the candidates of the first."""
        first, second = system.interpolate
        one, other = self.outcome(first), self.outcome(second)
        scored = self._ranked(second, again=True)
        begin = time.perf_counter()
        # Every candidate is scored by both, so that nothing is ever missing.
        run = interpolate(one.run, scored.run, alpha=alpha, missing="drop", scaling="z", name=system.name)
        mixing = (time.perf_counter() - begin) / max(1, len(run))
        return Outcome(
            run,
            one.seconds + scored.encoding + scored.scoring + mixing,
            one.bytes + other.bytes,
            one.all_bytes + other.all_bytes,
            one.encode_seconds + other.encode_seconds,
            {"alpha": alpha},
        )

    def _fused(self, system: System) -> Outcome:
        one, other = (self.outcome(part) for part in system.fuse)
        begin = time.perf_counter()
        fused = reciprocal_rank_fusion([one.run, other.run], name=system.name)
        fusing = (time.perf_counter() - begin) / max(1, len(fused))
        return Outcome(
            self.judged.without_seeds(fused, self._plan.depth),
            one.seconds + other.seconds + fusing,
            one.bytes + other.bytes,
            one.all_bytes + other.all_bytes,
            one.encode_seconds + other.encode_seconds,
            {},
        )

    def _dense(self, system: System) -> Outcome:
        index, run, seconds = self._dense_run
        documents = index.documents
        return Outcome(
            Run(run, system.name),
            seconds,
            index.bytes / documents,
            index.bytes / documents,
            index.seconds / documents,
            {"vectors": index.bytes},
        )

    @cached_property
    def _dense_run(self) -> tuple[DenseIndex, Run, npt.NDArray[np.float64]]:
        system = next(system for system in self._plan.systems.values() if system.dense)
        encoder = self._tools.dense_encoder(system.length)
        index = DenseIndex(self.judged, encoder, self._folder)
        run, seconds = index.rank(self.judged, k=self._plan.depth + self.judged.deepest, name=system.name)
        return index, self.judged.without_seeds(run, self._plan.depth), seconds

    def built(self, name: str) -> Built:
        """Return the index of a system, made with what is chosen for it."""
        settings = self._settings(name)
        key = (name, json.dumps(settings, sort_keys=True))
        if key not in self._built:
            self._built[key] = self._build(name, settings)
        return self._built[key]

    def _build(self, name: str, settings: dict[str, str]) -> Built:
        system, tools = self._plan.systems[name], self._tools
        digest = hashlib.sha256(json.dumps([name, settings], sort_keys=True).encode()).hexdigest()[:8]
        folder = self._folder / f"{re.sub('[^a-z0-9]+', '-', name)}-{digest}"
        documents = self.judged.documents
        model = make_model(system.model, settings)
        if not isinstance(model, NetworkModel):
            return index_counts(
                documents,
                folder,
                model=system.model,
                settings=settings,
                analyzer=system.analyzer,
                threads=tools.threads,
            )
        if isinstance(model, Tilde) and model.keep is not None:
            largest = self._plan.largest_keep(name, model.keep)
            if largest > model.keep:
                return index_trimmed(
                    documents,
                    folder,
                    model=model,
                    largest=largest,
                    threads=tools.threads,
                    precision=tools.precision,
                )
        return index_encoded(documents, folder, model=model, threads=tools.threads, precision=tools.precision)

    def _settings(self, name: str) -> dict[str, str]:
        system = self._plan.systems[name]
        settings = {**system.settings, **self._choices.settings.get(name, {})}
        if system.model in NETWORKS:
            settings["encoder"] = self._tools.encoders[system.model]
        if system.model == "tildev2" and not _unexpanded(system):
            settings["expansion_encoder"] = self._tools.encoders["tilde"]
        return settings

    def _parameters(self, name: str) -> dict[str, Any]:
        return make_model(self._plan.systems[name].model, self._settings(name)).parameters()

    def _ranked(self, name: str, *, again: bool) -> TimedRun:
        """Rank with an index: the collection, or again the candidates of the baseline."""
        key = (name, json.dumps(self._settings(name), sort_keys=True), again)
        if key in self._runs:
            return self._runs[key]
        depth, judged = self._plan.depth, self.judged
        searcher = self.built(name).searcher
        candidates = None
        if again:
            candidates = self._ranked(BASELINE, again=False).run
        searcher.rank_many(judged.queries[:20], k=depth, candidates=candidates)  # compiles, warms
        timed = searcher.rank_many(judged.queries, k=depth + judged.deepest, candidates=candidates, name=name)
        self._runs[key] = replace(timed, run=judged.without_seeds(timed.run, depth))
        return self._runs[key]

    @property
    def _folder(self) -> Path:
        return self._tools.work / self.judged.name
