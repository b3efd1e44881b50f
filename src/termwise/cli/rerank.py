"""``termwise rerank``: score and order the documents of a run anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.judged import wanted_queries
from termwise.cli.options import (
    IndexFolder,
    JsonFlag,
    Separator,
    Threads,
    available_processors,
    column_separator,
)
from termwise.cli.terminal import note, print_json, progress_bar, refuse_overwriting


def command(
    folder: IndexFolder,
    run: Annotated[
        Path, typer.Option("--run", metavar="FILE", help="Run with the candidates.", show_default=False)
    ],
    queries: Annotated[
        str,
        typer.Option("--queries", metavar="FILE", help="The queries, or ir_datasets:ID.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", metavar="FILE", help="Run file to write.", show_default=False)
    ],
    k: Annotated[
        int, typer.Option("-k", metavar="N", help="Candidates to keep for each query, best first.")
    ] = 1000,
    tag: Annotated[str, typer.Option("--tag", help="Name of the run, its last column.")] = "termwise",
    separator: Separator = "space",
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Re-rank the documents of a run with an index.

    Every candidate is scored; equal scores keep the order of the run.
    """
    from termwise.collection import read_run, write_run
    from termwise.search import Searcher

    refuse_overwriting([output], [run, queries, folder])
    between = column_separator(separator)
    searcher = Searcher.open(folder)
    candidates = read_run(run)
    wanted = wanted_queries(queries)
    with progress_bar() as progress:
        timed = searcher.rank_many(
            wanted,
            k=k,
            threads=threads or available_processors(),
            candidates=candidates,
            name=tag,
            progress=progress,
        )
    write_run(timed.run, output, separator=between)
    known = {query.query_id for query in wanted}
    without_text = sorted(set(candidates.rankings) - known)
    without_candidates = sorted(known - set(candidates.rankings))
    if as_json:
        print_json(
            {
                "run": str(output),
                "queries": len(timed.run),
                "left_out": without_text,
                "without_candidates": without_candidates,
            }
        )
    _say_left_out(without_text, f"of {run} have no text in {queries}", f"of {run} has no text in {queries}")
    _say_left_out(without_candidates, f"have no candidates in {run}", f"has no candidates in {run}")
    note(f"{output}: {len(timed.run):,} queries")


def _say_left_out(query_ids: Sequence[str], several: str, one: str) -> None:
    if query_ids:
        shown = ", ".join(query_ids[:5]) + (", ..." if len(query_ids) > 5 else "")
        why = f"query {one} and was" if len(query_ids) == 1 else f"queries {several} and were"
        note(f"{len(query_ids):,} {why} left out: {shown}")
