"""Systems of the zero-shot experiment on one collection: runs and costs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from dense import DenseEncoder, DenseIndex, fingerprint
from indexes import Built, Effort, index_counts, index_encoded
from judged_collection import Judged, documents_folder
from plan import BASELINE, Choices, Plan, SettingChoice, System, identities

from termwise.encode import EncoderFolder, open_document_encoder
from termwise.errors import ParameterError
from termwise.fusion import interpolate, reciprocal_rank_fusion
from termwise.models import NetworkModel, make_model
from termwise.records import Run
from termwise.search import Feedback, Searcher
from termwise.search.timed_run import TimedRun

RRF_K = 60
"""Constant of reciprocal-rank fusion."""


@dataclass(frozen=True)
class Tools:
    """Encoders and folders of the systems, the same for all collections.

    Attributes
    ----------
    encoders : mapping of str to str
        Encoder folder or shipped name, by the name of the network.
    dense : Path or None
        Folder of the dense encoder.
    work : Path
        Work folder of indexes and encoded documents.
    threads : int
        Threads of encoding and indexing; queries run on one.
    precision : {"float32", "int8"} or None
        Number format of networks.
    """

    encoders: Mapping[str, str]
    dense: Path | None
    work: Path
    threads: int = 1
    precision: Literal["float32", "int8"] | None = None
    _dense: dict[int, DenseEncoder] = field(default_factory=dict, repr=False)
    _fingerprints: dict[int, str] = field(default_factory=dict, repr=False)

    def dense_encoder(self, length: int) -> DenseEncoder:
        """Return the dense encoder, which is loaded once."""
        if self.dense is None:
            raise ParameterError("no dense encoder was named", fixes=["--dense FOLDER"])
        if length not in self._dense:
            self._dense[length] = DenseEncoder(self.dense, length=length, threads=self.threads)
        return self._dense[length]

    def dense_fingerprint(self, length: int) -> str | None:
        """Return the fingerprint of the dense encoder; None without one."""
        if self.dense is None:
            return None
        if length not in self._fingerprints:
            self._fingerprints[length] = fingerprint(self.dense, length)
        return self._fingerprints[length]

    @property
    def dense_name(self) -> str | None:
        """Name of the folder of the dense encoder."""
        return None if self.dense is None else Path(os.path.abspath(self.dense)).name

    def lacking(self, plan: Plan, name: str) -> str | None:
        """Return the reason why a system cannot run, or None."""
        system = plan.systems[name]
        for part in system.parts:
            reason = self.lacking(plan, part)
            if reason is not None:
                return reason
        if system.dense and self.dense is None:
            return "no dense encoder was named (--dense FOLDER)"
        for network in system.networks:
            if network not in self.encoders:
                return f"no encoder was named (--encoder {network}=FOLDER)"
        return None

    def identities(self) -> dict[str, dict[str, str]]:
        """Return the identity of each network, see `plan.identities`."""
        return identities(self.encoders, self.precision)

    def settings(self, system: System, chosen: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of the model of a system."""
        settings = {**system.settings, **chosen}
        if system.network:
            settings["encoder"] = self.encoders[system.network]
        if system.expanded:
            settings["expansion_encoder"] = self.encoders["tilde"]
        return settings

    def as_shipped(self, plan: Plan, choice: SettingChoice) -> str:
        """Return the default value of a setting in the encoder or model.

        Raises
        ------
        ParameterError
            If the encoder has no default for the setting.
        """
        system = plan.systems[choice.system]
        model = make_model(system.model, self.settings(system, {}))
        described: Mapping[str, Any] = {}
        known: dict[str, Any] = {}
        if isinstance(model, NetworkModel):
            encoder = open_document_encoder(model, precision=self.precision, load=False)
            described = encoder.description
            known = {**described["settings"], "idf_power": encoder.idf_power}
        if described.get("expansion"):
            expanded = described["expansion"]["settings"]
            known |= {
                "expansion_terms": expanded["terms"],
                "counting": expanded["counting"],
                "expansion_lift": expanded.get("lift", 0.0),
            }
        if choice.setting not in known:
            raise ParameterError(
                "the encoder has no default for a setting",
                facts=[
                    ("system", choice.system),
                    ("setting", choice.setting),
                    ("defaults", ", ".join(known)),
                ],
                fixes=["write the value into the plan"],
            )
        return str(known[choice.setting])


@dataclass(frozen=True)
class Outcome:
    """A run with its costs.

    Attributes
    ----------
    run : Run
        Run without seeds.
    seconds : ndarray of shape (queries,), float64
        Seconds from the text of a query to the ranking.
    bytes : float
        Bytes per document that queries read: the inverted view of a first stage, the forward view of a re-ranker, and
        the order of the documents; or the vectors.
    all_bytes : float
        Bytes per document of all files.
    efforts : tuple of (Effort or None)
        Encoding time of each index of a network; None if it is not known.
    facts : dict
        JSON object with facts of the encoder and the index.
    """

    run: Run
    seconds: npt.NDArray[np.float64]
    bytes: float
    all_bytes: float
    efforts: tuple[Effort | None, ...]
    facts: dict[str, Any]


class Bench:
    """One split of a collection, and the systems on it.

    Parameters
    ----------
    judged : Judged
    plan : Plan
    tools : Tools
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
        self._dense_runs: dict[str, Outcome] = {}

    def with_choices(self, choices: Choices) -> Bench:
        """Return the bench with other choices, which shares indexes and runs."""
        other = Bench(self.judged, self._plan, self._tools, choices)
        other._built, other._runs, other._dense_runs = self._built, self._runs, self._dense_runs
        return other

    def outcome(self, name: str) -> Outcome:
        """Rank with a system."""
        system = self._plan.systems[name]
        if system.dense:
            return self._dense(system)
        if system.fuse:
            return self._fused(system)
        if system.interpolate:
            return self._interpolated(system)
        if system.mix:
            return self._mixed(system)
        timed, built = self._ranked(name, again=False), self.built(name)
        return Outcome(
            Run(timed.run, name),
            timed.encoding + timed.scoring,
            _searched(built) / built.documents,
            built.sizes["all"] / built.documents,
            _efforts(built),
            {
                "index": built.sizes,
                "network": built.network,
                "model": self._parameters(name),
                "training": {
                    network: training_of(self._tools.encoders[network]) for network in system.networks
                },
            },
        )

    def mixture(self, system: System, weights: Sequence[float], feedback: Feedback | None = None) -> TimedRun:
        """Rank with the indexes of several systems together."""
        searchers = {name: self.built(name).searcher for name in system.mix}
        judged, depth = self.judged, self._plan.depth
        searcher = Searcher.mix(
            searchers, weights, depth=depth, feedback=feedback, only_scoring=system.only_scoring
        )
        searcher.rank_many(judged.queries[:20], k=depth)  # compiles kernels, warms caches
        return searcher.timed_run(judged.queries, k=depth, exclude=judged.seeds or None, name=system.name)

    def _mixed(self, system: System) -> Outcome:
        """Rank with the indexes of several systems together, with the chosen weights."""
        weights = self._choices.weights[system.name]
        feedback = None
        if system.feedback:
            feedback = Feedback(*self._choices.feedback[system.name])
        timed = self.mixture(system, weights, feedback)
        parts = [self.built(name) for name in system.mix]
        return Outcome(
            timed.run,
            timed.encoding + timed.scoring,
            sum((_searched(built) + _rescored(built)) / built.documents for built in parts),
            sum(built.sizes["all"] / built.documents for built in parts),
            sum((_efforts(built) for built in parts), ()),
            {
                "weights": dict(zip(system.mix, weights, strict=True)),
                **({} if feedback is None else {"feedback": asdict(feedback)}),
            },
        )

    def interpolation(self, system: System, alpha: float) -> Run:
        """Interpolate the scores of two systems over the candidates of the first, the baseline."""
        first, second = system.interpolate
        one, other = self._ranked(first, again=False).run, self._ranked(second, again=True).run
        # Both systems score every candidate, so that no score is missing.
        return interpolate(one, other, alpha=alpha, missing="drop", scaling="z", name=system.name)

    def _interpolated(self, system: System) -> Outcome:
        """Retrieve with the first system, score its candidates with the second, and interpolate."""
        first, second = system.interpolate
        alpha = self._choices.alpha[system.name]
        one, scored, built = self.outcome(first), self._ranked(second, again=True), self.built(second)
        begin = time.perf_counter()
        run = self.interpolation(system, alpha)
        mixing = (time.perf_counter() - begin) / max(1, len(run))
        return Outcome(
            run,
            one.seconds + scored.encoding + scored.scoring + mixing,
            one.bytes + (_rescored(built) + built.sizes["order"]) / built.documents,
            one.all_bytes + built.sizes["all"] / built.documents,
            one.efforts + _efforts(built),
            {"alpha": alpha},
        )

    def _fused(self, system: System) -> Outcome:
        one, other = (self.outcome(part) for part in system.fuse)
        begin = time.perf_counter()
        fused = reciprocal_rank_fusion([one.run, other.run], k=RRF_K, name=system.name)
        fusing = (time.perf_counter() - begin) / max(1, len(fused))
        return Outcome(
            self.judged.without_seeds(fused, self._plan.depth),
            one.seconds + other.seconds + fusing,
            one.bytes + other.bytes,
            one.all_bytes + other.all_bytes,
            one.efforts + other.efforts,
            {"k": RRF_K},
        )

    def _dense(self, system: System) -> Outcome:
        if system.name not in self._dense_runs:
            index = self.vectors(system)
            run, seconds = index.rank(self.judged, k=self._plan.depth + self.judged.deepest, name=system.name)
            self._dense_runs[system.name] = Outcome(
                self.judged.without_seeds(run, self._plan.depth),
                seconds,
                index.bytes / index.documents,
                index.bytes / index.documents,
                (index.effort,),
                {"vectors": index.bytes, "encoder": self._tools.dense_name},
            )
        return self._dense_runs[system.name]

    def vectors(self, system: System) -> DenseIndex:
        """Return the index of the dense encoder."""
        return DenseIndex(self.judged, self._tools.dense_encoder(system.length), self._folder)

    def built(self, name: str) -> Built:
        """Return the index of a system with its choices."""
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
        return index_encoded(documents, folder, model=model, threads=tools.threads, precision=tools.precision)

    def _settings(self, name: str) -> dict[str, str]:
        system = self._plan.systems[name]
        return self._tools.settings(system, self._choices.of(system))

    def _parameters(self, name: str) -> dict[str, Any]:
        return make_model(self._plan.systems[name].model, self._settings(name)).parameters()

    def _ranked(self, name: str, *, again: bool) -> TimedRun:
        """Rank the collection with an index, or (`again`) the candidates of the baseline."""
        key = (name, json.dumps(self._settings(name), sort_keys=True), again)
        if key in self._runs:
            return self._runs[key]
        depth, judged = self._plan.depth, self.judged
        searcher = self.built(name).searcher
        candidates = None
        if again:
            candidates = self._ranked(BASELINE, again=False).run
        searcher.rank_many(
            judged.queries[:20], k=depth, candidates=candidates
        )  # compiles kernels, warms caches
        timed = searcher.timed_run(judged.queries, k=depth + judged.deepest, candidates=candidates, name=name)
        self._runs[key] = replace(timed, run=judged.without_seeds(timed.run, depth))
        return self._runs[key]

    @property
    def _folder(self) -> Path:
        return documents_folder(self._tools.work, self.judged.source)


def training_of(encoder: str) -> dict[str, Any]:
    """Return the training facts of an encoder.

    Returns
    -------
    dict
        ``base``, number of training ``pairs``, ``pairs_seen``, and ``left_out`` with the number of pairs that were left
        out because they share text with a judged collection; None for facts that are not recorded.
    """
    trained = EncoderFolder.open(encoder).manifest.trained
    sources = trained.get("sources")
    return {
        "base": trained.get("base") or trained.get("teacher"),
        "pairs": sum(sources.values()) if sources else None,
        "pairs_seen": trained.get("pairs_seen"),
        "left_out": trained.get("left_out"),
    }


def _searched(built: Built) -> int:
    """Return the bytes that a first stage reads; small indexes have no inverted view."""
    sizes = built.sizes
    return sizes["vectors"] or (sizes["inverted"] or sizes["forward"]) + sizes["order"]


def _rescored(built: Built) -> int:
    """Return the bytes that scoring of given documents reads, beyond those of a first stage."""
    return 0 if built.sizes["vectors"] else built.sizes["forward"]


def _efforts(built: Built) -> tuple[Effort | None, ...]:
    return () if built.network is None else (built.effort,)
