"""Reading the numbers of an earlier report: what is compared is there, and of the kind that it has to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.arguments import is_finite_number
from termwise.errors import ModelFormatError
from termwise.legible import shown
from termwise.probes.report.contents import FORMAT, VERSION

REPORT = "report.json"

_PARTS = {"facts": dict, "scorers": list, "probes": list, "cells": list, "comparisons": list, "spread": list}
_NAMES = ("probe", "scorer", "content")
_SCORES = ("score", "low", "high")


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
        told = (report.get("format"), report.get("version"))
        if told[0] == FORMAT and told != (FORMAT, VERSION):
            raise ModelFormatError(
                "this report is of another version of termwise",
                facts=[("file", file), ("version", told[1]), ("expected", VERSION)],
                fixes=["run the probes again"],
            )
        return _checked(report)
    except Unfit as error:
        raise ModelFormatError(
            "this is no report of probes",
            facts=[("file", file), ("why", error)],
            fixes=["name a folder that termwise probe --out wrote"],
        ) from error


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
        body = json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise Unfit(error.strerror or str(error)) from error
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
    for place, scorer in enumerate(report["scorers"]):
        _check_scorer(f"scorers[{place}]", scorer)
    for place, cell in enumerate(report["cells"]):
        _check_cell(f"cells[{place}]", cell)
    return report


def _check_scorer(place: str, scorer: object) -> None:
    if not isinstance(scorer, Mapping):
        raise Unfit(f"{place} is {shown(scorer)}, not a dict")
    if not isinstance(scorer.get("name"), str):
        raise Unfit(f"{place}.name is {shown(scorer.get('name'))}, not a text")
    if not isinstance(scorer.get("fingerprint"), str | None):
        raise Unfit(f"{place}.fingerprint is {shown(scorer['fingerprint'])}, not a text or null")
    if not isinstance(scorer.get("reading"), Mapping):
        raise Unfit(f"{place}.reading is {shown(scorer.get('reading'))}, not a dict")


def _check_cell(place: str, cell: object) -> None:
    if not isinstance(cell, Mapping):
        raise Unfit(f"{place} is {shown(cell)}, not a dict")
    for name in _NAMES:
        if not isinstance(cell.get(name), str):
            raise Unfit(f"{place}.{name} is {shown(cell.get(name))}, not a text")
    for name in _SCORES:
        value = cell.get(name)
        if name not in cell or not (value is None or is_finite_number(value)):
            raise Unfit(f"{place}.{name} is {shown(value)}, not a number or null")


def _no_number(name: str) -> float:
    raise Unfit(f"{name} is no number of JSON")
