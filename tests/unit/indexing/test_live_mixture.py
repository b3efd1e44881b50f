"""Changes of a mixture against a plain-Python model of its documents, and against indexes that are built anew."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import termwise
from termwise import Document
from termwise.attributes import Schema
from termwise.errors import (
    CorruptIndexError,
    IndexLockedError,
    MissingFileError,
    ParameterError,
    StorageError,
)
from termwise.fusion import mix_indexes
from termwise.index import Index
from termwise.index.folder import publish_staged
from termwise.index.manifest import NEW
from termwise.indexing import recipes, renew_index
from termwise.indexing.mixture_updater import MixtureUpdater
from termwise.indexing.model_choice import opened_encoder
from termwise.indexing.recipes import BEST, Recipe, RecipePart
from termwise.search import Boost, Relevance, Search, Searcher, verify
from termwise.search.mixture import different_documents
from termwise.search.mixture_folder import MixtureManifest, part_manifest

WORDS = ["merge", "sort", "list", "heap", "queue", "file"]
PARTS = (RecipePart("bm25", 0.25, {"b": "0"}), RecipePart("ml", 0.75))

BOOSTED = Relevance((Boost("price", 2, saturation=3),))

STEERED = Relevance.of(
    {
        "boosts": [{"attribute": "price", "weight": 2, "saturation": 3}],
        "synonyms": ["merge, heap", "merge list => merge list, sort file"],
        "rules": [{"query": "merge list", "pin": ["d3", "d1"], "ban": ["d1"]}],
        "parts": {"bm25": 0.6},
    }
)

ids = st.sampled_from([f"d{number}" for number in range(7)])
texts = st.lists(st.sampled_from([*WORDS, "zip", "byte"]), min_size=3, max_size=3).map(" ".join)
contents = st.tuples(texts, st.integers(0, 9))


@pytest.fixture(autouse=True)
def counts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the recipe by one of two count models."""
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe(PARTS))


def documents(contents: dict[str, tuple[str, int]]) -> list[Document]:
    return [Document(doc_id, text, {"price": price}) for doc_id, (text, price) in contents.items()]


def build(path: Path, contents: dict[str, tuple[str, int]]) -> Searcher:
    built = termwise.build_index(documents(contents), path, model="best", store_text=True, attributes="all")
    assert len(built.parts) > 1
    return built


def opened(path: Path) -> Searcher:
    mixture = termwise.open(path)
    assert len(mixture.parts) > 1
    return mixture


def ranked(searcher: Any, query: str) -> dict[str, float]:
    return {hit.doc_id: hit.score for hit in searcher.rank(query, k=100)}


def check_equal(path: Path, contents: dict[str, tuple[str, int]]) -> None:
    """Compare a mixture with a plain-Python model, and the scores of its parts with indexes that are built anew."""
    mixture = opened(path)
    everything = np.arange(mixture.documents)
    for part in mixture.parts:
        assert part.index.doc_ids(everything) == list(contents)
    assert mixture.index.texts(everything) == [text for text, _ in contents.values()]
    assert mixture.attributes(list(contents)) == [{"price": price} for _, price in contents.values()]
    if not contents:
        return
    boosted = mixture.search(Search("merge list", k=100, relevance=BOOSTED)).ranking
    assert {hit.doc_id: hit.score for hit in boosted} == pytest.approx(
        {
            name: score + 2 * contents[name][1] / (contents[name][1] + 3)
            for name, score in ranked(mixture, "merge list").items()
        }
    )
    results = mixture.search(Search("merge list", k=100, relevance=STEERED))
    assert results.unknown_pins == (() if "d3" in contents else ("d3",))
    assert results.ranking.doc_ids[: results.ranking.pinned] == (("d3",) if "d3" in contents else ())
    assert contents.keys() - {"d1"} >= set(results.ranking.doc_ids)
    words = {"merge", "list", "sort", "file"}
    matching = {name for name, (text, _) in contents.items() if words & set(text.split())}
    assert matching - {"d1"} <= set(results.ranking.doc_ids)
    for score, each in zip(results.ranking.scores.tolist(), results.explain(), strict=True):
        assert each.score == score
        assert sum((part.score for part in each.contributions), each.constant) == pytest.approx(
            score, abs=1e-6
        )
    with tempfile.TemporaryDirectory() as folder:
        for part, recipe in zip(mixture.parts, PARTS, strict=True):
            anew = termwise.build_index(
                documents(contents),
                f"{folder}/{part.name}",
                model=termwise.indexing.chosen_model(part.name, recipe.settings),
            )
            errors = [each.index.manifest.quantiser.max_error for each in (part, anew)]
            for query in ("merge list", "zip"):
                ours, theirs = ranked(Searcher(part.backend), query), ranked(anew, query)
                assert ours.keys() == theirs.keys()
                index = part.index
                terms = np.arange(index.manifest.terms, dtype=np.int32)
                most = 1.0 if index.idf is None else float(index.idf.of(terms).max(initial=1.0))
                bound = 2 * sum(errors) * most
                for doc_id, score in theirs.items():
                    assert ours[doc_id] == pytest.approx(score, abs=bound)


class MixtureChanges(RuleBasedStateMachine):
    """Random changes of a mixture; after each step, its published documents equal the model."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.TemporaryDirectory()
        self.path = Path(self.root.name) / "mixture"
        self.documents: dict[str, tuple[str, int]] = {}
        self.published: dict[str, tuple[str, int]] = {}
        self.checked: dict[str, tuple[str, int]] | None = None
        self.touched: set[str] = set()

    @initialize(first=st.dictionaries(ids, contents, min_size=1, max_size=5))
    def begin(self, first: dict[str, tuple[str, int]]) -> None:
        build(self.path, first)
        self.documents, self.published = dict(first), dict(first)
        self.writer = termwise.open_writer(self.path)

    @rule(added=st.dictionaries(ids, contents, max_size=4))
    def add(self, added: dict[str, tuple[str, int]]) -> None:
        self.writer.add(documents(added))
        for doc_id, content in added.items():
            if doc_id in self.touched or self.published.get(doc_id) != content:
                self.documents.pop(doc_id, None)
                self.documents[doc_id] = content
                self.touched.add(doc_id)

    @rule(doc_ids=st.lists(ids, max_size=3))
    def delete(self, doc_ids: list[str]) -> None:
        assert self.writer.delete(doc_ids) == len(set(doc_ids) & self.documents.keys())
        for doc_id in doc_ids:
            self.documents.pop(doc_id, None)
            self.touched.add(doc_id)

    @rule(price=st.integers(0, 9))
    def delete_by_filter(self, price: int) -> None:
        found = [doc_id for doc_id, (_, each) in self.documents.items() if each < price]
        assert self.writer.delete(filter=f"price < {price}") == len(found)
        for doc_id in found:
            del self.documents[doc_id]
            self.touched.add(doc_id)

    @rule()
    def commit(self) -> None:
        self.writer.commit()
        self.published = dict(self.documents)
        self.touched.clear()

    @rule()
    def merge(self) -> None:
        assert len(self.writer.merge().segments) == 1
        self.published = dict(self.documents)
        self.touched.clear()

    @rule()
    def reopen(self) -> None:
        """Close the writer without a commit: its changes are lost."""
        self.writer.close()
        self.documents = dict(self.published)
        self.writer = termwise.open_writer(self.path)
        self.touched.clear()

    @invariant()
    def equals_the_model(self) -> None:
        if self.published != self.checked or list(self.published) != list(self.checked or {}):
            check_equal(self.path, self.published)
            assert verify(self.path) == []
            self.checked = dict(self.published)

    def teardown(self) -> None:
        self.writer.close()
        assert {file.name for file in self.path.iterdir()} == {"bm25", "ml", "mixture.json"}
        self.root.cleanup()


TestMixtureChanges = MixtureChanges.TestCase
TestMixtureChanges.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)

SHOP = {"a": ("merge list", 3), "b": ("sort heap", 5), "c": ("queue of files", 8)}


def test_a_reader_keeps_its_generation_until_it_refreshes(tmp_path: Path) -> None:
    searcher = build(tmp_path / "m", SHOP)
    assert searcher.refresh() is searcher
    with termwise.open_writer(tmp_path / "m") as writer:
        assert dict(writer.schema) == {"price": "integer"}
        writer.add([Document("d", "merge zip", {"price": 9}), Document("a", "merge list", {"price": 4})])
        assert searcher.refresh() is searcher
        writer.commit()
        fresh = searcher.refresh()
        assert fresh.rank("zip").doc_ids == ("d",)
        assert fresh.rank("merge", filter="price = 4").doc_ids == ("a",)
        assert fresh.backend.depth == searcher.backend.depth
        writer.delete(["b"])
    assert searcher.rank("zip sort").doc_ids == ("b",)
    assert fresh.refresh().rank("zip sort").doc_ids == ("d",)
    explanation = fresh.explain("merge zip", "d")
    total = sum(part.score for part in explanation.contributions) + explanation.constant
    assert total == pytest.approx(explanation.score)


def test_a_mixture_of_open_indexes_is_refreshed(tmp_path: Path) -> None:
    searchers = [
        termwise.build_index(documents(SHOP), tmp_path / name, model=name) for name in ("bm25", "jm")
    ]
    mixture = Searcher.mix({str(n): searcher for n, searcher in enumerate(searchers)}, [0.5, 0.5])
    assert mixture.refresh() is mixture
    for name in ("bm25", "jm"):
        with termwise.open_writer(tmp_path / name) as writer:
            writer.add([Document("d", "zip")])
    assert mixture.refresh().rank("zip").doc_ids == ("d",)


def test_a_filter_sees_changes_that_are_not_committed(tmp_path: Path) -> None:
    build(tmp_path / "m", SHOP)
    writer = termwise.open_writer(tmp_path / "m")
    writer.add([Document("d", "merge", {"price": 3}), Document("b", "sort", {"price": 1})])
    assert writer.delete(filter="price = 3 or price = 5") == 2  # a and d; b has another price now
    assert opened(tmp_path / "m").index.doc_ids(np.arange(3)) == ["a", "b", "c"]
    writer.close()
    check_equal(tmp_path / "m", SHOP)


def test_a_part_is_changed_with_its_mixture(tmp_path: Path) -> None:
    build(tmp_path / "m", SHOP)
    with pytest.raises(ParameterError, match="a part of a mixture") as caught:
        termwise.open_writer(tmp_path / "m" / "ml")
    assert caught.value.fixes == (f"change the mixture as a whole: name the folder {tmp_path / 'm'}",)
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add([Document("d", "zip")])
        with pytest.raises(IndexLockedError, match="another process"):
            termwise.open_writer(tmp_path / "m")
    assert termwise.open(tmp_path / "m" / "ml").rank("zip").doc_ids == ("d",)


def test_a_commit_that_was_interrupted_after_it_became_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest of a part is then in its temporary file; readers find it there, and the next writer renames it."""
    path = tmp_path / "m"
    build(path, SHOP)

    def refuse(folder: Path) -> None:
        raise StorageError("no space")

    changed = {**SHOP, "d": ("zip", 1)}
    with monkeypatch.context() as patch:
        patch.setattr("termwise.index.updater.publish_staged", refuse)
        writer = termwise.open_writer(path)
        writer.add(documents({"d": ("zip", 1)}))
        with pytest.raises(StorageError, match="no space"):
            writer.commit()
    assert [(path / part / NEW).exists() for part in ("bm25", "ml")] == [True, True]
    check_equal(path, changed)
    assert verify(path) == []
    assert len(Index.open(path / "ml")) == 3  # by itself, a part has the generation before
    writer.add(documents({"e": ("zip", 2)}))  # the same writer goes on
    writer.commit()
    writer.close()
    check_equal(path, {**changed, "e": ("zip", 2)})
    assert not (path / "ml" / NEW).exists()


@pytest.mark.parametrize(("renamed", "renewed"), [(0, False), (1, True), (2, True)])
def test_a_renewal_that_is_killed_between_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int, renewed: bool
) -> None:
    """Killed before ``mixture.json`` is replaced, and after that before the manifest of the n-th part is renamed."""
    path = tmp_path / "m"
    build(path, SHOP)
    with monkeypatch.context() as patch, termwise.open_writer(path) as writer:
        patch.setattr("termwise.indexing.reweighing.has_drifted", lambda *_: False)
        writer.add(documents({"d": ("zip zip zip list", 1)}))
        writer.commit()
    before = opened(path).rank("list heap zip files")
    done = build(tmp_path / "fresh", {**SHOP, "d": ("zip zip zip list", 1)}).rank("list heap zip files")
    assert before != done
    child = os.fork()
    if child == 0:
        parts = iter(range(1, 3))

        def killed(folder: Path) -> None:
            if next(parts) == renamed:
                os._exit(9)
            publish_staged(folder)

        if renamed == 0:
            monkeypatch.setattr(MixtureManifest, "write", lambda *_: os._exit(9))
        monkeypatch.setattr("termwise.index.updater.publish_staged", killed)
        renew_index(path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert opened(path).rank("list heap zip files") == (done if renewed else before)
    assert verify(path) == []
    with termwise.open_writer(path) as writer:
        writer.delete(["d"])
    check_equal(path, SHOP)
    assert {file.name for file in path.iterdir()} == {"bm25", "ml", "mixture.json"}
    for part in MixtureManifest.read(path).parts:
        files = {file.name for file in part_manifest(path, part).files()}
        assert {file.name for file in (path / part.folder).iterdir()} == files | {"manifest.json"}


def test_an_error_of_one_part_leaves_all_parts_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    build(path, SHOP)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("no space")

    writer = termwise.open_writer(path)
    with monkeypatch.context() as patch:
        patch.setattr(MixtureManifest, "write", refuse)
        writer.delete(["a"])
        with pytest.raises(StorageError, match="no space"):
            writer.commit()
    assert writer.has("a")
    writer.close()
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_a_mixture_that_was_replaced_under_the_writer_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m"
    build(path, SHOP)
    manifest = MixtureManifest.read(path)
    with termwise.open_writer(path) as writer:
        MixtureManifest(manifest.parts, depth=7).write(path)
        writer.delete(["a"])
        with pytest.raises(IndexLockedError, match="was replaced"):
            writer.commit()
    assert opened(path).backend.depth == 7
    check_equal(path, SHOP)


def test_a_changed_part_is_refused(tmp_path: Path) -> None:
    build(tmp_path / "m", SHOP)
    termwise.build_index(documents(SHOP), tmp_path / "m" / "ml", model="jm", overwrite=True)
    with pytest.raises(CorruptIndexError, match="changed since"):
        MixtureUpdater(tmp_path / "m", lambda folder: pytest.fail("no part is opened"))
    assert not (tmp_path / "m" / ".lock").exists()


def test_a_damaged_part_is_built_again_with_its_mixture(tmp_path: Path) -> None:
    build(tmp_path / "m", {"a": ("merge list", 1)})
    (file,) = (tmp_path / "m" / "bm25").glob("attributes-*.tw")
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(CorruptIndexError) as caught:
        termwise.open_writer(tmp_path / "m")
    assert caught.value.fixes == ("build the mixture again",)
    file.unlink()
    with pytest.raises(MissingFileError) as missing:
        termwise.open_writer(tmp_path / "m")
    assert missing.value.fixes == ("build the mixture again",)


def test_equal_files_of_identifiers_with_other_deletions_differ(tmp_path: Path) -> None:
    for name, gone in (("one", "a"), ("other", "b")):
        termwise.build_index(documents(SHOP), tmp_path / name)
        with termwise.open_writer(tmp_path / name) as writer:
            writer.delete([gone])
    one, other = (Index.open(tmp_path / name) for name in ("one", "other"))
    assert different_documents(one, other) == [("position", 1), ("doc_ids", "b and a")]
    assert different_documents(one, one) is None


def test_parts_with_other_segments_are_changed_together(tmp_path: Path) -> None:
    """An index that was changed, and one that was built from the same documents, have different segments."""
    first, second = documents(SHOP)[:1], documents(SHOP)[1:]
    termwise.build_index(first, tmp_path / "bm25")
    with termwise.open_writer(tmp_path / "bm25") as writer:
        writer.add(second)
    termwise.build_index([*first, *second], tmp_path / "jm", model="jm")
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.5, 0.5], tmp_path / "m")
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add([Document("d", "zip")])
        writer.delete(["b"])
    assert opened(tmp_path / "m").rank("zip").doc_ids == ("d",)
    assert verify(tmp_path / "m") == []


def test_a_network_encodes_only_new_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((PARTS[0], RecipePart("lookup", 0.75))))
    build(tmp_path / "m", SHOP)
    encoded: list[str] = []

    def counting(*arguments: Any, **options: Any) -> Any:
        encoder = opened_encoder(*arguments, **options)
        encode = encoder.encode_documents
        monkeypatch.setattr(
            type(encoder), "encode_documents", lambda self, texts: encoded.extend(texts) or encode(texts)
        )
        return encoder

    monkeypatch.setattr("termwise.indexing.added_rows.opened_encoder", counting)
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add(documents({**SHOP, "d": ("a zip archive", 9), "b": ("sort a heap", 5)}))
        writer.delete(["c"])
    monkeypatch.undo()
    assert encoded == ["sort a heap", "a zip archive"]
    left = {"a": SHOP["a"], "b": ("sort a heap", 5), "d": ("a zip archive", 9)}
    anew = termwise.build_index(documents(left), tmp_path / "lookup", model="lookup")
    part = Searcher(opened(tmp_path / "m").parts[1].backend)
    for query in ("merge archives", "sorting"):
        assert ranked(part, query) == ranked(anew, query)


def test_documents_in_chunks(tmp_path: Path) -> None:
    long = "merge the lists. sort the heap. read a file."
    termwise.build_index(
        [Document("a", long), Document("b", "a queue")],
        tmp_path / "m",
        model="best",
        store_text=True,
        chunk=4,
    )
    with termwise.open_writer(tmp_path / "m") as writer:
        added = writer.add([Document("c", f"{long} zip it."), Document("a", "sort. zip the bytes there.")])
        assert (added.new, added.replaced) == (1, 1)
        assert writer.delete(["b"]) == 1
    mixture = opened(tmp_path / "m")
    assert mixture.documents == 2
    assert mixture.index.document_texts(mixture.index.find_many(["c", "a"])) == [
        f"{long} zip it.",
        "sort. zip the bytes there.",
    ]
    assert set(mixture.rank("zip", k=5).doc_ids) == {"a", "c"}
    assert verify(tmp_path / "m") == []


def test_an_empty_mixture_is_filled(tmp_path: Path) -> None:
    texts = {"a": "green tea from japan", "b": "a red pot of clay", "c": "coffee beans, roasted"}
    added = [Document(name, text, {"price": len(text)}) for name, text in texts.items()]
    options: dict[str, Any] = {
        "model": "instant",
        "attributes": Schema({"price": "integer"}),
        "store_text": True,
    }
    searcher = termwise.build_index([], tmp_path / "i", **options)
    assert (searcher.documents, len(searcher.parts)) == (0, 2)
    assert searcher.search(Search("tea")).reasons() == ["the index has no documents"]
    assert verify(tmp_path / "i") == []
    fresh = termwise.build_index(added, tmp_path / "new", **options)
    for merge in (False, True):
        with termwise.open_writer(tmp_path / "i") as writer:
            writer.add(added)
            if merge:
                writer.merge()
        searcher = searcher.refresh()
        for query in ("tea", "clay pots", "coffee from japan", "unknown"):
            search = Search(query, filter="price < 100", fuzzy=True)
            assert searcher.search(search).ranking == fresh.search(search).ranking
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.delete(texts)
        writer.merge()
    assert (searcher.refresh().documents, verify(tmp_path / "i")) == (0, [])
