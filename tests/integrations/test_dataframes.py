"""Data frames of pandas, Polars and Arrow in and out; every input test runs with all three libraries."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

import termwise
from termwise.attributes import Schema
from termwise.errors import (
    DuplicateIdError,
    MalformedRecordError,
    ParameterError,
    UnknownNameError,
)

arrow = pytest.importorskip("pyarrow", reason="install the extra dataframes")
pandas = pytest.importorskip("pandas", reason="pip install pandas")
polars = pytest.importorskip("polars", reason="pip install polars")

from termwise.integrations.dataframes import (  # noqa: E402
    documents_from,
    explanations_to_arrow,
    qrels_from,
    queries_from,
    run_from,
    run_to_arrow,
    weights_to_arrow,
)

FRAMES = {
    "pandas": pandas.DataFrame,
    "polars": lambda columns: polars.DataFrame(columns, strict=False),
    "arrow": arrow.table,
}

DOCUMENTS = {
    "docno": ["d1", "d2", "d3"],
    "title": ["Merging", None, ""],
    "text": ["merge two sorted lists", "shuffle a list", "merge dictionaries"],
    "year": [1999, 2005, 2024],
}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def facts(error) -> dict[str, str]:
    return {label: str(value) for label, value in error.value.facts}


def test_documents_of_all_libraries_are_equal(frame):
    collection = documents_from(frame(DOCUMENTS), attributes=["year"])
    assert collection.length == 3
    expected = [
        termwise.Document("d1", "Merging\nmerge two sorted lists", {"year": 1999}, borders=(7,)),
        termwise.Document("d2", "shuffle a list", {"year": 2005}),
        termwise.Document("d3", "merge dictionaries", {"year": 2024}),
    ]
    assert list(collection.documents()) == expected
    assert list(collection.documents()) == expected, "a data frame can be read again"


def test_an_index_of_a_frame_is_that_of_its_documents(frame, tmp_path):
    weights = {"title": 3, "text": 1}
    collection = documents_from(frame(DOCUMENTS), fields=weights, attributes="all")
    searcher = termwise.build_index(collection, tmp_path / "frame.tw", fields=weights)
    assert searcher.rank("merging", filter="year < 2000").doc_ids == ("d1",)
    weighted = [
        termwise.Document.of_fields(doc_id, {"title": title or "", "text": text}, {"year": year})
        for doc_id, title, text, year in zip(*DOCUMENTS.values(), strict=True)
    ]
    direct = termwise.build_index(weighted, tmp_path / "direct.tw", fields=weights)
    assert searcher.rank("merging lists") == direct.rank("merging lists")


@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_a_stream_is_read_once(model, tmp_path):
    stream = arrow.table(DOCUMENTS).to_reader()
    searcher = termwise.build_index(documents_from(stream), tmp_path / "a.tw", model=model)
    assert searcher.documents == 3


def test_relations_of_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    relation = duckdb.sql("select 'a' as id, 'a tea' as text")
    assert [document.text for document in documents_from(relation).documents()] == ["a tea"]


def test_a_lazy_frame_is_collected_first():
    with pytest.raises(ParameterError, match="collect"):
        documents_from(polars.LazyFrame(DOCUMENTS))


def test_dates_lists_and_categories_are_attributes(tmp_path):
    frame = pandas.DataFrame(
        {
            "id": [1, 2],
            "text": ["a tea", "a cup"],
            "when": pandas.to_datetime(["2024-05-01", "2025-01-31"]),
            "tags": [["x", "y"], None],
            "kind": pandas.Categorical(["drink", "thing"]),
        }
    )
    searcher = termwise.build_index(documents_from(frame, attributes="all"), tmp_path / "a.tw")
    assert dict(searcher.schema) == {"when": "date", "tags": "keywords", "kind": "keyword"}
    assert searcher.rank("tea", filter='tags = "y" and when < "2025-01-01"').doc_ids == ("1",)
    typed = documents_from(frame, attributes=Schema({"kind": "keywords"}))
    assert dict(termwise.build_index(typed, tmp_path / "b.tw").schema) == {"kind": "keywords"}


def test_a_data_frame_is_a_collection(frame, tmp_path):
    searcher = termwise.build_index(frame(DOCUMENTS), tmp_path / "a.tw", attributes=["year"])
    expected = termwise.build_index(documents_from(frame(DOCUMENTS), attributes=["year"]), tmp_path / "b.tw")
    assert searcher.rank("merge lists").doc_ids == expected.rank("merge lists").doc_ids == ("d1", "d2", "d3")
    assert searcher.attributes(["d1"]) == [{"year": 1999}]
    with termwise.open_writer(tmp_path / "a.tw") as writer:
        assert writer.add(frame({**DOCUMENTS, "docno": ["d4", "d5", "d6"]})).new == 3


def test_nan_is_missing_in_every_library(frame, tmp_path):
    prices = frame({"id": ["a", "b"], "text": ["tea", "pot"], "price": [2.5, math.nan]})
    searcher = termwise.build_index(prices, tmp_path / "a.tw", attributes="all")
    assert searcher.attributes(["a", "b"]) == [{"price": 2.5}, {}]
    records = pandas.DataFrame({"id": ["a"], "text": ["tea"], "x": [pandas.NA], "y": [pandas.NaT]})
    found = termwise.build_index(records.to_dict("records"), tmp_path / "b.tw", attributes="all")
    assert dict(found.schema) == {}


def test_a_named_pandas_index_is_the_identifier():
    frame = pandas.DataFrame({"text": ["one", "two"]}, index=pandas.Index(["a", "b"], name="docno"))
    assert [document.doc_id for document in documents_from(frame).documents()] == ["a", "b"]


def test_missing_texts_are_empty_and_missing_identifiers_are_errors(frame):
    documents = documents_from(frame({"id": ["a", "b"], "text": ["one", None]})).documents()
    assert [document.text for document in documents] == ["one", ""]
    nan = pandas.DataFrame({"id": ["a", "b"], "text": ["one", math.nan]})
    assert [document.text for document in documents_from(nan).documents()] == ["one", ""]
    with pytest.raises(MalformedRecordError) as caught:
        list(documents_from(frame({"id": ["a", None], "text": ["one", "two"]})).documents())
    assert facts(caught)["row"] == "1"
    assert facts(caught)["seen"] == "id: None"
    assert facts(caught)["data frame"].endswith(("DataFrame", "Table"))


def test_wrong_types_name_row_and_column(frame):
    with pytest.raises(MalformedRecordError) as caught:
        list(documents_from(frame({"id": ["a"], "text": [5]})).documents())
    assert (facts(caught)["row"], facts(caught)["seen"]) == ("0", "text: 5")
    with pytest.raises(MalformedRecordError) as caught:
        list(documents_from(frame({"id": [1.5], "text": ["one"]})).documents())
    assert facts(caught)["seen"] == "id: 1.5"


def test_a_column_of_several_types_names_the_first_odd_row():
    mixed = pandas.DataFrame({"id": ["a", "b", "c"], "text": ["one", math.nan, 5]}, dtype=object)
    with pytest.raises(MalformedRecordError) as caught:
        list(documents_from(mixed).documents())
    assert facts(caught) == {
        "data frame": "pandas.DataFrame",
        "row": "2",
        "column": "text",
        "expected": "a str, as in row 0",
        "seen": "5",
    }


def test_missing_columns(frame):
    with pytest.raises(MalformedRecordError, match="no identifier"):
        list(documents_from(frame({"name": ["a"], "text": ["one"]})).documents())
    with pytest.raises(MalformedRecordError, match="no text under a known name"):
        list(documents_from(frame({"id": ["a"], "plot": ["one"]})).documents())
    with pytest.raises(UnknownNameError) as caught:
        list(documents_from(frame({"id": ["a"], "plot": ["one"]}), fields=["plott"]).documents())
    assert "did you mean plot?" in str(caught.value)
    with pytest.raises(UnknownNameError) as caught:
        qrels_from(frame({"qid": ["1"], "docno": ["d"]}))
    assert facts(caught)["columns"] == "qid, docno"


def test_equal_identifiers_are_refused(frame, tmp_path):
    twice = documents_from(frame({"id": ["a", "b", "a"], "text": ["one", "two", "three"]}))
    with pytest.raises(DuplicateIdError) as caught:
        termwise.build_index(twice, tmp_path / "twice.tw")
    assert facts(caught) == {"doc_id": "a", "documents": "number 1 and number 3"}
    with pytest.raises(DuplicateIdError) as caught:
        queries_from(frame({"qid": ["1", "2", "1"], "query": ["a", "b", "c"]}))
    assert facts(caught)["rows"] == "0 and 2"
    with pytest.raises(DuplicateIdError) as caught:
        run_from(frame({"qid": ["1", "1"], "docno": ["d", "d"], "score": [2.0, 1.0]}))
    assert facts(caught)["rows"] == "0 and 1"
    with pytest.raises(DuplicateIdError) as caught:
        qrels_from(frame({"qid": ["1", "1"], "docno": ["d", "d"], "label": [0, 1]}))
    assert facts(caught)["rows"] == "0 and 1"


def test_what_is_no_frame_is_refused():
    for given in ([], {"id": ["a"]}, "docs.csv", None):
        with pytest.raises(ParameterError, match="not a data frame"):
            documents_from(given)
    repeated = pandas.DataFrame([["a", "one", "two"]], columns=["id", "text", "text"])
    with pytest.raises((ParameterError, MalformedRecordError)):
        list(documents_from(repeated).documents())
    two = arrow.Table.from_arrays([arrow.array(["a"]), arrow.array(["b"])], names=["id", "id"])
    with pytest.raises(ParameterError, match="two columns of one name"):
        list(documents_from(two).documents())


def test_queries_qrels_and_runs(frame):
    queries = queries_from(frame({"qid": [3, 4], "query": ["wing flutter", ""]}))
    assert queries == [termwise.Query("3", "wing flutter"), termwise.Query("4", "")]
    qrels = qrels_from(frame({"query_id": ["q"], "doc_id": ["d"], "relevance": [-2]}))
    assert qrels == [termwise.Qrel("q", "d", -2)]
    run = run_from(
        frame({"qid": ["2", "1", "1", "1"], "docno": ["x", "a", "b", "c"], "score": [1, 2, 3, 2]}),
        name="mine",
    )
    assert (run.name, list(run.rankings), run["1"].doc_ids) == ("mine", ["2", "1"], ("b", "a", "c"))
    for bad in (math.nan, math.inf, None):
        with pytest.raises(MalformedRecordError) as caught:
            run_from(frame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, bad]}))
        assert (facts(caught)["row"], facts(caught)["column"]) == ("1", "score")
    with pytest.raises(MalformedRecordError) as caught:
        qrels_from(frame({"qid": ["1"], "docno": ["a"], "label": ["yes"]}))
    assert facts(caught)["column"] == "label"


def test_a_run_survives_every_library():
    run = termwise.Run(
        [
            termwise.Ranking(["b", "a", "c"], [2.0, 1.5, 1.5], query_id="q1"),
            termwise.Ranking(["z"], [0.1], query_id="q2"),
        ],
        name="mine",
    )
    table = run_to_arrow(run)
    assert table.schema.names == ["query_id", "doc_id", "rank", "score"]
    for made in (table, table.to_pandas(), polars.DataFrame(table)):
        back = run_from(made, name="mine")
        assert list(back) == list(run)
    assert run_to_arrow(termwise.Run([])).num_rows == 0
    with pytest.raises(ParameterError):
        run_to_arrow([])


def test_contributions_of_a_table_add_up_to_the_score(tmp_path):
    searcher = termwise.build_index(
        documents_from(arrow.table(DOCUMENTS)), tmp_path / "a.tw", store_text=True
    )
    found = searcher.search(termwise.Search("merging a sorted list"))
    table = explanations_to_arrow(found.explain()).to_pandas()
    sums = table.groupby("doc_id")["score"].sum()
    assert sums.to_dict() == pytest.approx(
        dict(zip(found.ranking.doc_ids, found.ranking.scores, strict=True))
    )
    assert {"merg", "sort", "list"} >= set(table["term"]) > {"merg"}
    with pytest.raises(ParameterError):
        explanations_to_arrow([None])


@pytest.mark.parametrize("model", ["bm25", "dirichlet"])
def test_stored_weights_are_those_of_the_index(model, tmp_path, monkeypatch):
    monkeypatch.setattr("termwise.integrations.weight_blocks.BLOCK", 2)
    searcher = termwise.build_index(documents_from(arrow.table(DOCUMENTS)), tmp_path / "a.tw", model=model)
    frame = polars.DataFrame(weights_to_arrow(searcher))
    assert frame["doc_id"].to_list() == DOCUMENTS["docno"]
    query = searcher.encode("merge lists")
    asked = {searcher.index.vocabulary.token(int(t)): float(w) for t, w in zip(*query.row(0), strict=True)}
    constant = 0.0  # of the floors, the same for all documents
    ranked = searcher.rank("merge lists", candidates=DOCUMENTS["docno"])
    expected = {scored.doc_id: scored.score for scored in ranked}
    if model == "dirichlet":
        assert "[background]" in frame["terms"].explode().to_list()
        constant = expected["d1"] - sum(
            asked.get(term, 0) * weight
            for term, weight in zip(frame["terms"][0], frame["weights"][0], strict=True)
        )
    for doc_id, terms, weights in frame.iter_rows():
        score = sum(asked.get(term, 0) * weight for term, weight in zip(terms, weights, strict=True))
        assert expected[doc_id] == pytest.approx(constant + score, rel=1e-5)


def test_weights_of_vectors_and_mixtures_are_refused(tmp_path):
    mixture = termwise.build_index(documents_from(arrow.table(DOCUMENTS)), tmp_path / "m.tw", model="instant")
    with pytest.raises(ParameterError, match="mixture of several"):
        weights_to_arrow(mixture)
    with pytest.raises(ParameterError, match="has vectors"):
        weights_to_arrow(termwise.open(mixture.parts[1].index.path))


def test_nothing_is_imported_before_it_is_used():
    program = (
        "import sys, termwise, termwise.integrations; termwise.build_index; "
        "print(sorted({'pandas', 'polars', 'pyarrow', 'sklearn', 'mteb', 'pyterrier'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
