"""``termwise add``, ``delete`` and ``merge``."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace

import pytest

import termwise
from termwise.cli import index_notes
from termwise.cli.main import run
from termwise.errors import StorageError
from termwise.index import Index
from termwise.index.encoder_description import EncoderDescription
from termwise.index.folder import publish, writer_lock
from termwise.index.updater import IndexUpdater
from termwise.indexing import recipes
from termwise.indexing.recipes import BEST, Recipe, RecipePart

SHOP = """\
{"_id": "a", "text": "green tea", "price": 4.5, "stock": 2}
{"_id": "b", "text": "black tea", "price": 3.0, "stock": 0}
{"_id": "c", "text": "cast iron teapot", "price": 49.0, "stock": 1}
"""
NEXT = """\
{"_id": "b", "text": "black tea with bergamot", "price": 3.0, "stock": 5}
{"_id": "c", "text": "cast iron teapot", "price": 49.0, "stock": 1}
{"_id": "d", "text": "white tea", "price": 9.0, "stock": 0}
"""


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.jsonl").write_text(SHOP)
    (tmp_path / "next.jsonl").write_text(NEXT)
    assert (
        run(["index", "shop.jsonl", "--model", "bm25", "--attributes", "all", "--store-text", "--out", "tw"])
        == 0
    )
    capsys.readouterr()
    return tmp_path


def failure(capsys, arguments, status):
    """Return what a failing command prints on stderr, without repeated spaces; the index must not change."""
    before = Index.open("tw").manifest
    assert run(arguments) == status
    assert Index.open("tw").manifest == before
    streams = capsys.readouterr()
    assert streams.out == ""
    return "\n".join(" ".join(line.split()) for line in streams.err.splitlines())


def test_add(place, capsys):
    assert run(["add", "tw", "next.jsonl"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("tw: 1 added, 1 replaced, 1 unchanged; 4 documents now, ")
    assert streams.err == ""
    searcher = termwise.open("tw")
    assert searcher.rank("bergamot").doc_ids == ("b",)
    assert searcher.rank("tea", filter="stock = 5").doc_ids == ("b",)
    assert run(["add", "tw", "next.jsonl"]) == 0
    assert "tw: 0 added, 0 replaced, 3 unchanged; 4 documents now, " in capsys.readouterr().out


def test_add_as_json(no_counts, place, capsys):
    assert run(["add", "tw", "next.jsonl", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.pop("seconds") >= 0
    assert report == {"index": "tw", "new": 1, "replaced": 1, "unchanged": 1, "documents": 4, "generation": 1}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_collection_without_documents_is_noted(place, capsys, options):
    (place / "empty.jsonl").write_text("")
    before = Index.open("tw").manifest
    assert run(["add", "tw", "empty.jsonl", *options]) == 0
    assert capsys.readouterr().err == "empty.jsonl: no documents\n"
    assert Index.open("tw").manifest == before


def test_text_of_a_csv_file_gets_the_types_of_the_index(place, capsys):
    (place / "more.csv").write_text("id,text,price,stock\ne,oolong,7.25,\n")
    assert run(["add", "tw", "more.csv"]) == 0
    assert termwise.open("tw").attributes(["e"]) == [{"price": 7.25}]


def test_a_value_of_the_wrong_type_names_line_and_field(place, capsys):
    (place / "bad.jsonl").write_text(NEXT + '{"_id": "e", "text": "oolong", "price": "cheap"}\n')
    error = failure(capsys, ["add", "tw", "bad.jsonl"], 3)
    for fact in ("file bad.jsonl", "line 4", "field price", "seen 'cheap'"):
        assert f"\n{fact}\n" in error
    assert "another type: termwise index COLLECTION --out DIR --schema FILE" in error
    (place / "bad.jsonl").write_text('{"_id": "e", "text": "oolong", "stock": 1.5}\n')
    error = failure(capsys, ["add", "tw", "bad.jsonl"], 3)
    assert (
        "a schema in which the field is a float: termwise index COLLECTION --out DIR --schema FILE" in error
    )


def test_delete(no_counts, place, capsys):
    assert run(["delete", "tw", "a", "nobody"]) == 0
    streams = capsys.readouterr()
    assert (streams.out, streams.err) == ("tw: 1 deleted; 2 documents now\n", "not in the index: nobody\n")
    assert run(["delete", "tw", "a", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {"index": "tw", "deleted": 0, "absent": ["a"], "documents": 2, "generation": 1}


def test_absent_identifiers_are_listed_on_one_line(place, capsys):
    assert run(["delete", "tw", "x\ny", *(f"n{number}" for number in range(30))]) == 0
    assert capsys.readouterr().err == (
        f"not in the index: x y, {', '.join(f'n{number}' for number in range(19))} and 11 more\n"
    )


def test_delete_by_a_filter(place, capsys):
    assert run(["delete", "tw", "--filter", "stock = 0 or price > 40"]) == 0
    assert capsys.readouterr().out == "tw: 2 deleted; 1 document now\n"
    assert termwise.open("tw").rank("tea").doc_ids == ("a",)
    assert run(["delete", "tw", "--filter", "stock = 0"]) == 0
    assert capsys.readouterr().out == "tw: 0 deleted; 1 document now\n"
    assert "did you mean stock?" in failure(capsys, ["delete", "tw", "--filter", "stok = 0"], 2)


def test_documents_are_listed_without_a_query(place, capsys):
    def listed(*options):
        assert run(["search", "tw", *options, "--json"]) == 0
        *found, _ = map(json.loads, capsys.readouterr().out.splitlines())
        return [each["doc_id"] for each in found]

    assert listed("--filter", "price < 10") == ["a", "b"]
    assert listed("--sort", "-price", "-k", "2") == ["c", "a"]
    assert listed("--must", "iron") == ["c"]
    assert listed("", "--filter", "price < 10") == ["a", "b"]
    assert run(["search", "tw", "--filter", "price > 100"]) == 0
    assert "the conditions allow no document (filtered by" in capsys.readouterr().err
    assert "give a query, a query document, or conditions" in failure(capsys, ["search", "tw"], 2)
    assert "--explain does not apply" in failure(capsys, ["search", "tw", "--sort", "price", "--explain"], 2)


def test_delete_takes_identifiers_or_a_filter(place, capsys):
    for arguments in ([], ["a", "--filter", "stock = 0"]):
        assert "give identifiers of documents, or --filter" in failure(
            capsys, ["delete", "tw", *arguments], 2
        )


def test_a_filter_needs_attributes(place, capsys):
    assert run(["index", "shop.jsonl", "--model", "bm25", "--attributes", "none", "--out", "plain"]) == 0
    capsys.readouterr()
    for option in (["--sort", "price"], ["--collapse", "price"], ["--show", "price"], ["--facets", "price"]):
        error = failure(capsys, ["search", "plain", "tea", *option], 2)
        assert "this index has no attributes" in error
        assert "build the index with --attributes all" in error
    assert "build the index with --attributes all" in failure(
        capsys, ["delete", "plain", "--filter", "stock = 0"], 2
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--facets", "brand"], "unknown attribute 'brand'"),
        (["--facets", "price"], "filter by each range"),
        (["--sort", "brand"], "unknown attribute 'brand'"),
    ],
)
def test_options_for_attributes_are_refused_before_results_are_printed(place, capsys, option, message):
    assert message in failure(capsys, ["search", "tw", "tea", *option], 2)
    assert not (place / "run").exists()


@pytest.mark.parametrize(
    "option", [["--facets", "text"], ["--sort", "text"], ["--filter", 'text = "tea"'], ["--show", "text"]]
)
def test_a_field_of_the_text_is_no_attribute_and_the_error_says_how_to_make_it_one(place, capsys, option):
    index = ["index", "shop.jsonl", "--model", "bm25", "--fields", "text", "--attributes", "price,stock"]
    assert run([*index, "--out", "other"]) == 0
    capsys.readouterr()
    error = failure(capsys, ["search", "other", "tea", *option], 2)
    assert "unknown attribute 'text': the field is a part of the texts only" in error
    assert "build the index with --fields text --attributes price,stock,text" in error


def test_pages_after_values(place, capsys):
    search = ["search", "tw", "--sort", "price,_id", "--json"]

    def page(*options):
        assert run([*search, *options]) == 0
        *hits, summary = map(json.loads, capsys.readouterr().out.splitlines())
        return [hit["doc_id"] for hit in hits], summary["total"]

    assert page("-k", "1") == (["b"], 3)
    assert page("--after", '[3.0, "b"]') == (["a", "c"], 3)
    assert page("--after", '[49.0, "c"]') == ([], 3)
    for given in ("3", "b", "[", '[3, "b", 4]'):
        assert "of each" in failure(capsys, [*search, "--after", given], 2)
    assert "omit --after" in failure(capsys, ["search", "tw", "tea", "--after", "[3]"], 2)


def test_merge(no_counts, place, capsys):
    assert run(["add", "tw", "next.jsonl"]) == 0
    capsys.readouterr()
    assert run(["merge", "tw"]) == 0
    assert capsys.readouterr().out.startswith(
        "tw: 2 segments before, 1 now; 1 deleted document removed; 4 documents, "
    )
    assert run(["merge", "tw"]) == 0
    assert capsys.readouterr().out.startswith("tw: 1 segment before, 1 now; 4 documents, ")


def test_merge_as_json(no_counts, place, capsys):
    assert run(["delete", "tw", "a"]) == 0
    capsys.readouterr()
    assert run(["merge", "tw", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report.pop("seconds") >= 0
    assert report.pop("bytes") == sum(file.length for file in Index.open("tw").manifest.files())
    assert report == {
        "index": "tw",
        "segments_before": 1,
        "segments": 1,
        "removed": 1,
        "documents": 2,
        "generation": 2,
    }


CHANGES = [["add", "FOLDER", "next.jsonl"], ["delete", "FOLDER", "a"], ["merge", "FOLDER"]]


@pytest.mark.parametrize("command", CHANGES, ids=lambda command: command[0])
def test_folders_that_are_refused(place, capsys, monkeypatch, command):
    def on(folder):
        return [folder if word == "FOLDER" else word for word in command]

    assert "there is no such index" in failure(capsys, on("nowhere"), 3)
    assert not (place / "nowhere").exists()
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((RecipePart("bm25", 0.5), RecipePart("jm", 0.5))))
    assert run(["index", "shop.jsonl", "--model", "best", "--out", "m"]) == 0
    capsys.readouterr()
    error = failure(capsys, on("m/bm25"), 2)
    assert "this index is a part of a mixture" in error
    assert "fix change the mixture as a whole: name the folder m" in error
    monkeypatch.setattr(index_notes, "NOTED_AFTER", 0.05)
    monkeypatch.setattr(index_notes, "WRITER_WAIT", 0.1)
    with writer_lock(place / "tw"):
        error = failure(capsys, on("tw"), 3)
    assert "another process is writing this index: waiting for at most 0.1 seconds" in error
    assert f"writer process {os.getpid()}" in error


@pytest.mark.parametrize("command", CHANGES, ids=lambda command: command[0])
def test_a_change_waits_for_another_writer(place, capsys, monkeypatch, command):
    locked, waiting = threading.Event(), threading.Event()

    def write():
        with writer_lock(place / "tw"):
            locked.set()
            waiting.wait(60)

    monkeypatch.setattr(index_notes, "NOTED_AFTER", 0.01)
    monkeypatch.setattr(index_notes, "note_line", lambda line: waiting.set())
    writer = threading.Thread(target=write)
    writer.start()
    locked.wait(60)
    assert run(["tw" if word == "FOLDER" else word for word in command]) == 0
    writer.join()
    assert waiting.is_set()


def test_a_mixture(place, capsys, monkeypatch):
    monkeypatch.setitem(recipes.RECIPES, BEST, Recipe((RecipePart("bm25", 0.5), RecipePart("jm", 0.5))))
    assert (
        run(["index", "shop.jsonl", "--model", "best", "--attributes", "all", "--store-text", "--out", "m"])
        == 0
    )
    capsys.readouterr()
    assert run(["add", "m", "next.jsonl"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("m: 1 added, 1 replaced, 1 unchanged; 4 documents now, ")
    assert streams.err == ""
    assert run(["delete", "m", "--filter", "price > 40"]) == 0
    assert capsys.readouterr().out == "m: 1 deleted; 3 documents now\n"
    assert run(["merge", "m", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    sizes = [file.stat().st_size for file in place.glob("m/*/*.[tb]*")]
    assert (report["segments"], report["documents"], report["bytes"]) == (1, 3, sum(sizes))
    assert run(["verify", "m"]) == 0
    assert run(["inspect", "m"]) == 0
    assert " since the build" in capsys.readouterr().out
    assert run(["merge", "m", "--renew"]) == 0
    assert capsys.readouterr().out.startswith("m: 1 segment before, 1 now; 3 documents, ")
    assert "this index is a part of a mixture" in failure(capsys, ["merge", "m/bm25", "--renew"], 2)


def test_new_attributes_are_noted_and_new_texts_too(place, capsys):
    assert run(["index", "shop.jsonl", "--model", "bm25", "--attributes", "none", "--out", "plain"]) == 0
    capsys.readouterr()
    assert run(["add", "plain", "next.jsonl"]) == 0
    assert capsys.readouterr().err == "new attributes of plain: price (float), stock (integer)\n"
    (place / "more.jsonl").write_text(
        '{"_id": "e", "text": "oolong", "lang": "en", "stock": 1, "story": "Grown in the fog of high mountains"}\n'
        '{"_id": "f", "text": "assam", "price": "-", "url": "https://shop.example/f"}\n'
    )
    assert run(["add", "plain", "more.jsonl"]) == 0
    assert capsys.readouterr().err == (
        "more: these fields are neither texts nor attributes of plain, and are not kept: story, url; to keep them, "
        "build the index again, with --fields or --attributes\n"
        "new attributes of plain: lang (keyword)\n"
    )
    (place / "wrong.jsonl").write_text('{"_id": "g", "text": "sencha", "lang": 3}\n')
    assert "a string (keyword)" in failure(capsys, ["add", "plain", "wrong.jsonl"], 3)
    (place / "next.tsv").write_text("_id\ttext\ne\toolong\n")
    assert run(["add", "plain", "next.tsv"]) == 0
    assert "attributes" not in capsys.readouterr().err


@pytest.mark.parametrize("command", CHANGES[:2], ids=lambda command: command[0])
def test_an_index_without_statistics_is_refused(place, capsys, command):
    manifest = Index.open("tw").manifest
    encoder = {name: value for name, value in manifest.encoder.json.items() if name != "statistics"}
    publish(place / "tw", replace(manifest, encoder=EncoderDescription.of(encoder)))
    error = failure(capsys, [word.replace("FOLDER", "tw") for word in command], 2)
    assert "no statistics of its collection" in error
    assert "build the index again with this version of termwise" in error


def test_merge_with_renewed_statistics(no_counts, place, capsys):
    assert run(["add", "tw", "next.jsonl"]) == 0
    capsys.readouterr()
    assert run(["merge", "tw", "--renew", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["segments"], report["documents"], report["removed"]) == (1, 4, 1)
    assert Index.open("tw").manifest.idf is None


def test_a_change_and_a_merge_follow_the_documents(place, capsys):
    """One of three documents is deleted: the weights are computed again, so that the merge finds nothing to do."""
    assert run(["delete", "tw", "c"]) == 0
    assert run(["merge", "tw"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("tw: 1 segment before, 1 now; 2 documents, ")
    assert run(["inspect", "tw"]) == 0
    assert "of 2 documents, computed again if they drift" in " ".join(capsys.readouterr().out.split())


def test_an_object_in_place_of_a_value(place, capsys):
    (place / "next.jsonl").write_text('{"_id": "n1", "text": "white tea", "price": {"amount": 3}}\n')
    schema = termwise.open("tw").schema
    assert "price" in schema
    said = failure(capsys, ["add", "tw", "next.jsonl"], 3)
    assert "an attribute has an object in place of a value" in said
    assert "price: {'amount': 3}" in said
    assert termwise.open("tw").schema == schema


def test_an_empty_index(place, capsys):
    assert run(["index", "--empty", "--out", "new", "--store-text"]) == 0
    assert capsys.readouterr().out.startswith("new: 0 documents, ")
    assert run(["add", "new", "shop.jsonl"]) == 0
    assert run(["search", "new", "tea", "-k", "1", "--json"]) == 0
    assert '"doc_id": "a"' in capsys.readouterr().out
    for arguments in (["index", "--out", "x"], ["index", "shop.jsonl", "--empty", "--out", "x"]):
        assert run(arguments) == 2
    assert "without documents" in capsys.readouterr().err


def test_the_statistics_of_an_earlier_index_are_named(no_counts, place, capsys):
    assert run(["inspect", "tw"]) == 0
    assert "of 3 documents, of the build: no counts are kept" in " ".join(capsys.readouterr().out.split())


def test_a_missing_collection(place, capsys):
    assert "there is no such collection" in failure(capsys, ["add", "tw", "nothing.jsonl"], 3)


def test_a_failed_merge_after_a_change_is_noted(no_counts, place, capsys, monkeypatch):
    def full(updater, first, last):
        raise StorageError("no space left")

    monkeypatch.setattr(IndexUpdater, "_merge", full)
    for number in range(4):
        (place / "next.jsonl").write_text(f'{{"_id": "n{number}", "text": "white tea"}}\n')
        assert run(["add", "tw", "next.jsonl"]) == 0
    note = "the change is made, but its segments are not merged: no space left"
    assert note in " ".join(capsys.readouterr().err.split())
    assert run(["delete", "tw", "n0"]) == 0
    assert note in " ".join(capsys.readouterr().err.split())
    assert termwise.open("tw").rank("white").doc_ids == ("n1", "n2", "n3")


def test_identifiers_with_another_name(place, capsys):
    (place / "new.csv").write_text("sku;text;price\nd;red tea;2.5\n")
    assert "name the field that has it: --id FIELD" in failure(capsys, ["add", "tw", "new.csv"], 3)
    assert run(["add", "tw", "new.csv", "--id", "sku"]) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("tw: 1 added, 0 replaced; 4 documents now")
    assert "new.csv: the columns are separated by semicolons" in streams.err
    assert run(["index", "new.csv", "--id", "sku", "--model", "bm25", "--out", "other.tw"]) == 0
    assert termwise.open("other.tw").rank("red").doc_ids == ("d",)
