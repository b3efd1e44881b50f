"""Ranking, term by term."""

__version__ = "0.1.0"
