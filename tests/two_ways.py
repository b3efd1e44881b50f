"""Runs the tests of a module with compiled kernels, and with the functions of `termwise.kernels.plain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from termwise.kernels.jit import kernels


@contextmanager
def kernels_are(way: str) -> Iterator[None]:
    """Call only the compiled or only the plain function of each kernel that has both."""
    both = [each for each in kernels if each.plain is not None and each.__module__.startswith("termwise.")]
    before = [kernel._call for kernel in both]
    for kernel in both:
        kernel._call = kernel.compiled if way == "compiled" else kernel.plain  # type: ignore[assignment]
    try:
        yield
    finally:
        for kernel, call in zip(both, before, strict=True):
            kernel._call = call


@pytest.fixture(params=["compiled", "plain"], scope="module", autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run each test in both ways."""
    with kernels_are(request.param):
        yield request.param
