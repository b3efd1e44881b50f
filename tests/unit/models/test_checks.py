"""Checks shared by models."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import ParameterError
from termwise.models import BM25, TildeV2
from termwise.models.checks import between, check_parameter


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["400", "-400", "5000"])
def test_a_number_beyond_float64_is_out_of_range(value: int) -> None:
    with pytest.raises(ParameterError, match="k1 of bm25 is out of range") as caught:
        BM25(k1=value)
    assert dict(caught.value.facts)["expected"] == "a number from 0 to 1e6"
    with pytest.raises(ParameterError, match="out of range"):
        check_parameter("a model", "weight", value, float, (lambda _: True, "a number"))


@pytest.mark.parametrize("value", [np.timedelta64(1, "s"), np.timedelta64("NaT"), np.True_])
def test_numpy_booleans_and_durations_are_not_numbers(value: object) -> None:
    with pytest.raises(ParameterError, match="idf_power of tildev2 is out of range"):
        TildeV2(idf_power=value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="keep of a model is out of range"):
        check_parameter("a model", "keep", value, int, between(1, 9))


@pytest.mark.parametrize("value", [10**400, 10**5000, "2" * 1000], ids=["400", "5000", "text"])
def test_a_long_value_is_cut(value: object) -> None:
    with pytest.raises(ParameterError, match="keep of a model is out of range") as caught:
        check_parameter("a model", "keep", value, int, between(1, 9))
    assert len(dict(caught.value.facts)["given"]) <= 80
    with pytest.raises(ParameterError, match="idf of a model is not a name"):
        check_parameter("a model", "idf", 10**5000, str)
