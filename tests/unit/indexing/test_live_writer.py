"""Changes of indexes of every model, against an index that is built anew from the same documents."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.encode import open_document_encoder
from termwise.errors import DataError, ParameterError, StorageError, VocabularyMismatchError
from termwise.fusion import fuse_indexes
from termwise.index import Index, verify
from termwise.index.updater import IndexUpdater
from termwise.indexing import added_rows, count_rows, live_writer
from termwise.indexing.model_choice import opened_encoder
from termwise.models import make_model
from termwise.scorers.model_scorers import index_scorer
from termwise.search import Search

TEXTS = [
    "merge two sorted lists into one",
    "shuffle a list of words",
    "a heap sorts numbers in place",
    "search a sorted array for a number",
    "the words of a dictionary are sorted",
    "read a file line by line",
    "open a file and write bytes",
    "a queue of numbers",
    "",
    "bytes and words of a file in a zip archive",
]
LATER = [
    "an archive holds compressed files",
    "compress bytes with zlib before writing",
    "sorted numbers of a queue",
    "merge archives of words and words again words",
]
QUERIES = ["sorted words", "compress a file", "merge numbers", "archive bytes zlib", "nothing of this"]


def documents(texts: list[str], first: int = 0) -> list[Document]:
    return [Document(f"d{first + number}", text) for number, text in enumerate(texts)]


def ranked(searcher: Any, query: str) -> dict[str, float]:
    return {hit.doc_id: hit.score for hit in searcher.rank(query, k=100)}


COUNT_MODELS: list[tuple[str, Mapping[str, str]]] = [
    ("bm25", {}),
    ("bm25", {"lengths": "lucene"}),
    ("jm", {}),
    ("dirichlet", {}),
    ("ml", {}),
]


@pytest.mark.parametrize(("model", "settings"), COUNT_MODELS)
def test_a_changed_index_holds_the_documents_in_order(
    tmp_path: Path, model: str, settings: Mapping[str, str]
) -> None:
    path = tmp_path / "index"
    termwise.build_index(
        documents(TEXTS), path, model=termwise.indexing.chosen_model(model, settings), store_text=True
    )
    with termwise.open_writer(path) as writer:
        added = writer.add([*documents(LATER, 10), Document("d1", "list the files of an archive")])
        assert (added.new, added.replaced, added.unchanged) == (4, 1, 0)
        assert writer.delete(["d2", "d7", "unknown"]) == 2
    assert verify(path) == []
    index = Index.open(path)
    order = [f"d{number}" for number in (0, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 1)]
    assert index.doc_ids(np.arange(len(index))) == order
    searcher = termwise.open(path)
    explanation = searcher.explain("compress a zlib archive", "d11")
    assert sum(part.score for part in explanation.contributions) + explanation.constant == pytest.approx(
        explanation.score, abs=1e-12
    )
    assert {part.term for part in explanation.contributions if part.score > 0} >= {"compress", "zlib"}
    with termwise.open_writer(path) as writer:
        manifest = writer.merge()
    assert len(manifest.segments) == 1
    assert verify(path) == []
    texts = dict(enumerate([*TEXTS, *LATER])) | {1: "list the files of an archive"}
    fresh = termwise.build_index(
        [Document(doc_id, texts[int(doc_id[1:])]) for doc_id in order],
        tmp_path / "fresh",
        model=termwise.indexing.chosen_model(model, settings),
    )
    for query in QUERIES:
        assert ranked(termwise.open(path), query) == ranked(fresh, query)


@pytest.mark.parametrize("settings", [{}, {"b": "0"}, {"lengths": "lucene"}])
def test_bm25_ranks_as_an_index_built_anew(tmp_path: Path, settings: Mapping[str, str]) -> None:
    """The idf is that of the current documents. The mean length is that of the build; all texts here have it."""
    texts = [f"w{number % 7} w{number % 5} w{number % 3} common w{number}" for number in range(60)]
    living, fresh = tmp_path / "living", tmp_path / "fresh"
    termwise.build_index(
        documents(texts[:20]), living, model=termwise.indexing.chosen_model("bm25", settings)
    )
    with termwise.open_writer(living) as writer:
        for first in range(20, 60, 8):
            writer.add(documents(texts[first : first + 8], first))
            writer.commit()
        writer.delete([f"d{number}" for number in range(0, 60, 6)])
    left = [document for number, document in enumerate(documents(texts)) if number % 6]
    anew = termwise.build_index(
        left,
        fresh,
        model=termwise.indexing.chosen_model("bm25", settings),
        options=termwise.BuildOptions(quantiser="float32"),
    )
    searcher = termwise.open(living)
    bound = searcher.index.manifest.quantiser.max_error
    for query in ("w1 w2", "common w4", "w41 w3 w13 common", "w55", "w0 absent"):
        ours, theirs = ranked(searcher, query), ranked(anew, query)
        assert ours.keys() == theirs.keys()
        vector = searcher.index.idf.of(np.arange(searcher.index.manifest.terms, dtype=np.int32))
        allowed = len(query.split()) * bound * float(vector.max()) + 0.002 * max(theirs.values(), default=0)
        for doc_id, score in theirs.items():
            assert ours[doc_id] == pytest.approx(score, abs=allowed)


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet", "ml"])
def test_documents_join_an_index_of_empty_ones(tmp_path: Path, model: str) -> None:
    path = tmp_path / "index"
    termwise.build_index([Document("empty", "")], path, model=model)
    with termwise.open_writer(path) as writer:
        writer.add([Document(str(number), "sorted words " * number + "list") for number in (1, 3, 4)])
        writer.commit()
        writer.add([Document("2", "sorted words " * 2 + "list")])
    found = termwise.open(path).rank("words")
    assert found.doc_ids == ("4", "3", "2", "1")
    assert len(set(found.scores.tolist())) == 4


def test_an_unchanged_document_stays_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "index"
    termwise.build_index(documents(TEXTS), path, store_text=True)
    with termwise.open_writer(path) as writer:
        added = writer.add(documents(TEXTS))
        assert (added.new, added.replaced, added.unchanged) == (0, 0, len(TEXTS))
        assert writer.commit().generation == 0


def test_the_last_of_several_documents_with_one_identifier_counts(tmp_path: Path) -> None:
    path = tmp_path / "index"
    termwise.build_index(documents(TEXTS), path)
    with termwise.open_writer(path) as writer:
        writer.add([Document("x", "alpha"), Document("x", "beta")])
        writer.add([Document("x", "gamma")])
        assert writer.delete(["d0"]) == 1
    searcher = termwise.open(path)
    assert [len(ranked(searcher, word)) for word in ("alpha", "beta", "gamma", "merge")] == [0, 0, 1, 0]


def test_an_error_discards_the_changes(tmp_path: Path) -> None:
    path = tmp_path / "index"
    termwise.build_index(documents(TEXTS), path)
    writer = termwise.open_writer(path)
    with pytest.raises(ParameterError, match="two strings"), writer:
        writer.add([Document("x", "alpha"), Document(3, "beta")])  # type: ignore[arg-type]
    assert Index.open(path).manifest.generation == 0
    with termwise.open_writer(path) as writer:
        writer.add([Document("x", "alpha")])
    assert list(ranked(termwise.open(path), "alpha")) == ["x"]


@pytest.mark.parametrize("chunk", [None, 2])
def test_invalid_documents_are_refused_and_the_others_kept(tmp_path: Path, chunk: int | None) -> None:
    first = Document("a", "green tea and a pot", {"price": 2.5})
    termwise.build_index([first], tmp_path, attributes="all", chunk=chunk)
    with termwise.open_writer(tmp_path) as writer:
        writer.add([Document("b", "black tea", {"price": 3})])
        for price in (float("nan"), float("inf"), [1.0], "cheap", 10**400):
            with pytest.raises(DataError, match="wrong type") as caught:
                writer.add([Document("c", "white tea", {"price": price})])  # type: ignore[dict-item]
            assert ("record", "'c'") in caught.value.facts
        for wrong in (5, None, [5]):
            with pytest.raises(ParameterError, match="doc_ids"):
                writer.delete(wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="doc_id"):
            writer.has(5)  # type: ignore[arg-type]
    for change in (lambda: writer.add([first]), lambda: writer.delete(["a"]), writer.commit, writer.merge):
        with pytest.raises(ParameterError, match="this writer is closed"):
            change()
    assert set(termwise.open(tmp_path).rank("tea", k=10**30).doc_ids) == {"a", "b"}


def test_refresh_opens_the_newest_generation(tmp_path: Path) -> None:
    path = tmp_path / "index"
    searcher = termwise.build_index(documents(TEXTS), path)
    assert searcher.refresh() is searcher
    with termwise.open_writer(path) as writer:
        writer.add([Document("x", "alpha")])
    assert searcher.rank("alpha").doc_ids == ()
    assert searcher.refresh().rank("alpha").doc_ids == ("x",)


def test_an_index_without_statistics_is_refused(tmp_path: Path) -> None:
    vectors = tmp_path / "rows.jsonl"
    vectors.write_text('{"id": "a", "vector": {"x": 1.0}}\n')
    termwise.build_index(vectors, tmp_path / "vectors", model="vectors")
    with pytest.raises(ParameterError, match="cannot be changed"):
        termwise.open_writer(tmp_path / "vectors")
    termwise.build_index(
        documents(TEXTS),
        tmp_path / "atire",
        model=termwise.indexing.chosen_model("bm25", {"variant": "atire"}),
    )
    with pytest.raises(ParameterError, match="cannot be changed") as caught:
        termwise.open_writer(tmp_path / "atire")
    assert "variant=lucene" in dict(caught.value.facts)["reason"]


@pytest.mark.parametrize("model", ["lookup", "tildev2", "tilde"])
def test_network_models_rank_as_an_index_built_anew(tmp_path: Path, model: str) -> None:
    living, fresh = tmp_path / "living", tmp_path / "fresh"
    termwise.build_index(documents(TEXTS), living, model=model)
    with termwise.open_writer(living) as writer:
        writer.add([*documents(LATER, 10), Document("d1", "list the files of an archive")])
        writer.delete(["d2", "d7"])
    assert verify(living) == []
    texts = dict(enumerate([*TEXTS, *LATER])) | {1: "list the files of an archive"}
    order = (0, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 1)
    anew = termwise.build_index(
        [Document(f"d{number}", texts[number]) for number in order], fresh, model=model
    )
    searcher = termwise.open(living)
    assert searcher.index.doc_ids(np.arange(12)) == [f"d{number}" for number in order]
    errors = [each.index.manifest.quantiser.max_error for each in (searcher, anew)]
    for query in QUERIES:
        ours, theirs = ranked(searcher, query), ranked(anew, query)
        if model == "lookup":  # vectors depend on the text alone
            assert ours == theirs
            continue
        assert ours.keys() == theirs.keys()
        for doc_id, score in theirs.items():
            assert ours[doc_id] == pytest.approx(score, rel=2e-3, abs=2 * len(query.split()) * sum(errors))
    with termwise.open_writer(living) as writer:
        merged = writer.merge()
    rounded = merged.quantiser.max_error - errors[0]  # above 0 if segments had different units
    for query in QUERIES:
        before, after = ranked(searcher, query), ranked(termwise.open(living), query)
        assert after == pytest.approx(before, abs=2 * len(query.split()) * rounded)


@pytest.mark.parametrize("model", ["lookup", "tildev2", "best"])
def test_documents_with_other_attributes_are_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    def priced(first: int) -> list[Document]:
        return [Document(f"d{n}", text, {"price": first + n}) for n, text in enumerate(TEXTS)]

    seen: list[str] = []

    def open_encoder(*given: Any, **options: Any) -> Any:
        opened = opened_encoder(*given, **options)
        encode = opened.encode_documents

        def encode_documents(texts: list[str]) -> Any:
            seen.extend(texts)
            return encode(texts)

        object.__setattr__(opened, "encode_documents", encode_documents)
        return opened

    path = tmp_path / "index"
    before = termwise.build_index(priced(0), path, model=model, store_text=True, attributes="all")
    monkeypatch.setattr(added_rows, "opened_encoder", open_encoder)
    with termwise.open_writer(path) as writer:
        added = writer.add(
            [*priced(1)[:3], *priced(0)[3:5], Document("n", LATER[0], {"price": 9}), *priced(2)[5:]]
        )
    assert added == termwise.indexing.Added(new=1, replaced=len(TEXTS) - 2, unchanged=2)
    assert seen == [LATER[0]]
    after = before.refresh()
    assert after.attributes(["d1", "d4", "d6"]) == [{"price": 2}, {"price": 4}, {"price": 8}]
    if model != "best":  # the scale of a mixture depends on all candidates
        for query in QUERIES:
            ours, theirs = ranked(after, query), ranked(before, query)
            ours.pop("n", None)
            assert ours == pytest.approx(theirs, rel=0.2 if model == "tildev2" else 0)


def test_a_commit_does_not_wait_for_merges_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merges, permitted = IndexUpdater.merges, threading.Event()

    def waiting(updater: IndexUpdater, *, everything: bool) -> Iterator[None]:
        assert permitted.wait(30)
        return merges(updater, everything=everything)

    monkeypatch.setattr(IndexUpdater, "merges", waiting)
    path = tmp_path / "living"
    searcher = termwise.build_index(documents(TEXTS), path)
    with termwise.open_writer(path, background_merges=True) as writer:
        for number in range(9):
            writer.add([Document(f"n{number}", f"a new list, number {number} of zebras")])
            permitted.clear()
            writer.commit()
            assert len(searcher.refresh().rank("zebras", k=20)) == number + 1  # and no merge has begun
            permitted.set()
    after = searcher.refresh()
    assert len(after.index.segments) < 5
    everything = [
        *documents(TEXTS),
        *(Document(f"n{n}", f"a new list, number {n} of zebras") for n in range(9)),
    ]
    fresh = termwise.build_index(everything, tmp_path / "fresh")
    assert after.rank("list of zebras", k=20).doc_ids == fresh.rank("list of zebras", k=20).doc_ids
    assert verify(path) == []


@pytest.mark.parametrize("model", ["bm25", "best"])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.usefixtures("no_counts")
def test_changes_are_published_if_the_merge_after_them_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, background: bool
) -> None:
    """Another merge publishes the segments that are left, and nothing of the failed one is kept."""
    full = StorageError("no space left")
    merge = IndexUpdater._merge

    def failing(updater: IndexUpdater, first: int, last: int) -> None:
        merge(updater, first, last)
        raise full

    termwise.build_index(documents(TEXTS), tmp_path / "i", model=model, store_text=True)
    with termwise.open_writer(tmp_path / "i", background_merges=background) as writer:
        monkeypatch.setattr(IndexUpdater, "_merge", failing)
        for number in range(5):
            writer.add([Document(f"n{number}", "zebras")])
            writer.commit()
            assert writer.document(f"n{number}") == Document(f"n{number}", "zebras")
        assert writer.merge_error is full
        assert len(writer.index.manifest.segments) == 6
        writer.add([Document("n5", "zebras")])
        with pytest.raises(StorageError, match="no space left"):
            writer.merge()
        monkeypatch.setattr(IndexUpdater, "_merge", merge)
        writer.commit()
        assert writer.merge_error is None
        assert len(writer.index.manifest.segments) < 6
    assert sorted(termwise.open(tmp_path / "i").rank("zebras", k=6).doc_ids) == [f"n{n}" for n in range(6)]
    assert verify(tmp_path / "i" / ("bm25" if model == "best" else "")) == []


def test_another_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index"
    termwise.build_index(documents(TEXTS), path, model="lookup")
    other = open_document_encoder(make_model("lookup", {"length": "64"}))
    with pytest.raises(VocabularyMismatchError, match="not the one") as caught:
        termwise.open_writer(path, encoder=other)
    assert "settings" in dict(caught.value.facts)["differ in"]


def test_fused_indexes_have_the_idf_of_the_current_documents(tmp_path: Path) -> None:
    """A changed index is fused as the index that is built anew, up to the rounding of its weights."""
    later = [*documents(LATER, 10), Document("d1", "list the files of an archive")]
    for name, made in (("living", documents(TEXTS)), ("jm", documents(TEXTS))):
        termwise.build_index(made, tmp_path / name, model="jm" if name == "jm" else "bm25")
        with termwise.open_writer(tmp_path / name) as writer:
            writer.add(later)
    fuse_indexes([tmp_path / "living", tmp_path / "jm"], [0.5, 0.5], tmp_path / "fused", quantiser="float32")
    searchers = [termwise.open(tmp_path / name) for name in ("living", "jm", "fused")]
    for query in QUERIES[:4]:
        living, jm, fused = (ranked(searcher, query) for searcher in searchers)
        assert fused.keys() == living.keys()
        for doc_id, score in fused.items():
            assert score == pytest.approx(0.5 * living[doc_id] + 0.5 * jm[doc_id], rel=2e-3)


@pytest.mark.parametrize("model", ["bm25", "lookup"])
def test_other_searches_work_on_a_changed_index(tmp_path: Path, model: str) -> None:
    path = tmp_path / "index"
    termwise.build_index(documents(TEXTS), path, model=model, store_text=True)
    with termwise.open_writer(path) as writer:
        writer.add(documents(LATER, 10))
        writer.delete(["d3"])
    searcher = termwise.open(path)
    like = searcher.search(Search(like="d11", k=3)).ranking
    assert "d11" not in like.doc_ids
    assert len(like) == 3
    run = searcher.rank_many([termwise.Query("q", "sorted words of a file")], k=5)
    again = searcher.rank_many([termwise.Query("q", "sorted words of a file")], k=5, candidates=run)
    assert again["q"].doc_ids == run["q"].doc_ids
    assert again["q"].scores.tolist() == run["q"].scores.tolist()
    scorer = index_scorer(searcher.index)
    assert scorer.score("compress bytes", ["compress bytes with zlib", "a queue"])[0] > 0


def test_documents_are_encoded_in_the_precision_of_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index"
    termwise.build_index(
        documents(TEXTS[:2]), path, model="lookup", options=termwise.BuildOptions(precision="int8")
    )
    asked = []

    def opened(model: Any, options: termwise.BuildOptions) -> Any:
        asked.append(options.precision)
        return opened_encoder(model, options)

    monkeypatch.setattr(added_rows, "opened_encoder", opened)
    with termwise.open_writer(path) as writer:
        writer.add(documents(LATER[:1], 10))
    assert asked == ["int8"]


def test_several_processes_add_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are analysed by another process; a replaced document is in an earlier block, which still waits."""
    monkeypatch.setattr("termwise.parallel.WORTH_PROCESSES", 0)
    monkeypatch.setattr(live_writer, "BLOCK", 3)
    monkeypatch.setattr(count_rows, "BLOCKS", 2)
    manifests = []
    for threads in (1, 2):
        path = tmp_path / str(threads)
        termwise.build_index(documents(TEXTS[:5]), path)
        with termwise.open_writer(path, threads=threads) as writer:
            writer.add(documents(TEXTS[5:], first=5))
            writer.add([*documents(LATER, first=20), Document("d9", "read it again")])
            manifests.append(writer.commit())
    assert manifests[0] == manifests[1]
    assert manifests[0].documents == 14


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_new_attributes_need_no_rebuild(tmp_path: Path, model: str) -> None:
    path = tmp_path / "index"
    first = [Document("a", "sorted words", {"lang": "en"}), Document("b", "sorted lists")]
    searcher = termwise.build_index(first, path, model=model, store_text=True)
    with termwise.open_writer(path) as writer:
        writer.add([Document("c", "sorted numbers", {"lang": "de", "rating": 4, "tags": ["x"]})])
        assert dict(writer.schema) == {"lang": "keyword", "rating": "integer", "tags": "keywords"}
        with pytest.raises(DataError, match="different types"):
            writer.add([Document("d", "sorted", {"rating": "high", "colour": "red"})])
        writer.add([Document("d", "sorted", {"rating": 4.5})])
        assert writer.delete(filter="rating > 4.2") == 1
        added = writer.add([Document("a", "sorted words", {"lang": "en", "rating": 1})])
        assert (added.replaced, added.unchanged) == (1, 0)
    searcher = searcher.refresh()
    assert dict(searcher.schema) == {"lang": "keyword", "rating": "float", "tags": "keywords"}
    for _ in range(2):
        assert searcher.attributes(["a", "b", "c"]) == [
            {"lang": "en", "rating": 1.0},
            {},
            {"lang": "de", "rating": 4.0, "tags": ("x",)},
        ]
        results = searcher.search(Search("sorted", sort="-rating", facets=("tags",)))
        assert results.ranking.doc_ids == ("c", "a", "b")
        assert set(searcher.rank("sorted", filter="rating is missing").doc_ids) == {"b"}
        assert [(each.value, each.documents) for each in results.facets()["tags"]] == [("x", 1)]
        for part in searcher.parts:
            assert verify(part.index.path) == []
        with termwise.open_writer(path) as writer:
            writer.merge()
        searcher = searcher.refresh()
    with termwise.open_writer(path) as writer, pytest.raises(DataError, match="wrong type"):
        writer.add([Document("e", "sorted", {"rating": "high"})])


def test_attributes_are_added_without_documents(tmp_path: Path) -> None:
    path = tmp_path / "i.tw"
    given = [Document("a", "tea", {"price": 3}), Document("b", "tea")]
    termwise.build_index(given, path, model="bm25", store_text=True)
    with termwise.open_writer(path) as writer:
        writer.add_attributes({"stars": "float", "price": "integer"})
        assert dict(writer.schema) == {"price": "integer", "stars": "float"}
    generation = Index.open(path).manifest.generation
    assert generation == 1
    with termwise.open_writer(path) as writer:
        writer.add_attributes({"stars": "float"})  # changes nothing
        with pytest.raises(ParameterError, match="another type"):
            writer.add_attributes({"stars": "keyword"})
        with pytest.raises(ParameterError, match="another type"):
            writer.add_attributes({"new": "keyword", "price": "float"})
        with pytest.raises(ParameterError, match="too many fields"):
            writer.add_attributes({f"a{number}": "float" for number in range(1000)})
    assert Index.open(path).manifest.generation == generation
    with termwise.open_writer(path) as writer:
        writer.add([Document("c", "tea", {"stars": 4})])
        writer.merge()
    index = Index.open(path)
    assert index.schema["stars"] == "float"
    assert [each.get("stars") for each in index.attributes(np.arange(3))] == [None, None, 4.0]
    assert not verify(path)
