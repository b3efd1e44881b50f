"""Filters on the attributes of documents, and facets: counts of their values."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.filters.evaluation import as_filter, rows_allowed
    from termwise.filters.expressions import (
        And,
        Between,
        Contains,
        ContainsIgnoringCase,
        Equals,
        EqualsIgnoringCase,
        Exists,
        Filter,
        Greater,
        GreaterOrEqual,
        In,
        Less,
        LessOrEqual,
        Matches,
        MatchesIgnoringCase,
        Not,
        NotEquals,
        NotIn,
        Or,
        StartsWith,
        StartsWithIgnoringCase,
        required_values,
        without_field,
    )
    from termwise.filters.facets import Range, ValueCount, facet_counts, range_counts
    from termwise.filters.json_form import filter_from_json, filter_to_json
    from termwise.filters.parser import parse_filter
    from termwise.filters.statistics import ValueStatistics, value_statistics
    from termwise.filters.types import check_filter
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "evaluation": "as_filter rows_allowed",
            "expressions": "And Between Contains ContainsIgnoringCase Equals EqualsIgnoringCase Exists Filter Greater "
            "GreaterOrEqual In Less LessOrEqual Matches MatchesIgnoringCase Not NotEquals NotIn Or "
            "StartsWith StartsWithIgnoringCase required_values without_field",
            "facets": "Range ValueCount facet_counts range_counts",
            "json_form": "filter_from_json filter_to_json",
            "parser": "parse_filter",
            "statistics": "ValueStatistics value_statistics",
            "types": "check_filter",
        },
    )

__all__ = [
    "And",
    "Between",
    "Contains",
    "ContainsIgnoringCase",
    "Equals",
    "EqualsIgnoringCase",
    "Exists",
    "Filter",
    "Greater",
    "GreaterOrEqual",
    "In",
    "Less",
    "LessOrEqual",
    "Matches",
    "MatchesIgnoringCase",
    "Not",
    "NotEquals",
    "NotIn",
    "Or",
    "Range",
    "StartsWith",
    "StartsWithIgnoringCase",
    "ValueCount",
    "ValueStatistics",
    "as_filter",
    "check_filter",
    "facet_counts",
    "filter_from_json",
    "filter_to_json",
    "parse_filter",
    "range_counts",
    "required_values",
    "rows_allowed",
    "value_statistics",
    "without_field",
]
