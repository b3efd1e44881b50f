"""Scorers opened by name: models, indexes, runs, functions, HTTP services and yardsticks."""

from termwise.rankers.from_name import ScorerContext, open_mixture_parts, open_scorer

__all__ = ["ScorerContext", "open_mixture_parts", "open_scorer"]


def __dir__() -> list[str]:
    return __all__
