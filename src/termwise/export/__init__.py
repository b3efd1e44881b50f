"""Export of an index to other search engines, and the check that they return the same results."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.export.check import ExportCheck, check_export
    from termwise.export.exporting import export_changes, export_index, make_target, translated_filter
    from termwise.export.linear_form import LinearForm, measured_scales
    from termwise.export.source import ExportSource
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "check": "ExportCheck check_export",
            "exporting": "export_changes export_index make_target translated_filter",
            "linear_form": "LinearForm measured_scales",
            "source": "ExportSource",
        },
    )

__all__ = [
    "ExportCheck",
    "ExportSource",
    "LinearForm",
    "check_export",
    "export_changes",
    "export_index",
    "make_target",
    "measured_scales",
    "translated_filter",
]
