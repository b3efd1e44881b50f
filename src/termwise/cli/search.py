"""``termwise search``: answer one query on the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from termwise.attributes.json_values import json_attributes, value_text
from termwise.cli.options import (
    Approximate,
    IndexFolder,
    JsonFlag,
    argument,
    field_names,
    flag,
    option,
    refuse_options,
)
from termwise.cli.search_options import (
    Collapse,
    CollapseSize,
    Condition,
    Fuzzy,
    Lang,
    Like,
    LikeFile,
    Match,
    MinRelevance,
    MinScore,
    Must,
    MustNot,
    NoFeedback,
    OnlyWords,
    OrFilter,
    Prefix,
    QuerySet,
    RelevanceFile,
    Syntax,
    approximate_note,
    query_settings,
    search_of,
)
from termwise.cli.terminal import (
    counted,
    may_be_terminal,
    note,
    note_line,
    plain_columns,
    print_json,
    print_text,
    stdout,
)
from termwise.display.safe_text import listed
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.explain import Explanation
    from termwise.explain.attribution import Span
    from termwise.filters.facets import ValueCount
    from termwise.records import AttributeValue, Ranking
    from termwise.search import Results, Searcher

_SYNTAX = re.compile(r'"[^"]+"|(?<!\S)[-+][^\W\d_]\w*|(?<!\S)(?:AND|OR|NOT)(?!\S)')
"""Phrases, excluded and required words, and operators in the syntax of other search engines."""


def command(
    folder: IndexFolder,
    query: Annotated[str | None, argument("QUERY", "The query, in quotes.")] = None,
    k: Annotated[int, option("-k N", "Number of results.", min=1)] = 10,
    offset: Annotated[int, option("--offset N", "Number of results to skip before these.", min=0)] = 0,
    explain: Annotated[bool, flag("--explain", "Show every score as a sum over terms.")] = False,
    show: Annotated[str | None, option("--show A,B", "Attributes to print with each result.")] = None,
    condition: Condition = None,
    or_filter: OrFilter = None,
    must: Must = None,
    must_not: MustNot = None,
    match: Match = None,
    only_words: OnlyWords = None,
    min_relevance: MinRelevance = None,
    min_score: MinScore = None,
    syntax: Syntax = False,
    sort: Annotated[
        str | None,
        option(
            "--sort A,-B",
            "Sort all matches by these attributes, - for the largest values first; _score for the score, _id for the "
            "identifier.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        option(
            "--after JSON",
            "With --sort: the results after these values, a list with one of each key, such as '[4.5, \"sencha\"]'.",
        ),
    ] = None,
    collapse: Collapse = None,
    collapse_size: CollapseSize = 1,
    facets: Annotated[
        str | None,
        option(
            "--facets A,B",
            "Count the values of these attributes over all documents that match the query and the conditions.",
        ),
    ] = None,
    multi_select: Annotated[
        bool,
        flag(
            "--multi-select",
            "Count each attribute of --facets without the conditions of --filter on it, for several choices.",
        ),
    ] = False,
    lang: Lang = None,
    fuzzy: Fuzzy = None,
    prefix: Prefix = None,
    like: Like = None,
    like_file: LikeFile = None,
    settings: QuerySet = None,
    relevance: RelevanceFile = None,
    no_feedback: NoFeedback = False,
    approximate: Approximate = None,
    as_json: JsonFlag = False,
) -> None:
    """Search an index or a mixture.

    For example:

    termwise search DIR "merge two sorted lists" --explain

    termwise search DIR --like DOC_ID

    termwise search DIR --filter 'price < 20' --sort price
    """
    from termwise.search.opening import open_searcher

    asked = search_of(
        query,
        k=k,
        offset=offset,
        like=like,
        like_file=like_file,
        filter=condition,
        or_filter=or_filter,
        must=must or (),
        must_not=must_not or (),
        match=match,
        only_words=only_words,
        min_relevance=min_relevance,
        min_score=min_score,
        syntax=syntax,
        sort=sort,
        after=None if after is None else _values(after),
        collapse=collapse,
        collapse_size=collapse_size,
        facets=field_names(facets) or (),
        multi_select=multi_select,
        lang=lang,
        fuzzy=fuzzy,
        prefix=prefix,
        weighting=query_settings(settings),
        relevance=relevance,
        feedback=not no_feedback,
        approximate=approximate,
    )
    lists = query is None and not like and not like_file
    if lists and not any((condition, must, must_not, sort, relevance)):
        raise UsageError(
            "give a query, a query document, or conditions for a list of documents",
            fixes=[
                f'termwise search {quote(str(folder))} "query"',
                f"termwise search {quote(str(folder))} --like DOC_ID",
                f"termwise search {quote(str(folder))} --filter CONDITION, for all documents that it allows",
                f"termwise rank {quote(str(folder))} --queries FILE --out RUN",
            ],
        )
    if lists:
        refuse_options({"--explain": explain}, "without a query")
    searcher = open_searcher(folder)
    results = searcher.search(asked)
    ranking = results.ranking
    counts = results.facets() if asked.facets else {}
    shown = field_names(show) or ()
    attributes = [hit.attributes for hit in results.hits(show=shown, texts=False)] if shown else []
    explanations = results.explain() if explain or not as_json else []
    if like_file:
        explanations = [replace(each, example=like_file[0].name) for each in explanations]
    if as_json:
        _print_json_lines(searcher, results, attributes, explanations)
    else:
        details = _details(results, attributes)
        print_ranking(ranking, explanations, explain, details, offset, _words(results, explanations))
        _note_found(searcher, results)
    if not lists and not like and not like_file:
        if len(ranking) and len(searcher.parts) > 1 and results.text.strip():
            from termwise.search.reasons import silent_parts

            for line in silent_parts(searcher.parts, results.text, asked):
                note_line(line)
        if explanations:
            _note_pieces(explanations)
    if results.unknown_pins:
        note_line(f"pinned, but not in the index: {listed(results.unknown_pins)}")
    if results.same_text:
        note_line(f"excluded, because the text is the same: {listed(results.same_text)}")
    _print_facets(counts, as_json)
    if query is not None:
        if not syntax:
            _note_syntax(query)
        _note_file(folder, query)


def _values(text: str) -> Any:
    """Parse the JSON of ``--after``; return a text that is not JSON unchanged, so that the search refuses it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _words(results: Results, explanations: Sequence[Explanation]) -> list[list[Span]]:
    """Return the words of the query in the texts of results, as in `Results.snippets`; none for a query by example."""
    from termwise.explain.passages import SHORTEST

    by_example = results.search.like is not None or results.search.like_text is not None
    texts = [each.text for each in explanations if each.text is not None]
    if by_example or not results.text.strip() or not texts or len(texts) < len(explanations):
        return []
    longest = max(map(len, texts))
    return [
        [(each.before + start, each.before + end) for start, end in each.spans]
        for each in results.snippets(length=max(SHORTEST, longest))
    ]


def print_ranking(
    ranking: Ranking,
    explanations: Sequence[Explanation],
    explain: bool,
    details: Sequence[str],
    offset: int,
    words: Sequence[Sequence[Span]],
) -> None:
    """Print a ranking, without the library for terminals where there is none."""
    from termwise.explain.ranking_terminal import ranking_lines, ranking_renderable

    if not len(ranking):
        return
    options: Any = {"explain": explain, "details": details, "offset": offset, "words": words}
    if may_be_terminal():
        stdout().print(ranking_renderable(ranking, explanations, **options))
        return
    lines = ranking_lines(ranking, explanations, columns=plain_columns(), plain=True, **options)
    for line in lines:
        print(line.plain.rstrip())


def _note_pieces(explanations: Sequence[Explanation]) -> None:
    """Print a note with the query words for which the index has only word pieces."""
    from termwise.explain.explanation_text import IN_PIECES, words_in_pieces

    if pieces := words_in_pieces(explanations):
        note_line(f"{IN_PIECES}: {listed(pieces)}")


def _words_of_matches(level: str) -> str:
    """Return which words of the query matches contain."""
    some = f"{level} of the words" if level[0].isdigit() and "<" not in level else f"enough words ({level})"
    return {"any": "any word", "most": "most words", "all": "all words"}.get(level, some)


def _found(results: Results, documents: int, conditions: str, all_match: bool) -> str:
    """Return how many documents match; in a mixture with matches by words, not all results do."""
    level, shown, total = results.matched, len(results.ranking), counted(documents, "document")
    conditions = f", {conditions}" if conditions else ""
    if all_match:
        matches, words = _total(results), "" if level is None else f", with {_words_of_matches(level)}"
        found = counted(shown, "result") if matches in (None, shown) else f"{shown:,} of {matches:,} matches"
        return f"{found} from {total}{conditions}{words}"
    assert level is not None, "results that match by words have a level"
    matches = results.count()
    if level == "meaning":
        words = "enough words" if results.search.match else "a word"
        least = "" if results.count_is_exact else "at least "
        found = counted(shown, "result") if shown == matches else f"{shown:,} of {least}{matches:,} results"
        return f"none of {total} contains {words} of the query{conditions}; {found} by meaning"
    return f"{matches:,} of {total} contain{'s' * (matches == 1)} {_words_of_matches(level)}{conditions}"


def _details(results: Results, attributes: Sequence[Mapping[str, AttributeValue]]) -> list[str]:
    """Return the line below each result: its attributes, and whether it matches by meaning only.

    Without any match by words, the summary of the search says so instead.
    """
    matching = results.matching()
    lines = [attribute_line(values) for values in attributes] or [""] * len(matching)
    if "meaning" not in matching or results.matched == "meaning":
        return lines if attributes else []
    marks = ["meaning only" if each == "meaning" else "" for each in matching]
    return [" · ".join(filter(None, both)) for both in zip(marks, lines, strict=True)]


def attribute_line(attributes: Mapping[str, AttributeValue]) -> str:
    """Return attributes on one line.

    Examples
    --------
    >>> attribute_line({"price": 12.5, "tags": ("used", "red")})
    'price 12.5 · tags used, red'
    """
    return " · ".join(f"{name} {value_text(value)}" for name, value in attributes.items())


def _note_found(searcher: Searcher, results: Results) -> None:
    """Print the number of matches, or why there are none, and what else to search for."""
    suggestion, reasons = _suggestion(results), results.reasons()
    if reasons:
        note(f"no results: {reasons[0]}")
    else:
        from termwise.search.reasons import conditions_text

        all_match = len(searcher.parts) < 2 or results.matched is None or bool(results.search.only_words)
        all_match &= results.matched != "meaning"
        found = _found(results, searcher.documents, conditions_text(results), all_match)
        note(f"{found}{approximate_note(results.windows, results.search)}")
    for line in filter(None, (suggestion, *reasons[1:])):
        note_line(line)


def _total(results: Results) -> int | None:
    """Return the number of matches; None for an approximate search, which does not know it."""
    if results.matched is not None:
        return results.count()
    if results.windows is not None:
        return None
    search, shown = results.search, len(results.ranking)
    if 0 < shown < search.k and search.collapse is None and search.after is None:
        return search.offset + shown
    return results.count()


def _print_json_lines(
    searcher: Searcher,
    results: Results,
    attributes: Sequence[Mapping[str, AttributeValue]],
    explanations: Sequence[Explanation],
) -> None:
    """Print each result, the number of matches, and the suggestions, as JSON."""
    windows, matching, relevance = results.windows, results.matching(), results.relevance()
    for position, hit in enumerate(results.ranking):
        rank = results.search.offset + position + 1
        record: dict[str, Any] = {"rank": rank, "doc_id": hit.doc_id, "score": hit.score}
        if position < results.ranking.pinned:
            record["pinned"] = True
        if matching[position] is not None:
            record["matches"] = matching[position]
        if relevance[position] is not None:
            record["relevance"] = relevance[position]
        if results.search.approximate is not None:
            record["approximate"] = windows
        if attributes:
            record["attributes"] = json_attributes(attributes[position])
        if explanations:
            record["explanation"] = explanations[position].to_dict()
        print_json(record)
    reasons = results.reasons()
    print_json(
        {
            "total": _total(results),
            **({} if results.count_is_exact else {"total_relation": "gte"}),
            **({} if results.matched is None else {"matched": results.matched}),
            "documents": searcher.documents,
            **({"reasons": reasons} if reasons else {}),
        }
    )
    if suggested := results.did_you_mean():
        print_json({"did_you_mean": [asdict(each) for each in suggested]})


def _suggestion(results: Results) -> str:
    """Return the similar words that were searched for, and those that lead to other results, as a line."""
    from termwise.search.reasons import also_searched_for, suggested_words

    searched = also_searched_for(results)
    lines = {"also searched for": searched, "did you mean": suggested_words(results.did_you_mean())}
    return "; ".join(f"{label}: {listed(words)}" for label, words in lines.items() if words)


def _print_facets(counts: dict[str, list[ValueCount]], as_json: bool) -> None:
    """Print the most frequent values of attributes."""
    for field, values in counts.items():
        if as_json:
            print_json({"facet": field, "values": [each._asdict() for each in values]})
        else:
            line = ", ".join(f"{value_text(value)} {documents:,}" for value, documents in values)
            print_text(f"{field}: {line or 'no values'}")


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
                f"termwise rank {quote(str(folder))} --queries {quote(query)} --out run.trec"
            )
