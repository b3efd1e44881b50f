"""Addresses of OpenSearch's API."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from termwise import errors
from termwise._version import __version__
from termwise.budget import spend
from termwise.display.safe_text import legible
from termwise.errors import TermwiseError
from termwise.serve.bodies import (
    JSON,
    NDJSON,
    JsonAnswer,
    body_of,
    json_bytes,
    json_of,
    parsed_json,
    refuse_repeated,
)
from termwise.serve.changes import Change, Delete, NewAttributes
from termwise.serve.documents import document_record
from termwise.serve.errors import (
    ServiceError,
    TooLargeError,
    UnknownIndexError,
    headers_of,
    log_failure,
    status_of,
)
from termwise.serve.indexes import ServedIndex, ServedIndexes
from termwise.serve.keys import Needed
from termwise.serve.opensearch.alias_actions import AliasAction, apply_actions, check_new, read_actions
from termwise.serve.opensearch.analysis import analyze
from termwise.serve.opensearch.creation import NewIndex
from termwise.serve.opensearch.documents import by_index, new_id, outcome_answer, put, read_bulk, update
from termwise.serve.opensearch.errors import IndexExistsError, UnsupportedError, cause_of, opensearch_error
from termwise.serve.opensearch.fields import SOURCE_PARAMETERS, Fields, SourceFilter
from termwise.serve.opensearch.json_checks import flag, identifier, known_keys, record, several, text, texts
from termwise.serve.opensearch.search import SHARDS, Answer, count, explain, search, to_delete
from termwise.serve.opensearch.search_body import SEARCH_PARAMETERS
from termwise.serve.operations import Handler, WholeRoute
from termwise.serve.service import Service

API_VERSION = "2.19.0"
"""Version of OpenSearch whose API the service has a part of."""

MOST_SEARCHES = 100
"""Searches of a request."""

OBJECTS = (JSON, "application/vnd.elasticsearch+json")
"""Media types of bodies; the second one is that of clients of Elasticsearch."""

LINES = (NDJSON, "application/vnd.elasticsearch+x-ndjson", *OBJECTS)
"""Media types of bodies in which each line is a JSON object."""

_COMPATIBLE = re.compile(r"application/vnd\.elasticsearch\+json *; *compatible-with=[0-9]{1,3}")

MOST_WARNINGS = 10
"""Warnings of an answer."""

_SAFE = " !#$&'()*+,/:;<=>?@[]^_`{|}~-."
"""Signs of a warning that stand for themselves; others are written as ``%`` and their bytes, as in OpenSearch."""

TOGETHER_SECONDS = 0.005
"""Time after which no further search of a request is answered before those of other requests."""

COSMETIC = frozenset(
    (
        "pretty",
        "human",
        "error_trace",
        "preference",
        "timeout",
        "cancel_after_time_interval",
        "request_cache",
        "allow_partial_search_results",
        "batched_reduce_size",
        "ccs_minimize_roundtrips",
        "max_concurrent_searches",
        "max_concurrent_shard_requests",
        "pre_filter_shard_size",
    )
)
"""Parameters that change no result of one index on one machine; they are ignored."""


def opensearch_routes(service: Service) -> list[Route]:
    """Return the routes; they come after those of the service's own API, and of the page for browsers."""
    routes: list[Route] = []
    for name, methods, paths, role, handler in _TABLE:
        endpoint = _endpoint(service, role, handler)
        for path in paths.split():
            given: dict[str, Any] = {"methods": methods.split(), "name": f"opensearch_{name}"}
            routes.append(
                _OfIndex(path, endpoint, **given, indexes=service.indexes)
                if path == "/{index}"
                else WholeRoute(path, endpoint, **given)
            )
    return routes


class _OfIndex(WholeRoute):
    """Route of the address of an index, so that other addresses stay unknown."""

    def __init__(self, *args: Any, indexes: ServedIndexes, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._indexes = indexes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the names of indexes of the service, and every name of an index to be created."""
        match, found = super().matches(scope)
        if match is Match.FULL and (
            scope["method"] in ("PUT", "DELETE") or found["path_params"]["index"] in self._indexes
        ):
            return match, found
        return Match.NONE, {}


def _endpoint(service: Service, role: Needed, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            service.access.check(request, role)
            answer = await handler(service, request)
        except TermwiseError as error:
            log_failure(error)
            answer = refusal(error)
        accepted = _COMPATIBLE.search(request.headers.get("accept", ""))
        if accepted is not None and isinstance(answer, JsonAnswer):
            answer.headers["content-type"] = accepted[0]
        return answer

    return endpoint


def refusal(error: TermwiseError) -> Response:
    """Return the HTTP response for an error, in OpenSearch's format."""
    status = status_of(error)
    return JsonAnswer(opensearch_error(error), status_code=status, headers=headers_of(status))


_PAGES = (
    'send searches with "sort": ["_id"], and in search_after the values of sort of the last result before; to get all '
    "documents, do so with match_all"
)

_INSTEAD = {
    "scroll": _PAGES,
    "pit": _PAGES,
    "search_point_in_time": _PAGES,
    "search_scroll": _PAGES,
    "search_template": "fill in the template in the client, and send the body to _search",
    "msearch_template": "fill in the templates in the client, and send the bodies to _msearch",
    "render_template": "fill in the template in the client",
    "scripts": "fill in templates in the client; in place of scripts, use function_score, or a relevance file",
    "update_by_query": "send the documents to change to _bulk, with update",
    "reindex": "send the documents to _bulk of the other index",
    "validate_query": "send the query to _search, with the size 0: a wrong one is refused with the reason",
}
"""What to use in place of some addresses and parameters; their parts are joined by ``_``."""


def _check_parameters(request: Request, *known: str) -> None:
    """Refuse parameters that are not supported, or given twice, by name."""
    for name in request.query_params:
        if name not in known and name not in COSMETIC:
            raise UnsupportedError.of("the parameter", name, known, _INSTEAD.get(name, ""))
        refuse_repeated(request.query_params, name)


def _served(service: Service, request: Request) -> ServedIndex:
    return _named(service, request.path_params.get("index"))


def _named(service: Service, name: str | None) -> ServedIndex:
    """Return an index by name; the only one without a name, or for ``_all`` and ``*``."""
    if name in (None, "_all", "*"):
        served = list(service.indexes)
        if len(served) != 1:
            raise UnsupportedError.of(
                "a request to several indexes", name or "without an index", [each.name for each in served]
            )
        return served[0]
    assert name is not None
    if "," in name or "*" in name:
        raise UnsupportedError.of(
            "a request to several indexes", name, [each.name for each in service.indexes]
        )
    return service.indexes[name]


async def _body(service: Service, request: Request) -> dict[str, Any]:
    """Return the JSON object of a body; empty without a body."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return {}
    return record(await json_of(request, service.settings.search_body, OBJECTS), "the body")


def _wants_refresh(request: Request) -> bool:
    given = request.query_params.get("refresh", "false")
    return given == "wait_for" or flag(given, "refresh")


async def _info(service: Service, request: Request) -> Response:
    version = {"distribution": "termwise", "number": API_VERSION, "termwise": __version__}
    return JsonAnswer(
        {
            "name": "termwise",
            "cluster_name": "termwise",
            "version": version,
            "tagline": "A part of the API of OpenSearch",
        }
    )


def answered(answer: Answer) -> JsonAnswer:
    """Return the HTTP response for an answer, with its notes in the header ``Warning``."""
    notes = [quote(legible(note).replace('"', "'"), safe=_SAFE) for note in answer.notes[:MOST_WARNINGS]]
    warnings = [f'299 OpenSearch-{API_VERSION}-unknown "{note}"' for note in notes]
    return JsonAnswer(answer.body, headers={"warning": ", ".join(warnings)} if answer.notes else None)


async def _search(service: Service, request: Request) -> Response:
    _check_parameters(request, *SEARCH_PARAMETERS)
    served, body = _served(service, request), await _body(service, request)
    parameters = dict(request.query_params)
    return await service.pool.run(
        lambda: answered(search(served.current(), body, parameters, service.settings))
    )


async def _several_searches(service: Service, request: Request) -> Response:
    _check_parameters(request)
    begin = time.perf_counter()
    data = await body_of(request, service.settings.search_body, LINES)
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) % 2:
        raise ServiceError("a request of several searches has a header and a body for each")
    if len(lines) > 2 * MOST_SEARCHES:
        raise TooLargeError("the request has too many searches", facts=[("most", MOST_SEARCHES)])
    default = request.path_params.get("index")
    searches = list(zip(lines[::2], lines[1::2], strict=True))
    answers: list[dict[str, Any]] = []
    notes: list[str] = []
    budget = service.pool.budget()
    while len(answers) < len(searches):
        try:
            asked = partial(_some_searched, service, default, searches[len(answers) :])
            found, its_notes = await service.pool.run(asked, budget)
            answers += found
            notes += its_notes
        except TermwiseError as error:
            answers.append(opensearch_error(error))
    await service.wait_fairly(service.refusal_pace, sum("error" in each for each in answers))
    body = {"took": round(1000 * (time.perf_counter() - begin)), "responses": answers}
    return answered(Answer(body, tuple(dict.fromkeys(notes))))


def _some_searched(
    service: Service, default: str | None, searches: Sequence[tuple[bytes, bytes]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Answer searches in their order until `TOGETHER_SECONDS` have passed, and at least the first one.

    Returns the answers, and the notes on them.
    """
    answers: list[dict[str, Any]] = []
    notes: list[str] = []
    end = time.monotonic() + TOGETHER_SECONDS
    for header, body in searches:
        try:
            spend()  # a search that is refused looks at no document
            found = _searched(service, default, header, body)
            answers.append({**found.body, "status": 200})
            notes += found.notes
        except TermwiseError as error:
            answers.append(opensearch_error(error))
        if time.monotonic() > end:
            break
    return answers, notes


def _searched(service: Service, default: str | None, header: bytes, body: bytes) -> Answer:
    """Answer one search, given its header and its body as JSON."""
    given = known_keys(parsed_json(header), "the header of a search", ("index", *COSMETIC))
    names = several(given.get("index", default))
    served = _named(service, None if names == [None] else ",".join(texts(names, "index")))
    return search(served.current(), parsed_json(body), {}, service.settings)


async def _count(service: Service, request: Request) -> Response:
    _check_parameters(request)
    served, body = _served(service, request), await _body(service, request)
    return await service.pool.run(lambda: answered(count(served.current(), body, service.settings)))


async def _explain(service: Service, request: Request) -> Response:
    _check_parameters(request, *SOURCE_PARAMETERS)
    served, body = _served(service, request), await _body(service, request)
    source = SourceFilter.of_parameters(request.query_params)
    doc_id = request.path_params["doc_id"]
    return await service.pool.run(
        lambda: answered(explain(served.current(), doc_id, body, source, service.settings))
    )


async def _get(service: Service, request: Request) -> Response:
    _check_parameters(request, "realtime", "refresh", *SOURCE_PARAMETERS)
    served, doc_id = _served(service, request), request.path_params["doc_id"]
    source = SourceFilter.of_parameters(request.query_params) or SourceFilter()
    found = await service.pool.run(lambda: _found(served, doc_id, source))
    return JsonAnswer(found, status_code=200 if found["found"] else 404)


def _found(served: ServedIndex, doc_id: str, source: SourceFilter) -> dict[str, Any]:
    """Return the answer for one document, with ``found`` false if the index has no document with the identifier."""
    searcher = served.searcher()
    found: dict[str, Any] = {"_index": served.name, "_id": doc_id, "found": False}
    if searcher.index.find(doc_id) is None:
        return found
    known = document_record(searcher, doc_id)
    found["found"] = True
    if source.wanted:
        found["_source"] = Fields.of(searcher).source(doc_id, known["attributes"], known["texts"], source)
    return found


async def _several_documents(service: Service, request: Request) -> Response:
    _check_parameters(request, "realtime", "refresh", *SOURCE_PARAMETERS)
    body = known_keys(await _body(service, request), "a request of documents", ("docs", "ids"))
    asked = [*several(body.get("docs", [])), *({"_id": each} for each in several(body.get("ids", [])))]
    if len(asked) > service.settings.max_results:
        raise TooLargeError(
            "the request is for too many documents", facts=[("most", service.settings.max_results)]
        )
    asked = list({json_bytes(each): each for each in asked}.values())  # each document once
    source = SourceFilter.of_parameters(request.query_params) or SourceFilter()
    default = request.path_params.get("index")

    def found(each: object) -> dict[str, Any]:
        keys = known_keys(each, "a document", ("_index", "_id"))
        index = text(keys["_index"], "_index") if "_index" in keys else default
        doc_id = identifier(keys.get("_id"), "_id")
        try:
            return _found(_named(service, index), doc_id, source)
        except UnknownIndexError as error:
            return {"_index": index, "_id": doc_id, "error": cause_of(error)}

    return await service.pool.run(lambda: JsonAnswer({"docs": [found(each) for each in asked]}))


async def _put(service: Service, request: Request, *, only_new: bool = False) -> Response:
    _check_parameters(request, "refresh", *([] if only_new else ["op_type"]))
    kind = request.query_params.get("op_type", "create" if only_new else "index")
    if kind not in ("index", "create"):
        raise UnsupportedError.of("op_type", kind, ["index", "create"])
    served, source = _served(service, request), await json_of(request, service.settings.change_body, OBJECTS)
    doc_id = request.path_params.get("doc_id") or new_id()
    change = await asyncio.to_thread(put, served, doc_id, source, only_new=kind == "create")
    return await _changed(service, request, served, change)


async def _update(service: Service, request: Request) -> Response:
    _check_parameters(request, "refresh", "retry_on_conflict")  # changes never conflict
    served, body = _served(service, request), await json_of(request, service.settings.change_body, OBJECTS)
    change = await asyncio.to_thread(update, served, request.path_params["doc_id"], body)
    return await _changed(service, request, served, change)


async def _delete(service: Service, request: Request) -> Response:
    _check_parameters(request, "refresh")
    return await _changed(service, request, _served(service, request), Delete(request.path_params["doc_id"]))


async def _changed(service: Service, request: Request, served: ServedIndex, change: Change) -> Response:
    (outcome,) = await service.change(served, [change], refresh=_wants_refresh(request))
    answer, status = outcome_answer(served.name, change, outcome)
    return JsonAnswer(answer, status_code=status)


async def _bulk(service: Service, request: Request) -> Response:
    _check_parameters(request, "refresh")
    begin, refresh = time.perf_counter(), _wants_refresh(request)
    data = await body_of(request, service.settings.change_body, LINES)
    default = request.path_params.get("index")
    name = None if default is None else _named(service, default).name
    most = service.settings.max_operations
    items = await asyncio.to_thread(read_bulk, data, service.indexes, name, most)
    groups = dict(by_index(items))
    for index, its in groups.items():
        changes = [item.change for item in its if not isinstance(item.change, TermwiseError)]
        try:
            outcomes = await service.change(service.indexes[index], changes, refresh=refresh)
        except TermwiseError as error:
            if len(groups) == 1:
                raise
            log_failure(error)
            for item in its:  # the changes of other indexes are made
                item.change = error
        else:
            for item, outcome in zip(its, outcomes, strict=True):
                item.outcome = outcome
    answers = [item.answer() for item in items]
    return JsonAnswer(
        {
            "took": round(1000 * (time.perf_counter() - begin)),
            "errors": any(
                "error" in answer[item.action] for item, answer in zip(items, answers, strict=True)
            ),
            "items": answers,
        }
    )


async def _delete_by_query(service: Service, request: Request) -> Response:
    _check_parameters(request, "refresh", "conflicts", "wait_for_completion")
    if not flag(request.query_params.get("wait_for_completion", True), "wait_for_completion"):
        raise UnsupportedError.of("wait_for_completion", "false", ["true"])
    begin = time.perf_counter()
    served, body = _served(service, request), await _body(service, request)
    doc_ids = await service.pool.run(lambda: to_delete(served.current(), body, service.settings))
    changes = [Delete(doc_id) for doc_id in doc_ids]
    outcomes = await service.change(served, changes, refresh=_wants_refresh(request)) if changes else []
    deleted = outcomes.count("deleted")
    return JsonAnswer(
        {
            "took": round(1000 * (time.perf_counter() - begin)),
            "timed_out": False,
            "total": len(changes),
            "deleted": deleted,
            "batches": int(bool(changes)),
            "version_conflicts": len(changes) - deleted,
            "noops": 0,
            "retries": {"bulk": 0, "search": 0},
            "failures": [],
        }
    )


async def _refresh(service: Service, request: Request) -> Response:
    """Answer when every later search sees all changes that were answered before; see `ServiceSettings`."""
    _check_parameters(request)
    await asyncio.sleep(service.settings.refresh_interval)
    return JsonAnswer({"_shards": SHARDS})


async def _mapping(service: Service, request: Request, **others: Any) -> Response:
    """Answer with the types of the fields of indexes, and with the same `others` for each."""
    _check_parameters(request)
    served = _selected(service, request)
    return await service.pool.run(
        lambda: JsonAnswer(
            {each.name: {"mappings": Fields.of(each.searcher()).mapping(), **others} for each in served}
        )
    )


def _selected(service: Service, request: Request) -> list[ServedIndex]:
    """Return the index that an address names, or all."""
    name = request.path_params.get("index", "*")
    return list(service.indexes) if name in ("*", "_all") else [_named(service, name)]


async def _put_mapping(service: Service, request: Request) -> Response:
    """Add the fields of a mapping that the index lacks as attributes; other types of its fields are refused."""
    _check_parameters(request, "timeout", "master_timeout", "cluster_manager_timeout")
    served, body = _served(service, request), await _body(service, request)
    new = await service.pool.run(lambda: Fields.of(served.searcher()).new_attributes(body))
    if new:
        await service.change(served, [NewAttributes(new)], refresh=True)
    return JsonAnswer({"acknowledged": True})


async def _analyze(service: Service, request: Request) -> Response:
    _check_parameters(request)
    named = "index" in request.path_params or len(list(service.indexes)) == 1
    searcher = _served(service, request).searcher() if named else None
    body = await _body(service, request)
    return await service.pool.run(lambda: JsonAnswer(analyze(body, searcher, service.settings.max_query)))


HEALTH = ("green", "yellow", "red")
"""Health of an index, the best first."""


async def _health(service: Service, request: Request) -> Response:
    """Answer whether the newest generation of each index can be read."""
    _check_parameters(request, "wait_for_status", "timeout", "level", "local")
    wanted, level = (request.query_params.get(name) for name in ("wait_for_status", "level"))
    if wanted not in (None, *HEALTH):
        raise UnsupportedError.of("wait_for_status", wanted, HEALTH)
    if level not in (None, "cluster"):
        raise UnsupportedError.of("level", level, ["cluster"])
    selected = _selected(service, request)
    status = "red" if any(served.failed for served in selected) else "green"
    is_late = wanted is not None and HEALTH.index(status) > HEALTH.index(wanted)
    answer = {
        "cluster_name": "termwise",
        "status": status,
        "timed_out": is_late,
        "number_of_nodes": 1,
        "number_of_data_nodes": 1,
        "active_primary_shards": len(selected),
        "active_shards": len(selected),
        "active_shards_percent_as_number": 100.0,
    }
    others = ("relocating_shards", "initializing_shards", "unassigned_shards", "number_of_pending_tasks")
    return JsonAnswer({**answer, **dict.fromkeys(others, 0)}, status_code=408 if is_late else 200)


async def _aliases(service: Service, request: Request) -> Response:
    """Answer with the aliases of indexes: the further names under which the service has their folders."""
    _check_parameters(request)
    alias = request.path_params.get("alias", "*")
    names: dict[Path, list[str]] = {}
    for each in service.indexes:
        names.setdefault(each.path.resolve(), []).append(each.name)
    wanted = {each.path.resolve() for each in _selected(service, request)}
    found = {
        first: [name for name in others if alias in (name, "*", "_all")]
        for path, (first, *others) in names.items()
        if path in wanted
    }
    for name, index in service.indexes.aliases.items():
        if index in found and alias in (name, "*", "_all"):
            found[index].append(name)
    if alias not in ("*", "_all"):
        found = {first: others for first, others in found.items() if others}
        if not found:
            return JsonAnswer({"error": f"alias [{legible(alias)}] missing", "status": 404}, status_code=404)
    return JsonAnswer({first: {"aliases": {name: {} for name in others}} for first, others in found.items()})


async def _change_aliases(service: Service, request: Request) -> Response:
    """Add and remove aliases of indexes, all at once."""
    _check_parameters(request, "timeout", "master_timeout", "cluster_manager_timeout")
    actions = read_actions(await _body(service, request))
    await service.change_aliases(partial(apply_actions, actions))
    return JsonAnswer({"acknowledged": True})


async def _put_alias(service: Service, request: Request, *, removes: bool = False) -> Response:
    """Add or remove an alias of an index."""
    _check_parameters(request, "timeout", "master_timeout", "cluster_manager_timeout")
    body = {} if removes else await _body(service, request)
    names = {"index": request.path_params["index"], "alias": request.path_params["alias"]}
    actions = read_actions({"actions": [{"remove" if removes else "add": {**body, **names}}]})
    await service.change_aliases(partial(apply_actions, actions))
    return JsonAnswer({"acknowledged": True})


async def _delete_index(service: Service, request: Request) -> Response:
    """Delete an index that a request created."""
    _check_parameters(request, "timeout", "master_timeout", "cluster_manager_timeout", "ignore_unavailable")
    name = request.path_params["index"]
    if name == "_all" or "*" in name or "," in name:
        raise UnsupportedError.of(
            "the deletion of several indexes", name, fix="delete each index by its name"
        )
    if name in service.indexes.aliases:
        index = service.indexes.aliases[name]
        raise UnsupportedError.of(
            "the deletion of an index by its alias",
            name,
            fix=f"delete the index {index}, or remove the alias",
        )
    try:
        await service.delete(name)
    except UnknownIndexError:
        if not flag(request.query_params.get("ignore_unavailable", False), "ignore_unavailable"):
            raise
    return JsonAnswer({"acknowledged": True})


async def _create_index(service: Service, request: Request) -> Response:
    """Create an index without documents, in the folder that the service has for it."""
    _check_parameters(
        request, "timeout", "master_timeout", "cluster_manager_timeout", "wait_for_active_shards"
    )
    name = request.path_params["index"]
    if name in service.indexes.aliases:
        raise IndexExistsError(
            "an alias has the name of the index",
            facts=[("index", name), ("alias of", service.indexes.aliases[name])],
            fixes=["remove the alias first, or choose another name"],
        )
    if name in service.indexes:
        raise IndexExistsError("the index exists already", facts=[("index", name)])
    if service.settings.create_in is None:
        fix = "build it and serve it, or start the service with a folder for new indexes"
        raise UnsupportedError.of("the creation of the index", name, fix=fix)
    new = NewIndex.of(await _body(service, request))
    actions = [AliasAction("add", (name,), (alias,)) for alias in new.aliases]
    check_new(actions, service.indexes.aliases)
    try:
        await service.create(name, new.build)
        if actions:
            await service.change_aliases(partial(apply_actions, actions))
    except errors.IndexExistsError:
        raise IndexExistsError("the index exists already", facts=[("index", name)]) from None
    return JsonAnswer({"acknowledged": True, "shards_acknowledged": True, "index": name})


COLUMNS: tuple[str, ...] = (
    "health",
    "status",
    "index",
    "pri",
    "rep",
    "docs.count",
    "docs.deleted",
    "store.size",
)


async def _cat_indices(service: Service, request: Request) -> Response:
    _check_parameters(request, "format", "v", "h")
    columns = _columns(request.query_params.get("h"))
    kind = request.query_params.get("format", "text")
    if kind not in ("text", "json"):
        raise UnsupportedError.of("format", kind, ["text", "json"])
    selected = _selected(service, request)
    rows = await service.pool.run(lambda: [_row(served, columns) for served in selected])
    if kind == "json":
        return JsonAnswer([dict(zip(columns, row, strict=True)) for row in rows])
    if flag(request.query_params.get("v", False), "v"):
        rows = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (" ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)
    return PlainTextResponse("".join(lines))


def _columns(given: str | None) -> list[str]:
    columns = list(COLUMNS) if given is None else given.split(",")
    for name in columns:
        if name not in COLUMNS:
            raise UnsupportedError.of("the column", name, COLUMNS)
    return columns


def _row(served: ServedIndex, columns: Collection[str]) -> list[str]:
    index = served.searcher().index
    values = {
        "health": "red" if served.failed else "green",
        "status": "open",
        "index": served.name,
        "pri": "1",
        "rep": "0",
        "docs.count": str(index.documents),
        "docs.deleted": str(sum(segment.deletions for segment in index.manifest.segments)),
        "store.size": _size(sum(map(_bytes_of, served.path.rglob("*")))),
    }
    return [values[name] for name in columns]


def _bytes_of(path: Path) -> int:
    """Return the size of a file; 0 for a folder, and for a file that a change has just removed."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0


def _size(size: float) -> str:
    """Return a number of bytes as OpenSearch writes it.

    Examples
    --------
    >>> _size(700), _size(20_000), _size(3 << 30)
    ('700b', '19.5kb', '3gb')
    """
    for unit in ("b", "kb", "mb", "gb"):
        if size < 1024:
            return f"{round(size, 1):g}{unit}"
        size /= 1024
    return f"{round(size, 1):g}tb"


async def _unsupported(service: Service, request: Request) -> Response:
    known = [re.sub(":[a-z]+", "", path) for _, _, paths, _, _ in _TABLE[:-2] for path in paths.split()]
    parts = request.path_params.get("rest", "").split("/")
    fixes = [_INSTEAD[name] for name in ("_".join(parts[:2]), parts[0]) if name in _INSTEAD]
    raise UnsupportedError.of(
        "the address",
        f"{request.method} {legible(request.url.path)}",
        [] if fixes else dict.fromkeys(known),
        "".join(fixes[:1]),
    )


_TABLE: tuple[tuple[str, str, str, Needed, Handler], ...] = (
    ("info", "GET", "/", "search", _info),
    ("search", "GET POST", "/_search /{index}/_search", "search", _search),
    ("msearch", "GET POST", "/_msearch /{index}/_msearch", "search", _several_searches),
    ("count", "GET POST", "/_count /{index}/_count", "search", _count),
    ("explain", "GET POST", "/{index}/_explain/{doc_id:any}", "search", _explain),
    ("bulk", "POST PUT", "/_bulk /{index}/_bulk", "write", _bulk),
    ("delete_by_query", "POST", "/{index}/_delete_by_query", "write", _delete_by_query),
    ("get", "GET", "/{index}/_doc/{doc_id:any}", "search", _get),
    ("mget", "GET POST", "/_mget /{index}/_mget", "search", _several_documents),
    ("put", "PUT POST", "/{index}/_doc/{doc_id:any}", "write", _put),
    ("delete", "DELETE", "/{index}/_doc/{doc_id:any}", "write", _delete),
    ("add", "POST", "/{index}/_doc", "write", _put),
    ("create", "PUT POST", "/{index}/_create/{doc_id:any}", "write", partial(_put, only_new=True)),
    ("update", "POST", "/{index}/_update/{doc_id:any}", "write", _update),
    ("refresh", "GET POST", "/_refresh /{index}/_refresh", "write", _refresh),
    ("mapping", "GET", "/_mapping /_mappings /{index}/_mapping /{index}/_mappings", "search", _mapping),
    ("put_mapping", "PUT POST", "/{index}/_mapping /{index}/_mappings", "write", _put_mapping),
    ("analyze", "GET POST", "/_analyze /{index}/_analyze", "search", _analyze),
    ("health", "GET", "/_cluster/health /_cluster/health/{index}", "search", _health),
    (
        "aliases",
        "GET",
        "/_alias /_aliases /_alias/{alias} /{index}/_alias /{index}/_alias/{alias}",
        "search",
        _aliases,
    ),
    ("change_aliases", "POST", "/_aliases", "write", _change_aliases),
    ("put_alias", "PUT POST", "/{index}/_alias/{alias} /{index}/_aliases/{alias}", "write", _put_alias),
    (
        "remove_alias",
        "DELETE",
        "/{index}/_alias/{alias} /{index}/_aliases/{alias}",
        "write",
        partial(_put_alias, removes=True),
    ),
    ("cat_indices", "GET", "/_cat/indices /_cat/indices/{index}", "search", _cat_indices),
    ("describe", "GET", "/{index}", "search", partial(_mapping, aliases={}, settings={})),
    ("delete_index", "DELETE", "/{index}", "write", _delete_index),
    ("create_index", "PUT", "/{index}", "write", _create_index),
    (
        "unsupported",
        "GET POST PUT DELETE",
        "/{index} /_{rest:path} /{index}/_{rest:path}",
        "search",
        _unsupported,
    ),
)
"""Name, methods, addresses, role and function of each operation, in the order in which addresses are compared."""
