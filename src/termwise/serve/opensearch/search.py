"""Answers to searches, counts and explanations in the form of OpenSearch."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from termwise.attributes import Schema
from termwise.attributes.dates import parse_date
from termwise.budget import spend
from termwise.engine.result_order import SCORE
from termwise.engine.word_matches import levels_of
from termwise.errors import UnknownIdError
from termwise.explain.explanation_text import NOT_TERMS
from termwise.filters.facets import Segments, documents_in
from termwise.search import Results
from termwise.serve import search as own
from termwise.serve.answers import Excerpt, ExplanationAnswer, HitAnswer, SearchAnswer
from termwise.serve.errors import TooLargeError
from termwise.serve.indexes import OpenIndex
from termwise.serve.opensearch.aggregations import AggregationAnswers
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.fields import Fields, SourceFilter
from termwise.serve.opensearch.json_checks import known_keys
from termwise.serve.opensearch.query import TranslatedQuery, translate
from termwise.serve.opensearch.returned_fields import field_values
from termwise.serve.opensearch.search_body import Highlight, SearchBody, read_search
from termwise.serve.opensearch.suggest import suggest_answer
from termwise.serve.opensearch.top_hits import TopHits
from termwise.serve.requests import SearchRequest
from termwise.serve.settings import ServiceSettings


class Answer(NamedTuple):
    """Body of an answer, and sentences on what the search does differently from the request."""

    body: dict[str, Any]
    notes: tuple[str, ...]


SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


def search(
    opened: OpenIndex, body: object, parameters: Mapping[str, str], settings: ServiceSettings
) -> Answer:
    """Answer a search with a JSON value as its body, and the parameters of the address.

    Raises
    ------
    TermwiseError
        If a part of the request is not supported, not as expected, or over a limit.
    """
    begin = time.perf_counter()
    asked = read_search(body, parameters, opened, settings)
    fields = Fields.of(opened.searcher)
    served, request = _asked(
        opened,
        asked.query,
        k=max(1, asked.size),
        offset=asked.first,
        sort=list(asked.sort) or None,
        after=asked.after,
        collapse=asked.collapse,
        total=asked.total,
        text=any(asked.source.wants(name) for name in fields.texts)
        or any(each.field in fields.texts for each in asked.returned),
        explain=asked.explain,
    )
    found = own.search(served, request, settings)
    own_answer = found.explained()
    hits = own_answer["hits"][: asked.size]
    first, *others = levels_of(found.results.search.match or "all, any")
    level = own_answer.get("matched") if others and own_answer.get("matched") != first else None
    highlighted = _highlighted(found.results, asked, fields, hits)
    answer: dict[str, Any] = {
        "took": round(1000 * (time.perf_counter() - begin)),
        "timed_out": False,
        **({"terminated_early": False} if asked.terminates else {}),
        "_shards": SHARDS,
        "hits": {
            **({"total": _total(own_answer)} if asked.total else {}),
            "max_score": _max_score(asked, hits),
            "hits": [
                _hit(opened.name, asked, fields, hit, excerpts, level)
                for hit, excerpts in zip(hits, highlighted, strict=True)
            ],
        },
    }
    if asked.aggregations:
        if asked.counted is not asked.query:
            found = own.search(*_asked(opened, asked.counted, k=1, show=[]), settings)
        top_hits = partial(_top_hits, opened, replace(asked, query=asked.counted), found.results)
        all_documents = _asked(opened, TranslatedQuery({}), k=1, show=[])
        answers = AggregationAnswers(
            fields.schema,
            settings.max_results,
            top_hits,
            lambda: own.results_of(*all_documents, settings).segments(),
        )
        answer["aggregations"] = answers.of(asked.aggregations, found.results.segments())
    if asked.suggesters:
        answer["suggest"] = {each.name: suggest_answer(each, opened.searcher) for each in asked.suggesters}
    lacking = fields.lacking(asked.source, stores_text=opened.searcher.index.stores_text)
    notes = [*asked.query.notes, *asked.notes, *(note for each in asked.suggesters for note in each.notes)]
    return Answer(answer, tuple(dict.fromkeys([*notes, *([lacking] if lacking else [])])))


def count(opened: OpenIndex, body: object, settings: ServiceSettings) -> Answer:
    """Answer with the number of matches of a query."""
    given = known_keys(body, "a count", ("query",))
    query = translate(given.get("query", {"match_all": {}}), opened, settings)
    counted = own.results_of(*_asked(opened, query), settings).count()
    return Answer({"count": counted, "_shards": SHARDS}, query.notes)


def to_delete(opened: OpenIndex, body: object, settings: ServiceSettings) -> list[str]:
    """Return the documents that fulfil the conditions of a query, to be deleted by one request.

    Raises
    ------
    UnsupportedError
        If the query ranks by words, because a model can find documents without them.
    TooLargeError
        If there are more documents than the changes of a request.
    """
    most = settings.max_operations
    given = known_keys(body, "a deletion", ("query",))
    query = translate(given.get("query"), opened, settings)
    if query.ranks:
        fix = "require words: put match with operator and, or match_phrase, into the filter of a bool"
        raise UnsupportedError.of("in a deletion, a clause that", "ranks by words", ["conditions"], fix)
    request = _asked(opened, query, k=most, show=[], total=True)
    found = own.search(*request, replace(settings, max_results=most)).answer
    if found["total"] > most:
        raise TooLargeError(
            "more documents fulfil the query than one request changes",
            facts=[("documents", found["total"]), ("most", most)],
        )
    return [hit["doc_id"] for hit in found["hits"]]


def explain(
    opened: OpenIndex, doc_id: str, body: object, source: SourceFilter | None, settings: ServiceSettings
) -> Answer:
    """Answer with the score of a document as a sum; its value is 0 if the document does not match.

    Raises
    ------
    UnknownIdError
        If the index has no such document.
    """
    searcher = opened.searcher
    if searcher.index.find(doc_id) is None:
        raise UnknownIdError("the index has no such document", facts=[("doc_id", doc_id)])
    query = translate(known_keys(body, "an explanation", ("query",)).get("query"), opened, settings)
    alone = [each for each in (doc_id,) if each in query.request.get("candidates", (doc_id,))]
    defaults = query.relevance.search if query.relevance is not None and query.ranks else {}
    if (query.request.keys() | defaults.keys()) & {
        "match",
        "only_words",
        "or_filter",
    }:  # which candidates do not need
        is_match = own.results_of(*_asked(opened, query), settings).is_match(doc_id)
        alone = alone if is_match else []
    left_out = ("match", "only_words", "or_filter")
    asked = {name: value for name, value in query.request.items() if name not in left_out}
    alone_query = replace(query, request=asked | {"candidates": alone})
    request = _asked(opened, alone_query, k=1, explain=True, text=source is not None)
    hits = own.search(*request, settings).explained()["hits"]
    matched = bool(hits) and (
        not query.ranks or "or_filter" in query.request or _shares_a_term(hits[0]["explanation"])
    )
    answer: dict[str, Any] = {
        "_index": opened.name,
        "_id": doc_id,
        "matched": matched,
        "explanation": _explanation(query, hits[0])
        if matched
        else {"value": 0.0, "description": "the document does not match the query", "details": []},
    }
    if source is not None and hits:
        answer["get"] = {"found": True, "_source": _source(source, Fields.of(searcher), hits[0])}
    return Answer(answer, query.notes)


def _shares_a_term(explanation: ExplanationAnswer) -> bool:
    return any(part["origin"] not in ("absent", "boost", *NOT_TERMS) for part in explanation["contributions"])


def _asked(opened: OpenIndex, query: TranslatedQuery, **fields: Any) -> tuple[OpenIndex, SearchRequest]:
    """Return the index with the relevance of a query, and the request of its search."""
    return replace(opened, relevance=query.relevance), query.search_request(**fields)


def _top_hits(
    opened: OpenIndex, asked: SearchBody, results: Results, top: TopHits, segments: Segments
) -> dict[str, Any]:
    """Return the answer of ``top_hits`` for counted rows of the results of a search."""
    searcher, fields = opened.searcher, Fields.of(opened.searcher)
    ranking = results.first_of(segments, max(1, top.size + top.first), list(top.sort) or None)
    found = searcher.hits(ranking, texts=False)[top.first : top.first + top.size]
    hits = [own.hit_record(rank, hit) for rank, hit in enumerate(found, top.first + 1)]
    own.add_sort_values(hits, searcher, list(top.sort) or None)
    if any(top.source.wants(name) for name in fields.texts):
        request = asked.query.search_request(text=True)
        own.add_texts(hits, searcher, results, request)
    shown = replace(
        asked,
        sort=top.sort,
        scores=top.scores,
        source=top.source,
        first=top.first,
        explain=False,
        returned=(),
    )
    return {
        "hits": {
            "total": {"value": documents_in(segments), "relation": "eq"},
            "max_score": _max_score(shown, hits),
            "hits": [_hit(opened.name, shown, fields, hit, {}) for hit in hits],
        }
    }


def _total(answer: SearchAnswer) -> dict[str, Any]:
    return {"value": answer["total"], "relation": answer.get("total_relation", "eq")}


def _max_score(asked: SearchBody, hits: list[HitAnswer]) -> float | None:
    """Return the largest score if it is that of the first result."""
    if not hits or asked.first or asked.sort:
        return None
    return asked.query.score(hits[0]["score"])


def _highlighted(
    results: Results, asked: SearchBody, fields: Fields, hits: Sequence[HitAnswer]
) -> list[dict[str, list[str]]]:
    """Return the excerpts of each result by field; a field without a word of the query has none."""
    doc_ids = [hit["doc_id"] for hit in hits]
    found: list[dict[str, list[str]]] = [{} for _ in hits]
    for each in asked.highlights:
        field = each.field if len(fields.texts) > 1 else None
        snippets = results.snippets(doc_ids, length=each.length, field=field)
        for excerpts, snippet in zip(found, snippets, strict=True):
            if snippet.spans:
                excerpts[each.field] = [_marked(own.excerpt_record(snippet), each)]
    return found


def _hit(
    index: str,
    asked: SearchBody,
    fields: Fields,
    hit: HitAnswer,
    excerpts: dict[str, list[str]],
    level: str | None = None,
) -> dict[str, Any]:
    """Return a result; `level` is the number of words that results contain if none contains the first one asked for."""
    score = asked.query.score(hit["score"])
    record: dict[str, Any] = {
        "_index": index,
        "_id": hit["doc_id"],
        "_score": score if not asked.sort or asked.scores else None,
    }
    if asked.source.wanted:
        record["_source"] = _source(asked.source, fields, hit)
    values = field_values(asked.returned, hit["attributes"], hit.get("texts", {}), fields.schema)
    matches = "meaning" if hit.get("matches") == "meaning" else level
    if matches:
        values["_matches"] = [matches]
    if values:
        record["fields"] = values
    if excerpts:
        record["highlight"] = excerpts
    if asked.sort:
        record["sort"] = [
            score
            if key not in fields.schema and key.removeprefix("-") == SCORE
            else _sort_value(key, value, fields.schema)
            for key, value in zip(asked.sort, hit["sort"], strict=True)
        ]
    if asked.explain:
        record["_explanation"] = _explanation(asked.query, hit)
    return record


def _source(source: SourceFilter, fields: Fields, hit: HitAnswer) -> dict[str, Any]:
    return fields.source(hit["doc_id"], hit["attributes"], hit.get("texts", {}), source)


def _sort_value(key: str, value: Any, schema: Schema) -> Any:
    """Return a value of a sort key as OpenSearch writes it: a date in milliseconds, or as text if that is not exact."""
    name = key if key in schema else key.removeprefix("-")
    moments = parse_date(value) if schema.get(name) == "date" and value is not None else None
    if moments is None:
        return value
    return value if moments[0] % 1000 else moments[0] // 1000


def _marked(excerpt: Excerpt, highlight: Highlight) -> str:
    """Return an excerpt with tags around its words.

    Examples
    --------
    >>> _marked({"text": "green tea & rice", "marks": [[6, 9]]}, Highlight("text", html=True))
    'green <em>tea</em> &amp; rice'
    """
    text, parts, end = excerpt["text"], [], 0
    written = html.escape if highlight.html else str
    for start, stop in excerpt["marks"]:
        spend(size=len(highlight.before) + len(highlight.after))
        parts += [written(text[end:start]), highlight.before, written(text[start:stop]), highlight.after]
        end = stop
    return "".join([*parts, written(text[end:])])


def _explanation(query: TranslatedQuery, hit: HitAnswer) -> dict[str, Any]:
    """Return the explanation of a score, whose details add up to it; the details of a term multiply to its value."""
    found = hit["explanation"]
    boost = [] if query.factor == 1 else [_detail(query.factor, "boost")]
    details = [
        _detail(
            query.factor * part["score"],
            f"{part['term']} ({part['origin']}), product of:",
            [
                _detail(part["query_weight"], "weight in the query"),
                _detail(part["weight"], "weight in the document"),
                *(
                    [_detail(part["scale"], f"scale of {part['part']} for this query")]
                    if "part" in part
                    else []
                ),
                *boost,
            ],
        )
        for part in found["contributions"]
    ]
    if found["constant"]:
        details.append(_detail(query.factor * found["constant"], "constant of all documents"))
    if query.constant:
        details.append(_detail(query.constant, "match_all or constant_score"))
    return _detail(query.score(hit["score"]), "sum of:", details)


def _detail(value: float, description: str, details: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"value": value, "description": description, "details": list(details)}
