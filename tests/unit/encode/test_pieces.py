"""Pieces of texts: windows, and what frames and fills them."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.encode.pieces import framed, windows_of
from termwise.text import WordPieceAnalyzer


def test_windows_are_those_of_each_text() -> None:
    analyzer = WordPieceAnalyzer.shipped()
    texts = ["merge two sorted lists", "", "[MASK] naïve ☃"]
    windows = windows_of(analyzer, texts, size=3, overlap=1)
    assert windows.documents.tolist() == [0, 0, 2]
    spelled = [[analyzer.vocabulary.token(number) for number in part] for part in windows.pieces]
    assert spelled == [["merge", "two", "sorted"], ["two", "sorted", "lists"], ["[MASK]", "naive", "[UNK]"]]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_frames(kind: type) -> None:
    part, none = np.array([7, 8], dtype=kind), np.empty(0, dtype=kind)
    assert framed(1, part, sep=2).tolist() == [1, 7, 8, 2]
    assert framed(1, part, none, part[:1], sep=2).tolist() == [1, 7, 8, 2, 7, 2]
    assert framed(1, none, sep=2).tolist() == [1, 2]
    assert framed(1, part, sep=2).dtype == kind
