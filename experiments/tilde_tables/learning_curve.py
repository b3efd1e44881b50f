r"""Learning curve: quality on dev splits by the number of training pairs seen.

Question
    Is the end of the curve flat, or would more training pairs help?
Run
    ``learning_curve.py --work WORK --encoders tilde=FOLDER``: FOLDER contains encoder folders, at any depth, from
    several steps of one training or with different ``max_steps``; each records the pairs it has seen.
    ``--logs tilde=FOLDER`` adds the validations in the log of a training run (its folder ``training``), on its own
    held-out pairs.
    ``tildev2`` expands with the TILDE encoder of its training, or with the one named by ``--expand-with``.
Quality
    nDCG@10 on the dev splits, re-ranking the candidates of BM25: by the network alone, and interpolated with BM25 at
    the share ``alpha`` of the plan, z-scores per query.
Result
    ``results/learning_curve.md``, ``.json``, ``.csv`` and the curves, ``.svg``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from charts import line_chart  # noqa: E402
from indexes import index_encoded  # noqa: E402
from stage import Stage, open_stage  # noqa: E402

from termwise.encode import EncoderFolder  # noqa: E402
from termwise.errors import MissingFileError, ParameterError  # noqa: E402
from termwise.fusion import interpolate  # noqa: E402
from termwise.models import NetworkModel, make_model  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures")


def checkpoints(root: Path) -> list[tuple[int, Path]]:
    """Return the encoder folders below a folder with the pairs they have seen, in increasing order.

    Raises
    ------
    MissingFileError
        If no encoder records the pairs it has seen.
    """
    found = []
    for manifest in sorted(root.rglob("encoder.json")):
        seen = EncoderFolder.open(manifest.parent).manifest.trained.get("pairs_seen")
        if isinstance(seen, int):
            found.append((seen, manifest.parent))
    if not found:
        raise MissingFileError(
            "no encoder records how many pairs it has seen",
            facts=[("folder", root), ("expected", "encoder folders with trained.pairs_seen in encoder.json")],
        )
    return sorted(found)


def logged(folder: Path, measure: str) -> list[tuple[int, float]]:
    """Return pairs seen and validation measure from the log of a training run."""
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))["settings"]
    processes = json.loads((folder / "facts.json").read_text(encoding="utf-8"))["processes"]
    pairs = settings["batch"] * settings["accumulate"] * processes
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        (line["step"] * pairs, line[f"eval_{measure}"])
        for line in lines
        if f"eval_{measure}" in line and line["step"] > 0
    ]


def measured(
    plan: Mapping[str, Any], stages: Mapping[str, Stage], folder: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return the mean of each collection and over the collections, alone and mixed with BM25."""
    kind = EncoderFolder.open(folder).manifest.kind
    settings = {"encoder": str(folder)}
    if kind == "tildev2":
        settings["expansion_encoder"] = arguments.expand_with
    model = make_model(kind, settings)
    if not isinstance(model, NetworkModel):
        raise ParameterError("the model is not a network", facts=[("kind", kind)])
    means = {}
    mixed = {}
    for name, stage in stages.items():
        built = index_encoded(
            stage.judged.documents,
            stage.work / "learning-curve",
            model=model,
            threads=arguments.threads,
            precision=arguments.precision,
        )
        first = stage.first("bm25").run
        run = built.searcher.rank_many(stage.judged.queries, k=plan["depth"], candidates=first)
        both = interpolate(first, run, alpha=plan["alpha"], missing="drop", scaling="z", name="mixed")
        means[name] = stage.mean(run, plan["measure"])
        mixed[name] = stage.mean(both, plan["measure"])
    return {
        "collections": means,
        "macro": _macro(means),
        "mixed": {"collections": mixed, "macro": _macro(mixed)},
    }


def _macro(means: Mapping[str, Mapping[str, Any]]) -> float:
    return float(np.mean([entry["mean"] for entry in means.values()]))


def page(result: Mapping[str, Any], name: str) -> str:
    """Write the tables."""
    plan = result["config"]
    collections = list(plan["collections"])
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/tilde_tables/learning_curve.py` on dev splits: {plan['measure']} of re-ranking "
        f"{plan['depth']:,} candidates of BM25, by the network alone and mixed, {plan['alpha']:g} z(BM25) + "
        f"{1 - plan['alpha']:g} z(network).",
        f"![{plan['title']}]({name}.svg)",
    ]
    for kind, points in result["curves"].items():
        rows = [
            [
                f"{point['pairs']:,}",
                *_cells(point, collections),
                *_cells(point["mixed"], collections),
            ]
            for point in points
        ]
        bm25 = [result["bm25"][collection] for collection in collections]
        alone = [record.number(float(np.mean(bm25)), digits=4), *map(record.number, bm25)]
        rows.append(["BM25", *alone, *["" for _ in alone]])
        columns = ("macro", *collections)
        header = ("pairs seen", *columns, *(f"mixed: {column}" for column in columns))
        parts += [f"## {kind}", record.table(header, rows)]
    for kind, logged_points in result["logged"].items():
        rows = [[f"{pairs:,}", record.number(value, digits=4)] for pairs, value in logged_points]
        parts += [
            f"## {kind}, validation log of the training",
            "On held-out pairs of the training sources, another pool of passages, so that only shapes can be compared.",
            record.table(("pairs seen", plan["measure"]), rows),
        ]
    return "\n\n".join([*parts, record.about(dict(result))])


def _cells(means: Mapping[str, Any], collections: Sequence[str]) -> list[str]:
    return [
        record.number(means["macro"], digits=4),
        *(record.number(means["collections"][collection]["mean"]) for collection in collections),
    ]


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Write the curves as SVG and CSV, beside `path`."""
    plan, bm25 = result["config"], result["bm25"]
    lines = ["curve,pairs,collection,value"]
    drawn: dict[str, list[tuple[float, float]]] = {}
    for kind, points in result["curves"].items():
        for pairs, curve, means in _curves(kind, points):
            drawn.setdefault(curve, []).append((pairs, means["macro"]))
            lines.append(f"{curve},{pairs},macro,{means['macro']:.6f}")
            for collection, entry in means["collections"].items():
                lines.append(f"{curve},{pairs},{collection},{entry['mean']:.6f}")
    for curve, validations in result["logged"].items():
        lines += [f"{curve},{pairs},logged,{value:.6f}" for pairs, value in validations]
        drawn[f"{curve}, logged"] = list(validations)
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chart = line_chart(
        {
            curve: [(max(1, pairs), value) for pairs, value in points]
            for curve, points in drawn.items()
            if points
        },
        title=plan["title"],
        x="training pairs seen",
        y=plan["measure"],
        logarithmic=True,
        levels={"BM25": float(np.mean(list(bm25.values())))} if bm25 else None,
    )
    path.with_suffix(".svg").write_text(chart, encoding="utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "out", "precision", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "learning_curve.toml")
    parser.add_argument("--encoders", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--logs", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument(
        "--expand-with", default="as-trained", help="for tildev2: a TILDE encoder, as-trained, or none"
    )
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    named = record.named_folders(arguments.encoders)
    logs = {
        name: logged(Path(folder), plan["measure"])
        for name, folder in record.named_folders(arguments.logs).items()
    }
    if not named and not logs:
        raise ParameterError("no curve was named", fixes=["--encoders tilde=FOLDER", "--logs tilde=FOLDER"])
    stages = {
        name: open_stage(
            name,
            entry["split"],
            arguments.collections,
            arguments.work,
            depth=plan["depth"],
            threads=arguments.threads,
        )
        for name, entry in plan["collections"].items()
        if named
    }
    curves: dict[str, list[dict[str, Any]]] = {}
    for name, root in named.items():
        for pairs, folder in checkpoints(Path(root)):
            point = {"pairs": pairs, **measured(plan, stages, folder, arguments)}
            curves.setdefault(name, []).append(point)
            record.say(
                f"{name}: {pairs:,} pairs, macro {point['macro']:.4f}, mixed {point['mixed']['macro']:.4f}"
            )
    bm25 = {
        name: stage.mean(stage.first("bm25").run, plan["measure"])["mean"] for name, stage in stages.items()
    }
    result = {
        "experiment": plan["name"],
        "config": plan,
        "curves": curves,
        "logged": logs,
        "bm25": bm25,
        "data": {name: stage.judged.data for name, stage in stages.items()},
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    draw(result, arguments.out / name)
    record.save(result, page(result, name), arguments.out, name)


def _curves(kind: str, points: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield pairs seen, name of the curve and means of each point of a kind, alone and mixed."""
    for point in points:
        yield point["pairs"], kind, point
        yield point["pairs"], f"BM25 and {kind}", point["mixed"]


if __name__ == "__main__":
    record.script(main)
