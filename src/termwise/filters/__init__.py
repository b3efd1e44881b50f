"""Filters on the attributes of documents, and facets: counts of their values."""

from termwise.filters.evaluation import as_filter, rows_allowed
from termwise.filters.expressions import (
    And,
    Between,
    Equals,
    Exists,
    Filter,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Not,
    NotEquals,
    NotIn,
    Or,
)
from termwise.filters.facets import Range, ValueCount, facet_counts, range_counts
from termwise.filters.json_form import filter_from_json, filter_to_json
from termwise.filters.parser import parse_filter
from termwise.filters.types import check_filter

__all__ = [
    "And",
    "Between",
    "Equals",
    "Exists",
    "Filter",
    "Greater",
    "GreaterOrEqual",
    "In",
    "Less",
    "LessOrEqual",
    "Not",
    "NotEquals",
    "NotIn",
    "Or",
    "Range",
    "ValueCount",
    "as_filter",
    "check_filter",
    "facet_counts",
    "filter_from_json",
    "filter_to_json",
    "parse_filter",
    "range_counts",
    "rows_allowed",
]


def __dir__() -> list[str]:
    return __all__
