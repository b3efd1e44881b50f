"""``termwise probe``: controlled experiments on rankers."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Annotated

from termwise.cli.options import (
    JsonFlag,
    Threads,
    argument,
    available_processors,
    flag,
    option,
    refuse_options,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note
from termwise.errors import UsageError


def command(
    scorers: Annotated[
        list[str] | None,
        argument(
            "[NAME=]SCORER...",
            "Rankers: a model (bm25, jm, tilde, tildev2, lookup, ...) with settings after commas; best, the "
            "recommended mixture; the folder of an index, a mixture, an encoder, a translation table or a network of "
            "sentence-transformers, or the name of such a network on the Hugging Face hub; http://...; "
            "python:MODULE:FUNCTION; a run file; or FIRST+SECOND,alpha=0.5, a mixture of two rankers named before.",
        ),
    ] = None,
    suites: Annotated[
        list[str] | None,
        option(
            "--suite NAME|FILE",
            "quick, paper, robustness, axioms or all; probe:NAME, where * stands for any letters; or a YAML file with "
            "your own probes; repeatable.  [default: quick]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out DIR",
            "Write a report: a page, tables and all samples. The same command resumes an interrupted run.",
        ),
    ] = None,
    judged: Annotated[
        list[str] | None,
        option(
            "--judged [NAME=]DIR[:SPLIT]",
            "Judged collection: a folder in BEIR layout, or three files, COLLECTION,QUERIES,QRELS; repeatable.  "
            "[default: the shipped questions about Python]",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        option(
            "--collection COLLECTION",
            "Collection for term statistics.  [default: the first judged collection]",
        ),
    ] = None,
    idf: Annotated[
        Path | None,
        option(
            "--idf FILE",
            "Document frequencies of words, if the collection for term statistics is a part of a larger one: lines of "
            "a word and its frequency, after a first line with N and the average length.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        option(
            "--data NAME=PATH", "Data set of text pairs, such as jfleg=DIR; --list names them; repeatable."
        ),
    ] = None,
    delta: Annotated[
        str,
        option(
            "--delta RULE",
            "Tie threshold δ, the largest score difference of a tie: median (of the gaps between neighbours in the "
            "top ten of a ranker), by-query, by-rank, or a number, which avoids scoring the candidates, except for a "
            "mixture, whose scales come from their scores.",
        ),
    ] = "median",
    candidates: Annotated[
        Path | None,
        option(
            "--candidates RUN",
            "Rankings for the gaps of --delta.  [default: the BM25 rankings of 50 of the queries]",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        option(
            "--depth N",
            "Number of candidates of a query for the gaps; --delta NUMBER avoids scoring them, except for a "
            "mixture.  [default: 50]",
            min=2,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        option(
            "--limit N",
            "Largest number of samples of a probe; the candidates are scored all the same, see --delta.  [default: 100 "
            "for quick, else all]",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, option("--seed N", "Seed of random choices.")] = 0,
    stop_words: Annotated[
        Path | None, option("--stop-words FILE", "Stop words, one a line.  [default: 179 English ones]")
    ] = None,
    language: Annotated[
        str | None,
        option(
            "--language spacy|rules",
            "Method for finding sentences, noun chunks and names.  [default: spacy if it is installed]",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        option(
            "--fail-if CONDITION",
            "Exit with status 5 if a score meets the condition, such as 'typos<-0.3' or 'bm25:shuffle-*>0.1', or has "
            "'changed' since the report of --against; repeatable.",
        ),
    ] = None,
    against: Annotated[Path | None, option("--against DIR", "Earlier report to compare with.")] = None,
    device: Annotated[
        str | None, option("--device NAME", "Device for networks of torch.  [default: cuda if available]")
    ] = None,
    report_folder: Annotated[
        Path | None,
        option(
            "--report DIR", "Read the scores of a report, for --against, --fail-if or --json; score nothing."
        ),
    ] = None,
    list_probes: Annotated[bool, flag("--list", "List suites, probes and data sets; score nothing.")] = False,
    by_name: Annotated[
        bool, flag("--names", "Print names of probes, as in --fail-if, instead of titles.")
    ] = False,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Probe rankers with pairs of texts that differ in one way.

    bm25 takes half a minute; a network that encodes the texts, such as tildev2 or the part lookup of best, takes ten
    minutes or more.

    Example: termwise probe bm25 tildev2 --out report
    """
    from termwise.cli.probe_output import (
        CHANGED,
        EarlierReport,
        check_report,
        comparable_scores,
        note_interrupted,
        note_plan,
        note_replaced_scores,
        print_probes,
        print_report,
    )
    from termwise.probes.core.reference_rankings import DEPTH
    from termwise.probes.inputs import named_folders, open_inputs
    from termwise.probes.registry import probes_of
    from termwise.probes.report import Assertion, failed_assertions, read_report, report_at
    from termwise.probes.run import ProbeSettings, probe_rankers

    settings = ProbeSettings(
        delta=delta, candidates=candidates, idf=idf, depth=depth or DEPTH, limit=limit, seed=seed,
        threads=threads or available_processors(), device=device,
    )  # fmt: skip
    assertions = [Assertion.read(text) for text in fail_if or () if text != CHANGED]
    earlier = None if against is None else EarlierReport(against, read_report(against))
    unchanged_since = earlier if CHANGED in (fail_if or ()) else None
    if CHANGED in (fail_if or ()) and earlier is None:
        raise UsageError("--fail-if changed needs an earlier report", fixes=["--against DIR"])
    previous = None if out is None else report_at(out)
    if report_folder is not None:
        given = {
            "SCORER": scorers, "--suite": suites, "--out": out, "--judged": judged, "--data": data,
            "--collection": collection, "--idf": idf, "--candidates": candidates, "--list": list_probes,
            "--depth": depth, "--limit": limit, "--seed": seed or None, "--language": language,
            "--stop-words": stop_words, "--device": device, "--delta": None if delta == "median" else delta,
        }  # fmt: skip
        refuse_options(given, "with --report, which reads existing scores")
        report = read_report(report_folder)
        failed_assertions(assertions, report)  # refuses assertions that match no score
        if unchanged_since is not None:
            comparable_scores(report, unchanged_since)
    else:
        if not scorers and not list_probes:
            raise UsageError(
                "no ranker is given", fixes=["termwise probe bm25", "termwise probe --list shows the probes"]
            )
        suites = suites or ["quick"]
        with progress_bar() as progress:
            inputs = open_inputs(
                judged=judged or (), collection=collection, data=named_folders(data or ()),
                stop_words=stop_words, language=language,
            )  # fmt: skip
            if list_probes:
                print_probes(probes_of(suites, inputs), suites, as_json)
                return
            try:
                with redirect_stdout(sys.stderr):  # output of user functions
                    report = probe_rankers(
                        scorers or (), suites=suites, inputs=inputs, settings=settings, out=out,
                        assertions=assertions, before_scoring=partial(note_plan, out=out), progress=progress,
                    )  # fmt: skip
            except KeyboardInterrupt:
                note_interrupted(out)
                raise
    print_report(report, as_json=as_json, by_name=by_name, earlier=earlier)
    if out is not None:
        if previous is not None:
            note_replaced_scores(EarlierReport(out, previous), report)
        note(f"{out}: open {out / 'report.html'}")
    elif report_folder is None and not as_json:
        note("--out DIR writes a report: a page with example pairs for every probe, and tables")
    check_report(assertions, report, unchanged_since=unchanged_since)
