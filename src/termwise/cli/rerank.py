"""``termwise rerank``: score and order the documents of a run anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from termwise.cli.judged import wanted_queries
from termwise.cli.options import (
    IndexFolder,
    JsonFlag,
    Separator,
    Threads,
    available_processors,
    column_separator,
    model_settings,
)
from termwise.cli.terminal import note, print_json, progress_bar, refuse_overwriting
from termwise.cli.translations import TunedSettings, opened_scorer, table_places, with_tuned
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.search.searcher import TimedRun


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
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME|DIR",
            help="Score exactly by a translation table; the index is one of the model ml with --float then.",
            show_default=False,
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorer",
            metavar="NAME|DIR",
            help="Score the stored texts by a network that reads them with the query: one of termwise train "
            "bert-model1, a cross-encoder of sentence-transformers, or a published ranker as mono-t5:, colbert:, "
            "epic: or ance:DIR; the index is one of any model with --store-text then.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="With --table: a parameter of model1; may be repeated."
        ),
    ] = None,
    tuned: TunedSettings = None,
    tag: Annotated[str, typer.Option("--tag", help="Name of the run, its last column.")] = "termwise",
    separator: Separator = "space",
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Re-rank the documents of a run with an index.

    Every candidate is scored; equal scores keep the order of the run.
    """
    from termwise.collection import read_run, write_run

    refuse_overwriting([output], [run, queries, folder, tuned, _place(scorer), *table_places(table)])
    between = column_separator(separator)
    if scorer is None:
        rank_many = _ranker(folder, table, settings, tuned, threads)
    else:
        _refuse_with_scorer({"--table": table, "--set": settings, "--settings": tuned, "--threads": threads})
        rank_many = _reading_ranker(folder, scorer)
    candidates = read_run(run)
    wanted = wanted_queries(queries)
    with progress_bar() as progress:
        timed = rank_many(wanted, k=k, candidates=candidates, name=tag, progress=progress)
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


def _ranker(
    folder: Path, table: str | None, settings: list[str] | None, tuned: Path | None, threads: int | None
) -> Callable[..., TimedRun]:
    """Return what ranks: the weights of an index, or a translation table over what its documents say."""
    if table is not None:
        if threads is not None:
            raise UsageError("with --table queries are scored on one thread", fixes=["leave --threads out"])
        return opened_scorer(
            folder, table, with_tuned(tuned, model_settings(settings or ()), table)
        ).rank_many
    if settings is not None or tuned is not None:
        raise UsageError(
            "--set and --settings go with --table; the settings of an index were chosen when it was built",
            fixes=["add --table model1, or the folder of a table", "leave them out"],
        )
    from termwise.search import Searcher

    return partial(Searcher.open(folder).rank_many, threads=threads or available_processors())


def _reading_ranker(folder: Path, scorer: str) -> Callable[..., TimedRun]:
    """Return what ranks by a network that reads query and text together, on a graphics processor if there is one."""
    from termwise.train.requirements import require_training

    require_training()
    from termwise.index import Index
    from termwise.scorers.candidate_ranker import TextReranker
    from termwise.yardsticks.bert_model1.folder import fastest_device
    from termwise.yardsticks.open_yardstick import open_text_scorer

    return TextReranker(Index.open(folder), open_text_scorer(scorer, device=fastest_device())).rank_many


def _place(scorer: str | None) -> Path | None:
    """Return the folder of a scorer, which is not to be overwritten; None for a name on a hub."""
    return Path(scorer) if scorer is not None and Path(scorer).exists() else None


def _refuse_with_scorer(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{given[0]} and --scorer are two ways to score",
            fixes=[f"leave {given[0]} out", "leave --scorer out"],
        )


def _say_left_out(query_ids: Sequence[str], several: str, one: str) -> None:
    if query_ids:
        shown = ", ".join(query_ids[:5]) + (", ..." if len(query_ids) > 5 else "")
        why = f"query {one} and was" if len(query_ids) == 1 else f"queries {several} and were"
        note(f"{len(query_ids):,} {why} left out: {shown}")
