"""Texts of samples."""

from __future__ import annotations

import numpy as np

from termwise.collection.training_pairs import PairSource
from termwise.train.neural_model1.bags import JudgedBags


def test_texts_are_truncated_and_empty_ones_omitted(analyzer):
    pairs = np.array([(0, 0), (1, 0), (2, 2)], dtype=np.int32)
    source = PairSource("one", ["car doctor", "", "kid"], ["auto auto the", "repair", ""], pairs)
    made = JudgedBags.of(
        [source],
        [np.array([[2, 1], [1, -1], [0, 1]], dtype=np.int32)],
        analyzer,
        analyzer.vocabulary,
        negatives=2,
        query_length=1,
        document_length=2,
    )
    assert made.judged.queries.tolist() == [0]
    assert made.judged.relevant.tolist() == [0]
    assert made.judged.negatives.tolist() == [[1, -1]]
    assert len(made.queries) == 1
    assert made.queries.counts.tolist() == [1]  # cut off after the first term
    assert made.passages.sizes.tolist() == [1, 1, 0]
    assert made.passages.counts.tolist() == [2, 1]
