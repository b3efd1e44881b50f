"""Scorers opened by name: models, indexes, runs, functions, HTTP services and yardsticks."""

from termwise.rankers.from_name import Surroundings, open_any_scorer

__all__ = ["Surroundings", "open_any_scorer"]
