"""Explanations of scores, for terminals and web pages."""

from termwise.explain.explanation import (
    Competitor,
    Contribution,
    Explanation,
    MixturePart,
    TextCondition,
    Window,
)
from termwise.explain.field_shares import FieldShare

__all__ = [
    "Competitor",
    "Contribution",
    "Explanation",
    "FieldShare",
    "MixturePart",
    "TextCondition",
    "Window",
]


def __dir__() -> list[str]:
    return __all__
