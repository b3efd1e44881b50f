"""Samples of an epoch."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.collection.training_pairs import PairSource
from termwise.errors import EmptyCollectionError
from termwise.train.data.sampling import JudgedQueries


def source(name, queries, passages, pairs):
    return PairSource(name, queries, passages, np.array(pairs, dtype=np.int32).reshape(-1, 2))


FIRST = source(
    "first",
    ["car", "", "fix buy", "kid"],
    ["auto", "repair", "purchase", "", "the"],
    [(0, 0), (1, 0), (2, 1), (2, 2), (3, 3), (2, 3)],
)
SECOND = source("second", ["doctor"], ["physician", "child"], [(0, 0)])


def mined(*rows):
    found = np.full((len(rows), 64), -1, dtype=np.int32)
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return found


def marks(*parts):
    return np.array([bool(text) for part in parts for text in part])


def judged(*, sources=(FIRST, SECOND), found=None, negatives=20):
    known = {
        "first": mined([4, 3, 1], [1], [0], [0], [1], [0]),
        "second": mined([]),
    }
    return JudgedQueries.of(
        sources,
        found or [known[one.name] for one in sources],
        queries=marks(*(one.queries for one in sources)),
        passages=marks(*(one.passages for one in sources)),
        negatives=negatives,
    )


def test_unusable_texts_are_omitted():
    made = judged()
    # the second query of the first source is empty; the relevant passage of the last is
    assert made.queries.tolist() == [0, 2, 4]
    assert len(made) == 3
    assert made.starts.tolist() == [0, 1, 3, 4]
    assert made.relevant.tolist() == [0, 1, 2, 5]
    assert made.negatives[:, :3].tolist() == [[4, 1, -1], [0, -1, -1], [-1, -1, -1]]
    assert made.pools.tolist() == [[0, 5], [0, 5], [5, 7]]


def test_the_number_of_negatives_is_limited():
    assert judged(negatives=1).negatives.tolist() == [[4], [0], [-1]]


def test_an_epoch_uses_every_query_once():
    made = judged()
    seen = set()
    for epoch in range(60):
        drawn = made.sample(1, epoch)
        assert sorted(drawn.queries.tolist()) == [0, 1, 2]
        seen |= set(
            zip(
                *(part.tolist() for part in (drawn.queries, drawn.relevant, drawn.negatives[:, 0])),
                strict=True,
            )
        )
    # every passage comes; where BM25 found none it is another passage of the source
    assert seen == {(0, 0, 4), (0, 0, 1), (1, 1, 0), (1, 2, 0), (2, 5, 6)}


def test_samples_depend_on_seed_and_epoch():
    made = judged()
    first, again = made.sample(1, 3), made.sample(1, 3)
    assert (first.queries == again.queries).all()
    assert any((made.sample(1, epoch).queries != first.queries).any() for epoch in range(8))


def test_random_negatives_are_never_relevant():
    passages = ["car"] * 40
    pairs = [(0, number) for number in range(39)]
    one = source("one", ["auto"], passages, pairs)
    made = judged(sources=[one], found=[mined(*([] for _ in pairs))])
    assert {int(made.sample(0, epoch).negatives[0, 0]) for epoch in range(20)} == {39}


def test_no_passage_can_be_a_negative():
    one = source("one", ["car"], ["auto", ""], [(0, 0)])
    with pytest.raises(EmptyCollectionError):
        judged(sources=[one], found=[mined([])])
