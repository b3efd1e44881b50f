"""Quantisation of weights, by hand and against the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import retrieval as reference

from termwise.index.quantiser import Quantiser, WeightRange
from termwise.kernels.retrieval import max_score

WEIGHTS = st.lists(st.floats(2.0**-100, 2.0**100, width=32), min_size=1, max_size=30)


def seen(weights: list[float], biases: list[float] | None = None) -> WeightRange:
    spread = WeightRange()
    spread.add_weights(np.array(weights, dtype=np.float32))
    spread.add_biases(np.array(biases or [], dtype=np.float32))
    return spread


def impacts(quantiser: Quantiser, weights: list[float]) -> list[int]:
    return quantiser.impacts(np.array(weights, dtype=np.float32)).tolist()


def biases(quantiser: Quantiser, weights: list[float]) -> list[int]:
    return quantiser.biases(np.array(weights, dtype=np.float32)).tolist()


def test_whole_numbers_up_to_255_are_kept() -> None:
    quantiser = Quantiser(seen([255, 1, 17]))
    assert quantiser.scale == 1.0
    assert impacts(quantiser, [255, 1, 17]) == [255, 1, 17]
    record = quantiser.record()
    assert (record.max_error, record.mean_error, record.raised, record.largest) == (0.0, 0.0, 0, 255.0)


@pytest.mark.parametrize("largest", [256.0, 2.5])
def test_other_weights_are_scaled(largest: float) -> None:
    quantiser = Quantiser(seen([largest, 1.0]))
    assert quantiser.scale >= largest / 255
    assert impacts(quantiser, [largest]) == [255]


def test_the_scale_is_rounded_up_to_14_significant_bits() -> None:
    # 256/255 = 1.00392... = 8224.125.../8192, and 8192 = 2**13 has 14 bits.
    assert Quantiser(seen([256.0])).scale == 8225 / 8192
    # 300.5/255 = 1.17843... = 9653.72.../8192
    assert Quantiser(seen([300.5])).scale == 9654 / 8192
    # A scale that needs fewer bits is not touched: 127.5/255 = 0.5.
    assert Quantiser(seen([127.5])).scale == 0.5


def test_rounding_and_its_record_by_hand() -> None:
    quantiser = Quantiser(seen([127.5, 0.125]))  # scale 0.5
    # 127.5 -> 255; 1.25 is 2.5 units, a tie, to the even 2; 1.75 is 3.5 units, to 4; 0.25 is half a unit, which
    # rounds to 0 and is raised; 0.125 is raised; 0.375 is 0.75 units, to 1.
    assert impacts(quantiser, [127.5, 1.25, 1.75]) == [255, 2, 4]
    assert impacts(quantiser, [0.25, 0.125, 0.375]) == [1, 1, 1]
    record = quantiser.record()
    assert record.raised == 2
    assert record.max_error == 0.375  # 0.125 became 0.5
    assert record.mean_error == (0 + 0.25 + 0.25 + 0.25 + 0.375 + 0.125) / 6


def test_no_weights_at_all() -> None:
    quantiser = Quantiser(seen([]))
    record = quantiser.record()
    assert (quantiser.scale, record.mean_error, record.max_error, record.largest) == (1.0, 0.0, 0.0, 0.0)
    assert impacts(quantiser, []) == []


def test_the_bias_is_stored_in_finer_units_if_it_fits() -> None:
    # 65535 units of 1/256 reach 255.99.
    quantiser = Quantiser(seen([255.0], [100.0, 0.0]))
    assert quantiser.bias_bits == 8
    assert biases(quantiser, [100.0, 0.0, 0.5, 1 / 512, 3 / 512]) == [25600, 0, 128, 0, 2]  # ties to even
    assert quantiser.record().bias_error == 1 / 512


@pytest.mark.parametrize(
    ("largest", "bits"), [(255.0, 8), (256.0, 7), (511.0, 7), (512.0, 6), (32_768.0, 0), (65_535.0, 0)]
)
def test_a_large_bias_has_fewer_bias_bits(largest: float, bits: int) -> None:
    quantiser = Quantiser(seen([255.0], [largest]))
    assert quantiser.bias_bits == bits
    assert quantiser.bias_fits
    assert biases(quantiser, [largest]) == [largest * 2**bits]


def test_a_bias_beyond_all_units_does_not_fit() -> None:
    assert not Quantiser(seen([255.0], [65_536.0])).bias_fits


def test_the_record_counts_zero_weights() -> None:
    spread = seen([2.0])
    spread.dropped = 3
    assert Quantiser(spread).record().dropped == 3


@given(WEIGHTS)
def test_agrees_with_the_definition_and_with_its_bounds(weights: list[float]) -> None:
    quantiser = Quantiser(seen(weights))
    units = impacts(quantiser, weights)
    assert units == reference.quantise([float(np.float32(w)) for w in weights], quantiser.scale)
    largest = max(weights)
    if quantiser.scale != 1.0:
        mantissa, _ = math.frexp(quantiser.scale)
        assert math.ldexp(mantissa, 14).is_integer()
        assert largest / 255 <= quantiser.scale <= largest / 255 * (1 + 2.0**-13)
    errors = [abs(Fraction(w) - u * Fraction(quantiser.scale)) for w, u in zip(weights, units, strict=True)]
    half = Fraction(quantiser.scale) / 2
    record = quantiser.record()
    raised = sum(Fraction(w) <= half for w in weights)
    assert record.raised == raised
    assert all(e <= half for e, w in zip(errors, weights, strict=True) if Fraction(w) > half)
    assert record.max_error == pytest.approx(float(max(errors)))
    assert record.largest == largest


@given(WEIGHTS, st.integers(0, max_score(1) - 1), st.integers(-20, 20), st.integers(0, 8))
def test_every_sum_times_the_scale_is_a_float64_without_rounding(
    weights: list[float], total: int, query_bits: int, bias_bits: int
) -> None:
    unit = Quantiser(seen(weights)).scale * 2.0**query_bits / 2**bias_bits
    assert Fraction(total * unit) == total * Fraction(unit)
