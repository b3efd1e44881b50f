"""The benchmarks of encoding and of the query side: what they compare computes the same."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from termwise.search.retrieval import first_stage
from termwise.search.vector import query_vector

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    if not BENCHMARKS.is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(BENCHMARKS))


ROWS = [
    ([3000, 3001, 3002], [1.0, 2.0, 0.5]),
    ([3001, 3005], [0.25, 4.0]),
    ([3002, 3003, 3004, 3005], [1.0, 1.0, 2.0, 3.0]),
]


@pytest.fixture
def searcher(tmp_path, monkeypatch):
    import query_side

    rows = [(np.array(terms, np.int32), np.array(weights, np.float32)) for terms, weights in ROWS]
    monkeypatch.setattr(query_side, "drawn", lambda analyzer, random: rows)
    return query_side.made("tildev2", None, Namespace(work=tmp_path, documents=40, seed=0))


def test_the_plain_forms_give_our_scores(searcher):
    import query_side

    index = searcher.index
    assert len(index) == 40
    impacts = query_side.Impacts.of(index)
    postings = impacts.postings(index.manifest.terms)
    words = " ".join(index.vocabulary.token(term) for term in (3001, 3005, 3005))
    vector = query_vector(index, searcher.encode(words))
    assert vector.weights.sum() in (2, 3)
    chosen = np.arange(40)
    assert np.allclose(impacts.one_by_one(vector, chosen), impacts.gathered(vector, chosen))
    assert np.allclose(query_side.scored(index, vector, chosen), impacts.gathered(vector, chosen))
    assert query_side.agreement(index, [vector], postings, 10) == 1.0
    peer = query_side.bm25s_engine(postings)
    if peer is not None:
        terms = np.repeat(vector.terms, vector.weights).tolist()
        _, scores = peer.retrieve([terms], k=5, show_progress=False, n_threads=1)
        _, ours = first_stage(index, vector, 5)
        assert np.allclose(scores[0], ours / vector.unit)


def test_documents_are_mixed_from_rows_that_share_a_term():
    import query_side

    rows = [(np.array(terms, np.int32), np.array(weights, np.float32)) for terms, weights in ROWS]
    made = list(query_side.grown(rows, 50, 4, np.random.default_rng(1)))
    assert len(made) == 50
    assert all(0 < len(terms) <= 4 and (np.diff(terms) > 0).all() for terms, _ in made)
    as_they_are = list(query_side.grown(rows, 3, None, np.random.default_rng(1)))
    assert sorted(len(terms) for terms, _ in as_they_are) == [2, 3, 4]


def test_batches_are_counted_with_their_padding():
    import encoding

    batches = [np.array([0, 2]), np.array([1])]
    assert encoding.filled(batches, [3, 9, 5]) == 2 * 5 + 9
    names = [encoding.TORCH, encoding.TORCH_AS_COME, encoding.OURS, "onnxruntime int8, by length"]
    assert (encoding.OURS, encoding.TORCH) in encoding.pairs(names)
    assert ("onnxruntime int8, by length", encoding.OURS) in encoding.pairs(names)


def test_contestants_take_turns_over_the_same_passages():
    import encoding

    seen = []

    def network(name):
        def run(ids, mask):
            seen.append((name, int(mask.sum())))
            return ids.astype(np.float32)

        return run

    inputs = [np.arange(1, 1 + length, dtype=np.int32) for length in (3, 9, 5)]
    contestants = {
        "one": (network("one"), [np.array([1]), np.array([2, 0])]),
        "other": (network("other"), [np.array([0, 1]), np.array([2])]),
    }
    seconds = encoding.interleaved(contestants, inputs, 2)
    assert {name: times.shape for name, times in seconds.items()} == {"one": (2,), "other": (2,)}
    assert [pieces for name, pieces in seen[-4:]] == [9, 8, 12, 5]
    found = encoding.difference(contestants["one"], contestants["other"], inputs)
    assert found["largest"] == 0.0
    assert encoding.ratio(np.array([1.0, 2.0]), np.array([2.0, 2.0]))["median"] == 1.5
