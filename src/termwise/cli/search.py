"""``termwise search``: answer one query on the terminal, or rank a file of queries into a run file."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from termwise.attributes.json_values import json_attributes
from termwise.cli.attribute_output import attribute_line, attribute_text
from termwise.cli.condition_options import (
    Condition,
    Must,
    MustNot,
    Phrase,
    Syntax,
    condition_line,
    conditions_of,
)
from termwise.cli.example_options import (
    Fuzzy,
    Like,
    LikeFile,
    Prefix,
    Weigh,
    example_of,
    query_settings,
    refuse_with_example,
)
from termwise.cli.judged import exclusion, load_queries
from termwise.cli.options import (
    Approximate,
    IndexFolder,
    JsonFlag,
    Overwrite,
    Separator,
    Threads,
    argument,
    available_processors,
    column_separator,
    field_names,
    option,
    refuse_options,
)
from termwise.cli.terminal import (
    counted,
    listed,
    note,
    note_line,
    print_json,
    print_text,
    progress_bar,
    refuse_overwriting,
    stdout,
)
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.engine.query_settings import QuerySettings
    from termwise.filters.facets import ValueCount
    from termwise.records import Exclusion, Query, Ranking
    from termwise.search import MixtureSearcher, Searcher, Suggestion
    from termwise.search.by_example import AnySearcher, Example
    from termwise.search.conditions import Conditions

_REMOVED = "the analyzer removes all words of the query"

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SYNTAX = re.compile(r'"[^"]+"|(?<!\S)[-+][^\W\d_]\w*|(?<!\S)(?:AND|OR|NOT)(?!\S)')
"""Phrases, excluded and required words, and operators in the syntax of other search engines."""


def command(
    folder: IndexFolder,
    query: Annotated[str | None, argument("QUERY", "The query, in quotes.")] = None,
    k: Annotated[
        int | None, option("-k N", "Number of results.  [default: 10, or 1000 with --queries]")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every score as a sum over terms.")] = False,
    show: Annotated[str | None, option("--show A,B", "Attributes to print with each result.")] = None,
    condition: Condition = None,
    must: Must = None,
    must_not: MustNot = None,
    phrase: Phrase = None,
    syntax: Syntax = False,
    sort: Annotated[
        str | None,
        option("--sort NAME|-NAME", "Sort all matches by this attribute, - for the largest values first."),
    ] = None,
    collapse: Annotated[
        str | None,
        option("--collapse NAME", "Show at most one result, or N results, for each value of this attribute."),
    ] = None,
    collapse_size: Annotated[
        int, option("--collapse-size N", "Number of results for each value of --collapse.", min=1)
    ] = 1,
    facets: Annotated[
        str | None,
        option(
            "--facets A,B",
            "Count the values of these attributes over all documents that match the query and the conditions.",
        ),
    ] = None,
    fuzzy: Fuzzy = False,
    prefix: Prefix = False,
    like: Like = None,
    like_file: LikeFile = None,
    weigh: Weigh = None,
    approximate: Approximate = None,
    queries: Annotated[
        str | None, option("--queries FILE", "Rank every query of a file, or of ir_datasets:ID.")
    ] = None,
    output: Annotated[Path | None, option("--output FILE", "Run file to write, in TREC format.")] = None,
    exclude_seed: Annotated[
        str | None,
        option(
            "--exclude-seed FILE|id",
            "With --queries: exclude the source document of each query; a file with query and document "
            "identifiers, or 'id' for the document that has the identifier of the query.",
        ),
    ] = None,
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
        typer.Option(
            "--measure-time",
            help="Print mean, p50 and p99 of encoding and scoring times; uses one thread by default.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Search an index or a mixture.

    For example:

    termwise search DIR "merge two sorted lists" --explain

    termwise search DIR --like DOC_ID

    termwise search DIR --filter 'price < 20' --sort price

    termwise search DIR --queries queries.jsonl --output run.trec
    """
    given = sum(each is not None for each in (query, queries, like, like_file))
    lists = given == 0 and any((condition, must, must_not, phrase, sort))
    if given != 1 and not lists:
        raise UsageError(
            "give exactly one of a query, a query document and a file of queries",
            fixes=[
                f'termwise search {quote(str(folder))} "query"',
                f"termwise search {quote(str(folder))} --like DOC_ID",
                f"termwise search {quote(str(folder))} --filter CONDITION, for all documents that it allows",
                f"termwise search {quote(str(folder))} --queries FILE --output RUN",
            ],
        )
    settings = query_settings(weigh, fuzzy=fuzzy, prefix=prefix)
    conditions = conditions_of(condition, must, must_not, phrase)
    if queries is None:
        refuse_options(
            {
                "--output": output,
                "--tag": tag,
                "--threads": threads,
                "--measure-time": measure_time,
                "--overwrite": overwrite,
            },
            "without --queries",
        )
        if exclude_seed is not None:
            raise UsageError(
                "--exclude-seed applies with --queries only; --like excludes its document itself"
            )
        if query is None:
            refuse_with_example(fuzzy=fuzzy, prefix=prefix, syntax=syntax)
        if lists:
            refuse_options({"--explain": explain}, "without a query")
        searcher = _opened(folder, settings, approximate)
        example = example_of(searcher, like, like_file)
        shown = field_names(show) or ()
        words = query
        if syntax and query is not None:
            words, conditions = conditions.with_syntax(query, searcher.schema)
            words = words or None  # a query of conditions only lists documents
        matched = example if words is None else words
        counts = _facets(searcher, field_names(facets) or (), matched, conditions)
        _answer(
            searcher,
            words,
            example,
            10 if k is None else k,
            conditions=conditions,
            sort=sort,
            collapse=collapse,
            collapse_size=collapse_size,
            show=shown,
            explain=explain,
            fuzzy=settings.fuzzy,
            as_json=as_json,
        )
        _print_facets(counts, as_json)
        if query is not None:
            if not syntax:
                _note_syntax(query)
            _note_file(folder, query)
    else:
        refuse_options(
            {"--explain": explain, "--show": show, "--sort": sort, "--facets": facets, "--syntax": syntax},
            "to --queries",
        )
        if output is None:
            raise UsageError(
                "--queries needs --output",
                fixes=[f"termwise search {quote(str(folder))} --queries {quote(queries)} --output run.trec"],
            )
        seeds = None if exclude_seed in (None, "id") else exclude_seed
        refuse_overwriting([output], [queries, folder, seeds], overwrite=overwrite)
        _answer_file(
            _opened(folder, settings, approximate),
            queries,
            output,
            1000 if k is None else k,
            tag,
            column_separator(separator),
            threads,
            measure_time,
            exclusion(exclude_seed),
            as_json,
            conditions,
            collapse,
            collapse_size,
        )


def _opened(folder: Path, settings: QuerySettings, approximate: int | None) -> AnySearcher:
    from termwise.search import open_searcher

    return open_searcher(folder, query=settings, approximate=approximate)


def _answer(
    searcher: AnySearcher,
    words: str | None,
    example: Example | None,
    k: int,
    *,
    conditions: Conditions,
    sort: str | None,
    collapse: str | None,
    collapse_size: int,
    show: Sequence[str],
    explain: bool,
    fuzzy: bool,
    as_json: bool,
) -> None:
    """Rank one query, or one query document, or list documents without a query, and print the results."""
    from termwise.explain.explanation_text import IN_PIECES, words_in_pieces
    from termwise.search import MixtureSearcher
    from termwise.search.conditions import Conditions

    def rank(conditions: Conditions) -> tuple[Ranking, tuple[str, ...]]:
        arguments: dict[str, Any] = {
            "k": k,
            "sort": sort,
            "collapse": collapse,
            "collapse_size": collapse_size,
        }
        arguments |= conditions.arguments
        return (
            (searcher.rank(words, **arguments), ())
            if example is None
            else example.rank(searcher, **arguments)
        )

    query = words or ""
    # Loads the kernels, so that the measured time is the time of one search, which reads texts for conditions.
    rank(replace(conditions, required=(), excluded=()))
    begin = time.perf_counter()
    ranking, same = rank(conditions)
    seconds = time.perf_counter() - begin
    explanations = None
    if explain or not as_json:
        explanations = (
            searcher.explain_many(query, ranking.doc_ids, **conditions.arguments)
            if example is None
            else example.explain(searcher, ranking.doc_ids, **conditions.arguments)
        )
    attributes = [hit.attributes for hit in searcher.hits(ranking, show=show)] if show else []
    suggested = searcher.did_you_mean(query) if example is None else []
    suggestion = f"{'also searched for' if fuzzy else 'did you mean'}: {_suggested(suggested)}"
    if as_json:
        for position, hit in enumerate(ranking, 1):
            record = {"rank": position, "doc_id": hit.doc_id, "score": hit.score}
            if searcher.approximate is not None:
                record["approximate"] = searcher.windows_for(k if sort is None else len(searcher.index))
            if show:
                record["attributes"] = json_attributes(attributes[position - 1])
            if explanations is not None:
                record["explanation"] = explanations[position - 1].to_dict()
            print_json(record)
        if suggested:
            print_json({"did_you_mean": [asdict(each) for each in suggested]})
    elif len(ranking):
        from termwise.explain.ranking_terminal import ranking_renderable

        stdout().print(
            ranking_renderable(
                ranking,
                explanations or [],
                explain=explain,
                details=[attribute_line(values) for values in attributes],
            )
        )
        results = counted(len(ranking), "result")
        documents = counted(searcher.index.documents, "document")
        if conditions:
            documents += f", {condition_line(conditions)}"
        approximate = _approximate_note(searcher, k) if sort is None else ""  # sorting takes all matches
        note(f"{results} from {documents} in {1000 * seconds:.2f} ms{approximate}")
        if suggested:
            note_line(suggestion)
    elif conditions and len(rank(Conditions())[0]):
        allowed = condition_line(conditions)
        matching = "" if words is None and example is None else " that matches the query"
        note(f"no results: the conditions allow no document{matching} ({allowed})")
        if absent := _in_no_document(searcher, conditions.required):
            note_line(f"required, but in no document: {listed(absent)}")
        required = searcher.did_you_mean(f"{' '.join(conditions.required)} ")  # the last word is complete
        hints = [suggestion] if suggested else []
        hints += [f"did you mean: {_suggested(required)}"] if required else []
        for hint in dict.fromkeys(hints):
            note_line(hint)
    else:
        note("\n  ".join(_empty_result_lines(searcher, query, example, suggestion if suggested else "")))
    if example is None:
        if len(ranking) and words is not None and isinstance(searcher, MixtureSearcher):
            _note_silent_parts(searcher, query)
        if explanations and (pieces := words_in_pieces(explanations)):
            note_line(f"{IN_PIECES}: {listed(pieces)}")
    if same:
        note_line(f"excluded, because the text is the same: {listed(same)}")


def _facets(
    searcher: AnySearcher, fields: Sequence[str], query: str | Example | None, conditions: Conditions
) -> dict[str, list[ValueCount]]:
    """Count the values of attributes in the matches of a query or of a query document."""
    if not fields:
        return {}
    if query is None or isinstance(query, str):
        return searcher.facets(fields, query=query, **conditions.arguments)
    return query.facets(searcher, fields, **conditions.arguments)


def _print_facets(counts: dict[str, list[ValueCount]], as_json: bool) -> None:
    """Print the most frequent values of attributes."""
    if as_json:
        for field, values in counts.items():
            print_json(
                {
                    "facet": field,
                    "values": [{"value": each.value, "documents": each.documents} for each in values],
                }
            )
        return
    for field, values in counts.items():
        line = ", ".join(f"{attribute_text(value)} {documents:,}" for value, documents in values)
        print_text(f"{field}: {line or 'no values'}")


def _approximate_note(searcher: AnySearcher, k: int) -> str:
    """Return the end of a note on results, which says whether they are approximate."""
    given = searcher.approximate
    if given is None:
        return ""
    windows = searcher.windows_for(k)
    if windows is None:
        return "; exact: all vectors were read, because the index is small"
    raised = "" if windows == given else f", because as many results are needed (--approximate {given:,})"
    return f"; approximate, from {counted(windows, 'window')}{raised}: some of the best can be missing"


def _note_syntax(query: str) -> None:
    """Print a note if a query has operators of other search engines, because they were searched as words."""
    found = [match[0] for match in _SYNTAX.finditer(query)]
    if found:
        note_line(f"taken as words: {listed(found)} (with --syntax, + and - and quotes are operators)")


def _note_file(folder: Path, query: str) -> None:
    """Print a note if the query is the name of a file, because it was searched as words."""
    with suppress(OSError, ValueError):  # not every query is a valid file name
        if Path(query).is_file():
            note_line(
                f"searched for the words {query}, which is also a file; to rank the queries in it: "
                f"termwise search {quote(str(folder))} --queries {quote(query)} --output run.trec"
            )


def _note_excluded(searcher: AnySearcher, queries: Sequence[Query], exclude: Exclusion) -> None:
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


def _empty_result_lines(
    searcher: AnySearcher, query: str, example: Example | None, suggestion: str
) -> list[str]:
    """Return the reason for an empty result, and what else to search for."""
    from termwise.engine.query_encoder import query_encoder_of
    from termwise.search import MixtureSearcher
    from termwise.text.languages import LANGUAGES

    mixed = isinstance(searcher, MixtureSearcher)
    if isinstance(searcher, MixtureSearcher):
        searcher = searcher.parts[0].searcher  # no part has results; the words of the first are named
    text = query if example is None else example.text
    if (
        len(searcher.encode(text).row(0)[0])
        == 0
        < len(query_encoder_of(searcher.index).encode_query(text).row(0)[0])
    ):
        return ["no results: --weigh removes all terms of the query"]
    if example is not None:
        return ["no results: no other document shares a term with the query document"]
    if not query.strip():
        return ["no results: the query is empty"]
    reasons = _reasons(searcher, query)
    lines = [f"no results: {'; '.join(reasons) or _REMOVED}"]
    if suggestion:
        lines.append(suggestion)
    name = searcher.encoder.analyzer.spec.name
    if name in ("english", *LANGUAGES) and _CJK.search(query):
        lines.append(
            f"the analyzer {name} does not split Chinese, Japanese and Korean into words: index with --analyzer cjk"
        )
    elif reasons and not mixed and searcher.index.manifest.encoder.model.exact:
        lines.append(
            "the model of this index matches exact terms only; model1, tilde, tildev2, lookup and best also find "
            "related terms"
        )
    return lines


def _reasons(searcher: Searcher, query: str) -> list[str]:
    """Return why no word of a query has a weight in an index."""
    from termwise.text import unknown_token
    from termwise.text.words_around import word_around

    analysis = searcher.encoder.analyzer.analyze(query)
    known, without_pieces = searcher.index.vocabulary.number, unknown_token(searcher.encoder.analyzer)
    unknown, weightless = dict[str, str](), dict[str, str]()
    for token, span in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
        word = query[slice(*word_around(query, *span))]
        (unknown if token == without_pieces or known(token) is None else weightless)[word] = token
    reasons = [f"no document has a weight for {listed(weightless, ' or ')}"] if weightless else []
    return reasons + ([f"not in the index: {listed(unknown)}"] if unknown else [])


def _in_no_document(searcher: AnySearcher, required: Sequence[str]) -> list[str]:
    """Return the required words that no document has, as far as an index of whole words shows it."""
    from termwise.search import MixtureSearcher

    searchers = (
        [part.searcher for part in searcher.parts] if isinstance(searcher, MixtureSearcher) else [searcher]
    )
    for each in searchers:
        similar = each.similar_terms
        if similar is not None and each.index.manifest.encoder.model.exact:
            return [
                text[start:end]
                for text in dict.fromkeys(required)
                for token, ((start, end), *_) in similar.analyzer.analyze(text).spans_by_token().items()
                if not similar.documents(token)
            ]
    return []


def _suggested(suggestions: Sequence[Suggestion]) -> str:
    """Return the words of suggestions on one line, without repetitions."""
    return listed(dict.fromkeys(similar.word for each in suggestions for similar in each.words))


def _note_silent_parts(searcher: MixtureSearcher, query: str) -> None:
    """Name the parts of a mixture that know no word of a query, because only the others rank then."""
    for part in searcher.parts:
        if len(part.searcher.encode(query).row(0)[0]) == 0:
            reasons = _reasons(part.searcher, query)
            note_line(f"{part.name}: {'; '.join(reasons) or _REMOVED}")


def _answer_file(
    searcher: AnySearcher,
    queries: str,
    output: Path,
    k: int,
    tag: str | None,
    separator: Literal["space", "tab"],
    threads: int | None,
    measure_time: bool,
    exclude: Exclusion,
    as_json: bool,
    conditions: Conditions,
    collapse: str | None,
    collapse_size: int,
) -> None:
    from termwise.collection import write_run

    query_list = load_queries(queries)
    windows = searcher.windows_for(k)
    tag = tag or ("termwise" if windows is None else f"termwise-approximate-{windows}")
    if measure_time:
        searcher.rank(
            query_list[0], k=k
        )  # loads the kernels, so that the measured times are those of the queries only
    begin = time.perf_counter()
    with progress_bar() as progress:
        timed = searcher.rank_many(
            query_list,
            k=k,
            threads=threads or (1 if measure_time else available_processors()),
            exclude=exclude,
            collapse=collapse,
            collapse_size=collapse_size,
            **conditions.arguments,
            name=tag,
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    _note_excluded(searcher, query_list, exclude)
    write_run(timed.run, output, separator=separator)
    if measure_time:
        from termwise.evaluate import Latency, latency_table, to_text

        latency = Latency.of(timed.encoding, timed.scoring)
        if as_json:
            print_json({"run": str(output), **latency.row()})
        else:
            print_text(to_text(latency_table({tag: latency})))
    elif as_json:
        print_json(
            {
                "run": str(output),
                "queries": len(timed.run),
                "seconds": round(seconds, 3),
                **({} if searcher.approximate is None else {"approximate": windows}),
            }
        )
    note(f"{output}: {counted(len(timed.run), 'query')}, {seconds:.1f} s{_approximate_note(searcher, k)}")
