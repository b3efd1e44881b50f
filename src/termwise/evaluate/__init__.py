"""Measures, paired comparisons, latency, and their reports.

Runs and judgments come as records; reading files is the business of :mod:`termwise.collection`.
"""

from termwise.evaluate.compare import Comparison, Contrast, compare, compare_evaluations
from termwise.evaluate.correction import benjamini_hochberg, bonferroni, holm
from termwise.evaluate.criterion import Correction, Criterion, Test, Verdict
from termwise.evaluate.evaluation import Counts, Evaluation, Evaluator, MissingRule, evaluate
from termwise.evaluate.html import comparison_html, evaluation_html
from termwise.evaluate.latency import Latency, LatencySummary
from termwise.evaluate.latex import comparison_latex, evaluation_latex
from termwise.evaluate.measures import measure_names, parse_measures
from termwise.evaluate.tables import (
    Column,
    Table,
    comparison_text,
    contrast_table,
    conventions,
    difference_table,
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
    "Verdict",
    "benjamini_hochberg",
    "bonferroni",
    "compare",
    "compare_evaluations",
    "comparison_html",
    "comparison_latex",
    "comparison_text",
    "contrast_table",
    "conventions",
    "difference_table",
    "evaluate",
    "evaluation_html",
    "evaluation_latex",
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
