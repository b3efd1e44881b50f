"""Explanations of scores and snippets, for terminals and web pages."""

from termwise.explain.explanation import (
    Competitor,
    Contribution,
    Explanation,
    MixturePart,
    TextCondition,
    Window,
)

__all__ = ["Competitor", "Contribution", "Explanation", "MixturePart", "TextCondition", "Window"]


def __dir__() -> list[str]:
    return __all__
