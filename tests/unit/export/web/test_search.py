"""Search of exported folders under Node: results and scores of termwise, typos, prefixes, filters, excerpts."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import OSA
from tests.unit.export.web.conftest import PAGES, URL, Answer, exported, first_documents, questions

import termwise
from termwise.attributes import Schema
from termwise.engine.query_vector import _query_scale
from termwise.engine.similar_terms import most_edits
from termwise.export import ExportSource, LinearForm
from termwise.models import make_model
from termwise.search import Search

MODELS: dict[str, dict[str, Any]] = {
    "bm25": {"model": "bm25"},
    "bm25 with standard words": {"model": "bm25", "analyzer": "standard"},
    "code": {"model": "bm25", "analyzer": "code"},
    "words with parts": {"model": "bm25", "analyzer": "english-parts"},
    "Dirichlet": {"model": "dirichlet"},
    "Jelinek-Mercer": {"model": "jm"},
    "whitespace": {"model": "bm25", "analyzer": "whitespace"},
    "German": {"model": "bm25", "analyzer": "german"},
    "pieces": {"model": "bm25", "analyzer": "wordpiece"},
    "vectors alone": {"model": make_model("lookup", {"documents": "table"})},
    "instant": {"model": "instant"},
}


def built(folder: Path, options: Mapping[str, Any], count: int = 400) -> Path:
    index = folder / "docs.tw"
    termwise.build_index(first_documents(count), index, store_text=True, **options)
    return index


def equals_termwise(index: Path, folder: Path, ask: Answer, texts: list[str]) -> None:
    searcher = termwise.open(index)
    form = LinearForm(ExportSource(searcher))
    answers = ask(folder, [{"text": text, "options": {"k": 200, "fuzzy": False}} for text in texts])
    compared = 0
    for text, answer in zip(texts, answers, strict=True):
        expected = form.rank(
            text, k=200
        )  # all documents are candidates: a search reads those of twice as many
        found = [(searcher.index.doc_id(each["document"]), each["score"]) for each in answer["results"]]
        assert [doc_id for doc_id, _ in found] == list(expected.doc_ids), text
        assert [score for _, score in found] == pytest.approx(expected.scores, rel=1e-12), text
        compared += len(found)
        for each in answer["results"]:
            whole = sum(part["constant"] + sum(t["score"] for t in part["terms"]) for part in each["why"])
            assert whole == pytest.approx(each["score"], rel=1e-9, abs=1e-12), text
    assert compared > 10 * len(texts), "the queries have results"


@pytest.mark.parametrize("name", MODELS)
def test_results_and_scores_are_those_of_termwise(name: str, tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, MODELS[name])
    folder = exported(index, tmp_path / "search", url=URL)
    texts = [*questions(40), "list list list of of bytes", "the name of a name", "qqqq list", "merge", "a"]
    equals_termwise(index, folder, ask, texts)


def test_static_query_weights_are_those_of_the_index(tmp_path: Path, ask: Answer) -> None:
    chance = random.Random(1)
    words = [f"word{number}" for number in range(60)]
    rows = [
        {
            "id": f"d/{number}",
            "contents": " ".join(chance.sample(words, 5)),
            "vector": {word: round(chance.uniform(0.01, 9), 3) for word in chance.sample(words, 12)},
        }
        for number in range(200)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "idf.json").write_text(
        json.dumps({word: round(chance.uniform(0.1, 5), 4) for word in words[:50]})
    )
    index = tmp_path / "docs.tw"
    settings = {"query": "idf", "idf": str(tmp_path / "idf.json")}
    model = make_model("vectors", settings)
    termwise.build_index(tmp_path / "rows.jsonl", index, model=model, store_text=True)
    folder = exported(index, tmp_path / "search")
    equals_termwise(index, folder, ask, [" ".join(chance.choices(words, k=4)) for _ in range(20)])


def test_a_changed_index_is_searched_as_it_is_now(tmp_path: Path, ask: Answer) -> None:
    documents = first_documents(400)
    index = tmp_path / "docs.tw"
    termwise.build_index(documents[:200], index, model="bm25", store_text=True)
    with termwise.open_writer(index) as writer:
        writer.add(documents[200:])
        for document in documents[:50:3]:
            writer.delete(document.doc_id)
    folder = exported(index, tmp_path / "search", url=URL)
    equals_termwise(index, folder, ask, questions(30))


def test_a_mixture_of_more_documents_than_are_read_returns_exact_scores(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "instant"}, count=1500)
    folder = exported(index, tmp_path / "search", url=URL)
    searcher = termwise.open(index)
    form = LinearForm(ExportSource(searcher))
    texts = questions(40)
    overlaps = []
    for text, answer in zip(
        texts, ask(folder, [{"text": text, "options": {"fuzzy": False}} for text in texts]), strict=True
    ):
        expected = form.rank(text, k=1500)
        scores = dict(zip(expected.doc_ids, expected.scores, strict=True))
        found = {searcher.index.doc_id(each["document"]): each["score"] for each in answer["results"]}
        assert len(found) == 10
        assert all(score == pytest.approx(scores[doc_id], rel=1e-12) for doc_id, score in found.items())
        overlaps.append(len(found.keys() & set(expected.doc_ids[:10])) / 10)
        assert len([name for name in answer["reads"] if name.startswith("documents-")]) <= 20
    assert np.mean(overlaps) > 0.8


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return an index of pages, and its search folder."""
    folder = tmp_path_factory.mktemp("site")
    index = folder / "pages.tw"
    schema = Schema({"section": "keyword", "year": "integer", "tags": "keywords", "day": "date"})
    termwise.build_index(PAGES, index, model="bm25", store_text=True, attributes=schema)
    return index, exported(index, folder / "search")


def ids_of(index: Path, answer: Mapping[str, Any]) -> list[str]:
    return [termwise.open(index).index.doc_id(each["document"]) for each in answer["results"]]


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        ({"section": {"any": ["guide"]}}, "section = 'guide'"),
        ({"section": {"any": ["guide", "api"]}}, "section = 'guide' or section = 'api'"),
        ({"year": {"from": 2022}}, "year >= 2022"),
        ({"year": {"from": 2021, "to": 2023}}, "year >= 2021 and year <= 2023"),
        ({"tags": {"any": ["sorting"]}}, "tags = 'sorting'"),
        ({"section": {"any": ["guide"]}, "year": {"to": 2021}}, "section = 'guide' and year <= 2021"),
        ({"section": {"any": ["no such value"]}}, "section = 'none'"),
    ],
)
def test_filters_allow_what_they_allow_in_termwise(
    site: tuple[Path, Path], ask: Answer, filters: Mapping[str, Any], condition: str
) -> None:
    index, folder = site
    (answer,) = ask(folder, [{"text": "merge sorted lists", "options": {"filters": filters}}])
    expected = termwise.open(index).rank("merge sorted lists", filter=condition, k=10)
    assert ids_of(index, answer) == list(expected.doc_ids)
    assert answer["total"] == len(expected.doc_ids)


def test_a_date_filter_compares_milliseconds(site: tuple[Path, Path], ask: Answer) -> None:
    index, folder = site
    new_year = 1_704_067_200_000  # 2024-01-01
    first, second = ask(
        folder,
        [
            {"text": "lists", "options": {"filters": {"day": {"from": new_year}}}},
            {"text": "lists", "options": {"filters": {"day": {"to": new_year - 1}}}},
        ],
    )
    assert ids_of(index, first) == ["api/merge.html?a=1&b=2"]
    assert set(ids_of(index, second)) == {"guide/merge.html", "guide/heap.html"}


def test_facets_count_the_matches_and_ignore_their_own_filter(site: tuple[Path, Path], ask: Answer) -> None:
    _, folder = site
    options = {"facets": True, "filters": {"section": {"any": ["guide"]}}}
    plain, filtered = ask(
        folder, [{"text": "lists", "options": {"facets": True}}, {"text": "lists", "options": options}]
    )
    values = {each["field"]: each.get("values") for each in _filters(folder)}
    assert dict(zip(values["section"], plain["facets"]["section"], strict=True)) == {
        "guide": 2,
        "api": 1,
        "api <b>&": 1,
    }
    assert filtered["facets"]["section"] == plain["facets"]["section"]
    assert dict(zip(values["tags"], filtered["facets"]["tags"], strict=True))["sorting"] == 2


def _filters(folder: Path) -> list[dict[str, Any]]:
    import gzip

    name = json.loads((folder / "search.json").read_text())["index"]
    shard = gzip.decompress((folder / name).read_bytes())
    header = json.loads(shard[4 : 4 + int.from_bytes(shard[:4], "little")])
    found: list[dict[str, Any]] = header["filters"]
    return found


def test_unfinished_words_are_weighted_as_in_termwise(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "bm25"}, count=1500)
    folder = exported(index, tmp_path / "search", url=URL)
    searcher = termwise.open(index)
    texts = ["merge sorted li", "iter", "enco", "read a fil", "sorting", "the", "byte str", "wa", "lists "]
    for text, answer in zip(
        texts,
        ask(folder, [{"text": text, "options": {"prefix": True, "fuzzy": False}} for text in texts]),
        strict=True,
    ):
        expected = searcher.search(Search(text, prefix=True, k=10)).ranking
        found = [searcher.index.doc_id(each["document"]) for each in answer["results"]]
        assert found == list(expected.doc_ids), text
        assert [each["score"] for each in answer["results"]] == pytest.approx(expected.scores, rel=1e-6), text


def test_words_are_completed(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "bm25"}, count=1500)
    folder = exported(index, tmp_path / "search", url=URL)
    answers = ask(
        folder, [{"text": text, "complete": True} for text in ("read a enco", "x", "read ", "the iterab")]
    )
    completions = [each["completions"] for each in answers]
    assert "read a encoding" in completions[0]
    assert completions[1] == completions[2] == []
    assert "the iterable" in completions[3]


TYPOS = [
    "lsits",
    "sortd",
    "iteratorr",
    "encodng",
    "dictionry",
    "charcter",
    "retrun",
    "exeption",
    "directroy",
    "fucntion",
]


def test_typos_find_nearly_what_termwise_finds(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "bm25"}, count=1500)
    folder = exported(index, tmp_path / "search", url=URL)
    searcher = termwise.open(index)
    same = 0
    for word, answer in zip(TYPOS, ask(folder, [{"text": word} for word in TYPOS]), strict=True):
        assert answer["results"], word
        assert answer["replaced"][0][0] == word
        assert answer["results"][0]["why"][0]["terms"][0]["origin"] == "fuzzy"
        words = {OSA.distance(word, found) for _, found in answer["replaced"]}
        assert len(words) == 1, "all words have the least distance"
        expected = searcher.search(Search(word, fuzzy=True, k=10)).ranking
        found = [searcher.index.doc_id(each["document"]) for each in answer["results"]]
        same += len(set(found) & set(expected.doc_ids)) / max(1, len(expected.doc_ids)) > 0.5
    assert same >= 8


def test_words_of_pieces_replace_mistyped_ones_in_a_mixture(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "instant"})
    folder = exported(index, tmp_path / "search", url=URL)
    typo, right, known = ask(folder, [{"text": "charcter"}, {"text": "character"}, {"text": "volcano"}])
    assert typo["replaced"] == [["charcter", "character"]]
    first, second = ({each["document"] for each in answer["results"]} for answer in (typo, right))
    assert len(first & second) >= 8
    assert known["replaced"] == [], "a word that the table has is no typo"
    assert known["results"], "it is compared by its vector"


def test_excerpts_show_the_words_of_the_query(site: tuple[Path, Path], ask: Answer) -> None:
    index, folder = site
    (answer,) = ask(folder, [{"text": "sorted lists"}])
    by_id = dict(zip(ids_of(index, answer), answer["results"], strict=True))
    merge = by_id["guide/merge.html"]
    assert merge["title"] == "Merging lists"
    snippet = merge["snippet"]
    assert snippet["text"] == "Merge two sorted lists into one sorted list."
    marked = [snippet["text"][start:end] for start, end in snippet["spans"]]
    assert marked == ["sorted", "lists", "sorted", "list"]
    emoji = by_id["ümläut/日本.html"]["snippet"]
    assert [
        emoji["text"][:end][start:] for start, end in [(len("Sortierte Listen zusammenführen 🎉 "), None)]
    ] == ["lists"]


def test_the_passage_has_the_heaviest_words(site: tuple[Path, Path], ask: Answer) -> None:
    words = ["word"] * 400
    words[250], words[255], words[60] = "heap", "merge", "merge"
    text = " ".join(words)
    marks = [
        {
            "token": word,
            "start": len(" ".join(words[:place])) + 1,
            "end": len(" ".join(words[:place])) + 1 + len(word),
        }
        for place, word in enumerate(words)
        if word != "word"
    ]
    weights = [["heap", 3.0], ["merge", 2.0]]
    (answer,) = ask(site[1], [{"call": ["passage", [text, marks, weights, 100]]}])
    low, high = answer["value"]
    assert "heap" in text[low:high]
    assert "merge" in text[low:high]
    assert high - low <= 101
    assert text[low - 1] == " "
    assert text[high] == " "


def test_numbers_are_rounded_as_in_termwise(site: tuple[Path, Path], ask: Answer) -> None:
    chance = random.Random(7)
    rows = [
        [float(np.float32(chance.uniform(0.001, 9))) for _ in range(chance.randint(2, 6))] for _ in range(200)
    ]
    halves = [0.5, 1.5, 2.5, 3.5, 2.4999, 0.2, 4094.5]
    calls = [
        *({"call": ["queryScale", [row]]} for row in rows),
        *({"call": ["queryScale", [row, 2**40, 8]]} for row in rows),
        *({"call": ["rint", [half]]} for half in halves),
    ]
    values = [answer["value"] for answer in ask(site[1], calls)]
    arrays = [np.array(row) for row in rows]
    assert values[:200] == [_query_scale(array) for array in arrays]
    assert values[200:400] == [_query_scale(array, 2**40, 8) for array in arrays]
    assert values[400:] == [float(np.rint(half)) for half in halves]


def test_edits_are_those_of_termwise(site: tuple[Path, Path], ask: Answer) -> None:
    chance = random.Random(3)
    words = ["".join(chance.choices("abc", k=chance.randint(1, 8))) for _ in range(400)]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    calls = [{"call": ["edits", [one, other, most]]} for one, other in pairs for most in (1, 2)]
    values = [answer["value"] for answer in ask(site[1], calls)]
    expected = [min(OSA.distance(one, other), most + 1) for one, other in pairs for most in (1, 2)]
    assert [min(value, most + 1) for value, most in zip(values, [1, 2] * len(pairs), strict=True)] == expected
    lengths = ["fox", "tents", "kettles", "backpack", "type66", "x" * 101]
    assert [
        answer["value"] for answer in ask(site[1], [{"call": ["mostEdits", [word]]} for word in lengths])
    ] == [most_edits(word) for word in lengths]


def test_few_files_are_read_for_a_query(tmp_path: Path, ask: Answer) -> None:
    index = built(tmp_path, {"model": "bm25"}, count=1500)
    folder = exported(index, tmp_path / "search", url=URL)
    first, again = ask(folder, [{"text": "merge sorted lists", "options": {"k": 3, "fuzzy": False}}] * 2)
    kinds = [name.partition("-")[0] for name in first["reads"]]
    assert kinds.count("terms") <= 3
    assert kinds.count("documents") <= 3
    assert set(kinds) == {"terms", "documents"}
    assert again["reads"] == []


def test_any_text_is_a_query(site: tuple[Path, Path], ask: Answer) -> None:
    chance = random.Random(5)
    alphabet = "aé日🎉 _-'\"<>&\\\x00\u0301\u200dlist7\ud83d"
    texts = ["".join(chance.choices(alphabet, k=chance.randint(0, 30))) for _ in range(200)]
    answers = ask(site[1], [{"text": text, "options": {"prefix": True}} for text in [*texts, "list " * 2000]])
    assert all(math.isfinite(each["score"]) for answer in answers for each in answer["results"])
    assert any(answer["results"] for answer in answers[:-1])
