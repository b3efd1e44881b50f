"""Explanations of scores and snippets, for terminals and web pages."""

from termwise.explain.explanation import Competitor, Contribution, Explanation, MixturePart, Window

__all__ = ["Competitor", "Contribution", "Explanation", "MixturePart", "Window"]


def __dir__() -> list[str]:
    return __all__
