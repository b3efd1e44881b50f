"""The tools for assistants, called with the official client: in memory, over stdio, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.unit.serve.conftest import served

import termwise
from termwise.serve import KeyFile, ServiceSettings, create_app
from termwise.serve.mcp_server import TOOLS, tools_server
from termwise.serve.server import listen
from termwise.serve.service import Service

Use = Callable[[Client], Awaitable[Any]]

NAMES = ["search", "get", "explain", "similar", "facets"]


def _in_memory(folders: list[str], use: Use, settings: ServiceSettings | None = None) -> Any:
    async def run() -> Any:
        service = Service(folders, settings or ServiceSettings(threads=2))
        try:
            async with Client(tools_server(service)) as client:
                return await use(client)
        finally:
            service.close()

    return asyncio.run(run())


def _called(folder: Path, name: str, settings: ServiceSettings | None = None, **arguments: Any) -> Any:
    """Return the result of one call; the client checks the answer against the output schema."""
    return _in_memory([str(folder)], lambda client: client.call_tool(name, arguments), settings)


def test_tools_are_described(shop: Path) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = _in_memory([str(shop)], use)
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS] == NAMES
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint
        assert tool.input_schema["properties"]["index"]["default"] == "shop"
        assert tool.output_schema["type"] == "object"
        assert all(each.get("description") for each in tool.input_schema["properties"].values())
    assert (
        "Index shop: 5 documents; attributes: kind (keyword), price (integer), tags (keywords)"
        in instructions
    )


def test_options_that_a_tool_does_not_state_are_those_of_the_relevance_file(
    shop: Path, tmp_path: Path
) -> None:
    file = tmp_path / "relevance.json"
    file.write_text('{"search": {"match": "all", "fuzzy": true}}')
    settings = ServiceSettings(relevance=(str(file),))

    def found(**arguments: Any) -> set[str]:
        answer = _called(shop, "search", settings, query="gren tea", **arguments).structured_content
        return {hit["doc_id"] for hit in answer["hits"]}

    assert found() == {"sencha", "genmaicha"}
    assert found(fuzzy=False) == set()


def test_a_search_returns_what_the_searcher_returns(shop: Path) -> None:
    ranking = termwise.open(shop).rank("green tea", k=2, filter="price < 20")
    result = _called(shop, "search", query="green tea", k=2, filter="price < 20")
    hits = result.structured_content["hits"]
    assert [(hit["doc_id"], hit["score"]) for hit in hits] == [(each.doc_id, each.score) for each in ranking]
    excerpt = hits[0]["excerpt"]
    assert [excerpt["text"][start:end] for start, end in excerpt["marks"]] == ["green", "tea"]
    assert not result.is_error
    assert '"hits"' in result.content[0].text


def test_a_search_without_words_lists_documents(shop: Path) -> None:
    found = _called(shop, "search", filter='kind = "green"', sort="price", k=2).structured_content["hits"]
    expected = termwise.open(shop).rank(None, filter='kind = "green"', sort="price", k=2)
    assert expected
    assert [hit["doc_id"] for hit in found] == list(expected.doc_ids)


def test_a_document_is_read_explained_and_compared(shop: Path) -> None:
    async def use(client: Client) -> list[Any]:
        calls = [
            ("get", {"doc_id": "mint/fresh"}),
            ("explain", {"query": "green tea", "doc_id": "sencha"}),
            ("similar", {"doc_id": "sencha", "k": 1}),
            ("similar", {"text": "green tea from Uji, grassy and fresh", "k": 1}),
            ("facets", {"facets": ["kind"], "query": "tea", "filter": "price < 20"}),
            ("facets", {"facets": ["tags"]}),
        ]
        return [(await client.call_tool(*call)).structured_content for call in calls]

    got, explained, like, like_text, of_query, of_all = _in_memory([str(shop)], use)
    assert got["text"] == "peppermint leaves & <b>nothing</b> else"
    assert got["attributes"] == {"price": 5, "kind": "herb"}
    parts = explained["explanation"]
    total = parts["constant"] + sum(part["score"] for part in parts["contributions"])
    assert total == pytest.approx(parts["score"])
    assert parts["rank"] == termwise.open(shop).rank("green tea", k=5).doc_ids.index("sencha") + 1
    assert [hit["doc_id"] for hit in like["hits"]] == ["genmaicha"]
    assert [hit["doc_id"] for hit in like_text["hits"]] == ["genmaicha"]
    for answer in (like, like_text):
        excerpt = answer["hits"][0]["excerpt"]
        assert [excerpt["text"][start:end] for start, end in excerpt["marks"]] == ["green", "tea"]
    assert of_query["facets"] == {
        "kind": [{"value": "green", "documents": 2}, {"value": "black", "documents": 1}]
    }
    assert of_all["facets"] == {"tags": [{"value": "loose", "documents": 1}]}


def test_the_language_of_a_query(tmp_path: Path) -> None:
    texts = {"de": "Gift gegen Motten", "en": "a gift for the winter"}
    documents = [termwise.Document(lang, text, {"lang": lang}) for lang, text in texts.items()]
    termwise.build_index(documents, tmp_path / "tw", analyzer="by-attribute:lang", store_text=True)

    async def use(client: Client) -> Any:
        gift = {"query": "gift", "lang": "en"}
        calls = [
            ("search", gift),
            ("explain", {**gift, "doc_id": "en"}),
            ("explain", {"query": "gift", "doc_id": "en"}),
        ]
        return client.instructions, [(await client.call_tool(*call)).structured_content for call in calls]

    instructions, (found, *explained) = _in_memory([str(tmp_path / "tw")], use)
    assert "; languages: de, en" in instructions
    assert [hit["doc_id"] for hit in found["hits"]] == ["en"]
    terms = [[term["term"] for term in each["explanation"]["contributions"]] for each in explained]
    assert terms == [["en:gift"], ["en:gift", "de:gift"]]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search", {"query": "tea", "filter": "colour = 3"}, ["colour", "known"]),
        ("search", {"query": "tea", "k": 5000}, ["larger", "most: 1000"]),
        ("search", {"query": "tea", "limit": 3}, ["limit", "offset"]),
        ("explain", {"doc_id": "sencha"}, ["query"]),
        ("search", {"query": "tea", "index": "none"}, ["no such index", "known: shop"]),
        ("get", {"doc_id": "none"}, ["no such document"]),
        ("similar", {}, ["one of doc_id"]),
        ("facets", {"facets": []}, ["facets"]),
        ("facets", {"facets": ["colour"]}, ["colour"]),
    ],
)
def test_a_wrong_call_is_an_error_of_the_tool(
    shop: Path, name: str, arguments: dict[str, Any], words: list[str]
) -> None:
    result = _called(shop, name, **arguments)
    text = result.content[0].text
    assert result.is_error
    assert [word for word in words if word not in text] == [], text
    assert "Traceback" not in text
    assert str(shop) not in text


def test_errors_of_the_service_are_hidden(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("termwise.serve.mcp_server.document_record", fails)
    result = _called(shop, "get", doc_id="pot")
    assert result.is_error
    assert result.content[0].text == "the service failed; see its log"


def test_an_unknown_tool_is_an_error_of_the_protocol(shop: Path) -> None:
    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("delete", {})

    _in_memory([str(shop)], use)


def test_limits_of_the_service_hold(shop: Path) -> None:
    result = _called(shop, "search", ServiceSettings(threads=1, max_query=10), query="x" * 11)
    assert result.is_error
    assert "longer" in result.content[0].text
    result = _called(shop, "search", ServiceSettings(threads=1, timeout=1e-9), query="tea")
    assert result.is_error
    assert "in time" in result.content[0].text


def test_several_indexes_are_named(shop: Path, tmp_path: Path) -> None:
    termwise.build_index([termwise.Document("book", "a book of tea")], tmp_path / "books.tw")

    async def use(client: Client) -> Any:
        (tool, *_) = (await client.list_tools()).tools
        assert tool.input_schema["required"] == ["index"]
        assert tool.input_schema["properties"]["index"]["enum"] == ["shop", "books"]
        found = await client.call_tool("search", {"index": "books", "query": "tea"})
        assert "excerpt" not in found.structured_content["hits"][0]  # this index keeps no texts
        similar = await client.call_tool("similar", {"index": "books", "text": "a tea book"})
        assert [set(hit) for hit in similar.structured_content["hits"]] == [
            {"rank", "doc_id", "score", "attributes"}
        ]
        return await client.call_tool("search", {"query": "tea"})

    without = _in_memory([str(shop), str(tmp_path / "books.tw")], use)
    assert without.is_error
    assert without.content[0].text == "the argument index is necessary\nknown: shop, books"


def test_stdio_carries_the_protocol_alone(shop: Path) -> None:
    command = ["-P", "-m", "termwise", "serve", str(shop), "--mcp", "stdio"]
    environment = {"PYTHONPATH": str(Path(termwise.__file__).parents[1])}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)

    async def run() -> Any:
        async with Client(stdio_client(server)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            return await client.call_tool("search", {"query": "fresh tea", "k": 1})

    assert asyncio.run(run()).structured_content["hits"][0]["doc_id"] == "sencha"


def test_every_line_of_stdio_is_answered(shop: Path) -> None:
    """Lines that are no requests were dropped, so that an assistant waited for ever."""
    lines = (
        b"{",
        b"[" * 50_000,
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"\\ud800"}}}',
        b'{"jsonrpc":"1.0","id":"a","method":"ping"}',
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(termwise.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "termwise", "serve", str(shop), "--mcp", "stdio"],
        input=b"\n".join(lines) + b"\n",
        env=environment,
        capture_output=True,
        timeout=120,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [
        *((None, -32700) for _ in range(3)),
        (7, -32600),
        (None, -32600),
    ]


@pytest.fixture
def running(shop: Path, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Return the address of a running service with keys, and a key."""
    file = KeyFile(tmp_path / "keys.json")
    key = file.create("search")
    app = create_app([str(shop)], ServiceSettings(threads=2, mcp=True, keys=file.path, hosts=("127.0.0.1",)))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", key
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


def test_the_service_offers_the_tools_over_http(running: tuple[str, str]) -> None:
    address, key = running

    async def run(mode: str) -> Any:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as connection,
            Client(streamable_http_client(f"{address}/mcp", http_client=connection), mode=mode) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
            answers = [client.call_tool("search", {"query": "fresh tea", "k": 1}) for _ in range(8)]
            return [each.structured_content["hits"] for each in await asyncio.gather(*answers)]

    for mode in ("auto", "legacy"):
        for hits in asyncio.run(run(mode)):
            assert [hit["doc_id"] for hit in hits] == ["sencha"]

    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json"}
    with httpx2.Client(base_url=address) as client:
        assert client.post("/mcp", json=message, headers=accept).status_code == 401
        accept["authorization"] = f"Bearer {key}"
        assert len(client.post("/mcp", json=message, headers=accept).json()["result"]["tools"]) == 5
        assert client.get("/mcp", headers=accept).status_code == 405
        for header, status in [("host", 421), ("origin", 403)]:
            foreign = {**accept, header: "http://evil.example" if header == "origin" else "evil.example"}
            assert client.post("/mcp", json=message, headers=foreign).status_code == status
        same = {**accept, "origin": address}
        assert client.post("/mcp", json=message, headers=same).status_code == 200
        typed = {**accept, "content-type": "text/plain"}
        assert client.post("/mcp", content=b"{}", headers=typed).status_code == 415


def test_without_the_setting_there_are_no_tools(shop: Path) -> None:
    with served([str(shop)]) as client:
        assert client.post("/mcp", json={}).status_code == 404
