"""Defaults of search options in a relevance file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import termwise
from termwise import Document, Query
from termwise.cli.main import run
from termwise.errors import ParameterError, UnknownNameError
from termwise.fusion import mix_indexes
from termwise.search import Relevance, Search, Searcher

DOCUMENTS = [Document("tea", "green tea"), Document("cup", "green cup"), Document("pot", "tea pot")]
FILE = '[search]\nmatch = "all"\nfuzzy = true\n'
SHOP = Relevance.of({"search": {"match": "all", "fuzzy": True}})


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("indexes") / "i"
    return termwise.build_index(DOCUMENTS, folder, model="bm25", store_text=True)


def test_what_a_search_states_wins(searcher: Searcher) -> None:
    def found(query: str | None = "gren tea", **options: object) -> set[str]:
        search = Search(query, **{"relevance": SHOP, **options})  # type: ignore[arg-type]
        return set(searcher.search(search).ranking.doc_ids)

    assert found() == {"tea"}
    assert found(relevance=None) == found(relevance=Relevance()) == {"tea", "pot"}
    assert found(match="any") == {"tea", "cup", "pot"}
    assert found(fuzzy=False) == set()
    assert found(match="any", fuzzy=False) == {"tea", "pot"}
    results = searcher.search(Search("gren tea", relevance=SHOP))
    assert (results.search.match, results.search.fuzzy, results.count()) == ("all", True, 1)
    assert (
        searcher.search(Search("teal cup", relevance=SHOP))
        .reasons()[0]
        .startswith("no document contains enough")
    )


def test_the_last_word_as_a_prefix(searcher: Searcher) -> None:
    shop = Relevance.of({"search": {"prefix": True}})

    def found(query: str = "tea gre", **options: object) -> set[str]:
        return set(searcher.search(Search(query, relevance=shop, **options)).ranking.doc_ids)  # type: ignore[arg-type]

    assert found() == found("gre tea") | {"cup"} == {"tea", "pot", "cup"}
    assert found("gre") == {"tea", "cup"}
    assert found("gre", match="all") == {"tea", "cup"}
    assert found("gre", prefix=False) == found("gre ") == set()
    candidates = searcher.search(Search("gre", relevance=shop, candidates=["pot", "cup"]))
    assert candidates.ranking.doc_ids == ("cup", "pot")


def test_other_queries_than_words(searcher: Searcher) -> None:
    def found(**options: object) -> tuple[str, ...]:
        return searcher.search(Search(relevance=SHOP, **options)).ranking.doc_ids  # type: ignore[arg-type]

    assert set(found(like="tea")) == {"cup", "pot"}
    assert set(found(like_text="green tea pots")) == {"tea", "cup", "pot"}
    assert set(found(weights={"green": 1.0, "pot": 1.0})) == {"tea", "cup", "pot"}
    assert found() == ("tea", "cup", "pot")
    # Candidates need not contain words, and are scored with the words of similar spelling.
    assert found(query="gren", candidates=["pot", "cup"]) == ("cup", "pot")


def test_many_queries(searcher: Searcher) -> None:
    queries = [Query("1", "gren tea"), Query("2", "tea")]
    ranked = searcher.rank_many(queries, search=Search(relevance=SHOP))
    assert [set(each.doc_ids) for each in ranked] == [{"tea"}, {"tea", "pot"}]


def test_a_mixture(tmp_path: Path) -> None:
    for model in ("bm25", "lookup"):
        termwise.build_index(DOCUMENTS, tmp_path / model, model=model)
    mixture = mix_indexes([tmp_path / "bm25", tmp_path / "lookup"], [0.5, 0.5], tmp_path / "m")
    only = Relevance.of({"search": {"only_words": True}})
    assert set(mixture.search(Search("pot", relevance=only)).ranking.doc_ids) == {"pot"}
    stated = mixture.search(Search("pot", only_words=False, relevance=only))
    assert len(stated.ranking) == len(mixture.search(Search("pot")).ranking) > 1


def test_a_file(searcher: Searcher, tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(FILE)
    assert Relevance.read(file) == SHOP
    for line, key, said in [
        ('match = "al"', "search.match", "match cannot have"),
        ("fuzzy = 1", "search.fuzzy", "fuzzy cannot have"),
        ('prefix = "yes"', "search.prefix", "prefix cannot have"),
        ("min_relevance = 1.5", "search.min_relevance", "min_relevance cannot have"),
        ('only_words = "yes"', "search.only_words", "only_words cannot have"),
    ]:
        file.write_text(f"[search]\n{line}\n")
        with pytest.raises(ParameterError, match=said) as raised:
            Relevance.read(file)
        assert raised.value.facts[:2] == (("file", file), ("key", key))
        assert raised.value.facts[2][0] == "given"
    file.write_text("[search]\nfuzy = true\n")
    with pytest.raises(UnknownNameError, match="did you mean fuzzy"):
        Relevance.read(file)
    file.write_text("search = 3\n")
    with pytest.raises(ParameterError, match="another type"):
        Relevance.read(file)
    with pytest.raises(ParameterError, match="search cannot have"):
        Relevance(search={"k": 3})


def test_an_option_that_does_not_fit_the_index_names_the_file(searcher: Searcher, tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps({"search": {"min_relevance": 0.5}}))
    with pytest.raises(ParameterError, match="relevance of results is not known") as raised:
        searcher.search(Search("tea", relevance=Relevance.read(file)))
    assert raised.value.facts[:2] == (("file", file), ("key", "search.min_relevance"))
    with pytest.raises(ParameterError) as raised:  # the request states it
        searcher.search(Search("tea", min_relevance=0.5, relevance=Relevance.read(file)))
    assert "key" not in dict(raised.value.facts)
    assert searcher.search(Search("tea", min_relevance=0, relevance=Relevance.read(file))).ranking


def test_the_command_line(searcher: Searcher, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.toml"
    file.write_text(FILE)

    def found(*options: str) -> set[str]:
        given = ["search", str(searcher.path), "gren tea", "--json", *options]
        assert run([*given, "--relevance", str(file)]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return {each["doc_id"] for each in lines if "doc_id" in each}

    assert found() == {"tea"}
    assert found("--match", "any") == {"tea", "cup", "pot"}
    assert found("--no-fuzzy") == set()
    assert found("--no-fuzzy", "--match", "any") == {"tea", "pot"}
    file.write_text("[search]\nprefix = true\n")
    assert run(["search", str(searcher.path), "gre", "--json", "--relevance", str(file)]) == 0
    assert '"cup"' in capsys.readouterr().out
    assert run(["search", str(searcher.path), "gre", "--json", "--relevance", str(file), "--no-prefix"]) == 0
    assert '"total": 0' in capsys.readouterr().out
