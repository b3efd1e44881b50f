"""Approximate search of vectors: candidates from a graph, exact scores, refusals, and the commands."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.searches import searching
from tests.unit.search.vector_index import write_vector_index

import termwise
from termwise.cli.main import run
from termwise.errors import (
    CorruptIndexError,
    DataError,
    IndexLockedError,
    MissingExtraError,
    MissingFileError,
    NewerFormatError,
    NotAnIndexError,
    ParameterError,
    StorageError,
)
from termwise.fusion import mix_indexes
from termwise.index import document_spill as writers
from termwise.index import vector_graph, verify
from termwise.index.container import ContainerWriter
from termwise.index.folder import writer_lock
from termwise.indexing import build_graph, build_index
from termwise.records import Document, Query, Ranking
from termwise.search import Search
from termwise.search.timed_run import timed_run
from termwise.text import Vocabulary
from termwise.vectors import DocumentVectors, TermVectors

pytest.importorskip("usearch", reason="needs termwise[approximate], which scripts/setup dev installs")

VOCABULARY = Vocabulary([f"t{number}" for number in range(40)])
QUERIES = ["t1 t2", "t3", "t4 t5 t6 t7", "t8 t8 t9", "t10 t39"]


def directions(generator: np.random.Generator, count: int, dimensions: int) -> np.ndarray:
    matrix = generator.standard_normal((count, dimensions))
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def write(folder: Path, windows: Any, matrix: np.ndarray, table: np.ndarray | None = None) -> Path:
    """Write an index of documents with these numbers of windows."""
    table = directions(np.random.default_rng(1), 40, matrix.shape[1]) if table is None else table
    doc_ids = [f"d{number}" for number in range(len(windows))]
    vectors = DocumentVectors.of(np.concatenate([[0], np.cumsum(windows)]), matrix)
    return write_vector_index(folder, doc_ids, vectors, TermVectors.of(table, VOCABULARY.id), VOCABULARY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an index with its graph: 500 documents of 0 to 3 windows each, eleven windows of them equal."""
    generator = np.random.default_rng(0)
    windows = generator.integers(0, 4, 500)
    matrix = directions(generator, int(windows.sum()), 24)
    matrix[100:110] = matrix[50]
    path = write(tmp_path / "dense.tw", windows, matrix)
    (graph,) = build_graph(path)
    assert graph.name.startswith("graph-")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return an index of six windows without a graph: d1 has no window, d2 has two, and d3 equals d0."""
    matrix = np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0], [-1, 0], [0.8, 0.6]], dtype=np.float32)
    table = np.zeros((40, 2))
    table[1], table[2] = [2, 0], [0, 2]
    return write(tmp_path / "small.tw", [1, 0, 2, 1, 1, 1], matrix, table)


def both(one: Any, other: Any, query: str, k: int) -> tuple[Any, Any]:
    return one.rank(query, k=k), other.rank(query, k=k)


def test_a_broad_search_finds_what_the_exact_one_finds(folder: Path) -> None:
    exact, broad = termwise.open(folder), searching(termwise.open(folder), approximate=600)
    assert sum(len(segment.vectors.rows) for segment in exact.index.segments) > 600
    for query in QUERIES:
        for k in (1, 10, 50):
            one, other = both(exact, broad, query, k)
            assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())


def test_all_documents_are_results_if_as_many_are_wanted(folder: Path) -> None:
    exact, narrow = termwise.open(folder), searching(termwise.open(folder), approximate=1)
    for k in (400, 500, 1000):
        one, other = both(exact, narrow, "t1 t2", k)
        assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())


def test_scores_are_exact_and_shorter_rankings_are_prefixes(folder: Path) -> None:
    exact, narrow = termwise.open(folder), searching(termwise.open(folder), approximate=60)
    for query in QUERIES:
        everything = exact.rank(query, k=500)
        scores = dict(zip(everything.doc_ids, everything.scores.tolist(), strict=True))
        whole = narrow.rank(query, k=20)
        assert [scores[doc_id] for doc_id in whole.doc_ids] == whole.scores.tolist()
        assert sorted(whole.scores.tolist(), reverse=True) == whole.scores.tolist()
        for k in range(1, 20):
            assert narrow.rank(query, k=k).doc_ids == whole.doc_ids[:k]


def test_by_hand(small: Path) -> None:
    build_graph(small)
    searcher = searching(termwise.open(small), approximate=3)
    ranking = searcher.rank("t1", k=2)
    # the rows of 8 bits times their scales: 2 for d0 and d3, 1.6 for d5
    assert ranking.doc_ids == ("d0", "d3")  # in the order of the input
    assert ranking.scores.tolist() == pytest.approx([2.0, 2.0], rel=1e-2)
    assert searcher.rank("t2", k=1).doc_ids == ("d2",)  # by its window [0, 1]
    assert len(searcher.rank("unknown", k=2)) == 0
    assert searcher.rank("t1", k=2, candidates=["d1", "d4"]).doc_ids == ("d4", "d1")
    assert searcher.rank("t1", k=1, exclude="d0").doc_ids == ("d3",)


def test_more_windows_are_fetched_if_they_belong_to_too_few_documents(tmp_path: Path) -> None:
    near = np.tile([1.0, 0.0], (60, 1)) + np.linspace(0, 0.01, 60)[:, None] * [[0, 1]]
    matrix = np.concatenate([near, directions(np.random.default_rng(2), 40, 2)])
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    table = np.zeros((40, 2))
    table[1] = [1, 0]
    path = write(tmp_path / "windows.tw", [60, *[1] * 40], matrix, table)
    build_graph(path)
    one, other = both(termwise.open(path), searching(termwise.open(path), approximate=10), "t1", 5)
    assert other.doc_ids == one.doc_ids


def test_several_segments_and_one_without_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    windows = generator.integers(1, 3, 200)
    windows[:50] = 0
    monkeypatch.setattr(writers, "MAX_DOCUMENTS", 50)
    path = write(tmp_path / "parts.tw", windows, directions(generator, int(windows.sum()), 16))
    assert len(build_graph(path)) == 3
    exact, broad = termwise.open(path), searching(termwise.open(path), approximate=60)
    for query in QUERIES:
        one, other = both(exact, broad, query, 20)
        assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())
    assert verify(path) == []


def test_the_number_of_windows_that_a_search_takes(folder: Path, mixture: Path) -> None:
    windows = sum(len(segment.vectors.rows) for segment in termwise.open(folder).index.segments)
    searcher = searching(termwise.open(folder), approximate=30)
    assert [searcher.windows_for(k) for k in (1, 30, 31, 499, 500, 2000)] == [30, 30, 31, 499, None, None]
    assert searching(termwise.open(folder), approximate=windows - 1).windows_for(10) == windows - 1
    assert searching(termwise.open(folder), approximate=windows).windows_for(10) is None
    assert searching(termwise.open(folder)).windows_for(10) is None
    with pytest.raises(ParameterError):
        searcher.windows_for(0)
    build_graph(mixture)
    exact, whole = searching(termwise.open(mixture)), searching(termwise.open(mixture), approximate=30)
    assert (exact.windows_for(10), whole.windows_for(10)) == (None, None)  # the depth is 1,000
    one, other = both(exact, whole, "t1 t2", 500)
    assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())


def test_threads_and_a_second_build_change_nothing(folder: Path) -> None:
    (graph,) = folder.glob("graph-*")
    before = graph.read_bytes()
    assert build_graph(folder) == [graph]
    assert graph.read_bytes() == before
    assert not list(folder.glob(".termwise-build-*"))
    searcher = searching(termwise.open(folder), approximate=40)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: searcher.rank(query).doc_ids, QUERIES * 20))
    assert found == [searcher.rank(query).doc_ids for query in QUERIES] * 20


def test_a_new_build_of_the_index_removes_the_graph(folder: Path) -> None:
    write(folder, [1] * 5, directions(np.random.default_rng(4), 5, 24))
    assert not list(folder.glob("graph-*"))


def test_a_query_by_example_stays_approximate(folder: Path) -> None:
    searcher = searching(termwise.open(folder), approximate=30)
    with pytest.raises(ParameterError, match="no texts"):  # the only reason
        searcher.search(Search(like="d1"))


def test_without_a_graph(small: Path) -> None:
    with pytest.raises(MissingFileError, match="no graph") as caught:
        searching(termwise.open(small), approximate=3)
    assert caught.value.fixes_worded() == [f"`build_graph({str(small)!r})`"]
    assert termwise.open(small).search(Search()).windows is None


@pytest.mark.parametrize("windows", [0, -1, 1.5, True, (1 << 24) + 1, "100"])
def test_numbers_of_windows_that_are_refused(folder: Path, windows: Any) -> None:
    with pytest.raises(ParameterError, match="number of windows") as caught:
        searching(termwise.open(folder), approximate=windows)
    assert dict(caught.value.facts)["approximate"] == windows


def test_an_index_without_vectors_is_refused(tmp_path: Path) -> None:
    build_index([Document("a", "merge lists")], tmp_path / "bm25.tw")
    with pytest.raises(ParameterError, match="only an index with vectors"):
        searching(termwise.open(tmp_path / "bm25.tw"), approximate=10)
    with pytest.raises(ParameterError, match="needs an index with vectors"):
        build_graph(tmp_path / "bm25.tw")


def test_vectors_of_different_lengths_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "long.tw", [1, 1], np.array([[1.0, 0.0], [0.0, 1.2]]))
    with pytest.raises(ParameterError, match="equal length") as caught:
        build_graph(path)
    assert dict(caught.value.facts)["seen"] == "1 to 1.2"


def test_a_graph_of_other_vectors_is_refused(folder: Path, small: Path) -> None:
    (own,), (other,) = build_graph(small), folder.glob("graph-*")
    shutil.copy(other, own)
    with pytest.raises(CorruptIndexError) as caught:
        searching(termwise.open(small), approximate=3)
    facts = dict(caught.value.facts)
    assert (facts["file"], facts["expected"]) == (own, f"a graph of {own.name.replace('graph', 'vectors')}")
    assert caught.value.fixes_worded() == [f"`build_graph({str(small)!r})`"]
    assert [damage.file for damage in verify(small)] == [own.name]


def test_a_damaged_byte_is_an_error_that_names_the_file(small: Path) -> None:
    (graph,) = build_graph(small)
    exact = termwise.open(small).rank("t1", k=2)
    original = graph.read_bytes()
    refused = []
    for place in range(0, len(original), 17):
        data = bytearray(original)
        data[place] ^= 0x40
        graph.write_bytes(data)
        try:
            ranking = searching(termwise.open(small), approximate=3).rank("t1", k=2)
        except DataError as error:
            refused.append(dict(error.facts)["file"])
        else:
            assert not original[place], "only zeros between the sections have no checksum"
            assert ranking.doc_ids == exact.doc_ids
    assert set(refused) == {graph}
    assert len(refused) > 0.8 * len(original) / 17
    for length in (0, 47, 200, len(original) - 1):
        graph.write_bytes(original[:length])
        with pytest.raises(CorruptIndexError) as caught:
            searching(termwise.open(small), approximate=3)
        assert dict(caught.value.facts)["file"] == graph
    graph.write_bytes(original)
    assert verify(small) == []


def test_the_index_is_locked_during_a_build(folder: Path) -> None:
    with writer_lock(folder), pytest.raises(IndexLockedError):
        build_graph(folder)


def test_without_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    for call in (lambda: build_graph(folder), lambda: searching(termwise.open(folder), approximate=5)):
        with pytest.raises(MissingExtraError) as caught:
            call()
        assert caught.value.fixes == ("pip install 'termwise[approximate]'",)
    assert run(["search", str(folder), "t1", "--approximate", "5"]) == 4
    assert verify(folder) == []
    assert len(termwise.open(folder).rank("t1")) == 10


@pytest.fixture
def mixture(folder: Path, tmp_path: Path) -> Path:
    """Mix the index with BM25 over the same documents."""
    texts = [Document(f"d{number}", f"t{number % 40} t{number % 7}") for number in range(500)]
    build_index(texts, tmp_path / "bm25.tw", analyzer="whitespace")
    mix_indexes([tmp_path / "bm25.tw", folder], [0.3, 0.7], tmp_path / "mixed.tw")
    return tmp_path / "mixed.tw"


def test_a_mixture_with_a_graph(mixture: Path) -> None:
    exact = termwise.open(mixture)
    (graph,) = build_graph(mixture)
    assert graph.parent.parent == mixture
    broad = searching(termwise.open(mixture), approximate=600)
    windows = [part.graph and part.graph.windows for part in broad.search().query.parts]
    assert windows == [None, 600]
    for query in QUERIES:
        one, other = both(exact, broad, query, 10)
        assert (one.doc_ids, one.scores.tolist()) == (other.doc_ids, other.scores.tolist())
    best = broad.rank("t1 t2", k=1)
    assert broad.explain("t1 t2", best.doc_ids[0]).score == best.scores[0]
    assert run(["verify", str(mixture)]) == 0


def test_a_mixture_without_vectors_is_refused(tmp_path: Path) -> None:
    for model in ("bm25", "jm"):
        build_index([Document("a", "merge lists")], tmp_path / model, model=model)
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.5, 0.5], tmp_path / "words.tw")
    for call in (lambda path: searching(termwise.open(path), approximate=5), build_graph):
        with pytest.raises(ParameterError, match="no part of the mixture"):
            call(tmp_path / "words.tw")


def test_the_commands(mixture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(mixture)
    assert run(["search", name, "t1", "--approximate", "50"]) == 3
    assert f"fix      termwise build-graph {name}/" in capsys.readouterr().err
    assert run(["build-graph", name, "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert built["bytes"] == Path(built["graph"]).stat().st_size
    assert run(["build-graph", name]) == 0
    assert "next: termwise search" in capsys.readouterr().err
    assert run(["inspect", name]) == 0
    assert "graph bytes" in capsys.readouterr().out
    assert run(["search", str(tmp_path / "bm25.tw"), "t1", "--approximate", "50"]) == 2
    assert "omit --approximate" in capsys.readouterr().err


def test_results_say_from_how_many_windows_they_are(
    mixture: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shallow = tmp_path / "shallow.tw"
    mix_indexes([tmp_path / "bm25.tw", folder], [0.3, 0.7], shallow, depth=100)
    build_graph(mixture)
    build_graph(shallow)
    raised = "from 100 windows, because as many results are needed (--approximate 50): some of the best can be missing"
    (tmp_path / "queries.tsv").write_text("q1\tt1 t2\n")
    files = [
        "--queries",
        str(tmp_path / "queries.tsv"),
        "--out",
        str(tmp_path / "run.trec"),
        "--overwrite",
    ]
    for index, given, windows, said in (
        (folder, "50", 50, "approximate, from 50 windows: some of the best can be missing"),
        (folder, "5000", None, "exact: all vectors were read"),
        (shallow, "50", 100, f"approximate, {raised}"),
        (mixture, "50", None, "exact: all vectors were read"),
    ):
        options = ["--approximate", given, "-k", "2"]
        assert run(["search", str(index), "t1", *options]) == 0
        assert f"; {said}" in capsys.readouterr().err
        assert run(["search", str(index), "t1", *options, "--json"]) == 0
        *found, counted = map(json.loads, capsys.readouterr().out.splitlines())
        assert {each["approximate"] for each in found} == {windows}
        # in a mixture, the documents that match by words are counted
        assert (counted["total"] is None) == (index == folder and windows is not None)
        assert run(["rank", str(index), *files, *options, "--json"]) == 0
        streams = capsys.readouterr()
        assert (json.loads(streams.out)["approximate"], f"; {said}" in streams.err) == (windows, True)
        tags = {line.split()[-1] for line in (tmp_path / "run.trec").read_text().splitlines()}
        assert tags == {"termwise" if windows is None else f"termwise-approximate-{windows}"}
    assert run(["rank", str(folder), *files, "--approximate", "50", "--tag", "mine"]) == 0
    capsys.readouterr()
    assert (tmp_path / "run.trec").read_text().splitlines()[0].split()[-1] == "mine"
    assert run(["search", str(folder), "t1", "-k", "1", "--json"]) == 0
    assert "approximate" not in json.loads(capsys.readouterr().out.splitlines()[0])


def test_verify_names_a_damaged_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (graph,) = folder.glob("graph-*")
    data = bytearray(graph.read_bytes())
    data[-9] ^= 1
    graph.write_bytes(data)
    assert run(["verify", str(folder)]) == 5
    streams = capsys.readouterr()
    assert graph.name in streams.err
    assert f"termwise build-graph {folder}" in streams.err


def test_many_queries(folder: Path) -> None:
    searcher = searching(termwise.open(folder), approximate=40)
    queries = [Query(f"q{number}", query) for number, query in enumerate(QUERIES)]
    timed = searcher.rank_many(queries, k=5, threads=3)
    assert [timed[query.query_id].doc_ids for query in queries] == [
        searcher.rank(query, k=5).doc_ids for query in queries
    ]


def test_the_scores_of_an_approximate_search_are_explained(
    mixture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_graph(mixture)
    searcher = searching(termwise.open(mixture), approximate=30)
    (hit,) = searcher.rank("t1 t2", k=1)
    assert run(["explain", str(mixture), "t1 t2", hit.doc_id, "--approximate", "30", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["rank"], record["score"]) == (1, pytest.approx(hit.score))


class Failing:
    """Graph whose methods raise the errors that usearch raises."""

    def __init__(self, **methods: str) -> None:
        self.methods = methods

    def __call__(self, **_: Any) -> Failing:
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> None:
            if name in self.methods:
                raise RuntimeError(self.methods[name])

        return call


@pytest.mark.parametrize(
    ("methods", "error"),
    [
        ({"add": "Operation has been terminated"}, KeyboardInterrupt),
        ({"add": "Out of memory!"}, MemoryError),
        ({"save": "Out of memory when preparing contexts!"}, MemoryError),
        ({"save": "Failed to serialize into stream"}, StorageError),
    ],
)
def test_errors_of_the_library(
    small: Path, monkeypatch: pytest.MonkeyPatch, methods: dict[str, str], error: type[BaseException]
) -> None:
    library = vector_graph._library()
    fake = SimpleNamespace(
        Index=Failing(**methods), MetricKind=library.MetricKind, ScalarKind=library.ScalarKind
    )
    monkeypatch.setattr(vector_graph, "_library", lambda: fake)
    before = sorted(small.iterdir())
    with pytest.raises(error):
        build_graph(small)
    assert sorted(small.iterdir()) == before


def test_a_real_interruption_and_a_real_full_disk(tmp_path: Path) -> None:
    matrix = directions(np.random.default_rng(7), 10_000, 64)
    path = write(tmp_path / "big.tw", [1] * len(matrix), matrix)
    code = "import sys; from termwise.cli.main import script; sys.argv[0] = 'termwise'; script()"
    command = [sys.executable, "-P", "-c", code, "build-graph", str(path)]
    full = f"ulimit -f 500; exec {shlex.join(command)}"
    done = subprocess.run(["bash", "-c", full], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "the graph cannot be written" in done.stderr
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in jobs in the background
    )
    while not list(path.glob(".termwise-build-*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1].count("Traceback") == 0
    assert process.returncode == 130
    assert not list(path.glob("graph-*"))


def test_a_file_that_is_no_graph_is_replaced_by_a_build(small: Path) -> None:
    (graph,) = build_graph(small)
    data = bytearray(graph.read_bytes())
    for damaged, error in (
        (b"other" * 20, NotAnIndexError),
        (bytes(data[:8]) + b"\x09" + data[9:], NewerFormatError),
    ):
        graph.write_bytes(damaged)
        with pytest.raises(error) as caught:
            searching(termwise.open(small), approximate=3)
        assert caught.value.fixes_worded()[-1] == f"`build_graph({str(small)!r})`"
    graph.write_bytes(data)
    graph.unlink()
    graph.symlink_to(graph.name)  # a link that leads nowhere is no file that can be opened
    with pytest.raises(MissingFileError) as missing:
        searching(termwise.open(small), approximate=3)
    assert missing.value.fixes_worded() == [f"`build_graph({str(small)!r})`"]
    build_graph(small)
    assert len(searching(termwise.open(small), approximate=3).rank("t1", k=2)) == 2


def test_a_folder_in_the_place_of_the_graph_is_named(small: Path) -> None:
    (graph,) = build_graph(small)
    graph.unlink()
    graph.mkdir()
    with pytest.raises(StorageError) as caught:
        build_graph(small)
    assert (dict(caught.value.facts)["folder"], caught.value.fixes) == (graph, ("remove it",))


def test_a_graph_by_another_metric_is_refused(small: Path) -> None:
    (file,) = vector_graph.graph_files(termwise.open(small).index)
    library = vector_graph._library()
    rows = np.array(file.vectors.rows)
    graph = library.Index(ndim=2, metric=library.MetricKind.IP, dtype=library.ScalarKind.I8)
    graph.add(np.arange(len(rows), dtype=np.uint64), rows)
    with ContainerWriter(file.path, "graph", 2) as writer:
        writer.write("graph.vectors", "|u1", [np.frombuffer(bytes.fromhex(file.sha256), dtype=np.uint8)])
        writer.write("graph.usearch", "|u1", [np.frombuffer(bytes(graph.save()), dtype=np.uint8)])
        writer.finish()
    with pytest.raises(CorruptIndexError) as caught:
        searching(termwise.open(small), approximate=3)
    assert dict(caught.value.facts)["expected"] == "a graph of all windows in 8 bits, by cosine"


def test_an_index_that_was_replaced_meanwhile_gets_no_graph(small: Path) -> None:
    index = termwise.open(small).index
    write(small, [1] * 5, directions(np.random.default_rng(4), 5, 2))
    with pytest.raises(IndexLockedError, match="was replaced"):
        vector_graph.write_graphs(index)
    assert not list(small.glob("graph-*"))


def test_a_library_that_cannot_be_used(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index([Document("a", "merge lists")], tmp_path / "bm25.tw")
    monkeypatch.setattr("usearch.__version__", "2.9.2")
    with pytest.raises(MissingExtraError, match="cannot be used") as caught:
        build_graph(small)
    assert caught.value.fixes == ("pip install --upgrade usearch",)
    broken = tmp_path / "broken" / "usearch"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libstdc++ is missing')")
    monkeypatch.delitem(sys.modules, "usearch")
    monkeypatch.delitem(sys.modules, "usearch.index")
    monkeypatch.syspath_prepend(str(broken.parent))
    with pytest.raises(MissingExtraError, match="cannot be used") as caught:
        build_graph(small)
    assert "libstdc++" in str(dict(caught.value.facts)["reason"])
    with pytest.raises(ParameterError, match="needs an index with vectors"):  # the first thing to know
        build_graph(tmp_path / "bm25.tw")


def test_no_query_begins_after_an_error_or_an_interruption() -> None:
    begun: list[str] = []

    def rank(query: Query) -> Any:
        begun.append(query.query_id)
        time.sleep(0.01)
        return Ranking([], [], query.query_id), 0.0, 0.0

    def interrupted(stage: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    queries = [Query(f"q{number}", "t1") for number in range(200)]
    with pytest.raises(KeyboardInterrupt):
        timed_run(queries, rank, stage="search", name="run", progress=interrupted, threads=2)
    assert len(begun) < 50


def test_a_graph_with_other_links_and_right_checksums_is_refused_or_harmless(folder: Path) -> None:
    program = Path(__file__).parents[2] / "corruption" / "graphs.py"
    done = subprocess.run(
        [sys.executable, program, folder, "400"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["noticed"] > 150
    assert found["unnoticed"] > 20  # places for links that are not used, and vectors
