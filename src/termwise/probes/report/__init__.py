"""What is written of a run of probes: numbers, tables, a page to look at, what has changed since another run."""

from termwise.probes.report.assertions import Demand, unmet
from termwise.probes.report.contents import report_of
from termwise.probes.report.differences import Difference, differences
from termwise.probes.report.folder import write_report
from termwise.probes.report.previous_report import read_report, report_at
from termwise.probes.report.tables import csv_text, latex_text, markdown_text

__all__ = [
    "Demand",
    "Difference",
    "csv_text",
    "differences",
    "latex_text",
    "markdown_text",
    "read_report",
    "report_at",
    "report_of",
    "unmet",
    "write_report",
]
