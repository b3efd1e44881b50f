"""Routes of the page, and its answers: views, errors and static files in HTML."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from termwise._version import __version__
from termwise.display.html import render_page
from termwise.errors import TermwiseError
from termwise.serve.errors import ServiceError, headers_of
from termwise.serve.operations import WholeRoute
from termwise.serve.page.address import SearchAddress
from termwise.serve.page.api_description import described
from termwise.serve.page.comparison import comparison_view, uncompared_view
from termwise.serve.page.results import results_view, unanswered_view
from termwise.serve.page.views import document_view, index_view
from termwise.serve.service import Service

FOR_EVER = "public, max-age=31536000, immutable"

ROUTE = "page_"
"""Start of the names of the routes whose errors are pages, too."""

MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files, and the media type of each. No other file is sent."""

View = Callable[[Request], Awaitable[Response]]


def page_routes(service: Service, document: Mapping[str, Any]) -> list[Route]:
    """Return the routes of the page; the description of the API and static files need no key.

    `document` is the OpenAPI document.
    """

    async def search(request: Request) -> Response:
        service.access.check(request, "search")
        names = [served.name for served in service.indexes]
        address = SearchAddress.of(request.query_params, names[0])
        try:
            served = service.indexes[address.index]
            request.scope["termwise.index"] = served.name
            return await service.pool.run(
                lambda: search_page(
                    service,
                    "search",
                    {"index": served.name, **results_view(served, address, service.settings, names)},
                )
            )
        except TermwiseError as error:
            return search_page(service, "search", unanswered_view(service.indexes, address, error))

    async def compare(request: Request) -> Response:
        service.access.check(request, "search")
        given = request.query_params
        names = (given.get("a", ""), given.get("b", ""))
        query = given.get("q", "").strip()
        try:
            return await service.pool.run(
                lambda: search_page(
                    service, "compare", comparison_view(service.indexes, query, names, service.settings)
                )
            )
        except TermwiseError as error:
            return search_page(service, "compare", uncompared_view(service.indexes, query, names, error))

    async def document_page(request: Request) -> Response:
        service.access.check(request, "search")
        served = service.indexes[request.path_params["index"]]
        doc_id = request.query_params.get("id")
        if doc_id is None:
            raise ServiceError("the parameter id is missing")
        address = replace(SearchAddress.of(request.query_params, served.name), index=served.name)
        return await service.pool.run(
            lambda: html_page(service, "document", **document_view(served, doc_id, address, service.settings))
        )

    async def index(request: Request) -> Response:
        service.access.check(request, "search")
        served = service.indexes[request.path_params["index"]]
        names = [each.name for each in service.indexes]
        return await service.pool.run(lambda: html_page(service, "index", **index_view(served, names)))

    async def docs(request: Request) -> Response:
        name = "INDEX" if service.settings.keys else next(iter(service.indexes)).name
        operations = described(document, str(request.base_url), name)
        return html_page(service, "docs", operations=operations, keys=service.settings.keys is not None)

    views = [
        ("/", search, "search"),
        ("/compare", compare, "compare"),
        ("/indexes/{index}", index, "index"),
        ("/indexes/{index}/document", document_page, "document"),
        ("/docs", docs, "docs"),
    ]
    return [
        *(_ForBrowsers(path, view, methods=["GET"], name=f"{ROUTE}{name}") for path, view, name in views),
        *(WholeRoute(f"/static/{name}", _sent(file), name="static") for name, file in static_files().items()),
    ]


class _ForBrowsers(WholeRoute):
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match requests that accept HTML: for others, the address can be that of an index in OpenSearch's API."""
        return super().matches(scope) if accepts_html(scope) else (Match.NONE, {})


class StaticFile(NamedTuple):
    """Contents of a file, and the address that names them by their digest."""

    url: str
    media_type: str
    content: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    """Return the files by name."""
    found = {}
    for name, media_type in MEDIA_TYPES.items():
        content = files("termwise.serve.page").joinpath("static", name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        found[name] = StaticFile(f"/static/{name}?v={digest}", media_type, content)
    return found


def _sent(file: StaticFile) -> View:
    async def endpoint(request: Request) -> Response:
        return Response(file.content, media_type=file.media_type, headers={"cache-control": FOR_EVER})

    return endpoint


def accepts_html(scope: Scope) -> bool:
    """Return whether the client names HTML among the media types that it accepts, as browsers do."""
    return "text/html" in Headers(scope=scope).get("accept", "")


def is_for_page(request: Request) -> bool:
    """Return whether an error is answered by a page: to a browser, outside of the APIs."""
    route = request.scope.get("route")
    name = route.name if isinstance(route, Route) else ROUTE
    return accepts_html(request.scope) and name.startswith(ROUTE)


def error_page(
    service: Service, record: Mapping[str, Any], status: int, headers: Mapping[str, str]
) -> Response:
    """Return an error, as `termwise.serve.errors.error_record` describes it, as a page."""
    error = {"facts": {}, "fixes": [], **record}
    return html_page(service, "error", status=status, headers=headers, error=error)


def search_page(service: Service, view: str, values: Mapping[str, Any]) -> Response:
    """Return a view with a search box as an answer, with the status of a refused search."""
    refused = values["refused"]
    status = refused["status"] if refused else 200
    return html_page(service, view, status=status, headers=headers_of(status), **values)


def html_page(
    service: Service, view: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """Return a view as an answer; one for all callers, without a key, names no index."""
    for_all = service.settings.keys and view in ("docs", "error")
    text = render_page(
        "termwise.serve.page",
        f"{view}.html.j2",
        view=view,
        status=status,
        first_index="" if for_all else next(iter(service.indexes)).name,
        version=__version__,
        longest=service.settings.max_query,
        files={name: each.url for name, each in static_files().items()},
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=dict(headers or {}))
