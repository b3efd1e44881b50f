"""Why a search has no results: lines for the command line, the service and its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from termwise.display.safe_text import legible_line, listed
from termwise.engine.query_settings import DEFAULT
from termwise.engine.unrelated_queries import LEAST_RELEVANCE_OF_PIECES
from termwise.index.attribute_columns import KeywordColumn, KeywordsColumn, NumberColumn
from termwise.search.backend import Backend
from termwise.search.part_weights import has_codes_only
from termwise.search.parts import Part
from termwise.search.request import Search
from termwise.search.single_index import SingleIndex

if TYPE_CHECKING:
    from termwise.engine.similar_terms import SimilarTerms
    from termwise.index import Index
    from termwise.search.results import Results
    from termwise.search.suggestions import Suggestion

MOST_WORDS = 4
"""Largest number of words of a query that are compared with the values of attributes."""

_REMOVED = "the analyzer removes all words of the query"

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def suggested_words(suggestions: Iterable[Suggestion]) -> list[str]:
    """Return the words of suggestions, without repetitions."""
    return list(dict.fromkeys(similar.word for each in suggestions for similar in each.words))


def also_searched_for(results: Results) -> list[str]:
    """Return the words of similar spelling that a fuzzy search added to the query."""
    return (
        suggested_words(each for each in results.similar_words() if not each.is_code)
        if results.search.fuzzy
        else []
    )


def conditions_text(results: Results) -> str:
    """Describe the conditions of a search; empty without any."""
    parts = [] if results.filter is None else [f"filtered by {legible_line(str(results.filter))}"]
    for name, words in (("with", results.must), ("without", results.must_not)):
        if words:
            parts.append(f"{name} {', '.join(legible_line(repr(each)) for each in words)}")
    return ", ".join(parts)


def reasons_for_none(
    results: Results, backend: Backend, search: Callable[[Search], Results], *, advice: bool
) -> list[str]:
    """Return why a search has no results, see `Results.reasons`; `search` searches the backend again."""
    if not backend.index.documents:
        return ["the index has no documents"]
    if (offset := results.search.offset) and len(search(replace(results.search, k=1, offset=0)).ranking):
        matches = results.count()
        return [
            f"{matches:,} {'document matches' if matches == 1 else 'documents match'}, and {offset:,} are skipped"
        ]
    if results.search.after is not None and len(search(replace(results.search, k=1, after=None)).ranking):
        return ["all documents that match come before these values"]
    least = results.search.min_score
    if least is not None and len(search(replace(results.search, min_score=None, k=1, offset=0)).ranking):
        return [f"no document has a score of {least:g} or more"]
    match = results.search.match
    if match is not None and len(search(replace(results.search, match="any", k=1, offset=0)).ranking):
        return [f"no document contains enough words of the query, {match}"]
    conditions = conditions_text(results)
    if conditions and len(search(replace(results.without_conditions(), k=1, offset=0)).ranking):
        lines = _reasons_of_conditions(results, conditions, backend, search)
    else:
        lines = _reasons_of_query(results, backend, advice)
    if results.left_out_by_relevance:
        least, left_out = results.least_relevance, "documents that are near in meaning are left out, because"
        if least < LEAST_RELEVANCE_OF_PIECES:
            lines.append(f"no document is near enough in meaning: the relevance of all is below {least:g}")
        elif results.other_language is not None:
            lines.append(
                f"{left_out} the vectors know English only, and the language of the query is {results.other_language}"
            )
        else:
            lines.append(f"{left_out} only pieces are known of the words")
    return lines


def _reasons_of_conditions(
    results: Results, conditions: str, backend: Backend, search: Callable[[Search], Results]
) -> list[str]:
    """Return that conditions exclude all matches of a query, and which required words no document has."""
    matching = " that matches the query" if results.text else ""
    lines = [f"the conditions allow no document{matching} ({conditions})"]
    if absent := _in_no_document(backend, results.must):
        lines.append(f"required, but in no document: {listed(absent)}")
    required = search(Search(f"{' '.join(results.must)} "))  # the last word is complete
    known = suggested_words(results.did_you_mean())
    if near := [word for word in suggested_words(required.similar_words()) if word not in known]:
        lines.append(f"did you mean: {listed(near)}")
    return lines


def _reasons_of_query(results: Results, backend: Backend, advice: bool) -> list[str]:
    """Return why no document matches a query, with `advice` on the index that would match."""
    from termwise.text.languages import LANGUAGES

    for part in backend.parts:
        language, known = part.backend.language_of(results.search), part.backend.languages
        if language is not None and language not in known:
            return [f"no document has the language {language}; the index has {', '.join(known)}"]
    first = backend.parts[0].backend  # no part has results; the words of the first are named
    text = results.text
    unweighted = first.encoder_of(results.search)
    is_weighted = results.search.weighting != DEFAULT
    if is_weighted and results.query.vectors[0].terms.size == 0 < unweighted.encode_query(text).nnz:
        return ["the weighting removes all terms of the query"]
    if results.search.query is None and text:
        return ["no other document shares a term with the query document"]
    if not text.strip():
        return ["the query is empty"]
    reasons = _unweighted_words(first, text, results.search)
    lines = ["; ".join(reasons) or _REMOVED]
    if not advice:
        return lines
    lines += _values_of_attributes(backend.index, text)
    name = first.encoder.analyzer.spec.name
    if name.removesuffix("-parts").removesuffix("-codes") in ("english", *LANGUAGES) and _CJK.search(text):
        lines.append(
            f"the analyzer {name} does not split Chinese, Japanese and Korean into words: index with the analyzer cjk"
        )
    elif reasons and len(backend.parts) == 1 and first.is_exact and not has_codes_only(text):
        lines.append(
            "the model of this index matches exact terms only; model1, tilde, tildev2, lookup and best also find "
            "related terms"
        )
    return lines


def _values_of_attributes(index: Index, text: str) -> list[str]:
    """Return which attributes have the query, or one of its first words, as a value, and are no texts."""
    texts = {*index.manifest.fields, *index.manifest.field_weights}
    lines = []
    for word in list(dict.fromkeys((text.strip(), *text.split())))[:MOST_WORDS]:
        names = [name for name in index.schema if name not in texts and _has_value(index, name, word)]
        if names:
            value = word if index.schema[names[0]] == "integer" else repr(word)
            lines.append(
                f"{legible_line(word)} is a value of {listed(names)}, which is not searched: filter by "
                f"{names[0]} = {legible_line(value)}, or build the index with {names[0]} among its texts"
            )
    return lines


def _has_value(index: Index, name: str, word: str) -> bool:
    """Return whether an attribute of strings or whole numbers has a value; those of deleted documents count, too."""
    number = int(word) if word.isdecimal() and len(word) < 19 and index.schema[name] == "integer" else None
    for segment in index.segments:
        column = None if segment.attributes is None else segment.attributes.column(name)
        if isinstance(column, KeywordColumn | KeywordsColumn):
            assert segment.attributes is not None, "it has a column"
            found = bool(len(segment.attributes.string_numbers(name, [word])))
        elif isinstance(column, NumberColumn) and number is not None:
            found = bool(column.present(np.flatnonzero(column.values == number)).any())
        else:
            found = False
        if found:
            return True
    return False


def silent_parts(parts: Iterable[Part], query: str, search: Search) -> list[str]:
    """Return a line for each part of a mixture that knows no word of the query, because only the others rank then."""
    return [
        f"{part.name}: {'; '.join(_unweighted_words(part.backend, query, search)) or _REMOVED}"
        for part in parts
        if part.backend.encoder.encode_query(query).nnz == 0
    ]


def _unweighted_words(backend: SingleIndex, query: str, search: Search) -> list[str]:
    """Return why no word of a query has a weight in an index; empty if the analyzer leaves out all words."""
    from termwise.engine.query_encoder import left_out_by_a_language
    from termwise.text import unknown_token
    from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, readings
    from termwise.text.words_around import word_around

    known, without_pieces = backend.index.vocabulary.number, unknown_token(backend.encoder.analyzer)
    unknown, weightless = dict[tuple[int, int], str](), dict[str, str]()
    analyzer = backend.encoder.analyzer
    if (language := backend.language_of(search)) is not None and isinstance(analyzer, AnalyzerByAttribute):
        analyzer = analyzer.limited_to([language])
    for reading in readings(analyzer):
        analysis = reading.analyze(query)
        for place in (each.start for each in analysis.compounds()):
            token, span = analysis.tokens[place], word_around(query, *analysis.spans[place].tolist())
            if token == without_pieces or known(token) is None:
                unknown[span] = query[slice(*span)]
            else:
                weightless[query[slice(*span)]] = token
    left_out = left_out_by_a_language(analyzer, query, unknown)
    named: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for span, word in sorted(unknown.items()):
        if word not in weightless:
            named[span in left_out][word] = None
    reasons = [f"no document has a weight for {listed(weightless, ' or ')}"] if weightless else []
    reasons += [f"not in the index: {listed(named[0])}"] if named[0] else []
    return [*reasons, f"left out by the analyzer: {listed(named[1])}"] if reasons and named[1] else reasons


def _in_no_document(backend: Backend, required: Sequence[str]) -> list[str]:
    """Return the required words that no document has, as far as an index of whole words shows it."""
    for part in backend.parts:
        similar = part.backend.similar_terms
        if similar is not None and part.backend.is_exact:
            missing = [_missing(each, required) for each in similar.languages]
            return (
                [word for word in missing[0] if all(word in others for others in missing)] if missing else []
            )
    return []


def _missing(similar: SimilarTerms, texts: Sequence[str]) -> list[str]:
    return [
        text[start:end]
        for text in dict.fromkeys(texts)
        for _, ((start, end), *_) in similar.missing(similar.analyzer.analyze(text).spans_by_token())
    ]
