r"""Tables and figure of the TILDE paper on any judged collection, each with a plan of its own.

Question
    Do the findings of the paper hold for networks trained here: query likelihood improves on BM25, the mixture with
    document likelihood a little more, and document likelihood alone is poor?
Plans
    ``table2.toml``, ``table3.toml``, ``figure2.toml``, ``by_example.toml``, ``trec_dl.toml``: datasets, rows or a sweep
    over the share of the query likelihood, encoders by name.
Run
    ``tables.py run FILE --work WORK --encoder NAME=FOLDER``; ``--models FOLDER`` adds the encoders in its folders.
    ``--data`` (repeatable) replaces the datasets of the plan; ``ir_datasets:ID`` is one. Rows without their encoder
    or T5 (``--t5``) stay blank with a note. Rows with ``score = "scorer"`` read the texts with a network of ``termwise
    train`` in ``--models``, or any other scorer: ``--scorer qlm-t5=qlm-t5:FOLDER``.
Candidates
    ``--candidates RUN`` (repeatable), or ``candidates`` of a dataset in the plan, replaces BM25 by a run of TREC, for
    example the first 1,000 of another engine. BM25 is then no longer timed, and networks encode the candidates.
Large collections
    With ``encode = "auto"``, networks encode all documents up to ``[limits] read``, and above only the candidates of
    the first stages. Rows with ``form = "auto"`` have the exact form up to ``[limits] exact`` encoded documents, and
    above the compact form. The result states both. BM25 indexes a collection once for all its datasets.
Train
    ``tables.py train FILE --pairs PAIRS --base ENCODER --models FOLDER`` trains the networks of the plan with
    ``termwise train tilde``, except for finished ones; ``--size cpu`` selects a size for two processors.
Latency
    Milliseconds per query on one thread, in the parts of the paper: query encoding (tokens, and the network for a
    document likelihood) and re-ranking of all candidates, beside the first stage. ``[latency]`` sets the number of
    warm-up queries and of passes; a query has the median of its times.
Departures
    A document likelihood is the mean over all tokens of a document; the reference truncates documents at 512.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from charts import line_chart  # noqa: E402
from stage import ENCODE, Limits, Stage, Timing, dataset, open_stage  # noqa: E402
from termwise_command import run_train_command  # noqa: E402

from termwise.encode import EncoderFolder, shipped_encoders  # noqa: E402
from termwise.errors import MissingFileError, ParameterError, UnknownNameError  # noqa: E402
from termwise.evaluate import Latency  # noqa: E402
from termwise.fusion import interpolate  # noqa: E402
from termwise.indexing.recipes import RECIPES  # noqa: E402
from termwise.records import Run  # noqa: E402

PACKAGES = ("termwise", "numpy", "numba", "onnxruntime", "tokenizers", "ir-measures", "ir-datasets")


def run(plan: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Run a table or a figure on its datasets."""
    if arguments.questions is not None:
        plan = {**plan, "questions": arguments.questions}
    provenance = record.provenance(PACKAGES) | {"load": os.getloadavg()}
    encoders = _encoders(arguments)
    given = [{"data": data, "split": arguments.split} for data in arguments.data] or plan["datasets"]
    results: dict[str, Any] = {}
    hashes = {}
    for entry in given:
        candidates = arguments.candidates
        if not candidates and "candidates" in entry:
            split = entry.get("split", "test")
            folder = Path(dataset(entry["data"], split, arguments.collections)[1])
            candidates = [folder / entry["candidates"]]
        stage = open_stage(
            entry["data"],
            entry.get("split", "test"),
            arguments.collections,
            arguments.work,
            candidates=candidates,
            depth=plan["depth"],
            encode=arguments.encode or plan["encode"],
            limits=Limits(**plan["limits"]),
            timing=Timing(**plan["latency"]),
            threads=arguments.threads,
            precision=arguments.precision,
            question_maker=arguments.t5,
            questions=plan.get("questions", 40),
        )
        measured = table(plan, stage, encoders | _scorers(arguments)) if "rows" in plan else {}
        if "sweep" in plan:
            measured |= sweep(plan, stage, encoders)
        name = stage.judged.name
        results[name] = measured | stage.facts
        hashes[name] = stage.judged.data
        record.say(f"{name}: {record.seconds()} s")
    result = {
        "experiment": plan["name"],
        "config": dict(plan),
        "encoders": {name: _described(folder) for name, folder in encoders.items()},
        "datasets": results,
        "data": hashes,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    name = plan["name"] if not arguments.data else f"{plan['name']}_{_slug(list(results))}"
    parts = _table_parts(result) if "rows" in plan else [f"# {plan['title']}"]
    if "sweep" in plan:
        parts += _sweep_parts(result, name, _write_sweep(result, arguments.out, name))
    page = "\n\n".join([*(part for part in parts if part), record.about(dict(result))])
    record.save(result, page, arguments.out, name)


def _slug(names: Sequence[str]) -> str:
    return "_".join(name.replace("/", "-") for name in names)


def _encoders(arguments: argparse.Namespace) -> dict[str, str]:
    """Return encoders by their names in the plan."""
    encoders = {name: name for name in shipped_encoders()}
    if arguments.models is not None:
        found = sorted(path.parent for path in arguments.models.glob("*/encoder.json"))
        encoders |= {folder.name: str(folder) for folder in found}
    return encoders | record.named_folders(arguments.encoder)


def _scorers(arguments: argparse.Namespace) -> dict[str, str]:
    """Return specifications of scorers by their names in the plan."""
    found = [] if arguments.models is None else sorted(arguments.models.glob("*/scorer.json"))
    return {path.parent.name: str(path.parent) for path in found} | record.named_folders(arguments.scorer)


def _described(folder: str) -> dict[str, Any]:
    opened = EncoderFolder.open(folder)
    trained = opened.manifest.trained
    settings = trained.get("settings", {})
    departures = {
        "a contrastive loss": settings.get("contrast"),
        "a fit of the head before training": settings.get("head_steps"),
        "biases set from frequencies of terms": settings.get("prior_bias"),
        "a dense teacher": settings.get("teacher", "none") != "none",
    }
    return {
        "id": opened.id,
        "pairs seen": trained.get("pairs_seen"),
        "departures": [name for name, present in departures.items() if present],
    }


def _measures(plan: Mapping[str, Any], stage: Stage) -> list[str]:
    """Return the measures of a dataset, with the graded ones if judgments have grades above 1."""
    graded = any(qrel.relevance > 1 for qrel in stage.judged.qrels)
    return [*plan["measures"], *(plan.get("graded_measures", []) if graded else [])]


# --- a table ----------------------------------------------------------------------------------------------------


def table(plan: Mapping[str, Any], stage: Stage, encoders: Mapping[str, str]) -> dict[str, Any]:
    """Run the rows of a table on one dataset."""
    measures = _measures(plan, stage)
    rows: list[dict[str, Any]] = []
    runs: dict[str, Run] = {}
    for row in plan["rows"]:
        lacking = _lacking(row, stage, encoders)
        if lacking is not None:
            record.say(f"not run: {row['name']}: {lacking}")
            rows.append({"name": row["name"], "published": row.get("published"), "not run": lacking})
            continue
        run, latency = _row(row, stage, encoders)
        runs[row["name"]] = run
        entry = {"name": row["name"], "published": row.get("published"), "latency, ms": latency}
        forms = {part: stage.form(row[part]) for part in ("form", "stored") if part in row}
        rows.append(entry | forms)
        record.say(f"  {stage.judged.name}: {row['name']}")
    if not runs:
        return {"rows": rows, "queries": len(stage.judged.queries), "measures": measures}
    baseline = plan["baseline"] if plan["baseline"] in runs else next(iter(runs))
    measured: dict[str, Any] = {}
    if len(runs) > 1:
        comparison = stage.judged.compare(list(runs.values()), measures, baseline)
        evaluations = comparison.evaluations
        for contrast in comparison.contrasts:
            entry = record.contrast_record(contrast) | {"p_holm": contrast.p_permutation_holm}
            measured.setdefault(contrast.run, {})[contrast.measure] = entry
    else:
        evaluations = tuple(stage.judged.evaluate(run, measures) for run in runs.values())
    by_name = {evaluation.run: evaluation for evaluation in evaluations}
    for entry in rows:
        evaluation = by_name.get(entry["name"])
        if evaluation is not None:
            entry["measures"] = evaluation.means
            entry["intervals"] = {
                name: record.mean_interval(values) for name, values in evaluation.values.items()
            }
            entry["against"] = measured.get(entry["name"], {})
    return {
        "rows": rows,
        "queries": len(evaluations[0].query_ids),
        "measures": measures,
        "baseline": baseline,
    }


def _lacking(row: Mapping[str, Any], stage: Stage, encoders: Mapping[str, str]) -> str | None:
    if row.get("first") == "doctquery" and not stage.makes_questions:
        return "no T5 was named (--t5 FOLDER)"
    for part in ("encoder", "query_encoder", "scorer"):
        if part in row and row[part] not in encoders:
            option = part.removeprefix("query_")
            return f"no {option} {row[part]} was named (--{option} {row[part]}=FOLDER)"
    if "stored" in row and not stage.by_example:
        return "its queries are not documents of the collection, which can be encoded in advance"
    return None


def _row(row: Mapping[str, Any], stage: Stage, encoders: Mapping[str, str]) -> tuple[Run, dict[str, Any]]:
    """Return the run of a row and its latency, with the first stage as a separate part."""
    first = row.get("first", "bm25")
    depth = row.get("depth")
    began = stage.first(first)
    firstly: dict[str, Any] = {}
    if first != "bm25" or stage.timed_first:
        firstly = {"first stage": asdict(Latency.of(began.encoding, began.scoring).total)}
    score = row.get("score", "none")
    if score == "none":
        return Run(began.run, row["name"]), firstly
    encoder = encoders[row["encoder"]] if "encoder" in row else None
    reader = encoders.get(row.get("query_encoder", row.get("encoder")), "")
    form, stored = row.get("form", "compact"), row.get("stored")
    if score == "ql" and encoder is not None:
        timed = stage.query_likelihood(encoder, form, first, depth=depth)
    elif score == "dl":
        timed = stage.likelihoods(None, reader, 0.0, form, first, depth=depth, stored=stored)
    elif score == "qdl" and encoder is not None:
        timed = stage.likelihoods(encoder, reader, row["alpha"], form, first, depth=depth, stored=stored)
    elif score == "tildev2" and encoder is not None:
        timed = stage.tildev2(encoder, first, depth)
    elif score == "scorer":
        settings = "".join(f",{name}={value}" for name, value in row.get("settings", {}).items())
        timed = stage.scored(encoders[row["scorer"]] + settings, first, depth)
    elif score in RECIPES:
        timed = stage.mixture(score, encoders, first, depth)
    else:
        raise UnknownNameError.of("score", score, ("none", "ql", "dl", "qdl", "tildev2", "scorer", *RECIPES))
    latency = Latency.of(timed.encoding, timed.scoring)
    run = timed.run
    if "first_share" in row:
        run = interpolate(began.run, run, alpha=row["first_share"], missing="drop")
    return Run(run, row["name"]), {
        **firstly,
        "query encoding": asdict(latency.encoding),
        "re-ranking": asdict(latency.scoring),
    }


def _table_parts(result: Mapping[str, Any]) -> list[str]:
    plan = result["config"]
    main, latency = plan["measures"][0], plan["latency"]
    parts = [
        f"# {plan['title']}",
        *([plan["note"]] if "note" in plan else []),
        f"After {plan['source']}. Made by `experiments/tilde_tables/tables.py`. Latency: milliseconds a query on one "
        f"thread, means; each query has the median of its times, {latency['passes']} passes after "
        f"{latency['warm']} queries to warm up. Difference, interval and p of {main} are paired, against the "
        "baseline; p by Holm over the rows. Published: figure of the paper, on its data. A document likelihood is the "
        "mean over all tokens of a document; the reference truncates documents at 512.",
        _encoder_list(result),
    ]
    if "questions" in plan:
        parts.append(f"docTquery appends {plan['questions']} generated questions to each document.")
    for name, entry in result["datasets"].items():
        head = (
            "row", "published", "first stage", "query encoding", "re-ranking", *entry["measures"], "difference", "95 %",
            "p (Holm)",
        )  # fmt: skip
        against = f"; baseline: {entry['baseline']}" if "baseline" in entry else ""
        parts += [
            f"## {name}",
            f"{_sizes(entry)}{against}.",
            record.table(head, map(_line(entry["measures"]), entry["rows"])),
        ]
        notes = [f"- {row['name']}: not run, {row['not run']}" for row in entry["rows"] if "not run" in row]
        notes += [
            f"- {row['name']}: in the compact form, because of the number of encoded documents"
            for row, declared in zip(entry["rows"], plan["rows"], strict=True)
            if "auto" in (declared.get("form"), declared.get("stored"))
            and "compact" in (row.get("form"), row.get("stored"))
        ]
        parts += ["\n".join(notes)] if notes else []
    return parts


def _encoder_list(result: Mapping[str, Any]) -> str:
    plan = result["config"]
    rows = [*plan.get("rows", []), plan.get("sweep", {})]
    named = dict.fromkeys(row[part] for row in rows for part in ("encoder", "query_encoder") if part in row)
    lines = []
    for name in named:
        if name in result["encoders"]:
            described = result["encoders"][name]
            seen = described["pairs seen"]
            pairs = (
                f"trained on {seen:,} pairs"
                if isinstance(seen, int)
                else "number of training pairs not known"
            )
            departures = ", ".join(described["departures"])
            lines.append(
                f"- encoder `{name}`: {described['id'][:19]}…, {pairs}"
                + (f". Departures from the training of the paper: {departures}" if departures else "")
            )
    return "\n".join(lines)


def _sizes(entry: Mapping[str, Any]) -> str:
    """Return the numbers of queries, documents and encoded documents as text."""
    read = "all" if entry["networks read"] == "all" else f"the {entry['documents read']:,} candidates"
    return f"{entry['queries']:,} queries, {entry['documents']:,} documents; networks encode {read}"


def _line(measures: Sequence[str]) -> Any:
    main = measures[0]

    def cells(row: Mapping[str, Any]) -> list[str]:
        published = row.get("published") or ""
        if "measures" not in row:
            return [row["name"], published, *["–"] * (6 + len(measures))]
        times = [row["latency, ms"].get(part) for part in ("first stage", "query encoding", "re-ranking")]
        contrast = row["against"].get(main)
        return [
            row["name"],
            published,
            *("" if time is None else f"{time['mean']:.2f}" for time in times),
            *(record.number(row["measures"][name]) for name in measures),
            *(("", "", "") if contrast is None else record.paired_cells(contrast, "p_holm")),
        ]

    return cells


# --- a sweep over the share -------------------------------------------------------------------------------------


def sweep(plan: Mapping[str, Any], stage: Stage, encoders: Mapping[str, str]) -> dict[str, Any]:
    """Measure the mixture at every share; each network runs once per query."""
    settings = plan["sweep"]
    name = settings["encoder"]
    if name not in encoders:
        raise MissingFileError(
            "the encoder of the figure was not named",
            facts=[("encoder", name)],
            fixes=[f"--encoder {name}=FOLDER"],
        )
    reader = encoders[settings.get("query_encoder", name)]
    measures = _measures(plan, stage)
    one = stage.query_likelihood(encoders[name], settings["form"])
    other = stage.likelihoods(None, reader, 0.0, settings["form"])
    points = []
    for alpha in settings["alpha"]:
        mixed = interpolate(
            one.run, other.run, alpha=alpha, scaling="raw", missing="drop", name=f"alpha {alpha}"
        )
        evaluation = stage.judged.evaluate(mixed, measures)
        intervals = {name: record.mean_interval(values) for name, values in evaluation.values.items()}
        points.append({"alpha": alpha, "measures": evaluation.means, "intervals": intervals})
    bm25 = stage.judged.evaluate(stage.first("bm25").run, measures)
    return {
        "points": points,
        "bm25": bm25.means,
        "queries": len(bm25.query_ids),
        "measures": measures,
        "form": stage.form(settings["form"]),
    }


def _write_sweep(result: Mapping[str, Any], out: Path, name: str) -> dict[str, str]:
    """Write the points and a figure of each measure, and return the files of the figures."""
    plan = result["config"]
    out.mkdir(parents=True, exist_ok=True)
    lines = ["dataset,alpha,measure,value,low,high"]
    for dataset_name, entry in result["datasets"].items():
        for point in entry["points"]:
            for measure in entry["measures"]:
                low, high = point["intervals"][measure]
                value = point["measures"][measure]
                lines.append(f"{dataset_name},{point['alpha']},{measure},{value:.6f},{low:.6f},{high:.6f}")
    (out / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    datasets, files = result["datasets"], {}
    for measure in plan["sweep"].get("figures", plan["measures"][:1]):
        files[measure] = f"{name}_{_slug([measure])}.svg" if files else f"{name}.svg"
        chart = line_chart(
            {
                dataset_name: [(point["alpha"], point["measures"][measure]) for point in entry["points"]]
                for dataset_name, entry in datasets.items()
            },
            title=plan["title"],
            x="α, share of the query likelihood",
            y=measure,
            levels={
                f"BM25, {dataset_name}": entry["bm25"][measure] for dataset_name, entry in datasets.items()
            },
        )
        (out / files[measure]).write_text(chart, encoding="utf-8")
    return files


def _sweep_parts(result: Mapping[str, Any], name: str, figures: Mapping[str, str]) -> list[str]:
    plan = result["config"]
    whole = "rows" not in plan
    parts = [
        f"After {plan['source']}. Made by `experiments/tilde_tables/tables.py`. A document likelihood is the mean over "
        "all tokens of a document; the reference truncates documents at 512."
        if whole
        else "## Shares of the query likelihood",
        f"All points with intervals are in [{name}.csv]({name}.csv).",
        _encoder_list(result) if whole else "",
        *(f"![{plan['title']}, {measure}]({file})" for measure, file in figures.items()),
    ]
    for dataset_name, entry in result["datasets"].items():
        rows = [
            [
                f"{point['alpha']:.2f}",
                *(record.number(point["measures"][measure]) for measure in entry["measures"]),
                record.interval(point["intervals"][plan["measures"][0]]),
            ]
            for point in entry["points"]
        ]
        rows.append(["BM25", *(record.number(entry["bm25"][measure]) for measure in entry["measures"]), ""])
        head = ("α", *entry["measures"], f"95 % of {plan['measures'][0]}")
        sizes = f"{_sizes(entry)}; {entry['form']} form."
        parts += [f"{'##' if whole else '###'} {dataset_name}", sizes, record.table(head, rows)]
    return parts


# --- training ---------------------------------------------------------------------------------------------------


def train(plan: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Train the networks of a plan, except for finished ones."""
    if "models" not in plan:
        raise ParameterError("the plan has no networks to train", facts=[("file", arguments.file)])
    if not arguments.pairs or arguments.base is None or arguments.models is None:
        raise ParameterError(
            "training needs pairs, a base encoder and a folder for the networks",
            fixes=["--pairs DATA --base ENCODER --models FOLDER"],
        )
    for name, objective in plan["models"].items():
        out = arguments.models / name
        if (out / "encoder.json").is_file():
            record.say(f"{name}: {out} exists")
            continue
        settings = {
            **plan.get("train", {}),
            **_sized(plan, arguments.size),
            **objective,
            **dict(pair.split("=", 1) for pair in arguments.set),
        }
        options = ["--base", str(arguments.base)]
        for data in arguments.pairs:
            options += ["--data", data]
        if arguments.validation is not None:
            options += ["--validation", arguments.validation]
        run_train_command("tilde", out, options=options, settings=settings)


def _sized(plan: Mapping[str, Any], size: str | None) -> Mapping[str, str]:
    """Return the training settings of a smaller size, if one is named."""
    sizes = plan.get("sizes", {})
    if size is not None and size not in sizes:
        raise UnknownNameError.of("size of training", size, sizes)
    return sizes.get(size, {})


def main(given: Sequence[str] | None = None) -> None:
    """Run the plan, or train its networks."""
    parser = record.parser(__doc__, "collections", "out", "precision", "threads")
    parser.add_argument("what", choices=("run", "train"))
    parser.add_argument("file", type=Path, help="plan, such as table2.toml")
    parser.add_argument(
        "--work", type=Path, default=Path("tilde_tables.work"), help="work folder, kept between runs"
    )
    parser.add_argument("--encoder", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="folder of encoder folders")
    parser.add_argument(
        "--data", action="append", default=[], metavar="DATA", help="datasets in place of those of the plan"
    )
    parser.add_argument("--scorer", action="append", default=[], metavar="NAME=SCORER")
    parser.add_argument(
        "--candidates", action="append", type=Path, default=[], metavar="RUN", help="run in place of BM25"
    )
    parser.add_argument("--split", default="test", help="split of the datasets of --data")
    parser.add_argument("--encode", choices=ENCODE, help="documents that networks encode")
    parser.add_argument(
        "--t5", type=Path, metavar="FOLDER", help="T5 that generates questions, for docTquery"
    )
    parser.add_argument("--questions", type=int, help="questions per document, in place of those of the plan")
    parser.add_argument("--pairs", action="append", default=[], metavar="DATA", help="training pairs")
    parser.add_argument("--base", metavar="ENCODER", help="base encoder of training")
    parser.add_argument("--validation", metavar="DATA", help="held-out pairs")
    parser.add_argument("--size", help="training size of the plan, such as cpu")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="training setting")
    arguments = parser.parse_args(given)
    if not arguments.file.is_file():
        raise MissingFileError("the plan does not exist", facts=[("file", arguments.file)])
    plan = tomllib.loads(arguments.file.read_text(encoding="utf-8"))
    {"run": run, "train": train}[arguments.what](plan, arguments)


if __name__ == "__main__":
    record.script(main)
