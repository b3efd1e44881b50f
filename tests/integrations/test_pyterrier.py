"""The adapter to PyTerrier: its own tests of transformers, and pipelines, experiments and artifacts with it."""

from __future__ import annotations

import os
import pickle
import tomllib
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import termwise
from termwise.errors import (
    DuplicateIdError,
    MalformedRecordError,
    ParameterError,
    UnknownIdError,
)

pt = pytest.importorskip("pyterrier", reason="install the extra pyterrier")
pd = pytest.importorskip("pandas")

from termwise.integrations.pyterrier import (  # noqa: E402
    TermwiseFeatures,
    TermwiseIndex,
    TermwiseRetriever,
    artifact_metadata,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:The inplace keyword:DeprecationWarning"
)  # PyTerrier, pandas 3.1

ROOT = Path(__file__).resolve().parents[2]

os.environ["PT_TEST_TRANSFORMER_REPORTS"] = "0"

DOCUMENTS = [
    {"docno": "d1", "text": "merge two sorted lists", "year": 1999},
    {"docno": "d2", "text": "shuffle a list", "year": 2005},
    {"docno": "d3", "text": "merge dictionaries", "year": 2024},
]

TOKS = [
    {"docno": "d1", "toks": {"wing": 2.25, "flutter": 3.5}},
    {"docno": "d2", "toks": {"wing": np.float32(2.0), "bird": 3}},
    {"docno": "d3", "toks": {}},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> TermwiseIndex:
    made = TermwiseIndex(tmp_path_factory.mktemp("pt") / "docs.tw")
    return made.indexer(attributes=["year"], store_text=True).index(DOCUMENTS)


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> TermwiseIndex:
    return TermwiseIndex(tmp_path_factory.mktemp("pt") / "toks.tw").index(iter(TOKS))


def queries(*texts: str):
    return pd.DataFrame({"qid": [str(number) for number in range(1, len(texts) + 1)], "query": texts})


def facts(error) -> dict[str, str]:
    return {label: str(value) for label, value in error.value.facts}


def _suite(make):
    """PyTerrier's two tests of a transformer, on one of an index that is made for them."""
    import tempfile

    folder = tempfile.TemporaryDirectory()

    def transformer():
        one = TermwiseIndex(f"{folder.name}/one.tw")
        if not one.built():
            one.indexer(store_text=True).index(DOCUMENTS)
        return make(one)

    made = pt.testing.transformer_test_class(transformer)
    made.addClassCleanup(folder.cleanup)
    return made


TestRetriever = _suite(lambda one: one.retriever())
TestFeatures = _suite(lambda one: TermwiseFeatures([one.retriever(), one.retriever()]))
TestExplainer = _suite(lambda one: one.explainer())
TestTextLoader = _suite(lambda one: one.text_loader())


def test_indexers_describe_their_columns(index):
    assert pt.inspect.indexer_inputs(index) == [["docno", "text"], ["docno", "toks"]]
    assert pt.inspect.indexer_inputs(index.indexer(fields=["title", "body"])) == [["docno", "title", "body"]]
    assert pt.inspect.indexer_inputs(index.toks_indexer()) == [["docno", "toks"]]
    for indexer in (index, index.indexer(), index.toks_indexer()):
        assert pt.inspect.transformer_type(indexer) == pt.inspect.TransformerType.indexer
        assert pt.schematic.transformer_schematic(indexer)["type"] == "indexer"
        pt.schematic.draw(pt.schematic.transformer_schematic(indexer))


def test_settings_are_attributes(index):
    retriever = index.retriever(k=5)
    assert [each.name for each in pt.inspect.transformer_attributes(retriever)] == [
        "index",
        "k",
        "conditions",
        "threads",
    ]
    changed = pt.inspect.transformer_apply_attributes(retriever, k=7)
    assert (changed.k, retriever.k) == (7, 5)
    assert index.retriever().set_parameter("k", 2) is None


def test_no_java_is_started(index):
    assert len(index.retriever()(queries("merging lists"))) == 3
    assert not pt.java.started()


def test_retrieval(index):
    found = (index.retriever())(queries("merging lists", "nothing of this", "dictionary"))
    assert found.columns.tolist() == ["qid", "query", "docno", "score", "rank"]
    assert found[["qid", "docno", "rank"]].values.tolist() == [
        ["1", "d1", 0],
        ["1", "d2", 1],
        ["1", "d3", 2],
        ["3", "d3", 0],
    ]
    assert found["score"].tolist()[:3] == index.searcher.rank("merging lists").scores.tolist()
    assert found.dtypes["rank"] == np.int64
    assert index.retriever(threads=2)(queries("merging lists", "dictionary")).equals(
        index.retriever()(queries("merging lists", "dictionary"))
    )


def test_a_mixture_is_built_of_an_iterator(tmp_path):
    made = TermwiseIndex(tmp_path / "instant.tw").indexer(model="instant").index(iter(DOCUMENTS))
    assert made.built()
    assert [part.name for part in made.searcher.parts] == ["bm25", "table"]
    assert made.retriever().search("merging lists")["docno"].tolist()[0] == "d1"
    assert made.explain("merging lists", "d1").parts


def test_a_retriever_is_pickled(index):
    assert len(index) == 3
    again = pickle.loads(pickle.dumps(index.retriever(k=2)))
    frame = queries("merging lists")
    assert again(frame).equals(index.retriever(k=2)(frame))


def test_conditions_apply_to_all_queries(index):
    late = index.retriever(conditions=termwise.Search(filter="year > 2000", must="merge"))
    assert late.search("merging lists")["docno"].tolist() == ["d3"]


@pytest.mark.parametrize("conditions", [termwise.Search("tea"), termwise.Search(sort="year"), "year > 2000"])
def test_conditions_are_not_a_query_or_an_order(index, conditions):
    with pytest.raises(ParameterError):
        index.retriever(conditions=conditions)


def test_other_columns_of_queries_stay(index):
    frame = queries("merging lists").assign(query_0="merge", qtype="short")
    found = index.retriever(k=1)(frame)
    assert found.iloc[0].to_dict() == {
        "qid": "1",
        "query": "merging lists",
        "query_0": "merge",
        "qtype": "short",
        "docno": "d1",
        "score": found["score"][0],
        "rank": 0,
    }


def test_reranking_keeps_all_documents_and_their_columns(index):
    given = pd.DataFrame(
        {
            "qid": ["q2", "q1", "q1", "q1"],
            "query": ["dictionary", "shuffling", "shuffling", "shuffling"],
            "docno": ["d1", "d1", "d3", "d2"],
            "score": [9.0, 3.0, 2.0, 1.0],
            "rank": [0, 0, 1, 2],
            "url": ["u", "v", "w", "x"],
        }
    )
    found = index.retriever(k=1)(given)
    assert found[["qid", "docno", "rank", "url"]].values.tolist() == [
        ["q2", "d1", 0, "u"],
        ["q1", "d2", 0, "x"],
        ["q1", "d1", 1, "v"],  # of the same score 0 as d3, which came later
        ["q1", "d3", 2, "w"],
    ]
    assert found["score"].tolist()[2:] == [0, 0]
    assert (index.retriever() % 1)(given)["docno"].tolist() == ["d1", "d2"]


def test_weights_of_queries_and_documents_from_elsewhere(weights):
    asked = pd.DataFrame({"qid": ["1"], "query_toks": [{"wing": 0.5, "flutter": 2.0, "never seen": 9.0}]})
    found = weights.retriever()(asked)
    assert found["docno"].tolist() == ["d1", "d2"]
    assert found["score"].tolist() == pytest.approx([0.5 * 2.25 + 2 * 3.5, 0.5 * 2.0], rel=0.01)
    given = asked.merge(pd.DataFrame({"qid": ["1"] * 2, "docno": ["d3", "d2"]}))
    assert weights.retriever()(given)["docno"].tolist() == ["d2", "d3"]
    assert weights.retriever().search("bird")["docno"].tolist() == ["d2"]
    both = asked.assign(query="bird")
    assert weights.retriever()(both)["docno"].tolist() == ["d1", "d2"], "weights come before the text"


def test_a_rank_cutoff_becomes_the_number_of_results(index):
    pipeline = (index.retriever() % 2).compile()
    assert isinstance(pipeline, TermwiseRetriever)
    assert pipeline.k == 2
    assert pipeline.fuse_rank_cutoff(5) is pipeline
    assert (index.retriever(k=1) % 2).compile().k == 1
    frame = queries("merging lists", "list")
    assert pipeline(frame).equals((index.retriever() % 2)(frame))
    given = index.retriever()(frame)
    assert pipeline(given).equals((index.retriever() % 2)(given)), "also if it re-ranks"


def test_features_of_several_indexes_are_computed_at_once(index, tmp_path):
    other = TermwiseIndex(tmp_path / "jm.tw").indexer(model="jm").index(DOCUMENTS)
    third = TermwiseIndex(tmp_path / "ml.tw").indexer(model="ml").index(DOCUMENTS)
    union = index.retriever() ** other.retriever() ** third.retriever()
    given = index.retriever()(queries("merging lists", "list of dictionaries"))
    fused = union.compile()
    assert isinstance(fused, TermwiseFeatures)
    assert len(fused.retrievers) == 3
    expected, found = union(given), fused(given)
    columns = ["qid", "docno", "score", "rank", "query"]
    assert found[columns].equals(expected[columns])
    assert np.array_equal(np.stack(found["features"]), np.stack(expected["features"]))
    right = (index.retriever() ** (other.retriever() ** third.retriever())).compile()
    assert np.array_equal(np.stack(right(given)["features"]), np.stack(expected["features"]))
    assert index.retriever().fuse_feature_union(pt.apply.doc_score(len), is_left=True) is None
    assert (index.retriever() % 1).compile().fuse_feature_union(other.retriever(), is_left=True) is None
    mixed = index.retriever() ** pt.apply.doc_score(lambda row: len(row["docno"]))
    assert np.stack(mixed(given)["features"]).shape == (len(given), 2)


def test_explanations_and_texts(index):
    found = (index.retriever() >> index.explainer() >> index.text_loader()).search("merging lists")
    for row in found.itertuples():
        assert row.explanation.score == pytest.approx(row.score)
        assert row.text == {each["docno"]: each["text"] for each in DOCUMENTS}[row.docno]
    assert index.explain("merging lists", "d1", competitors=1).rank == 1
    assert "text" in (index.retriever() >> index.text_loader())(queries("nothing of this"))


def test_texts_that_are_not_stored(tmp_path):
    made = TermwiseIndex(tmp_path / "docs.tw").indexer().index(DOCUMENTS)
    with pytest.raises(ParameterError, match="stores no texts"):
        made.text_loader()(pd.DataFrame({"docno": ["d1"]}))


def test_an_experiment_agrees_with_our_evaluation(judged, tmp_path):
    made = TermwiseIndex(tmp_path / "python.tw")
    made.indexer().index({"docno": doc.doc_id, "text": doc.text} for doc in judged.documents)
    topics = pd.DataFrame([{"qid": q.query_id, "query": q.text} for q in judged.queries])
    qrels = pd.DataFrame([{"qid": q.query_id, "docno": q.doc_id, "label": q.relevance} for q in judged.qrels])
    run = made.searcher.rank_many(judged.queries, k=100)
    ours = termwise.evaluate.evaluate(run, judged.qrels, ["nDCG@10", "R@100"])
    table = pt.Experiment(
        [made.retriever() % 100], topics, qrels, [pt.measures.nDCG @ 10, pt.measures.R @ 100], names=["bm25"]
    )
    for measure in ("nDCG@10", "R@100"):
        assert table[measure][0] == pytest.approx(
            ours.means[measure], abs=2e-3
        )  # equal scores are in another order
        assert table[measure][0] > 0.3


def test_our_results_go_into_pyterriers_operators(index, weights):
    fused = 0.5 * index.retriever() + 0.5 * index.retriever()
    assert fused.search("merging lists")["docno"].tolist()[0] == "d1"
    assert len((index.retriever() | weights.retriever()).search("list wing")) == 2


# --- artifacts ----------------------------------------------------------------------------------------------------


@pytest.fixture
def entry_points(tmp_path, monkeypatch):
    """The entry points of pyproject.toml, as an installation would register them."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    folder = tmp_path / "site" / "termwise_points-1.dist-info"
    folder.mkdir(parents=True)
    lines = [
        line
        for group in points
        if group.startswith("pyterrier.")
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points[group].items()), "")
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: termwise-points\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(folder.parent))


@pytest.mark.usefixtures("entry_points")
@pytest.mark.parametrize("model", ["bm25", "instant"])
def test_an_index_is_loaded_as_an_artifact(model, tmp_path):
    termwise.build_index([termwise.Document("d1", "merge lists")], tmp_path / "a.tw", model=model)
    loaded = pt.Artifact.load(str(tmp_path / "a.tw"))
    assert isinstance(loaded, TermwiseIndex)
    assert loaded.built()
    assert len(loaded) == 1
    assert loaded.retriever().search("lists")["docno"].tolist() == ["d1"]
    assert pt.inspect.artifact_type_format(loaded) == ("sparse_index", "termwise")


@pytest.fixture
def served(tmp_path):
    """Address of a folder that a web server on this machine serves, and the folder."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, directory=str(folder), **named)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


@pytest.mark.usefixtures("entry_points")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_package_is_downloaded_and_loaded(index, served, tmp_path, monkeypatch):
    monkeypatch.setattr(pt.io, "pyterrier_home", lambda: str(tmp_path / "home"))
    address, folder = served
    metadata: dict[str, str] = {}
    index.build_package(str(folder / "index.tar.lz4"), metadata_out=metadata, verbose=False)
    assert metadata == {"type": "sparse_index", "format": "termwise", "package_hint": "termwise"}
    loaded = pt.Artifact.from_url(f"{address}/index.tar.lz4")
    assert isinstance(loaded, TermwiseIndex)
    frame = queries("merging lists")
    assert loaded.retriever()(frame).equals(index.retriever()(frame))
    assert termwise.search.verify(loaded.folder) == []


def test_other_folders_are_no_artifacts(tmp_path):
    assert artifact_metadata(str(tmp_path), ["manifest.json", "data.properties"]) is None
    assert not TermwiseIndex(tmp_path / "none").built()


# --- bad input ----------------------------------------------------------------------------------------------------


def test_missing_columns_are_pyterriers_error(index):
    with pytest.raises(pt.validate.InputValidationError):
        index.retriever()(pd.DataFrame({"qid": ["1"]}))
    with pytest.raises(pt.validate.InputValidationError):
        index.explainer()(pd.DataFrame({"qid": ["1"], "docno": ["d1"]}))
    assert pt.inspect.transformer_inputs(index.retriever())[:2] == [["qid", "query_toks"], ["qid", "query"]]


@pytest.mark.parametrize(
    ("frame", "row", "column"),
    [
        ({"qid": ["1", 2], "query": ["a", "b"]}, "1", "qid"),
        ({"qid": ["1", "2"], "query": ["a", float("nan")]}, "1", "query"),
        ({"qid": ["1"], "query": [["a"]]}, "0", "query"),
        ({"qid": ["1"], "query_toks": ["wing"]}, "0", "query_toks"),
        ({"qid": ["1", "2"], "query_toks": [{}, {"wing": -1.0}]}, "1", "query_toks"),
        ({"qid": ["1"], "query_toks": [{"wing": float("nan")}]}, "0", "query_toks"),
        ({"qid": ["1"], "query_toks": [{5: 1.0}]}, "0", "query_toks"),
        ({"qid": ["1"], "query": ["a"], "docno": [None]}, "0", "docno"),
    ],
)
def test_wrong_values_name_row_and_column(index, frame, row, column):
    with pytest.raises(MalformedRecordError) as caught:
        index.retriever()(pd.DataFrame(frame))
    assert (facts(caught)["row"], facts(caught)["column"]) == (row, column)


def test_repeated_and_unknown_documents(index):
    with pytest.raises(DuplicateIdError) as caught:
        index.retriever()(pd.DataFrame({"qid": ["1", "1"], "query": ["a", "b"]}))
    assert facts(caught)["rows"] == "0 and 1"
    with pytest.raises(DuplicateIdError) as caught:
        index.retriever()(pd.DataFrame({"qid": ["1", "1"], "query": ["a", "a"], "docno": ["d1", "d1"]}))
    assert facts(caught)["docno"] == "d1"
    with pytest.raises(UnknownIdError):
        index.retriever()(pd.DataFrame({"qid": ["1"], "query": ["a"], "docno": ["d9"]}))


@pytest.mark.parametrize(
    ("documents", "number"),
    [
        ([{"docno": "d1", "toks": {"a": 1}}, {"docno": "d2"}], "1"),
        ([{"docno": "d1", "toks": {"a": "much"}}], "0"),
        ([{"docno": "d1", "toks": {"a": -1}}], "0"),
        ([{"docno": None, "toks": {"a": 1}}], "0"),
        ([{"docno": "d1", "toks": {"a": 1e39}}], "0"),
    ],
)
def test_wrong_weights_of_documents(tmp_path, documents, number):
    with pytest.raises(MalformedRecordError) as caught:
        TermwiseIndex(tmp_path / "a.tw").index(documents)
    assert facts(caught)["document"] == number
    assert not TermwiseIndex(tmp_path / "a.tw").built()


def test_wrong_texts_of_documents(tmp_path):
    target = TermwiseIndex(tmp_path / "a.tw")
    with pytest.raises(MalformedRecordError) as caught:
        target.indexer().index([{"docno": "d1", "text": "a"}, {"docno": "d2", "text": 5}])
    assert (facts(caught)["record"], facts(caught)["seen"]) == ("1", "text: 5")
    with pytest.raises(DuplicateIdError):
        target.indexer().index([{"docno": "d1", "text": "a"}, {"docno": "d1", "text": "b"}])
    with pytest.raises(DuplicateIdError):
        target.toks_indexer().index([TOKS[0], TOKS[0]])
    with pytest.raises(termwise.errors.EmptyCollectionError):
        target.index([])


def test_an_index_can_be_replaced(tmp_path):
    made = TermwiseIndex(tmp_path / "a.tw")
    made.indexer().index(DOCUMENTS)
    assert len(made) == 3
    with pytest.raises(termwise.errors.IndexExistsError):
        made.indexer().index(DOCUMENTS[:1])
    made.indexer(overwrite=True).index(DOCUMENTS[:1])
    assert len(made) == 1
