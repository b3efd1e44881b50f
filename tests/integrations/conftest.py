"""Fixtures of the tests of adapters."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run coroutines with asyncio."""
    return "asyncio"
