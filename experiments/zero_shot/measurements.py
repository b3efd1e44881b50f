"""Stored measurements of each system on each collection, with one value per query.

There is one file per collection, ``results/zero_shot/NAME.jsonl``, with a line on the data and a line per system.
Encoding takes hours, so that a system is measured once for the same data, choices and networks, and systems can be
added later without running the others again. The values are in the order of the judgments; of the ids of queries only
a hash is stored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import record
from judged_collection import Judged
from plan import BASELINE, Choices, Plan
from plan_parts import without
from systems import Bench, Outcome, Tools

from termwise.errors import CheckFailedError
from termwise.evaluate import Counts, Evaluation, LatencySummary

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurement of one system on one collection.

    Attributes
    ----------
    inputs : dict
        Inputs of the ranking beside the data, see `inputs_of`.
    values : dict of str to list of float
        One value per query, by measure.
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
    """Data of a file of measurements.

    Attributes
    ----------
    split : str
    data : dict of str to str
        Hashes of the files.
    queries : int
        Number of judged queries.
    without_relevant : int
        Number of queries without a relevant document.
    query_ids : str
        SHA-256 of the query ids, one per line.
    documents : int
        Number of documents.
    """

    split: str
    data: dict[str, str]
    queries: int
    without_relevant: int
    query_ids: str
    documents: int


class Measurements:
    """File of measurements of a collection.

    Parameters
    ----------
    folder : Path
        Folder of the files.
    name : str
        Name of the collection.

    Raises
    ------
    CheckFailedError
        If the layout of the file is not valid.
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
                "the layout of a file of measurements is not valid",
                facts=[("file", self._path), ("reason", error)],
                fixes=["remove it and measure again: zero_shot.py report ..."],
            ) from error

    def holds(self, system: str, inputs: Mapping[str, Any]) -> bool:
        """Return whether a system was measured with the same inputs; see `inputs_of`."""
        return system in self._systems and self._systems[system].inputs == inputs

    @property
    def dense(self) -> str | None:
        """Fingerprint of the measured dense encoder, if there is one."""
        return next((one.inputs["dense"] for one in self._systems.values() if "dense" in one.inputs), None)

    def known(self, system: str) -> Measured:
        """Return the measurement of a system, whatever its inputs."""
        return self._systems[system]

    def discard_other_data(self, judged: Judged, split: str) -> None:
        """Discard the measurements if they are of other data."""
        if self.about is not None and (self.about.split, self.about.data) != (split, judged.data):
            record.say(f"{self.name}: the data changed, all systems are measured again")
            self.about, self._systems = None, {}

    def add(self, system: str, measured: Measured, about: About) -> None:
        """Add a measurement and write the file."""
        if self.about is not None and about != self.about:
            raise CheckFailedError(
                "the file has measurements of other queries or documents",
                facts=[("file", self._path), ("system", system)],
                fixes=["remove the file and measure again: zero_shot.py report ..."],
            )
        self.about = about
        self._systems[system] = measured
        lines = [{"format": FORMAT, **asdict(about)}]
        lines += [{"system": name, **asdict(entry)} for name, entry in sorted(self._systems.items())]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        record.write_whole(self._path, "".join(f"{json.dumps(line)}\n" for line in lines))

    def evaluation(self, system: str) -> Evaluation:
        """Return the evaluation of a system; the ids of queries are their places."""
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
    """Measurements of the collections of a report, which runs missing systems.

    Parameters
    ----------
    plan : Plan
    tools : Tools
    choices : Choices
        Settings and shares.
    folder : Path
        Folder of the files of measurements.
    data : Path
        Folder of the judged collections.
    collections : sequence of str
        Collections of the report.
    again : bool, optional
        Whether to repeat measurements.
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
            kept.discard_other_data(self._judged[name], plan.collections[name].test)

    def complete(self, system: str) -> bool:
        """Return whether a system is measured on all collections."""
        return all(self._holds(name, system) for name in self.kept)

    def measure(self, names: Sequence[str], code: Mapping[str, Any]) -> None:
        """Measure the systems that are not measured yet, and store each at once.

        Parameters
        ----------
        names : sequence of str
            Systems.
        code : mapping
            Commit and hash of the sources, stored with the measurements.
        """
        for name, judged in self._judged.items():
            bench = Bench(judged, self._plan, self._tools, self._choices)
            for system in names:
                again = self._again and self._tools.lacking(self._plan, system) is None
                if self._holds(name, system) and not again:
                    continue
                value = self._measure(bench, system, code)
                record.say(f"{name}: {system} {record.number(value)}; {record.seconds()} s")

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
    """Return the inputs of the ranking of a system, beside the data and the code.

    Parameters
    ----------
    plan : Plan
    name : str
        Name of the system.
    choices : Choices
        Settings and shares.
    encoders : mapping
        Networks, see `plan.identities`.
    dense : str or None
        Fingerprint of the dense encoder.

    Returns
    -------
    dict
        JSON object; for a mixture, with the inputs of its parts.
    """
    system = plan.systems[name]
    declared = without(plan.source["systems"][name], "note")
    inputs: dict[str, Any] = {
        "declared": declared,
        "depth": plan.depth,
        "measures": list(plan.measures),
        "settings": choices.of(system),
        "encoders": {network: encoders.get(network) for network in system.networks},
    }
    if name in choices.alpha:
        inputs["alpha"] = choices.alpha[name]
    if name in choices.weights:
        inputs["weights"] = choices.weights[name]
    if name in choices.feedback:
        inputs["feedback"] = choices.feedback[name]
    if system.dense:
        inputs["dense"] = dense
    if system.parts:
        inputs["parts"] = {part: inputs_of(plan, part, choices, encoders, dense) for part in system.parts}
    return _plain(inputs)


def costs_of(outcome: Outcome) -> dict[str, Any]:
    """Return the costs of a run for the result file."""
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
    """Return a value as its JSON is read."""
    plain: dict[str, Any] = json.loads(json.dumps(record.short(value)))
    return plain
