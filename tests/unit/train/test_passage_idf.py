"""Idf factors of terms among training passages, computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from termwise.progress import Execution, silent
from termwise.train.run_folder import RunFolder

pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource
from termwise.errors import MissingFileError, ModelFormatError
from termwise.train.data import passage_idf as rarity
from termwise.train.data.passage_idf import (
    load_or_make_query_weights,
    read_query_weights,
    source_term_factors,
    term_factors,
)

from .conftest import VOCABULARY


def source(name, *passages):
    pairs = np.zeros((1, 2), dtype=np.int32)
    return PairSource(name, ["wing"], list(passages), pairs)


def idf(found, n):
    return math.log(1 + (n - found + 0.5) / (found + 0.5))


def test_a_term_counts_once_per_passage():
    rows = [np.array([0, 0, 1]), np.array([1]), np.empty(0, dtype=np.int64)]
    found = term_factors(rows, power=1.0, terms=3)
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([idf(1, 3), idf(2, 3), idf(1, 3)], rel=1e-6)
    root = term_factors(rows, power=0.5, terms=3)
    assert root.tolist() == pytest.approx([math.sqrt(value) for value in found.tolist()], rel=1e-6)


def test_each_source_has_its_factors_and_passages_are_truncated(pieces, number):
    told = []
    one, other = source_term_factors(
        [source("one", "wing lift drag", "lift"), source("other", "wing")],
        pieces,
        power=1.0,
        length=4,  # two pieces and the special ones: drag is not read
        seed=1,
        progress=lambda *said: told.append(said),
    )
    assert one[number("wing")] == pytest.approx(idf(1, 2))
    assert one[number("lift")] == pytest.approx(idf(2, 2))
    assert one[number("drag")] == pytest.approx(idf(1, 2))  # as if one passage had it
    assert other[number("wing")] == pytest.approx(idf(1, 1))
    assert told == [("count terms of passages", 3, 3)]


def test_passages_of_a_large_source_are_sampled(pieces, number, monkeypatch):
    monkeypatch.setattr(rarity, "MOST_PASSAGES", 3)
    large = source("large", *["wing"] * 5, *["lift"] * 5)
    drawn = [
        source_term_factors([large], pieces, power=1.0, length=8, seed=seed)[0] for seed in (1, 1, 2, 3, 4)
    ]
    assert (drawn[0] == drawn[1]).all()
    assert len({float(found[number("wing")]) for found in drawn}) > 1
    for found in drawn:  # of three passages each holds one of the two
        pair = sorted(found[[number("wing"), number("lift")]].tolist())
        assert pair in (
            [pytest.approx(idf(3, 3)), pytest.approx(idf(1, 3))],
            pytest.approx([idf(2, 3), idf(1, 3)]),
        )


SOURCES = [source("one", "wing lift drag [SEP] the", "lift"), source("other", "wing")]


def query_weights(folder, pieces, given="idf", sources=SOURCES, said=None):
    return load_or_make_query_weights(
        given,
        sources,
        pieces,
        RunFolder(folder, execution=Execution(say=silent if said is None else said.append)),
        cleaning="repo",
        length=7,
        seed=1,
    )


def test_query_weights_are_the_idf_of_all_sources_together(pieces, number, tmp_path):
    weights = query_weights(tmp_path, pieces)
    assert weights.dtype == np.float32
    expected = {"wing": idf(2, 3), "lift": idf(2, 3), "drag": idf(1, 3), "heat": idf(1, 3)}
    for term, value in expected.items():
        assert weights[number(term)] == pytest.approx(value)
    assert {weights[number(term)] for term in ("the", "[SEP]", "[PAD]", "[unused0]", "##s")} == {0}


def test_query_weights_of_a_run_are_stored(pieces, tmp_path):
    weights = query_weights(tmp_path, pieces)
    stored = query_weights(tmp_path, pieces, sources=[source("one", "heat")])
    assert (stored == weights).all()
    file = tmp_path / "query_weights.npz"
    np.savez(file, weights=-weights)
    said = []
    assert (query_weights(tmp_path, pieces, said=said) == weights).all()
    assert said[0].startswith(f"warning: {file} is damaged and is computed again")


def test_query_weights_of_a_file_are_cleaned(pieces, number, tmp_path):
    file = tmp_path / "weights.npy"
    np.save(file, np.full(len(VOCABULARY), 2.5))
    weights = query_weights(tmp_path, pieces, str(file))
    assert (weights[number("wing")], weights[number("the")], weights[number("[CLS]")]) == (2.5, 0, 0)


@pytest.mark.parametrize(
    "array",
    [
        np.ones(3, dtype=np.float32),
        np.ones((len(VOCABULARY), 1), dtype=np.float32),
        np.ones(len(VOCABULARY), dtype=np.int64),
        np.full(len(VOCABULARY), -1.0),
        np.full(len(VOCABULARY), np.nan),
        np.full(len(VOCABULARY), np.inf),
        np.array([{}] * len(VOCABULARY), dtype=object),
    ],
)
def test_a_file_with_other_query_weights(array, tmp_path):
    file = tmp_path / "weights.npy"
    np.save(file, array)
    with pytest.raises(ModelFormatError, match="query weights are not one finite number") as error:
        read_query_weights(file, terms=len(VOCABULARY))
    assert dict(error.value.facts)["file"] == file


def test_a_file_that_holds_no_query_weights(tmp_path):
    with pytest.raises(MissingFileError, match="query weights cannot be read"):
        read_query_weights(tmp_path / "missing.npy", terms=3)
    with pytest.raises(MissingFileError, match="query weights cannot be read"):
        read_query_weights(tmp_path, terms=3)
    file = tmp_path / "weights.npy"
    for data in (b"", b"idf\n", b"\x93NUMPY\x01\x00"):
        file.write_bytes(data)
        with pytest.raises(ModelFormatError):
            read_query_weights(file, terms=3)
    np.savez(tmp_path / "weights.npz", weights=np.ones(3))
    with pytest.raises(ModelFormatError):
        read_query_weights(tmp_path / "weights.npz", terms=3)
