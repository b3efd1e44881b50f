"""Plans of batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.errors import ParameterError
from termwise.train.data.batches import pairs_of_an_epoch, plan_batches


@st.composite
def arguments(draw):
    block = draw(st.sampled_from([1, 2, 4]))
    batch = block * draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(batch, 40), min_size=1, max_size=4))
    return {
        "sizes": sizes,
        "batch": batch,
        "block": block,
        "seed": draw(st.integers(0, 5)),
        "epoch": draw(st.integers(0, 3)),
        "mixing": draw(st.sampled_from(["together", "by-source"])),
        "flattening": draw(st.sampled_from([0.0, 0.5, 1.0])),
    }


@settings(max_examples=40)
@given(arguments())
def test_shape_and_range(case):
    plan = plan_batches(**case)
    assert plan.pairs.shape == plan.sources.shape == (sum(case["sizes"]) // case["batch"], case["batch"])
    assert len(plan) == len(plan.pairs)
    assert (plan.pairs >= 0).all()
    assert (plan.pairs < np.array(case["sizes"])[plan.sources]).all()


@settings(max_examples=40)
@given(arguments())
def test_the_plan_is_a_function_of_its_arguments(case):
    one, other = plan_batches(**case), plan_batches(**case)
    assert np.array_equal(one.pairs, other.pairs)
    assert np.array_equal(one.sources, other.sources)


def test_seeds_and_epochs_give_other_plans():
    plans = [
        plan_batches([100], batch=10, seed=seed, epoch=epoch).pairs.tolist()
        for seed, epoch in ((0, 0), (0, 1), (1, 0))
    ]
    assert plans[0] != plans[1] != plans[2] != plans[0]


@settings(max_examples=40)
@given(arguments())
def test_batches_by_source_are_of_one_source(case):
    plan = plan_batches(**(case | {"mixing": "by-source"}))
    assert (plan.sources == plan.sources[:, :1]).all()


@settings(max_examples=40)
@given(arguments())
def test_every_pair_once_before_any_twice_except_the_remainder_of_a_pass(case):
    plan = plan_batches(**case)
    for number, size in enumerate(case["sizes"]):
        taken = Counter(plan.pairs[plan.sources == number].tolist())
        passes = max(taken.values(), default=0)
        left_over = size % case["block"]
        missed = sum(passes - 1 - taken[pair] for pair in range(size) if taken[pair] < passes - 1)
        assert missed <= max(0, passes - 1) * left_over


def test_without_flattening_an_epoch_has_every_pair_once():
    plan = plan_batches([20, 30], batch=10, seed=1, epoch=0)
    met = Counter(zip(plan.sources.ravel().tolist(), plan.pairs.ravel().tolist(), strict=True))
    assert met == Counter([(0, pair) for pair in range(20)] + [(1, pair) for pair in range(30)])


def test_an_incomplete_batch_is_dropped():
    plan = plan_batches([25], batch=10, seed=1, epoch=0)
    assert len(np.unique(plan.pairs)) == plan.pairs.size == 20


@pytest.mark.parametrize(("flattening", "expected"), [(0.0, [10, 90]), (0.5, [25, 75]), (1.0, [50, 50])])
def test_shares_of_sources(flattening, expected):
    # 100 and 900 pairs: shares 1 : 9, 1 : 3, 1 : 1 of 100 batches.
    plan = plan_batches([100, 900], batch=10, seed=1, epoch=0, mixing="by-source", flattening=flattening)
    assert np.bincount(plan.sources[:, 0]).tolist() == expected


def test_the_rest_goes_to_the_largest_remainders():
    # 5 batches over 1 : 1 : 1.
    plan = plan_batches([17, 17, 17], batch=10, seed=1, epoch=0, mixing="by-source")
    assert np.bincount(plan.sources[:, 0]).tolist() == [2, 2, 1]


def test_blocks_are_runs_of_neighbours():
    order = np.random.default_rng(5).permutation(24)
    place = np.argsort(order)
    plan = plan_batches([24], batch=8, seed=3, epoch=0, neighbours=[order], block=4)
    assert sorted(plan.pairs.ravel().tolist()) == list(range(24))
    for run in place[plan.pairs.reshape(-1, 4)]:
        assert ((np.diff(run) % 24) == 1).all()


def test_blocks_start_at_other_places_in_other_epochs():
    order = np.arange(24)
    starts = {
        int(plan_batches([24], batch=8, seed=3, epoch=epoch, neighbours=[order], block=4).pairs[0, 0]) % 4
        for epoch in range(12)
    }
    assert len(starts) > 1


def test_sources_smaller_than_a_batch_are_omitted_by_source():
    plan = plan_batches([5, 40], batch=10, seed=0, epoch=0, mixing="by-source")
    assert np.unique(plan.sources).tolist() == [1]
    together = plan_batches([5, 40], batch=10, seed=0, epoch=0)
    assert np.unique(together.sources).tolist() == [0, 1]


def test_too_few_pairs():
    with pytest.raises(ParameterError) as error:
        plan_batches([3, 4], batch=8, seed=0, epoch=0)
    assert dict(error.value.facts) == {"pairs": 7, "batch": 8, "sources": 2}
    assert error.value.fixes_worded() == ["use `batch=1`"]


@pytest.mark.parametrize(
    ("sizes", "batch", "block", "mixing", "fixes"),
    [
        ([100] * 10, 128, 1, "by-source", ("use `batch=100`", "use `mixing='together'`")),
        ([100] * 10, 128, 8, "by-source", ("use `batch=96`", "use `mixing='together'`")),
        ([5, 4], 16, 1, "by-source", ("use `batch=5`",)),
        ([5, 4], 16, 8, "by-source", ("use `block=1`",)),
        ([5, 4], 8, 8, "together", ("use `block=1`",)),
    ],
)
def test_all_sources_are_too_small(sizes, batch, block, mixing, fixes):
    with pytest.raises(ParameterError, match="all sources have fewer") as error:
        plan_batches(sizes, batch=batch, block=block, seed=0, epoch=0, mixing=mixing)
    assert dict(error.value.facts)["largest source"] == max(sizes)
    assert tuple(error.value.fixes_worded()) == fixes


@settings(max_examples=40)
@given(arguments())
def test_pairs_of_an_epoch_are_those_of_its_batches(case):
    plan = plan_batches(**case)
    told = {name: value for name, value in case.items() if name not in ("seed", "epoch")}
    counts = np.bincount(plan.sources.ravel(), minlength=len(case["sizes"]))
    assert pairs_of_an_epoch(**told).tolist() == counts.tolist()
