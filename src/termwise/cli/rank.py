"""``termwise rank``: rank a file of queries into a run file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.judged import exclusion, load_queries
from termwise.cli.options import (
    Approximate,
    ExcludeSeed,
    IndexFolder,
    JsonFlag,
    Overwrite,
    Separator,
    Threads,
    available_processors,
    choice,
    flag,
    option,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.search_options import (
    Collapse,
    CollapseSize,
    Condition,
    Fuzzy,
    Lang,
    Must,
    MustNot,
    NoFeedback,
    Prefix,
    QuerySet,
    RelevanceFile,
    approximate_note,
    query_settings,
    search_of,
)
from termwise.cli.terminal import counted, note, print_json, print_text, refuse_overwriting

if TYPE_CHECKING:
    from termwise.records import Exclusion, Query
    from termwise.search import Searcher


def command(
    folder: IndexFolder,
    queries: Annotated[str, option("--queries FILE", "File of queries, or ir_datasets:ID.")],
    out: Annotated[Path, option("--out FILE", "Run file to write, in TREC format.")],
    k: Annotated[int, option("-k N", "Number of results for each query.", min=1)] = 1000,
    condition: Condition = None,
    must: Must = None,
    must_not: MustNot = None,
    collapse: Collapse = None,
    collapse_size: CollapseSize = 1,
    lang: Lang = None,
    fuzzy: Fuzzy = None,
    prefix: Prefix = None,
    settings: QuerySet = None,
    relevance: RelevanceFile = None,
    no_feedback: NoFeedback = False,
    approximate: Approximate = None,
    exclude_seed: ExcludeSeed = None,
    tag: Annotated[
        str | None,
        option(
            "--tag NAME",
            "Name of the run, its last column.  [default: termwise; termwise-approximate-N if the search is "
            "approximate, from N windows]",
        ),
    ] = None,
    separator: Separator = "space",
    threads: Threads = None,
    measure_time: Annotated[
        bool,
        flag(
            "--measure-time",
            "Print mean, p50 and p99 of encoding and scoring times; uses one thread by default.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Rank the documents for each query of a file.

    For example:

    termwise rank DIR --queries queries.jsonl --out run.trec
    """
    from termwise.collection import write_run
    from termwise.search.opening import open_searcher

    column = choice("--separator", separator, ("space", "tab"))
    seeds = None if exclude_seed in (None, "id") else exclude_seed
    refuse_overwriting([out], [queries, folder, seeds], overwrite=overwrite)
    exclude = exclusion(exclude_seed)
    search = search_of(
        None,
        k=k,
        filter=condition,
        must=must or (),
        must_not=must_not or (),
        collapse=collapse,
        collapse_size=collapse_size,
        lang=lang,
        fuzzy=fuzzy,
        prefix=prefix,
        weighting=query_settings(settings),
        relevance=relevance,
        feedback=not no_feedback,
        approximate=approximate,
    )
    searcher = open_searcher(folder)
    windows = searcher.search(search).windows
    query_list = load_queries(queries)
    tag = tag or ("termwise" if windows is None else f"termwise-approximate-{windows}")
    if measure_time:
        searcher.timed_run(query_list[:1], k=k, search=search)  # loads the kernels
    begin = time.perf_counter()
    with progress_bar() as progress:
        timed = searcher.timed_run(
            query_list,
            k=k,
            search=search,
            exclude=exclude,
            threads=threads or (1 if measure_time else available_processors()),
            name=tag,
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    _note_excluded(searcher, query_list, exclude)
    write_run(timed.run, out, separator=column)
    if measure_time:
        from termwise.evaluate import Latency, latency_table, to_text

        latency = Latency.of(timed.encoding, timed.scoring)
        if as_json:
            print_json({"run": str(out), **latency.row()})
        else:
            print_text(to_text(latency_table({tag: latency})))
    elif as_json:
        print_json(
            {
                "run": str(out),
                "queries": len(timed.run),
                "seconds": round(seconds, 3),
                **({} if approximate is None else {"approximate": windows}),
            }
        )
    note(f"{out}: {counted(len(timed.run), 'query')}, {seconds:.1f} s{approximate_note(windows, search)}")


def _note_excluded(searcher: Searcher, queries: Sequence[Query], exclude: Exclusion) -> None:
    """Report how many documents are excluded, and from how many queries."""
    from termwise.records import ExcludedDocuments

    if exclude is None:
        return
    excluded = ExcludedDocuments.of(exclude)
    counts = [
        int((searcher.index.find_many(sorted(excluded.for_query(query.query_id))) >= 0).sum())
        for query in queries
    ]
    where = f"in {sum(map(bool, counts)):,} of {counted(len(queries), 'query')}"
    note(f"excluded: {counted(sum(counts), 'document')}, {where}")
