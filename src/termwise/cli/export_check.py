"""``termwise export-check``: comparison of an export with its index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.options import IndexFolder, JsonFlag, argument, flag, option
from termwise.cli.progress_bars import progress_bar
from termwise.cli.search_options import Condition
from termwise.cli.terminal import note_line, print_json, print_text
from termwise.errors import CheckFailedError

if TYPE_CHECKING:
    from termwise.export import ExportCheck


def command(
    folder: IndexFolder,
    export: Annotated[Path, argument("EXPORT", "Folder of the export.")],
    queries: Annotated[str, option("--queries FILE", "Queries to search with, or ir_datasets:ID.")],
    at: Annotated[
        str | None,
        option(
            "--at LOCATION",
            "Where the engine is, as client.py of the export takes it.  [default: see engine.py]",
        ),
    ] = None,
    k: Annotated[int, option("-k --k N", "Number of results to compare.", min=1)] = 1000,
    filter: Condition = None,
    qrels: Annotated[
        str | None, option("--qrels FILE", "Relevance judgments, for nDCG@10 of both, or ir_datasets:ID.")
    ] = None,
    load: Annotated[bool, flag("--load", "Load the data into the engine first.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare the results of an export with those of its index.

    Both are searched with the same queries. The exit status is 5 if a query has other documents, another order, or
    scores that differ by more than 1e-5. Documents with equal scores may have any order. A mixture is compared with its
    linear form, whose difference from the mixture is shown as well.

    For example:

    termwise export-check docs.tw docs.sqlite --queries queries.tsv
    """
    from termwise.collection import read_qrels, read_queries
    from termwise.export.check import check_export, check_files, open_engine

    judged = None if qrels is None else list(read_qrels(qrels))
    asked = list(read_queries(queries))
    if load:
        check_files(export)
        with open_engine(export, at) as engine:
            engine.load(note_line)
    with progress_bar() as progress:
        found = check_export(
            folder, export, asked, at=at, k=k, filter=filter, qrels=judged, progress=progress
        )
    if as_json:
        print_json({"index": str(folder), "export": str(export), "exact": found.is_exact, **asdict(found)})
    else:
        print_text(_table(found))
    if found.without_results == found.queries:
        raise CheckFailedError(
            "no query has a result, so nothing was compared",
            facts=[("queries", found.queries)],
            fixes=["give queries that have results in the index", "omit --filter"],
        )
    if not found.is_exact:
        raise CheckFailedError(
            "the export does not return the results of the index",
            facts=[
                ("export", export),
                ("queries that differ", ", ".join(found.differing) or "in scores only"),
                ("first difference", found.first_difference or "scores"),
            ],
            fixes=["see what README.md of the export calls not exact", "load the data again"],
        )


def _table(found: ExportCheck) -> str:
    rows = [
        ("queries", f"{found.queries:,}, {found.without_results:,} without results"),
        ("results compared", f"{found.results:,}, at most {found.k:,} for each query"),
        ("identical order", f"{found.identical:,} of {found.queries:,}"),
        ("overlap", f"{found.overlap:.4f}"),
        ("largest score difference", f"{found.score_difference:.1e} of the score"),
        ("Kendall's tau", f"{found.tau:.4f}"),
    ]
    if found.is_mixture:
        overlap = "not measured: -k is not below the number of documents"
        if found.native_overlap is not None:
            overlap = f"{found.native_overlap:.4f}"
        rows.append(("overlap with z-scores", overlap))
    for label, value in (
        (
            f"{found.measure}, index",
            found.native_value if found.native_value is not None else found.termwise_value,
        ),
        (f"{found.measure}, export", found.engine_value),
    ):
        if value is not None:
            rows.append((label, f"{value:.4f}"))
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)
