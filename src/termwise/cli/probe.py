"""``termwise probe``: what a ranker really responds to."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.options import JsonFlag, Threads, argument, available_processors, option
from termwise.cli.terminal import note, progress_bar
from termwise.errors import UsageError


def command(
    scorers: Annotated[
        list[str] | None,
        argument(
            "[NAME=]SCORER...",
            "Rankers: a model (bm25, jm, tilde, tildev2, ...) with settings after commas, the folder of an "
            "index, an encoder, a translation table or a network of sentence-transformers, its name on the "
            "hub, http://..., python:MODULE:FUNCTION, a run file, or FIRST+SECOND,alpha=0.5 of two that are "
            "named before.",
        ),
    ] = None,
    suites: Annotated[
        list[str] | None,
        option(
            "--suite NAME|FILE",
            "quick, paper, robustness, axioms, all; probe:NAME, where * stands for any letters; or a YAML "
            "file with probes of your own. May be repeated.  [default: quick]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out DIR",
            "Write a report: page, tables, every sample. Started again, it goes on where it stopped.",
        ),
    ] = None,
    judged: Annotated[
        list[str] | None,
        option(
            "--judged [NAME=]DIR[:SPLIT]",
            "A judged collection, a folder in BEIR layout; or three files, COLLECTION,QUERIES,QRELS. May be "
            "repeated.  [default: the questions about Python that ship]",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        option(
            "--collection COLLECTION",
            "What term statistics are counted on.  [default: the first judged collection]",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        option(
            "--data NAME=PATH",
            "A data set of pairs that you have, such as jfleg=DIR; --list names them. May be repeated.",
        ),
    ] = None,
    delta: Annotated[
        str,
        option(
            "--delta RULE",
            "What counts as a tie: median (of the gaps among a ranker's best ten), by-query, by-rank, or a "
            "number.",
        ),
    ] = "median",
    candidates: Annotated[
        Path | None,
        option(
            "--candidates RUN",
            "Rankings that the gaps are taken from.  [default: what BM25 ranks first for 50 of the queries]",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        option("--depth N", "Candidates of each query that gaps are taken from.  [default: 50]", min=2),
    ] = None,
    limit: Annotated[
        int | None,
        option("--limit N", "Samples of a probe, at the most.  [default: 100 for quick, else all]", min=1),
    ] = None,
    seed: Annotated[int, option("--seed N", "Of whatever is drawn.")] = 0,
    stop_words: Annotated[
        Path | None, option("--stop-words FILE", "Stop words, one a line.  [default: 179 English ones]")
    ] = None,
    language: Annotated[
        str | None,
        option(
            "--language spacy|rules",
            "What finds sentences, noun chunks and names.  [default: spacy where it is installed]",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        option(
            "--fail-if DEMAND",
            "Exit with 5 where a score is so, such as 'typos<-0.3' or 'bm25:shuffle-*>0.1', or has 'changed' "
            "since the report of --against. May be repeated.",
        ),
    ] = None,
    against: Annotated[
        Path | None, option("--against DIR", "An earlier report: tell what has changed.")
    ] = None,
    device: Annotated[
        str | None,
        option("--device NAME", "What networks of torch run on.  [default: cuda where there is one]"),
    ] = None,
    earlier: Annotated[
        Path | None,
        option(
            "--report DIR",
            "Ask nothing: take the scores of a report that there is, for --against, --fail-if or --json.",
        ),
    ] = None,
    list_probes: Annotated[
        bool, typer.Option("--list", help="List suites, probes and data sets, and ask nothing.")
    ] = False,
    by_name: Annotated[
        bool,
        typer.Option("--names", help="Print the names of probes, as --fail-if takes them, not their titles."),
    ] = False,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask rankers controlled questions: pairs of texts that differ in one thing.

    Half a minute for bm25; a network that has to read the texts, such as tildev2, takes ten.

    Example: termwise probe bm25 tildev2 --out report
    """
    from termwise.cli.probe_output import (
        CHANGED,
        check_met,
        compared_with,
        left_behind,
        not_kept,
        replaced,
        show_probes,
        tell,
    )
    from termwise.collection import read_run
    from termwise.probes.core.effect_rule import parse_delta
    from termwise.probes.core.reference_rankings import DEPTH
    from termwise.probes.data_sources import named_folders
    from termwise.probes.report import Assertion, failed_assertions, read_report, report_at
    from termwise.probes.session import ProbeSession

    parse_delta(delta)
    rankings = None if candidates is None else read_run(candidates)
    demands = [Assertion.read(text) for text in fail_if or () if text != CHANGED]
    held = CHANGED in (fail_if or ())
    if held and against is None:
        raise UsageError(
            "a score has changed since an earlier report, and none is named",
            facts=[("--fail-if", CHANGED)],
            fixes=["--against DIR, the folder of a report"],
        )
    before = None if against is None else read_report(against)
    stood = None if out is None else report_at(out)
    if earlier is not None:
        _refuse_besides(
            earlier,
            {
                "a ranker": scorers, "--suite": suites, "--out": out, "--judged": judged, "--data": data,
                "--collection": collection, "--candidates": candidates, "--list": list_probes, "--depth": depth,
                "--limit": limit, "--seed": seed, "--language": language, "--stop-words": stop_words,
                "--device": device, "--delta": delta != "median",
            },
        )  # fmt: skip
        report = read_report(earlier)
        failed_assertions(demands, report)  # what is demanded of nobody is told before anything is printed
        if held and before is not None and against is not None:
            compared_with(before, report, against)
        tell(report, as_json=as_json, by_name=by_name, before=before, against=against)
        check_met(demands, report, before=before if held else None, against=against)
        return
    asked = suites or ["quick"]
    with progress_bar() as progress:
        session = ProbeSession.open(
            judged=judged or (), collection=collection, data=named_folders(data or ()), stop_words=stop_words,
            language=language, progress=progress,
        )  # fmt: skip
        wanted = session.probes(asked)
        if list_probes:
            show_probes(wanted, asked, as_json)
            return
        if not scorers:
            raise UsageError(
                "name a ranker to ask",
                fixes=["termwise probe bm25", "termwise probe --list, to see what is asked"],
            )
        for name in session.unused_data(wanted):
            note(f"{name}: none of these suites asks about it; --suite all does")
        with redirect_stdout(sys.stderr):  # what functions of others print
            opened = session.rankers(scorers, threads=threads or available_processors(), device=device)
            for line in not_kept(opened, out):
                note(line)
            try:
                report = session.report(
                    opened, wanted, out=out, delta=delta, candidates=rankings, depth=depth or DEPTH, limit=limit,
                    seed=seed, facts={"suites": asked, "made": date.today().isoformat()}, assertions=demands,
                    progress=progress,
                )  # fmt: skip
            except KeyboardInterrupt:
                note(left_behind(out))
                raise
    tell(report, as_json=as_json, by_name=by_name, before=before, against=against)
    if out is not None:
        for line in replaced(stood, report, out) if stood else ():
            note(line)
        note(f"{out}: open {out / 'report.html'}")
    elif not as_json:
        note("with --out DIR: a page with every probe, its most telling samples, and tables")
    check_met(demands, report, before=before if held else None, against=against)


def _refuse_besides(report: Path, given: dict[str, object]) -> None:
    """Refuse what says what is asked where nothing is."""
    besides = " and ".join(name for name, value in given.items() if value)
    if besides:
        raise UsageError(
            "with --report nothing is asked",
            facts=[("--report", report), ("besides", besides)],
            fixes=[f"leave {besides} out, to read the report", "leave --report out, to ask"],
        )
