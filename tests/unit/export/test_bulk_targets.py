"""OpenSearch and Elasticsearch without a server: files, names, requests, and the arithmetic of a search replayed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.export.sources import check
from tokenizers import Tokenizer

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.errors import ParameterError, UnknownNameError
from termwise.export import ExportSource, export_index, make_target
from termwise.export.check import program
from termwise.export.linear_form import LinearForm
from termwise.export.scripts.bulk_engine import BulkEngine, batches, feature, parsed_location
from termwise.export.targets.bulk import attribute_field, row_key, split_bias
from termwise.filters import Equals, parse_filter

LIBRARIES = {"opensearch": "opensearchpy", "elasticsearch": "elasticsearch"}


class Replay:
    """Engine that answers searches from the documents of an export, with the sums and the rounding of Lucene."""

    def __init__(self, export: Path) -> None:
        files = sorted((export / "data").glob("part-*"))
        lines = [line for file in files for line in file.read_text().split("\n")[:-1]]
        self.documents = [json.loads(line) for line in lines[1::2]]
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        """Answer a search."""
        assert (method, path.rpartition("/")[2]) == ("POST", "_search?allow_partial_search_results=false")
        json.dumps(body)
        self.bodies.append(body)
        hits = []
        for document in self.documents:
            scores = self.scores(body["query"], document)
            if scores is not None:
                hits.append((-float(np.float32(sum(scores))), document["position"], document))
        hits.sort(key=lambda hit: hit[:2])
        if "collapse" in body:
            first: dict[str, Any] = {}
            for hit in hits:
                first.setdefault(hit[2]["doc_id"], hit)
            hits = list(first.values())
        found = [
            {"sort": [-score, position], "fields": {"doc_id": [document["doc_id"]]}, "_source": document}
            for score, position, document in hits[: body["size"]]
        ]
        return {"hits": {"hits": found}}

    def scores(self, query: Mapping[str, Any], document: Mapping[str, Any]) -> list[float] | None:
        """Return the scores of the clauses that a document matches; None if it does not match."""
        ((kind, given),) = query.items()
        if kind == "bool":
            return self.of_bool(given, document)
        if kind == "rank_feature":
            field, name = given["field"].rsplit(".", 1)
            value = document[field].get(name)
            return None if value is None else [float(np.float32(given["boost"]) * np.float32(value))]
        if kind == "sparse_vector":
            assert given["prune"] is False
            values = document[given["field"]]
            each = [
                float(np.float32(weight) * np.float32(values[name]))
                for name, weight in given["query_vector"].items()
                if name in values
            ]
            return each or None
        if kind == "nested":
            script = given["query"]["script_score"]["script"]
            products = [
                np.float32(np.dot(script["params"]["query"], np.float32(window["vector"])))
                for window in document[given["path"]]
            ]
            params = script["params"]
            return (
                [float(np.float32(max(0, params["factor"] * max(products) + params["most"])))]
                if products
                else None
            )
        if kind == "constant_score":
            return (
                None
                if self.scores(given["filter"], document) is None
                else [float(np.float32(given["boost"]))]
            )
        return [] if self.matches(kind, given, document) else None

    def of_bool(self, given: Mapping[str, Any], document: Mapping[str, Any]) -> list[float] | None:
        """Return the scores of the clauses of a bool query."""
        assert set(given) <= {"should", "must_not", "filter", "minimum_should_match"}
        if any(self.scores(each, document) is None for each in given.get("filter", ())):
            return None
        if any(self.scores(each, document) is not None for each in given.get("must_not", ())):
            return None
        should = [self.scores(each, document) for each in given.get("should", ())]
        needed = given.get("minimum_should_match", int("filter" not in given and "must_not" not in given))
        if sum(each is not None for each in should) < needed:
            return None
        return [score for each in should if each is not None for score in each]

    def matches(self, kind: str, given: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
        """Return whether a document matches a clause that filters and gives no score."""
        if kind == "match_none":
            return False
        if kind == "exists":
            return given["field"] in document
        ((field, wanted),) = given.items()
        values = document.get(field, [])
        values = values if isinstance(values, list) else [values]
        if kind in ("term", "terms"):
            return any(value in (wanted if kind == "terms" else [wanted]) for value in values)
        assert kind == "range"
        tests = {
            "gte": lambda a, b: a >= b,
            "gt": lambda a, b: a > b,
            "lte": lambda a, b: a <= b,
            "lt": lambda a, b: a < b,
        }
        return any(all(tests[name](value, bound) for name, bound in wanted.items()) for value in values)


@pytest.mark.parametrize("to", ["opensearch", "elasticsearch"])
@pytest.mark.parametrize("name", ["bm25", "dirichlet", "chunks", "changed", "instant"])
def test_the_arithmetic_of_a_search_gives_the_same_results(
    sources: dict[str, Path], tmp_path: Path, to: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(LIBRARIES[to], reason=f"pip install 'termwise[{to}]'")
    export_index(sources[name], to, tmp_path / "out")
    replay = Replay(tmp_path / "out")
    opened = program(tmp_path / "out" / "engine.py").Engine(tmp_path / "out", None)
    opened.close()
    opened.request = replay
    monkeypatch.setattr("termwise.export.check.open_engine", lambda *_: nullcontext(opened))
    found = check(sources[name], tmp_path / "out", random_filters=15)
    rounded = (
        to == "elasticsearch" and name == "dirichlet"
    )  # sums above 2^24 that engine.py does not add again
    assert found.score_difference < (1e-5 if name == "instant" else 1e-6 if rounded else 1e-12)
    assert len(replay.bodies) >= 5


SMALL = [
    Document("a", "node.js tea tea", {"year": 2024, "day": "2024-01-31", "ok": True, "tags": ("x", "y")}),
    Document("", "100% a*b", {"lang": "de"}),
]


def small(folder: Path, model: str = "bm25") -> Path:
    termwise.build_index(SMALL, folder, model=model, analyzer="whitespace", attributes="all", store_text=True)
    return folder


def test_files_of_opensearch(tmp_path: Path) -> None:
    export_index(
        small(tmp_path / "Small Index"),
        "opensearch",
        tmp_path / "out",
        settings={"shards": "3", "replicas": "2"},
    )
    made = json.loads((tmp_path / "out" / "data" / "index.json").read_text())
    assert made == {
        "settings": {"index": {"number_of_shards": 3, "number_of_replicas": 2}},
        "mappings": {
            "dynamic": "strict",
            "properties": {
                "id": {"type": "keyword"},
                "doc_id": {"type": "keyword"},
                "position": {"type": "long"},
                "text": {"type": "text", "index": False},
                "attribute_day": {"type": "long"},
                "attribute_lang": {"type": "keyword"},
                "attribute_ok": {"type": "boolean"},
                "attribute_tags": {"type": "keyword"},
                "attribute_year": {"type": "long"},
                "bm25": {"type": "rank_features"},
            },
        },
    }
    action, document, empty, other = map(
        json.loads, (tmp_path / "out" / "data" / "part-00000.ndjson").read_text().splitlines()
    )
    assert action == {"index": {"_id": "a"}}
    impacts = document.pop("bm25")
    assert document == {
        "id": "a", "doc_id": "a", "position": 0, "text": "node.js tea tea", "attribute_day": 1706659200000000,
        "attribute_ok": True, "attribute_tags": ["x", "y"], "attribute_year": 2024,
    }  # fmt: skip
    assert set(impacts) == {"node%2Ejs", "tea"}
    assert max(impacts.values()) == 255
    assert empty["index"]["_id"].startswith("sha256:e3b0c442")  # an empty _id is refused
    assert (other["id"], set(other["bm25"])) == ("", {"100%25", "a%2Ab"})
    described = json.loads((tmp_path / "out" / "export.json").read_text())
    assert described["alias"] == "small-index"
    assert (tmp_path / "out" / "bulk_engine.py").is_file()


def test_mappings_of_elasticsearch_switch_pruning_and_rounding_off(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    export_index(sources["instant"], "elasticsearch", tmp_path / "out")
    properties = json.loads((tmp_path / "out" / "data" / "index.json").read_text())["mappings"]["properties"]
    assert properties["bm25"] == {"type": "sparse_vector", "index_options": {"prune": False}}
    (field,) = (name for name, value in properties.items() if value["type"] == "nested")
    assert properties[field]["properties"]["vector"]["index_options"] == {"type": "flat"}
    assert properties[f"{field}_windows"] == {"type": "integer"}


def test_bias_is_two_features(tmp_path: Path) -> None:
    export_index(small(tmp_path / "index", "dirichlet"), "opensearch", tmp_path / "out")
    lines = (tmp_path / "out" / "data" / "part-00000.ndjson").read_text().splitlines()[1::2]
    source = ExportSource(termwise.open(tmp_path / "index"))
    (batch,) = source.batches()
    biases = batch.rows[0].biases.tolist()  # type: ignore[union-attr]
    assert max(biases) > 255
    for row, line in enumerate(lines):
        found = json.loads(line)["dirichlet"]
        assert found.get("%high", 0) + found.get("%low", 0) == biases[row]


def test_a_query_of_opensearch(tmp_path: Path) -> None:
    pytest.importorskip("opensearchpy", reason="pip install 'termwise[opensearch]'")
    export_index(small(tmp_path / "index"), "opensearch", tmp_path / "out")
    engine: Any = program(tmp_path / "out" / "engine.py").Engine(tmp_path / "out", None)
    query = LinearForm(ExportSource(termwise.open(tmp_path / "index"))).query("node.js tea tea")
    body, factor, shift = engine.body(query, 7, {"exists": {"field": "x"}})
    engine.close()
    assert body == {
        "size": 7,
        "query": {
            "bool": {
                "should": [
                    {"rank_feature": {"field": "bm25.node%2Ejs", "linear": {}, "boost": 1.0}},
                    {"rank_feature": {"field": "bm25.tea", "linear": {}, "boost": 2.0}},
                ],
                "minimum_should_match": 1,
                "filter": [{"exists": {"field": "x"}}],
            }
        },
        "sort": [{"_score": {"order": "desc"}}, {"position": {"order": "asc"}}],
        "track_total_hits": False,
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": ["doc_id"],
    }
    assert factor > 0
    assert shift == 0


@given(st.lists(st.text(max_size=4), unique=True, max_size=20))
def test_names_of_features_are_distinct_and_allowed(tokens: list[str]) -> None:
    names = [feature(token) for token in tokens]
    assert len(set(names)) == len(tokens)
    assert not any("." in name or "*" in name or not name for name in names)
    assert not {"%high", "%low"} & set(names)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), unique=True, max_size=20
    )
)
def test_names_of_fields_are_distinct_and_allowed(names: list[str]) -> None:
    fields = [attribute_field(name) for name in names]
    assert len(set(fields)) == len(names)
    assert not any(character in field for field in fields for character in ".* \t")


@given(st.integers(0, 65535), st.integers(0, 12))
def test_halves_of_a_bias_have_8_significant_bits(bias: int, shift: int) -> None:
    high, low = split_bias(bias << shift)
    assert high + low == bias << shift
    for half in (high, low):
        bits = f"{half:b}".rstrip("0")
        assert len(bits) <= 8


def test_long_identifiers_have_digests() -> None:
    assert row_key("é" * 256) == "é" * 256
    assert len(row_key("é" * 257)) == 71


def test_locations() -> None:
    assert parsed_location("localhost:9200") == (["http://localhost:9200"], "")
    assert parsed_location("https://u:p@a:1,b:2/x") == (["https://u:p@a:1", "https://u:p@b:2"], "x")
    with pytest.raises(SystemExit, match="a location is"):
        parsed_location("http://a/b/c")


def test_requests_of_bulk_keep_an_action_with_its_document(tmp_path: Path) -> None:
    lines = []
    for number in range(3000):
        lines += [f'{{"index":{{"_id":"{number}"}}}}\n', json.dumps({"text": "x" * 4000}) + "\n"]
        if number % 3 == 0:
            lines.append(f'{{"delete":{{"_id":"{number}"}}}}\n')
    (tmp_path / "part").write_text("".join(lines))
    made = list(batches(tmp_path / "part"))
    assert b"".join(line for each in made for line in each).decode() == "".join(lines)
    assert len(made) == 3
    assert all(each[0].startswith((b'{"index"', b'{"delete"')) for each in made)


def test_settings_are_checked() -> None:
    with pytest.raises(ParameterError, match="shards is out of range"):
        make_target("opensearch", {"shards": "0"})
    with pytest.raises(UnknownNameError, match="setting of the target elasticsearch"):
        make_target("elasticsearch", {"shard": "1"})


def test_filters_are_checked() -> None:
    schema = Schema({"lang": "keyword"})
    with pytest.raises(UnknownNameError):
        make_target("opensearch").filter(Equals("year", 1), schema)


@pytest.mark.parametrize(
    "name", ["elasticsearch", "opensearch", "sqlite", "duckdb", "postgresql", "qdrant", "milvus", "vespa"]
)
def test_filters_of_engines_have_no_lone_surrogates(name: str) -> None:
    schema = Schema({"lang": "keyword"})
    for text in ('lang != "\udcff"', 'lang < "a\ud800"', 'lang in ("a", "\ud800")'):
        with pytest.raises(ParameterError, match="surrogate"):
            make_target(name).filter(parse_filter(text), schema)


@pytest.mark.parametrize(
    "name", ["elasticsearch", "opensearch", "sqlite", "duckdb", "postgresql", "qdrant", "milvus", "vespa"]
)
def test_a_beginning_is_a_range_of_strings_and_a_part_is_refused(name: str) -> None:
    schema = Schema({"lang": "keyword"})
    target = make_target(name)
    with pytest.raises(ParameterError, match="inside strings"):
        target.filter(parse_filter('lang contains "d"'), schema)
    beginning = parse_filter('lang starts with "d"')
    if name in ("qdrant", "vespa"):
        with pytest.raises(ParameterError, match="no ranges of strings"):
            target.filter(beginning, schema)
    else:
        written = json.dumps(target.filter(beginning, schema))
        for bound in ("d", "e"):
            assert f'"{bound}' in written or f"'{bound}'" in written
    assert target.filter(parse_filter('lang starts with ""'), schema) == target.filter(
        parse_filter("lang is not missing"), schema
    )


def test_tokenizer_for_queries_that_opensearch_encodes(tmp_path: Path) -> None:
    """Its tokens, each counted once, with their weights, are the query of the query kit."""
    texts = ["merge two sorted lists", "a 100% tea, brewed in Zürich (node.js)", "unseen \u5b57 words"]
    idf = {"merge": 3.5, "two": 90.0, "tea": 0.0, "##ww": 2.0}
    (tmp_path / "idf.json").write_text(json.dumps(idf))
    model = termwise.models.VectorModel(query="idf", idf=str(tmp_path / "idf.json"))
    rows = [
        {"id": str(n), "vector": {"merge": 3, "two": 2, "tea": 1, ".": 2, "words": n + 1}} for n in range(3)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    termwise.build_index(tmp_path / "rows.jsonl", tmp_path / "index", model=model, analyzer="wordpiece")
    made = export_index(tmp_path / "index", "opensearch", tmp_path / "out")
    assert "not found" in (tmp_path / "out" / "README.md").read_text()
    place = tmp_path / "out" / "data" / "doc_only"
    described = json.loads((place / "model.json").read_text())
    archive = (place / "tokenizer.zip").read_bytes()
    assert described["model_content_hash_value"] == hashlib.sha256(archive).hexdigest()
    assert json.loads((place / "search.json").read_text())["query"]["neural_sparse"].keys() == {
        made["parts"][0]["field"]
    }
    with zipfile.ZipFile(place / "tokenizer.zip") as files:
        tokenizer = Tokenizer.from_str(files.read("tokenizer.json").decode())
        weights = json.loads(files.read("idf.json"))
    assert max(weights.values()) == 64.0
    source = ExportSource(termwise.open(tmp_path / "index"))
    known = set(source.parts[0].tokens)
    for text in texts:
        found = {token: weights.get(token, 1.0) for token in tokenizer.encode(text).tokens}
        found = {token: weight for token, weight in found.items() if token in known and weight > 1e-5}
        expected = LinearForm(source).query(text)["parts"][0]["terms"]
        assert found.keys() == expected.keys()
        if found:
            ratios = [found[token] / expected[token] for token in found]
            assert max(ratios) / min(ratios) < 1.001  # termwise rounds weights of queries to 12 bits


def test_no_tokenizer_for_other_analyzers(tmp_path: Path) -> None:
    export_index(small(tmp_path / "index"), "opensearch", tmp_path / "out")
    assert not (tmp_path / "out" / "data" / "doc_only").exists()


def test_form_sparse_vector(tmp_path: Path) -> None:
    """Numbers of terms as names, and as many query terms and results as asked for; it has no place for a bias."""
    index = small(tmp_path / "index")
    export_index(index, "opensearch", tmp_path / "out", settings={"form": "sparse_vector"})
    made = json.loads((tmp_path / "out" / "data" / "index.json").read_text())
    assert made["settings"]["index"]["sparse"] is True
    parameters = {"quantization_ceiling_ingest": 255.0, "quantization_ceiling_search": 16.0}
    expected = {"type": "sparse_vector", "method": {"name": "seismic", "parameters": parameters}}
    assert made["mappings"]["properties"]["bm25"] == expected
    lines = (tmp_path / "out" / "data" / "part-00000.ndjson").read_text().splitlines()[1::2]
    source = ExportSource(termwise.open(index))
    assert [{source.parts[0].tokens[int(n)] for n in json.loads(line)["bm25"]} for line in lines] == [
        {"node.js", "tea"}, {"100%", "a*b"}
    ]  # fmt: skip
    pytest.importorskip("opensearchpy", reason="pip install 'termwise[opensearch]'")
    engine: Any = program(tmp_path / "out" / "engine.py").Engine(tmp_path / "out", None)
    body, _, _ = engine.body(LinearForm(source).query("node.js tea tea"), 7, None)
    engine.close()
    ((clause,),) = (body["query"]["bool"]["should"],)
    found = clause["neural_sparse"]["bm25"]
    assert sorted(found["query_tokens"].values()) == [8.0, 16.0]
    assert found["boost"] == 2 / 16
    assert found["method_parameters"] == {"k": 7, "top_n": 2}
    with pytest.raises(ParameterError, match="no bias"):
        export_index(
            small(tmp_path / "biased", "dirichlet"),
            "opensearch",
            tmp_path / "x",
            settings={"form": "sparse_vector"},
        )


class _Refusing(BulkEngine):
    """Engine that answers after some refusals."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)

    def ask(self, method: str, path: str, body: Any, *, lines: bool, absent: bool) -> Any:
        """Raise an error with the next status, or answer."""
        if self.statuses:
            error = RuntimeError("refused")
            error.status_code = self.statuses.pop(0)  # type: ignore[attr-defined]
            raise error
        if path.startswith("/docs/_search?"):
            return {"hits": {"hits": [{"path": path}]}}
        return method, path


def test_requests_wait_for_a_busy_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("termwise.export.scripts.bulk_engine.time.sleep", slept.append)
    assert _Refusing(429, 503).request("GET", "/") == ("GET", "/")
    assert slept == [0.25, 0.5]
    with pytest.raises(RuntimeError):
        _Refusing(400).request("GET", "/")
    with pytest.raises(RuntimeError):
        _Refusing(*[429] * 8).request("GET", "/")
    assert len(slept) == 2 + 7


def test_searches_refuse_the_results_of_a_part_of_the_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a shard is lost during a search, the engine answers with status 500 or 503, and the search is sent again."""
    slept: list[float] = []
    monkeypatch.setattr("termwise.export.scripts.bulk_engine.time.sleep", slept.append)
    engine = _Refusing(503, 500)
    engine.alias = "docs"
    (hit,) = engine.hits({"size": 10})
    assert hit["path"] == "/docs/_search?allow_partial_search_results=false"
    assert slept == [0.25, 0.5]
    with pytest.raises(RuntimeError):
        _Refusing(500).request("POST", "/docs/_bulk")
