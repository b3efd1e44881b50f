"""``termwise tune``: settings of a translation table and its fusion weight, from judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from termwise.cli.judged import load_queries, read_runs
from termwise.cli.options import (
    JsonFlag,
    Overwrite,
    Settings,
    argument,
    available_processors,
    model_settings,
    option,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note, print_json, print_text, refuse_overwriting
from termwise.cli.translation_options import opened_scorer, table_places
from termwise.errors import ParameterError
from termwise.progress import Progress
from termwise.storage.safe_read import is_folder

if TYPE_CHECKING:
    from termwise.fusion import Learned, Tuning
    from termwise.records import Query, Run

_TUNED = ("self_translation", "lambda")


def command(
    folder: Annotated[Path, argument("DIR", "Index of the model ml, built with --float.")],
    table: Annotated[
        str, option("--table NAME|DIR", "Translation table: name of a shipped one, or a folder.")
    ],
    first: Annotated[
        Path, option("--first RUN|DIR", "First stage: a run, or an index that is searched for the queries.")
    ],
    queries: Annotated[str, option("--queries FILE", "The queries, or ir_datasets:ID.")],
    qrels: Annotated[str, option("--qrels FILE", "Judgments to tune on, or ir_datasets:ID.")],
    measure: Annotated[str, option("-m --measure MEASURE", "Measure to maximise.")] = "nDCG@10",
    self_translation: Annotated[
        str | None, option("--self-translation P,P", "Values to try, 0 to 1.  [default: 14 from 0.05 to 0.9]")
    ] = None,
    lambdas: Annotated[
        str | None, option("--lambda L,L", "Values to try, 0 to below 1.  [default: 11 from 0.0001 to 0.5]")
    ] = None,
    settings: Settings = None,
    normalise: Annotated[
        list[str] | None,
        option(
            "--normalise NORMALISATION",
            "Normalisation as in fuse, one for both or one for each; idf is from the index DIR.  [default: z]",
        ),
    ] = None,
    k: Annotated[
        int, option("-k N", "Number of first-stage documents to re-rank for each query.", min=1)
    ] = 1000,
    folds: Annotated[int, option("--folds N", "Number of cross-validation folds; 0 for none.", min=0)] = 5,
    output: Annotated[
        Path | None, option("--out FILE", "File for settings and weights, for index, rerank and fuse.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Tune a translation table and its fusion weight.

    Example: termwise tune ml.tw --table model1 --first bm25.trec --queries dev.jsonl --qrels dev.qrels --out t.json
    """
    from termwise.collection import read_qrels
    from termwise.fusion import TunedTable, tune
    from termwise.fusion.translation_tuning import LAMBDAS, SELF_TRANSLATIONS
    from termwise.translation.table_folder import read_manifest

    refuse_overwriting([output], [folder, *table_places(table), first, queries, qrels], overwrite=overwrite)
    self_translations = _numbers("--self-translation", self_translation, SELF_TRANSLATIONS)
    tried = _numbers("--lambda", lambdas, LAMBDAS)
    scorer = opened_scorer(folder, table, model_settings(settings or ()), _TUNED)
    judgments = read_qrels(qrels)
    judged = {qrel.query_id for qrel in judgments}
    judged_queries = [query for query in load_queries(queries) if query.query_id in judged]
    scaling = normalise or ["z"]
    with progress_bar() as progress:
        tuning = tune(
            scorer,
            _first(first, judged_queries, k, progress),
            judged_queries,
            judgments,
            measure=measure,
            self_translations=self_translations,
            lambdas=tried,
            scaling=cast(Any, scaling[0] if len(scaling) == 1 else scaling),
            folds=folds,
            progress=progress,
        )
    tables = (None, TunedTable(table, read_manifest(table).id))
    tuning = replace(tuning, fusion=replace(tuning.fusion, tables=tables))
    if output is not None:
        tuning.fusion.save(output)
    if as_json:
        print_json({"file": None if output is None else str(output), **tuning.to_dict()})
    else:
        print_text(_text(tuning))
    if output is not None:
        note(f"{output}: written")


def _numbers(option: str, text: str | None, default: Sequence[float]) -> tuple[float, ...]:
    if text is None:
        return tuple(default)
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} takes numbers separated by commas",
            facts=[("given", text)],
            fixes=[f"{option} 0.1,0.3"],
        ) from None


def _first(path: Path, judged_queries: Sequence[Query], k: int, progress: Progress) -> Run:
    """Return the first-stage run, truncated to `k` documents per query."""
    from termwise.records import Ranking, Run
    from termwise.search.opening import open_searcher

    if is_folder(path):
        searcher = open_searcher(path)
        threads = available_processors()
        return searcher.rank_many(judged_queries, k=k, threads=threads, name=path.stem, progress=progress)
    (run,) = read_runs([path])
    truncated = [Ranking(ranking.doc_ids[:k], ranking.scores[:k], ranking.query_id) for ranking in run]
    return Run(truncated, run.name)


def _text(tuning: Tuning) -> str:
    """Return the grid, the tuned settings and their measures as text."""
    from termwise.evaluate import Column, Table, to_text

    fusion, best = tuning.fusion, tuning.best
    first, translation = fusion.runs
    learned = cast("Learned", fusion.learned)
    lambdas = [f"{value:g}" for value in dict.fromkeys(cell.lambda_ for cell in tuning.cells)]
    columns = (Column("p", "p \\ lambda", "text"), *(Column(one, one, "measure") for one in lambdas))
    rows: list[tuple[str | float, ...]] = []
    for position in range(0, len(tuning.cells), len(lambdas)):
        row = tuning.cells[position : position + len(lambdas)]
        rows.append((f"{row[0].self_translation:g}", *(cell.value for cell in row)))
    worth: list[tuple[str | float, ...]] = [
        (f"{first} alone", learned.alone[0]),
        (f"{translation} alone, tuned", learned.alone[1]),
        ("fused, on the tuning queries", learned.value),
    ]
    if learned.estimate is not None:
        worth.append((f"fused, cross-validated ({learned.folds} folds)", learned.estimate))
    judged = counted(learned.queries, "judged query")
    measured = (Column("what", "", "text"), Column("value", learned.measure, "measure"))
    return "\n".join(
        [
            f"{learned.measure} over {judged}, each cell with its best weight of {first}",
            "",
            to_text(Table(columns, tuple(rows))),
            "",
            f"tuned: self_translation={best.self_translation:g} lambda={best.lambda_:g}, "
            f"weights {fusion.weights[0]:.4f} {first}, {fusion.weights[1]:.4f} {translation}",
            "",
            to_text(Table(measured, tuple(worth))),
        ]
    )
