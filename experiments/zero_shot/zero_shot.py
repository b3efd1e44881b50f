r"""Trained models, zero-shot on judged collections, in comparison with BM25 and dense retrieval.

Question
    How much do TILDE and TILDEv2 add to BM25 on collections whose training splits were not used for them: as first
    stage, and interpolated with BM25? And in comparison with the alternatives: dense retrieval, its fusion with BM25, a
    max-pooled document encoder? The result states the known training data of networks and bases.
Plan
    ``zero_shot.toml``: collections and splits, systems, choices on the dev splits, targets.
Run
    ::

        python experiments/zero_shot/zero_shot.py choose --work WORK --encoder splade-doc=FOLDER
        python experiments/zero_shot/zero_shot.py report --work WORK --encoder splade-doc=FOLDER --dense FOLDER

    The encoders are the shipped ones and those named with ``--encoder NETWORK=FOLDER``. ``choose`` ranks the dev
    queries only and writes ``choices.json`` with the networks, their precision and the plan; ``report`` applies the
    choices to the test splits and accepts no other networks. It stores its measurements, query by query, in
    ``results/zero_shot``: the next run measures new systems only, and needs no encoder for the others. ``encode`` only
    runs the networks over the documents. Encoded blocks stay in WORK: an interrupted run resumes.
Result
    A line in ``results/zero_shot.jsonl`` and the tables in ``results/zero_shot.md``; with ``--collections``,
    ``zero_shot_partial``. ``--systems`` selects the systems to measure; earlier measurements are reported, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from dev_choices import choose  # noqa: E402
from judged_collection import Judged  # noqa: E402
from measurements import Ledger  # noqa: E402
from plan import NETWORKS, Choices, Plan  # noqa: E402
from systems import Bench, Tools  # noqa: E402
from zero_shot_report import collected, page, ratios, targets, training  # noqa: E402

from termwise.encode import shipped_encoders  # noqa: E402
from termwise.errors import CheckFailedError, MissingFileError, ParameterError  # noqa: E402

KEPT = "zero_shot"
"""Folder of the measurements below that of the results."""

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
    """Make and write the choices on the dev splits."""
    names, _ = _systems(plan, tools, arguments.systems)
    selected = record.selected("collection", arguments.collections, plan.collections)
    entries = [entry for entry in plan.collections.values() if entry.dev is not None]
    entries = [entry for entry in entries if entry.name in selected]
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
    """Run the networks over the documents with the existing choices, without ranking."""
    names, _ = _systems(plan, tools, arguments.systems)
    choices = Choices.read(arguments.choices) if arguments.choices.is_file() else Choices()
    choices.check(plan, tools.identities(), names, partly=True)
    for name in record.selected("collection", arguments.collections, plan.collections):
        bench = Bench(
            Judged.read(name, arguments.data / name, plan.collections[name].test), plan, tools, choices
        )
        for system in names:
            if plan.systems[system].model in NETWORKS:
                bench.built(system)
            if plan.systems[system].dense:
                bench.vectors(plan.systems[system])
        record.say(f"{name}: encoded, {record.seconds()} s")


def run_report(plan: Plan, tools: Tools, arguments: argparse.Namespace) -> None:
    """Measure missing systems on the test splits, and write the report."""
    provenance = record.provenance(PACKAGES)
    choices = Choices.read(arguments.choices) if arguments.choices.is_file() else Choices()
    ledger = Ledger(
        plan,
        tools,
        choices,
        arguments.out / KEPT,
        arguments.data,
        record.selected("collection", arguments.collections, plan.collections),
        again=arguments.again,
    )
    names, skipped = _systems(plan, tools, arguments.systems, ledger.complete)
    known = choices.alpha.keys() | choices.weights.keys()
    unchosen = {
        name
        for name in names
        if (plan.systems[name].interpolate or plan.systems[name].mix) and name not in known
    }
    for name in [name for name in names if unchosen & set(plan.with_parts([name]))]:
        skipped[name] = "its shares are not chosen yet (zero_shot.py choose)"
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
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.append(result, page(result, plan), arguments.out, "zero_shot_partial" if partial else "zero_shot")


def _dense(collections: Mapping[str, Any]) -> str | None:
    """Return the name of the measured dense encoder, if there is one."""
    facts = [system["facts"] for entry in collections.values() for system in entry["systems"].values()]
    return next((entry["encoder"] for entry in facts if "encoder" in entry), None)


def _systems(
    plan: Plan, tools: Tools, given: str | None, known: Callable[[str], bool] = lambda _: False
) -> tuple[list[str], dict[str, str]]:
    """Return the systems to run or known from earlier runs, and the reasons of the others."""
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


def _encoders(plan: Plan, given: Sequence[str]) -> dict[str, str]:
    """Return the named and the shipped encoders."""
    named, used = record.named_folders(given), plan.networks(list(plan.systems))
    record.check_names("network", named, used)
    return {name: name for name in shipped_encoders() if name in used} | named


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "out", "precision", "threads")
    parser.add_argument("what", choices=("choose", "encode", "report"))
    parser.add_argument("--encoder", action="append", default=[], metavar="NETWORK=FOLDER")
    parser.add_argument("--dense", type=Path, metavar="FOLDER", help="folder of sentence-transformers")
    parser.add_argument(
        "--data", type=Path, default=record.COLLECTIONS, help="folder of the judged collections"
    )
    parser.add_argument("--plan", type=Path, default=HERE / "zero_shot.toml")
    parser.add_argument("--choices", type=Path, default=HERE / "choices.json")
    parser.add_argument(
        "--collections", metavar="A,B", help="names of collections (default: all of the plan)"
    )
    parser.add_argument(
        "--systems", metavar="A,B", help="systems to run, with their parts and bm25 (default: all)"
    )
    parser.add_argument("--again", action="store_true", help="report: repeat measurements")
    arguments = parser.parse_args(given)
    plan = Plan.read(arguments.plan)
    tools = Tools(
        _encoders(plan, arguments.encoder),
        arguments.dense,
        arguments.work,
        arguments.threads,
        arguments.precision,
    )
    {"choose": run_choose, "encode": run_encode, "report": run_report}[arguments.what](plan, tools, arguments)


if __name__ == "__main__":
    record.script(main)
