"""Required and excluded words and phrases against plain Python: analyse every text, rank all documents, remove."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termwise
from termwise import Document
from termwise.cli.main import run
from termwise.engine import text_conditions
from termwise.errors import CorruptIndexError, ParameterError
from termwise.fusion import fuse_indexes
from termwise.indexing import renew_index
from termwise.models import BM25
from termwise.search import Search, Searcher

WORDS = ["river", "rivers", "bank", "money", "cat", "catnip", "boat", "gold", "the", "of"]
STOP = {"the", "of"}
COUNT = 90
MODELS = ("bm25", "float", "pieces", "chunks", "model1", "lookup")


def documents() -> list[Document]:
    random = np.random.default_rng(7)
    return [
        Document(f"d{number}", " ".join(random.choice(WORDS, size=int(random.integers(1, 9)))), {"n": number})
        for number in range(COUNT)
    ]


@pytest.fixture(scope="module")
def searchers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return searchers of the same documents, with several segments and deleted documents."""
    folder, made = tmp_path_factory.mktemp("conditions"), documents()
    settings: dict[str, dict[str, Any]] = {
        "float": {"model": "bm25", "options": termwise.BuildOptions(quantiser="float32")},
        "pieces": {"model": "bm25", "analyzer": "wordpiece"},
        "chunks": {"model": "bm25", "chunk": 3},
    }
    opened: dict[str, Any] = {}
    for name in MODELS:
        path = folder / name
        arguments = {"model": name, **settings.get(name, {})}
        termwise.build_index(made[:40], path, store_text=True, **arguments)
        with termwise.open_writer(path) as writer:
            for first in (40, 70):
                writer.add(made[first : first + 30])
                writer.commit()
            writer.delete(f"d{number}" for number in range(0, COUNT, 6))
        opened[name] = termwise.open(path)
    opened["mixture"] = Searcher.mix(
        {"lookup": opened["lookup"], "bm25": opened["bm25"]}, [0.7, 0.3], depth=7
    )
    opened["expansions"] = Searcher.mix({"model1": opened["model1"], "lookup": opened["lookup"]}, [0.6, 0.4])
    return opened


def contains(tokens: Any, text: str, phrase: str) -> bool:
    """Whether the words of a phrase that the analyzer keeps are adjacent among those of a text."""
    kept = [tuple(tokens(word)) for word in text.split()]
    kept = [word for word in kept if word]
    wanted = [tuple(tokens(word)) for word in phrase.split()]
    wanted = [word for word in wanted if word]
    return any(kept[place : place + len(wanted)] == wanted for place in range(len(kept)))


def fulfilling(searcher: Any, conditions: dict[str, Sequence[str]]) -> set[str]:
    reader = searcher.backend.text_reader
    texts = {document.doc_id: document.text for document in documents()}
    tokens = reader._analyzer.tokens
    required = conditions["must"]
    return {
        doc_id
        for doc_id, text in texts.items()
        if all(contains(tokens, text, each) for each in required)
        and not any(contains(tokens, text, each) for each in conditions["must_not"])
    }


words = st.sampled_from(WORDS)
kept_words = st.sampled_from([word for word in WORDS if word not in STOP])
phrases = st.builds(
    lambda before, word, after: " ".join([*before, word, *after]),
    st.lists(words, max_size=1),
    kept_words,
    st.lists(words, max_size=2),
)
conditions_of = st.fixed_dictionaries(
    {
        "must": st.lists(st.one_of(kept_words, phrases), max_size=3),
        "must_not": st.lists(st.one_of(kept_words, phrases), max_size=1),
    }
)


@pytest.mark.parametrize("name", MODELS)
@given(
    query=st.lists(words, min_size=1, max_size=4).map(" ".join),
    conditions=conditions_of,
    k=st.sampled_from([1, 3, 200]),
    low=st.sampled_from([None, 30]),
    fresh=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_conditions_leave_the_other_results_with_their_scores(
    searchers: dict[str, Any], name: str, query: str, conditions: Any, k: int, low: int | None, fresh: bool
) -> None:
    searcher = searchers[name]
    if fresh:  # no verdict is known
        searcher = Searcher.of_index(searcher.index)
    every = searcher.rank(query, k=COUNT, filter=None if low is None else f"n >= {low}")
    allowed = fulfilling(searcher, conditions)
    kept = [(hit.doc_id, hit.score) for hit in every if hit.doc_id in allowed]
    arguments = {**conditions, "filter": None if low is None else f"n >= {low}"}
    found = searcher.rank(query, k=k, **arguments)
    assert [(hit.doc_id, hit.score) for hit in found] == kept[:k]
    candidates = [hit.doc_id for hit in every][::-2]
    ranked = searcher.rank(query, candidates=candidates, k=COUNT, **arguments)
    assert set(ranked.doc_ids) == allowed & set(candidates)
    for explanation in searcher.search(Search(query, **arguments)).explain(found.doc_ids[:2], competitors=0):
        assert explanation.results == len(kept)
        assert explanation.rank == found.doc_ids.index(explanation.doc_id) + 1
        total = explanation.constant + sum(part.score for part in explanation.contributions)
        # weights that are floats are added in another order there
        assert explanation.score == (pytest.approx(total, rel=1e-14) if name == "float" else total)
        assert all(each.in_text is not each.excluded for each in explanation.conditions)


@pytest.mark.parametrize("name", ["mixture", "expansions"])
@given(
    query=st.lists(words, min_size=1, max_size=4).map(" ".join),
    conditions=conditions_of,
    k=st.sampled_from([2, 200]),
)
@settings(deadline=None, max_examples=25)
def test_a_mixture_ranks_as_with_a_filter_of_the_same_documents(
    searchers: dict[str, Any], name: str, query: str, conditions: Any, k: int
) -> None:
    searcher = searchers[name]
    allowed = fulfilling(searcher, conditions)
    same = {"field": "n", "in": [int(doc_id[1:]) for doc_id in allowed] or [-1]}
    found, expected = searcher.rank(query, k=k, **conditions), searcher.rank(query, k=k, filter=same)
    assert found.doc_ids == expected.doc_ids
    assert found.scores.tolist() == expected.scores.tolist()
    explained = searcher.search(Search(query, **conditions)).explain(found.doc_ids[:2], competitors=0)
    assert [each.rank for each in explained] == list(range(1, len(explained) + 1))
    many = searcher.rank_many([termwise.Query("q", query)], k=k, search=Search(**conditions))
    assert many["q"].doc_ids == found.doc_ids


def test_texts_are_read_only_until_enough_documents_are_found(
    searchers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    original = text_conditions.TextReader.read

    def counted(self: Any, ordinals: Any, pairs: Any) -> None:
        unknown = [v[ordinals] == text_conditions.UNKNOWN for _, v in pairs]
        read.append(int(np.logical_or.reduce(unknown).sum()))
        original(self, ordinals, pairs)

    monkeypatch.setattr(text_conditions.TextReader, "read", counted)
    searcher = Searcher.of_index(searchers["lookup"].index)
    every = searcher.rank("river bank", k=COUNT)
    allowed = fulfilling(searcher, {"must": ["river"], "must_not": []})
    third = [place for place, doc_id in enumerate(every.doc_ids, 1) if doc_id in allowed][2]
    searcher.rank("river bank", k=3, must="river")
    assert third <= sum(read) <= third + third // 4
    read.clear()
    searcher.rank("river bank", k=3, must="river")
    assert sum(read) == 0
    Searcher.of_index(searchers["bm25"].index).rank("river bank", k=3, must="river", must_not="cat")
    assert sum(read) == 0


TEA = [
    {"id": "pot", "title": "Green tea", "text": "Pot of clay\nand iron. Black cups. White plates."},
    {"id": "plain", "title": "", "text": "Green\ntea pot. Two cups."},
]
WITH_FIELDS: dict[str, dict[str, Any]] = {
    "default": {},
    "chosen": {"fields": ("title", "text")},
    "weighted": {"fields": {"title": 2, "text": 1}},
    "chunks": {"chunk": 5},
    "weighted chunks": {"chunk": 5, "fields": {"title": 2, "text": 1}},
    "pieces": {"analyzer": "wordpiece"},
    "lookup": {"model": "lookup"},
    "mixture": {"model": "best", "fields": {"title": 2, "text": 1}},
}


PRODUCTS = {
    "slash": "Filter AB-1200/X for pumps",
    "blanks": "Filter AB 1200 X for pumps",
    "joined": "Filter ab1200x for pumps",
    "other": "Filter AB-1200/Y: 1200 X",
    "shirt": "A T-shirt, 5GHz",
    "tshirt": "A tshirt of 5 GHz",
    "apart": "shirt for t, ghz 5",
}
CODES = {"slash", "blanks", "joined"}


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Searcher]:
    folder = tmp_path_factory.mktemp("products")
    made = [Document(doc_id, text) for doc_id, text in PRODUCTS.items()]
    return {
        name: termwise.build_index(made, folder / name, analyzer=name, store_text=True)
        for name in ("english-parts", "code")
    }


@pytest.mark.parametrize(
    ("analyzer", "phrase", "expected"),
    [
        ("english-parts", "filter AB-1200/X", CODES),
        ("english-parts", "filter ab1200x for pumps", CODES),
        ("english-parts", "AB 1200 X", CODES),
        ("english-parts", "ab 1200", CODES | {"other"}),
        ("english-parts", "ab 1200x", CODES),
        ("english-parts", "1200 x", CODES | {"other"}),
        ("english-parts", "t-shirt", {"shirt", "tshirt"}),
        ("english-parts", "T SHIRT", {"shirt", "tshirt"}),
        ("english-parts", "tshirt", {"shirt", "tshirt"}),
        ("english-parts", "t-shirt 5ghz", {"shirt", "tshirt"}),
        ("english-parts", "shirt t", {"apart"}),
        ("english-parts", "wi-fi", set()),
        ("code", "filter ab1200x", CODES),
        ("code", "filter ab 1200 x", CODES),
        ("code", "ab1200x for pumps", CODES),
        ("code", "1200 x for", CODES),
        ("code", "5ghz", {"shirt", "tshirt"}),
    ],
)
def test_phrases_with_compounds(
    products: dict[str, Searcher], analyzer: str, phrase: str, expected: set[str]
) -> None:
    searcher, query = products[analyzer], "filter ab 1200 x t shirt 5 ghz"
    assert set(searcher.rank(query, k=9, must=phrase).doc_ids) == expected
    assert set(searcher.rank(query, k=9, must_not=phrase).doc_ids) == PRODUCTS.keys() - expected


@given(
    st.lists(st.sampled_from(["AB-12", "ab12", "ab", "12", "12-AB", "the", "x"]), min_size=1, max_size=6),
    st.data(),
)
@settings(max_examples=100)
def test_a_text_contains_its_own_words(words: list[str], data: st.DataObject) -> None:
    analyzer = termwise.text.make_analyzer("english-parts")
    first = data.draw(st.integers(0, len(words) - 1))
    phrase = ", ".join(words[first : data.draw(st.integers(first + 1, len(words)))])
    tokens = analyzer.analyze(phrase)
    if len(tokens.tokens):
        steps = text_conditions._steps(tokens)
        places = text_conditions._places_of(analyzer.analyze(", ".join(words)))
        assert text_conditions._has_path(places, text_conditions.Phrase("", (), steps=steps))


@pytest.mark.parametrize("name", WITH_FIELDS)
def test_phrases_end_at_the_borders_of_fields(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tea.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in TEA))
    settings = WITH_FIELDS[name]
    termwise.build_index(path, tmp_path / "i", store_text=True, **settings)

    def found(**conditions: str) -> set[str]:
        return set(termwise.open(tmp_path / "i").rank("tea", k=9, **conditions).doc_ids)

    def check() -> None:
        assert found(must="tea pot") == {"plain"}
        assert found(must_not="tea pot") == {"pot"}
        assert found(must="clay and iron") == {"pot"}  # the line end is in one field
        assert found(must="green tea") == {"pot", "plain"}

    check()
    with termwise.open_writer(tmp_path / "i") as writer:
        again = list(termwise.open_collection(path, fields=settings.get("fields")).documents())
        assert writer.add(again).unchanged == 2
        document = writer.document("pot")
        assert document is not None
        assert document == again[0]
        writer.delete(["pot"])
        writer.commit()
        writer.add([document])
        writer.commit()
        writer.merge()
    check()
    if settings.get("model") != "lookup":
        renew_index(tmp_path / "i")
        check()


def test_borders_of_fields_in_a_fused_index(tmp_path: Path) -> None:
    made = [Document.of_texts(record["id"], [record["title"], record["text"]]) for record in TEA]
    for name, model in {"a": "bm25", "b": "jm"}.items():
        termwise.build_index(made, tmp_path / name, model=model, store_text=True)
    fused = fuse_indexes([tmp_path / "a", tmp_path / "b"], [0.5, 0.5], tmp_path / "fused")
    assert fused.rank("tea", must_not="tea pot").doc_ids == ("pot",)
    assert [fused.index.text(place) for place in (0, 1)] == [document.text for document in made]


def test_older_indexes_of_joined_fields(tmp_path: Path) -> None:
    """Their texts have no borders, and are those of documents without fields."""
    made = [Document.of_texts(record["id"], [record["title"], record["text"]]) for record in TEA]
    older = [document._replace(borders=()) for document in made]
    searcher = termwise.build_index(older, tmp_path / "i", store_text=True)
    assert set(searcher.rank("tea", must="tea pot").doc_ids) == {"pot", "plain"}
    assert searcher.explain("tea", "pot").text == made[0].text
    with termwise.open_writer(tmp_path / "i") as writer:
        assert writer.add(made).unchanged == 2


def test_threads_that_share_verdicts_find_the_same_results(searchers: dict[str, Any]) -> None:
    queries = [termwise.Query(f"q{number}", WORDS[number % 8]) for number in range(40)]
    runs = [
        Searcher.of_index(searchers["lookup"].index).rank_many(
            queries, k=5, threads=threads, search=Search(must="river", must_not="cat boat")
        )
        for threads in (1, 8)
    ]
    for query in queries:
        one, other = (run[query.query_id] for run in runs)
        assert one.doc_ids == other.doc_ids
        assert one.scores.tolist() == other.scores.tolist()


def test_verdicts_are_kept_up_to_a_limit(searchers: dict[str, Any]) -> None:
    searcher = Searcher.of_index(searchers["bm25"].index)
    for number in range(2 * text_conditions.KEPT):
        searcher.rank("river", must_not=f"word{number}")
    assert len(searcher.backend.text_reader._kept) == text_conditions.KEPT


@pytest.mark.parametrize("name", ["bm25", "mixture"])
def test_removed_words_alone_are_refused(searchers: dict[str, Any], name: str) -> None:
    for argument in ("must", "must_not"):
        with pytest.raises(ParameterError, match="stop words"):
            searchers[name].rank("river", **{argument: "of the"})
        with pytest.raises(ParameterError, match="sequence of strings"):
            searchers[name].rank("river", **{argument: 3})


def test_words_without_pieces_are_refused(searchers: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="does not know"):
        searchers["pieces"].rank("river", must="\U0001f6f6")


def test_texts_are_needed_where_postings_decide_nothing(tmp_path: Path) -> None:
    made = [Document("a", "the river bank"), Document("b", "bank of gold")]
    bm25 = termwise.build_index(made, tmp_path / "bm25")
    assert bm25.rank("bank", must="river").doc_ids == ("a",)
    with pytest.raises(ParameterError, match="keeps no texts") as error:
        bm25.rank("bank", must="river bank")
    assert "store_text=True" in str(error.value)
    jm = termwise.build_index(made, tmp_path / "jm", model="jm", store_text=True)
    mixture = Searcher.mix({"bm25": bm25, "jm": jm}, [0.5, 0.5])
    assert mixture.rank("bank", must="river bank").doc_ids == ("a",)


def test_dropped_postings_are_no_evidence(tmp_path: Path) -> None:
    # "bank" is in all documents, so its idf and its weight are 0, and it has no postings
    made = [Document("a", "river bank"), Document("b", "bank gold")]
    atire = termwise.build_index(made, tmp_path / "atire", model=BM25(variant="atire"), store_text=True)
    assert atire.index.manifest.quantiser.dropped == 2
    assert atire.rank("river gold", must="bank").doc_ids == ("a", "b")
    lucene = termwise.build_index(made, tmp_path / "lucene")
    fused = fuse_indexes([atire.index, lucene.index], [1.0, 0.0], tmp_path / "fused")
    assert fused.rank("river gold", must="bank").doc_ids == ("a", "b")


def test_damaged_postings_are_an_error(searchers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    index = Searcher.of_index(searchers["bm25"].index).index
    segment = index.segments[0]
    assert segment.inverted is not None
    monkeypatch.setattr(segment.inverted, "order", segment.inverted.order + np.uint32(1000))
    with pytest.raises(CorruptIndexError):
        Searcher.of_index(index).rank("river", must="river")


def test_explanations_name_the_conditions(searchers: dict[str, Any]) -> None:
    made = documents()[1]
    first = next(word for word in made.text.split() if word not in STOP)
    shown = searchers["mixture"].explain(first, "d1", must=[first, "absent", made.text], must_not="zebra")
    assert [(each.words, each.excluded, each.in_text) for each in shown.conditions] == [
        (first, False, True),
        ("absent", False, False),
        (made.text, False, True),
        ("zebra", True, False),
    ]
    text = shown.to_text(width=200)
    assert f'in the text, as required: {first}, "{made.text}"' in text
    assert "required, but not in the text: absent" in text
    assert "not in the text, as required: zebra" in text
    assert "as required" in shown.to_html()
    assert shown.to_dict()["conditions"][0] == {"words": first, "excluded": False, "in_text": True}


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        '{"_id": "a", "text": "the river bank", "lang": "en"}',
        '{"_id": "b", "text": "bank of the river", "lang": "en"}',
        '{"_id": "c", "text": "river boat", "lang": "de"}',
    ]
    Path("docs.jsonl").write_text("\n".join(rows) + "\n")
    Path("queries.tsv").write_text("q1\triver\n")
    assert (
        run(
            [
                "index",
                "docs.jsonl",
                "--model",
                "bm25",
                "--out",
                "i.tw",
                "--store-text",
                "--attributes",
                "lang",
            ]
        )
        == 0
    )

    def found(*arguments: str) -> list[str]:
        capsys.readouterr()
        assert run(["search", "i.tw", *arguments]) == 0
        return [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line[:1].isdigit()]

    assert found("river", "--must", "bank") == ["a", "b"]
    assert found("river", "--must-not", "bank") == ["c"]
    assert found("river", "--must", "river bank") == ["a"]
    assert found("river", "--must", "bank of the river", "--must", "river") == ["b"]
    assert found("river +bank", "--syntax") == ["a", "b"]
    assert found('river -"river bank" lang:en', "--syntax") == ["b"]
    assert found("river -bank", "--syntax", "--filter", 'lang = "de"') == ["c"]
    assert found("river", "--must", "gold") == []
    assert run(["search", "i.tw", "river", "--must", "the"]) == 2
    assert run(["search", "i.tw", "river size:9", "--syntax"]) == 2
    assert found("--like", "a", "--must", "bank") == ["b"]
    assert found("--like", "a", "--must-not", "bank") == ["c"]
    assert run(["explain", "i.tw", "c", "--like", "a", "--must", "bank"]) == 0
    assert "required, but not in the text: bank" in capsys.readouterr().out
    assert run(["explain", "i.tw", "river", "c", "--must", "bank", "--must", "river boat"]) == 0
    shown = capsys.readouterr().out
    assert "required, but not in the text: bank" in shown
    assert 'in the text, as required: "river boat"' in shown
    batch = ["rank", "i.tw", "--queries", "queries.tsv", "--out", "run.trec"]
    assert run([*batch, "--syntax"]) == 2
    assert run([*batch, "--must-not", "bank"]) == 0
    assert [line.split()[2] for line in Path("run.trec").read_text().splitlines()] == ["c"]
    capsys.readouterr()
    assert run(["search", "i.tw", "river", "--must", "gold"]) == 0
    said = "no results: the conditions allow no document that matches the query (with 'gold')"
    assert capsys.readouterr().err.splitlines() == [said, "required, but in no document: gold"]
    assert run(["search", "i.tw", "rivr", "--must", "banck", "--must", "river xylem", "--fuzzy"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "also searched for: river",
        "required, but in no document: banck, xylem",
        "did you mean: bank",
    ]
    assert run(["search", "i.tw", "river +banck", "--syntax"]) == 0
    assert capsys.readouterr().err.count("did you mean: bank") == 1
