"""Weights that follow the documents of an index: against a new build, and the drift that a commit permits."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import termwise
from termwise import BuildOptions, Document
from termwise.attributes import Schema
from termwise.errors import EmptyCollectionError, StorageError
from termwise.fusion import mix_indexes
from termwise.index import Index, Manifest, verify
from termwise.index.updater import IndexUpdater
from termwise.indexing.model_choice import chosen_model, model_of
from termwise.indexing.reweighing import Reweighing, has_drifted
from termwise.models import BM25, CountModel, QueryLikelihoodDirichlet, QueryLikelihoodJM
from termwise.search import Relevance, Search, Searcher

WORDS = [f"w{number}" for number in range(12)]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
IDS = st.sampled_from([f"d{number}" for number in range(9)])
FIELDS = {"title": 3, "text": 1}

FORMS: dict[str, dict[str, Any]] = {
    "bm25": {"model": "bm25", "store_text": True},
    "jm": {"model": "jm"},
    "dirichlet": {"model": "dirichlet"},
    "ml in float32": {"model": "ml", "options": BuildOptions(quantiser="float32")},
    "fields": {"model": "bm25", "fields": FIELDS, "store_text": True},
    "chunks": {"model": "dirichlet", "chunk": 4},
    "closed vocabulary": {"model": "bm25", "analyzer": "wordpiece"},
    "languages": {"model": "bm25", "analyzer": "by-attribute:lang", "store_text": True},
}


STEERED: dict[str, Any] = {
    "boosts": [
        {"attribute": "words", "weight": 3, "near": 2, "distance": 1},
        {"attribute": "first", "weight": -1.5, "values": ["w1", "w2"]},
        {"attribute": "sold", "weight": 0.7, "saturation": 3},
        {"attribute": "added", "weight": 2, "half_life": "1 day", "now": "2026-03-20"},
    ],
    "synonyms": ["w1, w3 ^0.4", "w2 => w4", "w5 w6, w7", "w8, w9 w10", "jacket, Jacke"],
    "rules": [
        {"query": "w1 w2", "pin": ["d3", "d1"], "ban": ["d1", "d5"]},
        {"query": "w5", "match": "prefix", "pin": ["d2", "d7"], "ban": ["d6"]},
    ],
}
"""Relevance of the searches of the state machine; the index begins with the attribute ``words`` only."""

LATER = {"first": "w3", "sold": 2, "added": "2026-03-15"}
"""Attributes of some documents that are added later."""

LANGUAGES = {"de": "Jacken", "en": "jackets", "xx": "other"}
"""Word of the documents of each language; *jacket* is no word of its analyzer for unknown ones."""

FOUND = {
    "w1 w2": (["w1", "w3", "w4"], ["d3"], {"d1", "d5"}),
    "w5 w6 w8": (["w5", "w6", "w7", "w8", "w9", "w10"], ["d2", "d7"], {"d6"}),
}
"""Words that a steered query searches for, and documents that it pins and bans."""


def document(doc_id: str, text: str, form: str, *, later: bool = True) -> Document:
    """Return a document, with the attributes `LATER` if it is added `later`."""
    attributes: dict[str, Any] = {"words": len(text.split())}
    if later and doc_id > "d4" and text:
        attributes |= {**LATER, "first": text.split()[0], "sold": len(text)}
    if form == "languages":
        attributes["lang"] = ("de", "en", "xx")[len(text) % 3]
        text = f"{text} {LANGUAGES[attributes['lang']]}"
    if form != "fields":
        return Document(doc_id, text, attributes)
    title, _, rest = text.partition(" ")
    return Document.of_fields(doc_id, {"title": title, "text": rest}, attributes)


def boosted(attributes: Mapping[str, Any]) -> float:
    """Return the sum of the boosts of `STEERED` for a document, of which one has no exact value in binary."""
    score = 3 * 0.5 ** abs(attributes["words"] - 2)
    if "first" in attributes:
        score += -1.5 * (attributes["first"] in ("w1", "w2"))
        score += round(0.7 * (1 / (1 + 3 / attributes["sold"])) * 2**32) / 2**32
        score += 2 * 0.5**5
    return score


def files(path: Path) -> list[str]:
    """Return the files of an index, whose names have digests of their contents."""
    return sorted(file.name for file in Manifest.read(path).files())


class Documents(RuleBasedStateMachine):
    """Random changes of an index that begins with any documents, or none; after a merge, it is that of a new build."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.TemporaryDirectory()
        self.path = Path(self.root.name) / "living"
        self.documents: dict[str, Document] = {}
        self.builds = 0

    @initialize(form=st.sampled_from(list(FORMS)), first=st.dictionaries(IDS, TEXTS, max_size=3))
    def begin(self, form: str, first: dict[str, str]) -> None:
        self.form = form
        self.documents = {doc_id: document(doc_id, text, form, later=False) for doc_id, text in first.items()}
        self.build(self.path)
        self.writer = termwise.open_writer(self.path)
        self.searcher, self.verified = termwise.open(self.path), -1

    def build(self, path: Path) -> None:
        schema = Schema({"words": "integer", **({"lang": "keyword"} if self.form == "languages" else {})})
        if path != self.path:
            schema = Index.open(self.path).schema  # with the attributes that came later
        options = {"attributes": schema, "analyzer": "english", **FORMS[self.form]}
        termwise.build_index(list(self.documents.values()), path, **options)

    @rule(added=st.dictionaries(IDS, TEXTS, min_size=1, max_size=4))
    def add(self, added: dict[str, str]) -> None:
        given = [document(doc_id, text, self.form) for doc_id, text in added.items()]
        stored = FORMS[self.form].get("store_text")
        self.writer.add(given)
        for each in given:
            if stored and self.documents.get(each.doc_id) == each and each.doc_id in self.published:
                continue  # unchanged: it stays in its place
            self.documents.pop(each.doc_id, None)
            self.documents[each.doc_id] = each

    @property
    def published(self) -> set[str]:
        """Identifiers of documents that were not changed since the last commit."""
        return {doc_id for doc_id in self.documents if doc_id not in self.writer._touched}

    @rule(doc_ids=st.lists(IDS, max_size=4))
    def delete(self, doc_ids: list[str]) -> None:
        self.writer.delete(doc_ids)
        for doc_id in doc_ids:
            self.documents.pop(doc_id, None)

    @rule(reopen=st.booleans())
    def commit(self, reopen: bool) -> None:
        self.writer.commit()
        assert self.writer.merge_error is None
        index = self.writer.index
        model = model_of(index)
        assert isinstance(model, CountModel)
        assert not has_drifted(index, model)
        assert index.doc_ids(index.chunks.starts) == list(self.documents)
        if reopen:
            self.writer.close()
            self.writer = termwise.open_writer(self.path)
        self.check_boosts()
        self.check_steered()

    def relevance(self, **changed: Any) -> Relevance:
        """Return the relevance with the boosts of the attributes that the index has."""
        boosts = [each for each in STEERED["boosts"] if each["attribute"] in self.searcher.schema]
        later = any("first" in each.attributes for each in self.documents.values())
        assert len(boosts) == 4 or (len(boosts) == 1 and not later)
        return Relevance.of({**STEERED, "boosts": boosts, **changed})

    def check_boosts(self) -> None:
        """Rank by hand with boosts."""
        searcher = self.searcher = self.searcher.refresh()
        plain = searcher.search(Search("w1 w2", k=70)).ranking
        by_hand = {hit.doc_id: hit.score + boosted(self.documents[hit.doc_id].attributes) for hit in plain}
        order = sorted(by_hand, key=lambda doc_id: (-by_hand[doc_id], list(self.documents).index(doc_id)))
        for relevance in [self.relevance(synonyms=[], rules=[])] * 3:  # later ones prune
            found = searcher.search(Search("w1 w2", k=70, relevance=relevance)).ranking
            assert found.scores.tolist() == [by_hand[doc_id] for doc_id in found.doc_ids]
            assert list(found.doc_ids) == order
            assert (
                list(searcher.search(Search("w1 w2", k=2, relevance=relevance)).ranking.doc_ids) == order[:2]
            )

    def check_steered(self, fresh: Searcher | None = None) -> None:
        """Compare what synonyms and rules do with the documents, and all with a new build."""
        searcher = self.searcher = self.searcher.refresh()
        tokens = searcher.analyzer.tokens  # which may be parts of the words
        for query, (words, pins, banned) in FOUND.items():
            ranking = self.explained(searcher, query)
            assert fresh is None or self.explained(fresh, query) == ranking
            ids = [doc_id for doc_id, _ in ranking]
            pinned = [doc_id for doc_id in pins if doc_id in self.documents]
            assert ids[: len(pinned)] == pinned
            searched = set(tokens(" ".join(words)))
            matching = {name for name, each in self.documents.items() if searched & set(tokens(each.text))}
            assert set(ids) == (matching - banned) | set(pinned)
        if self.form == "languages":
            for lang, languages in [(None, ("de", "en")), ("de", ("de",)), ("en", ("en",))]:
                ranking = self.explained(searcher, "jacket", lang=lang)
                assert fresh is None or self.explained(fresh, "jacket", lang=lang) == ranking
                known = {name: each.attributes["lang"] for name, each in self.documents.items()}
                assert {name for name, _ in ranking} == {name for name in known if known[name] in languages}

    def explained(self, searcher: Searcher, query: str, **options: Any) -> list[tuple[str, float]]:
        """Return the ranking with a relevance file, and check that explanations add up to the scores."""
        results = searcher.search(Search(query, k=70, relevance=self.relevance(), **options))
        ranking = list(zip(results.ranking.doc_ids, results.ranking.scores.tolist(), strict=True))
        for (_, score), each in zip(ranking, results.explain(), strict=True):
            assert each.score == score
            assert sum((part.score for part in each.contributions), each.constant) == pytest.approx(
                score, abs=1e-6
            )
            boosts = [part.score for part in each.contributions if part.origin == "boost"]
            assert sum(boosts) == pytest.approx(boosted(self.documents[each.doc_id].attributes))
        return ranking

    @rule()
    def merge(self) -> None:
        self.writer.merge()
        self.builds += 1
        fresh = Path(self.root.name) / f"fresh{self.builds}"
        self.build(fresh)
        assert files(self.path) == files(fresh)
        ours, theirs = (Manifest.read(path) for path in (self.path, fresh))
        assert ours.encoder == theirs.encoder
        assert ours.quantiser == theirs.quantiser
        self.check_steered(termwise.open(fresh))
        generation = self.writer.index.manifest.generation
        assert self.writer.merge().generation == generation  # there is nothing more to do

    @invariant()
    def is_intact(self) -> None:
        if hasattr(self, "writer") and (index := Index.open(self.path)).manifest.generation != self.verified:
            assert verify(self.path) == []
            assert index.keeps_counts
            self.verified = index.manifest.generation

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
        self.root.cleanup()


TestDocuments = Documents.TestCase
TestDocuments.settings = settings(
    max_examples=15, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)


def ranking(searcher: Any) -> list[tuple[str, float]]:
    found = searcher.rank("w1 w2", k=70)
    return list(zip(found.doc_ids, found.scores.tolist(), strict=True))


def built(path: Path, texts: Sequence[str], **options: Any) -> Index:
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    return termwise.build_index(documents, path, analyzer="whitespace", **options).index


def after(index: Index, *texts: str, delete: Sequence[str] = ()) -> Index:
    """Return the index after a change, without the merges of a commit."""
    with termwise.open_writer(index.path) as writer:
        writer.add([Document(f"n{number}", text) for number, text in enumerate(texts)])
        writer.delete(delete)
        writer._flush()
        writer._updater._publish_changes()
        index = writer.index
        writer._updater.discard()
        writer._touched.clear()
    return index


@pytest.mark.parametrize(
    ("texts", "delete", "drifted"),
    [
        (["a b c d"] * 50, [], False),  # 150 documents of 4 tokens are 1.5 times 100
        (["a b c d"] * 51, [], True),
        (["a b c d"] * 10, [f"d{n}" for n in range(50)], False),  # half of the documents are left
        (["a b c d"] * 10, [f"d{n}" for n in range(51)], True),
        (["a b c d e f g h"] * 2, [], False),  # 416 tokens in 102 documents: 4.08, 2 % above 4
        (["a b c d e f g h"] * 3, [], True),  # 424 in 103: 4.12
        (["a"] * 2, [], False),  # 402 in 102: 3.94
        (["a"] * 3, [], True),  # 403 in 103: 3.91
        ([], ["unknown"], False),
        ([], [f"d{n}" for n in range(100)], False),  # there is nothing to weigh
    ],
)
def test_the_bounds_of_length_and_number(
    tmp_path: Path, texts: list[str], delete: list[str], drifted: bool
) -> None:
    index = built(tmp_path / "i", [*["a b c d"] * 99, "r s t u"])
    index = after(index, *texts, delete=delete)
    model = model_of(index)
    assert isinstance(model, CountModel)
    assert has_drifted(index, model) == drifted


def test_the_bounds_of_the_impacts_and_of_the_longest_document(tmp_path: Path) -> None:
    """The weight of a term with tf = dl, w0 and so on, is the largest one of jm."""
    model = QueryLikelihoodJM()
    same = ["a b c d"] * 40
    index = after(built(tmp_path / "high", same, model=model), "new new new new")
    assert has_drifted(index, model)
    index = built(tmp_path / "low", [*same, "rare rare rare rare"], model=model)
    assert not has_drifted(after(index, "a b c d"), model)
    with IndexUpdater(tmp_path / "low") as updater:
        updater.delete(["d40"])
        updater.merge()  # as raw segments
        assert has_drifted(updater.index, model)
    dirichlet = QueryLikelihoodDirichlet()
    index = built(tmp_path / "bias", [*same, "a b c d " * 10], model=dirichlet)
    assert not has_drifted(after(index, "a b c d"), dirichlet)
    index = after(index, "a b c d " * 10 + "a", delete=["d40"])
    assert has_drifted(index, dirichlet)


@pytest.mark.parametrize("model", ["bm25", "jm", "dirichlet"])
def test_an_unusual_first_document_has_no_effect(tmp_path: Path, model: str) -> None:
    """A search after each commit ranks as an index that is built anew, and after it was deleted, too."""
    giant = Document("giant", " ".join(WORDS[number % 12] for number in range(5000)))
    others = [Document(f"d{n}", f"w{n % 7} w{n % 5} w{n % 3} word{n}") for n in range(60)]
    searcher = termwise.build_index([giant], tmp_path / "i", model=model)
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add(others)
        writer.commit()
        fresh = termwise.build_index([giant, *others], tmp_path / "all", model=model)
        assert ranking(searcher.refresh()) == ranking(fresh)
        writer.delete(["giant"])
    fresh = termwise.build_index(others, tmp_path / "others", model=model)
    assert ranking(searcher.refresh()) == ranking(fresh)


def test_an_empty_index_is_filled(tmp_path: Path) -> None:
    schema = Schema({"price": "float"})
    searcher = termwise.build_index([], tmp_path / "i", attributes=schema, store_text=True)
    assert (searcher.documents, searcher.schema) == (0, schema)
    assert len(searcher.rank("tea")) == 0
    assert verify(tmp_path / "i") == []
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("a", "green tea", {"price": 2.5}), Document("b", "a red pot")])
    searcher = searcher.refresh()
    assert searcher.rank("tea", filter="price < 3").doc_ids == ("a",)
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.delete(["a", "b"])
        writer.merge()
    assert files(tmp_path / "i") == files(
        termwise.build_index([], tmp_path / "new", attributes=schema, store_text=True).index.path
    )
    with pytest.raises(EmptyCollectionError, match="check the path"):
        termwise.build_index(iter(()), tmp_path / "none")
    for model in (chosen_model("lookup", {"form": "terms"}), BM25(variant="atire")):
        with pytest.raises(EmptyCollectionError, match="without documents"):
            termwise.build_index([], tmp_path / "none", model=model)
    assert not (tmp_path / "none").exists()


def test_an_index_without_counts_stays_as_it_was(
    tmp_path: Path, no_counts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of an earlier version: its statistics are those of the build until its texts are weighed again."""
    index = built(tmp_path / "i", ["a b c d"] * 5, store_text=True, model="jm")
    monkeypatch.undo()
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document(f"n{number}", "a b " * 40) for number in range(40)])
        manifest = writer.merge()
    assert manifest.encoder == index.manifest.encoder
    assert not index.newest().keeps_counts
    termwise.indexing.renew_index(tmp_path / "i")
    assert Index.open(tmp_path / "i").keeps_counts


def test_the_parts_of_a_mixture_follow_their_documents(tmp_path: Path) -> None:
    for name in ("bm25", "jm"):
        built(tmp_path / name, ["a b c d"], model=name)
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.5, 0.5], tmp_path / "m")
    with termwise.open_writer(tmp_path / "m") as writer:
        writer.add([Document(f"n{number}", f"a e{number} f") for number in range(9)])
        writer.commit()
        assert writer.merge_error is None
        assert writer.index.manifest.encoder.statistics["documents"] == 10
        assert [writer.index.vocabulary.token(number) for number in range(6)] == [*"abcd", "e0", "f"]
        writer.merge()
    documents = [Document("d0", "a b c d"), *(Document(f"n{n}", f"a e{n} f") for n in range(9))]
    for name in ("bm25", "jm"):
        fresh = termwise.build_index(documents, tmp_path / "new" / name, model=name, analyzer="whitespace")
        assert files(tmp_path / "m" / name) == files(fresh.index.path)
    assert len(termwise.open(tmp_path / "m").rank("a e1")) == 10


def test_another_writer_may_have_weighed_the_index_again(tmp_path: Path) -> None:
    index = built(tmp_path / "i", ["a b c d"])
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("n", "a e f g h")])
    with IndexUpdater(index, weigh_again=lambda index, folder, everything: False) as updater:
        assert updater.index.documents == 2


def test_new_terms_join_an_index_whose_largest_weight_is_small(tmp_path: Path) -> None:
    """The idf of terms that all documents have is far below that of a new term, which no segment could hold."""
    index = built(tmp_path / "i", ["a b c d"] * 200)
    with termwise.open_writer(tmp_path / "i") as writer:
        writer.add([Document("n", "a e")])
    assert writer.merge_error is None
    searcher = termwise.open(tmp_path / "i")
    fresh = built(tmp_path / "new", [*["a b c d"] * 200, "a e"])
    assert searcher.rank("e").doc_ids == ("n",)
    assert index.newest().manifest.quantiser == fresh.manifest.quantiser


@pytest.mark.parametrize("name", ["i", "m"])
def test_changes_are_published_if_the_weights_cannot_be_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for model in ("bm25", "jm"):
        built(tmp_path / model, ["a b c d"], model=model)
    mix_indexes([tmp_path / "bm25", tmp_path / "jm"], [0.5, 0.5], tmp_path / "m")
    path = tmp_path / "bm25" if name == "i" else tmp_path / "m"
    full, weigh = StorageError("no space left"), Reweighing.__call__

    def failing(again: Reweighing, index: Index, folder: Path, everything: bool) -> bool:
        if weigh(again, index, folder, everything) and again.model.name == ("bm25" if name == "i" else "jm"):
            raise full
        return True

    with termwise.open_writer(path) as writer:
        monkeypatch.setattr(Reweighing, "__call__", failing)
        writer.add([Document("n", "e f g")])
        writer.commit()
        assert writer.merge_error is full
        assert len(termwise.open(path).rank("e a")) == 2
        monkeypatch.setattr(Reweighing, "__call__", weigh)
        writer.add([Document("o", "a f g")])
        writer.commit()
        assert writer.merge_error is None
        writer.merge()
    assert len(termwise.open(path).rank("e a")) == 3
    fresh = termwise.build_index(
        [Document("d0", "a b c d"), Document("n", "e f g"), Document("o", "a f g")],
        tmp_path / "fresh",
        analyzer="whitespace",
    )
    assert files(path if name == "i" else path / "bm25") == files(fresh.index.path)
