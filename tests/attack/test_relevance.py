"""Requests with boosts, synonyms, rules and languages that are odd, huge or circular."""

import json
import math
import random
import time

import pytest
from tests.attack.services import SECONDS

SEARCH = "/v1/indexes/docs/search"
ODD = [
    *("NaN", "-Infinity", "1e309", "9" * 400, "1e308", "5e-324", "-1", "0", "true", "null", "[]", "{}"),
    *('""', '" "', r'"\ud800"', r'["\udc00"]', r'"a\u0000b"', '"' + "a" * 5000 + '"', "[1e999]", "[null]"),
    *("[" * 40 + "]" * 40, '{"a":' * 20 + "1" + "}" * 20, '{"a": 1, "a": 2}'),
]
NOT_READ = ("the body is not JSON", "the body is nested too deeply")
BOOSTS = {
    "attribute": '{"attribute": ODD, "weight": 1, "saturation": 1}',
    "weight": '{"attribute": "price", "weight": ODD, "saturation": 1}',
    "saturation": '{"attribute": "stock", "weight": -2.5, "saturation": ODD}',
    "half_life": '{"attribute": "added", "weight": 1, "half_life": ODD}',
    "now": '{"attribute": "added", "weight": 1, "half_life": "3d", "now": ODD}',
    "near": '{"attribute": "price", "weight": 1, "near": ODD, "distance": 2}',
    "distance": '{"attribute": "stock", "weight": 1, "near": 1.5, "distance": ODD}',
    "values": '{"attribute": "kind", "weight": 1, "values": ODD}',
}
RULES = {
    "query": '{"query": ODD, "pin": ["d1"]}',
    "match": '{"query": "tea", "pin": ["d1"], "match": ODD}',
    "pin": '{"query": "tea", "pin": ODD}',
    "ban": '{"query": "tea", "pin": ["d1"], "ban": ODD}',
}
KEYS = ("boosts", "synonyms", "synonym_weight", "rules", "parts", "search", "synonyms_file", "odd")
TEMPLATES = [
    *((name, f'{{"boosts": [{boost}]}}') for name, boost in BOOSTS.items()),
    ("values", '{"boosts": [{"attribute": "tags", "weight": 1, "values": [ODD]}]}'),
    *((name, f'{{"rules": [{rule}]}}') for name, rule in RULES.items()),
    *((name, f'{{"{name}": ODD}}') for name in KEYS),
    *((name, f'{{"{name}": [ODD]}}') for name in ("boosts", "synonyms", "rules")),
    *(
        (name, f'{{"search": {{"{name}": ODD}}}}')
        for name in ("match", "fuzzy", "min_relevance", "only_words")
    ),
    ("relevance", "ODD"),
]


def post(service, body: object, path: str = SEARCH) -> tuple[int, dict, str]:
    """Return the status of an answer, the answer, and its text."""
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    answer = service.client.post(path, content=content, headers={"content-type": "application/json"})
    return answer.status_code, answer.json(), answer.text


def check_scores(hits: list[dict]) -> None:
    """Assert that each score is finite and the sum of its explanation, and that the hits are in its order."""
    for hit in hits:
        parts = [part["score"] for part in hit["explanation"]["contributions"]]
        total = sum(parts, hit["explanation"].get("constant", 0.0))
        assert math.isclose(total, hit["score"], rel_tol=1e-6, abs_tol=1e-5), hit
    scores = [hit["score"] for hit in hits if not hit.get("pinned")]
    assert scores == sorted(scores, reverse=True)


def test_odd_values_of_relevance(service):
    """Each value is refused with the name of its key, or gives scores that their explanations add up to."""
    pairs = [(name, template, odd) for name, template in TEMPLATES for odd in ODD]
    random.Random(6).shuffle(pairs)
    end, seen = time.monotonic() + SECONDS, set()
    for number, (name, template, odd) in enumerate(pairs):
        if time.monotonic() > end and number > 300:
            break
        relevance = template.replace("ODD", odd)
        body = f'{{"query": "green tea", "explain": true, "relevance": {relevance}}}'
        status, answer, text = post(service, body)
        seen.add(status)
        if status == 200:
            check_scores(answer["hits"])
            continue
        assert status == 400, (relevance[:300], text)
        assert answer["error"]["message"] in NOT_READ or name in text, (relevance[:300], text)
    assert seen == {200, 400}


BOOST = {"attribute": "price", "weight": 1e6, "saturation": 1}
PHRASE = " ".join(["tea"] * 1000)
REFUSED = {
    "10,000 lines of synonyms": (413, {"synonyms": ["tea, pot"] * 10_000}, "too many values"),
    "a phrase of 1,000 words": (400, {"synonyms": [f"tea, {PHRASE}"]}, "at most 200 characters"),
    "101 words in a line": (400, {"synonyms": [", ".join(map(str, range(101)))]}, "at most 100 words"),
    "a weight above 1": (400, {"synonyms": ["tea, pot ^1e400"]}, "a weight above 0"),
    "101 boosts": (400, {"boosts": [BOOST] * 101}, "at most 100"),
    "a weight above a million": (400, {"boosts": [{**BOOST, "weight": 1_000_001}]}, "boosts[0]"),
    "a half-life that overflows": (
        400,
        {"boosts": [{"attribute": "added", "weight": 1, "half_life": "9" * 300 + " years"}]},
        "half_life",
    ),
    "1,001 values": (
        400,
        {"boosts": [{"attribute": "kind", "weight": 1, "values": ["a"] * 1001}]},
        "values",
    ),
    "1,001 pins": (400, {"rules": [{"query": "tea", "pin": [f"d{n}" for n in range(1001)]}]}, "rules[0]"),
    "10,001 rules": (413, {"rules": [{"query": "tea", "ban": ["d1"]}] * 10_001}, "too many values"),
    "a part of no mixture": (400, {"parts": {"bm25": 1}}, "parts"),
    "another type of attribute": (400, {"boosts": [{**BOOST, "attribute": "kind"}]}, "boosts[0]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_more_than_a_limit_is_refused(service, name):
    """The answer names the limit, or the key."""
    status, relevance, said = REFUSED[name]
    found, _, text = post(service, {"query": "tea", "relevance": relevance})
    assert (found, said in text) == (status, True), text


def test_circular_synonyms(service):
    """Words that a line adds are not looked up again, so circles end, and a search has the documents of its words."""
    lines = ["tea => green", "green => tea", "pot, cup", "cup, pot", "cup pot, cup", "rose => rose, mint"]
    lines += [f"c{number}, c{(number + 1) % 900}" for number in range(900)]

    def found(query: str, **relevance: object) -> set[str]:
        asked = {"query": query, "k": 300, "relevance": relevance, "explain": False}
        return {hit["doc_id"] for hit in post(service, asked)[1]["hits"]}

    assert found("tea", synonyms=lines) == found("green")
    assert found("tea green", synonyms=lines) == found("tea green")
    assert found("pot c3", synonyms=lines) == found("cup", synonyms=lines) == found("pot cup")
    assert found("rose", synonyms=lines) == found("rose mint")
    asked = {"query": "tea pot rose", "explain": True, "k": 100, "relevance": {"synonyms": lines}}
    check_scores(post(service, asked)[1]["hits"])


def test_rules_that_match_everything(service, records):
    """A rule for the beginning of all queries pins and bans what it names; one without words has no effect."""
    ids = [record["_id"] for record in records]
    rules = [{"query": "tea", "match": "prefix", "pin": ids[::-1], "ban": ids[:150]}] * 20
    asked = {"query": PHRASE[:3999], "k": 1000, "total": True, "relevance": {"rules": rules}}
    answer = post(service, asked)[1]
    assert [hit["doc_id"] for hit in answer["hits"]] == ids[:149:-1]
    assert answer["total"] == 150
    nothing = {"rules": [{"query": "!?", "match": "prefix", "ban": ids}, {"query": PHRASE, "ban": ids}]}
    plain, ruled = (post(service, {"query": "tea", "relevance": each})[1]["hits"] for each in ({}, nothing))
    assert ruled == plain


def test_boosts_at_their_limits(service):
    """The largest and smallest numbers give finite scores that add up, in their order."""
    extremes = [
        *([BOOST] * 97),
        {**BOOST, "saturation": 5e-324, "weight": -1e6},
        {"attribute": "stock", "weight": 1e6, "near": 1.7e308, "distance": 5e-324},
        {"attribute": "added", "weight": 5e-324, "half_life": "0.000001s", "now": "9999-12-31"},
    ]
    huge = {"attribute": "stock", "weight": 1, "near": 2**70, "distance": 10**300}
    for boosts in ([{**BOOST, "weight": -1e6}] * 100, extremes, [huge]):
        for k in (10, 100, 10):  # the last search has the boosts of all documents
            relevance = {"boosts": boosts}
            answer = post(service, {"query": "tea", "explain": True, "k": k, "relevance": relevance})[1]
            assert len(answer["hits"]) == k
            check_scores(answer["hits"])


def test_other_requests_with_relevance(service):
    """Explanations and searches of several indexes read the same relevance, with the same errors."""
    asked = {"query": "tea", "relevance": {"rules": [{"query": "tea", "pin": ["d7"]}]}}
    one = post(service, {**asked, "doc_id": "d7"}, "/v1/indexes/docs/explain")[1]["explanation"]
    assert one["pinned"] == "tea"
    several = {**asked, "indexes": [{"index": "docs"}, {"index": "languages"}]}
    assert post(service, several, "/v1/search")[1]["hits"][0]["doc_id"] == "d7"
    wrong = {"boosts": [{**BOOST, "weight": "NaN"}]}
    for path, body in [
        ("/v1/indexes/docs/explain", {"query": "tea", "doc_id": "d7"}),
        ("/v1/search", {"query": "tea", "indexes": [{"index": "docs"}]}),
    ]:
        status, _, text = post(service, {**body, "relevance": wrong}, path)
        assert (status, "boosts[0]" in text) == (400, True), text


def test_odd_languages(service):
    """A language that the index lacks, or of another type, is refused by its name."""
    for odd in ODD:
        body = f'{{"query": "tea", "lang": {odd}}}'
        status, answer, text = post(service, body, "/v1/indexes/languages/search")
        assert status == (200 if odd == "null" else 400), text
        assert odd == "null" or answer["error"]["message"] in NOT_READ or "lang" in text, text


def test_synonyms_and_rules_in_each_language(service):
    """Lines and rules are read in each language, and one language of the query leaves out the other documents."""
    relevance = {"synonyms": ["jacket, Jacke"], "rules": [{"query": "jackets", "pin": ["fr2"]}]}
    asked = {"query": "jackets", "relevance": relevance, "explain": True}
    for lang, wanted in [(None, ["fr2", "de0", "en1"]), ("de", ["fr2", "de0"]), ("en", ["fr2", "en1"])]:
        hits = post(service, {**asked, "lang": lang}, "/v1/indexes/languages/search")[1]["hits"]
        assert hits[0]["doc_id"] == "fr2"
        assert sorted(hit["doc_id"] for hit in hits[1:]) == wanted[1:]
        check_scores(hits[1:])
