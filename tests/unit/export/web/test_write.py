"""Writing of search folders: names, addresses, titles, bad input, sizes."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.export.web.conftest import PAGES, exported

import termwise
from termwise.errors import DataError, ForeignFolderError, ParameterError, UnknownNameError
from termwise.export import ExportSource, export_changes, export_index, translated_filter
from termwise.export.analyzer_description import describe_analyzer
from termwise.export.web import terms, write
from termwise.export.web.groups import LEVELS, grouped, principal_coordinates
from termwise.export.web.scripts import MOST_BYTES, element_script, worker_script
from termwise.export.web.terms import Entries, sections
from termwise.text import make_analyzer


def built(folder: Path, documents: Sequence[termwise.Document] = PAGES, **options: Any) -> Path:
    index = folder / "docs.tw"
    options = {"model": "bm25", "store_text": True, "attributes": "all", **options}
    termwise.build_index(list(documents), index, **options)
    return index


def texts_in(folder: Path) -> list[Any]:
    shards = [gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("documents-*.bin"))]
    return [json.loads(shard[4 : 4 + int.from_bytes(shard[:4], "little")])["texts"] for shard in shards]


def test_names_of_files_follow_their_contents(tmp_path: Path) -> None:
    index = built(tmp_path)
    first, second = exported(index, tmp_path / "a"), exported(index, tmp_path / "b")
    names = {path.name for path in first.iterdir()}
    assert names == {path.name for path in second.iterdir()}
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)
    assert {name for name in names if not re.fullmatch(r"[a-z]+-[0-9a-f]{12}\.(bin|js)", name)} == {
        "search.json",
        "termwise-search.js",
    }


def test_another_export_replaces_the_search_and_removes_its_old_files(tmp_path: Path) -> None:
    folder = exported(built(tmp_path), tmp_path / "search")
    before = {path.name for path in folder.iterdir()}
    (folder / "terms-0123456789ab.bin.part").write_bytes(b"left by an interrupted export")
    folder = exported(built(tmp_path, PAGES[:3], overwrite=True), folder)
    after = {path.name for path in folder.iterdir()}
    manifest = json.loads((folder / "search.json").read_text())
    assert {manifest["index"], manifest["worker"], manifest["analyzers"]} <= after
    assert before - after, "some files are gone"
    assert not [name for name in after if name.endswith(".part")]
    exported_alone = exported(tmp_path / "docs.tw", tmp_path / "alone")
    assert after == {path.name for path in exported_alone.iterdir()}


def test_other_files_are_never_touched(tmp_path: Path) -> None:
    index = built(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("a page")
    with pytest.raises(ForeignFolderError, match="do not belong to a search"):
        export_index(index, "web", site)
    assert [path.name for path in site.iterdir()] == ["index.html"]
    with pytest.raises(ForeignFolderError, match="the output is a file"):
        export_index(index, "web", site / "index.html")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("search.json", '[{"mine": 1}]'),
        ("search.json", '{"format": "of another program"}'),
        ("chunk-0123456789ab.js", "mine"),
        ("worker-0123456789ab.js", "mine"),
    ],
)
def test_files_of_other_programs_with_such_names_are_never_touched(
    tmp_path: Path, name: str, text: str
) -> None:
    index, site = built(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / name).write_text(text)
    with pytest.raises(ForeignFolderError, match="do not belong to a search"):
        export_index(index, "web", site)
    assert {path.name: path.read_text() for path in site.iterdir()} == {name: text}


def test_an_interrupted_first_export_is_finished_by_the_next_one(tmp_path: Path) -> None:
    out = exported(built(tmp_path), tmp_path / "search")
    names = {path.name for path in out.iterdir()}
    (out / "search.json").unlink()
    (out / "words-0123456789ab.bin.part").write_bytes(b"unfinished")
    assert {path.name for path in exported(tmp_path / "docs.tw", out).iterdir()} == names


def test_titles_and_addresses_have_defaults_and_settings(tmp_path: Path) -> None:
    documents = [
        termwise.Document("a", "First line\nand more", {"link": "/a/", "name": "The name"}),
        termwise.Document("b", "A text of one line", {"link": "https://example.org/b", "name": "B"}),
    ]
    folder = exported(built(tmp_path, documents), tmp_path / "search")
    assert texts_in(folder) == [
        [["The name", "/a/", "First line\nand more"], ["B", "https://example.org/b", "A text of one line"]]
    ]
    folder = exported(tmp_path / "docs.tw", tmp_path / "search", url="docs/{doc_id}.html?from={link}")
    assert [each[1] for each in texts_in(folder)[0]] == [
        "docs/a.html?from=/a/",
        "docs/b.html?from=https://example.org/b",
    ]
    plain = [document._replace(attributes={}) for document in documents]
    folder = exported(built(tmp_path, plain, overwrite=True), tmp_path / "search", url="{doc_id}")
    assert texts_in(folder) == [[["First line", "a", "and more"], ["b", "b", "A text of one line"]]]


def test_fields_with_weights_give_title_and_text(tmp_path: Path) -> None:
    source = tmp_path / "docs.jsonl"
    rows = [
        {"_id": "x/1", "title": "Bees", "text": "Workers collect nectar."},
        {"_id": "x/2", "title": "", "text": "Ants"},
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    termwise.build_index(
        source, tmp_path / "docs.tw", model="bm25", store_text=True, fields={"title": 3, "text": 1}
    )
    folder = exported(tmp_path / "docs.tw", tmp_path / "search")
    assert texts_in(folder) == [[["Bees", "x/1", "Workers collect nectar."], ["x/2", "x/2", "Ants"]]]


def test_documents_without_addresses_are_refused_with_ways_out(tmp_path: Path) -> None:
    index = built(tmp_path, [termwise.Document("one", "text")])
    with pytest.raises(ParameterError, match="no addresses") as caught:
        export_index(index, "web", tmp_path / "search")
    assert "docs/{doc_id}.html" in str(caught.value.fixes[0])
    assert not (tmp_path / "search").exists()
    for url, error in (
        ("missing", UnknownNameError),
        ("{missing}", UnknownNameError),
        ("a{", ParameterError),
    ):
        with pytest.raises(error):
            export_index(index, "web", tmp_path / "search", settings={"url": url})


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:1"])
def test_addresses_that_run_scripts_are_refused(tmp_path: Path, address: str) -> None:
    index = built(tmp_path, [termwise.Document("one", "text", {"url": address})])
    with pytest.raises(DataError, match="neither a path nor an address"):
        export_index(index, "web", tmp_path / "search")


def test_an_index_without_texts_is_refused(tmp_path: Path) -> None:
    index = built(tmp_path, store_text=False)
    with pytest.raises(ParameterError, match="stores no texts") as caught:
        export_index(index, "web", tmp_path / "search")
    assert "store_text=True" in str(caught.value.fixes[0])


def test_what_a_browser_cannot_search_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = built(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(write, "MOST_DOCUMENTS", 5)
        with pytest.raises(ParameterError, match="too large"):
            export_index(index, "web", tmp_path / "search")
    export_index(index, "web", tmp_path / "search")
    with pytest.raises(ParameterError, match="search box of a site: it has no changes") as caught:
        export_changes(index, tmp_path / "search", since=1)
    assert "export_index(INDEX, 'web'" in str(caught.value.fixes[0])
    with pytest.raises(ParameterError, match="no filters"):
        translated_filter(tmp_path / "search", "a = 1")
    with pytest.raises(ForeignFolderError, match="holds the search box of a site"):
        export_index(index, "sqlite", tmp_path / "search", overwrite=True)
    chunked = built(tmp_path, overwrite=True, chunk=20)
    with pytest.raises(ParameterError, match="whole documents"):
        export_index(chunked, "web", tmp_path / "search")
    lemmas = built(tmp_path, overwrite=True, analyzer="finnish")
    with pytest.raises(ParameterError, match="cannot reproduce this analyzer"):
        export_index(lemmas, "web", tmp_path / "search")


def test_filters_are_chosen_or_have_few_values(tmp_path: Path) -> None:
    documents = [
        termwise.Document(f"p/{number}", "text", {"id": f"id{number}", "lang": "de" if number % 3 else "en"})
        for number in range(60)
    ]
    index = built(tmp_path, documents)
    made = export_index(index, "web", tmp_path / "search")
    assert made["filters"] == ["lang"]
    assert export_index(index, "web", tmp_path / "search", settings={"filters": "id, lang"})["filters"] == [
        "id",
        "lang",
    ]
    assert export_index(index, "web", tmp_path / "search", settings={"filters": "none"})["filters"] == []
    with pytest.raises(UnknownNameError):
        export_index(index, "web", tmp_path / "search", settings={"filters": "color"})
    many = built(
        tmp_path, [termwise.Document(f"p/{n}", "text", {"id": f"id{n}"}) for n in range(1100)], overwrite=True
    )
    with pytest.raises(ParameterError, match="too many different values"):
        export_index(many, "web", tmp_path / "search", settings={"filters": "id"})


ANALYZERS = (
    "english",
    "standard",
    "standard+stop+porter",
    "code",
    "english-parts",
    "cjk",
    "whitespace",
    "stm2",
    "german",
    "arabic",
)


@pytest.mark.parametrize("name", ANALYZERS)
def test_all_scripts_together_are_short(name: str) -> None:
    from termwise.text import WordPieceAnalyzer

    words = describe_analyzer(make_analyzer(name))
    pieces = describe_analyzer(WordPieceAnalyzer.shipped(), pieces=False)
    for descriptions in ([words], [words, pieces]):
        scripts = (element_script(), worker_script(descriptions, vectors=len(descriptions) > 1))
        assert sum(map(len, scripts)) < MOST_BYTES
        assert b"https:" not in b"".join(scripts).replace(b"https?:", b""), "no address of another site"


def test_groups_hold_all_documents_once_and_similar_ones_together() -> None:
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(8, 16)) * 5
    vectors = np.concatenate([centre + generator.normal(size=(30, 16)) for centre in centres]).astype(
        np.float32
    )
    sizes = np.ones(240, dtype=np.int64)
    groups = grouped(vectors, sizes, 30)
    assert sorted(np.concatenate(groups).tolist()) == list(range(240))
    assert all(15 <= len(group) <= 30 for group in groups)
    pure = [len(set((group // 30).tolist())) for group in groups]
    by_chance = [len(set((generator.permutation(240)[:30] // 30).tolist())) for _ in range(20)]
    assert np.mean(pure) < 0.4 * np.mean(by_chance)
    same = np.zeros((5, 4), dtype=np.float32)
    assert [len(group) for group in grouped(same, sizes[:5], 2)] == [2, 1, 2]
    assert [group.tolist() for group in grouped(same, np.array([1, 1, 9, 1, 1]), 3)] == [[0, 1], [2], [3, 4]]


def test_principal_coordinates_estimate_products_but_for_a_constant() -> None:
    generator = np.random.default_rng(0)
    plane = generator.normal(size=(2, 16))
    vectors = (3 + generator.normal(size=(500, 2)) @ plane).astype(np.float32)
    axes, coordinates = principal_coordinates(vectors)
    assert coordinates.shape == (500, 16)
    assert int(np.abs(coordinates).max()) == LEVELS
    query = generator.normal(size=16).astype(np.float32)
    estimates = coordinates @ (axes.matrix() @ query)
    assert np.corrcoef(estimates, vectors @ query)[0, 1] > 0.98


def test_a_term_of_two_parts_is_in_one_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "SHARD", 30)
    parts = [
        Entries(["b", "a", "c"], [9, 9, 9], lambda places: ({}, b"")),
        Entries(["b", "d"], [9, 9], lambda places: ({}, b"")),
    ]
    assert list(terms._shards(parts, [set(), set()])) == [[(0, 1)], [(0, 0), (1, 0)], [(0, 2)], [(1, 1)]]
    assert list(terms._shards(parts, [set(), {"b"}])) == [[(0, 1)], [(0, 0)], [(0, 2)], [(1, 1)]]
    header, body = sections([Entries(["a"], [1], lambda places: ({"at": places}, b"xy"))] * 2, [[0], []], 4)
    assert (header, body) == ([({"at": [0]}, 4, 6), ({"at": []}, 6, 8)], b"xyxy")


def test_the_source_gives_the_size_that_is_reported(tmp_path: Path) -> None:
    index = built(tmp_path)
    made = export_index(index, "web", tmp_path / "search")
    files = list((tmp_path / "search").iterdir())
    assert made["bytes"] == sum(path.stat().st_size for path in files)
    assert made["number_of_files"] == len(files)
    assert made["include"] == '<script type="module" src="search/termwise-search.js"></script>'
    odd = export_index(index, "web", tmp_path / "a b&c\">'")
    assert odd["include"] == '<script type="module" src="a%20b%26c%22%3E%27/termwise-search.js"></script>'
    assert len(ExportSource(termwise.open(index))) == made["documents"] == len(PAGES)
