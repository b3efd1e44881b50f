"""What was measured of each system on each collection, query by query, in files that a report is made of.

One file a collection, ``results/zero_shot/NAME.jsonl``: what it is about, then a line a system. A system is measured
once for the same data, choices and networks: reading takes hours, so that a report is made in pieces, and a system can
be added later without those that it is held against being run again. The values are in the order of the judgments; ids
of queries are kept as a hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import record
from judged import Judged
from plan import BASELINE, Choices, Plan
from systems import Bench, Outcome, Tools

from termwise.errors import CheckFailedError
from termwise.evaluate import Counts, Evaluation, LatencySummary

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One system on one collection.

    Attributes
    ----------
    inputs : dict
        What the ranking depends on beside the data, see `inputs_of`.
    values : dict of str to list of float
        For each measure one value a query.
    costs : dict
        Bytes, encoding, latency and facts, see `costs_of`.
    made : dict
        Date, commit, hash of the sources, load and threads.
    """

    inputs: dict[str, Any]
    values: dict[str, list[float]]
    costs: dict[str, Any]
    made: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class About:
    """What the values of a file are about.

    Attributes
    ----------
    split : str
        The judgments.
    data : dict of str to str
        Hashes of the files.
    queries : int
        Judged queries.
    without_relevant : int
        Those for which no document is relevant.
    query_ids : str
        SHA-256 of their ids, one a line.
    documents : int
        Documents of the collection.
    """

    split: str
    data: dict[str, str]
    queries: int
    without_relevant: int
    query_ids: str
    documents: int


class Measurements:
    """The file of a collection.

    Parameters
    ----------
    folder : Path
        Of all such files.
    name : str
        The collection.

    Raises
    ------
    CheckFailedError
        If the file has another layout.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._path = folder / f"{name}.jsonl"
        self.about: About | None = None
        self._systems: dict[str, Measured] = {}
        if not self._path.is_file():
            return
        try:
            first, *lines = map(json.loads, self._path.read_text(encoding="utf-8").splitlines())
            if first.pop("format") != FORMAT:
                raise KeyError("format")
            self.about = About(**first)
            self._systems = {line.pop("system"): Measured(**line) for line in lines}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckFailedError(
                "a file of measurements is in another layout",
                facts=[("file", self._path), ("reason", error)],
                fixes=["remove it and measure again: zero_shot.py report ..."],
            ) from error

    def holds(self, system: str, inputs: Mapping[str, Any]) -> bool:
        """Return whether a system was measured, and was the same system; see `inputs_of`."""
        return system in self._systems and self._systems[system].inputs == inputs

    @property
    def dense(self) -> str | None:
        """Fingerprint of the dense encoder, where one was measured."""
        return next((one.inputs["dense"] for one in self._systems.values() if "dense" in one.inputs), None)

    def known(self, system: str) -> Measured:
        """Return what was measured of a system, whatever it was made of."""
        return self._systems[system]

    def hold(self, judged: Judged, split: str) -> None:
        """Forget everything if it is about other data than these."""
        if self.about is not None and (self.about.split, self.about.data) != (split, judged.data):
            record.say(f"{self.name}: the data changed, everything is measured again")
            self.about, self._systems = None, {}

    def add(self, system: str, measured: Measured, about: About) -> None:
        """Keep what was measured, at once."""
        if self.about is not None and about != self.about:
            raise CheckFailedError(
                "systems were measured on other queries or documents",
                facts=[("file", self._path), ("system", system)],
                fixes=["remove the file and measure again: zero_shot.py report ..."],
            )
        self.about = about
        self._systems[system] = measured
        lines = [{"format": FORMAT, **asdict(about)}]
        lines += [{"system": name, **asdict(entry)} for name, entry in sorted(self._systems.items())]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".part")
        partial.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        partial.replace(self._path)

    def evaluation(self, system: str) -> Evaluation:
        """Return the values of a system; queries are called by their places."""
        if self.about is None:
            raise KeyError(system)
        return Evaluation(
            system,
            tuple(str(place) for place in range(self.about.queries)),
            {key: np.array(column) for key, column in self._systems[system].values.items()},
            Counts(self.about.queries, 0, 0, self.about.without_relevant),
            "zero",
            "none",
        )


class Ledger:
    """What is measured of the collections of a report, and the way to measure the rest.

    Parameters
    ----------
    plan : Plan
        The declarative file.
    tools : Tools
        Encoders and folders.
    choices : Choices
        Settings and shares.
    folder : Path
        Of the files of measurements.
    data : Path
        Folder of the judged collections.
    collections : sequence of str
        Those of the report.
    again : bool, optional
        Whether to measure anew what can be.
    """

    def __init__(
        self,
        plan: Plan,
        tools: Tools,
        choices: Choices,
        folder: Path,
        data: Path,
        collections: Sequence[str],
        *,
        again: bool = False,
    ) -> None:
        self._plan, self._tools, self._choices, self._again = plan, tools, choices, again
        self.encoders: dict[str, Mapping[str, str]] = {**choices.encoders, **tools.identities()}
        self._judged = {
            name: Judged.read(name, data / name, plan.collections[name].test) for name in collections
        }
        self.kept = {name: Measurements(folder, name) for name in collections}
        for name, kept in self.kept.items():
            kept.hold(self._judged[name], plan.collections[name].test)

    def complete(self, system: str) -> bool:
        """Return whether a system is measured on all collections, so that nothing is needed to report it."""
        return all(self._holds(name, system) for name in self.kept)

    def measure(self, names: Sequence[str], code: Mapping[str, Any]) -> None:
        """Measure what is not measured yet, and keep each system as soon as it is.

        Parameters
        ----------
        names : sequence of str
            The systems.
        code : mapping
            Commit and hash of the sources, to be kept with what is measured.
        """
        begin = time.perf_counter()
        for name, judged in self._judged.items():
            bench = Bench(judged, self._plan, self._tools, self._choices)
            for system in names:
                again = self._again and self._tools.lacking(self._plan, system) is None
                if self._holds(name, system) and not again:
                    continue
                value = self._measure(bench, system, code)
                spent = time.perf_counter() - begin
                record.say(f"{name}: {system} {record.number(value)}; {spent:.0f} s")

    def _measure(self, bench: Bench, system: str, code: Mapping[str, Any]) -> float | None:
        judged = bench.judged
        outcome = bench.outcome(system)
        evaluation = judged.evaluate(outcome.run, self._plan.measures)
        measured = Measured(
            inputs=self._inputs(judged.name, system),
            values=_plain({key: column.tolist() for key, column in evaluation.values.items()}),
            costs=costs_of(outcome),
            made={
                **code,
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "threads": self._tools.threads,
                "load": os.getloadavg()[0],
            },
        )
        about = About(
            split=self._plan.collections[judged.name].test,
            data=dict(judged.data),
            queries=len(evaluation.query_ids),
            without_relevant=evaluation.counts.without_relevant,
            query_ids=hashlib.sha256("\n".join(evaluation.query_ids).encode()).hexdigest(),
            documents=judged.documents.length or bench.built(BASELINE).documents,
        )
        self.kept[judged.name].add(system, measured, about)
        return evaluation.means[self._plan.measure]

    def _holds(self, collection: str, system: str) -> bool:
        return self.kept[collection].holds(system, self._inputs(collection, system))

    def _inputs(self, collection: str, system: str) -> dict[str, Any]:
        dense = self._tools.dense_fingerprint(self._plan.systems[system].length)
        return inputs_of(
            self._plan, system, self._choices, self.encoders, dense or self.kept[collection].dense
        )


def inputs_of(
    plan: Plan,
    name: str,
    choices: Choices,
    encoders: Mapping[str, Mapping[str, str]],
    dense: str | None,
) -> dict[str, Any]:
    """Return what the ranking of a system depends on, beside the data and the code.

    Parameters
    ----------
    plan : Plan
        The declarative file.
    name : str
        The system.
    choices : Choices
        Settings and shares.
    encoders : mapping
        The networks, see `plan.identities`.
    dense : str or None
        Fingerprint of the dense encoder.

    Returns
    -------
    dict
        JSON-like; of a mixture, with that of its parts.
    """
    system = plan.systems[name]
    declared = {key: value for key, value in plan.source["systems"][name].items() if key != "note"}
    inputs: dict[str, Any] = {
        "declared": declared,
        "depth": plan.depth,
        "measures": list(plan.measures),
        "settings": choices.of(system),
        "encoders": {network: encoders.get(network) for network in system.networks},
    }
    if name in choices.alpha:
        inputs["alpha"] = choices.alpha[name]
    if system.dense:
        inputs["dense"] = dense
    if system.parts:
        inputs["parts"] = {part: inputs_of(plan, part, choices, encoders, dense) for part in system.parts}
    return _plain(inputs)


def costs_of(outcome: Outcome) -> dict[str, Any]:
    """Return what a run cost, as results keep it."""
    return _plain(
        {
            "bytes a document": outcome.bytes,
            "bytes a document, all files": outcome.all_bytes,
            "encoding": [None if effort is None else asdict(effort) for effort in outcome.efforts],
            "query latency, ms": asdict(LatencySummary.of(outcome.seconds)),
            "facts": outcome.facts,
        }
    )


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Return what reading the JSON of a value gives."""
    plain: dict[str, Any] = json.loads(json.dumps(record.short(value)))
    return plain
