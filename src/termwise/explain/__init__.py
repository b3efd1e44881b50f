"""Explanations of scores, snippets, and how both look in a terminal and on a web page."""

from termwise.explain.explanation import Competitor, Contribution, Explanation

__all__ = ["Competitor", "Contribution", "Explanation"]
