"""Reports of probe runs: numbers, tables, an HTML page, assertions, and changes between two reports."""

from termwise.probes.report.assertions import Assertion, failed_assertions
from termwise.probes.report.contents import report_of
from termwise.probes.report.differences import Difference, differences
from termwise.probes.report.folder import write_report
from termwise.probes.report.previous_report import read_report, report_at
from termwise.probes.report.tables import csv_text, latex_text, markdown_text

__all__ = [
    "Assertion",
    "Difference",
    "csv_text",
    "differences",
    "failed_assertions",
    "latex_text",
    "markdown_text",
    "read_report",
    "report_at",
    "report_of",
    "write_report",
]
