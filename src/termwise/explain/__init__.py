"""Explanations of scores, for terminals and web pages."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.explain.explanation import (
        Competitor,
        Contribution,
        Explanation,
        MixturePart,
        TextCondition,
        Window,
    )
    from termwise.explain.field_shares import FieldShare
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "explanation": "Competitor Contribution Explanation MixturePart TextCondition Window",
            "field_shares": "FieldShare",
        },
    )

__all__ = [
    "Competitor",
    "Contribution",
    "Explanation",
    "FieldShare",
    "MixturePart",
    "TextCondition",
    "Window",
]
