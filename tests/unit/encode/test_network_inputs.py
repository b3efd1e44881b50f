"""Network inputs: windows, framing and chunks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.encode.network_inputs import chunks, cut_windows, framed, window_sizes, window_spans, windows_of
from termwise.errors import ParameterError
from termwise.text import WordPieceAnalyzer


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


def test_documents_of_about_one_window() -> None:
    assert cut_windows(4, size=4, overlap=3) == [(0, 4)]
    assert cut_windows(5, size=4, overlap=3) == [(0, 4), (1, 5)]
    assert cut_windows(1, size=1, overlap=0) == [(0, 1)]


def test_window_sizes() -> None:
    assert window_sizes(length=16, overlap=13, positions=16) == (14, 13)
    assert window_sizes(length=16, overlap=None, positions=512) == (14, 1)
    assert window_sizes(length=3, overlap=None, positions=3) == (1, 0)
    with pytest.raises(ParameterError, match="longer than the input of the encoder") as caught:
        window_sizes(length=17, overlap=0, positions=16)
    assert caught.value.fixes_worded() == ["use `length=16`"]
    with pytest.raises(ParameterError, match="not smaller than the windows"):
        window_sizes(length=16, overlap=14, positions=16)


def test_windows_of_several_texts() -> None:
    analyzer = WordPieceAnalyzer.shipped()
    texts = ["merge two sorted lists", "", "[MASK] naïve ☃"]
    windows = windows_of(analyzer, texts, size=3, overlap=1)
    assert windows.documents.tolist() == [0, 0, 2]
    spelled = [[analyzer.vocabulary.token(number) for number in part] for part in windows.pieces]
    assert spelled == [["merge", "two", "sorted"], ["two", "sorted", "lists"], ["[MASK]", "naive", "[UNK]"]]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_framed(kind: type) -> None:
    part, none = np.array([7, 8], dtype=kind), np.empty(0, dtype=kind)
    assert framed(1, part, sep=2).tolist() == [1, 7, 8, 2]
    assert framed(1, part, none, part[:1], sep=2).tolist() == [1, 7, 8, 2, 7, 2]
    assert framed(1, none, sep=2).tolist() == [1, 2]
    assert framed(1, part, sep=2).dtype == kind


def test_chunks() -> None:
    assert list(chunks(0, 3)) == []
    assert list(chunks(3, 3)) == [(0, 3)]
    assert list(chunks(4, 3)) == [(0, 3), (3, 4)]


@given(
    st.lists(st.sampled_from(["merge", "Lists!", "naïve", "of", "  ", "unlinking", "☃"])),
    st.integers(1, 9),
    st.data(),
)
def test_spans_of_windows_hold_their_pieces(words: list[str], size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    analyzer, text = WordPieceAnalyzer.shipped(), " ".join(words)
    spans = window_spans(analyzer, text, size=size, overlap=overlap)
    windows = windows_of(analyzer, [text], size=size, overlap=overlap)
    pieces = analyzer.analyze(text)
    assert len(spans) == len(windows.pieces)
    for (start, end), numbers in zip(spans, windows.pieces, strict=True):
        inside = [
            token
            for token, (first, last) in zip(pieces.tokens, pieces.spans.tolist(), strict=True)
            if start <= first and last <= end
        ]
        assert inside == [analyzer.vocabulary.token(number) for number in numbers]


def test_an_empty_text_has_no_spans() -> None:
    assert window_spans(WordPieceAnalyzer.shipped(), " \n", size=3, overlap=1) == []
