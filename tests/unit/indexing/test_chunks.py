"""Documents that are cut into chunks: search, changes, explanations, against whole chunks as documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document
from termwise.cli.main import run
from termwise.errors import ParameterError, UnknownIdError
from termwise.fusion import fuse_indexes, mix_indexes
from termwise.index import verify
from termwise.indexing import renew_index
from termwise.indexing.chunks import chunks_of
from termwise.records import Query, join_fields
from termwise.scorers.candidate_ranker import TextReranker
from termwise.scorers.model_scorers import index_scorer, model_scorer, stored_texts
from termwise.search import Search
from termwise.text import make_analyzer
from termwise.text.chunks import chunk_spans

WORDS = ["tea", "pot", "green", "milk", "iron", "leaf"]
QUERIES = ["tea", "green pot", "milk iron leaf tea", "unknown"]


def documents(count: int = 40, seed: int = 0) -> list[Document]:
    """Return documents of 0 to 9 sentences; some identifiers look like those of chunks."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        sentences = [
            " ".join(random.choice(WORDS, size=int(random.integers(1, 6)))) + "."
            for _ in range(int(random.integers(0, 10)))
        ]
        doc_id = f"d{number}" if number % 5 else f"d{number}#1"
        made.append(Document(doc_id, " ".join(sentences), {"kind": "ab"[number % 2], "number": number}))
    return made


def best_chunks(made: list[Document], query: str, tmp_path: Path, **options: Any) -> list[tuple[str, float]]:
    """Rank the chunks as documents, and keep the best chunk of each document."""
    chunks = [chunk for document in made for chunk in chunks_of(document, 5)]
    ranking = termwise.build_index(chunks, tmp_path, overwrite=True, **options).rank(query, k=10_000)
    best: dict[str, float] = {}
    for hit in ranking:
        best.setdefault(hit.doc_id.rpartition("#")[0], hit.score)
    return list(best.items())


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "lookup"])
def test_a_document_has_the_score_of_its_best_chunk(tmp_path: Path, model: str) -> None:
    made = documents()
    searcher = termwise.build_index(made, tmp_path / "cut", model=model, chunk=5)
    for query in QUERIES:
        expected = best_chunks(made, query, tmp_path / "whole", model=model)
        for k in (1, 7, 100):
            ranking = searcher.rank(query, k=k)
            assert [(hit.doc_id, hit.score) for hit in ranking] == expected[:k]
        kept = [
            pair
            for pair in expected
            if made[[d.doc_id for d in made].index(pair[0])].attributes["kind"] == "a"
        ]
        ranking = searcher.rank(query, k=100, filter='kind = "a"', exclude=[doc_id for doc_id, _ in kept[:2]])
        assert [(hit.doc_id, hit.score) for hit in ranking] == kept[2:]
        names = [doc_id for doc_id, _ in expected][::-1]
        ranked = searcher.rank(query, candidates=names, k=100)
        assert dict(zip(ranked.doc_ids, ranked.scores.tolist(), strict=True)) == dict(expected)
        by_number = searcher.rank(query, sort="-number", k=3).doc_ids
        numbers = {document.doc_id: document.attributes["number"] for document in made}
        assert list(by_number) == sorted(names, key=lambda name: -numbers[name])[:3]  # type: ignore[operator]
        counted = searcher.search(Search(query, facets=["kind"])).facets()["kind"]
        assert sum(each.documents for each in counted) == len(expected)
    assert sum(each.documents for each in searcher.search(Search(facets=["kind"])).facets()["kind"]) == len(
        made
    )
    assert searcher.search(Search(facets=["kind"], filter="number < 7")).facets()["kind"] == [
        ("a", 4),
        ("b", 3),
    ]
    with pytest.raises(UnknownIdError):
        searcher.rank("tea", candidates=["d1#1"])


def test_changes_by_the_identifiers_of_documents(tmp_path: Path) -> None:
    made = documents()
    termwise.build_index(made[:10], tmp_path / "cut", model="jm", chunk=5, store_text=True)
    current = {document.doc_id: document for document in made[:10]}
    changed = documents(seed=1)
    with termwise.open_writer(tmp_path / "cut") as writer:
        added = writer.add(made[8:20])
        assert (added.new, added.unchanged) == (10, 2)
        current |= {document.doc_id: document for document in made[10:20]}
        for document in changed[5:15]:
            writer.add([document])
            current.pop(document.doc_id, None)
            current[document.doc_id] = document
        assert writer.delete(["d1", "d12", "nowhere"]) == 2
        assert not writer.has("d1")
        del current["d1"], current["d12"]
        writer.commit()
        assert writer.delete(filter="number = 3") == 1
        del current["d3"]
        writer.add(made[30:33])
        current |= {document.doc_id: document for document in made[30:33]}
    assert verify(tmp_path / "cut") == []
    searcher = termwise.open(tmp_path / "cut")
    index = searcher.index
    assert index.documents == len(current)
    assert set(index.doc_ids(index.chunks.starts)) == set(current)
    assert index.document_texts(index.find_many(list(current))) == [each.text for each in current.values()]
    with termwise.open_writer(tmp_path / "cut") as writer:
        assert writer.add(current.values()).unchanged == len(current)
        writer.merge()
    merged = searcher.refresh()
    for query in QUERIES:
        assert merged.rank(query, k=100) == searcher.rank(query, k=100)
    order = index.doc_ids(index.chunks.starts)
    built = termwise.build_index([current[name] for name in order], tmp_path / "new", model="jm", chunk=5)
    renewed = renew_index(tmp_path / "cut")
    for query in QUERIES:
        assert renewed.rank(query, k=100) == built.rank(query, k=100)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of chunks, and a mixture of two."""
    folder = tmp_path_factory.mktemp("chunks")
    made = documents()
    termwise.build_index(made, folder / "bm25", chunk=5, store_text=True)
    termwise.build_index(made, folder / "jm", model="jm", chunk=5)
    mix_indexes([folder / "bm25", folder / "jm"], [0.4, 0.6], folder / "mixture", names=["bm25", "jm"])
    return folder


@pytest.mark.parametrize("name", ["bm25", "mixture"])
def test_explanations_mark_the_best_chunk_in_the_whole_text(place: Path, name: str) -> None:
    searcher = termwise.open(place / name)
    texts = {document.doc_id: document.text for document in documents()}
    query = "green tea leaf"
    ranking = searcher.rank(query, k=20)
    for rank, (hit, explained) in enumerate(
        zip(ranking, searcher.search(Search(query)).explain(ranking.doc_ids, competitors=1), strict=True), 1
    ):
        assert explained.score == pytest.approx(hit.score)
        total = explained.constant + sum(each.score for each in explained.contributions)
        assert total == pytest.approx(hit.score)
        assert (explained.rank, explained.text) == (rank, texts[hit.doc_id])
        for window in explained.windows:
            chunk = chunks_of(Document("d", texts[hit.doc_id]), 5)[window.number - 1].text
            assert texts[hit.doc_id][window.start : window.end] == chunk
            for each in explained.contributions:
                if each.part == window.part:
                    words = [texts[hit.doc_id][first:last] for first, last in each.spans]
                    assert all(each.term in ("leaf", word) for word in words)
                    assert len(words) == chunk.count(words[0] if words else "none")
    assert searcher.hits(ranking)[0].text == texts[ranking.doc_ids[0]]
    if name == "mixture":
        (centred,) = searcher.search(Search(query)).explain(ranking.doc_ids[:1], centred=True)
        assert sum(each.score for each in centred.contributions) == pytest.approx(ranking.scores[0])


def test_changes_of_a_mixture(place: Path, tmp_path: Path) -> None:
    made = documents()
    shutil.copytree(place / "mixture", tmp_path / "mixture")
    with termwise.open_writer(tmp_path / "mixture") as writer:
        added = writer.add([Document("d7", made[8].text, made[7].attributes), Document("new", made[9].text)])
        assert (added.new, added.replaced) == (1, 1)
        assert writer.delete(["d2"], filter="number = 3") == 2
    mixture = termwise.open(tmp_path / "mixture")
    names = [document.doc_id for document in made if document.doc_id not in ("d2", "d3", "d7")]
    for part in mixture.parts:
        index = part.index
        assert index.doc_ids(index.chunks.starts) == [*names, "d7", "new"]
    assert mixture.search(Search(like="d7")).text == made[8].text
    assert mixture.documents == len(names) + 2


def test_query_by_example_takes_the_whole_text(place: Path) -> None:
    searcher = termwise.open(place / "bm25")
    text = documents()[7].text
    assert searcher.search(Search(like="d7")).text == text
    assert (
        searcher.search(Search(like="d7", k=50)).ranking.doc_ids
        == searcher.rank(text, k=50, exclude="d7").doc_ids
    )
    found = searcher.search(Search(like_text=text, k=3))
    assert found.same_text == ("d7",)
    assert found.ranking.doc_ids == searcher.search(Search(like="d7", k=3)).ranking.doc_ids


WEIGHTS = {"title": 3, "text": 1}


def titled(made: list[Document]) -> list[Document]:
    """Return documents with a title of three words; every fourth has none."""
    titles = [f"Title {WORDS[number % 6]} iron" if number % 4 else "" for number in range(len(made))]
    return [
        Document.of_fields(document.doc_id, {"title": title, "text": document.text}, document.attributes)
        for title, document in zip(titles, made, strict=True)
    ]


def with_repeated_titles(made: list[Document], weight: int) -> list[Document]:
    """Return the chunks of the texts, each after its title, as often as the weight of the title."""
    chunks = []
    for document in made:
        assert document.fields is not None
        title = [document.fields["title"]] * weight
        text = document.fields["text"]
        for number, (start, end) in enumerate(chunk_spans(text, 5), 1):
            chunks.append(Document(f"{document.doc_id}#{number}", join_fields([*title, text[start:end]])))
    return chunks


@pytest.mark.parametrize(("model", "weight"), [("bm25", 3), ("dirichlet", 2), ("lookup", 1)])
def test_a_title_is_part_of_each_chunk(tmp_path: Path, model: str, weight: int) -> None:
    made = titled(documents())
    fields = {"title": weight, "text": 1}
    searcher = termwise.build_index(made, tmp_path / "cut", model=model, chunk=5, fields=fields)
    chunks = termwise.build_index(with_repeated_titles(made, weight), tmp_path / "chunks", model=model)
    assert len(searcher.index) == len(chunks.index) > len(made)
    for query in [*QUERIES, "title"]:
        best: dict[str, float] = {}
        for hit in chunks.rank(query, k=10_000):
            best.setdefault(hit.doc_id.rpartition("#")[0], hit.score)
        ranking = searcher.rank(query, k=100)
        assert [(hit.doc_id, hit.score) for hit in ranking] == list(best.items())


def test_changes_of_chunks_with_weights_of_fields(tmp_path: Path) -> None:
    made, changed = titled(documents()), titled(documents(seed=1))
    options: dict[str, Any] = {"chunk": 5, "fields": WEIGHTS, "store_text": True}
    termwise.build_index(made[:20], tmp_path / "cut", **options)
    with termwise.open_writer(tmp_path / "cut") as writer:
        assert writer.add([*made[15:25], *changed[10:12]]).unchanged == 5
        with pytest.raises(ParameterError, match="have weights, and a document has no fields"):
            writer.add([documents()[0]])
        assert writer.has("d0#1")
        writer.delete(["d3"])
    index = termwise.open(tmp_path / "cut").index
    current = [*made[:3], *made[4:10], *made[12:25], *changed[10:12]]
    assert index.document_texts(index.find_many([each.doc_id for each in current])) == [
        each.text for each in current
    ]
    renewed, built = renew_index(tmp_path / "cut"), termwise.build_index(current, tmp_path / "new", **options)
    for query in QUERIES:
        assert renewed.rank(query, k=100) == built.rank(query, k=100)
    assert verify(tmp_path / "cut") == []


def test_explanations_by_field_and_chunk(tmp_path: Path) -> None:
    text = "Fill the tank. Clean the filter once. Remove scale with vinegar."
    made = [
        Document.of_fields("boiler", {"title": "Boiler and filter", "text": text}),
        Document.of_fields("bare", {"title": "", "text": text}),
        Document.of_fields("title", {"title": "A boiler", "text": ""}),
    ]
    searcher = termwise.build_index(made, tmp_path / "i", chunk=4, fields=WEIGHTS, store_text=True)
    explanation, bare, title = searcher.search(Search("boiler filter")).explain(["boiler", "bare", "title"])
    assert explanation.text == f"Boiler and filter\n{text}"
    window = explanation.windows[0]
    assert (window.number, window.count) == (2, 3)
    assert explanation.text[window.start : window.end] == "Clean the filter once. "
    marked = {
        part.term: [explanation.text[start:end] for start, end in part.spans]
        for part in explanation.contributions
    }
    assert marked == {"boiler": ["Boiler"], "filter": ["filter", "filter"]}
    shares = {part.term: [each.occurrences for each in part.fields] for part in explanation.contributions}
    assert shares == {"boiler": [1, 0], "filter": [1, 1]}
    assert sum(part.score for part in explanation.contributions) == explanation.score
    window = bare.windows[0]
    assert bare.text == text
    assert text[window.start : window.end] == "Clean the filter once. "
    assert (title.text, title.windows[0].start, title.windows[0].end) == ("A boiler", 8, 8)


def test_a_mixture_of_chunks_with_weights_of_fields(tmp_path: Path) -> None:
    made = titled(documents(10))
    options: dict[str, Any] = {"chunk": 5, "fields": WEIGHTS}
    mixture = termwise.build_index(made, tmp_path / "m", model="best", store_text=True, **options)
    explanation = mixture.explain("green tea title", "d9")
    assert explanation.text == made[9].text
    bm25, lookup = explanation.windows
    assert (bm25.part, lookup.part, bm25.count) == ("bm25", "lookup", lookup.count)
    starts = [len("Title milk iron ") + start for start, _ in chunk_spans(documents()[9].text, 5)]
    assert (len(starts), starts[lookup.number - 1]) == (lookup.count, lookup.start)
    with termwise.open_writer(tmp_path / "m") as writer:
        assert writer.add([*made, *titled(documents(12))[10:]]).unchanged == 10
    grown = mixture.refresh()
    new = termwise.build_index(titled(documents(12)), tmp_path / "n", model="best", **options)
    lookups = (termwise.Searcher.of_index(each.parts[1].index).rank("tea pot", k=20) for each in (grown, new))
    assert next(lookups) == next(lookups)
    termwise.build_index(made, tmp_path / "other", chunk=5)
    with pytest.raises(ParameterError, match="fields of chunks"):
        mix_indexes([tmp_path / "m" / "bm25", tmp_path / "other"], [0.5, 0.5], tmp_path / "mixed")


def test_chunks_of_something_else(tmp_path: Path) -> None:
    for wrong in (["text"], [Document("a", 5)], [Document("a", "b", fields={"text": "c"})]):
        with pytest.raises(ParameterError, match="document"):
            termwise.build_index(wrong, tmp_path / "i", chunk=5)  # type: ignore[arg-type]


def test_uses_that_need_whole_documents_are_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="needs whole documents"):
        fuse_indexes([place / "bm25", place / "jm"], [0.5, 0.5], tmp_path / "fused")
    termwise.build_index(documents(), tmp_path / "whole")
    with pytest.raises(ParameterError, match="words of a chunk"):
        mix_indexes([place / "bm25", tmp_path / "whole"], [0.5, 0.5], tmp_path / "mixture")
    with pytest.raises(ParameterError, match="a scorer of other texts needs whole documents"):
        index_scorer(termwise.open(place / "bm25").index)
    with pytest.raises(ParameterError, match="chunk"):
        termwise.build_index(documents(), tmp_path / "none", chunk=0)


def test_scorers_of_texts_read_and_count_whole_documents(place: Path) -> None:
    index = termwise.open(place / "bm25").index
    whole = [document for document in documents() if document.text]
    background = stored_texts(index)
    counts = background.tokens(make_analyzer("english")).counts
    assert counts.n_documents == len(documents())
    scorer = model_scorer("bm25", background)
    query, doc_ids = Query("q", "green tea"), [document.doc_id for document in whole]
    ranking = TextReranker(index, scorer).rank(query, candidates=doc_ids, k=100)
    scores = scorer.score("green tea", [document.text for document in whole])
    assert dict(zip(ranking.doc_ids, ranking.scores, strict=True)) == dict(zip(doc_ids, scores, strict=True))


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"_id": "a", "text": "Green tea. It is hot. Milk is cold."}, {"_id": "b", "text": "Tea pot."}]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        run(["index", "docs.jsonl", "--model", "bm25", "--chunk", "3", "--store-text", "--out", "docs.tw"])
        == 0
    )
    assert "docs.tw: 2 documents in 4 chunks, " in capsys.readouterr().out
    assert run(["search", "docs.tw", "milk tea", "--json"]) == 0
    *found, _ = map(json.loads, capsys.readouterr().out.splitlines())
    hits = [each["doc_id"] for each in found]
    assert sorted(hits) == ["a", "b"]
    assert run(["delete", "docs.tw", "a"]) == 0
    assert "1 deleted; 1 document in 1 chunk now" in capsys.readouterr().out
    for command in (["delete", "docs.tw", "a"], ["add", "docs.tw", "docs.jsonl"], ["delete", "docs.tw", "a"]):
        assert run([*command, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["documents"], report["chunks"]) == ((2, 4) if command[0] == "add" else (1, 1))
    assert run(["inspect", "docs.tw", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["documents"], facts["chunks"]) == (1, 1)
    assert run(["index", "docs.jsonl", "--model", "vectors", "--chunk", "3", "--out", "v.tw"]) == 2
