"""TILDE query encoder."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from termwise.encode import open_query_encoder
from termwise.errors import ModelFormatError


def ln_sigmoid(z: float) -> float:
    return -math.log1p(math.exp(-z))


def test_likelihoods_by_hand(tilde: Path, tiny: ModuleType) -> None:
    encoder = open_query_encoder(tilde)
    rows = encoder.encode_queries(["merge", "list sort"])
    assert rows.shape == (2, 16)
    assert rows.dtype == np.float32
    terms = [tiny.MERGE, tiny.SORT, tiny.CAT, tiny.DOG, tiny.LIST]
    assert rows[0, terms] == pytest.approx([ln_sigmoid(z) for z in (3, 1, -4, 4, -8)], rel=1e-6)
    assert rows[1, terms] == pytest.approx([ln_sigmoid(z) for z in (0, 2, -4, 4, 1.5)], rel=1e-6)
    assert encoder.vocabulary.number("merge") == tiny.MERGE
    assert encoder.kept[tiny.MERGE]
    assert not encoder.kept[tiny.THE]
    assert encoder.analyzer.tokens("the merge") == ["merge"]
    assert encoder.description["settings"]["side"] == "query"


def test_empty_query_and_no_queries(tilde: Path, tiny: ModuleType) -> None:
    encoder = open_query_encoder(tilde)
    (row,) = encoder.encode_queries([""])
    assert row[tiny.DOG] == pytest.approx(ln_sigmoid(4), rel=1e-6)
    assert np.isfinite(row).all()
    assert encoder.encode_queries([]).shape == (0, 16)


def test_long_queries_are_cut_into_windows(tilde: Path, tiny: ModuleType) -> None:
    encoder = open_query_encoder(tilde)
    for place in (0, 13, 14, 30, 49):
        words = ["cat"] * 50
        words[place] = "merge"
        (row,) = encoder.encode_queries([" ".join(words)])
        assert row[tiny.MERGE] == pytest.approx(ln_sigmoid(3), rel=1e-6)


def test_encoders_of_other_kinds_are_refused(tiny: ModuleType, tmp_path: Path) -> None:
    other = tiny.make_folder(tmp_path / "a", "splade-doc", tiny.square({}))
    with pytest.raises(ModelFormatError, match="not tilde"):
        open_query_encoder(other)
