"""SciDocs, in miniature: the same files, a handful of papers."""

from __future__ import annotations

import json

import pytest

from termwise.collection import open_collection, read_qrels, read_queries, read_seeds
from termwise.collection.pairs import read_sources
from termwise.errors import DataError, MalformedRecordError, MissingFileError, StorageError

TASKS = {"co-view": "coview", "co-read": "coread", "co-cite": "cocite", "cite": "cite"}


def about(number):
    return {
        "paper_id": f"p{number}",
        "title": f"Title {number}",
        "abstract": f"Abstract of {number}.",
        "authors": ["1"],
        "year": 2010,
        "cited_by": [],
        "references": [],
    }


@pytest.fixture
def data(tmp_path):
    """Forty papers: 20 validation queries, 4 test queries, of each one good candidate and two bad ones."""
    papers = {f"p{number}": about(number) for number in range(40)}
    papers["p1"]["abstract"] = None
    del papers["p2"]["abstract"]
    papers["p3"]["title"] = ""
    papers["p3"]["abstract"] = "Two\nlines,  and\ta tab."
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "paper_metadata_view_cite_read.json").write_text(json.dumps(papers))
    for task in TASKS.values():
        (folder / task).mkdir()
        for name, queries in (("val", range(20)), ("test", range(20, 24))):
            lines = []
            for query in queries:
                lines += [f"p{query} 0 p{(query + step) % 40} {int(step == 1)}" for step in (1, 2, 3)]
            (folder / task / f"{name}.qrel").write_text("\n".join(lines) + "\n")
    return folder


def queries_of(folder, split):
    return {qrel.query_id for qrel in read_qrels(folder / "qrels" / f"{split}.tsv")}


def test_four_collections_are_written(data, tmp_path):
    from scidocs import convert

    counts = convert(data, tmp_path / "out")
    assert counts["cite"] == {
        "papers": 40,
        "judgments without their paper": 0,
        "validation queries that are test queries": 0,
        "queries without a text": 0,
        "train": 17,
        "validation": 3,
        "test": 4,
    }
    for name in TASKS:
        folder = tmp_path / "out" / name
        documents = {one.doc_id: one.text for one in open_collection(folder).documents()}
        assert len(documents) == 40
        assert documents["p0"] == "Title 0 Abstract of 0."
        assert documents["p1"] == "Title 1", "no abstract is no word, and not nan"
        assert documents["p2"] == "Title 2"
        assert documents["p3"] == "Two lines, and a tab."
        splits = {split: queries_of(folder, split) for split in ("train", "validation", "test")}
        assert splits["test"] == {"p20", "p21", "p22", "p23"}
        assert splits["train"] | splits["validation"] == {f"p{number}" for number in range(20)}
        assert not splits["train"] & splits["validation"]
        asked = {one.query_id: one.text for one in read_queries(folder / "queries.jsonl")}
        assert asked["p20"] == documents["p20"]
        assert read_seeds(folder / "seeds.tsv")["p20"] == {"p20"}


def test_the_split_is_always_the_same(data, tmp_path):
    from scidocs import convert

    for name in ("one", "two"):
        convert(data, tmp_path / name)
    for task in TASKS:
        for file in ("corpus.jsonl", "queries.jsonl", "seeds.tsv", "qrels/train.tsv", "qrels/validation.tsv"):
            assert (tmp_path / "one" / task / file).read_bytes() == (
                tmp_path / "two" / task / file
            ).read_bytes()


def test_only_what_is_relevant_is_trained_on(data, tmp_path):
    from scidocs import convert

    convert(data, tmp_path / "out")
    (source,) = read_sources(tmp_path / "out" / "cite")
    assert len(source) == 17
    texts = {(source.queries[query], source.passages[passage]) for query, passage in source.pairs.tolist()}
    assert all(int(p.split()[1]) == int(q.split()[1]) + 1 for q, p in texts if "Title" in p and "Title" in q)


def test_papers_that_are_not_there_are_counted(data, tmp_path):
    from scidocs import convert

    with (data / "cite" / "test.qrel").open("a") as file:
        file.write("p20 0 gone 1\nnobody 0 p1 1\n")
    counts = convert(data, tmp_path / "out")
    assert counts["cite"]["judgments without their paper"] == 2
    assert counts["co-view"]["judgments without their paper"] == 0
    assert queries_of(tmp_path / "out" / "cite", "test") == {"p20", "p21", "p22", "p23"}


def test_a_query_of_both_splits_is_a_test_query(data, tmp_path):
    from scidocs import convert

    with (data / "cite" / "val.qrel").open("a") as file:
        file.write("p20 0 p1 1\n")
    counts = convert(data, tmp_path / "out")["cite"]
    assert (counts["train"], counts["validation queries that are test queries"]) == (17, 1)
    assert "p20" not in queries_of(tmp_path / "out" / "cite", "train")
    assert "p20" not in queries_of(tmp_path / "out" / "cite", "validation")


def test_all_that_is_missing_is_named(data, tmp_path):
    from scidocs import convert

    (data / "cite" / "val.qrel").unlink()
    (data / "paper_metadata_view_cite_read.json").unlink()
    with pytest.raises(MissingFileError) as caught:
        convert(data, tmp_path / "out")
    assert [str(value).rpartition("/")[2] for _, value in caught.value.facts] == [
        "paper_metadata_view_cite_read.json",
        "val.qrel",
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[1]", "not an object"),
        ("{", "not JSON"),
        ('{"p1": 3}', "a paper is not an object"),
        ('{"p1": {"title": 3}}', "title of a paper is not a text"),
        ('{"": {"title": "x"}}', "no identifier"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_papers_that_are_none(data, tmp_path, written, said):
    from scidocs import convert

    (data / "paper_metadata_view_cite_read.json").write_text(written)
    with pytest.raises(MalformedRecordError, match=said):
        convert(data, tmp_path / "out")


def test_half_a_letter_is_no_trouble(data, tmp_path):
    from scidocs import convert

    path = data / "paper_metadata_view_cite_read.json"
    path.write_text(path.read_text().replace("Title 5", "Title \\ud800"))
    convert(data, tmp_path / "out")
    texts = {one.doc_id: one.text for one in open_collection(tmp_path / "out" / "cite").documents()}
    assert texts["p5"].startswith("Title ?")


def test_all_tasks_are_read_before_anything_is_written(data, tmp_path):
    from scidocs import convert

    (data / "cite" / "val.qrel").write_text("p1 0 p2\n1\n")
    with pytest.raises(MalformedRecordError):
        convert(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_where_nothing_can_be_written(data, tmp_path):
    from scidocs import convert

    (tmp_path / "out").write_text("mine")
    with pytest.raises(StorageError, match="cannot be written"):
        convert(data, tmp_path / "out")


def test_nothing_is_left_of_a_split(data, tmp_path):
    from scidocs import convert

    (data / "cite" / "test.qrel").write_text("nobody 0 p1 1\n")
    with pytest.raises(DataError, match="no judgment is left"):
        convert(data, tmp_path / "out")
