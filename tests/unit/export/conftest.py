"""Fixtures of the tests of exports."""

from tests.unit.export.sources import sources

__all__ = ["sources"]
