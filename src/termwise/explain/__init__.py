"""Explanations of scores and snippets, for terminals and web pages."""

from termwise.explain.explanation import Competitor, Contribution, Explanation

__all__ = ["Competitor", "Contribution", "Explanation"]
