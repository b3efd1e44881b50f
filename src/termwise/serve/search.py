"""Searches of a service: from a request to an answer, for the HTTP API, the page and the tools of assistants.

A request over a limit, or one that the index cannot answer, is a `TermwiseError`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple, cast

from termwise.attributes.json_values import json_attributes
from termwise.budget import spend
from termwise.engine.result_order import ID, POSITION, SCORE, sort_keys
from termwise.errors import ParameterError
from termwise.explain import Explanation
from termwise.filters import ValueCount
from termwise.records import join_fields
from termwise.search import Hit, Results, Searcher, Snippet
from termwise.search.reasons import also_searched_for
from termwise.serve.answers import (
    Excerpt,
    ExplainAnswer,
    ExplanationAnswer,
    FacetsAnswer,
    FacetValue,
    HitAnswer,
    SearchAnswer,
    SuggestAnswer,
)
from termwise.serve.documents import texts_by_field
from termwise.serve.indexes import OpenIndex
from termwise.serve.requests import ExplainRequest, FacetsRequest, SearchOptions, SearchRequest
from termwise.serve.settings import ServiceSettings


class Found(NamedTuple):
    """Answer to a search, with the results that it was made from.

    Attributes
    ----------
    answer : SearchAnswer
    results : Results
    explanations : list of Explanation
        Of the results; empty if the request asks for none.
    """

    answer: SearchAnswer
    results: Results
    explanations: list[Explanation]

    def explained(self) -> SearchAnswer:
        """Return the answer with the explanations in its results."""
        if self.explanations:
            for record, explanation in zip(self.answer["hits"], self.explanations, strict=True):
                spend()
                record["explanation"] = explanation_record(explanation)
        return self.answer


def search(opened: OpenIndex, request: SearchRequest, settings: ServiceSettings) -> Found:
    """Search one index; the answer has no explanations."""
    begin = time.perf_counter()
    check_limits(request, settings)
    searcher = opened.searcher
    results = searcher.search(request.search(opened.relevance))
    answer: SearchAnswer = {
        "index": opened.name,
        "generation": opened.generation,
        "documents": searcher.documents,
        "hits": _hits(searcher, results, request),
        "milliseconds": 0.0,
    }
    if results.unknown_pins:
        answer["unknown_pins"] = list(results.unknown_pins)
    if results.matched is not None:
        answer["matched"] = results.matched
    if request.total:
        spend()
        answer["total"] = results.count()
        if not results.count_is_exact:
            answer["total_relation"] = "gte"
    if request.facets or request.ranges:
        spend()
        answer["facets"] = facet_records(results.facets())
    spend()
    if searched := also_searched_for(results):
        answer["also_searched_for"] = searched
    suggested = results.did_you_mean()
    if suggested:
        answer["did_you_mean"] = [asdict(each) for each in suggested]
    spend()
    if reasons := results.reasons():
        answer["reasons"] = reasons
    explanations = results.explain() if request.explain else []
    answer["milliseconds"] = round(1000 * (time.perf_counter() - begin), 3)
    return Found(answer, results, explanations)


def _hits(searcher: Searcher, results: Results, request: SearchRequest) -> list[HitAnswer]:
    """Return results as JSON-like data."""
    _ = results.ranking
    spend()
    found = results.hits(show=request.show, texts=False)
    records = [hit_record(rank, hit) for rank, hit in enumerate(found, request.offset + 1)]
    add_sort_values(records, searcher, request.sort)
    add_texts(records, searcher, results, request)
    return records


def add_sort_values(
    records: Sequence[HitAnswer], searcher: Searcher, sort: str | Sequence[str] | None
) -> None:
    """Add the values of the sort keys to the records of results, as `after` of a request has them."""
    index = searcher.backend.attribute_index
    names = [name for name, _ in sort_keys(sort, index.schema)]
    if not names or not records:
        return
    ordinals = searcher.index.find_many([record["doc_id"] for record in records])
    attributes = index.attributes(ordinals, [name for name in names if name in index.schema])
    for record, position, values in zip(records, ordinals.tolist(), attributes, strict=True):
        own = {SCORE: record["score"], ID: record["doc_id"], POSITION: position}
        value_of = own | json_attributes(values)
        record["sort"] = [value_of.get(name) for name in names]


def add_texts(
    records: Sequence[HitAnswer], searcher: Searcher, results: Results, request: SearchOptions
) -> None:
    """Add the texts and excerpts that a request asks for to the records of its results."""
    doc_ids = [record["doc_id"] for record in records]
    if request.text:
        for record, texts in zip(records, texts_by_field(searcher, doc_ids), strict=True):
            record["text"] = join_fields(texts.values()) if texts else None
            record["texts"] = texts
    if request.highlight:
        spend()
        excerpts = results.snippets(doc_ids, length=request.excerpt_length)
        for record, excerpt in zip(records, excerpts, strict=True):
            record["excerpt"] = excerpt_record(excerpt)


def results_of(opened: OpenIndex, request: SearchRequest, settings: ServiceSettings) -> Results:
    """Return the results of a search; nothing is computed yet."""
    check_limits(request, settings)
    return opened.searcher.search(request.search(opened.relevance))


def explain(opened: OpenIndex, request: ExplainRequest, settings: ServiceSettings) -> ExplainAnswer:
    """Explain the score of one document."""
    record = explanation_record(explanation_of(opened, request, settings), texts=request.text)
    return {"index": opened.name, "generation": opened.generation, "explanation": record}


def explanation_of(opened: OpenIndex, request: ExplainRequest, settings: ServiceSettings) -> Explanation:
    """Return the explanation of the score of one document."""
    _check_length("query", request.query or "", settings.max_query)
    asked = request.search(opened.relevance)
    if asked.query is None and asked.like is None:
        raise ParameterError("an explanation is for one of query and like")
    (explanation,) = opened.searcher.search(asked).explain([request.doc_id], competitors=request.competitors)
    return explanation


def explanation_record(explanation: Explanation, *, texts: bool = False) -> ExplanationAnswer:
    """Return an explanation as JSON-like data; with `texts`, also the query and the text that spans are positions in.

    Examples
    --------
    >>> from termwise.explain import Contribution
    >>> part = Contribution("tea", "exact", 2.0, 1.5, 3.0, ((0, 3),))
    >>> record = explanation_record(Explanation("tea", "sencha", 3.0, 0.0, (part,), (), "Green tea"))
    >>> record["contributions"]
    [{'term': 'tea', 'origin': 'exact', 'query_weight': 2.0, 'weight': 1.5, 'score': 3.0, 'query_spans': [[0, 3]]}]
    >>> sorted(record)
    ['constant', 'contributions', 'doc_id', 'score']
    """
    record = _filled(vars(explanation))
    for filled, part in zip(record.get("parts", ()), explanation.parts, strict=True):
        filled |= {"scale": part.scale, "shift": part.shift}
    for name in ("index", "centred", *(() if texts else ("query", "text"))):
        record.pop(name, None)
    for part in record.setdefault("contributions", []):
        del part["mean"]  # of a centred explanation
        if "part" not in part:
            del part["scale"]
    return cast(ExplanationAnswer, record)


def _filled(value: Any) -> Any:
    """Return records as JSON-like data, without empty values."""
    if isinstance(value, str | int | float):  # most values
        return value
    if isinstance(value, tuple):
        return [_filled(each) for each in value]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: _filled(each) for name, each in value.items() if each not in (None, (), "")}
    return value


def facets(opened: OpenIndex, request: FacetsRequest, settings: ServiceSettings) -> FacetsAnswer:
    """Count the values of attributes over the matches of a query, or over all documents."""
    _check_length("query", request.query or "", settings.max_query)
    _check_facets(request, settings)
    results = opened.searcher.search(request.search(opened.relevance))
    answer: FacetsAnswer = {
        "index": opened.name,
        "generation": opened.generation,
        "documents": opened.searcher.documents,
        "facets": facet_records(results.facets()),
    }
    if results.matched is not None:
        answer["matched"] = results.matched
    return answer


def suggest(searcher: Searcher, text: str, settings: ServiceSettings) -> SuggestAnswer:
    """Complete the last word of a text, and suggest words for those that no document has."""
    _check_length("text", text, settings.max_query)
    return {
        "completions": [each.text for each in searcher.complete(text)],
        "did_you_mean": [asdict(each) for each in searcher.did_you_mean(text)],
    }


def facet_records(counts: Mapping[str, Sequence[ValueCount]]) -> dict[str, list[FacetValue]]:
    """Return counts of values as JSON-like data."""
    return {
        name: [{"value": each.value, "documents": each.documents} for each in values]
        for name, values in counts.items()
    }


def hit_record(rank: int, hit: Hit) -> HitAnswer:
    """Return a result with its attributes as JSON-like data."""
    record: HitAnswer = {
        "rank": rank,
        "doc_id": hit.doc_id,
        "score": hit.score,
        "attributes": json_attributes(hit.attributes),
    }
    if hit.pinned:
        record["pinned"] = True
    if hit.matches is not None:
        record["matches"] = hit.matches
    if hit.relevance is not None:
        record["relevance"] = hit.relevance
    return record


def excerpt_record(snippet: Snippet) -> Excerpt:
    """Return an excerpt as JSON-like data, with an ellipsis at each end where the text was cut."""
    before, after = "… " if snippet.before else "", " …" if snippet.after else ""
    shift = len(before)
    spend(size=len(snippet.text))
    return {
        "text": f"{before}{snippet.text}{after}",
        "marks": [[start + shift, end + shift] for start, end in snippet.spans],
    }


def check_limits(request: SearchOptions, settings: ServiceSettings) -> None:
    """Refuse a request over a limit of the service."""
    for name in ("query", "like", "like_text"):
        _check_length(name, getattr(request, name, None) or "", settings.max_query)
    _check_length("must and must_not", "".join([*request.must, *request.must_not]), settings.max_query)
    check_most("k + offset", request.k + request.offset, settings.max_results)
    if request.explain:
        check_most("k of a search with explanations", request.k, settings.max_explained)
    _check_facets(request, settings)


def _check_facets(request: SearchOptions | FacetsRequest, settings: ServiceSettings) -> None:
    ranges = request.ranges if isinstance(request, SearchOptions) else {}
    check_most("number of facets", len(request.facets) + len(ranges), settings.max_facets)
    if request.facets:
        check_most("facet_values", request.facet_values, settings.max_results)


def _check_length(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise ParameterError(
            f"{name} is longer than this service allows",
            facts=[("characters", len(text)), ("most", most)],
            fixes=["shorten it"],
        )


def check_most(name: str, number: int, most: int) -> None:
    """Refuse a number over a limit of the service."""
    if number > most:
        raise ParameterError(
            f"{name} is larger than this service allows", facts=[("given", number), ("most", most)]
        )
