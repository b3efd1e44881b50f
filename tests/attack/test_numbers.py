"""Odd numbers, texts and shapes in every field: each answer is valid JSON, and none is an error of the service."""

import json
import random
import re
import time

import pytest
from tests.attack.services import SECONDS

from termwise.serve.requests import SearchRequest

ODD = [
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "-0",
        "-0.0",
        "1e308",
        "-1e308",
        "1e309",
        "1e-400",
        "0",
        "-1",
        "1.5",
        "1.0",
    ),
    *("9" * 400, "-" + "9" * 400, str(2**31), str(2**63 - 1), str(2**63), str(-(2**63) - 1), str(2**64)),
    *(
        "true",
        "null",
        '""',
        '"1"',
        '"NaN"',
        '" "',
        r'"\n"',
        r'"\ud800"',
        r'"a\u0000b"',
        r'"\u202eabc"',
        r'"e\u0301"',
    ),
    *(
        r'"\ufdfa"',
        r'"\uffff"',
        '"' + "\U0001f600" * 50 + '"',
        '"' + "a" * 5000 + '"',
        '"' + "\u0301" * 900 + '"',
    ),
    *("[]", "{}", "[null]", "[[]]", '{"a": 1}', r'["\udc00"]', "[1e999]", '["a", 1]', '{"a": 1, "a": 2}'),
    *("[" * 40 + "]" * 40, '{"a":' * 29 + "1" + "}" * 29),
]
FIELDS = ("price", "stock", "kind", "tags", "organic", "added")
OWN = "/v1/indexes/docs"
TEMPLATES = [
    *(
        (f"{OWN}/search", '{"query": "tea", "' + name + '": ODD}')
        for name in [*SearchRequest.model_fields, "unknown"]
        if name != "query"
    ),
    (f"{OWN}/search", '{"query": ODD}'),
    (f"{OWN}/search", '{"weights": {"tea": ODD}, "explain": true}'),
    (f"{OWN}/search", "ODD"),
    *(
        (f"{OWN}/search", '{"filter": {"field": "' + f + '", "' + op + '": ODD}}')
        for f in FIELDS
        for op in ("<", "=", ">=")
    ),
    *((f"{OWN}/search", '{"filter": {"field": "' + field + '", "in": [ODD]}}') for field in FIELDS),
    *((f"{OWN}/search", '{"ranges": {"' + field + '": {"x": [ODD, null]}}}') for field in FIELDS),
    (f"{OWN}/explain", '{"query": ODD, "doc_id": "d1"}'),
    (f"{OWN}/explain", '{"query": "tea", "doc_id": ODD}'),
    (f"{OWN}/explain", '{"query": "tea", "doc_id": "d1", "competitors": ODD}'),
    ("/v1/search", '{"query": "tea", "indexes": [{"index": "docs", "weight": ODD}]}'),
    ("/v1/search", '{"query": "tea", "indexes": ODD}'),
    ("/v1/search", '{"query": "tea", "indexes": [{"index": "docs"}], "depth": ODD}'),
    ("/docs/_search", '{"query": {"match": {"text": {"query": "tea", "boost": ODD}}}}'),
    ("/docs/_search", '{"query": {"match_all": {"boost": ODD}}}'),
    ("/docs/_search", '{"query": {"neural_sparse": {"text": {"query_tokens": {"tea": ODD}}}}}'),
    ("/docs/_search", '{"query": {"ids": {"values": [ODD]}}}'),
    ("/docs/_search", '{"query": {"term": {"price": ODD}}}'),
    ("/docs/_search", '{"query": {"range": {"added": {"gte": ODD}}}}'),
    ("/docs/_search", '{"query": ODD}'),
    ("/docs/_search", '{"size": ODD}'),
    ("/docs/_search", '{"from": ODD}'),
    ("/docs/_search", '{"sort": [ODD]}'),
    ("/docs/_search", '{"_source": ODD}'),
    ("/docs/_search", '{"track_total_hits": ODD}'),
    ("/docs/_search", '{"aggs": {"a": {"range": {"field": "stock", "ranges": [{"from": ODD}]}}}}'),
    (
        "/docs/_search",
        '{"query": {"match": {"text": "tea"}}, "highlight": {"fields": {"text": {"fragment_size": ODD}}}}',
    ),
    ("/docs/_mget", '{"ids": [ODD]}'),
    ("/_msearch", '{"index": ODD}\n{}\n'),
    ("/_msearch", '{"index": "docs"}\nODD\n'),
    ("/mcp", '{"jsonrpc": "2.0", "id": ODD, "method": "tools/list"}'),
    ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": ODD}'),
    ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ODD}'),
    (
        "/mcp",
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": ODD}}',
    ),
    (
        "/mcp",
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", '
        '"params": {"name": "search", "arguments": {"query": ODD}}}',
    ),
]


def refuse(name: str):
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(name)


def check(answer, what: object) -> None:
    """Assert that an answer has no 5xx status, and that its body is valid JSON."""
    assert answer.status_code < 500, (what, answer.text)
    kind = answer.headers.get("content-type", "")
    if "json" in kind and answer.content:
        for line in answer.content.splitlines() if "ndjson" in kind else [answer.content]:
            json.loads(line.decode("utf-8"), parse_constant=refuse)
        assert not re.search(rb"\\u[dD][89a-fA-F]", answer.content), what


def test_odd_values_in_searches(service):
    """Every combination of a field and an odd value, as far as the time goes, is answered or refused."""
    pairs = [(path, template, odd) for path, template in TEMPLATES for odd in ODD]
    random.Random(4).shuffle(pairs)
    end = time.monotonic() + SECONDS
    for number, (path, template, odd) in enumerate(pairs):
        if time.monotonic() > end and number > 400:
            break
        header = {"content-type": "application/x-ndjson" if "msearch" in path else "application/json"}
        header["accept"] = "application/json, text/event-stream"
        body = template.replace("ODD", odd)
        check(service.client.post(path, content=body.encode(), headers=header), (path, body[:300]))


@pytest.mark.parametrize(
    "name", ["k", "offset", "query", "filter", "sort", "fuzzy", "total", "facets", "like"]
)
def test_odd_values_in_addresses(service, name):
    """The same for parameters of an address."""
    for odd in ODD:
        if "\\ud" not in odd:
            check(service.client.get(f"{OWN}/search", params={name: odd.strip('"')}), (name, odd))


def test_odd_values_in_changes(living):
    """Odd documents are stored as they are, or refused as a whole; the index stays intact."""
    service, _ = living
    line = {"content-type": "application/x-ndjson"}
    for number, odd in enumerate(ODD):
        if number % 2 and SECONDS < 5:
            continue
        for field in FIELDS:
            body = f'{{"text": "odd", "{field}": {odd}}}'.encode()
            answer = service.client.put(
                f"{OWN}/documents/n", content=body, headers={"content-type": "application/json"}
            )
            check(answer, body[:200])
            if field == "price" and answer.status_code in (200, 201) and odd not in ("null", "[]", "{}"):
                stored = service.client.get(f"{OWN}/documents/n").json()["attributes"]
                if odd.startswith("{"):  # its fields are attributes of their own
                    assert stored == {"price.a": json.loads(odd)["a"]}, odd
                elif odd.startswith('"'):  # an empty string is a missing number
                    assert json.loads(odd).strip() == "", odd
                    assert "price" not in stored, odd
                else:
                    assert stored["price"] == float(odd), odd
            if SECONDS < 5:
                break  # one field for each value
        lines = [f'{{"_id": {odd}, "text": "x"}}', f'{{"delete": {odd}}}', f'{{"patch": {odd}}}', odd]
        lines.append(f'{{"_id": "m", "text": {odd}}}')
        answer = service.client.post(
            f"{OWN}/documents", content="\n".join(lines).encode() + b"\n", headers=line
        )
        check(answer, lines)
        lines = [
            f'{{"index": {{"_id": {odd}}}}}',
            '{"text": "y"}',
            '{"update": {"_id": "d1"}}',
            f'{{"doc": {odd}}}',
        ]
        answer = service.client.post("/docs/_bulk", content="\n".join(lines).encode() + b"\n", headers=line)
        check(answer, lines)
    assert service.client.post(f"{OWN}/verify").json()["intact"] is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\u0301" * 50_000,
        "a" * 200_000,
        "tea." * 50_000,
        "\u202etea\u202c",
        "\U0001f469\u200d" * 20_000,
        "漢" * 50_000,
    ],
    ids=["empty", "space", "combining", "one word", "dots", "right to left", "joiners", "ideographs"],
)
def test_odd_texts(service, text):
    """Odd texts as queries and examples are answered soon."""
    begin = time.monotonic()
    for body in ({"query": text[:3999]}, {"like_text": text[:3999]}, {"query": "tea", "must": [text[:1999]]}):
        check(service.client.post(f"{OWN}/search", json={**body, "fuzzy": "query" in body}), body)
    check(service.client.get(f"{OWN}/suggest", params={"text": text[:1000]}), text[:20])
    check(service.client.get("/", params={"q": text[:1000]}, headers={"accept": "text/html"}), text[:20])
    assert time.monotonic() - begin < 5
