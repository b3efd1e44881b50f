r"""Trained models, zero-shot, on judged collections, beside BM25 and dense retrieval.

Question
    How much do TILDE and TILDEv2 add to BM25 on collections whose training splits they were not given: as first
    stage, and mixed with it? And beside what users would otherwise take: dense retrieval, its fusion with BM25, a
    max-pooled document encoder? What of these collections networks and bases may have read is told with the result.
Declared
    ``zero_shot.toml``: collections and splits, systems, what is chosen on the dev splits, what was to be reached.
Order
    ::

        python experiments/zero_shot/zero_shot.py choose --work WORK --encoder splade-doc=FOLDER
        python experiments/zero_shot/zero_shot.py report --work WORK --encoder splade-doc=FOLDER --dense FOLDER

    The encoders are those that ship, and those named with ``--encoder MODEL=FOLDER``. ``choose`` ranks dev queries
    only and writes ``choices.json``, with the networks, their precision and the plan it is for; ``report`` applies
    it to the test splits and takes no other networks. What it measured it keeps, query by query, in
    ``results/zero_shot``: another time it measures what is new, such as a system whose encoder was not there, and
    needs no encoder for the rest. ``encode`` only runs the networks over the documents, for a
    night before. What is encoded stays in WORK, block by block: an interrupted run goes on where it was.
Result
    A line in ``results/zero_shot.jsonl`` and the tables in ``results/zero_shot.md``. With ``--collections`` it is
    called ``zero_shot_partial``. ``--systems`` names what is measured; what was measured earlier is reported with it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from choosing import choose  # noqa: E402
from judged import Judged  # noqa: E402
from measured import Ledger  # noqa: E402
from plan import NETWORKS, Choices, Plan  # noqa: E402
from reporting import collected, page, ratios, targets, training  # noqa: E402
from systems import Bench, Tools  # noqa: E402

from termwise.encode import shipped_encoders  # noqa: E402
from termwise.errors import CheckFailedError, MissingFileError, ParameterError, UnknownNameError  # noqa: E402

KEPT = "zero_shot"
"""Folder, beside the results, of what was measured for each query."""

PACKAGES = (
    "termwise",
    "numpy",
    "numba",
    "onnxruntime",
    "tokenizers",
    "sentence-transformers",
    "torch",
    "ir-measures",
)


def run_choose(plan: Plan, tools: Tools, arguments: argparse.Namespace) -> None:
    """Choose on the dev splits and write the choices down."""
    names, _ = _systems(plan, tools, arguments.systems)
    entries = [entry for entry in plan.collections.values() if entry.dev is not None]
    entries = [entry for entry in entries if entry.name in _chosen(plan, arguments.collections)]
    if not entries:
        raise ParameterError("none of the collections has a dev split")
    benches = {
        entry.name: Bench(
            Judged.read(entry.name, arguments.data / entry.name, str(entry.dev)), plan, tools, Choices()
        )
        for entry in entries
    }
    choices = choose(plan, benches, tools, names)
    with suppress(MissingFileError, CheckFailedError):
        choices = choices.beside(Choices.read(arguments.choices))
    choices.write(arguments.choices)
    record.say(f"wrote {arguments.choices}")


def run_encode(plan: Plan, tools: Tools, arguments: argparse.Namespace) -> None:
    """Run the networks over the documents, with the choices where they were made; nothing is ranked."""
    names, _ = _systems(plan, tools, arguments.systems)
    choices = Choices.read(arguments.choices) if arguments.choices.is_file() else Choices()
    choices.check(plan, tools.identities(), names, partly=True)
    for name in _chosen(plan, arguments.collections):
        begin = time.perf_counter()
        bench = Bench(
            Judged.read(name, arguments.data / name, plan.collections[name].test), plan, tools, choices
        )
        for system in names:
            if plan.systems[system].model in NETWORKS:
                bench.built(system)
            if plan.systems[system].dense:
                bench.vectors(plan.systems[system])
        record.say(f"{name}: encoded, {time.perf_counter() - begin:.0f} s")


def run_report(plan: Plan, tools: Tools, arguments: argparse.Namespace) -> None:
    """Measure on the test splits what is not measured yet, and write the report."""
    begin = time.perf_counter()
    provenance = record.provenance(PACKAGES)
    choices = Choices.read(arguments.choices) if arguments.choices.is_file() else Choices()
    ledger = Ledger(
        plan,
        tools,
        choices,
        arguments.out / KEPT,
        arguments.data,
        _chosen(plan, arguments.collections),
        again=arguments.again,
    )
    names, skipped = _systems(plan, tools, arguments.systems, ledger.complete)
    unchosen = {name for name in names if plan.systems[name].interpolate and name not in choices.alpha}
    for name in [name for name in names if unchosen & set(plan.with_parts([name]))]:
        skipped[name] = "no share was chosen for it (zero_shot.py choose)"
        names.remove(name)
    partial = bool(arguments.collections)
    choices.check(plan, ledger.encoders, names, partly=partial)
    asked = plan.with_parts(arguments.systems.split(",") if arguments.systems else names)
    ledger.measure(
        [name for name in names if name in asked], {key: provenance[key] for key in ("commit", "sources")}
    )
    collections: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, kept in ledger.kept.items():
        collections[name], values[name] = collected(plan, kept, names)
    macro = ratios(plan, values, names)
    result: dict[str, Any] = {
        "experiment": "zero_shot",
        "config": plan.source,
        "choices": asdict(choices),
        "partial": partial,
        "encoders": {name: ledger.encoders[name] for name in plan.networks(names)},
        "training": training(ledger.kept.values(), names),
        "dense": _dense(collections),
        "collections": collections,
        "macro": macro,
        "targets": targets(plan, macro, partly=partial),
        "skipped": skipped,
        "data": {name: kept.about.data for name, kept in ledger.kept.items() if kept.about is not None},
        "provenance": provenance | {"seconds": round(time.perf_counter() - begin)},
    }
    record.append(result, page(result, plan), arguments.out, "zero_shot_partial" if partial else "zero_shot")


def _dense(collections: Mapping[str, Any]) -> str | None:
    """Return the name of the dense encoder, if one was run."""
    facts = [system["facts"] for entry in collections.values() for system in entry["systems"].values()]
    return next((entry["encoder"] for entry in facts if "encoder" in entry), None)


def _systems(
    plan: Plan, tools: Tools, given: str | None, known: Callable[[str], bool] = lambda _: False
) -> tuple[list[str], dict[str, str]]:
    """Return the systems to run and those known already, and why others are not."""
    asked = plan.with_parts(given.split(",") if given else list(plan.systems))
    names, skipped = [], {}
    for name in plan.systems:
        reason = tools.lacking(plan, name) if name in asked else "left out (--systems)"
        if reason is None or known(name):
            names.append(name)
        else:
            skipped[name] = reason
            if name in asked:
                record.say(f"not run: {name}: {reason}")
    return names, skipped


def _chosen(plan: Plan, given: str | None) -> list[str]:
    names = given.split(",") if given else list(plan.collections)
    for name in names:
        if name not in plan.collections:
            raise UnknownNameError.of("collection", name, plan.collections)
    return names


def _encoders(given: Sequence[str]) -> dict[str, str]:
    """Return the encoders by model: those that are named, and those that ship."""
    encoders = {name: name for name in shipped_encoders() if name in NETWORKS}
    for pair in given:
        name, equals, folder = pair.partition("=")
        if not equals or name not in NETWORKS:
            raise ParameterError(
                "an encoder is named as MODEL=FOLDER",
                facts=[("given", pair), ("models", ", ".join(NETWORKS))],
                fixes=["--encoder tilde=FOLDER"],
            )
        encoders[name] = folder
    return encoders


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("choose", "encode", "report"))
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for indexes and what is encoded; kept"
    )
    parser.add_argument("--encoder", action="append", default=[], metavar="MODEL=FOLDER")
    parser.add_argument("--dense", type=Path, metavar="FOLDER", help="a folder of sentence-transformers")
    parser.add_argument(
        "--data", type=Path, default=record.COLLECTIONS, help="folder of the judged collections"
    )
    parser.add_argument("--plan", type=Path, default=HERE / "zero_shot.toml")
    parser.add_argument("--choices", type=Path, default=HERE / "choices.json")
    parser.add_argument("--out", type=Path, default=record.RESULTS, help="folder for the results")
    parser.add_argument("--collections", metavar="A,B", help="only these")
    parser.add_argument("--systems", metavar="A,B", help="only these, what they are made of, and bm25")
    parser.add_argument("--again", action="store_true", help="report: measure anew what was measured already")
    parser.add_argument("--precision", choices=("float32", "int8"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args(given)
    plan = Plan.read(arguments.plan)
    tools = Tools(
        _encoders(arguments.encoder), arguments.dense, arguments.work, arguments.threads, arguments.precision
    )
    {"choose": run_choose, "encode": run_encode, "report": run_report}[arguments.what](plan, tools, arguments)


if __name__ == "__main__":
    record.script(main)
