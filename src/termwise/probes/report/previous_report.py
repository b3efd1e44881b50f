"""Reading and validation of an existing report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import ModelFormatError
from termwise.fixes import Fix
from termwise.probes.core.probe import EXPECTATIONS
from termwise.probes.report.contents import FORMAT, VERSION
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import is_folder, read_regular
from termwise.validation import is_finite_number, is_integer

REPORT = "report.json"


def _in_range(low: float, high: float) -> Callable[[object], bool]:
    return lambda value: is_finite_number(value) and low <= value <= high


_TESTS: Mapping[str, Callable[[object], bool]] = {
    "a text": lambda value: isinstance(value, str),
    "a list of texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "a dict": lambda value: isinstance(value, Mapping),
    "true or false": lambda value: isinstance(value, bool),
    "a whole number": is_integer,
    "a number": is_finite_number,
    "a number from 0 to 1": _in_range(0, 1),
    "a number from −1 to 1": _in_range(-1, 1),
    "a number from −2 to 2": _in_range(-2, 2),
    f"one of {', '.join(map(repr, EXPECTATIONS))}": lambda value: (
        isinstance(value, str) and value in EXPECTATIONS
    ),
}
"""Tests of values by their descriptions in `_REQUIRED`, where `` or null`` also allows None."""

_REQUIRED: Mapping[str, Mapping[str, str]] = {
    "scorers": {
        "name": "a text",
        "fingerprint": "a text or null",
        "effect_rule": "a dict",
        "gaps": "a whole number or null",
        "skipped": "a dict",
    },
    "probes": {
        "name": "a text",
        "title": "a text",
        "section": "a text",
        "symmetric": "true or false",
        "needs": "a text",
        "expectation": f"one of {', '.join(map(repr, EXPECTATIONS))}",
        "samples": "a whole number",
    },
    "cells": {
        "probe": "a text",
        "scorer": "a text",
        "content": "a text",
        "samples": "a whole number",
        "score": "a number from −1 to 1 or null",
        "low": "a number from −1 to 1 or null",
        "high": "a number from −1 to 1 or null",
        "p_holm": "a number from 0 to 1 or null",
    },
    "comparisons": {
        "probe": "a text",
        "scorer": "a text",
        "baseline": "a text",
        "difference": "a number from −2 to 2",
        "p_holm": "a number from 0 to 1 or null",
    },
    "spread": {
        "model": "a text",
        "seeds": "a whole number",
        "sections": "a dict",
        "sign_flips": "a list of texts",
    },
}
"""Required fields by part of a report, used by comparisons and tables."""

_DISTINCT = {"scorers": ("name",), "probes": ("name",), "cells": ("probe", "scorer")}
"""Keys by part of a report."""

_REFERRING = {
    "cells": {"probe": "probes", "scorer": "scorers"},
    "comparisons": {"probe": "probes", "scorer": "scorers", "baseline": "scorers"},
}
"""Fields that refer to the key of another part."""

_LARGEST = 2**32
"""Maximum size of a report in bytes."""


class InvalidReport(ValueError):
    """A file is not a report; the message is the reason."""


def read_report(path: str | Path) -> dict[str, Any]:
    """Read a report.

    Parameters
    ----------
    path : str or Path
        The folder of the report, or its ``report.json``.

    Raises
    ------
    ModelFormatError
        If the file is not a report, or has another version.
    """
    file = Path(path) / REPORT if is_folder(Path(path)) else Path(path)
    try:
        report = parse_report(file)
        check_version(file, report)
        return _validated(report)
    except InvalidReport as error:
        raise ModelFormatError(
            "this is not a report of probes",
            facts=[("file", file), ("reason", error)],
            fixes=[Fix.sentence("name a folder that {} wrote", Fix.call("probe_rankers"))],
        ) from error


def check_version(file: Path, report: Mapping[str, Any]) -> None:
    """Raise `ModelFormatError` for a report of another version."""
    version = report.get("version")
    if report.get("format") == FORMAT and (version != VERSION or isinstance(version, bool)):
        raise ModelFormatError(
            "this report was written by another version of termwise",
            facts=[("file", file), ("version", shown(version)), ("expected", VERSION)],
            fixes=["run the probes again, with a new folder"],
        )


def report_at(folder: Path) -> dict[str, Any] | None:
    """Return the report of a folder, or None if there is no readable report."""
    try:
        return read_report(folder / REPORT)
    except ModelFormatError:
        return None


def parse_report(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file; `InvalidReport` if there is none."""
    try:
        text = read_regular(file, _LARGEST).decode("utf-8")
        body = json.loads(text, parse_constant=_reject_number, parse_float=_finite)
    except OSError as error:
        raise InvalidReport(error.strerror or str(error)) from error
    except Misfit as error:
        raise InvalidReport(f"it is {error.seen}, not {error.expected}") from error
    except RecursionError as error:
        raise InvalidReport("it is nested too deeply") from error
    except ValueError as error:
        raise InvalidReport(str(error)) from error
    if not isinstance(body, dict):
        raise InvalidReport("it is not a JSON object")
    return body


def _validated(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report after checking its parts; `InvalidReport` names the first invalid field."""
    if report.get("format") != FORMAT:
        raise InvalidReport(f"its format is {shown(report.get('format'))}, not {FORMAT!r}")
    for name, kind in {"facts": dict, **dict.fromkeys(_REQUIRED, list)}.items():
        if not isinstance(report.get(name), kind):
            raise InvalidReport(f"{name} is {shown(report.get(name))}, not a {kind.__name__}")
    for part, fields in _REQUIRED.items():
        for number, one in enumerate(report[part]):
            _check(f"{part}[{number}]", one, fields)
    for number, scorer in enumerate(report["scorers"]):
        field, rule, skipped = f"scorers[{number}]", scorer["effect_rule"], scorer["skipped"]
        delta = {"delta": "a number"} if rule.get("kind") == "constant" else {}
        _check(f"{field}.effect_rule", rule, {"kind": "a text"} | delta)
        _check(f"{field}.skipped", skipped, dict.fromkeys(skipped, "a text"))
    for number, one in enumerate(report["spread"]):
        for section, row in one["sections"].items():
            field = f"spread[{number}].sections.{section}"
            _check(field, row, {"deviation": "a number", "probes": "a whole number"})
    not_made = report["facts"].get("not made", {})
    _check("facts", {"not made": not_made}, {"not made": "a dict"})
    _check("facts.not made", not_made, dict.fromkeys(not_made, "a list of texts"))
    _check_keys(report)
    return report


def _check_keys(report: Mapping[str, Any]) -> None:
    """Check that keys are distinct and that references exist."""
    for part, keys in _DISTINCT.items():
        seen: set[tuple[str, ...]] = set()
        for number, one in enumerate(report[part]):
            key = tuple(one[name] for name in keys)
            if key in seen:
                raise InvalidReport(f"{part}[{number}] is a duplicate of {', '.join(map(shown, key))}")
            seen.add(key)
    for part, references in _REFERRING.items():
        for name, named in references.items():
            names = {one["name"] for one in report[named]}
            for number, one in enumerate(report[part]):
                if one[name] not in names:
                    raise InvalidReport(
                        f"{part}[{number}].{name} is {shown(one[name])}, which is not among the {named}"
                    )


def _check(field: str, value: object, fields: Mapping[str, str]) -> None:
    if not isinstance(value, Mapping):
        raise InvalidReport(f"{field} is {shown(value)}, not a dict")
    for name, expected in fields.items():
        if name not in value:
            raise InvalidReport(f"{field}.{name} is missing")
        kind, null = expected.removesuffix(" or null"), expected.endswith(" or null")
        if not (null and value[name] is None) and not _TESTS[kind](value[name]):
            raise InvalidReport(f"{field}.{name} is {shown(value[name])}, not {expected}")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _reject_number(text)


def _reject_number(name: str) -> float:
    raise InvalidReport(f"{name} is not a number of JSON")
