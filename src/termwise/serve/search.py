"""Searches of a service: from a request to an answer, for the HTTP API, the page and the tools of assistants."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from termwise.attributes.json_values import json_attributes
from termwise.engine.given_weights import GivenWeights
from termwise.errors import ParameterError
from termwise.explain import Explanation
from termwise.filters import ValueCount
from termwise.fusion import fuse, reciprocal_rank_fusion
from termwise.records import Query, Ranking, Run, join_fields
from termwise.search import Example, Hit, Searcher, Snippet
from termwise.search.by_example import AnySearcher
from termwise.search.conditions import Conditions
from termwise.serve.answers import (
    Excerpt,
    ExplainAnswer,
    FacetsAnswer,
    FacetValue,
    FusedSearchAnswer,
    HitAnswer,
    PartScore,
    SearchAnswer,
    SuggestAnswer,
)
from termwise.serve.documents import texts_by_field
from termwise.serve.explanations import explanation_record
from termwise.serve.indexes import ServedIndexes, generation
from termwise.serve.requests import ExplainRequest, FacetsRequest, FusedSearchRequest, SearchRequest
from termwise.serve.search_pool import check_deadline
from termwise.serve.settings import ServiceSettings


class Searched(Protocol):
    """What can be searched: a `ServedIndex`, or a part of a served mixture."""

    @property
    def name(self) -> str:
        """Name in answers."""

    def searcher(self, *, fuzzy: bool = False, prefix: bool = False) -> AnySearcher:
        """Return a searcher for the newest generation; see `ServedIndex.searcher`."""


def search(served: Searched, request: SearchRequest, settings: ServiceSettings) -> SearchAnswer:
    """Search one index.

    Parameters
    ----------
    served : Searched
    request : SearchRequest
    settings : ServiceSettings
        Limits of requests.

    Returns
    -------
    dict
        JSON-like data: name and generation of the index, results, facets, suggestions, and the time of the search.

    Raises
    ------
    TermwiseError
        If the request is over a limit, or the index cannot answer it.
    """
    answer, explanations = search_and_explain(served, request, settings)
    for record, explanation in zip(answer["hits"], explanations, strict=bool(explanations)):
        record["explanation"] = explanation_record(explanation)
    return answer


def search_and_explain(
    served: Searched, request: SearchRequest, settings: ServiceSettings
) -> tuple[SearchAnswer, list[Explanation]]:
    """Search one index, and return the explanations of the results apart; none if the request asks for none.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    begin = time.perf_counter()
    _check_limits(request, settings)
    searcher = served.searcher(fuzzy=request.fuzzy, prefix=request.prefix)
    asked = _Search(searcher, request)
    ranking = asked.rank(request.k + request.offset)
    ranking = ranking.after(request.offset) if request.offset else ranking
    answer: SearchAnswer = {
        "index": served.name,
        "generation": generation(searcher),
        "documents": searcher.index.documents,
        "hits": asked.hits(ranking, request.offset),
        "milliseconds": 0.0,
    }
    if request.total:
        check_deadline()
        answer["total"] = asked.count()
    if request.facets or request.ranges:
        check_deadline()
        answer["facets"] = asked.facets()
    check_deadline()
    suggested = searcher.did_you_mean(asked.text) if asked.example is None else []
    if suggested:
        answer["did_you_mean"] = [asdict(each) for each in suggested]
    check_deadline()
    explanations = asked.explanations(ranking) if request.explain else []
    answer["milliseconds"] = round(1000 * (time.perf_counter() - begin), 3)
    return answer, explanations


def count(served: Searched, request: SearchRequest, settings: ServiceSettings) -> int:
    """Return the number of documents that a search matches.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    _check_limits(request, settings)
    return _Search(served.searcher(fuzzy=request.fuzzy, prefix=request.prefix), request).count()


def fused_search(
    indexes: ServedIndexes, request: FusedSearchRequest, settings: ServiceSettings
) -> FusedSearchAnswer:
    """Search several indexes, and fuse their results into one ranking.

    The score of a document in an index that does not find it is the lowest score of the index for the query. Attributes
    and texts of a result are those of the first index that has the document.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    begin = time.perf_counter()
    _check_length("query", request.query, settings.max_query)
    _check_most("k", request.k, settings.max_results)
    _check_most("depth", request.depth, settings.max_results)
    searchers = {each.index: indexes[each.index].searcher() for each in request.indexes}
    if len(searchers) < len(request.indexes):
        raise ParameterError("an index occurs twice in a fused search")
    query = Query("q", request.query)
    runs = []
    for name, searcher in searchers.items():
        check_deadline()
        runs.append(Run([searcher.rank(query, k=request.depth, filter=request.filter)], name))
    if request.normalisation == "reciprocal-rank":
        run = reciprocal_rank_fusion(runs)
    else:
        weights = [each.weight for each in request.indexes]
        run = fuse(runs, weights, missing="minimum", scaling=request.normalisation, documents="union")
    ranking = run["q"].top(request.k)
    return {
        "indexes": [
            {"index": name, "generation": generation(searcher), "documents": searcher.index.documents}
            for name, searcher in searchers.items()
        ],
        "normalisation": request.normalisation,
        "hits": _fused_hits(searchers, ranking, runs, request.show),
        "milliseconds": round(1000 * (time.perf_counter() - begin), 3),
    }


def _fused_hits(
    searchers: Mapping[str, AnySearcher], ranking: Ranking, runs: Sequence[Run], show: Sequence[str] | None
) -> list[HitAnswer]:
    """Return the results of a fused search, with rank and score in each index."""
    places = [
        {scored.doc_id: (rank, scored.score) for rank, scored in enumerate(run["q"], 1)} for run in runs
    ]
    records: list[HitAnswer] = []
    for rank, scored in enumerate(ranking, 1):
        parts: dict[str, PartScore] = {
            name: {"rank": place[scored.doc_id][0], "score": place[scored.doc_id][1]}
            for name, place in zip(searchers, places, strict=True)
            if scored.doc_id in place
        }
        searcher = searchers[next(iter(parts))]
        known = None if show is None else [name for name in show if name in searcher.schema]
        (hit,) = searcher.hits(Ranking([scored.doc_id], [scored.score]), show=known, texts=False)
        record = _hit_record(rank, hit)
        record["index"], record["parts"] = next(iter(parts)), parts
        records.append(record)
    return records


def explain(served: Searched, request: ExplainRequest, settings: ServiceSettings) -> ExplainAnswer:
    """Explain the score of one document.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    explanation, number = explanation_of(served, request, settings)
    record = explanation_record(explanation, texts=request.text)
    return {"index": served.name, "generation": number, "explanation": record}


def explanation_of(
    served: Searched, request: ExplainRequest, settings: ServiceSettings
) -> tuple[Explanation, int]:
    """Return the explanation of the score of one document, and the generation of the index.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    searcher = served.searcher(fuzzy=request.fuzzy, prefix=request.prefix)
    if (request.query is None) == (request.like is None):
        raise ParameterError("an explanation is for one of query and like")
    if request.like is not None:
        (explanation,) = Example.of(searcher, request.like).explain(
            searcher, [request.doc_id], competitors=request.competitors, filter=request.filter
        )
    else:
        _check_length("query", request.query or "", settings.max_query)
        explanation = searcher.explain(
            request.query or "", request.doc_id, competitors=request.competitors, filter=request.filter
        )
    return explanation, generation(searcher)


def facets(served: Searched, request: FacetsRequest, settings: ServiceSettings) -> FacetsAnswer:
    """Count the values of attributes over the matches of a query, or over all documents.

    Raises
    ------
    TermwiseError
        See `search`.
    """
    _check_length("query", request.query or "", settings.max_query)
    _check_facets(request, settings)
    searcher = served.searcher()
    counts = searcher.facets(
        request.facets, query=request.query, filter=request.filter, n=request.facet_values
    )
    return {
        "index": served.name,
        "generation": generation(searcher),
        "documents": searcher.index.documents,
        "facets": _facet_records(counts),
    }


def suggest(served: Searched, text: str, settings: ServiceSettings) -> SuggestAnswer:
    """Complete the last word of a text, and suggest words for those that no document has."""
    _check_length("text", text, settings.max_query)
    searcher = served.searcher()
    return {
        "completions": [each.text for each in searcher.complete(text)],
        "did_you_mean": [asdict(each) for each in searcher.did_you_mean(text)],
    }


class _Search:
    """A request in the terms of a searcher."""

    def __init__(self, searcher: AnySearcher, request: SearchRequest) -> None:
        given = [name for name in ("query", "like", "like_text") if getattr(request, name) is not None]
        if len(given) > 1:
            raise ParameterError(
                "a search is for one of query, like and like_text", facts=[("given", ", ".join(given))]
            )
        if request.candidates is not None and (
            (len(given) and given != ["query"]) or request.facets or request.ranges
        ):
            raise ParameterError("candidates are for a query, without like, like_text, facets and ranges")
        if request.exclude and given and given != ["query"]:
            raise ParameterError("exclude is for a query, without like and like_text")
        self.searcher = searcher if request.weights is None else _with_weights(searcher, request)
        self.request = request
        self.text = request.query or ""
        conditions = Conditions.of(
            request.filter, tuple(request.must), tuple(request.must_not), tuple(request.phrases)
        )
        if request.syntax and request.query is not None:
            self.text, conditions = conditions.with_syntax(request.query, searcher.schema)
        self.conditions = conditions.arguments
        listed = request.query is None or (request.syntax and not self.text)
        self.query = None if listed and request.weights is None else self.text
        """Query of rankings and counts; None for all documents, also if the query has conditions only."""
        self.example: Example | None = None
        if request.like is not None:
            self.example = Example.of(searcher, request.like)
        elif request.like_text is not None:
            self.example = Example("text", request.like_text)

    def rank(self, depth: int) -> Ranking:
        """Return the first results."""
        request = self.request
        order: dict[str, Any] = {
            "sort": request.sort,
            "collapse": request.collapse,
            "collapse_size": request.collapse_size,
        }
        if self.example is not None:
            ranking, _ = self.example.rank(self.searcher, k=depth, **order, **self.conditions)
            return ranking
        return self.searcher.rank(
            self.query,
            k=depth,
            candidates=self.request.candidates,
            exclude=self.request.exclude,
            **order,
            **self.conditions,
        )

    def hits(self, ranking: Ranking, offset: int) -> list[HitAnswer]:
        """Return results as JSON-like data."""
        check_deadline()
        request = self.request
        found = self.searcher.hits(ranking, show=request.show, texts=False)
        records = [_hit_record(rank, hit) for rank, hit in enumerate(found, offset + 1)]
        if request.text:
            for record, texts in zip(records, texts_by_field(self.searcher, ranking.doc_ids), strict=True):
                record["text"] = join_fields(texts.values()) if texts else None
                record["texts"] = texts
        query = self.text if self.example is None else self.example.text
        if request.highlight:
            check_deadline()
            excerpts = self.searcher.snippets(query, ranking.doc_ids, length=request.excerpt_length)
            for record, excerpt in zip(records, excerpts, strict=True):
                record["excerpt"] = excerpt_record(excerpt)
        return records

    def explanations(self, ranking: Ranking) -> list[Explanation]:
        """Return the explanations of the scores of results."""
        if self.example is not None:
            return self.example.explain(self.searcher, ranking.doc_ids, **self.conditions)
        return self.searcher.explain_many(self.text, ranking.doc_ids, **self.conditions)

    def count(self) -> int:
        """Return the number of matches, or of the given candidates."""
        if self.request.candidates is not None:
            return len(self.rank(max(1, len(self.request.candidates))))
        if self.example is not None:
            return self.example.count(self.searcher, **self.conditions)
        return self.searcher.count(self.query, exclude=self.request.exclude, **self.conditions)

    def facets(self) -> dict[str, list[FacetValue]]:
        """Return the counts of values and ranges of attributes over all matches."""
        names, n = self.request.facets, self.request.facet_values
        ranges = {
            field: {name: (low, high) for name, (low, high) in of_field.items()}
            for field, of_field in self.request.ranges.items()
        }
        counts = (
            self.searcher.facets(
                names,
                ranges=ranges,
                query=self.query,
                exclude=self.request.exclude,
                n=n,
                **self.conditions,
            )
            if self.example is None
            else self.example.facets(self.searcher, names, ranges=ranges, n=n, **self.conditions)
        )
        return _facet_records(counts)


def _facet_records(counts: Mapping[str, Sequence[ValueCount]]) -> dict[str, list[FacetValue]]:
    return {
        name: [{"value": each.value, "documents": each.documents} for each in values]
        for name, values in counts.items()
    }


def _with_weights(searcher: AnySearcher, request: SearchRequest) -> Searcher:
    """Return a searcher that weighs the terms of a query as the request says."""
    given = {name for name in ("like", "like_text") if getattr(request, name) is not None}
    given |= {name for name in ("syntax", "fuzzy", "prefix") if getattr(request, name)}
    if given or not isinstance(searcher, Searcher):
        raise ParameterError(
            "weights of terms need an index with one model, and are for a query as it is",
            facts=[("given", ", ".join(sorted(given)) or "a mixture")],
        )
    return Searcher(searcher.index, GivenWeights.of(searcher.index, request.weights or {}))


def _hit_record(rank: int, hit: Hit) -> HitAnswer:
    record: HitAnswer = {"rank": rank, "doc_id": hit.doc_id, "score": hit.score}
    if hit.attributes:
        record["attributes"] = json_attributes(hit.attributes)
    return record


def excerpt_record(snippet: Snippet) -> Excerpt:
    """Return an excerpt as JSON-like data, with an ellipsis at each end where the text was cut."""
    before, after = "… " if snippet.before else "", " …" if snippet.after else ""
    shift = len(before)
    return {
        "text": f"{before}{snippet.text}{after}",
        "marks": [[start + shift, end + shift] for start, end in snippet.spans],
    }


def _check_limits(request: SearchRequest, settings: ServiceSettings) -> None:
    for name in ("query", "like", "like_text"):
        _check_length(name, getattr(request, name) or "", settings.max_query)
    conditions = [*request.must, *request.must_not, *request.phrases]
    _check_length("must, must_not and phrases", "".join(conditions), settings.max_query)
    _check_most("k + offset", request.k + request.offset, settings.max_results)
    if request.explain:
        _check_most("k of a search with explanations", request.k, settings.max_explained)
    _check_facets(request, settings)


def _check_facets(request: SearchRequest | FacetsRequest, settings: ServiceSettings) -> None:
    ranges = request.ranges if isinstance(request, SearchRequest) else {}
    _check_most("number of facets", len(request.facets) + len(ranges), settings.max_facets)
    if request.facets:
        _check_most("facet_values", request.facet_values, settings.max_results)


def _check_length(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise ParameterError(
            f"{name} is longer than this service allows",
            facts=[("characters", len(text)), ("most", most)],
            fixes=["shorten it"],
        )


def _check_most(name: str, number: int, most: int) -> None:
    if number > most:
        raise ParameterError(
            f"{name} is larger than this service allows", facts=[("given", number), ("most", most)]
        )
