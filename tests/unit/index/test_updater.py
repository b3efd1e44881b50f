"""Changes of an index against a plain-Python model of its documents, and against an index that is built anew."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from termwise.engine.allowed_documents import allowed_documents
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage, score_documents
from termwise.errors import IndexLockedError, ParameterError, VocabularyMismatchError, WeightError
from termwise.filters import Exists
from termwise.index import Index, IndexWriter, Manifest, verify
from termwise.index.segment import Segment
from termwise.index.updater import FACTOR, IndexUpdater
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

TERMS = 12
WORDS = Vocabulary([f"t{number:02}" for number in range(TERMS)])
Row = dict[int, float]

rows = st.dictionaries(st.integers(0, TERMS - 1), st.integers(1, 255).map(float), max_size=6)
ids = st.sampled_from([f"d{number}" for number in range(9)])
attributes = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(0, 3),
        "brand": st.sampled_from(["alm", "bolt"]),
        "tags": st.lists(st.sampled_from(["new", "eco"]), min_size=1, unique=True).map(tuple),
        "sold": st.booleans(),
    },
)


def weights(documents: list[Row]) -> TermWeights:
    return TermWeights.from_rows(documents, WORDS.id)


def build(folder: Path, documents: dict[str, Row], **options: Any) -> Index:
    with IndexWriter(folder, **options) as writer:
        texts = [f"text of {doc_id}" for doc_id in documents] if options.get("store_text") else None
        writer.add(list(documents), weights(list(documents.values())), texts)
        writer.commit(WORDS, encoder={})
    return Index.open(folder)


def results(index: Index, query: Row, k: int = 100) -> list[tuple[str, float]]:
    ordinals, scores = first_stage(index, query_vector(index, weights([query])), k)
    return list(zip(index.doc_ids(ordinals), scores.tolist(), strict=True))


def expected(documents: dict[str, Row], query: Row) -> list[tuple[str, float]]:
    """Rank by hand: whole weights are stored exactly, ties are in the order of the documents."""
    scored = [
        (doc_id, sum(query[term] * row[term] for term in query if term in row))
        for doc_id, row in documents.items()
        if query.keys() & row.keys()
    ]
    return sorted(scored, key=lambda pair: -pair[1])


QUERIES: list[Row] = [{0: 1.0}, {1: 2.0, 3: 1.0}, dict.fromkeys(range(TERMS), 1.0)]


def check_equal(index: Index, documents: dict[str, Row]) -> None:
    assert index.doc_ids(np.arange(len(index))) == list(documents)
    assert index.find_many(["d0", "absent"]).tolist() == [
        list(documents).index("d0") if "d0" in documents else -1,
        -1,
    ]
    everything = np.arange(len(index))
    stored = index.weights(everything)
    for number, row in enumerate(documents.values()):
        terms, values = stored.row(number)
        assert dict(zip(terms.tolist(), values.tolist(), strict=True)) == row
        assert dict(zip(*(part.tolist() for part in index.row(number)), strict=True)) == row
    frequencies = [sum(term in row for row in documents.values()) for term in range(TERMS)]
    assert index.document_frequencies.tolist() == frequencies
    for query in QUERIES:
        ranked = expected(documents, query)
        assert results(index, query) == ranked
        assert results(index, query, 3) == ranked[:3]
        vector = query_vector(index, weights([query]))
        scores, matched = score_documents(index, vector, everything[::-1])
        by_id = dict(ranked)
        for doc_id, score, shared in zip(reversed(list(documents)), scores.tolist(), matched, strict=True):
            assert score == by_id.get(doc_id, 0.0)
            assert bool(shared) == (doc_id in by_id)


class Changes(RuleBasedStateMachine):
    """Random changes of an index; after each commit, it equals the model."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.TemporaryDirectory()
        self.path = Path(self.root.name) / "index"
        self.documents: dict[str, Row] = {}
        self.published: dict[str, Row] = {}
        self.attributes: dict[str, dict[str, Any]] = {}
        self.published_attributes: dict[str, dict[str, Any]] = {}
        self.updater: IndexUpdater | None = None

    @initialize(first=st.dictionaries(ids, rows.filter(bool), min_size=1, max_size=5))
    def begin(self, first: dict[str, Row]) -> None:
        self.reader = build(self.path, first)
        self.documents, self.published = dict(first), dict(first)
        self.updater = IndexUpdater(self.path)

    def put(self, doc_id: str, row: Row, values: dict[str, Any]) -> None:
        self.documents.pop(doc_id, None)
        self.documents[doc_id] = row
        self.attributes[doc_id] = values

    @rule(added=st.dictionaries(ids, st.tuples(rows, attributes), max_size=4))
    def add(self, added: dict[str, tuple[Row, dict[str, Any]]]) -> None:
        """Add documents; the first one with an attribute adds it to the schema."""
        assert self.updater is not None
        self.updater.add_documents(list(added), None, [values for _, values in added.values()])
        self.updater.add_weights(weights([row for row, _ in added.values()]))
        for doc_id, (row, values) in added.items():
            self.put(doc_id, row, values)

    @rule(doc_ids=st.lists(ids, max_size=4))
    def delete(self, doc_ids: list[str]) -> None:
        assert self.updater is not None
        present = len(set(doc_ids) & self.documents.keys())
        assert self.updater.delete(doc_ids) == present
        for doc_id in doc_ids:
            self.documents.pop(doc_id, None)

    @rule()
    def commit(self) -> None:
        assert self.updater is not None
        self.updater.commit()
        self.published, self.published_attributes = dict(self.documents), dict(self.attributes)

    @rule()
    def merge(self) -> None:
        assert self.updater is not None
        manifest = self.updater.merge()
        self.published, self.published_attributes = dict(self.documents), dict(self.attributes)
        assert len(manifest.segments) == 1
        assert not manifest.segments[0].deletions or not self.documents

    @rule()
    def reopen(self) -> None:
        """Close the writer without a commit: its changes are lost."""
        assert self.updater is not None
        self.updater.close()
        self.documents, self.attributes = dict(self.published), dict(self.published_attributes)
        self.updater = IndexUpdater(self.path)

    @precondition(lambda self: self.updater is not None)
    @invariant()
    def equals_the_model(self) -> None:
        self.reader = self.reader.newest()  # shares files with the generations before
        assert self.reader.manifest == Manifest.read(self.path)
        for index in (self.reader, Index.open(self.path)):
            check_equal(index, self.published)
            expected = [self.published_attributes.get(doc_id, {}) for doc_id in self.published]
            assert index.attributes(np.arange(len(index))) == expected
            assert {name for values in expected for name in values} <= index.schema.keys()
            for name in index.schema:
                found = allowed_documents(index, Exists(name)).mask.tolist()
                assert found == [name in values for values in expected]
        assert verify(self.path) == []

    def teardown(self) -> None:
        if self.updater is not None:
            self.updater.close()
            assert {path.name.split("-")[0] for path in self.path.iterdir()} <= {
                "manifest.json",
                "terms",
                "segment",
                "ids",
                "deletions",
                "attributes",
            }
        self.root.cleanup()


TestChanges = Changes.TestCase
TestChanges.settings = settings(
    max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_the_newest_generation_shares_unchanged_segments(path: Path) -> None:
    index = Index.open(path)
    assert index.newest() is index
    with IndexUpdater(path) as updater:
        updater.add(["d"], weights([{0: 1.0}]), ["text of d"])
        updater.commit()
        added = index.newest()
        updater.delete(["a"])
        updater.commit()
    assert added.segments[0] is index.segments[0]
    deleted = added.newest()
    assert deleted.segments[0] is not index.segments[0]
    assert deleted.segments[1] is added.segments[1]
    assert [each.doc_ids(np.arange(len(each))) for each in (index, added, deleted)] == [
        ["a", "b", "c"],
        ["a", "b", "c", "d"],
        ["b", "c", "d"],
    ]
    build(path, {"a": {0: 2.0}}, overwrite=True)
    assert results(deleted.newest(), {0: 1.0}) == [("a", 2.0)]


def test_a_manifest_that_was_read_is_not_parsed_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, real, parsed = Index.open(path), Manifest.parse, []
    monkeypatch.setattr(Manifest, "parse", lambda data, path: parsed.append(path) or real(data, path))
    with IndexUpdater(index) as updater:
        assert updater.index is index
    assert parsed == []
    build(path, {"e": {1: 1.0}}, overwrite=True)
    with IndexUpdater(index) as updater:
        assert updater.index.doc_ids(np.arange(1)) == ["e"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build(tmp_path / "index", {"a": {0: 2.0}, "b": {0: 1.0, 1: 5.0}, "c": {1: 5.0}}, store_text=True)
    return tmp_path / "index"


def test_a_replaced_document_comes_last(path: Path) -> None:
    with IndexUpdater(path) as updater:
        updater.add(["a"], weights([{1: 5.0}]), ["new text"])
        updater.commit()
    index = Index.open(path)
    assert results(index, {1: 1.0}) == [("b", 5.0), ("c", 5.0), ("a", 5.0)]
    assert index.texts(np.arange(3)) == ["text of b", "text of c", "new text"]


def test_a_document_that_is_added_twice_keeps_the_last_row(path: Path) -> None:
    with IndexUpdater(path) as updater:
        updater.add(["x"], weights([{2: 1.0}]), ["first"])
        updater.add(["x"], weights([{2: 9.0}]), ["second"])
        updater.commit()
    index = Index.open(path)
    assert results(index, {2: 1.0}) == [("x", 9.0)]
    assert index.text(index.ordinal("x")) == "second"


def test_changes_without_a_commit_are_lost(path: Path) -> None:
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    with IndexUpdater(path) as updater:
        updater.add(["x"], weights([{2: 1.0}]), ["text"])
        updater.delete(["a"])
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_commit_without_changes_writes_nothing(path: Path) -> None:
    with IndexUpdater(path) as updater:
        updater.delete(["absent"])
        assert updater.commit().generation == 0
    assert Index.open(path).manifest.version == 1


def test_all_documents_can_be_deleted_and_others_added(path: Path) -> None:
    with IndexUpdater(path) as updater:
        assert updater.delete(["a", "b", "c", "a"]) == 3
        updater.commit()
        assert (len(updater.index), results(updater.index, {0: 1.0})) == (0, [])
        updater.merge()
        updater.add(["z"], weights([{0: 3.0}]), ["text"])
        updater.merge()
    assert results(Index.open(path), {0: 1.0}) == [("z", 3.0)]
    assert verify(path) == []


def test_small_segments_are_merged(path: Path) -> None:
    counts = []
    with IndexUpdater(path) as updater:
        for number in range(3 * FACTOR):
            updater.add([f"n{number}"], weights([{2: number + 1.0}]), ["text"])
            counts.append(len(updater.commit().segments))
    assert max(counts) <= 2 * FACTOR
    index = Index.open(path)
    assert [doc_id for doc_id, _ in results(index, {2: 1.0})] == [
        f"n{number}" for number in reversed(range(3 * FACTOR))
    ]


def test_weights_beyond_the_scale_get_a_coarser_unit(tmp_path: Path) -> None:
    build(tmp_path / "index", {"a": {0: 255.0}})
    with IndexUpdater(tmp_path / "index") as updater:
        updater.add(["b"], weights([{0: 1000.0, 1: 8.0}]))
        manifest = updater.commit()
        assert [segment.shift for segment in manifest.segments] == [0, 2]
        assert results(updater.index, {0: 1.0, 1: 2.0}) == [("b", 1016.0), ("a", 255.0)]
        merged = updater.merge()
    assert [segment.shift for segment in merged.segments] == [2]
    assert merged.quantiser.max_error == 1.0  # 255 is 63.75 units of 4
    assert results(Index.open(tmp_path / "index"), {0: 1.0}) == [("b", 1000.0), ("a", 256.0)]


def test_a_weight_slightly_beyond_the_scale_is_stored_as_the_largest(tmp_path: Path) -> None:
    build(tmp_path / "index", {"a": {0: 255.0}})
    with IndexUpdater(tmp_path / "index") as updater:
        updater.add(["b"], weights([{0: 300.0, 1: 8.0}]))
        manifest = updater.commit()
    assert [segment.shift for segment in manifest.segments] == [0, 0]
    assert manifest.quantiser.max_error == 45.0
    assert results(updater.index, {0: 1.0, 1: 2.0}) == [("b", 271.0), ("a", 255.0)]


def test_a_weight_far_beyond_the_scale_is_refused_and_the_index_stays(path: Path) -> None:
    with IndexUpdater(path) as updater:
        updater.add(["a"], weights([{0: 1e9}]), ["text"])
        with pytest.raises(WeightError, match="too large for the scale"):
            updater.commit()
        updater.commit()
    assert results(Index.open(path), {0: 1.0}) == [("a", 2.0), ("b", 1.0)]


def test_rows_over_another_vocabulary_are_refused(path: Path) -> None:
    with IndexUpdater(path) as updater, pytest.raises(VocabularyMismatchError):
        updater.add(["x"], TermWeights.from_rows([{0: 1.0}], Vocabulary(["other"]).id), ["text"])


def test_one_writer_at_a_time_and_the_error_names_it(path: Path) -> None:
    with IndexUpdater(path), pytest.raises(IndexLockedError) as caught:
        IndexUpdater(path)
    assert dict(caught.value.facts)["writer"].startswith("process ")


def test_an_index_that_was_replaced_in_the_meantime_is_refused(path: Path) -> None:
    opened = Index.open(path)
    with IndexWriter(path, overwrite=True) as writer:
        writer.add(["a"], weights([{0: 2.0}]))
        writer.commit(WORDS, encoder={"model": {"name": "other"}})
    with pytest.raises(IndexLockedError, match="was replaced"):
        IndexUpdater(opened)
    with IndexUpdater(path):  # the lock is free
        pass


def test_a_closed_writer_is_refused(path: Path) -> None:
    with IndexUpdater(path) as updater:
        pass
    with pytest.raises(ParameterError, match="closed"):
        updater.commit()


def test_a_reader_keeps_its_generation(path: Path) -> None:
    reader = Index.open(path)
    with IndexUpdater(path) as updater:
        updater.delete(["a"])
        updater.add(["d"], weights([{0: 7.0}]), ["text"])
        updater.commit()
        updater.merge()
    assert results(reader, {0: 1.0}) == [("a", 2.0), ("b", 1.0)]
    assert results(Index.open(path), {0: 1.0}) == [("d", 7.0), ("b", 1.0)]


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_terms_are_found_among_the_own_terms_of_a_segment(own: set[int], wanted: set[int]) -> None:
    segment: Any = SimpleNamespace(own_terms=np.array(sorted(own), dtype=np.uint32))
    places, found = Segment.places_of_terms(segment, np.array(sorted(wanted), dtype=np.int32))
    assert places.dtype == np.int32
    assert [sorted(own)[place] for place in places] == sorted(own & wanted)
    assert [sorted(wanted)[position] for position in found] == sorted(own & wanted)
