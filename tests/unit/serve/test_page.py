"""The page of the service, in one process."""

from __future__ import annotations

import html
import json
import logging
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import TEAS, served

import termwise
from termwise.fusion.mixture import mix_indexes
from termwise.records import Document
from termwise.serve import KeyFile, ServiceSettings

HTML = {"accept": "text/html,application/xhtml+xml"}

HOSTILE = "<b>bold</b> \"double\" 'single' \u202eevil & <script>alert(1)</script> \x1b[31m"


def page(client: TestClient, url: str, status: int = 200) -> str:
    answer = client.get(url, headers=HTML)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def words(text: str) -> str:
    """Return the text of a page without its tags."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


def titles(text: str) -> list[str]:
    links = re.findall(r'<h3 [^>]*><a [^>]*dir="auto">(.*?)</a>', text)
    return [html.unescape(re.sub("</?mark>", "", each)) for each in links]


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[TestClient]:
    """Return a client of an index whose texts, identifiers and attributes are written by an attacker."""
    documents = [
        Document(f"id {HOSTILE}", f"tea {HOSTILE} end", {"kind": HOSTILE, "title": f"title {HOSTILE}"}),
        Document("../../etc/passwd?x=1#y", "tea again", {"kind": HOSTILE}),
    ]
    termwise.build_index(documents, tmp_path / "hostile.tw", store_text=True)
    with served([str(tmp_path / "hostile.tw")]) as client:
        yield client


@pytest.fixture
def mixed(tmp_path: Path, shop: Path) -> Iterator[TestClient]:
    """Return a client of a mixture of two rankers, and of one of them alone."""
    second = tmp_path / "jm.tw"
    searcher = termwise.build_index(TEAS, second, model="jm", store_text=True)
    indexes = [termwise.open(shop).index, searcher.index]
    mix_indexes(indexes, [0.6, 0.4], tmp_path / "mixed.tw", names=["bm25", "jm"])
    with served([str(tmp_path / "mixed.tw"), str(second)]) as client:
        yield client


def test_results_facets_order_and_explanations(client: TestClient) -> None:
    text = page(client, "/?q=green+tea")
    assert titles(text)[0] == "green tea with roasted rice"
    assert "1–4 of 4 results" in words(text)
    assert "<mark>green</mark>" in text
    kinds = re.findall(r'name="is.kind" value="(\w+)"', text)
    assert kinds == ["green", "black", "ware"]
    assert 'name="is.tags"' not in text, "no value has several documents"
    assert 'href="/?index=shop&amp;like=sencha"' in text
    cheapest = page(client, "/?q=tea&sort=price")
    assert titles(cheapest)[0] == "black tea from India, strong and malty"
    assert '<option value="price" selected>price, low to high</option>' in cheapest


def test_filters_in_the_address(client: TestClient) -> None:
    text = page(client, "/?q=tea&is.kind=green&is.kind=ware&min.price=10&max.price=")
    assert len(titles(text)) == 2
    assert re.findall(r'name="is.kind" value="(\w+)" data-submit checked', text) == ["green", "ware"]
    assert 'href="/?index=shop&amp;q=tea&amp;is.kind=ware&amp;min.price=10"' in text, "removes one value"
    assert "kind: green" in words(text)
    assert "price from 10" in words(text)
    black = re.search(
        r'value="black" data-submit> <bdi class="value">black</bdi> <span class="count">(\d+)', text
    )
    assert black is None, "no black tea costs 10 or more"
    assert 'value="black"' in page(client, "/?q=tea&is.kind=green"), "other values can be added"


def test_all_filters_are_cleared_by_one_link(client: TestClient) -> None:
    for search, cleared in [
        ("/?q=tea&sort=price&is.kind=green&max.price=9", "/?index=shop&q=tea&sort=price"),
        ("/?is.kind=green", "/?index=shop&all=1"),
    ]:
        assert f'href="{html.escape(cleared)}">Clear all filters</a>' in page(client, search)
    assert "Clear all filters" not in page(client, "/?q=tea&sort=price")


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [("max.price=abc", "text"), ("max.price=1_0", "text"), ("min.price=-1.5&max.price=1e3", "number")],
)
def test_a_bound_stays_as_it_was_typed(client: TestClient, bounds: str, kind: str) -> None:
    text = page(client, f"/?q=tea&{bounds}", 400 if "abc" in bounds else 200)
    for bound in bounds.split("&"):
        name, value = bound.split("=")
        assert f'<input type="{kind}" form="searching" name="{name}" value="{value}"' in text


def test_filters_of_another_index_are_left_out(client: TestClient) -> None:
    text = page(client, "/?q=tea&is.colour=red&sort=-size&min.weight=3")
    assert "no such attribute: colour, weight, size" in words(text)
    assert len(titles(text)) == 4


def test_documents_are_listed_without_words(client: TestClient) -> None:
    assert 'href="/?index=shop&amp;all=1"' in page(client, "/")
    everything = page(client, "/?all=1")
    assert "1–5 of 5 documents" in words(everything)
    assert len(titles(everything)) == 5
    assert 'class="because"' not in everything, "no score to explain"
    assert '<input type="hidden" name="all" value="1">' in everything, (
        "a filter that is removed lists all again"
    )
    assert len(titles(page(client, "/?all=1&q="))) == 5
    green = page(client, "/?q=&is.kind=green")
    assert set(titles(green)) == {"green tea from Uji, grassy and fresh", "green tea with roasted rice"}
    assert 'value="green" data-submit checked' in green
    assert len(titles(page(client, "/?min.price=12"))) == 2
    assert titles(page(client, "/?sort=-price"))[0] == "a pot for tea, of clay"
    assert len(titles(page(client, "/?q=kind:green"))) == 2, "a query of conditions only"
    assert len(titles(page(client, "/?q=-tea"))) == 1
    other = page(client, "/?is.colour=red")
    assert "no such attribute: colour" in words(other)
    assert len(titles(other)) == 5
    assert "<h3" not in page(client, "/")


@pytest.mark.parametrize(
    ("query", "message", "fix"),
    [
        ('"green', "a quote of the query is not closed", "write a phrase in two quotes"),
        ("colour:red", "unknown attribute 'colour'", "write a space after the colon"),
        ("price:cheap", "expected a number", "write a space after the colon"),
        ("tea " * 2000, "query is longer than this service allows", "shorten it"),
        ("+the tea", "as it does with stop words", "omit it"),
    ],
)
def test_a_refused_query_stays_in_the_box_with_the_filters(
    client: TestClient, query: str, message: str, fix: str
) -> None:
    text = page(client, f"/?q={quote(query)}&is.kind=green&max.price=10", 400)
    assert (
        f'name="q" type="search" value="{html.escape(query.strip(), quote=False)}"'.replace('""', '"&#34;')
        in text
    )
    assert 'value="green" data-submit checked' in text
    assert 'name="max.price" value="10"' in text
    assert "kind: green" in words(text)
    assert message in words(text)
    assert fix in words(text)


@pytest.mark.parametrize("busy", [False, True])
def test_a_search_without_an_answer_can_be_repeated(shop: Path, busy: bool) -> None:
    settings = ServiceSettings(threads=1, timeout=30.0 if busy else 1e-9)
    with served([str(shop)], settings) as client:
        if busy:
            client.app.state.service.pool.pending = 1_000_000  # type: ignore[attr-defined]
        search = "/?index=shop&q=tea&sort=price&fuzzy=1&page=2&is.kind=green&max.price=10"
        text = page(client, search, 503)
        message = "too many searches to answer" if busy else "the answer was not ready in time"
        assert f"{message} . Try again.".replace(" .", ".") in words(text)
        assert f'<a href="{html.escape(search)}">Try again.</a>' in text
        assert 'name="q" type="search" value="tea"' in text
        assert 'value="green" data-submit checked' in text
        assert 'name="max.price" value="10"' in text
        assert '<option value="price" selected>' in text
        assert client.get(search, headers=HTML).headers["retry-after"] == "1"
        compared = page(client, "/compare?q=tea&a=shop&b=shop", 503)
        assert 'href="/compare?q=tea&amp;a=shop&amp;b=shop">Try again.' in compared


def test_a_search_in_an_unknown_index_keeps_its_words_and_filters(client: TestClient) -> None:
    text = page(client, "/?index=shops&q=tea&is.kind=green&max.price=10", 404)
    assert "the service has no such index" in words(text)
    assert 'name="q" type="search" value="tea"' in text
    assert 'value="green" data-submit checked' in text
    assert 'name="max.price" value="10"' in text
    assert "Try again" not in text


def test_the_log_names_the_index_of_a_search(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "termwise.serve.requests"):
        for url in ("/?index=shop&q=tea", "/?q=tea", "/?index=a%20secret&q=tea", "/indexes/shop"):
            client.get(url, headers=HTML)
    logged = [json.loads(record.message)["index"] for record in caplog.records]
    assert logged == ["shop", "shop", "", "shop"]


def test_fixes_are_for_the_page(tmp_path: Path) -> None:
    termwise.build_index([Document("a", "green tea"), Document("b", "tea")], tmp_path / "bare.tw")
    termwise.build_index([Document("a", "green tea")], tmp_path / "jm.tw", model="jm")
    with served([str(tmp_path / "bare.tw"), str(tmp_path / "jm.tw")]) as client:
        for url in ("/?q=", "/compare?q="):
            for query in ("colour:red", '"green tea"'):
                text = page(client, url + quote(query), 400)
                assert "`" not in words(text)
                assert "space after the colon" in text if ":" in query else "leave out the quotes" in text
                assert 'type="search"' in text
        similar = words(page(client, "/?like=a", 400))
        assert "keeps no texts, so it cannot find documents like another one" in similar


def test_a_day_is_included_to_its_end(tmp_path: Path) -> None:
    times = ["2024-01-30T08:00:00Z", "2024-01-31T18:30:00Z", "2024-02-01T00:00:00Z"]
    lines = [{"_id": f"d{n}", "text": "tea", "added": each} for n, each in enumerate(times)]
    (tmp_path / "teas.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    termwise.build_index(tmp_path / "teas.jsonl", tmp_path / "teas.tw", attributes="all")
    with served([str(tmp_path / "teas.tw")]) as client:
        text = page(client, "/?max.added=2024-01-31&sort=-added")
        assert titles(text) == ["d1", "d0"]
        assert '<input type="date" form="searching" name="max.added" value="2024-01-31"' in text


def test_a_document_leads_back_to_its_search(client: TestClient) -> None:
    text = page(client, "/?q=tea&is.kind=green&sort=price")
    url = html.unescape(re.findall(r'<h3 [^>]*><a href="([^"]*)"', text)[1])
    document = page(client, url)
    assert 'href="/?index=shop&amp;q=tea&amp;sort=price&amp;is.kind=green">← Results for' in document
    assert "rank 1 for" in words(document) or "rank 2 for" in words(document), "among the green ones"
    listed = page(client, "/indexes/shop/document?id=pot&all=1")
    assert 'href="/?index=shop&amp;all=1">← Documents' in listed
    like = words(page(client, "/indexes/shop/document?id=genmaicha&like=sencha"))
    assert "rank 1 for “ green tea from Uji, grassy and fresh ”" in like


def test_facets_of_truth_values(tmp_path: Path) -> None:
    documents = [Document(f"d{number}", "tea", {"organic": number > 0}) for number in range(3)]
    termwise.build_index(documents, tmp_path / "teas.tw")
    with served([str(tmp_path / "teas.tw")]) as client:
        text = page(client, "/?q=tea&is.organic=true")
        assert titles(text) == ["d1", "d2"]
        assert 'value="true" data-submit checked> <bdi class="value">yes</bdi> <span class="count">2' in text
        assert "organic: yes" in words(text)
        refused = page(client, "/?q=tea&is.organic=maybe", 400)
        assert "The value is true or false".lower() in words(refused)
        assert 'value="maybe" data-submit checked' in refused


def test_the_rows_of_why_add_up_to_the_score(client: TestClient) -> None:
    text = page(client, "/?q=green+tea+rice")
    tables = re.findall(r'<table class="why">.*?</table>', text, re.S)
    assert len(tables) == 4
    for table in tables:
        *rows, total = [float(each) for each in re.findall(r'<td class="num">([\d.]+)</td>', table)]
        assert sum(rows) == pytest.approx(total, abs=1e-9)
        assert re.findall(r'<span class="origin (\w+)"', table) == ["exact"] * len(rows)


def test_words_of_similar_spelling(client: TestClient) -> None:
    text = page(client, "/?q=pepermint")
    assert "Did you mean peppermint ?" in words(text)
    assert "No results" in text
    fuzzy = page(client, "/?q=pepermint&fuzzy=1")
    assert 'class="origin fuzzy"' in fuzzy
    assert "Also searched for peppermint" in words(fuzzy)
    assert "Also searched for" not in text
    assert "Did you mean" not in fuzzy, "it leads to the same results"
    assert "Did you mean" not in page(client, "/?q=pepermint+-leaves&is.kind=green"), "it leads to no results"
    assert "similar spelling" in words(fuzzy)
    (url,) = re.findall(r'<h3 [^>]*><a href="([^"]*)"', fuzzy)
    document = page(client, html.unescape(url))
    assert 'class="origin fuzzy"' in document
    assert '<mark class="fuzzy">peppermint</mark>' in document


def test_more_like_a_document(client: TestClient) -> None:
    text = page(client, "/?like=sencha")
    assert "green tea from Uji, grassy and fresh" not in titles(text)
    assert "Documents like green tea from Uji, grassy and fresh" in words(text)
    assert '<input type="hidden" name="like" value="sencha">' in text
    green = page(client, "/?q=&like=sencha&is.kind=green")
    assert titles(green) == ["green tea with roasted rice"]
    assert 'href="/?index=shop&amp;like=sencha"' in green, "removes the filter"
    assert page(client, "/?q=clay&like=sencha").count("<h3") == 1, "a query replaces the document"


def test_pages(tmp_path: Path) -> None:
    documents = [Document(f"d{number:03}", f"tea number {number}") for number in range(95)]
    termwise.build_index(documents, tmp_path / "many.tw")
    with served([str(tmp_path / "many.tw")], ServiceSettings(threads=2, max_results=45)) as client:
        text = page(client, "/?q=tea&page=3")
        assert re.findall(r'aria-label="Page (\d)"', text) == ["1", "2", "3", "4", "5"]
        assert "21–30 of 95 results" in words(text)
        assert '<ol class="results" start="21">' in text
        assert 'href="/?index=many&amp;q=tea&amp;page=4" rel="next"' in text
        assert 'href="/?index=many&amp;q=tea&amp;page=2" rel="prev"' in text
        last = page(client, "/?q=tea&page=5")
        assert "41–45 of 95 results" in words(last), "the last page is not full"
        assert 'rel="next"' not in last
        assert "shows the first 45 results" in words(last)
        assert 'href="/?index=many&amp;q=tea&amp;page=9"' not in last
        for number in ("6", "0", "x"):
            beyond = page(client, f"/?q=tea&page={number}", 400)
            assert "there is no such page of results" in words(beyond)
            assert 'name="q" type="search" value="tea"' in beyond


def test_a_document_has_its_text_attributes_and_heaviest_terms(client: TestClient, shop: Path) -> None:
    text = page(client, "/indexes/shop/document?id=mint/fresh&q=peppermint")
    assert "peppermint leaves &amp; &lt;b&gt;nothing&lt;/b&gt; else" in text.replace(
        '<mark class="exact">', ""
    ).replace("</mark>", "")
    assert '<mark class="exact">peppermint</mark>' in text
    assert "price 5" in words(text)
    assert "rank 1 for" in words(text)
    index = termwise.open(shop).index
    _, weights = index.weights(index.find_many(["mint/fresh"])).row(0)
    shown = re.findall(
        r'<tr><th scope="row"><bdi>([^<]+)</bdi></th><td class="num">1</td><td class="num">([\d.]+)', text
    )
    assert {"peppermint", "leaves (leaf)", "nothing"} <= {word for word, _ in shown}, (
        "words of the text, not their stems"
    )
    assert [weight for _, weight in shown] == [f"{weight:.3f}" for weight in sorted(weights, reverse=True)]
    page(client, "/indexes/shop/document?id=none", 404)


def test_an_index(client: TestClient) -> None:
    text = words(page(client, "/indexes/shop"))
    assert "documents 5" in text
    assert "price integer" in text
    assert "bm25" in text
    cells = dict(re.findall(r'data-name="(\w+)">([^<]+)', page(client, "/indexes/shop")))
    assert list(cells) == ["Analyzer", "Weight", "Terms", "Postings", "Segments", "Deleted"]
    assert (cells["Segments"], cells["Deleted"]) == ("1", "0")
    assert 'About this index</a> · <a href="/docs">API</a>' in page(client, "/indexes/shop"), "in the footer"
    assert "no such index" in words(page(client, "/indexes/none", 404))


def test_two_rankers_side_by_side(mixed: TestClient) -> None:
    text = page(mixed, "/compare?q=green+tea&a=mixed/bm25&b=jm")
    assert re.findall(r"<option>([\w/]+)</option>", text) == [
        "mixed",
        "mixed/jm",
        "jm",
        "mixed",
        "mixed/bm25",
        "mixed/jm",
    ]
    ranks = [
        [int(each) for each in re.findall(r'<span class="rank">(\d+)', side)]
        for side in text.split('<svg class="lines"')
    ]
    assert ranks == [[1, 2, 3, 4], [1, 2, 3, 4]]
    assert "4 results in common" in words(text)
    assert len(re.findall(r'<path class="(?:same|up|down)" d="M0 \d+ C50', text)) == 4
    assert "no such ranker" in words(page(mixed, "/compare?q=tea&a=mixed/none", 404))


def test_lines_of_a_comparison_lead_from_rank_to_rank(mixed: TestClient) -> None:
    orders = []
    for name in ("mixed/bm25", "jm"):
        text = page(mixed, f"/compare?q=green+tea&a={name}&b={name}")
        orders.append(re.findall(r"document\?id=([\w%]+)&", text)[:4])
    both = page(mixed, "/compare?q=green+tea&a=mixed/bm25&b=jm")
    drawn = re.findall(r'<path class="(\w+)" d="M0 (\d+) C50 \d+ 50 \d+ 100 (\d+)"', both)
    assert [(int(start) // 48, int(end) // 48) for _, start, end in drawn] == [
        (rank, orders[1].index(doc_id)) for rank, doc_id in enumerate(orders[0])
    ]


def test_a_result_of_one_ranker_alone_is_a_link_and_named_so(shop: Path, tmp_path: Path) -> None:
    termwise.build_index([Document("cup", "a cup for tea")], tmp_path / "cups.tw")
    with served([str(shop), str(tmp_path / "cups.tw")]) as client:
        rows = re.findall(r'<li class="only">(.*?)</li>', page(client, "/compare?q=tea&a=shop&b=cups"))
    assert len(rows) == 5
    for row in rows:
        assert re.fullmatch(r'<a href="/indexes/.*</a> <span class="change">only here</span>', row)


def test_one_ranker_cannot_be_compared(client: TestClient) -> None:
    assert "This service has one ranker" in words(page(client, "/compare?q=tea"))


def test_parts_of_a_mixture_are_explained(mixed: TestClient) -> None:
    text = words(page(mixed, "/?q=green+tea"))
    assert "green in bm25" in text
    assert "average in jm" in text
    text = page(mixed, "/indexes/mixed/document?id=pot")
    assert [words(each) for each in re.findall(r'<h2 id="terms-.*?</h2>', text)] == [
        "Heaviest terms in bm25",
        "Heaviest terms in jm",
    ]


def test_the_page_has_no_advice_for_those_who_build_the_index(client: TestClient) -> None:
    def reasons(query: str) -> list[str]:
        found: list[str] = client.post("/v1/indexes/shop/search", json={"query": query}).json()["reasons"]
        return found

    for query, advice in (("zebra", "exact terms"), ("herb", "is a value of kind"), ("お茶", "analyzer cjk")):
        assert any(advice in reason for reason in reasons(query))
        text = words(page(client, f"/?q={query}"))
        assert f"not in the index: {query}" in text
        assert advice not in text


def test_nonsense_finds_nothing_over_http_and_on_the_page(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "teas.tw", model="instant", store_text=True)
    with served([str(tmp_path / "teas.tw")]) as client:
        answer = client.post("/v1/indexes/teas/search", json={"query": "asdkjhqwe"}).json()
        assert answer["hits"] == []
        reason = "documents that are near in meaning are left out, because only pieces are known of the words"
        assert answer["reasons"][-1] == reason
        request = {"query": "asdkjhqwe", "min_relevance": 0, "explain": True}
        every = client.post("/v1/indexes/teas/search", json=request).json()["hits"]
        assert len(every) == len(TEAS)
        assert all(0 <= hit["relevance"] == hit["explanation"]["relevance"] < 0.9 for hit in every)
        refused = client.post("/v1/indexes/teas/search", json={"query": "tea", "min_relevance": 1.5})
        assert refused.status_code == 400
        text = page(client, "/?q=asdkjhqwe")
        assert reason in words(text)
        (link,) = re.findall(r'<a href="([^"]*)">Show them</a>', text)
        assert len(titles(page(client, html.unescape(link)))) == len(TEAS)


def test_the_description_of_the_api_names_every_operation_and_field(client: TestClient) -> None:
    text = words(page(client, "/docs"))
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in text
    assert "/metrics" in text
    for field in document["components"]["schemas"]["SearchRequest"]["properties"]:
        assert field in text
    assert (
        """curl -X POST http://localhost/v1/indexes/shop/search \\ -H 'Content-Type: application/json'"""
        in text
    )
    assert """-d '{"query": "green tea", "k": 5, "total": true}'""" in text
    assert """--data-binary '{"_id": "ID", "text": "green tea from Uji"} {"delete": "OTHER"} '""" in text


def test_an_empty_page_of_results_has_a_reason(client: TestClient) -> None:
    assert "not in the index: zebra" in words(page(client, "/?q=zebra"))
    assert "the conditions allow no document that matches" in words(page(client, "/?q=tea&is.kind=herb"))


def test_addresses_of_the_page_are_free_for_programs(tmp_path: Path) -> None:
    for name in ("docs", "compare"):
        termwise.build_index(TEAS, tmp_path / name, store_text=True)
    with served([str(tmp_path / "docs"), str(tmp_path / "compare")]) as client:
        assert client.get("/").json()["tagline"]
        for name in ("docs", "compare"):
            assert list(client.get(f"/{name}").json()) == [name]
            page(client, f"/{name}")
        assert client.get("/v1/indexes/none", headers=HTML).json()["error"]["type"] == "unknown-index"
        assert "Error 404" in words(page(client, "/nothing/here", 404))


def test_static_files_are_kept_by_browsers(client: TestClient) -> None:
    text = page(client, "/")
    for name, media_type in [
        ("page.css", "text/css"),
        ("page.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ]:
        (url,) = re.findall(rf'"(/static/{name}\?v=[0-9a-f]{{12}})"', text)
        answer = client.get(url)
        assert answer.headers["content-type"].startswith(media_type)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    for other in ("/static/routes.py", "/static/..%2froutes.py", "/static/%2e%2e/routes.py"):
        assert client.get(other).status_code == 404


@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/?q=tea",
        "/?q={hostile}",
        "/?q=tea&is.kind={hostile}",
        "/?q=tea&is.{hostile}=1&sort={hostile}",
        "/?like=../../etc/passwd%3Fx%3D1%23y",
        "/?like={hostile}",
        "/?index={hostile}",
        "/indexes/hostile/document?id=id%20{hostile}&q={hostile}",
        "/indexes/hostile/document?id={hostile}",
        "/indexes/hostile",
        "/compare?q={hostile}&a={hostile}",
        "/docs",
        "/{hostile}",
    ],
)
def test_nothing_of_a_document_or_request_becomes_markup(hostile: TestClient, url: str) -> None:
    text = hostile.get(url.replace("{hostile}", quote(HOSTILE, safe="")), headers=HTML).text
    assert "<b>" not in text
    assert "alert(1)</script>" not in text
    assert "\x1b" not in text
    allowed = re.compile(r'<script src="/static/page.js\?v=[0-9a-f]{12}" defer></script>')
    assert len(re.findall("<script", text)) == len(allowed.findall(text)) == 1
    assert " style=" not in text
    assert "<style" not in text
    parser = Contents()
    parser.feed(text)
    assert not [
        name for name in parser.names if name.startswith("on") or name in ("double", "single", "evil")
    ]
    assert not parser.not_isolated


class Contents(HTMLParser):
    """Collects the names of all attributes, and the texts with a mark of direction that reorder what follows them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.not_isolated: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [name for name, _ in attrs]
        if tag not in ("meta", "link", "input", "rect", "path"):
            self._open.append((tag, tag in ("bdi", "title", "option") or ("dir", "auto") in attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "path"):
            assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if "\u202e" in data and not any(isolates for _, isolates in self._open):
            self.not_isolated.append(data)


ODD = [
    "",
    "0",
    "-1",
    "1e9",
    "9" * 5000,
    "nan",
    "\u202e",
    "\x00",
    "%",
    "' or 1=1",
    "é" * 3000,
    "😀",
    '"',
    "a:b",
]

PARAMETERS = ["q", "index", "page", "sort", "like", "fuzzy", "is.kind", "is.price", "min.price", "max.kind"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_odd_parameters_are_no_failure(client: TestClient, name: str) -> None:
    for value in ODD:
        url = f"/?{'q=tea&' * (name != 'q')}{quote(name)}={quote(value)}"
        assert client.get(url, headers=HTML).status_code in (200, 400, 404), url


@pytest.mark.parametrize(
    "url",
    [
        "/compare?q=",
        "/compare?a=",
        "/indexes/",
        "/indexes/shop/document?id=",
        "/indexes/shop/document?id=pot&q=",
    ],
)
def test_other_views_do_not_fail_either(client: TestClient, url: str) -> None:
    for value in ODD:
        assert client.get(url + quote(value, safe=""), headers=HTML).status_code in (200, 400, 404), (
            url + value
        )


def test_a_page_needs_the_key_of_the_service(shop: Path, tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    key = keys.create("search", "test")
    with served([str(shop)], ServiceSettings(threads=2, keys=tmp_path / "keys.json")) as client:
        for url in ("/", "/?q=tea", "/compare", "/indexes/shop", "/indexes/shop/document?id=pot"):
            refused = client.get(url, headers=HTML)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Basic")
            assert "needs an API key" in words(refused.text)
            assert client.get(url, headers=HTML, auth=("", key)).status_code == 200
        page(client, "/docs")


def test_an_index_without_texts(tmp_path: Path) -> None:
    termwise.build_index(TEAS, tmp_path / "bare.tw")
    with served([str(tmp_path / "bare.tw")]) as client:
        text = page(client, "/?q=green")
        assert titles(text) == ["genmaicha", "sencha"]
        assert "More like this" not in text
        assert "stores no texts" in words(page(client, "/indexes/bare/document?id=pot"))


def test_the_first_line_of_a_text_is_its_title_and_is_not_repeated(tmp_path: Path) -> None:
    termwise.build_index(
        [Document("a", "Tea\n pots\n\nMade of clay.")], tmp_path / "pots.tw", store_text=True
    )
    with served([str(tmp_path / "pots.tw")]) as client:
        text = page(client, "/?q=tea+pots+clay")
        assert titles(text) == ["Tea"]
        (excerpt,) = re.findall(r'<p class="excerpt" dir="auto">(.*?)</p>', text, re.S)
        assert words(excerpt) == "pots Made of clay ."


def test_titles_of_a_field_and_of_an_attribute(tmp_path: Path) -> None:
    lines = [{"_id": "a", "title": "Sencha", "text": "green tea"}, {"_id": "b", "text": "black tea. Strong."}]
    (tmp_path / "teas.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    termwise.build_index(
        tmp_path / "teas.jsonl", tmp_path / "teas.tw", store_text=True, fields={"title": 3, "text": 1}
    )
    with served([str(tmp_path / "teas.tw")]) as client:
        assert set(titles(page(client, "/?q=tea"))) == {"Sencha", "black tea. Strong."}
        document = page(client, "/indexes/teas/document?id=a&q=tea")
        assert 'Sencha\ngreen <mark class="exact">tea</mark>' in document, "each field has a line"


def test_titles_in_an_attribute_of_any_case(tmp_path: Path) -> None:
    termwise.build_index([Document("a", "tea", {"Title": "A  pot"})], tmp_path / "pots.tw")
    with served([str(tmp_path / "pots.tw")]) as client:
        assert titles(page(client, "/?q=tea")) == ["A pot"]
