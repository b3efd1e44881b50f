"""Relevance of requests and of a served index, whose file changes while the service runs."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.conftest import served

import termwise
from termwise import Document
from termwise.cli.main import run
from termwise.errors import MissingFileError, ParameterError, TermwiseError
from termwise.search import Relevance, Search, Searcher
from termwise.serve import ServiceSettings
from termwise.serve.indexes import RelevanceFile, ServedIndexes

DEAR = {"boosts": [{"attribute": "price", "weight": 5, "saturation": 1}]}
CHEAP = {"boosts": [{"attribute": "price", "weight": -5, "saturation": 10}]}


def test_requests_and_a_file_that_changes(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "relevance.json"
    file.write_text(json.dumps(DEAR))
    settings = ServiceSettings(threads=2, relevance=(str(file),))
    with served([str(shop)], settings) as client, caplog.at_level(logging.ERROR, "termwise.serve"):

        def search(**request: object) -> list[str]:
            answer = client.post("/v1/indexes/shop/search", json={"query": "tea", **request})
            assert answer.status_code == 200, answer.text
            return [hit["doc_id"] for hit in answer.json()["hits"]]

        by_price = ["pot", "sencha", "genmaicha", "assam"]
        assert search() == by_price
        assert search(relevance=CHEAP)[0] == "assam"
        plain = search(relevance={})
        assert plain == search(relevance=None) != by_price
        assert search(sort=["kind", "-price"])[:2] == ["assam", "sencha"]
        assert search(sort="kind,-price") == search(sort=["kind", "-price"])
        answer = client.post("/v1/indexes/shop/explain", json={"query": "tea", "doc_id": "pot"})
        boost = answer.json()["explanation"]["contributions"][-1]
        assert (boost["origin"], boost["value"], boost["shape"]) == ("boost", "40", "saturation 1")
        page = client.get("/", params={"index": "shop", "q": "tea"}, headers={"accept": "text/html"}).text
        assert "40, saturation 1" in page
        wrong = client.post("/v1/indexes/shop/search", json={"relevance": {"boost": []}})
        assert wrong.status_code == 400
        assert "did you mean boosts" in wrong.text

        file.write_text(json.dumps(CHEAP) + " ")
        assert search()[0] == "assam"
        file.write_text("{")
        assert search()[0] == "assam"
        assert search()[0] == "assam"
        assert len([each for each in caplog.records if "cannot be used" in each.getMessage()]) == 1
        file.write_text(json.dumps({"boosts": []}))
        assert search() == plain


def test_options_of_searches_that_do_not_state_them(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "relevance.toml"
    file.write_text('[search]\nmatch = "all"\nfuzzy = true\n')
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:

        def found(path: str, **request: object) -> set[str]:
            answer = client.post(path, json=request)
            assert answer.status_code == 200, answer.text
            return {hit["doc_id"] for hit in answer.json()["hits"]}

        one, several = "/v1/indexes/shop/search", "/v1/search"
        indexes = [{"index": "shop"}]
        all_words, any_word = {"sencha", "genmaicha"}, {"sencha", "genmaicha", "assam", "pot"}
        assert found(one, query="gren tea") == found(several, query="gren tea", indexes=indexes) == all_words
        assert found(one, query="gren tea", match="any") == any_word
        assert found(one, query="gren tea", fuzzy=False) == set()
        assert found(one, query="gren tea", fuzzy=None, match=None) == all_words
        assert found(one, query="gren tea", relevance={}) == any_word
        assert found(one, like="sencha", k=2)
        asked = {"query": "gren tea", "doc_id": "sencha"}
        terms = client.post("/v1/indexes/shop/explain", json=asked).json()["explanation"]["contributions"]
        assert "fuzzy" in {each["origin"] for each in terms}

        def page(**address: str) -> str:
            return client.get("/", params={"q": "gren tea", **address}, headers={"accept": "text/html"}).text

        assert "2 results" in page()
        assert 'name="fuzzy" value="1" data-submit checked' in page()
        assert 'name="fuzzy" value="1" data-submit>' in page(fuzzy="0")
        assert "2 results" not in page(fuzzy="0")

        def opensearch(query: object, path: str = "_search") -> set[str]:
            answer = client.post(f"/shop/{path}", json={"query": query})
            assert answer.status_code == 200, answer.text
            return {hit["_id"] for hit in answer.json()["hits"]["hits"]}

        def match(**stated: object) -> dict[str, object]:
            return {"match": {"text": {"query": "gren tea", **stated}}}

        assert opensearch(match()) == all_words
        assert opensearch(match(operator="or")) == opensearch(match(minimum_should_match=1)) == any_word
        assert opensearch(match(fuzziness=0)) == set()
        assert opensearch(match(fuzziness=0, operator="or")) == any_word
        assert opensearch(match(operator="and")) == opensearch(match(minimum_should_match="2")) == all_words
        assert opensearch(match(operator="and", fuzziness=0)) == set()
        limited = {"must": [match(operator="and")], "filter": [{"match": {"text": "rice"}}]}
        assert opensearch({"bool": limited}) == {"genmaicha"}
        multi = {"query": "gren tea", "fields": ["text"]}
        assert opensearch({"multi_match": multi}) == all_words
        assert opensearch({"query_string": {"query": "gren tea"}}) == all_words
        assert opensearch({"query_string": {"query": "gren tea", "default_operator": "or"}}) == any_word
        both = {"must": [{"match": {"text": "tea"}}], "should": [{"match": {"text": "rice"}}]}
        assert opensearch({"bool": both}) == any_word
        assert opensearch({"match_phrase": {"text": "green tea"}}) == all_words
        assert opensearch({"ids": {"values": ["pot"]}}) == {"pot"}
        for query, matched in [(match(), False), (match(operator="or"), True)]:
            answer = client.post("/shop/_explain/pot", json={"query": query}).json()
            assert answer["matched"] is matched


def test_functions_keep_synonyms_rules_and_boosts(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "relevance.toml"
    file.write_text(
        'synonyms = ["gruen => green"]\n'
        '[[boosts]]\nattribute = "kind"\nweight = 0.5\nvalues = ["green"]\n'
        '[[rules]]\nquery = "gruen tea"\npin = ["pot"]\nban = ["assam"]\n'
    )
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:

        def scores(query: object) -> dict[str, float]:
            answer = client.post("/shop/_search", json={"query": query})
            assert answer.status_code == 200, answer.text
            return {hit["_id"]: hit["_score"] for hit in answer.json()["hits"]["hits"]}

        def of_functions(mode: str) -> dict[str, float]:
            function = {"filter": {"term": {"kind": "green"}}, "weight": 3}
            score = {"query": query, "functions": [{"weight": 1}, function], "score_mode": "sum"}
            return scores({"function_score": {**score, "boost_mode": mode}})

        query = {"match": {"text": "gruen tea"}}
        plain = scores(query)
        assert next(iter(plain)) == "pot"
        assert set(plain) == {"pot", "sencha", "genmaicha"}
        assert list(of_functions("sum")) == list(plain)
        for mode, green, others in (("sum", 4, 1), ("multiply", 3 / 4 * max(plain.values()), 0)):
            expected = {name: score + (others if name == "pot" else green) for name, score in plain.items()}
            assert of_functions(mode) == pytest.approx(expected)
        explained = client.post(
            "/shop/_explain/sencha",
            json={"query": {"function_score": {"query": query, "weight": 2, "boost_mode": "sum"}}},
        ).json()
        assert explained["explanation"]["value"] == pytest.approx(plain["sencha"] + 2)
        wrong = {"query": query, "functions": [{"filter": {"term": {"kind": True}}, "weight": 2}]}
        answer = client.post("/shop/_search", json={"query": {"function_score": wrong}})
        assert answer.status_code == 400
        assert str(tmp_path) not in answer.text  # the file is not the reason


def test_the_last_word_is_a_prefix_by_default(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "relevance.toml"
    file.write_text("[search]\nprefix = true\n")
    green = {"sencha", "genmaicha"}
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:

        def found(path: str = "/v1/indexes/shop/search", **request: object) -> set[str]:
            answer = client.post(path, json=request)
            assert answer.status_code == 200, answer.text
            hits = answer.json()["hits"]
            return {
                hit.get("doc_id") or hit["_id"] for hit in (hits if isinstance(hits, list) else hits["hits"])
            }

        assert found(query="gre") == found("/v1/search", query="gre", indexes=[{"index": "shop"}]) == green
        assert found(query="gre", prefix=None) == green
        assert found(query="gre", prefix=False) == found(query="gre ") == set()
        terms = client.post("/v1/indexes/shop/explain", json={"query": "gre", "doc_id": "sencha"}).json()
        assert {each["origin"] for each in terms["explanation"]["contributions"]} == {"prefix"}
        assert "2 results" in client.get("/", params={"q": "gre"}, headers={"accept": "text/html"}).text

        def opensearch(query: object) -> set[str]:
            return found("/shop/_search", query=query)

        assert opensearch({"match": {"text": "gre"}}) == green
        assert opensearch({"match": {"text": {"query": "tea gre", "operator": "and"}}}) == green
        assert opensearch({"match_phrase": {"text": "gre"}}) == set()
        assert (
            opensearch({"bool": {"should": [{"match": {"text": each}} for each in ("gre", "cla")]}}) == set()
        )


def test_a_file_whose_options_do_not_fit_its_index(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"search": {"min_relevance": 0.5}}))
    with pytest.raises(ParameterError) as raised:
        ServedIndexes([str(shop)], relevance=[str(file)])
    assert raised.value.facts[:2] == (("file", file), ("key", "search.min_relevance"))


def test_files_for_indexes(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(DEAR))
    two = [f"a={shop}", f"b={shop}"]
    indexes = ServedIndexes(two, relevance=[f"b={file}"])
    assert indexes["a"].current().relevance is None
    relevance = indexes["b"].current().relevance
    assert relevance is not None
    assert relevance.boosts[0].attribute == "price"
    for given in ([str(file)], [f"c={file}"], [f"a={file}", f"a={file}"]):
        with pytest.raises(ParameterError, match="each relevance file is for one index"):
            ServedIndexes(two, relevance=given)
    with pytest.raises(MissingFileError):
        ServedIndexes([str(shop)], relevance=[str(tmp_path / "none.json")])


def test_commands(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, queries, out = tmp_path / "r.json", tmp_path / "q.jsonl", tmp_path / "run.trec"
    file.write_text(json.dumps(DEAR))
    assert run(["search", str(shop), "tea", "--relevance", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run(["search", str(shop), "--relevance", str(file), "-k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run(["explain", str(shop), "tea", "pot", "--relevance", str(file)]) == 0
    assert "price (40, saturation 1)" in capsys.readouterr().out
    queries.write_text('{"_id": "q", "text": "tea"}\n')
    ranked = ["rank", str(shop), "--queries", str(queries), "--out", str(out), "--relevance", str(file)]
    assert run(ranked) == 0
    assert out.read_text().split()[2] == "pot"
    qrels, learned = tmp_path / "qrels", tmp_path / "learned.json"
    qrels.write_text("q 0 pot 1\n")
    command = ["learn-weights", str(shop), "--relevance", str(file), "--queries", str(queries)]
    command += ["--qrels", str(qrels), "--folds", "0", "--json"]
    capsys.readouterr()
    assert run([*command, "--out", str(learned)]) == 0
    report = json.loads(capsys.readouterr().out)
    weight = json.loads(learned.read_text())["boosts"][0]["weight"]
    assert report["weights"] == {"1 price": weight}
    assert report["present"]["weights"] == {"1 price": 5}
    assert run(["search", str(shop), "tea", "--relevance", str(learned), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["doc_id"] == "pot"
    assert run([*command, "--out", str(tmp_path / "learned.toml")]) == 2
    assert run([*command, "--method", "sweep"]) == 2
    qrels.write_text("q 0 assam 1\n")  # the last one for the query, so that its weight is negative
    assert run(command) == 3
    assert "judge more queries" in capsys.readouterr().err


STEERED: dict[str, Any] = {
    "boosts": [{"attribute": "price", "weight": 0.5, "near": 9, "distance": 4}],
    "synonyms": ["tea, pot", "clay => roasted ^0.5"],
    "synonym_weight": 0.4,
    "rules": [{"query": "tea", "pin": ["mint/fresh"], "ban": ["assam"]}],
}


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_every_beginning_of_a_file_is_read_or_refused(tmp_path: Path, ending: str) -> None:
    """A file of which the end is missing has a typed error, or in TOML, less of the relevance."""
    whole = json.dumps(STEERED)
    if ending == "toml":
        whole = f"synonym_weight = 0.4\nsynonyms = {json.dumps(STEERED['synonyms'])}\n"
        for name in ("boosts", "rules"):
            lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in STEERED[name][0].items())
            whole += f"[[{name}]]\n{lines}"
    path, read, named = tmp_path / f"r.{ending}", 0, list[bool]()
    for length in range(len(whole)):
        path.write_text(whole[:length])
        try:
            relevance = Relevance.read(path)
        except TermwiseError as error:
            named.append(path in dict(error.facts).values())
        else:
            read += 1
            assert len(relevance.boosts) + len(relevance.rules) + len(relevance.synonyms.lines) <= 4
    assert all(named)
    assert (read == 0) is (ending == "json")
    path.write_text(whole)
    assert Relevance.read(path) == Relevance.of(STEERED)


BREAKS: list[tuple[str | None, str | None, str]] = [
    ("[[boosts]\n", None, "r.toml"),
    ('[[boosts]]\nattribute = "price"\nweight = "5"\nsaturation = 1\n', None, "boosts[0]"),
    ('[[boosts]]\nattribute = "nope"\nweight = 5\nsaturation = 1\n', None, "boosts[0]"),
    ('[[boosts]]\nattribute = "kind"\nweight = 5\nsaturation = 1\n', None, "boosts[0]"),
    ("[parts]\nbm25 = 1\n", None, "parts"),
    ("[search]\nfuzzy = 3\n", None, "search.fuzzy"),
    ("synonym = []\n", None, "synonym"),
    (None, None, "r.toml"),
    ("", "removed", "words.txt"),
    ("", "kettle\n", "words.txt"),
    ("", "kettle, pot ^7\n", "words.txt"),
]
"""What is written to a relevance file or its file of synonyms, None for no file, and what the log names."""


def test_a_file_that_breaks_and_is_mended_while_requests_run(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No request fails, each has all of a good version, and the log names the file and the key of each error once."""
    file, words = tmp_path / "r.toml", tmp_path / "words.txt"

    def good(pin: str) -> str:
        rule = f'[[rules]]\nquery = "kettle"\nmatch = "prefix"\npin = ["{pin}"]\nban = ["assam"]\n'
        return f'synonyms_file = "words.txt"\n[[boosts]]\nattribute = "price"\nweight = 5\nsaturation = 1\n{rule}'

    words.write_text("kettle, tea\n")
    file.write_text(good("mint/fresh"))
    pins, done, seen = {"mint/fresh"}, threading.Event(), set[str]()
    with (
        served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client,
        caplog.at_level(logging.ERROR, "termwise.serve"),
    ):

        def first() -> str:
            answer = client.post("/v1/indexes/shop/search", json={"query": "kettle", "explain": True})
            assert answer.status_code == 200, answer.text
            ids = [hit["doc_id"] for hit in answer.json()["hits"] if not hit["doc_id"].startswith("cup")]
            assert ids[0] in pins
            assert ids[1:] == [each for each in ("pot", "sencha", "genmaicha") if each != ids[0]]
            return ids[0]

        def search() -> None:
            while not done.is_set():
                seen.add(first())

        with ThreadPoolExecutor(2) as pool:
            searches = [pool.submit(search) for _ in range(2)]
            try:
                for number, (body, lines, named) in enumerate(BREAKS):
                    caplog.clear()
                    before = first()
                    if lines == "removed":
                        words.unlink()
                    elif lines is not None:
                        _replace(words, lines)
                    elif body is None:
                        file.unlink()
                    else:
                        _replace(file, body)
                    assert first() == before
                    with termwise.open_writer(shop) as writer:
                        writer.add([Document(f"cup{number}", "a cup", {"price": 1, f"new{number}": True})])
                    while not caplog.records:  # until the thread that reads the file has logged its error
                        assert first() == before
                    (logged,) = (record.getMessage() for record in caplog.records)
                    assert (str(file) in logged, named in logged) == (True, True), logged
                    pin = ("sencha", "mint/fresh")[number % 2]
                    pins.add(pin)
                    _replace(words, "kettle, tea\n")
                    _replace(file, good(pin))
                    while first() != pin:  # until the thread that reads the file has read it
                        pass
            finally:
                done.set()
            for each in searches:
                each.result()
    assert seen == {"mint/fresh", "sencha"}


def _replace(file: Path, text: str) -> None:
    """Write a new file and rename it, so that no search reads half of it."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.rename(file)


def test_a_file_that_another_thread_reads_for_a_newer_generation(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that began with an older generation has the newer one, whose attribute the file names."""
    file = tmp_path / "relevance.json"
    file.write_text("{}")
    served_index = ServedIndexes([str(shop)], relevance=[str(file)])["shop"]
    current = RelevanceFile.current

    def meanwhile(self: RelevanceFile, searcher: Searcher) -> Relevance:
        with termwise.open_writer(shop) as writer:
            writer.add([Document("matcha", "tea", {"rating": 5})])
        file.write_text(json.dumps({"boosts": [{"attribute": "rating", "weight": 9, "saturation": 1}]}))
        current(self, served_index.searcher())
        return current(self, searcher)

    monkeypatch.setattr(RelevanceFile, "current", meanwhile)
    opened = served_index.current()
    found = opened.searcher.search(Search("tea", relevance=opened.relevance)).ranking
    assert found.doc_ids[0] == "matcha"


def test_a_file_that_another_thread_has_just_read_is_not_read_again(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, searcher = tmp_path / "relevance.json", termwise.open(shop)
    file.write_text("{}")
    relevance_file = RelevanceFile(file, searcher)
    lock = relevance_file._lock

    class Later:
        """Lock that another thread has had meanwhile."""

        def acquire(self, *, blocking: bool) -> bool:
            relevance_file._lock = lock
            relevance_file.current(searcher)
            return lock.acquire(blocking=blocking)

    relevance_file._lock = Later()  # type: ignore[assignment]
    file.write_text("{")
    with caplog.at_level(logging.ERROR, "termwise.serve"):
        assert relevance_file.current(searcher) == Relevance()
    assert len(caplog.records) == 1
    assert lock.acquire(blocking=False)


def test_a_file_that_takes_longer_to_read_than_a_search_may(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search that finds it has the version before, and is answered in time."""
    file, goes_on, read = tmp_path / "relevance.json", threading.Event(), Relevance.read

    def slow(path: Path) -> Relevance:
        assert goes_on.wait(60)
        return read(path)

    file.write_text(json.dumps(DEAR))
    with served([str(shop)], ServiceSettings(threads=1, timeout=1, relevance=(str(file),))) as client:

        def first() -> str:
            answer = client.post("/v1/indexes/shop/search", json={"query": "tea"})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["hits"][0]["doc_id"])

        monkeypatch.setattr(Relevance, "read", slow)
        monkeypatch.setattr("termwise.serve.indexes.READ_SECONDS", 0.05)
        file.write_text(json.dumps(CHEAP) + " ")
        assert [first(), first()] == ["pot", "pot"]
        goes_on.set()
        while first() != "assam":
            pass


def test_a_file_that_is_written_in_place_is_read_as_a_whole(shop: Path, tmp_path: Path) -> None:
    """While half of a version is written, searches have the one before."""
    file, versions = tmp_path / "relevance.json", [STEERED, DEAR]
    file.write_text(json.dumps(versions[0]))
    served_index = ServedIndexes([str(shop)], relevance=[str(file)])["shop"]
    for number in range(1, 4):
        before, text = served_index.current().relevance, json.dumps(versions[number % 2])
        file.write_text(text[:20])
        assert served_index.current().relevance == before
        file.write_text(text)
        assert served_index.current().relevance == Relevance.of(versions[number % 2])


MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"boosts": [{"attribute": "nope", "weight": 1, "saturation": 1}]}, "unknown attribute 'nope'"),
    ({"boosts": [{"attribute": "kind", "weight": 1, "saturation": 1}]}, "kind"),
    ({"parts": {"bm25": 1}}, "only a mixture has parts"),
]


@pytest.mark.parametrize(("body", "said"), MISFITS)
def test_a_file_that_does_not_fit_the_index(
    shop: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, body: dict[str, Any], said: str
) -> None:
    """It is refused at the start; later, the version before stays, and the log names the file, once."""
    file, new = tmp_path / "relevance.json", tmp_path / "new.json"
    file.write_text(json.dumps(body))
    with pytest.raises(TermwiseError, match=said) as refused:
        ServedIndexes([str(shop)], relevance=[str(file)])
    assert dict(refused.value.facts)["file"] == file
    file.write_text(json.dumps(DEAR))
    served_index = ServedIndexes([str(shop)], relevance=[str(file)])["shop"]
    new.write_text(json.dumps(body))
    new.rename(file)
    with caplog.at_level(logging.ERROR, "termwise.serve"):
        for _ in range(2):
            assert served_index.current().relevance == Relevance.of(DEAR)
            with termwise.open_writer(shop) as writer:
                writer.add([Document("cup", "a cup")])
                writer.delete(["cup"])
    (logged,) = (record.getMessage() for record in caplog.records)
    assert said in logged
    assert str(file) in logged
    file.write_text(json.dumps(CHEAP))
    assert served_index.current().relevance == Relevance.of(CHEAP)


def test_a_file_for_two_indexes_that_fits_one(shop: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "relevance.json", tmp_path / "other.tw"
    termwise.build_index([Document("a", "a pot", {"rating": 1})], other)
    file.write_text("{}")
    indexes = ServedIndexes([str(shop), str(other)], relevance=[f"shop={file}", f"other={file}"])
    file.write_text(json.dumps(DEAR))
    assert indexes["shop"].current().relevance == Relevance.of(DEAR)
    assert indexes["other"].current().relevance == Relevance.of({})


def test_a_file_with_an_attribute_is_written_again_when_documents_have_it(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "relevance.json"
    file.write_text(json.dumps(DEAR))
    with served([str(shop)], ServiceSettings(threads=2, relevance=(str(file),))) as client:

        def first() -> str:
            answer = client.post("/v1/indexes/shop/search", json={"query": "tea"})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["hits"][0]["doc_id"])

        body = json.dumps({"boosts": [{"attribute": "rating", "weight": 9, "saturation": 1}]})
        file.write_text(body)
        assert first() == "pot"
        with termwise.open_writer(shop) as writer:
            writer.add([Document("matcha", "tea", {"rating": 5})])
        file.write_text(body + "\n")
        assert first() == "matcha"
