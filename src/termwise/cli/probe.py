"""``termwise probe``: what a ranker really responds to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from termwise.cli.options import JsonFlag, Threads, available_processors
from termwise.cli.terminal import note, print_json, progress_bar, stdout
from termwise.errors import CheckFailedError, MissingExtraError, UsageError
from termwise.legible import legible_line

if TYPE_CHECKING:
    from termwise.cli.probe_material import Wanted


def command(
    scorers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]SCORER...",
            help="Rankers: a model (bm25, jm, tilde, tildev2, ...) with settings after commas, the folder of an index, "
            "an encoder, a translation table or a network of sentence-transformers, http://..., "
            "python:MODULE:FUNCTION, a run file, or FIRST+SECOND,alpha=0.5 of two that are named before.",
            show_default=False,
        ),
    ] = None,
    suites: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="NAME|FILE",
            help="quick, paper, robustness, axioms, all; probe:NAME, where * stands for any letters; or a YAML file "
            "with probes of your own. May be repeated.  [default: quick]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write a report: page, tables, every sample. Started again, it goes on where it stopped.",
            show_default=False,
        ),
    ] = None,
    judged: Annotated[
        list[str] | None,
        typer.Option(
            "--judged",
            metavar="[NAME=]DIR[:SPLIT]",
            help="A judged collection, a folder in BEIR layout; or three files, COLLECTION,QUERIES,QRELS. May be "
            "repeated.  [default: the questions about Python that ship]",
            show_default=False,
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            metavar="COLLECTION",
            help="What term statistics are counted on.  [default: the first judged collection]",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="NAME=PATH",
            help="A data set of pairs that you have, such as jfleg=DIR; --list names them. May be repeated.",
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        str,
        typer.Option(
            "--delta",
            metavar="RULE",
            help="What counts as a tie: median (of the gaps among a ranker's best ten), by-query, by-rank, or a "
            "number.",
        ),
    ] = "median",
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates",
            metavar="RUN",
            help="Rankings that the gaps are taken from.  [default: what BM25 ranks first for 50 of the queries]",
            show_default=False,
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            min=2,
            help="Candidates of each query that gaps are taken from.  [default: 50]",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Samples of a probe, at the most.  [default: 100 for quick, else all]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of whatever is drawn.")] = 0,
    stop_words: Annotated[
        Path | None,
        typer.Option(
            "--stop-words",
            metavar="FILE",
            help="Stop words, one a line.  [default: 179 English ones]",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="spacy|rules",
            help="What finds sentences, noun chunks and names.  [default: spacy where it is installed]",
            show_default=False,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="DEMAND",
            help="Exit with 5 where a score is so, such as 'typos<-0.3' or 'bm25:shuffle-*>0.1'. May be repeated.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="DIR", help="An earlier report: tell what has changed.", show_default=False
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="NAME",
            help="What networks of torch run on.  [default: cuda where there is one]",
            show_default=False,
        ),
    ] = None,
    list_probes: Annotated[
        bool, typer.Option("--list", help="List suites, probes and data sets, and ask nothing.")
    ] = False,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask rankers controlled questions: pairs of texts that differ in one thing.

    Example: termwise probe bm25 tildev2 --out report
    """
    from termwise.cli.probe_material import Asking
    from termwise.cli.probe_scorers import Mixture, mixed
    from termwise.collection import read_run
    from termwise.probes.reference import DEPTH, QUERIES
    from termwise.probes.report import Demand, differences, read_report, report_of, unmet, write_report
    from termwise.probes.report.demands import check_demands
    from termwise.probes.report.folder import SCORES, prepare_place
    from termwise.probes.suite_run import Question, run_suite
    from termwise.probes.thresholds import read_rule
    from termwise.scorers import ScoreStore

    rule = read_rule(delta)
    rankings = None if candidates is None else read_run(candidates)
    demands = [Demand.read(text) for text in fail_if or ()]
    before = None if against is None else read_report(against)
    with progress_bar() as progress:
        asking = Asking.of(
            judged=judged or (), collection=collection, data=data or (), stop_words=stop_words, language=language,
            progress=progress,
        )  # fmt: skip
        chosen = asking.probes(suites or ["quick"])
        if list_probes:
            _list(chosen, as_json)
            return
        if not scorers:
            raise UsageError(
                "name a ranker to ask",
                fixes=["termwise probe bm25", "termwise probe --list, to see what is asked"],
            )
        opened = asking.scorers(scorers, threads or available_processors(), device)
        check_demands(demands, probes=[one.probe.name for one, _ in chosen], scorers=list(opened))
        if out is not None:
            prepare_place(out)
        reference = None
        if isinstance(rule, str) or any(isinstance(one, Mixture) for one in opened.values()):
            most = None if rule in ("by-query", "by-rank") else QUERIES
            reference = asking.reference(rankings, depth or DEPTH, most, seed, progress)
            asking.facts["candidates"] = f"{reference.name}, {len(reference.candidates):,} queries"
        with ScoreStore(None if out is None else out / SCORES) as store:
            asked = mixed(opened, reference, store=store, progress=progress)
            questions = []
            lacking: dict[str, list[str]] = {}
            for done, (one, most) in enumerate(chosen, start=1):
                most_here = most if limit is None else limit
                try:
                    questions.append(Question.of(one.probe, seed=seed, most=most_here, section=one.section))
                except MissingExtraError as error:
                    if len(chosen) == 1:
                        raise
                    lacking.setdefault(error.fixes[0], []).append(one.probe.name)
                progress(f"make samples: {one.probe.name}", done, len(chosen))
            run = run_suite(
                asked, questions, delta=rule, reference=reference, store=store,
                facts={
                    **asking.facts, "seed": seed, "suites": list(suites or ["quick"]), "delta": delta,
                    "not made": [name for names in lacking.values() for name in names],
                },
                progress=progress,
            )  # fmt: skip
            report = report_of(run, telling=0 if out is None else 2, progress=progress)
    if out is not None:
        write_report(out, report, run)
    if as_json:
        for cell in report["cells"]:
            print_json({name: value for name, value in cell.items() if name not in ("sweep", "telling")})
    else:
        _show(report)
    for line in _skipped(report):
        note(line)
    for fix, names in lacking.items():
        note(f"not asked, for want of a package: {', '.join(names)} ({fix})")
    changed = [] if before is None else [cell for cell in differences(before, report) if cell.state != "same"]
    for cell in changed:
        note(
            f"{cell.probe}, {cell.scorer}: {_score(cell.before)} before, {_score(cell.after)} now: {cell.state}"
        )
    if before is not None and not changed:
        note(f"nothing has changed since {against}")
    if out is not None:
        note(f"{out}: open {out / 'report.html'}")
    elif not as_json:
        note("with --out DIR: a page with every probe, its most telling samples, and tables")
    failed = unmet(demands, report)
    if failed:
        raise CheckFailedError(
            "a score is as it must not be"
            if len(failed) == 1
            else f"{len(failed)} scores are as they must not be",
            facts=[
                (demand.text, f"{cell['scorer']}, {cell['probe']}: {cell['score']:+.3f}")
                for demand, cell in failed
            ],
        )


def _show(report: dict[str, Any]) -> None:
    """Print the tables: a section a table."""
    from rich.table import Table

    from termwise.probes.report.tables import sections, written

    console = stdout()
    for title, rows in sections(report):
        table = Table(title=legible_line(title), title_justify="left", box=None, pad_edge=False)
        table.add_column("probe")
        table.add_column("texts", style="dim")
        for scorer in report["scorers"]:
            table.add_column(legible_line(scorer["name"]), justify="right")
        table.add_column("pairs", justify="right", style="dim")
        asked = [row for row in rows if row.probe["samples"]]
        if not asked:
            continue
        for row in asked:
            symmetric = row.probe["symmetric"]
            table.add_row(
                legible_line(row.title),
                legible_line(row.data),
                *(written(cell, symmetric=symmetric) for cell in row.cells),
                f"{row.probe['samples']:,}",
            )
        console.print(table)
        console.print()
    empty = sum(not probe["samples"] for probe in report["probes"])
    if empty:
        have = "probe has" if empty == 1 else "probes have"
        console.print(f"{empty} {have} no pair in these texts.", style="dim", highlight=False)
    deltas = ", ".join(
        f"{legible_line(one['name'])} {_threshold(one['reading'])}" for one in report["scorers"]
    )
    console.print(
        "+1: the first text, with the quality or the change that the probe is named for, is always preferred; "
        "without a sign: how often two texts are told apart.",
        "* not significant.",
        f"Ties: {deltas}.",
        style="dim",
        highlight=False,
    )


def _skipped(report: dict[str, Any]) -> Iterator[str]:
    """Say what was not asked of whom, and why: a line for each reason."""
    for scorer in report["scorers"]:
        reasons: dict[str, list[str]] = {}
        for probe, why in scorer["skipped"].items():
            reasons.setdefault(why, []).append(probe)
        for why, probes in reasons.items():
            what = probes[0] if len(probes) == 1 else f"{len(probes)} probes, such as {probes[0]}"
            yield f"{scorer['name']} was not asked {what}: {why}"


def _list(chosen: Sequence[Wanted], as_json: bool) -> None:
    """Print what there is to ask."""
    from termwise.cli.probe_material import data_names
    from termwise.probes.suites import SUITES

    if as_json:
        for one, _ in chosen:
            print_json({"probe": one.probe.name, "title": one.probe.title, "section": one.section})
        return
    console = stdout()
    for suite in SUITES.values():
        console.print(f"{suite.name:<12} {suite.about}", highlight=False)
    console.print(f"\nfor --data: {', '.join(data_names())}", highlight=False)
    section = ""
    for one, _ in chosen:
        if one.section != section:
            section = one.section
            console.print(f"\n{legible_line(section)}", highlight=False)
        name, title = legible_line(one.probe.name), legible_line(one.probe.title)
        console.print(f"  {name:<52} {title}", highlight=False)


def _threshold(reading: dict[str, Any]) -> str:
    return f"{reading['delta']:.4g}" if reading["kind"] == "constant" else str(reading["kind"])


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:+.3f}"
