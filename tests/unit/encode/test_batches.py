"""Batches of inputs of similar length."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from termwise.encode.batches import plan_batches, run_batches
from termwise.encode.network_inputs import padded

LENGTHS = st.lists(st.integers(1, 200), max_size=60)


@given(LENGTHS, st.integers(1, 500), st.integers(1, 20))
def test_every_input_is_in_one_batch_within_the_limits(lengths: list[int], pieces: int, rows: int) -> None:
    batches = plan_batches(lengths, pieces=pieces, rows=rows)
    assert sorted(int(place) for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= pieces
        assert 1 <= len(batch) <= rows
    ordered = [lengths[place] for batch in batches for place in batch]
    assert ordered == sorted(lengths, reverse=True)


def test_equal_lengths_stay_in_order() -> None:
    assert [batch.tolist() for batch in plan_batches([5, 7, 5, 7, 5], pieces=14)] == [[1, 3], [0, 2], [4]]


def test_no_inputs() -> None:
    assert plan_batches([]) == []


def test_padding() -> None:
    ids, mask = padded([np.array([1, 2, 3], dtype=np.int32), np.array([4], dtype=np.int32)], 9)
    assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert ids.dtype == mask.dtype == np.int64


class Echo:
    """Stands for a session: gives the sum of the pieces of each input."""

    folder = SimpleNamespace(document_special=SimpleNamespace(pad=0))

    def run(self, input_ids: Any, attention_mask: Any) -> Any:
        return (input_ids * attention_mask).sum(axis=1, keepdims=True).astype(np.float32)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), max_size=20), st.integers(1, 40))
def test_outputs_belong_to_their_inputs(inputs: list[list[int]], pieces: int) -> None:
    sums = np.full(len(inputs), np.nan)
    arrays = [np.array(one, dtype=np.int32) for one in inputs]
    for positions, values in run_batches(Echo(), arrays, pieces=pieces):  # type: ignore[arg-type]
        assert values.shape == (len(positions), 1)
        sums[positions] = values[:, 0]
    assert sums.tolist() == [sum(one) for one in inputs]
