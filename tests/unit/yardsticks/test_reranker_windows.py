"""Windows of re-ranking networks: chunks and token positions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from termwise.train.inputs import Pieces
from termwise.yardsticks.rerankers.windows import Inputs, Window, even_chunks, windows_of

from .conftest import number


@given(st.integers(0, 3000), st.integers(1, 500))
def test_chunks_are_few_even_and_complete(length, most):
    chunks = even_chunks(length, most)
    assert len(chunks) == max(1, -(-length // most))
    assert [place for part in chunks for place in range(part.start, part.stop)] == list(range(length))
    sizes = [part.stop - part.start for part in chunks]
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1


def test_each_chunk_is_read_with_the_whole_query():
    query, document = np.array([9, 8]), np.arange(20, 27)
    windows = windows_of(query, document, chunk_length=3)
    assert [window.chunk.tolist() for window in windows] == [[20, 21], [22, 23], [24, 25, 26]]
    assert all((window.query == query).all() for window in windows)
    (empty,) = windows_of(query, document[:0], chunk_length=3)
    assert (empty.query.tolist(), empty.chunk.tolist(), len(empty)) == ([9, 8], [], 4)


def test_inputs_have_special_tokens_mask_and_segments(analyzer):
    none = np.array([], dtype=np.int64)
    windows = [
        Window(np.array([20, 21]), np.array([30])),
        Window(np.array([22]), np.array([31, 32, 33])),
        Window(np.array([23]), none),
    ]
    inputs = Inputs.of(windows, Pieces(analyzer, "bert-model1"))
    cls, sep, pad = (number(piece) for piece in ("[CLS]", "[SEP]", "[PAD]"))
    assert inputs.ids.tolist() == [
        [cls, 20, 21, sep, 30, sep, pad],
        [cls, 22, sep, 31, 32, 33, sep],
        [cls, 23, sep, pad, pad, pad, pad],
    ]
    assert inputs.mask.tolist() == [[1] * 6 + [0], [1] * 7, [1] * 3 + [0] * 4]
    assert inputs.segments.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1], [0] * 7]
    for window, row in zip(windows, inputs.ids.numpy(), strict=True):
        assert (row[window.query_places] == window.query).all()
        assert (row[window.chunk_places] == window.chunk).all()
        assert len(window) == (row != pad).sum()
