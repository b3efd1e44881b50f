r"""Loss of networks in int8 against the same networks in float32.

Question
    Networks ship in int8, a quarter of the size. Do they lose at most 0.5 % of nDCG@10?
Run
    ``precision.py --work WORK --encoder tilde=FOLDER --encoder tildev2=FOLDER``. Each folder contains both precisions,
    as written by ``termwise train``; shipped encoders have int8 only. Both networks encode all documents; the indexes
    stay in WORK. Without a ``tilde``, ``tildev2`` expands with the encoder of its training, which may have int8 only.
Quality
    nDCG@10 on the dev splits, re-ranking the candidates of BM25 and as first stage. Loss: 1 − int8 / float32 of each
    collection and of the macro mean, with a bootstrap interval: queries are drawn within each collection, the same for
    both precisions.
Result
    ``results/precision.md``, ``.json``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from indexes import index_encoded  # noqa: E402
from stage import Precision, Stage, open_stage  # noqa: E402

from termwise.encode import EncoderFolder  # noqa: E402
from termwise.encode.cpu_features import processor_class  # noqa: E402
from termwise.errors import ParameterError, UnknownNameError  # noqa: E402
from termwise.models import NetworkModel, make_model  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures")
PARTS = ("re-ranking", "first stage")
PRECISIONS: tuple[Precision, Precision] = ("float32", "int8")

Floats = npt.NDArray[np.float64]


def measured(
    plan: Mapping[str, Any], stage: Stage, model: NetworkModel, arguments: argparse.Namespace
) -> tuple[dict[str, dict[str, Floats]], dict[str, Precision]]:
    """Return the measure of every query by part and precision, and the precision of each expansion."""
    judged = stage.judged
    values: dict[str, dict[str, Floats]] = {part: {} for part in PARTS}
    expanded: dict[str, Precision] = {}
    for precision in PRECISIONS:
        built = index_encoded(
            judged.documents,
            stage.work / f"precision-{model.name}-{precision}",
            model=model,
            threads=arguments.threads,
            precision=precision,
            reuse=True,
        )
        for part, run in zip(PARTS, stage.re_ranked_and_alone(built), strict=True):
            values[part][precision] = judged.evaluate(run, [plan["measure"]]).values[plan["measure"]]
        expansion = built.searcher.index.manifest.encoder.json["network"].get("expansion")
        if expansion is not None:
            expanded[precision] = expansion["network"]["precision"]
    return values, expanded


def losses(values: Mapping[str, Mapping[str, Floats]], target: float) -> dict[str, Any]:
    """Compare int8 with float32.

    Parameters
    ----------
    values : mapping of str to mapping of str to ndarray of shape (queries,), float64
        Measure by collection and precision, of the same queries in both.
    target : float
        Largest loss of the macro mean.

    Returns
    -------
    dict
        Means, loss and interval of each collection and of their macro mean, and whether the target is reached.
    """
    means, draws = {}, {}
    for number, (name, columns) in enumerate(values.items()):
        both = np.stack([columns[precision] for precision in PRECISIONS])
        means[name] = both.mean(axis=1)
        draws[name] = record.resampled_means(both, (record.SEED, number))
    each = {name: _loss(means[name], draws[name]) for name in values}
    macro = _loss(np.mean(list(means.values()), axis=0), np.mean(list(draws.values()), axis=0))
    reached = macro["loss"] is not None and macro["loss"] <= target
    return {"collections": each, "macro": macro, "reached": reached}


def _loss(means: Floats, drawn: Floats) -> dict[str, Any]:
    full, small = (float(mean) for mean in means)
    usable = drawn[:, 0] > 0
    if full == 0 or not usable.any():
        return {"float32": full, "int8": small, "loss": None, "interval": [None, None]}
    low, high = np.percentile(1 - drawn[usable, 1] / drawn[usable, 0], record.PERCENTILES)
    return {
        "float32": full,
        "int8": small,
        "loss": 1 - small / full,
        "interval": [float(low), float(high)],
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/tilde_tables/precision.py` on dev splits. {plan['measure']}; loss: 1 − int8 / float32, "
        f"interval by paired bootstrap over the queries within collections. Target: a loss of the macro mean of "
        f"at most {plan['target']:.1%}. Re-ranking: {plan['depth']:,} candidates of BM25. Processor class: "
        f"{result['processor class']}.",
    ]
    for kind, entry in result["kinds"].items():
        described = result["encoders"][kind]
        parts.append(f"## {kind}")
        expanded = result["expanded in"].get(kind, {})
        unlike = {other for precision, other in expanded.items() if other != precision}
        note = (
            f" Documents were expanded in {', '.join(unlike)} for both, the only precision of the expanding encoder."
            if unlike
            else ""
        )
        parts.append(f"Encoder {described[:19]}….{note}")
        for part in PARTS:
            found = entry[part]
            rows = [_cells(name, row) for name, row in found["collections"].items()]
            rows.append(_cells("**macro**", found["macro"]))
            verdict = "reached" if found["reached"] else "**not reached**"
            parts += [
                f"### {kind}, {part}: {verdict}",
                record.table(("collection", "float32", "int8", "loss", "95 %"), rows),
            ]
    return "\n\n".join([*parts, record.about(dict(result))])


def _cells(name: str, row: Mapping[str, Any]) -> list[str]:
    low, high = (record.percent(bound) for bound in row["interval"])
    return [
        name,
        record.number(row["float32"], digits=4),
        record.number(row["int8"], digits=4),
        record.percent(row["loss"]),
        "–" if row["loss"] is None else f"{low} to {high}",
    ]


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "precision.toml")
    parser.add_argument("--encoder", action="append", default=[], metavar="KIND=FOLDER")
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    encoders = _encoders(arguments.encoder, plan["kinds"])
    wanted = record.selected("collection", arguments.only, plan["collections"])
    values: dict[str, dict[str, dict[str, dict[str, Floats]]]] = {
        kind: {part: {} for part in PARTS} for kind in encoders
    }
    expanded: dict[str, dict[str, Precision]] = {}
    data = {}
    for name in wanted:
        stage = open_stage(
            name,
            plan["collections"][name]["split"],
            arguments.collections,
            arguments.work,
            depth=plan["depth"],
            threads=arguments.threads,
        )
        data[name] = stage.judged.data
        for kind in encoders:
            found, expanded[kind] = measured(plan, stage, _model(kind, encoders), arguments)
            for part in PARTS:
                values[kind][part][name] = found[part]
            record.say(f"{name}: {kind}, {record.seconds()} s")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "encoders": {kind: EncoderFolder.open(folder).id for kind, folder in encoders.items()},
        "expanded in": expanded,
        "processor class": processor_class(),
        "kinds": {
            kind: {part: losses(values[kind][part], plan["target"]) for part in PARTS} for kind in encoders
        },
        "data": data,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] + ("_partial" if arguments.only else "")
    record.save(result, page(result), arguments.out, name)


def _model(kind: str, encoders: Mapping[str, str]) -> NetworkModel:
    settings = {"encoder": encoders[kind]}
    if kind == "tildev2" and "tilde" in encoders:
        settings["expansion_encoder"] = encoders["tilde"]
    model = make_model(kind, settings)
    if not isinstance(model, NetworkModel):
        raise ParameterError("the model is not a network", facts=[("kind", kind)])
    return model


def _encoders(given: Sequence[str], kinds: Sequence[str]) -> dict[str, str]:
    """Return the folders by kind, with both precisions each."""
    encoders = record.named_folders(given)
    for kind, folder in encoders.items():
        if kind not in kinds:
            raise UnknownNameError.of("kind", kind, kinds)
        there = EncoderFolder.open(folder).manifest.networks()
        if set(there) < set(PRECISIONS):
            raise ParameterError(
                "the encoder does not contain both precisions",
                facts=[("encoder", folder), ("precisions", ", ".join(there))],
                fixes=["name a folder written by termwise train; shipped encoders have one precision"],
            )
    if not encoders:
        raise ParameterError("no encoder was named", fixes=[f"--encoder {kind}=FOLDER" for kind in kinds])
    return encoders


if __name__ == "__main__":
    record.script(main)
