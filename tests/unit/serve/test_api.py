"""The service's own API, in one process."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.unit.serve.conftest import served

import termwise
from termwise.serve import KeyFile, ServiceSettings

SHOP = "/v1/indexes/shop"


def _search(client: TestClient, **request: object) -> dict:
    answer = client.post(f"{SHOP}/search", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_results_are_those_of_the_searcher(client: TestClient, shop: Path) -> None:
    searcher = termwise.open(shop)
    ranking = searcher.rank("green tea", k=3)
    hits = _search(client, query="green tea", k=3)["hits"]
    assert [(hit["doc_id"], hit["score"]) for hit in hits] == [(each.doc_id, each.score) for each in ranking]
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert hits[0]["attributes"]["kind"] == "green"


def test_the_second_page_continues_the_first(client: TestClient) -> None:
    whole = _search(client, query="tea", k=4)["hits"]
    assert _search(client, query="tea", k=2, offset=2)["hits"] == whole[2:]


def test_conditions_limit_results_facets_and_total(client: TestClient) -> None:
    answer = _search(client, query="tea", filter="price < 10", facets=["kind"], total=True)
    assert {hit["doc_id"] for hit in answer["hits"]} == {"assam", "genmaicha"}
    assert answer["total"] == 2
    assert answer["facets"] == {
        "kind": [{"value": "black", "documents": 1}, {"value": "green", "documents": 1}]
    }
    with_json = _search(client, query="tea", filter={"field": "price", "<": 10}, must_not=["rice"])
    assert [hit["doc_id"] for hit in with_json["hits"]] == ["assam"]
    assert [hit["doc_id"] for hit in _search(client, query="tea -rice kind:green", syntax=True)["hits"]] == [
        "sencha"
    ]


@pytest.mark.parametrize(
    "option",
    [
        {"facets": ["brand"]},
        {"sort": "brand"},
        {"filter": {"field": "brand", "=": "x"}},
        {"relevance": {"boosts": [{"attribute": "brand", "weight": 1, "values": ["x"]}]}},
    ],
)
def test_errors_say_how_a_field_of_the_texts_becomes_an_attribute(
    tmp_path: Path, option: dict[str, Any]
) -> None:
    records = [{"_id": "a", "text": "green tea", "brand": "Uji", "price": 3}]
    options = {"fields": ["text", "brand"], "attributes": ["price"]}
    for name in ("one.tw", "two.tw"):
        termwise.build_index(records, tmp_path / name, model="bm25", **options)
    indexes = [{"index": name, "weight": 1} for name in ("one", "two")]
    with served([str(tmp_path / "one.tw"), str(tmp_path / "two.tw")]) as client:
        for path, more in (("/v1/indexes/one/search", {}), ("/v1/search", {"indexes": indexes})):
            answer = client.post(path, json={"query": "tea", **option, **more})
            assert answer.status_code == 400, answer.text
            built = "build the index with fields text, brand and attributes brand, price"
            assert answer.json()["error"]["fixes"] == [built]


def test_results_are_sorted_and_collapsed(client: TestClient) -> None:
    request = {"query": "tea", "sort": "-price", "collapse": "kind"}
    assert [hit["doc_id"] for hit in _search(client, **request)["hits"]] == ["pot", "sencha", "assam"]
    hits = _search(client, **request, collapse_size=2)["hits"]
    assert [hit["doc_id"] for hit in hits] == ["pot", "sencha", "genmaicha", "assam"]


def test_excerpts_mark_the_words_of_the_query(client: TestClient) -> None:
    (hit,) = _search(client, query="peppermint", highlight=True)["hits"]
    excerpt = hit["excerpt"]
    assert [excerpt["text"][start:end] for start, end in excerpt["marks"]] == ["peppermint"]


def test_the_explanation_adds_up_to_the_score(client: TestClient) -> None:
    hit = _search(client, query="green tea", k=1, explain=True)["hits"][0]
    parts = hit["explanation"]
    total = parts["constant"] + sum(part["score"] for part in parts["contributions"])
    assert total == pytest.approx(hit["score"])
    alone = client.post(
        f"{SHOP}/explain", json={"query": "green tea", "doc_id": hit["doc_id"], "competitors": 1}
    )
    assert alone.json()["explanation"]["rank"] == 1


def test_a_mistyped_word_is_suggested_and_found(client: TestClient) -> None:
    answer = _search(client, query="pepermint")
    assert answer["hits"] == []
    assert answer["did_you_mean"][0]["words"][0]["word"] == "peppermint"
    assert "also_searched_for" not in answer
    fuzzy = _search(client, query="pepermint", fuzzy=True)
    assert [hit["doc_id"] for hit in fuzzy["hits"]] == ["mint/fresh"]
    assert fuzzy["also_searched_for"] == ["peppermint"]
    assert "also_searched_for" not in _search(client, query="peppermint", fuzzy=True)
    assert client.get(f"{SHOP}/suggest", params={"text": "pepp"}).json()["completions"] == ["peppermint"]


def test_documents_like_a_document(client: TestClient) -> None:
    answer = _search(client, like="sencha", k=2, facets=["kind"], total=True, explain=True, highlight=True)
    assert [hit["doc_id"] for hit in answer["hits"]] == ["genmaicha", "assam"]
    assert answer["total"] == 3
    by_text = _search(client, like_text="green tea from Uji, grassy and fresh", k=2)
    assert by_text["hits"][0]["doc_id"] == "genmaicha"


def test_the_address_can_hold_the_request(client: TestClient) -> None:
    answer = client.get(
        f"{SHOP}/search", params={"query": "tea", "k": "2", "must": ["green", "rice"], "text": "true"}
    )
    assert [hit["text"] for hit in answer.json()["hits"]] == ["green tea with roasted rice"]


def test_changes_are_seen_by_the_next_search(client: TestClient, shop: Path) -> None:
    record = {"text": "oolong from Taiwan", "price": 15, "kind": "oolong"}
    assert client.put(f"{SHOP}/documents/new/1", json=record).status_code == 201
    assert [hit["doc_id"] for hit in _search(client, query="oolong")["hits"]] == ["new/1"]
    assert client.get(f"{SHOP}/documents/new/1").json()["attributes"] == {"price": 15, "kind": "oolong"}
    assert client.put(f"{SHOP}/documents/new/1", json={"text": "pu-erh"}).json()["result"] == "replaced"
    assert _search(client, query="oolong")["hits"] == []
    assert client.delete(f"{SHOP}/documents/new/1").json() == {"doc_id": "new/1", "result": "deleted"}
    assert client.delete(f"{SHOP}/documents/new/1").status_code == 404
    assert client.get(f"{SHOP}/documents/new/1").status_code == 404
    assert termwise.open(shop).index.documents == 5


@pytest.mark.parametrize(
    ("fields", "texts"),
    [(("name",), {"name": "bowl"}), (("name", "about"), {"text": "bowl\nfor matcha"})],
)
def test_documents_have_the_fields_of_the_build(
    tmp_path: Path, fields: tuple[str, ...], texts: dict[str, str]
) -> None:
    (tmp_path / "pots.jsonl").write_text('{"_id": "a", "name": "pot", "about": "of clay", "text": "SKU 7"}\n')
    termwise.build_index(tmp_path / "pots.jsonl", tmp_path / "pots.tw", fields=fields, store_text=True)
    record = dict(zip(fields, ["bowl", "for matcha"], strict=False))
    with served([str(tmp_path / "pots.tw")]) as client:
        address = "/v1/indexes/pots/documents/b"
        assert client.put(address, json=record).status_code == 201
        assert client.get(address).json()["texts"] == texts
        assert client.put(address, json={**record, "text": "SKU 8"}).status_code == 400


def test_changes_of_another_process_are_seen(client: TestClient, shop: Path) -> None:
    with termwise.open_writer(shop) as writer:
        writer.add([termwise.Document("rooibos", "rooibos from the Cape")])
    assert [hit["doc_id"] for hit in _search(client, query="rooibos")["hits"]] == ["rooibos"]


def test_each_line_of_many_changes_has_its_answer(client: TestClient) -> None:
    lines = [
        {"id": "a", "text": "darjeeling"},
        {"delete": "pot"},
        {"id": "b", "text": "keemun", "txt": "a typo in the field name"},  # too long for an attribute
        {"delete": "none"},
    ]
    body = "\n".join(json.dumps(line) for line in lines)
    answer = client.post(f"{SHOP}/documents", content=body, headers={"content-type": "application/x-ndjson"})
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [record.get("result") for record in records] == ["created", "deleted", None, "missing"]
    assert "did you mean text" in records[2]["error"]["fixes"][0]
    assert (records[2]["line"], records[2]["doc_id"]) == (3, "b")
    assert client.get("/v1/indexes/shop").json()["documents"] == 5


def test_refused_lines_have_their_number_and_identifier(client: TestClient) -> None:
    body = b'\n{"_id": 7, "txt": "x"}\n\nno json\n{"delete": 1.5}\n{"text": "x"}\n'
    answer = client.post(f"{SHOP}/documents", content=body, headers={"content-type": "application/x-ndjson"})
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [(each["line"], each.get("doc_id"), each["status"]) for each in records] == [
        (2, "7", 400), (4, None, 400), (5, None, 400), (6, None, 400),
    ]  # fmt: skip


def test_many_changes_in_an_array(client: TestClient) -> None:
    lines = [{"id": "a", "text": "darjeeling"}, 7, {"delete": "pot"}, {"_id": "b", "txt": "x"}]
    answer = client.post(f"{SHOP}/documents", json=lines)
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [each.get("result") for each in records] == ["created", None, "deleted", None]
    assert [(each.get("line"), each.get("doc_id")) for each in records[1::2]] == [(2, None), (4, "b")]
    assert client.post(f"{SHOP}/documents", json=[]).text == ""
    body = b'[{"id": "c", "text": "keemun"},\n]'
    assert (
        client.post(
            f"{SHOP}/documents", content=body, headers={"content-type": "application/json"}
        ).status_code
        == 400
    )


def test_a_number_is_an_identifier_everywhere(client: TestClient) -> None:
    address = f"{SHOP}/documents"
    assert client.put(f"{address}/5", json={"id": 5, "text": "oolong"}).status_code == 201
    lines = b'{"_id": 6, "text": "oolong"}\n{"patch": {"_id": 6, "price": 3}}\n{"delete": 5}\n'
    answer = client.post(address, content=lines, headers={"content-type": "application/x-ndjson"})
    assert [json.loads(line)["result"] for line in answer.text.splitlines()] == [
        "created",
        "updated",
        "deleted",
    ]
    assert client.patch(f"{address}/6", json={"_id": 6, "price": 4}).status_code == 200
    assert [hit["doc_id"] for hit in _search(client, query="oolong", candidates=[6])["hits"]] == ["6"]
    assert _search(client, query="oolong", exclude=[6])["hits"] == []
    assert client.post(f"{SHOP}/search", json={"like": 6}).status_code == 200
    assert client.post(f"{SHOP}/explain", json={"query": "oolong", "doc_id": 6}).status_code == 200
    assert client.put(f"{address}/6", json={"id": 6.0, "text": "x"}).status_code == 400
    assert client.put(f"{address}/6", json={"id": 7, "text": "x"}).status_code == 400


def test_a_record_with_an_id_beside_its_identifier_is_written_back(tmp_path: Path) -> None:
    record = {"_id": "a", "id": "SKU 7", "text": "green tea"}
    (tmp_path / "shop.jsonl").write_text(json.dumps(record))
    termwise.build_index(tmp_path / "shop.jsonl", tmp_path / "shop.tw", attributes="all", store_text=True)
    with served([str(tmp_path / "shop.tw")]) as client:
        address = f"{SHOP}/documents/a"
        assert client.get(address).json()["attributes"] == {"id": "SKU 7"}
        assert client.put(address, json=record).status_code == 200
        assert client.put(address, json={"id": "SKU 7", "text": "green tea"}).status_code == 200
        assert client.patch(address, json={"id": "SKU 8"}).status_code == 200
        assert client.get(address).json()["attributes"] == {"id": "SKU 8"}
        source = client.get("/shop/_doc/a").json()["_source"]
        assert source == {"id": "SKU 8", "text": "green tea"}
        assert client.put("/shop/_doc/a", json=source).json()["result"] == "updated"
        assert client.post("/shop/_update/a", json={"doc": {"id": "SKU 9"}}).json()["result"] == "updated"
        lines = f'{{"index": {{"_id": "a"}}}}\n{json.dumps(source)}\n'
        answer = client.post("/shop/_bulk", content=lines, headers={"content-type": "application/x-ndjson"})
        assert not answer.json()["errors"]
        assert client.patch(address, json={"id": None}).status_code == 200
        assert client.get("/shop/_doc/a").json()["_source"] == {"text": "green tea"}
        assert client.put(address, json={"_id": "b", "text": "x"}).status_code == 400


def test_several_indexes_are_fused(client: TestClient, shop: Path, tmp_path: Path) -> None:
    termwise.build_index(
        [termwise.Document("book", "the book of green tea")], tmp_path / "books.tw", store_text=True
    )
    with served([str(shop), str(tmp_path / "books.tw")]) as both:
        request = {
            "indexes": [{"index": "shop"}, {"index": "books", "weight": 2}],
            "query": "green tea",
            "k": 10,
        }
        for normalisation in ("z", "minmax", "raw", "reciprocal-rank"):
            hits = both.post("/v1/search", json={**request, "normalisation": normalisation}).json()["hits"]
            assert "book" in {hit["doc_id"] for hit in hits}
            assert next(hit for hit in hits if hit["doc_id"] == "book")["parts"]["books"]["rank"] == 1


def test_results_have_the_values_that_the_next_page_begins_after(client: TestClient) -> None:
    sort = "-opened,_score,_id"
    for name, opened in (("pot", "2024-05-01"), ("assam", "2024-05-02"), ("tea", None)):
        document = {"text": "tea", **({"opened": opened} if opened else {})}
        assert client.put(f"{SHOP}/documents/{name}", json=document).status_code < 300
    whole = _search(client, query="tea", sort=sort)["hits"]
    assert [(hit["doc_id"], hit["sort"][0], hit["sort"][2]) for hit in whole[:2]] == [
        ("assam", "2024-05-02T00:00:00Z", "assam"),
        ("pot", "2024-05-01T00:00:00Z", "pot"),
    ]
    assert [hit["sort"] for hit in whole[2:]] == [[None, hit["score"], hit["doc_id"]] for hit in whole[2:]]
    found, after = [], None
    while page := _search(client, query="tea", sort=sort, k=2, **({"after": after} if after else {}))["hits"]:
        found += page
        after = page[-1]["sort"]
    assert [hit["doc_id"] for hit in found] == [hit["doc_id"] for hit in whole]
    assert all("sort" not in hit for hit in _search(client, query="tea")["hits"])
    by_position = _search(client, sort="_doc,kind")["hits"]
    assert [hit["sort"][0] for hit in by_position] == sorted(hit["sort"][0] for hit in by_position)
    assert [hit["sort"][1] for hit in by_position] == [hit["attributes"].get("kind") for hit in by_position]


@pytest.fixture
def both(shop: Path, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that searches the shop and a second index with one document of the same name."""
    books = [
        termwise.Document("book", "the book of green tea", {"price": 20, "pages": 90}),
        termwise.Document("sencha", "green tea, sencha", {"price": 1, "pages": 7}),
    ]
    termwise.build_index(books, tmp_path / "books.tw", store_text=True)
    with served([str(shop), str(tmp_path / "books.tw")]) as client:

        def search(status: int = 200, **asked: Any) -> Any:
            answer = client.post(
                "/v1/search", json={"indexes": [{"index": "shop"}, {"index": "books"}], **asked}
            )
            assert answer.status_code == status, answer.text
            return answer.json()

        yield search


def _ids(answer: Any) -> list[str]:
    return [hit["doc_id"] for hit in answer["hits"]]


def test_pages_of_fused_results_are_those_of_the_whole_ranking(both: Callable[..., Any]) -> None:
    whole = both(query="green tea", total=True)
    assert (whole["total"], [each["total"] for each in whole["indexes"]]) == (6, [4, 2])
    pages = [both(query="green tea", k=2, offset=offset, depth=1) for offset in (0, 2, 4)]
    assert [hit["rank"] for page in pages for hit in page["hits"]] == [1, 2, 3, 4, 5]
    deep = [both(query="green tea", k=2, offset=offset) for offset in (0, 2, 4)]
    assert [name for page in deep for name in _ids(page)] == _ids(whole)
    assert both(query="green tea", offset=9)["reasons"] == ["5 documents are fused, and 9 are skipped"]
    assert both(query="zebra")["reasons"][0] == "shop: not in the index: zebra"


def test_fused_results_are_sorted_and_collapsed(both: Callable[..., Any]) -> None:
    assert _ids(both(query="tea", sort="price")) == ["assam", "genmaicha", "sencha", "book", "pot"]
    assert _ids(both(query="tea", sort="-price", k=2, offset=1)) == ["book", "sencha"]
    assert _ids(both(sort="price", k=2)) == ["mint/fresh", "assam"]
    equal_by_price = _ids(both(query="tea", sort="_score,price"))  # assam and sencha have equal scores
    assert equal_by_price == ["pot", "genmaicha", "assam", "sencha", "book"]
    by_kind = both(query="tea", sort=["kind", "-price"])
    assert _ids(by_kind) == ["assam", "sencha", "genmaicha", "pot", "book"]
    by_pages = both(query="tea", sort="pages")["hits"]  # of which the shop has none
    assert (by_pages[0]["doc_id"], by_pages[0]["attributes"]) == ("book", {"price": 20, "pages": 90})
    kinds = [hit["attributes"].get("kind") for hit in both(query="tea", collapse="kind")["hits"]]
    assert sorted(filter(None, kinds)) == ["black", "green", "ware"]
    assert "price" in both(400, query="tea", sort="prices")["error"]["facts"]["known"]


def test_pinned_documents_are_first_in_fused_results(both: Callable[..., Any]) -> None:
    rules = [{"query": "tea", "pin": ["pot", "book", "none"], "ban": ["assam"]}]
    found = both(query="tea", relevance={"rules": rules})
    assert _ids(found)[:2] == ["pot", "book"]
    assert [hit.get("pinned", False) for hit in found["hits"]] == [True, True, False, False]
    assert found["unknown_pins"] == ["none"]
    by_price = both(query="tea", relevance={"rules": rules}, sort="price")
    assert _ids(by_price) == ["pot", "book", "genmaicha", "sencha"]
    assert _ids(both(query="tea", relevance={"rules": rules}, k=2, offset=1)) == ["book", _ids(found)[2]]


def test_fused_results_of_examples_candidates_and_explanations(both: Callable[..., Any]) -> None:
    assert _ids(both(like="genmaicha"))[:1] == ["sencha"]
    assert "sencha" not in _ids(both(like="sencha"))
    assert both(404, like="none")["error"]["facts"]["doc_id"] == "none"
    ranked = both(query="green tea", candidates=["pot", "book", "sencha"])
    assert sorted(_ids(ranked)) == ["book", "pot", "sencha"]
    assert both(404, query="tea", candidates=["pot", "none"])["error"]["type"] == "unknown-id"
    (best, *_) = both(query="green tea", explain=True)["hits"]
    for part in best["parts"].values():
        terms = part["explanation"]["contributions"]
        assert sum(each["score"] for each in terms) == pytest.approx(part["score"])
    only_green = both(weights={"green": 1.0, "unknown": 1.0})
    assert set(_ids(only_green)) == {"sencha", "genmaicha", "book"}
    assert _ids(both(query="tea", sort="-_id", k=2)) == ["sencha", "pot"]
    assert "_id" in both(400, query="tea", sort="_doc")["error"]["fixes"][0]
    facts = both(400, query="tea", sort="_id", after=["pot"])["error"]["facts"]
    assert (facts["field"], "offset and k" in facts["reason"]) == ("after", True)


@pytest.mark.parametrize(
    ("after", "facts"),
    [
        (["dear"], {"key": "price", "given": "'dear'", "expected": "a number"}),
        ([{"a": 1}], {"key": "price", "given": "{'a': 1}", "expected": "a number"}),
        ([1, 2], {"keys": "price", "given": "[1, 2]", "expected": "a list of 1 value"}),
    ],
)
def test_errors_of_after_name_what_is_given_and_expected(
    client: TestClient, after: list[object], facts: dict[str, str]
) -> None:
    answer = client.post(f"{SHOP}/search", json={"query": "tea", "sort": "price", "after": after})
    assert answer.status_code == 400
    found = answer.json()["error"]["facts"]
    assert {name: found[name].partition(", or None")[0] for name in found} == facts


def test_fused_facets_texts_and_conditions(both: Callable[..., Any]) -> None:
    found = both(query="tea", facets=["price", "pages"], facet_values=1, ranges={"price": {}}, status=400)
    assert "ranges" in found["error"]["message"]
    found = both(query="tea", facets=["kind", "pages"], facet_values=1, ranges={"price": {"low": [None, 9]}})
    assert found["facets"] == {
        "kind": [{"value": "green", "documents": 2}],
        "pages": [{"value": 7, "documents": 1}],
        "price": [{"value": "low", "documents": 2}],
    }
    shown = both(query="tea", must=["book"], text=True, highlight=True, show=["pages"])["hits"]
    assert [(hit["doc_id"], hit["attributes"], hit["text"]) for hit in shown] == [
        ("book", {"pages": 90}, "the book of green tea")
    ]
    assert shown[0]["excerpt"]["marks"] == [[18, 21]]
    assert _ids(both(query="gren", fuzzy=True, must_not=["rice"], filter="price < 15")) == ["sencha"]
    assert both(query="gren", fuzzy=True)["also_searched_for"] == ["green"]
    assert both(query="gren")["did_you_mean"][0]["words"][0]["word"] == "green"
    assert both(400, query="tea", k=900, offset=900)["error"]["message"].startswith("k + offset is larger")


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"query": "tea", "k": 0}, 400, "k"),
        ({"query": "tea", "k": 5000}, 400, "larger"),
        ({"query": "x" * 5000}, 400, "longer"),
        ({"query": "tea", "limit": 3}, 400, "limit"),
        ({"query": "tea", "like": "sencha"}, 400, "one of query"),
        ({"query": "tea", "filter": "price <"}, 400, "filter"),
        (
            {"query": "tea", "filter": {"price": 3}},
            400,
            'write a filter as in {\\"and\\": [{\\"field\\": \\"price\\"',
        ),
        ({"query": "tea", "filter": "colour = 3"}, 400, "colour"),
        ({"query": "tea", "filter": " or ".join(["price = 1"] * 10_000)}, 400, "at most 65,536 bytes"),
        ({"query": "tea", "facets": ["x"] * 30}, 400, "facets"),
        ({"query": "tea", "candidates": ["none"]}, 404, "none"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(
    client: TestClient, request_: dict, status: int, words: str
) -> None:
    answer = client.post(f"{SHOP}/search", json=request_)
    assert answer.status_code == status
    assert words in answer.text


def test_fixes_are_those_of_a_request(client: TestClient, tmp_path: Path) -> None:
    termwise.build_index([termwise.Document("a", "green tea")], tmp_path / "bare.tw")
    with served([str(tmp_path / "bare.tw")]) as bare:
        for request in (
            {"query": "tea", "highlight": True},
            {"like": "a"},
            {"query": "tea", "filter": "price < 3"},
        ):
            error = bare.post("/v1/indexes/bare/search", json=request).json()["error"]
            assert error["fixes"][0].startswith("build the index with "), error
            assert "`" not in json.dumps(error)
    error = client.post(f"{SHOP}/search", json={"collapse_size": 2, "query": "tea"}).json()["error"]
    assert error["fixes"] == ['name the attribute: "collapse": NAME']


@pytest.mark.parametrize("path", [f"{SHOP}/documents/pot", f"{SHOP}/documents/a/b"])
def test_a_wrong_method_names_the_allowed_ones(client: TestClient, path: str) -> None:
    answer = client.post(path, json={})
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH, PUT")
    assert answer.json()["error"]["facts"] == {"allowed": "DELETE, GET, HEAD, PATCH, PUT"}
    assert client.delete(f"{SHOP}/search").headers["allow"] == "GET, HEAD, POST"
    metrics = client.get("/metrics").text
    assert "get_document" not in metrics
    assert 'termwise_requests_total{operation="unknown",status="405"} 2.0' in metrics


def test_a_key_given_twice_is_refused(client: TestClient) -> None:
    json_type = {"content-type": "application/json"}
    for path, body in (
        (f"{SHOP}/search", b'{"query": "tea", "k": 1, "k": 2}'),
        (f"{SHOP}/search", b'{"query": "tea", "filter": {"field": "k", "field": "k"}}'),
        ("/shop/_search", b'{"query": {"match": {"k": "tea", "k": "pot"}}}'),
    ):
        answer = client.post(path, content=body, headers=json_type)
        assert (answer.status_code, "uplicate key" in answer.text) == (400, True), answer.text
    lines = {"content-type": "application/x-ndjson"}
    answer = client.post(
        f"{SHOP}/documents", content=b'{"_id": "a", "text": "x", "text": "y"}', headers=lines
    )
    assert answer.json()["error"]["facts"] == {"reason": 'Detected duplicate key "text" at line 1 column 34'}
    for path in (f"{SHOP}/search?query=tea&query=pot", "/shop/_search?size=1&size=2"):
        assert "a parameter is given twice" in client.get(path).text


def test_the_api_is_described_to_every_client(client: TestClient) -> None:
    described = client.get("/docs", headers={"accept": "application/json"}).json()
    assert described == client.get("/openapi.json").json()
    several = described["paths"]["/v1/search"]["post"]["requestBody"]["content"]["application/json"]
    assert client.post("/v1/search", json=several["example"]).status_code == 404  # it names other indexes
    assert "code points" in described["components"]["schemas"]["Excerpt"]["description"]
    for path, methods in described["paths"].items():
        for content in methods.get("post", {}).get("requestBody", {}).get("content", {}).values():
            assert "example" in content, path
    shown = client.get("/docs")
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert "POST /v1/indexes/{index}/search\nSearch one index.\n\ncurl -X POST" in shown.text


def test_an_empty_query_is_none_if_there_is_a_condition(client: TestClient) -> None:
    for more in ({"filter": "price < 8"}, {"must": ["peppermint"]}, {"sort": "price", "k": 2}):
        listed = client.post(f"{SHOP}/search", json={**more, "total": True}).json()
        for query in ("", " \n"):
            found = client.post(f"{SHOP}/search", json={**more, "query": query, "total": True}).json()
            assert (found["hits"], found["total"]) == (listed["hits"], listed["total"])
    assert client.post(f"{SHOP}/search", json={"query": ""}).json()["reasons"] == ["the query is empty"]


def test_every_hit_has_attributes(tmp_path: Path) -> None:
    termwise.build_index(
        [termwise.Document("plain", "green tea"), termwise.Document("priced", "tea", {"price": 4})],
        tmp_path / "teas.tw",
    )
    termwise.build_index([termwise.Document("plain", "green tea")], tmp_path / "texts.tw")
    with served([str(tmp_path / "teas.tw"), str(tmp_path / "texts.tw")]) as client:
        for name, found in (("teas", [{}, {"price": 4}]), ("texts", [{}])):
            hits = client.post(f"/v1/indexes/{name}/search", json={"query": "green tea"}).json()["hits"]
            assert [hit["attributes"] for hit in hits] == found
            hits = client.post(f"/{name}/_search", json={"query": {"match": {"text": "green tea"}}}).json()
            assert [hit["_source"] for hit in hits["hits"]["hits"]] == [
                {"id": hit["_id"], **each} for hit, each in zip(hits["hits"]["hits"], found, strict=True)
            ]
        fused = {"indexes": [{"index": "teas"}, {"index": "texts"}], "query": "green tea"}
        hits = client.post("/v1/search", json=fused).json()["hits"]
        assert {hit["doc_id"]: hit["attributes"] for hit in hits} == {"plain": {}, "priced": {"price": 4}}
        hits = client.post("/v1/indexes/teas/search", json={"query": "tea", "show": []}).json()["hits"]
        assert [hit["attributes"] for hit in hits] == [{}, {}]


def test_no_results_have_reasons(client: TestClient) -> None:
    def reasons(**asked: Any) -> list[str]:
        found: list[str] = client.post(f"{SHOP}/search", json=asked).json().get("reasons", [])
        return found

    assert reasons(query="tea") == []
    assert reasons(query="zebra")[0] == "not in the index: zebra"
    said = (
        "the conditions allow no document that matches the query (filtered by price < 1, without 'of clay')"
    )
    assert reasons(query="tea", filter="price < 1", must_not=["of clay"]) == [said]
    assert reasons(query="tea", must=["gold"])[1] == "required, but in no document: gold"
    assert reasons(query="tea", offset=7) == ["4 documents match, and 7 are skipped"]


def test_facets_for_multiple_selection_ignore_their_own_condition(client: TestClient) -> None:
    def counts(filter: str, **more: Any) -> dict[str, dict[Any, int]]:
        asked = {"query": "tea", "filter": filter, "multi_select": True, **more}
        found = client.post(f"{SHOP}/search", json=asked).json()["facets"]
        return {name: {each["value"]: each["documents"] for each in values} for name, values in found.items()}

    chosen = 'kind = "green" and price < 10'
    assert counts(chosen, facets=["kind", "price"]) == {
        "kind": {"green": 1, "black": 1},
        "price": {9: 1, 12: 1},
    }
    assert counts(chosen, ranges={"price": {"dear": [10, None]}}) == {"price": {"dear": 1}}
    assert counts('kind = "green" or price < 8', facets=["kind"]) == {"kind": {"green": 2, "black": 1}}
    assert counts('kind = "green"', query="tea kind:ware", syntax=True, facets=["kind"]) == {
        "kind": {"green": 2, "black": 1, "ware": 1}
    }


def test_an_answer_does_not_fail_on_half_a_character_in_an_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("termwise.validation.lone_surrogate", lambda value: None)  # as before 2026-11-28
    old = termwise.Document("a", "green \ud83d tea", {"tags": ("half \ud83d",), "\ud83d": "x"})
    termwise.build_index([old, termwise.Document("\ud83d", "pot")], tmp_path / "shop.tw", store_text=True)
    with served([str(tmp_path / "shop.tw")]) as client:
        hit = _search(client, query="green tea", text=True, highlight=True, explain=True, facets=["tags"])[
            "hits"
        ][0]
        assert (hit["text"], hit["attributes"]["tags"]) == ("green \ufffd tea", ["half \ufffd"])
        assert _search(client, query="pot")["hits"][0]["doc_id"] == "\ufffd"
        assert client.get(f"{SHOP}/documents/a").json()["attributes"]["\ufffd"] == "x"
        body = '{}\n{"query": {"match": {"text": "tea pot"}}}\n'
        answer = client.post("/shop/_msearch", content=body, headers={"content-type": "application/x-ndjson"})
        assert len(answer.json()["responses"][0]["hits"]["hits"]) == 2
        html = {"accept": "text/html"}
        for path in ("/?q=green+tea", "/?q=pot", "/indexes/shop", "/indexes/shop/document?id=a&q=tea"):
            assert client.get(path, headers=html).status_code == 200, path
        for path in ("/v1/indexes/shop", "/shop/_mapping", f"{SHOP}/suggest?text=gre"):
            assert client.get(path).status_code == 200, path


def test_requests_that_are_no_json(client: TestClient) -> None:
    json_type = {"content-type": "application/json"}
    assert client.post(f"{SHOP}/search", content=b"{", headers=json_type).status_code == 400
    assert client.post(f"{SHOP}/search", content=b"\xff\xfe", headers=json_type).status_code == 400
    assert client.post(f"{SHOP}/search", content=b"[" * 50 + b"]" * 50, headers=json_type).status_code == 400
    assert client.post(f"{SHOP}/search", content=b'{"query": "tea"}').status_code == 415
    assert client.get("/v1/indexes/none").status_code == 404
    assert client.get("/nowhere").json()["error"]["type"] == "not-found"
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 200


def test_the_host_must_be_one_of_the_service(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(hosts=("localhost",))) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"host": "localhost:8000"}).status_code == 200
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 421
    with served([str(shop)], ServiceSettings(hosts=("shop.example",))) as client:
        for host, status in (
            ("shop.example", 200),
            ("127.0.0.1:8000", 200),
            ("localhost", 200),
            ("a.example", 421),
        ):
            assert client.get("/metrics", headers={"host": host}).status_code == status


def test_pages_of_allowed_sites_can_read_answers(shop: Path) -> None:
    site, asks = {"origin": "https://shop.example"}, "access-control-request-method"
    with served([str(shop)], ServiceSettings(origins=("https://shop.example",))) as client:
        answer = client.post(f"{SHOP}/search", json={"query": "tea"}, headers=site)
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert "access-control-allow-credentials" not in answer.headers
        wanted = {asks: "POST", "access-control-request-headers": "authorization,content-type"}
        assert client.options(f"{SHOP}/search", headers={**site, **wanted}).status_code == 200
        assert client.options(f"{SHOP}/documents/pot", headers={**site, asks: "DELETE"}).status_code == 400
        other = {"origin": "https://evil.example"}
        assert client.options(f"{SHOP}/search", headers={**other, **wanted}).status_code == 400
        refused = client.post(f"{SHOP}/search", json={"query": "tea"}, headers=other)
        assert "access-control-allow-origin" not in refused.headers


def test_unknown_fields_of_a_request_are_refused_with_similar_ones(client: TestClient) -> None:
    answer = client.post(f"{SHOP}/search", json={"query": "tea", "facet": ["kind"]})
    assert answer.status_code == 400
    assert answer.json()["error"]["fixes"] == ["did you mean facets or facet_values?"]


def test_large_bodies_are_refused(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(max_body=100)) as client:
        answer = client.post(f"{SHOP}/search", json={"query": "tea" * 100})
        assert answer.status_code == 413
        assert answer.json()["error"]["facts"] == {"most bytes": "100"}


def test_keys_have_roles(shop: Path, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    search, write = file.create("search", "website"), file.create("write")
    assert search.split("_", 2)[2] not in file.path.read_text()
    with served([str(shop)], ServiceSettings(keys=file.path)) as client:
        query = {"query": "tea"}
        assert client.get("/health").status_code == 200
        assert client.post(f"{SHOP}/search", json=query).status_code == 401
        for wrong in ("tw_0_x", f"x{search}", f"x tw_{search}", search.removeprefix("tw_"), f"{search}x"):
            assert client.post(f"{SHOP}/search", json=query, headers=_bearer(wrong)).status_code == 401
        assert client.post(f"{SHOP}/search", json=query, headers=_bearer(search)).status_code == 200
        assert client.post(f"{SHOP}/search", json=query, auth=("user", search)).status_code == 200
        assert client.delete(f"{SHOP}/documents/pot", headers=_bearer(search)).status_code == 403
        assert client.delete(f"{SHOP}/documents/pot", headers={"x-api-key": write}).status_code == 200
        assert client.post(f"{SHOP}/verify", headers=_bearer(write)).status_code == 403
        file.revoke(search.split("_")[1])
        assert client.post(f"{SHOP}/search", json=query, headers=_bearer(search)).status_code == 401


def test_callers_without_a_key_learn_no_name_of_an_index(shop: Path, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.create("search")
    with served([f"zebra={shop}"], ServiceSettings(keys=file.path)) as client:
        answers = [client.get("/openapi.json"), client.get("/v1/indexes"), client.get("/v1/indexes/none")]
        answers += [client.get(path, headers={"accept": "text/html"}) for path in ("/docs", "/", "/none")]
        shop.rename(tmp_path / "away.tw")
        answers += [client.get("/ready")]
        assert [each.status_code for each in answers] == [200, 401, 401, 200, 401, 401, 503]
        assert not [each.url for each in answers if "zebra" in each.text]


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_a_service_without_changes(shop: Path) -> None:
    with served([str(shop)], ServiceSettings(read_only=True)) as client:
        assert client.delete(f"{SHOP}/documents/pot").status_code == 403


def test_the_files_of_an_index_are_verified(client: TestClient, shop: Path) -> None:
    assert client.post(f"{SHOP}/verify").json() == {"index": "shop", "intact": True, "damages": []}
    segment = next(shop.glob("segment-*"))
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    answer = client.post(f"{SHOP}/verify").json()
    assert not answer["intact"]
    assert str(shop) not in json.dumps(answer)


def test_metrics_and_answers_have_safe_headers(client: TestClient) -> None:
    _search(client, query="tea")
    metrics = client.get("/metrics")
    assert 'termwise_requests_total{operation="search",status="200"} 1.0' in metrics.text
    assert metrics.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in metrics.headers["content-security-policy"]
    assert "access-control-allow-origin" not in metrics.headers


def test_without_a_query_all_documents_are_results(client: TestClient) -> None:
    answer = _search(client, sort="-price", filter="price < 20", total=True, facets=["kind"], k=2)
    assert [hit["doc_id"] for hit in answer["hits"]] == ["sencha", "genmaicha"]
    assert answer["total"] == 4
    assert answer["facets"]["kind"][0] == {"value": "green", "documents": 2}


def test_a_client_may_weigh_the_terms_of_a_query(client: TestClient) -> None:
    answer = _search(
        client, query="green tea", weights={"clay": 2.0, "tea": 0.5}, highlight=True, explain=True
    )
    assert answer["hits"][0]["doc_id"] == "pot"
    assert answer["hits"][0]["excerpt"]["marks"] == [[10, 13]]
    parts = {part["term"]: part["query_weight"] for part in answer["hits"][0]["explanation"]["contributions"]}
    assert parts == pytest.approx({"clay": 2.0, "tea": 0.5})
    refused = client.post(f"{SHOP}/search", json={"weights": {"tea": 1}, "fuzzy": True})
    assert (refused.status_code, "fuzzy" in refused.text) == (400, True)
    assert (
        len(
            _search(client, query="green tea", highlight=True, excerpt_length=20)["hits"][0]["excerpt"][
                "text"
            ]
        )
        < 25
    )


def test_ranges_are_counted_by_name(client: TestClient) -> None:
    ranges = {"price": {"cheap": [None, 9], "fair": [9, 13]}}
    answer = _search(client, query="tea", ranges=ranges)
    assert answer["facets"]["price"] == [
        {"value": "cheap", "documents": 1},
        {"value": "fair", "documents": 2},
    ]
    like = _search(client, like="sencha", ranges=ranges)
    assert like["facets"]["price"][1] == {"value": "fair", "documents": 1}


def test_a_bug_is_answered_without_a_traceback(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("termwise.serve.search.search", broken)
    monkeypatch.setattr(logging.getLogger("termwise.serve"), "propagate", True)
    answer = client.post(f"{SHOP}/search", json={"query": "tea"})
    assert answer.status_code == 500
    assert answer.json() == {"error": {"type": "bug", "message": "the service failed; see its log"}}
    assert answer.headers["x-frame-options"] == "DENY"
    assert "secret" in caplog.text
    assert 'status="500"' in client.get("/metrics").text
