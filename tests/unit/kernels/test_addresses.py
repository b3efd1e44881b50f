"""Tests of arrays that are passed to kernels by their addresses."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.kernels.addresses import address_of, array_at, prefetch
from termwise.kernels.jit import compiled


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint64, np.bool_])
def test_an_array_is_found_by_its_address(dtype: type) -> None:
    array = np.arange(7).astype(dtype)
    found = array_at(address_of(array), len(array), dtype)
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()


def test_an_empty_array_has_no_address() -> None:
    assert address_of(np.empty(0)) == 0
    assert array_at(0, 0, np.int32).tolist() == []


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        address_of(np.arange(6)[::2])


def test_announcing_a_read_changes_nothing_and_needs_no_valid_address() -> None:
    @compiled
    def announce(address: int) -> int:
        prefetch(address)
        return address

    array = np.arange(7)
    for address in (address_of(array), 0, -1):
        assert prefetch(address) is None
        assert announce(address) == address
    assert array.tolist() == list(range(7))
