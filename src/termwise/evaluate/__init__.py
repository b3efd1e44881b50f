"""Measures, paired comparisons of runs, latency, and reports."""

from termwise.evaluate.comparison import Comparison, compare
from termwise.evaluate.contrast import Contrast, Correction, Criterion, Test, Verdict
from termwise.evaluate.evaluation import Counts, Evaluation, Evaluator, MissingRule, TieRule, evaluate
from termwise.evaluate.html import comparison_html, evaluation_html
from termwise.evaluate.latency import Latency, LatencySummary
from termwise.evaluate.latex import comparison_latex
from termwise.evaluate.measures import measure_names, parse_measures
from termwise.evaluate.multiple_testing import benjamini_hochberg, bonferroni, holm
from termwise.evaluate.tables import (
    Column,
    Table,
    comparison_text,
    contrast_table,
    conventions,
    evaluation_text,
    latency_table,
    methods,
    query_table,
    summary_table,
    to_csv,
    to_text,
)
from termwise.records import Exclusion

__all__ = [
    "Column",
    "Comparison",
    "Contrast",
    "Correction",
    "Counts",
    "Criterion",
    "Evaluation",
    "Evaluator",
    "Exclusion",
    "Latency",
    "LatencySummary",
    "MissingRule",
    "Table",
    "Test",
    "TieRule",
    "Verdict",
    "benjamini_hochberg",
    "bonferroni",
    "compare",
    "comparison_html",
    "comparison_latex",
    "comparison_text",
    "contrast_table",
    "conventions",
    "evaluate",
    "evaluation_html",
    "evaluation_text",
    "holm",
    "latency_table",
    "measure_names",
    "methods",
    "parse_measures",
    "query_table",
    "summary_table",
    "to_csv",
    "to_text",
]


def __dir__() -> list[str]:
    return __all__
