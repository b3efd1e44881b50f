"""Vectors of a teacher: cosines and hard negatives."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.progress import Execution
from termwise.train.data.teacher import VECTORS
from termwise.train.run_folder import RunFolder

torch = pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.errors import ForeignFolderError  # noqa: E402
from termwise.progress import silent  # noqa: E402
from termwise.train.data.teacher import TeacherVectors  # noqa: E402
from termwise.train.dense_encoder import load_dense_encoder  # noqa: E402

from .conftest import made_source  # noqa: E402


def circle(*degrees):
    """Return unit vectors in a plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def source(queries, passages, *pairs):
    return PairSource("mini", ["q"] * queries, ["p"] * passages, np.array(pairs, dtype=np.int32))


def test_cosines_of_queries_and_passages_of_several_sources():
    queries, passages = [(0, 3), (1, 0)], [(0, 0), (1, 0), (1, 7)]
    teacher = TeacherVectors(queries, passages, circle(0, 90, 0, 60, 90))
    seen = teacher.cosines([(1, 0), (0, 3)], [(1, 7), (0, 0), (1, 0)])
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen, [[1, 0, np.sqrt(3) / 2], [0, 1, 0.5]], atol=1e-6)


def test_negatives_are_the_first_passages_by_cosine_that_are_not_relevant():
    mined_from = source(2, 6, (0, 0), (0, 1), (1, 5))
    passages = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    # The query is at 0 degrees; passages 0 and 1 are relevant, passage 5 has no vector, source 1 is another one.
    teacher = TeacherVectors([(0, 0)], passages, circle(0, 5, 1, 20, 90, 10, 0))
    mined = teacher.mine_negatives(0, mined_from, depth=2, seed=1)
    assert (mined.shape, mined.dtype) == ((3, 64), np.int32)
    assert mined[0].tolist() == mined[1].tolist()  # of one query
    assert sorted(mined[0, :2].tolist()) == [2, 4]
    assert (mined[0, 2:] == -1).all()
    assert (mined[2] == -1).all()  # the query has no vector


def test_negatives_are_drawn_with_the_seed_from_the_depth():
    many = source(1, 200, (0, 7))
    passages = [(0, passage) for passage in range(200)]
    teacher = TeacherVectors([(0, 0)], passages, circle(0, *np.linspace(0, 90, 200)))
    drawn = [teacher.mine_negatives(0, many, depth=100, seed=seed)[0] for seed in (1, 1, 2)]
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    assert len(set(drawn[0].tolist())) == 64
    assert max(drawn[0]) <= 100  # the first hundred without passage 7
    assert 7 not in drawn[0]


def test_equal_cosines_are_ranked_by_position():
    tied = source(1, 4, (0, 3))
    teacher = TeacherVectors([(0, 0)], [(0, passage) for passage in range(4)], circle(0, 9, 9, 9, 9))
    assert sorted(teacher.mine_negatives(0, tied, depth=2, seed=1)[0, :2].tolist()) == [0, 1]


def test_vectors_are_computed_once_and_belong_to_their_texts(base, tmp_path):
    encoder = load_dense_encoder(base, say=silent)
    sources = [made_source("air", 5), made_source("code", 5, seed=1)]
    queries, passages = {(1, 2), (0, 4)}, {(0, 1), (1, 2), (1, 3)}
    made = TeacherVectors.make(encoder, sources, queries, passages, RunFolder(tmp_path), length=12)
    with torch.no_grad():
        rows = []
        for text in (sources[0].queries[4], sources[1].passages[3]):
            pieces = [encoder.analyzer.vocabulary.number(piece) for piece in encoder.analyzer.tokens(text)]
            ids = torch.tensor([[5, *pieces, 6]])
            rows.append(encoder.network(ids, torch.ones_like(ids))[0])
    assert made.cosines([(0, 4)], [(1, 3)]).item() == pytest.approx((rows[0] @ rows[1]).item(), abs=2e-3)
    said = []
    again = TeacherVectors.make(
        encoder,
        sources,
        queries,
        passages,
        RunFolder(tmp_path, execution=Execution(say=said.append)),
        length=12,
    )
    assert said[-1] == f"5 vectors were in {tmp_path / VECTORS}"
    assert again.cosines([(1, 2)], [(0, 1)]) == made.cosines([(1, 2)], [(0, 1)])
    with pytest.raises(ForeignFolderError):
        TeacherVectors.make(encoder, sources, queries, {(0, 0)}, RunFolder(tmp_path), length=12)


def test_the_teacher_reads_at_most_as_much_as_it_can(base, tmp_path):
    encoder = load_dense_encoder(base, say=silent)  # 64 positions
    long = PairSource("long", ["wing"], ["lift " * 99], np.zeros((1, 2), dtype=np.int32))
    teacher = TeacherVectors.make(encoder, [long], {(0, 0)}, {(0, 0)}, RunFolder(tmp_path), length=200)
    assert np.isfinite(teacher.cosines([(0, 0)], [(0, 0)])).all()
