"""``termwise tune``: the settings of a translation, together with its weight beside a first stage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from termwise.cli.judged import read_runs, wanted_queries
from termwise.cli.options import JsonFlag, Settings, available_processors, model_settings
from termwise.cli.terminal import note, print_json, progress_bar, refuse_overwriting
from termwise.cli.translations import opened_scorer, table_places
from termwise.errors import ParameterError, UsageError
from termwise.progress import Progress

if TYPE_CHECKING:
    from termwise.fusion import Learned, Tuning
    from termwise.records import Query, Run

_TUNED = ("self_translation", "lambda")


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Index of what the documents say: --model ml --float.", show_default=False
        ),
    ],
    table: Annotated[
        str,
        typer.Option(
            "--table",
            metavar="NAME|DIR",
            help="The translation table: one that ships, or a folder.",
            show_default=False,
        ),
    ],
    first: Annotated[
        Path,
        typer.Option(
            "--first",
            metavar="RUN|DIR",
            help="The first stage: a run, or an index that is searched for the queries.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        str,
        typer.Option("--queries", metavar="FILE", help="The queries, or ir_datasets:ID.", show_default=False),
    ],
    qrels: Annotated[
        str,
        typer.Option(
            "--qrels", metavar="FILE", help="Judgments to choose by, or ir_datasets:ID.", show_default=False
        ),
    ],
    measure: Annotated[
        str, typer.Option("-m", "--measure", metavar="MEASURE", help="What to make large.")
    ] = "nDCG@10",
    self_translation: Annotated[
        str | None,
        typer.Option(
            "--self-translation",
            metavar="P,P",
            help="Values to try, 0 to 1.  [default: 14 from 0.05 to 0.9]",
            show_default=False,
        ),
    ] = None,
    lambdas: Annotated[
        str | None,
        typer.Option(
            "--lambda",
            metavar="L,L",
            help="Values to try, 0 to below 1.  [default: 11 from 0.0001 to 0.5]",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    normalise: Annotated[
        list[str] | None,
        typer.Option(
            "--normalise",
            metavar="SCALING",
            help="As in fuse: once for both, or once for each; words are those of DIR.  [default: z]",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        int,
        typer.Option("-k", metavar="N", min=1, help="Documents of the first stage to use for each query."),
    ] = 1000,
    folds: Annotated[
        int,
        typer.Option(
            "--folds", metavar="N", min=0, help="Parts of the queries for cross-validation; 0 for none."
        ),
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Keep settings and weights, for index, rerank and fuse.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Choose the settings of a translation for a collection, together with its weight in a fusion.

    Example: termwise tune said.tw --table words --first bm25.trec --queries dev.jsonl --qrels dev.qrels --output t.json
    """
    from termwise.collection import read_qrels
    from termwise.fusion import QueryScales, TunedTable, tune
    from termwise.fusion.translation_tuning import LAMBDAS, SELF_TRANSLATIONS
    from termwise.translation.table_folder import read_manifest

    refuse_overwriting([output], [folder, *table_places(table), first, queries, qrels])
    if output is not None and output.exists() and not overwrite:
        raise UsageError(
            "the file is there already",
            facts=[("file", output)],
            fixes=["--overwrite", "choose another name"],
        )
    self_translations = _numbers("--self-translation", self_translation, SELF_TRANSLATIONS)
    tried = _numbers("--lambda", lambdas, LAMBDAS)
    scorer = opened_scorer(folder, table, model_settings(settings or ()), _TUNED)
    judgments = read_qrels(qrels)
    judged = {qrel.query_id for qrel in judgments}
    wanted = [query for query in wanted_queries(queries) if query.query_id in judged]
    scaling = normalise or ["z"]
    scales = QueryScales.of(scorer.documents, wanted) if {"idf", "query-length"} & set(scaling) else None
    with progress_bar() as progress:
        tuning = tune(
            scorer,
            _first(first, wanted, k, progress),
            wanted,
            judgments,
            measure=measure,
            self_translations=self_translations,
            lambdas=tried,
            scaling=cast(Any, scaling[0] if len(scaling) == 1 else scaling),
            scales=scales,
            folds=folds,
            table=TunedTable(table, read_manifest(table).id),
            progress=progress,
        )
    if output is not None:
        tuning.fusion.save(output)
    if as_json:
        print_json({"file": None if output is None else str(output), **tuning.to_dict()})
    else:
        print(_text(tuning))
    if output is not None:
        note(f"{output}: written")


def _numbers(option: str, text: str | None, usual: Sequence[float]) -> tuple[float, ...]:
    if text is None:
        return tuple(usual)
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} takes numbers with commas between them",
            facts=[("given", text)],
            fixes=[f"{option} 0.1,0.3"],
        ) from None


def _first(path: Path, wanted: Sequence[Query], k: int, progress: Progress) -> Run:
    """Read the run of a first stage, or make it, and keep the first documents of each query."""
    from termwise.records import Ranking, Run
    from termwise.search import Searcher

    if path.is_dir():
        searcher = Searcher.open(path)
        threads = available_processors()
        return searcher.rank_many(wanted, k=k, threads=threads, name=path.stem, progress=progress).run
    (run,) = read_runs([path])
    cut = [Ranking(ranking.doc_ids[:k], ranking.scores[:k], ranking.query_id) for ranking in run]
    return Run(cut, run.name)


def _text(tuning: Tuning) -> str:
    """Show the grid, and below it what was chosen and what it is worth."""
    from termwise.evaluate import Column, Table, to_text

    fusion, best = tuning.fusion, tuning.best
    first, translation = fusion.runs
    learned = cast("Learned", fusion.learned)
    lambdas = [f"{value:g}" for value in dict.fromkeys(cell.lambda_ for cell in tuning.cells)]
    columns = (Column("p", "p \\ lambda", "text"), *(Column(one, one, "measure") for one in lambdas))
    rows: list[tuple[str | float, ...]] = []
    for place in range(0, len(tuning.cells), len(lambdas)):
        row = tuning.cells[place : place + len(lambdas)]
        rows.append((f"{row[0].self_translation:g}", *(cell.value for cell in row)))
    worth: list[tuple[str | float, ...]] = [
        (f"{first} alone", learned.alone[0]),
        (f"{translation} alone, so chosen", learned.alone[1]),
        ("both, on the queries that chose", learned.value),
    ]
    if learned.estimate is not None:
        worth.append((f"both, on those left out ({learned.folds} parts)", learned.estimate))
    judged = "judged query" if learned.queries == 1 else f"{learned.queries} judged queries"
    measured = (Column("what", "", "text"), Column("value", learned.measure, "measure"))
    return "\n".join(
        [
            f"{learned.measure} over the {judged}, each cell with its best share of {first}",
            "",
            to_text(Table(columns, tuple(rows))),
            "",
            f"chosen: self_translation={best.self_translation:g} lambda={best.lambda_:g}, "
            f"weights {fusion.weights[0]:.4f} {first}, {fusion.weights[1]:.4f} {translation}",
            "",
            to_text(Table(measured, tuple(worth))),
        ]
    )
