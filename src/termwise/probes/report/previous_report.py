"""Reading the numbers of an earlier report: what is compared is there, and of the kind that it has to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from termwise.display.safe_text import shown
from termwise.errors import ModelFormatError
from termwise.probes.core.probe import EXPECTATIONS
from termwise.probes.report.contents import FORMAT, VERSION
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular
from termwise.validation import is_finite_number, is_integer

REPORT = "report.json"

_PARTS = {"facts": dict, "scorers": list, "probes": list, "cells": list, "comparisons": list, "spread": list}

Kind = tuple[str, Callable[[object], bool]]
"""What a value has to be, and what tells whether it is."""

_TEXT: Kind = ("a text", lambda value: isinstance(value, str))
_TEXT_OR_NULL: Kind = ("a text or null", lambda value: isinstance(value, str | None))
_DICT: Kind = ("a dict", lambda value: isinstance(value, Mapping))
_TEXTS: Kind = (
    "a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
)
_TRUTH: Kind = ("true or false", lambda value: isinstance(value, bool))
_COUNT: Kind = ("a whole number", is_integer)
_COUNT_OR_NULL: Kind = ("a whole number or null", lambda value: value is None or is_integer(value))
_NUMBER: Kind = ("a number", is_finite_number)
_SCORE: Kind = (
    "a number from −1 to 1 or null",
    lambda value: value is None or (is_finite_number(value) and -1 <= value <= 1),
)
_SHARE: Kind = (
    "a number from 0 to 1 or null",
    lambda value: value is None or (is_finite_number(value) and 0 <= value <= 1),
)
_DIFFERENCE: Kind = ("a number from −2 to 2", lambda value: is_finite_number(value) and -2 <= value <= 2)

_VALUES: Mapping[str, Mapping[str, Kind]] = {
    "scorers": {
        "name": _TEXT,
        "fingerprint": _TEXT_OR_NULL,
        "reading": _DICT,
        "gaps": _COUNT_OR_NULL,
        "skipped": _DICT,
    },
    "probes": {
        "name": _TEXT,
        "title": _TEXT,
        "section": _TEXT,
        "symmetric": _TRUTH,
        "samples": _COUNT,
    },
    "cells": {
        "probe": _TEXT,
        "scorer": _TEXT,
        "content": _TEXT,
        "samples": _COUNT,
        "score": _SCORE,
        "low": _SCORE,
        "high": _SCORE,
        "p_holm": _SHARE,
    },
    "comparisons": {
        "probe": _TEXT,
        "scorer": _TEXT,
        "baseline": _TEXT,
        "difference": _DIFFERENCE,
        "p_holm": _SHARE,
    },
    "spread": {
        "model": _TEXT,
        "seeds": _COUNT,
        "sections": _DICT,
        "sign_flips": _TEXTS,
    },
}
"""What is read of the parts of a report: by whoever compares it, or shows its tables."""

_OPTIONAL: Mapping[str, Kind] = {
    "wanted": (
        f"one of {', '.join(map(repr, EXPECTATIONS))}",
        lambda value: isinstance(value, str) and value in EXPECTATIONS,
    ),
    "needs": _TEXT,
}
"""What is read of a probe where it is there: reports of before had none of it."""

_DISTINCT = {"scorers": ("name",), "probes": ("name",), "cells": ("probe", "scorer")}
"""What each of them is known by."""

_REFERRING = {
    "cells": {"probe": "probes", "scorer": "scorers"},
    "comparisons": {"probe": "probes", "scorer": "scorers", "baseline": "scorers"},
}
"""What names one of another part."""

_LONGEST = 2**32
"""Bytes that are read."""


class Unfit(ValueError):
    """What a file holds is no report; the message says why."""


def read_report(path: str | Path) -> dict[str, Any]:
    """Read the numbers of a report.

    Parameters
    ----------
    path : str or Path
        The folder, or its ``report.json``.

    Raises
    ------
    ModelFormatError
        If it is no report, or one of a later version.
    """
    file = Path(path) / REPORT if Path(path).is_dir() else Path(path)
    try:
        report = parsed(file)
        check_version(file, report)
        return _checked(report)
    except Unfit as error:
        raise ModelFormatError(
            "this is no report of probes",
            facts=[("file", file), ("why", error)],
            fixes=["name a folder that termwise probe --out wrote"],
        ) from error


def check_version(file: Path, report: Mapping[str, Any]) -> None:
    """Refuse a report of another version.

    Raises
    ------
    ModelFormatError
        If it is one.
    """
    version = report.get("version")
    if report.get("format") == FORMAT and (version != VERSION or isinstance(version, bool)):
        raise ModelFormatError(
            "this report is of another version of termwise",
            facts=[("file", file), ("version", shown(version)), ("expected", VERSION)],
            fixes=["run the probes again, into a new folder"],
        )


def report_at(folder: Path) -> dict[str, Any] | None:
    """Return the numbers of the report in a folder; None where there is none that can be read."""
    try:
        return read_report(folder / REPORT)
    except ModelFormatError:
        return None


def parsed(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises
    ------
    Unfit
        If there is none.
    """
    try:
        text = read_regular(file, _LONGEST).decode("utf-8")
        body = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except OSError as error:
        raise Unfit(error.strerror or str(error)) from error
    except Misfit as error:
        raise Unfit(f"it is {error.seen}, not {error.expected}") from error
    except RecursionError as error:
        raise Unfit("it is nested too deeply") from error
    except ValueError as error:
        raise Unfit(str(error)) from error
    if not isinstance(body, dict):
        raise Unfit("it is no JSON object")
    return body


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report whose parts and cells are there.

    Raises
    ------
    Unfit
        If something is not; the message names the place.
    """
    if report.get("format") != FORMAT:
        raise Unfit(f"its format is {shown(report.get('format'))}, not {FORMAT!r}")
    for name, kind in _PARTS.items():
        if not isinstance(report.get(name), kind):
            raise Unfit(f"{name} is {shown(report.get(name))}, not a {kind.__name__}")
    for part, kinds in _VALUES.items():
        for number, one in enumerate(report[part]):
            _check(f"{part}[{number}]", one, kinds)
    for number, probe in enumerate(report["probes"]):
        _check(f"probes[{number}]", probe, {name: kind for name, kind in _OPTIONAL.items() if name in probe})
    for number, scorer in enumerate(report["scorers"]):
        reading = {"kind": _TEXT} | (
            {"delta": _NUMBER} if scorer["reading"].get("kind") == "constant" else {}
        )
        _check(f"scorers[{number}].reading", scorer["reading"], reading)
        _check(f"scorers[{number}].skipped", scorer["skipped"], dict.fromkeys(scorer["skipped"], _TEXT))
    for number, one in enumerate(report["spread"]):
        for section, row in one["sections"].items():
            _check(f"spread[{number}].sections.{section}", row, {"deviation": _NUMBER, "probes": _COUNT})
    _check("facts", {"not made": {}} | report["facts"], {"not made": _DICT})
    not_made = report["facts"].get("not made", {})
    _check("facts.not made", not_made, dict.fromkeys(not_made, _TEXTS))
    _check_names(report)
    return report


def _check_names(report: Mapping[str, Any]) -> None:
    """Refuse parts that stand twice, and names of what is not there."""
    for part, keys in _DISTINCT.items():
        seen: set[tuple[str, ...]] = set()
        for number, one in enumerate(report[part]):
            key = tuple(one[name] for name in keys)
            if key in seen:
                raise Unfit(f"{part}[{number}] is a second one of {', '.join(map(shown, key))}")
            seen.add(key)
    for part, references in _REFERRING.items():
        for name, named in references.items():
            names = {one["name"] for one in report[named]}
            for number, one in enumerate(report[part]):
                if one[name] not in names:
                    raise Unfit(
                        f"{part}[{number}].{name} is {shown(one[name])}, which is not among the {named}"
                    )


def _check(place: str, found: object, kinds: Mapping[str, Kind]) -> None:
    if not isinstance(found, Mapping):
        raise Unfit(f"{place} is {shown(found)}, not a dict")
    for name, (kind, fits) in kinds.items():
        if name not in found:
            raise Unfit(f"{place}.{name} is missing")
        if not fits(found[name]):
            raise Unfit(f"{place}.{name} is {shown(found[name])}, not {kind}")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text)


def _no_number(name: str) -> float:
    raise Unfit(f"{name} is no number of JSON")
