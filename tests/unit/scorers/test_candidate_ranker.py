"""Re-ranking of candidates by their stored texts."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import Document, Query, build_index
from termwise.cli.main import run as termwise
from termwise.errors import ParameterError, UnknownIdError
from termwise.index import Index
from termwise.records import Ranking, Run
from termwise.scorers.candidate_ranker import TextReranker

DOCUMENTS = [Document("a", "merge two lists"), Document("b", ""), Document("c", "lists of lists")]


class Lengths:
    """Scores a text by its length, or all texts equally for the query "same"."""

    name = "lengths"

    def score(self, query, texts):
        return np.array([0.0 if query == "same" else float(len(text)) for text in texts])


@pytest.fixture
def reranker(tmp_path):
    build_index(DOCUMENTS, tmp_path / "index", store_text=True)
    return TextReranker(Index.open(tmp_path / "index"), Lengths())


def test_candidates_are_sorted_by_the_scores_of_their_texts(reranker):
    ranking = reranker.rank(Query("q", "long"), candidates=["b", "c", "a"], k=2)
    assert ranking.doc_ids == ("a", "c")
    assert ranking.scores.tolist() == [15.0, 14.0]
    assert ranking.query_id == "q"


def test_ties_keep_the_given_order(reranker):
    assert reranker.rank("same", candidates=["c", "b", "a"]).doc_ids == ("c", "b", "a")


def test_a_run_is_reranked_for_its_queries(reranker):
    candidates = Run([Ranking(["a", "c"], [2.0, 1.0], "q1"), Ranking(["c", "a"], [2.0, 1.0], "q2")])
    steps = []
    timed = reranker.timed_run(
        [Query("q2", "long"), Query("q3", "long")],
        candidates=candidates,
        name="mine",
        progress=lambda *given: steps.append(given),
    )
    assert timed.run.name == "mine"
    assert list(timed.run.rankings) == ["q2"]
    assert timed.run["q2"].doc_ids == ("a", "c")
    assert steps == [("re-rank", 1, 1)]


def test_unknown_candidates_are_refused(reranker):
    with pytest.raises(UnknownIdError):
        reranker.rank("long", candidates=["a", "z"])


def test_an_index_without_texts_is_refused(tmp_path):
    build_index(DOCUMENTS, tmp_path / "index")
    with pytest.raises(ParameterError) as caught:
        TextReranker(Index.open(tmp_path / "index"), Lengths())
    assert "`store_text=True`" in caught.value.fixes_worded()[0]


@pytest.mark.parametrize(("scorer", "first"), [("bm25", "a"), ("python:{module}:length", "c")])
def test_the_command_takes_any_scorer(scorer, first, tmp_path, monkeypatch):
    build_index(DOCUMENTS, tmp_path / "index", store_text=True)
    (tmp_path / "lengths_of_texts.py").write_text(
        "def length(queries, texts):\n    return [-len(t) for t in texts]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "queries.tsv").write_text("q1\tmerging\n")
    (tmp_path / "run.trec").write_text("q1 Q0 c 1 2.0 first\nq1 Q0 a 2 1.0 first\n")
    files = {"--run": "run.trec", "--queries": "queries.tsv", "--output": "out"}
    options = [part for name, file in files.items() for part in (name, str(tmp_path / file))]
    named = scorer.format(module="lengths_of_texts")
    assert termwise(["rerank", str(tmp_path / "index"), *options, "--scorer", named]) == 0
    ranking = [line.split()[2] for line in (tmp_path / "out").read_text().splitlines()]
    assert ranking == [first, "ca".replace(first, "")]
