"""Tools of the service for assistants, in the Model Context Protocol: over stdio, and at ``/mcp``."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from termwise._version import __version__
from termwise.errors import TermwiseError
from termwise.serve import answers
from termwise.serve.bodies import body_of, json_bytes, parsed_json, refuse_unknown
from termwise.serve.documents import document_record
from termwise.serve.errors import (
    ForbiddenError,
    ServiceError,
    TooLargeError,
    error_record,
    invalid_request,
    status_of,
)
from termwise.serve.indexes import OpenIndex, ServedIndex
from termwise.serve.requests import ExplainRequest, FacetsRequest, Identifier, Names, SearchRequest, Words
from termwise.serve.search import explain, facets, search
from termwise.serve.service import Service
from termwise.serve.settings import ServiceSettings
from termwise.text.analyzer_by_attribute import languages_of

logger = logging.getLogger("termwise.serve.mcp")

MOST_CALL = 128 << 10
"""Largest number of bytes of a call over HTTP; the event loop parses it, and its filter has at most half as many."""

INSTRUCTIONS = """\
Search in collections of documents. Every score is a sum of the weights of terms that query and document share; the tool
explain shows this sum.
Search with the words that a relevant document would contain. If a search finds nothing, use other words, or set fuzzy
for misspelt ones; did_you_mean in an answer has suggestions. Read a document with get before you quote it.
A filter is a condition on attributes, such as: lang = "de" and price < 20 and tags in ("a", "b") and not archived.
"""


_LANG: Any = Field(
    None,
    description=(
        "Language of the query, one of those of the index: words match its documents only. By default, the query "
        "is read in each language."
    ),
)


class _Tool(BaseModel):
    """A tool with its arguments; the class variables describe it, `answer` is the type of its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    answer: ClassVar[Any]

    index: str = Field("", description="Name of the index.")

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        """Return the answer of the tool."""
        raise NotImplementedError

    def fields(self) -> dict[str, Any]:
        """Return the arguments besides the index."""
        return self.model_dump(exclude={"index"})


class _Search(_Tool):
    name = "search"
    title = "Search"
    description = (
        "Find documents for a query, the best first, each with its identifier, score, attributes and an excerpt in "
        "which marks are the places of the words of the query."
    )
    answer = answers.SearchAnswer

    query: str | None = Field(
        None,
        description="Words to search for; without it, all documents that fulfil the conditions are results.",
    )
    k: int = Field(5, ge=1, description="Number of results.")
    offset: int = Field(0, ge=0, description="Results to skip, for the next page.")
    filter: str | None = Field(
        None, description='Condition on attributes, such as: price < 20 and lang = "de".'
    )
    must: Words = Field([], description="Words or phrases that each result contains.")
    must_not: Words = Field([], description="Words or phrases that no result contains.")
    sort: str | None = Field(
        None, description="Attribute to sort by instead of the score; -price for descending."
    )
    fuzzy: bool | None = Field(
        None, description="Also search for words of similar spelling; by default as the index is set up."
    )
    lang: str | None = _LANG
    text: bool = Field(False, description="Return the whole text of each result, besides an excerpt.")

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        return _searched(opened, self.fields(), settings)


class _Get(_Tool):
    name = "get"
    title = "Get a document"
    description = "Read one document: its whole text and its attributes."
    answer = answers.DocumentAnswer

    doc_id: Identifier = Field(description="Identifier of the document, as in a result of search.")

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        return document_record(opened.searcher, self.doc_id)


class _Explain(_Tool):
    name = "explain"
    title = "Explain a score"
    description = (
        "Show why a document has its score for a query: the contribution of each term, where the term comes from (in "
        "the query, or added by the model), and the rank of the document."
    )
    answer = answers.ExplainAnswer

    query: str = Field(description="The query of the search.")
    doc_id: Identifier = Field(description="Identifier of the document.")
    lang: str | None = _LANG

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        request = ExplainRequest.model_validate({**self.fields(), "competitors": 0})  # with the rank
        return explain(opened, request, settings)


class _Similar(_Tool):
    name = "similar"
    title = "Find similar documents"
    description = (
        "Find documents that are like a document of the index, or like a text, the most similar first, each with an "
        "excerpt in which marks are the places of words of the example."
    )
    answer = answers.SearchAnswer

    doc_id: Identifier | None = Field(None, description="Identifier of the example; give this or text.")
    text: str | None = Field(None, description="A text as the example; give this or doc_id.")
    k: int = Field(5, ge=1, description="Number of results.")
    filter: str | None = Field(None, description="Condition on attributes.")

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        if self.doc_id is None and self.text is None:
            raise ServiceError("an example is one of doc_id and text")
        fields = {"like": self.doc_id, "like_text": self.text, "k": self.k, "filter": self.filter}
        return _searched(opened, fields, settings)


class _Facets(_Tool):
    name = "facets"
    title = "Count values of attributes"
    description = (
        "Count how many documents have each value of some attributes, over the matches of a query or "
        "over all documents."
    )
    answer = answers.FacetsAnswer

    facets: Annotated[Names, Field(min_length=1)] = Field(description="Attributes whose values are counted.")
    query: str | None = Field(
        None, description="Count only matches of this query; without it, all documents."
    )
    filter: str | None = Field(None, description="Condition on attributes.")
    facet_values: int = Field(10, ge=1, description="Values of each attribute, the most frequent ones.")

    def call(self, opened: OpenIndex, settings: ServiceSettings) -> Any:
        return facets(opened, FacetsRequest.model_validate(self.fields()), settings)


def _searched(opened: OpenIndex, fields: dict[str, Any], settings: ServiceSettings) -> Any:
    """Return the answer to a search, with excerpts if the index has texts."""
    highlight = opened.searcher.index.stores_text
    request = SearchRequest.model_validate({**fields, "highlight": highlight})
    return search(opened, request, settings).answer


TOOLS: tuple[type[_Tool], ...] = (_Search, _Get, _Explain, _Similar, _Facets)


def tools_server(service: Service) -> Server[Any]:
    """Return the server of the tools, for any transport; indexes are searched in the threads of the service."""
    names = [served.name for served in service.indexes]
    listed = [_listed(tool, names) for tool in TOOLS]
    by_name = {tool.name: tool for tool in TOOLS}

    async def list_tools(context: Any, parameters: Any) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: Any, parameters: CallToolRequestParams) -> CallToolResult:
        tool = by_name.get(parameters.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool with this name; known: {', '.join(by_name)}")
        try:
            text = await _answer(service, tool, dict(parameters.arguments or {}))
        except TermwiseError as error:
            if status_of(error) == 500:
                logger.error("%s", error)
            return CallToolResult(content=[_text(_error_text(error))], is_error=True)
        except Exception:
            logger.exception("the tool %s failed", tool.name)
            return CallToolResult(content=[_text("the service failed; see its log")], is_error=True)
        return CallToolResult(content=[_text(text)], structured_content=from_json(text))

    return Server(
        "termwise",
        version=__version__,
        title="termwise",
        instructions=INSTRUCTIONS + "\n".join(map(_index_line, service.indexes)),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _answer(service: Service, tool: type[_Tool], given: dict[str, Any]) -> str:
    """Return the answer of a tool as JSON."""
    refuse_unknown(given, tool)
    try:
        asked = tool.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error, fix="see the input schema of the tool") from None
    names = [served.name for served in service.indexes]
    if not asked.index and len(names) > 1:
        raise ServiceError("the argument index is necessary", facts=[("known", ", ".join(names))])
    served = service.indexes[asked.index or names[0]]

    def work() -> str:
        try:
            return json_bytes(asked.call(served.current(), service.settings)).decode()
        except ValidationError as error:  # a limit of the request that the tool makes
            raise invalid_request(error, fix="see the input schema of the tool") from None

    return await service.pool.run(work)


def _listed(tool: type[_Tool], indexes: Sequence[str]) -> Tool:
    """Return the description of a tool, with the names of the indexes; a single index need not be named."""
    schema = tool.model_json_schema()
    del schema["title"]
    schema["properties"]["index"]["enum"] = list(indexes)
    if len(indexes) == 1:
        schema["properties"]["index"]["default"] = indexes[0]
    else:
        del schema["properties"]["index"]["default"]
        schema["required"] = ["index", *schema.get("required", ())]
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema,
        output_schema=TypeAdapter(tool.answer).json_schema(),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _index_line(served: ServedIndex) -> str:
    """Describe an index in a line of the instructions."""
    searcher = served.searcher()
    attributes = ", ".join(f"{name} ({kind})" for name, kind in searcher.schema.items())
    texts = "" if searcher.index.stores_text else "; keeps no texts, so that similar needs a text"
    languages = ", ".join(languages_of(searcher.analyzer))
    texts += f"; languages: {languages}" if languages else ""
    return f"Index {served.name}: {searcher.index.documents} documents; attributes: {attributes or 'none'}{texts}"


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _error_text(error: TermwiseError) -> str:
    """Return an error as lines of text: message, facts, and fixes."""
    record = error_record(error)
    facts = [f"{label}: {value}" for label, value in record.get("facts", {}).items()]
    return "\n".join([record["message"], *facts, *(f"fix: {fix}" for fix in record.get("fixes", ()))])


def serve_stdio(folders: Sequence[str], settings: ServiceSettings | None = None) -> None:
    """Answer the calls of one assistant on standard input and output, until the input ends.

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

    async def run() -> None:
        service = Service(folders, settings)
        server = tools_server(service)
        try:
            async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
                send, receive = anyio.create_memory_object_stream[SessionMessage | Exception]()
                tasks.start_soon(_answer_errors, incoming, outgoing.send, send)
                await server.run(receive, outgoing, server.create_initialization_options())
        finally:
            service.close()

    asyncio.run(run())


async def _answer_errors(
    incoming: AsyncIterable[SessionMessage | Exception],
    answer: Callable[[SessionMessage], Awaitable[None]],
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass messages on, and answer those that are no requests of the protocol, for which the server has no answer."""
    async with to_server:
        async for message in incoming:
            if isinstance(message, Exception):
                await answer(SessionMessage(_unreadable(message)))
            else:
                await to_server.send(message)


def _unreadable(error: Exception) -> JSONRPCError:
    """Return the answer to a line that cannot be read, with the identifier of the request if it has one."""
    code, request_id = PARSE_ERROR, None
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        given: object = None
        with suppress(ValueError, RecursionError):
            given = json.loads(
                str(first["input"])
            )  # Python reads half a character, which the protocol refuses
        if isinstance(given, dict) and type(given.get("id")) in (int, str):
            request_id = given["id"]
        if isinstance(given, dict) or first["type"] != "json_invalid":
            code = INVALID_REQUEST
    what = ErrorData(code=code, message="the line is no request in JSON-RPC 2.0")
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=what)


class ToolsEndpoint:
    """The tools over streamable HTTP: an ASGI application for one address.

    Each request is answered alone, in JSON, so that any process of the service can answer it, and no connection stays
    open. Limits and errors are those of the service; a key needs the role search.
    """

    def __init__(self, service: Service) -> None:
        self._access = service.access
        self._limits = service.settings.search_body
        self.manager = StreamableHTTPSessionManager(
            tools_server(service), json_response=True, stateless=True, max_request_body_size=self._limits.size
        )
        """To be run while the application runs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        self._access.check(request, "search")
        _check_origin(request)
        body = await body_of(request, self._limits)
        if len(body) > MOST_CALL:
            raise TooLargeError("the call of a tool is too large", facts=[("most bytes", MOST_CALL)])
        parsed_json(body)

        async def read() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self.manager.handle_request(scope, read, send)


def _check_origin(request: Request) -> None:
    """Refuse a request of a browser that comes from a page of another site."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        raise ForbiddenError("pages of other sites may not use this service", facts=[("origin", origin)])
