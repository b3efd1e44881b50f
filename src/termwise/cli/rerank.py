"""``termwise rerank``: new scores for the candidates of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.judged import load_queries
from termwise.cli.options import (
    IndexFolder,
    JsonFlag,
    Overwrite,
    Separator,
    Threads,
    available_processors,
    choice,
    model_settings,
    option,
    refuse_options,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.search_options import NoFeedback
from termwise.cli.terminal import counted, note, print_json, refuse_overwriting
from termwise.cli.translation_options import TunedSettings, opened_scorer, table_places, with_tuned
from termwise.errors import UsageError
from termwise.storage.safe_read import path_exists

if TYPE_CHECKING:
    from termwise.search.timed_run import TimedRun


def command(
    folder: IndexFolder,
    run: Annotated[Path, option("--run FILE", "Run with the candidates.")],
    queries: Annotated[str, option("--queries FILE", "The queries, or ir_datasets:ID.")],
    output: Annotated[Path, option("--out FILE", "Run file to write.")],
    k: Annotated[int, option("-k N", "Number of results for each query.")] = 1000,
    table: Annotated[
        str | None,
        option(
            "--table NAME|DIR",
            "Score exactly with a translation table; needs an index of the model ml with --float.",
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        option(
            "--scorer NAME|DIR",
            "Score the stored texts with any scorer of termwise probe, such as a network of termwise train "
            "cross-encoder, a cross-encoder of sentence-transformers, or a published ranker, named mono-t5:DIR, "
            "qlm-t5:DIR, colbert:DIR, epic:DIR or ance:DIR; needs an index with --store-text.",
        ),
    ] = None,
    query_encoder: Annotated[
        str | None,
        option(
            "--query-encoder NAME|DIR",
            "Mix the query likelihood of an index of tilde with the document likelihood: one pass of this encoder of "
            "kind tilde for each query; needs --documents.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        option(
            "--documents DIR",
            "With --query-encoder: index of the same documents, built with --model ml --analyzer wordpiece-clean "
            "--float.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        option(
            "--alpha A",
            "With --query-encoder: weight of the query likelihood, 0 to 1.  [default: 0.5]",
            min=0,
            max=1,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, option("--set NAME=VALUE", "With --table: a parameter of model1; repeatable.")
    ] = None,
    tuned: TunedSettings = None,
    no_feedback: NoFeedback = False,
    tag: Annotated[str, option("--tag NAME", "Name of the run, its last column.")] = "termwise",
    separator: Separator = "space",
    threads: Threads = None,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Re-rank the candidates of a run.

    Every candidate is scored; candidates with equal scores keep the order of the run.

    For example:

    termwise rerank tilde.tw --run bm25.trec --queries queries.jsonl --out reranked.trec
    """
    from termwise.collection import read_run, write_run

    networks = [
        Path(name) for name in (scorer, query_encoder) if name is not None and path_exists(Path(name))
    ]
    inputs = [run, queries, folder, tuned, documents, *networks, *table_places(table)]
    refuse_overwriting([output], inputs, overwrite=overwrite)
    column = choice("--separator", separator, ("space", "tab"))
    index_options = {"--table": table, "--set": settings, "--settings": tuned}
    likelihood_options = {"--documents": documents, "--alpha": alpha}
    if scorer is not None:
        given = {
            "--query-encoder": query_encoder,
            "--threads": threads,
            **index_options,
            **likelihood_options,
        }
        refuse_options(given, "with --scorer")
        timed_run = _text_ranker(folder, scorer)
    elif query_encoder is not None:
        refuse_options(index_options, "with --query-encoder")
        timed_run = _likelihood_ranker(folder, query_encoder, documents, alpha, threads)
    else:
        refuse_options(likelihood_options, "without --query-encoder", "add --query-encoder tilde")
        timed_run = _index_ranker(folder, table, settings, tuned, threads, feedback=not no_feedback)
    candidates = read_run(run)
    query_list = load_queries(queries)
    with progress_bar() as progress:
        timed = timed_run(query_list, k=k, candidates=candidates, name=tag, progress=progress)
    write_run(timed.run, output, separator=column)
    known = {query.query_id for query in query_list}
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
    _note_left_out(without_text, f"of {run} without a text in {queries}")
    _note_left_out(without_candidates, f"without candidates in {run}")
    note(f"{output}: {counted(len(timed.run), 'query')}")


def _index_ranker(
    folder: Path,
    table: str | None,
    settings: list[str] | None,
    tuned: Path | None,
    threads: int | None,
    *,
    feedback: bool,
) -> Callable[..., TimedRun]:
    """Return a ranker that uses the weights of an index, or a translation table over its document terms."""
    if table is not None:
        refuse_options({"--threads": threads}, "with --table, which uses one thread")
        return opened_scorer(
            folder, table, with_tuned(tuned, model_settings(settings or ()), table)
        ).timed_run
    if settings is not None or tuned is not None:
        raise UsageError(
            "--set and --settings need --table; the settings of an index are fixed when it is built",
            fixes=["add --table model1, or the folder of a table", "omit them"],
        )
    from termwise.search import Search
    from termwise.search.opening import open_searcher

    return partial(
        open_searcher(folder).timed_run,
        search=Search(feedback=feedback),
        threads=threads or available_processors(),
    )


def _likelihood_ranker(
    folder: Path, query_encoder: str, documents: Path | None, alpha: float | None, threads: int | None
) -> Callable[..., TimedRun]:
    """Return a ranker by query likelihood and document likelihood."""
    from termwise.encode import open_query_encoder
    from termwise.index import Index
    from termwise.search import QueryDocumentLikelihood, Searcher
    from termwise.search.single_index import SingleIndex

    return QueryDocumentLikelihood(
        Searcher(SingleIndex(Index.open(folder))),
        alpha=0.5 if alpha is None else alpha,
        documents=None if documents is None else Index.open(documents),
        query_encoder=open_query_encoder(query_encoder, threads=threads or available_processors()),
    ).timed_run


def _text_ranker(folder: Path, scorer: str) -> Callable[..., TimedRun]:
    """Return a ranker that scores the stored texts of an index."""
    from termwise.rankers import ScorerContext, open_scorer
    from termwise.scorers.candidate_ranker import TextReranker
    from termwise.scorers.model_scorers import stored_texts
    from termwise.search.opening import open_searcher

    index = open_searcher(folder).index
    context = ScorerContext(stored_texts(index), threads=available_processors())
    return TextReranker(index, open_scorer(scorer, context)).timed_run


def _note_left_out(query_ids: Sequence[str], reason: str) -> None:
    if query_ids:
        shown = ", ".join(query_ids[:5]) + (", ..." if len(query_ids) > 5 else "")
        note(f"left out: {counted(len(query_ids), 'query')} {reason}: {shown}")
