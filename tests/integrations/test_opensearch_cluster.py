"""Exports in a real OpenSearch cluster of three nodes, while nodes end and indexes change.

The server comes from Maven Central, or from the cache of ``scripts/opensearch``; without it, the tests are skipped.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_with_warning

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.collection import read_qrels, read_queries
from termwise.collection.python_questions import PythonQuestions
from termwise.errors import ParameterError
from termwise.export import check_export, export_changes, export_index, make_target
from termwise.export.check import program
from termwise.export.linear_form import LinearForm
from termwise.export.source import ExportSource
from termwise.filters import (
    And,
    Between,
    Equals,
    Exists,
    Filter,
    Greater,
    In,
    Less,
    Not,
    NotEquals,
    NotIn,
    Or,
)
from termwise.records import Query

pytest.importorskip("opensearchpy", reason="needs opensearch-py: pip install opensearch-py")

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "opensearch"
WORDS = [
    "tea",
    "green",
    "black",
    "leaf",
    "node.js",
    "100%",
    "a*b",
    "steam",
    "water",
    "kettle",
    "cup",
    "é",
    "%2E",
]


class Cluster:
    """The three nodes of ``scripts/opensearch``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addresses = self.run("start").split()

    def run(self, *arguments: str) -> str:
        """Run the script, and return what it prints."""
        done = subprocess.run(
            [sys.executable, SCRIPT, *arguments, "--data", self.folder],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def location(self) -> str:
        """Addresses in the form of an export."""
        return "http://" + ",".join(each.removeprefix("http://") for each in self.addresses)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return a running cluster."""
    fetched = subprocess.run([sys.executable, SCRIPT, "fetch"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        skip_with_warning(f"no OpenSearch: {fetched.stderr.strip()}")
    folder = tmp_path_factory.mktemp("cluster")
    try:
        yield Cluster(folder)
    finally:
        subprocess.run([sys.executable, SCRIPT, "stop", "--delete", "--data", folder], check=True)


class Loaded:
    """An exported and loaded index."""

    def __init__(self, index: Path, export: Path, cluster: Cluster, alias: str) -> None:
        self.index, self.export = index, export
        self.at = f"{cluster.location}/{alias}"
        self.searcher = termwise.open(index)
        self.form = LinearForm(ExportSource(self.searcher))
        self.engine: Any = program(export / "engine.py").Engine(export, self.at)

    def load(self) -> list[str]:
        """Load, and return the lines about progress."""
        lines: list[str] = []
        self.engine.load(lines.append)
        return lines

    def found(self, text: str, k: int = 1000, filter: Filter | None = None) -> list[tuple[str, float]]:
        """Search in OpenSearch."""
        translated = None
        if filter is not None:
            translated = make_target("opensearch").filter(filter, self.form.source.schema)
        result: list[tuple[str, float]] = self.engine.search(self.form.query(text), k, translated)
        return result

    def expected(self, text: str, k: int = 1000, filter: Filter | None = None) -> list[tuple[str, float]]:
        """Search in termwise."""
        ranking = self.searcher.rank(text, k=k, filter=filter)
        return list(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))


Load = Callable[..., Loaded]


@pytest.fixture
def load(cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Load]:
    """Return a function that exports an index, and loads it behind an alias named for the test."""
    made: list[Loaded] = []

    def loaded(
        index: Path, *, name: str = "", load: bool = True, shards: int = 3, replicas: int = 0
    ) -> Loaded:
        export = tmp_path / f"export{len(made)}"
        settings = {"shards": str(shards), "replicas": str(replicas)}
        export_index(index, "opensearch", export, settings=settings)
        alias = name or request.node.name.replace("[", "-").replace("]", "").replace(":", "-").lower()
        made.append(Loaded(index, export, cluster, alias))
        if load:
            made[-1].load()
        return made[-1]

    yield loaded
    for each in made:
        each.engine.request("DELETE", f"/{each.engine.alias}-*", absent=True)
        each.engine.close()


def shop(count: int, seed: int) -> list[Document]:
    """Return short documents with words that feature names cannot have, and attributes, some of them missing."""
    chance = random.Random(seed)
    pools: dict[str, list[Any]] = {
        "lang": ["", "a", "b", "bb", "ü", "\U0001f600"],
        "price": [-1e308, -0.0, 0.5, 1.0, 2.0, 2.0**53, 5e-324],
        "count": [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1],
        "sold": [True, False],
        "day": ["0001-01-01", "2024-01-31", "2024-01-31T12:00", "2024-01-31T23:59:59.999999", "9999-12-31"],
    }
    documents = []
    for number in range(count):
        attributes = {name: chance.choice(pool) for name, pool in pools.items() if chance.random() < 0.8}
        if chance.random() < 0.8:
            attributes["tags"] = chance.choices(pools["lang"], k=chance.randrange(4))
        text = " ".join(chance.choices(WORDS, k=chance.randrange(1, 12)))
        documents.append(Document(f"d{number}", text, attributes=attributes))
    return documents


SCHEMA = Schema(
    {
        "lang": "keyword",
        "price": "float",
        "count": "integer",
        "sold": "boolean",
        "day": "date",
        "tags": "keywords",
    }
)


def random_filter(chance: random.Random, depth: int = 2) -> Filter:
    """Return a filter over the attributes of `shop`."""
    kind = chance.randrange(5 if depth else 2)
    if kind == 2:
        return Not(random_filter(chance, depth - 1))
    if kind in (3, 4):
        several = [random_filter(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
        return And(*several) if kind == 3 else Or(*several)
    field = chance.choice(list(SCHEMA))
    values: dict[str, list[Any]] = {
        "lang": ["", "a", "b", "c", "ü"],
        "tags": ["", "a", "ab", "\U0001f600"],
        "price": [-0.0, 0.1, 0.5, 3, 2**53 + 1, -(10**30)],
        "count": [0, 0.5, -1, 2**53 + 1, 1e300, 10**30],
        "sold": [True, False],
        "day": ["2024-01-30", "2024-01-31", "2024-01-31T12:00", "2024-01-31T13:00:00+01:00"],
    }
    value, other = chance.choices(values[field], k=2)
    choices: list[Filter] = [Equals(field, value), NotEquals(field, value), In(field, (value, other))]
    choices += [NotIn(field, (value, other)), Exists(field)]
    if field != "sold":
        choices += [Less(field, value), Greater(field, value), Between(field, value, other)]
    return chance.choice(choices)


def build(documents: list[Document], folder: Path, **settings: Any) -> Path:
    """Index documents by their words."""
    settings = {"model": "bm25", "analyzer": "whitespace", **settings}
    termwise.build_index(documents, folder, attributes=SCHEMA, store_text=True, **settings)
    return folder


def test_documents_with_a_bias_have_equal_results(load: Load, tmp_path: Path) -> None:
    """Query likelihood, whose documents have a bias and whose sums are above 2^24."""
    termwise.build_index("python:stdlib", tmp_path / "index", model="dirichlet")
    both = load(tmp_path / "index")
    questions = PythonQuestions.load().queries[:40]
    for question in questions:
        assert both.found(question.text) == both.expected(question.text)  # equal scores too, and ties
    check = check_export(both.index, both.export, questions[:10], at=both.at)
    assert (check.queries, check.identical) == (10, 10)
    assert check.score_difference < 1e-12


@pytest.mark.shared
def test_a_judged_collection_has_equal_results(load: Load, tmp_path: Path, shared: Path) -> None:
    """All test queries of CACM; ``experiments/export_agreement.py`` has larger collections."""
    folder = shared / "collections" / "cacm"
    termwise.build_index(folder, tmp_path / "index", model="bm25")
    both = load(tmp_path / "index")
    judged = {each.query_id for each in read_qrels(folder / "qrels" / "test.tsv")}
    queries = [query for query in read_queries(folder) if query.query_id in judged]
    check = check_export(both.index, both.export, queries, at=both.at, k=1000)
    assert (check.queries, check.identical) == (52, 52)
    assert check.score_difference < 1e-12


def test_a_mixture_has_equal_results(load: Load, tmp_path: Path) -> None:
    """BM25 and vectors, as one sum; documents whose scores differ by less than 1e-6 may change places."""
    documents = [Document(f"p{number}", text) for number, text in enumerate(PASSAGES * 3)]
    documents.append(Document("empty", ""))
    termwise.build_index(documents, tmp_path / "index", model="instant")
    both = load(tmp_path / "index")
    queries = [
        Query(str(number), text) for number, text in enumerate([*PASSAGES, "lava", "qqqq", "sea moon"])
    ]
    check = check_export(both.index, both.export, queries, at=both.at, k=100)
    assert check.identical == check.queries == len(queries)
    assert check.score_difference < 1e-5


PASSAGES = [
    "Molten rock rises through a vent in the crust and builds a cone of ash around it.",
    "Workers collect nectar and pollinate blossoms; the queen lays eggs.",
    "The sea rises and falls twice a day, drawn by the moon.",
    "A kettle boils water for tea; green leaves need less heat than black ones.",
    "Glaciers carve valleys and leave moraines behind when they melt.",
    "Copper conducts electricity well, so cables are made of it.",
    "The court heard the appeal and reversed the judgment of the lower court.",
]


def test_filters_allow_the_same_documents(load: Load, tmp_path: Path) -> None:
    both = load(build(shop(300, seed=1), tmp_path / "index"))
    chance = random.Random(2)
    allowed = set()
    for _ in range(80):
        filter = random_filter(chance)
        found = both.found(" ".join(WORDS), filter=filter)
        assert found == both.expected(" ".join(WORDS), filter=filter), str(filter)
        allowed.add(len(found))
    assert len(allowed) > 25  # the filters differ


def test_a_filter_that_no_query_can_have_is_refused() -> None:
    with pytest.raises(ParameterError, match="surrogate"):
        make_target("opensearch").filter(Equals("lang", "\ud800"), SCHEMA)


def test_deleted_documents_are_left_out_and_chunks_are_joined(load: Load, tmp_path: Path) -> None:
    documents = [Document(each.doc_id, f"{each.text} " * 6) for each in shop(60, seed=3)]
    termwise.build_index(
        documents, tmp_path / "index", model="bm25", analyzer="whitespace", chunk=20, store_text=True
    )
    with termwise.open_writer(tmp_path / "index") as writer:
        writer.delete(f"d{number}" for number in range(0, 60, 7))
        writer.commit()
    both = load(tmp_path / "index")
    assert len(both.form.source) > 100
    for text in ("tea", "green leaf", "node.js 100% a*b", " ".join(WORDS), "nothing"):
        found = both.found(text, k=40)
        assert found == both.expected(text, k=40)
        assert len({doc_id for doc_id, _ in found}) == len(found)
        assert not {"d0", "d7"} & {doc_id for doc_id, _ in found}


def test_changes_are_applied_once(load: Load, tmp_path: Path) -> None:
    documents = shop(80, seed=4)
    both = load(build(documents, tmp_path / "index"))
    before = both.engine.current()
    shutil.copytree(both.export, tmp_path / "earlier")
    with termwise.open_writer(both.index) as writer:
        writer.delete(["d3", "d4"])
        writer.add([Document("d5", "green green tea"), Document("new", "steam kettle")])
        writer.commit()
    since = both.form.source.generation
    made = export_changes(both.index, both.export, since=since)
    later = Loaded(both.index, both.export, cluster_of(both), both.engine.alias)
    lines: list[str] = []
    for _ in range(2):
        later.engine.update(both.export / made["folder"], lines.append)
    assert "already" in lines[1]
    assert later.engine.current() == before
    for text in ("tea", "green tea", "steam", "kettle node.js"):
        assert later.found(text) == later.expected(text)
    assert "already holds" in later.load()[0]
    with pytest.raises(SystemExit, match="has generation"):
        later.engine.update(both.export / "changes" / "8-9", lines.append)
    later.engine.close()
    earlier = Loaded(both.index, tmp_path / "earlier", cluster_of(both), both.engine.alias)
    earlier.load()  # the index of its name was updated, so it gets another one
    assert earlier.engine.current() == f"{before}-2"
    assert earlier.engine.request("GET", f"/{earlier.engine.alias}/_count")["count"] == 80
    earlier.engine.close()


def cluster_of(both: Loaded) -> Cluster:
    """Return a stand-in with the location of a loaded export."""
    found = Cluster.__new__(Cluster)
    found.addresses = both.engine.hosts
    return found


def test_an_interrupted_load_goes_on(load: Load, tmp_path: Path) -> None:
    both = load(build(shop(50, seed=5), tmp_path / "index"), load=False)
    data = both.export / "data"
    lines = (data / "part-00000.ndjson").read_bytes().splitlines(keepends=True)
    for number, first in enumerate(range(0, 100, 20)):
        (data / f"part-{number:05}.ndjson").write_bytes(b"".join(lines[first : first + 20]))
    send, sent = both.engine.send, []

    def interrupted(name: str, file: Path) -> None:
        if len(sent) == 2:
            raise KeyboardInterrupt
        sent.append(file.name)
        send(name, file)

    both.engine.send = interrupted
    with pytest.raises(KeyboardInterrupt):
        both.load()
    assert both.engine.current() is None  # searches see nothing of it yet
    both.engine.send = lambda name, file: (sent.append(file.name), send(name, file))
    both.load()
    assert sent == [f"part-{number:05}.ndjson" for number in range(5)]
    assert both.found("tea green") == both.expected("tea green")
    assert both.load() == [
        f"{both.engine.alias} already holds this export, in the index {both.engine.current()}"
    ]


def test_errors_of_documents_are_shown(load: Load, tmp_path: Path) -> None:
    both = load(build(shop(5, seed=6), tmp_path / "index"), load=False)
    file = both.export / "data" / "part-00000.ndjson"
    file.write_text(file.read_text().replace('"position": 2', '"position": "two"'))
    with pytest.raises(SystemExit, match=r"refused 1 documents.*\n.*d2.*failed to parse field \[position\]"):
        both.load()


def test_client_of_the_export(load: Load, tmp_path: Path) -> None:
    """The programs in the folder, as their users run them."""
    both = load(build(shop(40, seed=7), tmp_path / "index"), load=False)

    def run(*arguments: str) -> str:
        command = [sys.executable, both.export / "client.py", *arguments, "--at", both.at]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    run("load")
    filter = json.dumps(make_target("opensearch").filter(Equals("sold", True), SCHEMA))
    answer = json.loads(run("search", "node.js tea", "-k", "7", "--json", "--filter", filter))
    found = [(each["doc_id"], each["score"]) for each in answer["results"]]
    assert found == both.expected("node.js tea", k=7, filter=Equals("sold", True))


class Searches(threading.Thread):
    """Searches without a pause, on the side of the test."""

    def __init__(self, both: Loaded, text: str) -> None:
        super().__init__()
        self.both, self.text = both, text
        self.answers: list[list[str]] = []
        self.errors: list[Exception] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Search until the test ends this."""
        engine = program(self.both.export / "engine.py").Engine(self.both.export, self.both.at)
        body = self.both.form.query(self.text)
        while not self.ended.is_set():
            try:
                self.answers.append([doc_id for doc_id, _ in engine.search(body, 50)])
            except Exception as error:
                self.errors.append(error)
        engine.close()

    def wait_for(self, answers: int) -> None:
        """Wait for some more answers."""
        wanted = len(self.answers) + answers
        deadline = time.monotonic() + 180  # nodes start slowly on a busy machine
        while len(self.answers) < wanted:
            assert time.monotonic() < deadline, f"{len(self.answers)} answers; {self.errors[-1:]}"
            time.sleep(0.05)

    def end(self) -> None:
        """End, and wait for the end."""
        self.ended.set()
        self.join()


def test_an_index_is_replaced_behind_its_alias(load: Load, tmp_path: Path) -> None:
    """Searches get the old documents or the new ones, never a part of them; the old index is kept."""
    name = "replaced"
    old = load(build(shop(200, seed=8), tmp_path / "old"), name=name)
    searches = Searches(old, "tea leaf kettle")
    searches.start()
    try:
        searches.wait_for(5)
        new = load(build(shop(200, seed=9), tmp_path / "new"), name=name, load=False)
        lines = new.load()
        searches.wait_for(5)
    finally:
        searches.end()
    assert searches.errors == []
    former, latter = ([one for one, _ in each.expected("tea leaf kettle", k=50)] for each in (old, new))
    assert former != latter
    assert searches.answers[0] == former
    assert searches.answers[-1] == latter
    assert {*map(tuple, searches.answers)} == {tuple(former), tuple(latter)}
    kept = old.engine.request("GET", f"/{name}-*/_alias")
    assert len(kept) == 2
    assert "is kept" in lines[-1]


def test_a_node_is_lost_and_returns(load: Load, cluster: Cluster, tmp_path: Path) -> None:
    """With a replica of every shard, the loss of a node costs no answer and makes none wrong."""
    both = load(build(shop(300, seed=10), tmp_path / "index"), replicas=1)
    health = both.engine.request("GET", f"/_cluster/health/{both.engine.alias}")
    assert (health["status"], health["active_shards"]) == ("green", 6)
    expected = [one for one, _ in both.expected("tea leaf kettle", k=50)]
    searches = Searches(both, "tea leaf kettle")
    searches.start()
    try:
        searches.wait_for(5)
        cluster.run("kill", "2")
        searches.wait_for(10)
        status = json.loads(cluster.run("status"))
        assert status["nodes"]["2"]["process"] is None
        cluster.run("start", "2")
        searches.wait_for(5)
    finally:
        searches.end()
    assert {*map(tuple, searches.answers)} == {tuple(expected)}
    assert searches.errors == []
    health = both.engine.request(
        "GET", f"/_cluster/health/{both.engine.alias}?wait_for_status=green&timeout=180s"
    )
    assert (health["status"], health["number_of_nodes"], health["active_shards"]) == ("green", 3, 6)
