"""Windows cover every piece, are full, and share what was asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.encode.windows import chunks, cut_windows, window_sizes
from termwise.errors import ParameterError


@given(st.integers(0, 300), st.integers(1, 40), st.data())
def test_windows_cover_the_document(pieces: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    windows = cut_windows(pieces, size=size, overlap=overlap)
    assert {place for start, stop in windows for place in range(start, stop)} == set(range(pieces))
    assert all(stop - start == min(size, pieces) for start, stop in windows)
    for (start, stop), (following, _) in pairwise(windows):
        assert start < following <= stop - overlap
    for (start, _), (following, _) in pairwise(windows[:-1]):
        assert following - start == size - overlap


def test_a_document_that_just_fits() -> None:
    assert cut_windows(4, size=4, overlap=3) == [(0, 4)]
    assert cut_windows(5, size=4, overlap=3) == [(0, 4), (1, 5)]
    assert cut_windows(1, size=1, overlap=0) == [(0, 1)]


def test_windows_that_cannot_be() -> None:
    assert window_sizes(length=16, overlap=13, positions=16) == (14, 13)
    assert window_sizes(length=16, overlap=None, positions=512) == (14, 1)
    assert window_sizes(length=3, overlap=None, positions=3) == (1, 0)
    with pytest.raises(ParameterError, match="longer than what the encoder can read") as caught:
        window_sizes(length=17, overlap=0, positions=16)
    assert caught.value.fixes == ("--set length=16",)
    with pytest.raises(ParameterError, match="share more pieces than they have"):
        window_sizes(length=16, overlap=14, positions=16)


def test_chunks() -> None:
    assert list(chunks(0, 3)) == []
    assert list(chunks(3, 3)) == [(0, 3)]
    assert list(chunks(4, 3)) == [(0, 3), (3, 4)]
