"""Searches in several indexes, whose results are fused into one ranking."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from termwise.attributes import Schema
from termwise.attributes.field_types import FOLDED_TYPES, FieldType, folded_keyword
from termwise.budget import spend
from termwise.engine.result_order import (
    ID,
    POSITION,
    SCORE,
    ResultOrder,
    first_of_each_value,
    in_order,
    written_key,
)
from termwise.errors import ParameterError, UnknownIdError
from termwise.filters import ValueCount
from termwise.fixes import Fix
from termwise.fusion import fuse, reciprocal_rank_fusion
from termwise.records import AttributeValue, Ranking, Run, ScoredDoc
from termwise.search import Results, Search, Searcher
from termwise.search.hits import Matching
from termwise.search.reasons import also_searched_for
from termwise.search.request import MOST_RESULTS
from termwise.serve.answers import FusedSearchAnswer, HitAnswer, PartScore, SearchedIndex
from termwise.serve.indexes import OpenIndex, ServedIndexes
from termwise.serve.requests import FusedSearchRequest
from termwise.serve.search import (
    add_texts,
    check_limits,
    check_most,
    explanation_record,
    facet_records,
    hit_record,
)
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
    schema = _schema(request, [each.searcher for each in opened.values()])
    keys = _sort_keys(request, schema)
    depth = max(request.depth, request.k + request.offset)
    example = _example(request, opened)
    found: dict[str, Results] = {}
    for name, each in opened.items():
        spend()
        asked = replace(request.search(each.relevance), k=depth, offset=0, facet_values=MOST_RESULTS)
        index = each.searcher.index
        if request.like is not None and not (index.stores_text and index.find(request.like) is not None):
            asked = replace(asked, like=None, like_text=example)
        found[name] = each.searcher.search(_known(asked, keys, each.searcher))
        _ = found[name].ranking
    ranked = _ranked(request, keys, opened, found)
    chosen = ranked[request.offset : request.offset + request.k]
    counted = _counted(found)
    answer: FusedSearchAnswer = {
        "indexes": [_about(each, counted.get(name), request) for name, each in opened.items()],
        "normalisation": request.normalisation,
        "hits": _hits(opened, found, chosen, request),
        "milliseconds": 0.0,
    }
    pinned = _pinned(found)
    unknown = dict.fromkeys(name for results in found.values() for name in results.unknown_pins)
    if unknown_pins := [name for name in unknown if name not in pinned]:
        answer["unknown_pins"] = unknown_pins
    if any(each.matched == "meaning" for each in counted.values()):
        answer["matched"] = "meaning"
    if request.total:
        answer["total"] = sum(each["total"] for each in answer["indexes"])
        if not all(each.count_is_exact for each in counted.values()):
            answer["total_relation"] = "gte"
    if request.facets or request.ranges:
        spend()
        answer["facets"] = facet_records(
            _facets([each.facets() for each in counted.values()], request, schema)
        )
    if searched := list(dict.fromkeys(word for each in found.values() for word in also_searched_for(each))):
        answer["also_searched_for"] = searched
    similar = [{each.span for each in results.similar_words()} for results in found.values()]
    suggested = {each.span: each for results in found.values() for each in results.did_you_mean()}
    if words := [suggested[span] for span in sorted(suggested) if all(span in others for others in similar)]:
        answer["did_you_mean"] = [asdict(each) for each in words]
    if not chosen:
        reasons = {name: results.reasons() for name, results in found.items()}
        answer["reasons"] = [f"{name}: {reason}" for name, several in reasons.items() for reason in several]
        if ranked:
            answer["reasons"] = [f"{len(ranked):,} documents are fused, and {request.offset:,} are skipped"]
    answer["milliseconds"] = round(1000 * (time.perf_counter() - begin), 3)
    return answer


def _example(request: FusedSearchRequest, opened: Mapping[str, OpenIndex]) -> str | None:
    """Return the text of the document that is the query, of the first index that has it; None without one.

    Raises
    ------
    UnknownIdError
        If no index has this document, or one of the candidates.
    ParameterError
        If the indexes that have the document keep no texts.
    """
    indexes = [each.searcher.index for each in opened.values()]
    wanted = [*([] if request.like is None else [request.like]), *(request.candidates or ())]
    places = [index.find_many(wanted) for index in indexes] if wanted else []
    for number, doc_id in enumerate(wanted):
        if all(ordinals[number] < 0 for ordinals in places):
            raise UnknownIdError("no index has this document", facts=[("doc_id", doc_id)])
    if request.like is None:
        return None
    for index, ordinals in zip(indexes, places, strict=True):
        if ordinals[0] >= 0 and index.stores_text:
            return index.document_texts(ordinals[:1])[0]
    raise ParameterError(
        "the index keeps no texts, which query by example needs",
        facts=[("doc_id", request.like)],
        fixes=[Fix.build(store_text=True)],
    )


def _schema(request: FusedSearchRequest, searchers: Sequence[Searcher]) -> Schema:
    """Return the types of the attributes of all indexes; those to sort, collapse and count by have one type in all."""
    types: dict[str, FieldType] = {}
    for searcher in reversed(searchers):  # the first one counts
        types.update(searcher.schema)
    texts = dict.fromkeys(name for searcher in searchers for name in searcher.index.manifest.fields)
    schema = Schema(types, texts=list(texts))
    for name in (
        *(name for name, _ in _sort_keys(request, schema) if name in schema),
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
    keys = ResultOrder.parse(request.sort, request.collapse, request.collapse_size, schema).keys
    if POSITION not in schema and any(name == POSITION for name, _ in keys):
        raise ParameterError(
            "several indexes have no common order to sort by",
            facts=[("given", POSITION)],
            fixes=[f"sort by {ID}"],
        )
    return keys


def _known(search: Search, keys: Sequence[tuple[str, bool]], searcher: Searcher) -> Search:
    """Return a search without attributes to sort, collapse and count by, and candidates, that an index lacks."""
    schema = searcher.schema
    collapses = search.collapse is not None and search.collapse in schema
    return replace(
        search,
        sort=[written_key(key) for key in keys if key[0] in schema or key[0] in (SCORE, ID)] or None,
        candidates=_known_candidates(search, searcher),
        collapse=search.collapse if collapses else None,
        collapse_size=search.collapse_size if collapses else 1,
        facets=[name for name in search.facets if name in schema],
        ranges={name: each for name, each in search.ranges.items() if name in schema},
    )


def _known_candidates(search: Search, searcher: Searcher) -> list[str] | None:
    if search.candidates is None:
        return None
    found = searcher.index.find_many(search.candidates) >= 0
    return [doc_id for doc_id, is_known in zip(search.candidates, found, strict=True) if is_known]


def _pinned(found: Mapping[str, Results]) -> dict[str, None]:
    """Return the documents that a rule has put first in an index, in the order of the indexes."""
    rankings = [results.ranking for results in found.values()]
    return dict.fromkeys(doc_id for ranking in rankings for doc_id in ranking.doc_ids[: ranking.pinned])


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
    scored = {each.doc_id: each for each in run[""]}

    def values_of(name: str) -> Mapping[str, AttributeValue]:
        if name == SCORE:
            return {doc_id: each.score for doc_id, each in scored.items()}
        return dict(zip(scored, scored, strict=True)) if name == ID else _values(name, opened, found)

    by_words = {
        doc_id
        for results in found.values()
        for doc_id, matches in zip(results.ranking.doc_ids, results.matching(), strict=True)
        if matches != "meaning"
    }
    sorted_ones = by_words if keys and by_words else scored.keys()
    ordered = in_order([doc_id for doc_id in scored if doc_id in sorted_ones], keys, values_of)
    pinned = _pinned(found)
    ordered = [*pinned, *(doc_id for doc_id in ordered if doc_id not in pinned)]
    if request.collapse is not None:
        values = _values(request.collapse, opened, found)
        ordered = first_of_each_value(ordered, values, request.collapse_size)
    return [scored[doc_id] for doc_id in ordered]


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
    if any(
        each.searcher.schema.get(name) in FOLDED_TYPES for each in opened.values()
    ):  # each has its spelling
        values = {doc_id: folded_keyword(str(value)) for doc_id, value in values.items()}
    return values


def _counted(found: Mapping[str, Results]) -> dict[str, Results]:
    """Return the results that are counted, by index; matches by meaning count only if no index has matches by words."""
    by_words = {name: each for name, each in found.items() if each.matched != "meaning"}
    if len(by_words) < len(found) and any(each.count() for each in by_words.values()):
        return by_words
    return dict(found)


def _about(opened: OpenIndex, counted: Results | None, request: FusedSearchRequest) -> SearchedIndex:
    about = opened.about()
    if request.total:
        spend()
        about["total"] = 0 if counted is None else counted.count()
    return about


def _facets(
    of_indexes: Sequence[Mapping[str, Sequence[ValueCount]]], request: FusedSearchRequest, schema: Schema
) -> dict[str, list[ValueCount]]:
    """Return the sums of the counts of several indexes; the most frequent values of each facet."""
    counts: dict[str, list[ValueCount]] = {}
    for name in (*request.facets, *request.ranges):
        sums = Counter[Any]()
        spellings: dict[str, str] = {}  # of the first index
        for counted in of_indexes:
            for value, documents in counted.get(name, ()):
                folds = isinstance(value, str) and name in request.facets and schema[name] in FOLDED_TYPES
                sums[spellings.setdefault(folded_keyword(str(value)), str(value)) if folds else value] += (
                    documents
                )
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
    wanted, pinned = {each.doc_id for each in chosen}, _pinned(found)
    parts = {name: _of_index(results, wanted, request) for name, results in found.items()}
    records: dict[str, HitAnswer] = {}
    for name, results in found.items():
        ranks = {each.doc_id: (rank, each) for rank, each in enumerate(chosen, request.offset + 1)}
        own = [each for each in chosen if each.doc_id in parts[name] and each.doc_id not in records]
        searcher = opened[name].searcher
        show = None if request.show is None else [each for each in request.show if each in searcher.schema]
        ranking = Ranking([each.doc_id for each in own], [each.score for each in own], sorted_by="fused")
        added: list[HitAnswer] = []
        for hit in searcher.hits(ranking, show=show, texts=False):
            record = hit_record(ranks[hit.doc_id][0], hit)
            record["index"] = name
            if hit.doc_id in pinned:
                record["pinned"] = True
            if (matches := parts[name][hit.doc_id].matches) is not None:
                record["matches"] = matches
            record["parts"] = {
                other: each[hit.doc_id].score for other, each in parts.items() if hit.doc_id in each
            }
            added.append(record)
        add_texts(added, searcher, results, request)
        records |= {record["doc_id"]: record for record in added}
    return [records[each.doc_id] for each in chosen]


class _Part(NamedTuple):
    """A document in one index, and what it matches there."""

    score: PartScore
    matches: Matching | None


def _of_index(results: Results, wanted: Collection[str], request: FusedSearchRequest) -> dict[str, _Part]:
    """Return rank and score of the chosen documents in an index that finds them, with explanations on request."""
    ranking = results.ranking
    found: dict[str, _Part] = {
        each.doc_id: _Part({"rank": rank, "score": each.score}, matches)
        for (rank, each), matches in zip(enumerate(ranking, 1), results.matching(), strict=True)
        if each.doc_id in wanted
    }
    if request.explain and found:
        spend()
        for explanation in results.explain(list(found)):
            found[explanation.doc_id].score["explanation"] = explanation_record(explanation)
    return found
