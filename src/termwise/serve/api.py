"""The service's own HTTP API: search, explanations, documents, suggestions and indexes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from termwise.collection.fields import ID_FIELDS, identifier
from termwise.display.safe_text import legible
from termwise.errors import IndexFormatError, MissingFileError, TermwiseError, UnknownIdError
from termwise.search import Searcher, verify
from termwise.serve import answers, search
from termwise.serve.bodies import (
    JSON,
    MERGE_PATCH,
    NDJSON,
    JsonAnswer,
    body_of,
    json_of,
    model_of,
    model_of_parameters,
    parsed_json,
)
from termwise.serve.changes import Change, Delete, Put
from termwise.serve.documents import document_record, read_document, read_merge
from termwise.serve.errors import ServiceError, TooLargeError, UnreadableIndexError, error_record, status_of
from termwise.serve.fused_search import fused_search
from termwise.serve.indexes import ServedIndex
from termwise.serve.operations import Handler, Operation
from termwise.serve.requests import ExplainRequest, FusedSearchRequest, SearchRequest
from termwise.serve.service import Service

logger = logging.getLogger("termwise.serve")

INDEX = "/v1/indexes/{index}"
DOCUMENTS = f"{INDEX}/documents"
DOCUMENT = f"{DOCUMENTS}/{{doc_id:any}}"

REFRESH = {
    "properties": {
        "refresh": {
            "type": "boolean",
            "default": False,
            "description": "Answer when every later search sees the change.",
        }
    }
}

OPERATIONS: list[Operation] = []
"""Operations in the order in which addresses are compared with them, the most frequent one first."""


def _operation(method: str, path: str, summary: str, **facts: Any) -> Callable[[Handler], Handler]:
    """Add a handler to `OPERATIONS`, under its own name; `facts` are the other fields of `Operation`."""

    def add(handler: Handler) -> Handler:
        name = handler.__name__.removeprefix("_")
        OPERATIONS.append(Operation(method, path, name, summary, handler, **facts))
        return handler

    return add


def _served(service: Service, request: Request) -> ServedIndex:
    """Return the index that the address names."""
    return service.indexes[request.path_params["index"]]


@_operation(
    "POST",
    f"{INDEX}/search",
    "Search one index.",
    body=SearchRequest,
    example={"query": "green tea", "k": 5, "total": True},
    answer=answers.SearchAnswer,
)
async def _search(service: Service, request: Request) -> Response:
    served = _served(service, request)
    asked = await model_of(request, SearchRequest, service.settings.search_body)
    return await service.pool.run(
        lambda: JsonAnswer(search.search(served.current(), asked, service.settings).explained())
    )


@_operation(
    "GET",
    f"{INDEX}/search",
    "Search one index, with the request in the address.",
    parameters=SearchRequest,
    answer=answers.SearchAnswer,
)
async def _search_by_address(service: Service, request: Request) -> Response:
    served = _served(service, request)
    asked = model_of_parameters(request.query_params, SearchRequest)
    return await service.pool.run(
        lambda: JsonAnswer(search.search(served.current(), asked, service.settings).explained())
    )


@_operation("GET", "/health", "Whether the process runs.", role="none", answer=answers.StateAnswer)
async def _health(service: Service, request: Request) -> Response:
    return JsonAnswer({"status": "ok"})


@_operation(
    "GET",
    "/ready",
    "Whether indexes and API keys can be read.",
    role="none",
    answer=answers.StateAnswer,
)
async def _ready(service: Service, request: Request) -> Response:
    failed = await asyncio.to_thread(
        lambda: [served.name for served in service.indexes if not served.follow()]
    )
    if not service.access.follow():
        return JsonAnswer({"status": "the API keys cannot be read"}, status_code=503)
    if failed:
        names = "" if service.settings.keys else f": {', '.join(failed)}"  # /ready needs no key
        return JsonAnswer({"status": f"unreadable{names}"}, status_code=503)
    return JsonAnswer({"status": "ready"})


@_operation("GET", "/metrics", "Metrics in the form of Prometheus.", answer=str)
async def _metrics(service: Service, request: Request) -> Response:
    page = await asyncio.to_thread(request.app.state.metrics.page)
    return Response(page, media_type="text/plain; version=0.0.4")


@_operation("GET", "/v1/indexes", "The indexes of the service.", answer=answers.IndexesAnswer)
async def _list_indexes(service: Service, request: Request) -> Response:
    facts = await service.pool.run(lambda: [served.current().facts() for served in service.indexes])
    return JsonAnswer({"indexes": facts})


@_operation("GET", INDEX, "Facts about an index.", answer=answers.IndexAnswer)
async def _describe_index(service: Service, request: Request) -> Response:
    served = _served(service, request)
    return JsonAnswer(await service.pool.run(lambda: served.current().facts()))


@_operation(
    "POST",
    f"{INDEX}/verify",
    "Check the checksums of all files of an index.",
    role="admin",
    answer=answers.VerifyAnswer,
)
async def _verify_index(service: Service, request: Request) -> Response:
    """Verify an index; without a body, so that a page of another site can send it, as it can send a search.

    It changes nothing, the page cannot read the answer, and one verification runs at a time.
    """
    served = _served(service, request)
    try:
        found = await service.slowly(lambda: verify(served.path))
    except (IndexFormatError, MissingFileError) as error:
        logger.error("the index %s cannot be read: %s", served.name, error)
        raise UnreadableIndexError.of(served.name) from None
    damages = [f"{damage.file}: {damage.what}" for damage in found]
    return JsonAnswer({"index": served.name, "intact": not damages, "damages": damages})


@_operation(
    "POST",
    "/v1/search",
    "Search several indexes, and fuse their results.",
    body=FusedSearchRequest,
    example={"indexes": [{"index": "shop"}, {"index": "guides", "weight": 0.5}], "query": "green tea"},
    answer=answers.FusedSearchAnswer,
)
async def _search_several(service: Service, request: Request) -> Response:
    asked = await model_of(request, FusedSearchRequest, service.settings.search_body)
    return JsonAnswer(await service.pool.run(lambda: fused_search(service.indexes, asked, service.settings)))


@_operation(
    "POST",
    f"{INDEX}/explain",
    "Explain the score of a document as a sum over terms.",
    body=ExplainRequest,
    example={"query": "green tea", "doc_id": "ID"},
    answer=answers.ExplainAnswer,
)
async def _explain(service: Service, request: Request) -> Response:
    served = _served(service, request)
    asked = await model_of(request, ExplainRequest, service.settings.search_body)
    return JsonAnswer(
        await service.pool.run(lambda: search.explain(served.current(), asked, service.settings))
    )


@_operation(
    "GET",
    f"{INDEX}/suggest",
    "Complete the last word of a text, and suggest words for those that no document has.",
    parameters={
        "properties": {
            "text": {"type": "string", "description": "Beginning of a query.", "examples": ["green te"]}
        },
        "required": ["text"],
    },
    answer=answers.SuggestAnswer,
)
async def _suggest(service: Service, request: Request) -> Response:
    served = _served(service, request)
    text = request.query_params.get("text")
    if text is None:
        raise ServiceError("the parameter text is missing")
    return JsonAnswer(
        await service.pool.run(lambda: search.suggest(served.searcher(), text, service.settings))
    )


@_operation(
    "POST",
    DOCUMENTS,
    'Change many documents: one JSON object on each line, or in one array, a document, `{"delete": ID}`, or a JSON '
    'merge patch with an identifier: `{"patch": {"_id": ID, ...}}`. The answer has one line for each, with the number '
    "of the line, or of the object in the array, if it is refused. The valid changes are made together.",
    role="write",
    body=dict[str, Any],
    body_lines=True,
    example='{"_id": "ID", "text": "green tea from Uji"}\n{"delete": "OTHER"}\n',
    parameters=REFRESH,
    answer=answers.LineAnswer,
)
async def _change_documents(service: Service, request: Request) -> Response:
    """Make the changes of a body with one JSON object a line, or an array of them; answer with one a line."""
    served = _served(service, request)
    body = await body_of(request, service.settings.change_body, (NDJSON, JSON))
    parsed = await asyncio.to_thread(_parsed_changes, served, body, service.settings.max_operations)
    changes = [each for each in parsed if not isinstance(each, dict)]
    outcomes = iter(await service.change(served, changes, refresh=_wants_refresh(request)) if changes else [])
    records = [
        each if isinstance(each, dict) else {"doc_id": each.doc_id, "result": next(outcomes)}
        for each in parsed
    ]
    text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    return Response(text, media_type=NDJSON)


@_operation("GET", DOCUMENT, "A document with its attributes.", answer=answers.DocumentAnswer)
async def _get_document(service: Service, request: Request) -> Response:
    served = _served(service, request)
    doc_id = request.path_params["doc_id"]
    return JsonAnswer(await service.pool.run(lambda: document_record(served.searcher(), doc_id)))


@_operation(
    "PUT",
    DOCUMENT,
    "Add a document, or replace the one with its identifier.",
    role="write",
    body=dict[str, Any],
    example={"title": "Sencha", "text": "green tea from Uji"},
    parameters=REFRESH,
    answer=answers.ChangeAnswer,
)
async def _put_document(service: Service, request: Request) -> Response:
    served = _served(service, request)
    doc_id = request.path_params["doc_id"]
    record = _record(await json_of(request, service.settings.change_body))
    document = await asyncio.to_thread(lambda: read_document(served.searcher(), record, doc_id))
    return await _changed(service, request, served, Put(document))


@_operation(
    "PATCH",
    DOCUMENT,
    "Change some texts and attributes of a document (JSON merge patch); null removes one. The index must store "
    "texts, and for a new text, those of each field.",
    role="write",
    body=dict[str, Any],
    example={"price": 12, "kind": None},
    parameters=REFRESH,
    answer=answers.ChangeAnswer,
)
async def _merge_document(service: Service, request: Request) -> Response:
    served = _served(service, request)
    doc_id = request.path_params["doc_id"]
    record = _record(await json_of(request, service.settings.change_body, (JSON, MERGE_PATCH)))
    change = await asyncio.to_thread(lambda: read_merge(served.searcher(), record, doc_id))
    return await _changed(service, request, served, change)


@_operation(
    "DELETE", DOCUMENT, "Delete a document.", role="write", parameters=REFRESH, answer=answers.ChangeAnswer
)
async def _delete_document(service: Service, request: Request) -> Response:
    change = Delete(request.path_params["doc_id"])
    return await _changed(service, request, _served(service, request), change)


async def _changed(service: Service, request: Request, served: ServedIndex, change: Change) -> Response:
    """Make the change of one document, and return the answer."""
    (outcome,) = await service.change(served, [change], refresh=_wants_refresh(request))
    if outcome == "missing":
        raise UnknownIdError("the index has no such document", facts=[("doc_id", change.doc_id)])
    status = 201 if outcome == "created" else 200
    return JsonAnswer({"doc_id": change.doc_id, "result": outcome}, status_code=status)


def _parsed_changes(served: ServedIndex, body: bytes, most: int) -> list[Change | dict[str, Any]]:
    """Return the changes of the lines of a body, or of its array, and the answers that say why some are refused."""
    text = body.strip()
    array = parsed_json(text) if text[:1] == b"[" and text[-1:] == b"]" else None
    changes: list[tuple[int, object]] = [
        (number, each)
        for number, each in enumerate(array if isinstance(array, list) else body.split(b"\n"), 1)
        if not isinstance(each, bytes) or each.strip()
    ]
    if len(changes) > most:
        raise TooLargeError(
            "the body has too many changes", facts=[("changes", len(changes)), ("most", most)]
        )
    searcher = served.searcher()
    return [_parsed(searcher, *each) for each in changes]


def _parsed(searcher: Searcher, number: int, given: object) -> Change | dict[str, Any]:
    """Return the change that a JSON object describes, or the answer that says why it is refused."""
    record: dict[str, Any] = {}
    try:
        record = _record(parsed_json(given) if isinstance(given, bytes) else given)
        return _change(searcher, record, number)
    except TermwiseError as error:
        inside = {**record, **patch} if isinstance(patch := record.get("patch"), dict) else record
        given = next((inside[name] for name in ("delete", *ID_FIELDS) if name in inside), None)
        named = {} if (doc_id := identifier(given)) is None else {"doc_id": doc_id}
        return {"line": number, **named, "error": error_record(error), "status": status_of(error)}


def _change(searcher: Searcher, record: dict[str, Any], number: int) -> Change:
    """Return the change of a line: ``{"delete": ID}``, ``{"patch": {"_id": ID, ...}}``, or a document."""
    if set(record) == {"delete"}:
        doc_id = identifier(record["delete"])
        if doc_id is None:
            raise ServiceError(
                "the identifier of a document to delete is a string or a whole number",
                facts=[("line", number)],
            )
        return Delete(doc_id)
    if set(record) == {"patch"}:
        return read_merge(searcher, _record(record["patch"]), None, number)
    return Put(read_document(searcher, record, None, number))


def _record(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ServiceError("a document is a JSON object", facts=[("given", legible(type(value).__name__))])
    return value


def _wants_refresh(request: Request) -> bool:
    given = request.query_params.get("refresh", "false")
    if given not in ("true", "false", "", "wait_for"):
        raise ServiceError("refresh is true or false", facts=[("refresh", given)])
    return given != "false"
