"""Searches in several indexes, whose results are fused into one ranking."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.budget import spend
from termwise.engine.result_order import SCORE, ResultOrder
from termwise.errors import ParameterError
from termwise.filters import ValueCount
from termwise.fusion import fuse, reciprocal_rank_fusion
from termwise.records import AttributeValue, Ranking, Run, ScoredDoc
from termwise.search import Results, Search, Searcher
from termwise.search.request import MOST_RESULTS
from termwise.serve.answers import FusedSearchAnswer, HitAnswer, PartScore, SearchedIndex
from termwise.serve.indexes import OpenIndex, ServedIndexes
from termwise.serve.requests import FusedSearchRequest
from termwise.serve.search import add_texts, check_limits, check_most, facet_records, hit_record
from termwise.serve.settings import ServiceSettings


def fused_search(
    indexes: ServedIndexes, request: FusedSearchRequest, settings: ServiceSettings
) -> FusedSearchAnswer:
    """Search several indexes, and fuse their results into one ranking.

    The score of a document in an index that does not find it is the lowest score of the index for the query. Attributes
    and texts of a result are those of the first index that has the document.
    """
    begin = time.perf_counter()
    check_limits(request, settings)
    check_most("depth", request.depth, settings.max_results)
    opened = {each.index: indexes[each.index].current() for each in request.indexes}
    if len(opened) < len(request.indexes):
        raise ParameterError("an index occurs twice in a fused search")
    keys = _sort_keys(request, _schema(request, [each.searcher for each in opened.values()]))
    depth = max(request.depth, request.k + request.offset)
    found: dict[str, Results] = {}
    for name, each in opened.items():
        spend()
        asked = replace(request.search(each.relevance), k=depth, offset=0, facet_values=MOST_RESULTS)
        found[name] = each.searcher.search(_known(asked, keys, each.searcher))
        _ = found[name].ranking
    ranked = _ranked(request, keys, opened, found)
    chosen = ranked[request.offset : request.offset + request.k]
    answer: FusedSearchAnswer = {
        "indexes": [_about(each, found[name], request) for name, each in opened.items()],
        "normalisation": request.normalisation,
        "hits": _hits(opened, found, chosen, request),
        "milliseconds": 0.0,
    }
    if request.total:
        answer["total"] = sum(each["total"] for each in answer["indexes"])
    if request.facets or request.ranges:
        spend()
        answer["facets"] = facet_records(_facets([each.facets() for each in found.values()], request))
    suggested = [{each.span: each for each in results.did_you_mean()} for results in found.values()]
    if words := [each for span, each in suggested[0].items() if all(span in others for others in suggested)]:
        answer["did_you_mean"] = [asdict(each) for each in words]
    if not chosen:
        reasons = {name: results.reasons() for name, results in found.items()}
        answer["reasons"] = [f"{name}: {reason}" for name, several in reasons.items() for reason in several]
        if ranked:
            answer["reasons"] = [f"{len(ranked):,} documents are fused, and {request.offset:,} are skipped"]
    answer["milliseconds"] = round(1000 * (time.perf_counter() - begin), 3)
    return answer


def _schema(request: FusedSearchRequest, searchers: Sequence[Searcher]) -> Schema:
    """Return the types of the attributes of all indexes; those to sort, collapse and count by have one type in all."""
    types: dict[str, FieldType] = {}
    for searcher in reversed(searchers):  # the first one counts
        types.update(searcher.schema)
    schema = Schema(types)
    for name in (
        *(name for name, _ in _sort_keys(request, schema) if name != SCORE),
        *filter(None, (request.collapse,)),
        *request.facets,
        *request.ranges,
    ):
        schema.check_name(name)
        kinds = {searcher.schema[name] for searcher in searchers if name in searcher.schema}
        if len(kinds) > 1 and kinds != {"integer", "float"}:
            raise ParameterError(
                "an attribute has different types in several indexes",
                facts=[("attribute", name), ("types", ", ".join(sorted(kinds)))],
                fixes=["search the indexes one by one"],
            )
    return schema


def _sort_keys(request: FusedSearchRequest, schema: Schema) -> Sequence[tuple[str, bool]]:
    """Return the attributes to sort by, or `SCORE`, and whether the largest value of each is first."""
    return ResultOrder.parse(request.sort, request.collapse, request.collapse_size, schema).keys


def _known(search: Search, keys: Sequence[tuple[str, bool]], searcher: Searcher) -> Search:
    """Return a search without the attributes to sort, collapse and count by that an index lacks."""
    schema = searcher.schema
    collapses = search.collapse is not None and search.collapse in schema
    return replace(
        search,
        sort=[_written(*key) for key in keys if key[0] in schema or key[0] == SCORE] or None,
        collapse=search.collapse if collapses else None,
        collapse_size=search.collapse_size if collapses else 1,
        facets=[name for name in search.facets if name in schema],
        ranges={name: each for name, each in search.ranges.items() if name in schema},
    )


def _written(name: str, descending: bool) -> str:
    return name if name == SCORE else f"{'-' * descending}{name}"


def _ranked(
    request: FusedSearchRequest,
    keys: Sequence[tuple[str, bool]],
    opened: Mapping[str, OpenIndex],
    found: Mapping[str, Results],
) -> list[ScoredDoc]:
    """Return the fused documents in the order of the request."""
    runs = []
    for name, results in found.items():
        by_score = sorted(results.ranking, key=lambda each: -each.score)
        runs.append(
            Run([Ranking([each.doc_id for each in by_score], [each.score for each in by_score])], name)
        )
    if request.normalisation == "reciprocal-rank":
        run = reciprocal_rank_fusion(runs)
    else:
        weights = [each.weight for each in request.indexes]
        run = fuse(runs, weights, missing="minimum", scaling=request.normalisation, documents="union")
    ranked = list(run[""])
    for name, descending in reversed(keys):
        values: Mapping[str, AttributeValue] = {each.doc_id: each.score for each in ranked}
        if name != SCORE:
            values = _values(name, opened, found)
        missing = [each for each in ranked if each.doc_id not in values]
        ranked = [each for each in ranked if each.doc_id in values]
        ranked.sort(key=lambda each: values[each.doc_id], reverse=descending)  # type: ignore[arg-type, return-value]
        ranked += missing
    if request.collapse is not None:
        values, seen, kept = _values(request.collapse, opened, found), Counter[object](), list[ScoredDoc]()
        for each in ranked:
            value = values.get(each.doc_id)
            seen[value] += 1
            if value is None or seen[value] <= request.collapse_size:
                kept.append(each)
        ranked = kept
    return ranked


def _values(
    name: str, opened: Mapping[str, OpenIndex], found: Mapping[str, Results]
) -> dict[str, AttributeValue]:
    """Return the values of an attribute by document, of the first index that finds the document."""
    values: dict[str, AttributeValue] = {}
    known = set[str]()
    for index, results in found.items():
        doc_ids = [doc_id for doc_id in results.ranking.doc_ids if doc_id not in known]
        known.update(doc_ids)
        spend(len(doc_ids))
        searcher = opened[index].searcher
        if name in searcher.schema:
            hits = searcher.hits(Ranking(doc_ids, [0.0] * len(doc_ids)), show=[name], texts=False)
            values |= {hit.doc_id: hit.attributes[name] for hit in hits if name in hit.attributes}
    return values


def _about(opened: OpenIndex, results: Results, request: FusedSearchRequest) -> SearchedIndex:
    about = opened.about()
    if request.total:
        spend()
        about["total"] = results.count()
    return about


def _facets(
    of_indexes: Sequence[Mapping[str, Sequence[ValueCount]]], request: FusedSearchRequest
) -> dict[str, list[ValueCount]]:
    """Return the sums of the counts of several indexes; the most frequent values of each facet."""
    counts: dict[str, list[ValueCount]] = {}
    for name in (*request.facets, *request.ranges):
        sums = Counter[Any]()
        for counted in of_indexes:
            for value, documents in counted.get(name, ()):
                sums[value] += documents
        values = [ValueCount(value, documents) for value, documents in sums.items()]
        if name in request.facets:
            values = sorted(values, key=lambda each: (-each.documents, each.value))[: request.facet_values]
        counts[name] = values
    return counts


def _hits(
    opened: Mapping[str, OpenIndex],
    found: Mapping[str, Results],
    chosen: Sequence[ScoredDoc],
    request: FusedSearchRequest,
) -> list[HitAnswer]:
    """Return results with rank and score in each index, and attributes and texts of the first index that has them."""
    places = {
        name: {scored.doc_id: (rank, scored.score) for rank, scored in enumerate(results.ranking, 1)}
        for name, results in found.items()
    }
    records: dict[str, HitAnswer] = {}
    for name, results in found.items():
        ranks = {each.doc_id: (rank, each) for rank, each in enumerate(chosen, request.offset + 1)}
        own = [each for each in chosen if each.doc_id in places[name] and each.doc_id not in records]
        searcher = opened[name].searcher
        show = None if request.show is None else [each for each in request.show if each in searcher.schema]
        ranking = Ranking([each.doc_id for each in own], [each.score for each in own], sorted_by="fused")
        added: list[HitAnswer] = []
        for hit in searcher.hits(ranking, show=show, texts=False):
            record = hit_record(ranks[hit.doc_id][0], hit)
            record["index"] = name
            record["parts"] = _parts(places, hit.doc_id)
            added.append(record)
        add_texts(added, searcher, results, request)
        records |= {record["doc_id"]: record for record in added}
    return [records[each.doc_id] for each in chosen]


def _parts(places: Mapping[str, Mapping[str, tuple[int, float]]], doc_id: str) -> dict[str, PartScore]:
    """Return rank and score of a document in each index that finds it."""
    return {
        name: {"rank": of_index[doc_id][0], "score": of_index[doc_id][1]}
        for name, of_index in places.items()
        if doc_id in of_index
    }
