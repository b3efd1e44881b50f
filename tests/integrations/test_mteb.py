"""The search model of mteb: its protocol, and a retrieval and a re-ranking task that mteb evaluates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import termwise
from termwise.errors import MalformedRecordError, ParameterError, UnknownIdError
from termwise.integrations.mteb import TermwiseSearch, separated_scores
from termwise.models import Lookup

mteb = pytest.importorskip("mteb", reason="install the extra mteb")

from mteb.abstasks.retrieval import AbsTaskRetrieval  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402
from mteb.models import SearchProtocol  # noqa: E402

CORPUS = [
    {"id": "d1", "title": "", "text": "merge two sorted lists"},
    {"id": "d2", "title": "Shuffling", "text": "shuffle a list"},
    {"id": "d3", "text": "merge dictionaries"},
]

NOTHING = {
    "task_metadata": None,
    "hf_split": "test",
    "hf_subset": "default",
    "encode_kwargs": {},
    "num_proc": None,
}


def metadata(name: str, kind: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        dataset={"path": "local", "revision": "1"},
        description="Questions about the standard library of Python.",
        reference=None,
        type=kind,
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )


class PythonRetrieval(AbsTaskRetrieval):
    """The shipped questions, from memory."""

    metadata = metadata("TermwisePythonRetrieval", "Retrieval")

    def __init__(self, judged, candidates=None):
        super().__init__()
        self._judged, self._candidates = judged, candidates

    def load_data(self, num_proc=None, **kwargs):
        documents, queries, qrels = self._judged
        self.corpus = {"test": {each.doc_id: {"text": each.text} for each in documents}}
        self.queries = {"test": {query.query_id: query.text for query in queries}}
        self.relevant_docs = {"test": {}}
        for qrel in qrels:
            self.relevant_docs["test"].setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
        if self._candidates is not None:
            self.top_ranked = {"test": self._candidates}
        self.data_loaded = True


class PythonReranking(PythonRetrieval):
    metadata = metadata("TermwisePythonReranking", "Reranking")


def evaluated(model, task, folder=None) -> dict[str, float]:
    cache = None if folder is None else mteb.ResultCache(folder)
    result = mteb.evaluate(
        model, task, cache=cache, prediction_folder=folder, co2_tracker=False, show_progress_bar=False
    )
    (scores,) = result.task_results[0].scores["test"]
    return scores


@pytest.fixture
def small() -> TermwiseSearch:
    model = TermwiseSearch()
    model.index(CORPUS, **NOTHING)
    return model


def test_it_is_a_search_model_of_mteb():
    assert isinstance(TermwiseSearch(), SearchProtocol)
    assert isinstance(TermwiseSearch("best"), SearchProtocol)


def test_descriptions():
    for model, name, kind in (
        ("bm25", "termwise/bm25", "sparse"),
        ("best", "termwise/best", "hybrid"),
        (Lookup(), "termwise/lookup", "dense"),
        (Lookup(form="terms"), "termwise/lookup", "sparse"),
    ):
        meta = TermwiseSearch(model).mteb_model_meta
        assert (meta.name, meta.model_type, meta.revision) == (name, [kind], termwise.__version__)
    assert TermwiseSearch(name="mine/tuned").mteb_model_meta.name == "mine/tuned"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_a_retrieval_task_has_the_measures_of_our_evaluation(judged, tmp_path):
    scores = evaluated(TermwiseSearch(threads=2), PythonRetrieval(judged))
    searcher = termwise.build_index(judged.documents, tmp_path / "python.tw")
    run = searcher.rank_many(judged.queries, k=1000)
    ours = termwise.evaluate.evaluate(run, judged.qrels, ["nDCG@10", "R@100", "RR@10"]).means
    assert scores["ndcg_at_10"] == pytest.approx(ours["nDCG@10"], abs=1e-5)  # mteb rounds
    assert scores["recall_at_100"] == pytest.approx(ours["R@100"], abs=1e-5)
    assert scores["mrr_at_10"] == pytest.approx(ours["RR@10"], abs=1e-5)
    assert scores["ndcg_at_10"] > 0.3


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_a_reranking_task_has_the_measures_of_our_evaluation(judged, tmp_path):
    searcher = termwise.build_index(judged.documents, tmp_path / "python.tw", model="jm")
    first = searcher.rank_many(judged.queries, k=20)
    candidates = {ranking.query_id: list(ranking.doc_ids) for ranking in first}
    scores = evaluated(TermwiseSearch("bm25"), PythonReranking(judged, candidates), tmp_path / "results")
    saved = {path.name for path in (tmp_path / "results").rglob("*.json")}
    assert saved >= {
        "TermwisePythonReranking.json",
        "model_meta.json",
        "TermwisePythonReranking_predictions.json",
    }
    reranker = termwise.build_index(judged.documents, tmp_path / "bm25.tw")
    run = reranker.rank_many(judged.queries, candidates=first)
    ours = termwise.evaluate.evaluate(run, judged.qrels, ["nDCG@10", "R@20"]).means
    assert scores["ndcg_at_10"] == pytest.approx(ours["nDCG@10"], abs=1e-5)
    assert scores["recall_at_20"] == pytest.approx(ours["R@20"], abs=1e-5)


def test_results_are_scores_by_query_and_document(small):
    queries = [{"id": "q1", "text": "merging lists"}, {"id": "q2", "text": "nothing of this"}]
    found = small.search(queries, top_k=2, **NOTHING)
    assert {query_id: list(scores) for query_id, scores in found.items()} == {"q1": ["d1", "d3"], "q2": []}
    assert all(type(score) is float for scores in found.values() for score in scores.values())


def test_candidates(small):
    queries = [{"id": "q1", "text": "merging"}, {"id": "q2", "text": "lists"}, {"id": "q3", "text": "lists"}]
    top = {"q1": ["d2", "d3", "d2"], "q2": []}
    found = small.search(queries, top_k=10, top_ranked=top, **NOTHING)
    assert {query_id: list(scores) for query_id, scores in found.items()} == {
        "q1": ["d3", "d2"],
        "q2": [],
        "q3": [],
    }
    with pytest.raises(UnknownIdError):
        small.search(queries, top_k=10, top_ranked={"q1": ["d9"]}, **NOTHING)


def test_titles_instructions_and_conversations(small):
    queries = [
        {"id": "q1", "text": "shuffling"},
        {"id": "q2", "text": "nothing", "instruction": "merge"},
        {"id": "q3", "text": [{"role": "user", "content": "shuffle"}, {"role": "user", "content": "please"}]},
    ]
    found = small.search(queries, top_k=1, **NOTHING)
    assert [list(scores) for scores in found.values()] == [["d2"], ["d3"], ["d2"]]


def test_ties_are_set_apart_in_our_order():
    ranking = termwise.Ranking(["a", "z", "b", "c"], [1.0, 1.0, 1.0, 0.5])
    scores = separated_scores(ranking)
    values = np.array(list(scores.values()), dtype=np.float32)
    assert list(scores) == ["a", "z", "b", "c"]
    assert (np.diff(values) < 0).all()
    assert np.abs(values - ranking.scores).max() < 2e-7
    assert separated_scores(termwise.Ranking([], [])) == {}


def test_an_index_is_removed_with_its_model():
    model = TermwiseSearch()
    model.index(CORPUS, **NOTHING)
    folder = Path(model._searcher.path).parent
    assert folder.is_dir()
    model.index(CORPUS[:1], **NOTHING)
    assert not folder.exists()
    again = Path(model._searcher.path).parent
    del model
    assert not again.exists()


def test_wrong_input():
    model = TermwiseSearch()
    with pytest.raises(ParameterError, match="no index"):
        model.search([], top_k=1, **NOTHING)
    with pytest.raises(MalformedRecordError) as caught:
        model.index([CORPUS[0], {"id": "d2", "text": None}, {"text": "no id"}], **NOTHING)
    assert dict(caught.value.facts)["record"] == 2
    with pytest.raises(ParameterError, match="no index"):
        model.search([], top_k=1, **NOTHING)
    model.index(CORPUS, **NOTHING)
    for record, field in (({"id": "q", "text": None}, "text"), ({"id": 5, "text": "a"}, "id")):
        with pytest.raises(MalformedRecordError) as caught:
            model.search([{"id": "q0", "text": "a"}, record], top_k=1, **NOTHING)
        assert dict(caught.value.facts)["query"] == 1
        assert dict(caught.value.facts)["field"] == field
    with pytest.raises(termwise.errors.UnknownNameError):
        TermwiseSearch("bm26")
    with pytest.raises(ParameterError):
        TermwiseSearch(threads=0)


def test_mteb_is_imported_for_descriptions_only():
    program = "import sys, termwise.integrations.mteb as m; m.TermwiseSearch(); print('mteb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
