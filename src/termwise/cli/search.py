"""``termwise search``: answer one query on the terminal."""

from __future__ import annotations

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
    Like,
    LikeFile,
    Must,
    MustNot,
    NoFeedback,
    Prefix,
    QuerySet,
    RelevanceFile,
    Syntax,
    approximate_note,
    condition_line,
    query_settings,
    search_of,
)
from termwise.cli.terminal import (
    counted,
    listed,
    may_be_terminal,
    note,
    note_line,
    plain_columns,
    print_json,
    print_text,
    stdout,
)
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.explain import Explanation
    from termwise.filters.facets import ValueCount
    from termwise.records import AttributeValue, Ranking
    from termwise.search import Results, Searcher, Suggestion
    from termwise.search.single_index import SingleIndex

_REMOVED = "the analyzer removes all words of the query"

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_SYNTAX = re.compile(r'"[^"]+"|(?<!\S)[-+][^\W\d_]\w*|(?<!\S)(?:AND|OR|NOT)(?!\S)')
"""Phrases, excluded and required words, and operators in the syntax of other search engines."""


def command(
    folder: IndexFolder,
    query: Annotated[str | None, argument("QUERY", "The query, in quotes.")] = None,
    k: Annotated[int, option("-k N", "Number of results.", min=1)] = 10,
    explain: Annotated[bool, flag("--explain", "Show every score as a sum over terms.")] = False,
    show: Annotated[str | None, option("--show A,B", "Attributes to print with each result.")] = None,
    condition: Condition = None,
    must: Must = None,
    must_not: MustNot = None,
    syntax: Syntax = False,
    sort: Annotated[
        str | None,
        option(
            "--sort A,-B",
            "Sort all matches by these attributes, - for the largest values first; _score for the score.",
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
    fuzzy: Fuzzy = False,
    prefix: Prefix = False,
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
        like=like,
        like_file=like_file,
        filter=condition,
        must=must or (),
        must_not=must_not or (),
        syntax=syntax,
        sort=sort,
        collapse=collapse,
        collapse_size=collapse_size,
        facets=field_names(facets) or (),
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
        _print_json_lines(results, attributes, explanations)
    elif len(ranking):
        print_ranking(ranking, explanations, explain, [attribute_line(values) for values in attributes])
        documents = counted(searcher.documents, "document")
        if conditions := condition_line(results):
            documents += f", {conditions}"
        found = counted(len(ranking), "result")
        note(f"{found} from {documents}{approximate_note(results.windows, asked)}")
        if suggestion := _suggestion(results):
            note_line(suggestion)
    else:
        _note_nothing_found(searcher, results)
    if not lists and not like and not like_file:
        if len(ranking) and len(searcher.parts) > 1:
            _note_silent_parts(searcher, results.text)
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


def print_ranking(
    ranking: Ranking, explanations: Sequence[Explanation], explain: bool, details: Sequence[str]
) -> None:
    """Print a ranking, without the library for terminals where there is none."""
    from termwise.explain.ranking_terminal import ranking_lines, ranking_renderable

    if may_be_terminal():
        stdout().print(ranking_renderable(ranking, explanations, explain=explain, details=details))
        return
    lines = ranking_lines(
        ranking, explanations, columns=plain_columns(), plain=True, explain=explain, details=details
    )
    for line in lines:
        print(line.plain.rstrip())


def _note_pieces(explanations: Sequence[Explanation]) -> None:
    """Print a note with the query words for which the index has only word pieces."""
    from termwise.explain.explanation_text import IN_PIECES, words_in_pieces

    if pieces := words_in_pieces(explanations):
        note_line(f"{IN_PIECES}: {listed(pieces)}")


def attribute_line(attributes: Mapping[str, AttributeValue]) -> str:
    """Return attributes on one line.

    Examples
    --------
    >>> attribute_line({"price": 12.5, "tags": ("used", "red")})
    'price 12.5 · tags used, red'
    """
    return " · ".join(f"{name} {value_text(value)}" for name, value in attributes.items())


def _print_json_lines(
    results: Results,
    attributes: Sequence[Mapping[str, AttributeValue]],
    explanations: Sequence[Explanation],
) -> None:
    """Print each result, and the suggestions, as JSON."""
    windows = results.windows
    for position, hit in enumerate(results.ranking):
        record: dict[str, Any] = {"rank": position + 1, "doc_id": hit.doc_id, "score": hit.score}
        if position < results.ranking.pinned:
            record["pinned"] = True
        if results.search.approximate is not None:
            record["approximate"] = windows
        if attributes:
            record["attributes"] = json_attributes(attributes[position])
        if explanations:
            record["explanation"] = explanations[position].to_dict()
        print_json(record)
    if suggested := results.did_you_mean():
        print_json({"did_you_mean": [asdict(each) for each in suggested]})


def _suggestion(results: Results) -> str:
    """Return the suggestions for words that no document has, as a line; empty without any."""
    if not (suggested := results.did_you_mean()):
        return ""
    return f"{'also searched for' if results.search.fuzzy else 'did you mean'}: {_suggested(suggested)}"


def _note_nothing_found(searcher: Searcher, results: Results) -> None:
    """Print why there are no results, and what else to search for."""
    suggestion = _suggestion(results)
    conditions = condition_line(results)
    if not conditions or not len(searcher.search(results.without_conditions()).ranking):
        note("\n  ".join(_empty_result_lines(searcher, results, suggestion)))
        return
    matching = " that matches the query" if results.text else ""
    note(f"no results: the conditions allow no document{matching} ({conditions})")
    if absent := _in_no_document(searcher, results.must):
        note_line(f"required, but in no document: {listed(absent)}")
    near = searcher.did_you_mean(f"{' '.join(results.must)} ")  # the last word is complete
    hints = [suggestion] if suggestion else []
    hints += [f"did you mean: {_suggested(near)}"] if near else []
    for hint in dict.fromkeys(hints):
        note_line(hint)


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


def _empty_result_lines(searcher: Searcher, results: Results, suggestion: str) -> list[str]:
    """Return the reason for an empty result, and what else to search for."""
    from termwise.text.languages import LANGUAGES

    first = searcher.parts[0]  # no part has results; the words of the first are named
    text, asked = results.text, results.search
    if results.query.vectors[0].terms.size == 0 < first.backend.encoder.encode_query(text).nnz:
        return ["no results: --set removes all terms of the query"]
    if asked.query is None and text:
        return ["no results: no other document shares a term with the query document"]
    if not text.strip():
        return ["no results: the query is empty"]
    reasons = _reasons(first.backend, text)
    lines = [f"no results: {'; '.join(reasons) or _REMOVED}"]
    if suggestion:
        lines.append(suggestion)
    name = first.backend.encoder.analyzer.spec.name
    if name in ("english", *LANGUAGES) and _CJK.search(text):
        lines.append(
            f"the analyzer {name} does not split Chinese, Japanese and Korean into words: index with --analyzer cjk"
        )
    elif reasons and len(searcher.parts) == 1 and first.backend.is_exact:
        lines.append(
            "the model of this index matches exact terms only; model1, tilde, tildev2, lookup and best also find "
            "related terms"
        )
    return lines


def _reasons(backend: SingleIndex, query: str) -> list[str]:
    """Return why no word of a query has a weight in an index."""
    from termwise.text import unknown_token
    from termwise.text.words_around import word_around

    analysis = backend.encoder.analyzer.analyze(query)
    known, without_pieces = backend.index.vocabulary.number, unknown_token(backend.encoder.analyzer)
    unknown, weightless = dict[str, str](), dict[str, str]()
    for token, span in zip(analysis.tokens, analysis.spans.tolist(), strict=True):
        word = query[slice(*word_around(query, *span))]
        (unknown if token == without_pieces or known(token) is None else weightless)[word] = token
    reasons = [f"no document has a weight for {listed(weightless, ' or ')}"] if weightless else []
    return reasons + ([f"not in the index: {listed(unknown)}"] if unknown else [])


def _in_no_document(searcher: Searcher, required: Sequence[str]) -> list[str]:
    """Return the required words that no document has, as far as an index of whole words shows it."""
    for part in searcher.parts:
        similar = part.backend.similar_terms
        if similar is not None and part.backend.is_exact:
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


def _note_silent_parts(searcher: Searcher, query: str) -> None:
    """Name the parts of a mixture that know no word of a query, because only the others rank then."""
    for part in searcher.parts:
        if part.backend.encoder.encode_query(query).nnz == 0:
            reasons = _reasons(part.backend, query)
            note_line(f"{part.name}: {'; '.join(reasons) or _REMOVED}")
