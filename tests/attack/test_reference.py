"""Filters, ranges, facets, sorting, collapsing and paging, compared with plain Python over the same documents."""

import math
import random
import time
from collections import Counter

import pytest
from tests.attack.services import KINDS, SECONDS, WORDS

NUMBERS = {
    "price": (-1, 0, 1.5, 3.25, 3.3, 9, 20, 1e308),
    "stock": (-3, -2.5, 0, 1, 6.9, 7, 2**40, 2**53 + 1),
}
DATES = ("2012-05-01", "2017-01-01", "2020-02-29", "2025-12-31")


def random_filter(rng: random.Random, depth: int = 0):
    """Return a filter as text, and a function that says whether a document fulfils it."""
    if depth < 3 and rng.random() < 0.45:
        kind = rng.choice(("and", "or", "not"))
        left, is_left = random_filter(rng, depth + 1)
        if kind == "not":
            return f"not ({left})", lambda one: not is_left(one)
        right, is_right = random_filter(rng, depth + 1)
        if kind == "and":
            return f"({left}) and ({right})", lambda one: is_left(one) and is_right(one)
        return f"({left}) or ({right})", lambda one: is_left(one) or is_right(one)
    field = rng.choice(("price", "stock", "kind", "tags", "organic", "added", "missing"))
    if field == "missing":
        field = rng.choice(("price", "stock", "kind", "tags", "organic", "added"))
        return f"{field} is missing", lambda one: one.get(field) is None
    if field == "organic":
        return "organic", lambda one: one.get("organic") is True
    if field in ("kind", "tags"):
        values = rng.sample(KINDS if field == "kind" else ("a", "b", "c", "d", "e"), 2)

        def held(one):
            value = one.get(field, [])
            return {value} if isinstance(value, str) else set(value)

        if rng.random() < 0.5:
            return f'{field} = "{values[0]}"', lambda one: values[0] in held(one)
        return f'{field} in ("{values[0]}", "{values[1]}")', lambda one: bool(held(one) & set(values))
    low, high = sorted(rng.choices(NUMBERS.get(field, DATES), k=2))
    quoted = (lambda value: f'"{value}"') if field == "added" else repr
    compare = {
        "<": lambda value: value < low,
        "<=": lambda value: value <= low,
        ">": lambda value: value > low,
        ">=": lambda value: value >= low,
        "=": lambda value: value == low,
        "between": lambda value: low <= value <= high,
    }
    name = rng.choice(list(compare))
    test = compare[name]
    text = f"{field} {name} {quoted(low)}" + (f" and {quoted(high)}" if name == "between" else "")
    return text, lambda one: one.get(field) is not None and test(one[field])


def matching(records, words, fulfils, must=(), must_not=()):
    """Return the documents that share a word with a query, and fulfil the conditions."""
    found = []
    for one in records:
        text = one["text"].split()
        shares = not words or any(word in text for word in words)
        if (
            shares
            and fulfils(one)
            and all(word in text for word in must)
            and not any(w in text for w in must_not)
        ):
            found.append(one)
    return found


def test_answers_are_those_of_plain_python(service, records):
    """Random searches have the results, counts, order and pages that a loop over the documents gives."""
    rng = random.Random(3)
    end = time.monotonic() + SECONDS
    count = 0
    while time.monotonic() < end or count < 50:
        count += 1
        text, fulfils = random_filter(rng)
        words = rng.sample(WORDS, rng.choice((0, 1, 3)))
        must, must_not = rng.sample(WORDS, rng.choice((0, 0, 1))), rng.sample(WORDS, rng.choice((0, 0, 1)))
        wanted = matching(records, words, fulfils, must, must_not)
        edges = sorted(rng.sample((0.0, 1.0, 1.5, 9.0, 25.0), 2))
        body = {
            "query": " ".join(words) or None,
            "filter": text,
            "must": must,
            "must_not": must_not,
            "facets": ["kind", "tags", "organic"],
            "facet_values": 100,
            "ranges": {"price": {"some": edges, "below": [None, edges[0]]}},
            "total": True,
            "k": 1000,
        }
        answer = service.client.post("/v1/indexes/docs/search", json=body)
        assert answer.status_code == 200, (body, answer.text)
        found = answer.json()
        ids = [hit["doc_id"] for hit in found["hits"]]
        assert sorted(ids) == sorted(one["_id"] for one in wanted), body
        assert found["total"] == len(wanted), body
        scores = [hit["score"] for hit in found["hits"]]
        assert scores == sorted(scores, reverse=True), body
        for field in ("kind", "organic"):
            counts = Counter(one[field] for one in wanted if field in one)
            assert {entry["value"]: entry["documents"] for entry in found["facets"][field]} == counts, body
        tags = Counter(tag for one in wanted for tag in one.get("tags", ()))
        assert {entry["value"]: entry["documents"] for entry in found["facets"]["tags"]} == tags, body
        prices = [one["price"] for one in wanted if "price" in one]
        ranges = {entry["value"]: entry["documents"] for entry in found["facets"]["price"]}
        assert ranges["some"] == sum(edges[0] <= price < edges[1] for price in prices), body
        assert ranges["below"] == sum(price < edges[0] for price in prices), body
        pages = []
        size = rng.randint(1, 90)
        for offset in range(0, len(wanted) + size, size):
            page = service.client.post(
                "/v1/indexes/docs/search", json={**body, "k": size, "offset": offset}
            ).json()
            pages += [hit["doc_id"] for hit in page["hits"]]
        assert pages == ids, body


@pytest.mark.parametrize("field", ["price", "stock", "kind", "added"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_sorting_and_collapsing(service, records, field, sign):
    """Results are sorted by the values, those without one are last, and collapsing keeps the first of each value."""
    body = {"query": "tea green pot", "sort": f"{sign}{field}", "k": 1000, "total": True}
    hits = service.client.post("/v1/indexes/docs/search", json=body).json()["hits"]
    by_id = {one["_id"]: one for one in records}
    plain = {"query": "tea green pot", "k": 1000}
    ranked = [
        hit["doc_id"] for hit in service.client.post("/v1/indexes/docs/search", json=plain).json()["hits"]
    ]
    having = [name for name in ranked if field in by_id[name]]
    having.sort(key=lambda name: by_id[name][field], reverse=bool(sign))
    if sign:  # equal values keep the order of the scores
        place = {name: number for number, name in enumerate(ranked)}
        values = sorted({by_id[name][field] for name in having}, reverse=True)
        having = [n for v in values for n in sorted(having, key=place.get) if by_id[n][field] == v]
    wanted = having + [name for name in ranked if field not in by_id[name]]
    assert [hit["doc_id"] for hit in hits] == wanted
    if field == "added":
        return
    collapsed = service.client.post("/v1/indexes/docs/search", json={**body, "collapse": "kind"}).json()[
        "hits"
    ]
    taken, kept = set(), []
    for name in wanted:
        kind = by_id[name].get("kind")
        if kind is None or kind not in taken:
            kept.append(name)
        taken.add(kind)
    assert [hit["doc_id"] for hit in collapsed] == kept


def test_explanations_add_up(service):
    """The parts of each explanation add up to the score of the result."""
    body = {"query": "green tea with rain tae", "explain": True, "k": 50, "fuzzy": True, "prefix": True}
    for hit in service.client.post("/v1/indexes/docs/search", json=body).json()["hits"]:
        parts = sum(part["score"] for part in hit["explanation"]["contributions"])
        total = parts + hit["explanation"].get("constant", 0.0)
        assert math.isclose(total, hit["score"], abs_tol=1e-5)


def test_both_interfaces_agree(service):
    """OpenSearch's form has the same documents in the same order, and the same counts."""
    own = {"query": "green tea", "k": 100, "filter": "price < 9", "total": True, "facets": ["kind"]}
    other = {
        "query": {
            "bool": {"must": [{"match": {"text": "green tea"}}], "filter": [{"range": {"price": {"lt": 9}}}]}
        },
        "size": 100,
        "aggs": {"kinds": {"terms": {"field": "kind"}}},
    }
    one = service.client.post("/v1/indexes/docs/search", json=own).json()
    two = service.client.post("/docs/_search", json=other).json()
    assert [hit["doc_id"] for hit in one["hits"]] == [hit["_id"] for hit in two["hits"]["hits"]]
    assert one["total"] == two["hits"]["total"]["value"]
    counts = {entry["key"]: entry["doc_count"] for entry in two["aggregations"]["kinds"]["buckets"]}
    assert counts == {entry["value"]: entry["documents"] for entry in one["facets"]["kind"]}
