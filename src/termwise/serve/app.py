"""The application: routes, access, errors, headers, and the log."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from termwise.display.safe_text import legible
from termwise.errors import TermwiseError
from termwise.serve.api import OPERATIONS
from termwise.serve.bodies import SHARE, JsonAnswer
from termwise.serve.byte_budget import ByteShare
from termwise.serve.errors import (
    OverloadError,
    TooLargeError,
    error_record,
    headers_of,
    log_failure,
    over_http,
    status_of,
)
from termwise.serve.indexes import ServedIndexes
from termwise.serve.keys import Access
from termwise.serve.observation import Metrics, requests_log
from termwise.serve.openapi import openapi_document
from termwise.serve.opensearch.routes import opensearch_routes, refusal
from termwise.serve.operations import Operation, WholeRoute
from termwise.serve.page.api_description import described, description_text
from termwise.serve.page.errors import at_the_page
from termwise.serve.page.routes import error_page, is_for_page, page_routes
from termwise.serve.search_pool import client_name
from termwise.serve.service import Service
from termwise.serve.settings import ServiceSettings
from termwise.serve.warm_up import modules_loaded_soon

logger = logging.getLogger("termwise.serve")

THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
"""Hosts that every service answers, so that its state can be checked on its machine."""

PIECE = 1 << 16
"""Bytes of an answer that are sent at once. The next piece waits until the client has taken most of the one before."""

LONGEST_PATH = 8192
"""Characters of an address without its query."""

PACED = (400, 401, 403, 413, 414, 415)
"""Statuses of refusals; a client that gets many waits for further ones while other clients are active."""

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-store"),
)
"""Headers of every answer."""


def create_app(folders: Sequence[str], settings: ServiceSettings | None = None) -> Starlette:
    """Return the application that serves indexes, for an ASGI server such as uvicorn.

    Parameters
    ----------
    folders : sequence of str
        ``NAME=FOLDER`` or ``FOLDER`` of each index or mixture.
    settings : ServiceSettings, optional

    Raises
    ------
    TermwiseError
        If an index cannot be opened.
    """
    service = Service(folders, settings)
    metrics = Metrics(service)
    indexes = [served.name for served in service.indexes]
    document = openapi_document(OPERATIONS, None if service.settings.keys else indexes)
    tools = None
    if service.settings.mcp:
        from termwise.serve.mcp_server import ToolsEndpoint  # takes a second, and is rarely needed

        tools = ToolsEndpoint(service)

    async def openapi(request: Request) -> Response:
        return JsonAnswer(document)

    async def docs(request: Request) -> Response:
        if "json" in request.headers.get("accept", ""):
            return JsonAnswer(document)
        name = "INDEX" if service.settings.keys else indexes[0]
        return PlainTextResponse(description_text(described(document, str(request.base_url), name)))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as running:
            running.enter_context(modules_loaded_soon())
            if tools is not None:
                await running.enter_async_context(tools.manager.run())
            yield
        service.close()

    app = Starlette(
        routes=[
            *(_route(service, operation) for operation in OPERATIONS),
            WholeRoute("/openapi.json", openapi, name="openapi"),
            *([] if tools is None else [WholeRoute("/mcp", tools, methods=["POST"], name="mcp")]),
            *page_routes(service, document),
            *([] if "docs" in indexes else [WholeRoute("/docs", docs, name="docs")]),  # for terminals
            *opensearch_routes(service),
        ],
        exception_handlers={TermwiseError: _refused, HTTPException: _not_found},
        lifespan=lifespan,
    )
    app.state.service, app.state.metrics = service, metrics
    if service.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.settings.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "x-api-key"),
            expose_headers=("retry-after",),
        )
    app.add_middleware(ServiceMiddleware, service=service, metrics=metrics)
    return app


def check_service(folders: Sequence[str], settings: ServiceSettings) -> None:
    """Raise the errors of `create_app` without keeping anything open: for a process that starts others.

    Raises
    ------
    TermwiseError
        If an index or the file of keys cannot be read.
    """
    ServedIndexes(folders, relevance=settings.relevance, create_in=settings.create_in)
    Access(settings.keys)


def _route(service: Service, operation: Operation) -> WholeRoute:
    async def endpoint(request: Request) -> Response:
        service.access.check(request, operation.role)
        return await operation.handler(service, request)

    return WholeRoute(operation.path, endpoint, methods=[operation.method], name=operation.name)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TermwiseError)
    log_failure(error)
    status = status_of(error)
    word = at_the_page if is_for_page(request) else over_http
    return _error(request, error_record(error, word), status, headers_of(status))


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    try:  # so that nobody without a key learns which addresses, and names of indexes, exist
        request.app.state.service.access.check(request, "search")
    except TermwiseError as refused:
        may_be_index = request.url.path.count("/") == 1
        return refusal(refused) if may_be_index else await _refused(request, refused)
    if error.status_code == 405:
        return _method_refused(request)
    record = {"type": "not-found" if error.status_code == 404 else "refused", "message": error.detail}
    return _error(request, record, error.status_code, dict(error.headers or {}))


def _method_refused(request: Request) -> Response:
    """Return the error for a method that no route of an address has."""
    allowed = {
        method
        for route in request.app.routes
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    methods = ", ".join(sorted(allowed))
    record = {
        "type": "method",
        "message": f"this address has no method {legible(request.method)}",
        "facts": {"allowed": methods},
        "fixes": ["use an allowed method; /docs lists all addresses"],
    }
    return _error(request, record, 405, {"allow": methods})


def _error(request: Request, record: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> Response:
    """Return an error as JSON, or as a page for a browser that asked for one."""
    if is_for_page(request):
        return error_page(request.app.state.service, record, status, headers)
    return JsonAnswer({"error": record}, status_code=status, headers=dict(headers))


class ServiceMiddleware:
    """Checks the host of each request, adds headers to its answer, counts it, and writes a line of the log."""

    def __init__(self, app: ASGIApp, service: Service, metrics: Metrics) -> None:
        self._app = app
        self._service = service
        self._metrics = metrics
        hosts = service.settings.hosts
        self._hosts = frozenset((*hosts, *THIS_MACHINE)) if hosts else frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        client_name.set(scope["client"][0] if scope.get("client") else "")
        answer = _Answer(send, self._service)
        try:
            if self._hosts and _host(scope) not in self._hosts:
                wrong_host = {
                    "error": {
                        "type": "host",
                        "message": "this service has another host name",
                        "facts": {"host": legible(_host(scope)), "allowed": ", ".join(sorted(self._hosts))},
                        "fixes": ["allow this name when the service starts"],
                    }
                }
                await JsonAnswer(wrong_host, status_code=421)(scope, receive, answer.send)
            elif len(scope["path"]) > LONGEST_PATH:
                too_long = TooLargeError(
                    "the address is too long",
                    facts=[("characters", len(scope["path"])), ("most", LONGEST_PATH)],
                )
                record = {"error": error_record(too_long)}
                await JsonAnswer(record, status_code=414)(scope, receive, answer.send)
            else:
                await self._app(scope, receive, answer.send)
        except Exception:
            logger.exception("a request failed")
            if answer.started:
                raise
            bug = {"type": "bug", "message": "the service failed; see its log"}
            await _error(Request(scope), bug, 500, {})(scope, receive, answer.send)
        finally:
            answer.end()
            if SHARE in scope:
                scope[SHARE].end()
            self._log(scope, answer.status, time.perf_counter() - begin)

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request, and write its line of the log."""
        route = scope.get("route")
        operation = route.name if isinstance(route, Route) and status != 405 else "unknown"
        self._metrics.count(operation, status, seconds)
        if requests_log.isEnabledFor(logging.INFO):
            client = scope.get("client")
            record = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "operation": operation,
                "method": scope["method"],
                "index": scope.get("termwise.index") or scope.get("path_params", {}).get("index", ""),
                "status": status,
                "milliseconds": round(1000 * seconds, 3),
                "client": client[0] if client else "",
                "key": scope.get("termwise.key", ""),
            }
            requests_log.info(json.dumps(record))


class _Answer:
    """Sends the answer to one request, with `HEADERS`, and in pieces whose bytes a `ByteBudget` counts, if several.

    Attributes
    ----------
    status : int
    started : bool
        Whether a part was sent.
    """

    def __init__(self, send: Send, service: Service) -> None:
        self.status, self.started = 500, False
        self._send, self._service = send, service
        self._share: ByteShare | None = None
        self._refused = False

    async def send(self, message: Message) -> None:
        """Send a part; if all answers are too large, the client gets an error in place of this one."""
        if message["type"] == "http.response.start":
            size = int(dict(message["headers"]).get(b"content-length", b"0"))
            if size > PIECE:
                self._share = ByteShare(
                    self._service.answers, client_name.get()
                )  # of the key, which is known now
                if not self._share.take(size):
                    self._refused = True
                    await self._refuse()
                    return
            await self._start(message)
        elif not self._refused:
            body = message.get("body", b"")
            last = (len(body) - 1) // PIECE * PIECE if body else 0
            for place in range(0, last, PIECE):
                await self._send({**message, "body": body[place : place + PIECE], "more_body": True})
            await self._send({**message, "body": body[last:]})

    def end(self) -> None:
        """Give the bytes of the answer back."""
        if self._share is not None:
            self._share.end()

    async def _start(self, message: Message) -> None:
        self.started = True
        self.status = message["status"]
        if self.status in PACED:
            await self._service.wait_fairly(self._service.refusal_pace, 1)
        given = {name for name, _ in message["headers"]}
        message["headers"] = [*message["headers"], *(each for each in HEADERS if each[0] not in given)]
        await self._send(message)

    async def _refuse(self) -> None:
        error = OverloadError(
            "the service sends too many large answers", fixes=["repeat the request later, or ask for less"]
        )
        status = status_of(error)
        answer = JsonAnswer({"error": error_record(error)}, status_code=status, headers=headers_of(status))
        await self._start({"type": "http.response.start", "status": status, "headers": answer.raw_headers})
        await self._send({"type": "http.response.body", "body": answer.body})


def _host(scope: Scope) -> str:
    """Return the host that a request names, without the port."""
    for name, value in scope["headers"]:
        if name == b"host":
            host: str = value.decode("latin-1").lower()
            return host.rpartition(":")[0] if host[-1:] != "]" and ":" in host else host
    return ""
