"""Specifications of scorers as text: ``[NAME=]TARGET[,SETTING=VALUE...]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from termwise.display.safe_text import shown
from termwise.errors import UnknownNameError, UsageError

_NAMED = re.compile(r"(?P<name>[\w.@+ -]+)=(?P<rest>.+)", re.DOTALL)

_INVALID_NAME = re.compile(r"(?P<name>[^=/:]*)=")
"""A name with other characters; in a path a slash comes before the equals sign, in an address or function a colon."""

_DIGITS = 9
"""Largest number of digits of a whole number."""


class ScorerSpecification(NamedTuple):
    """Parsed specification of a scorer: the given text, a name, a model, folder, address or function, and settings."""

    text: str
    name: str | None
    target: str
    settings: Mapping[str, str]

    def check_settings(self, known: tuple[str, ...]) -> None:
        """Raise `UnknownNameError` for a setting that is not known."""
        for setting in self.settings:
            if setting not in known:
                raise UnknownNameError.of(f"setting of {self.text.partition(',')[0]}", setting, known)

    def integer(self, setting: str, *, least: int = 1) -> int | None:
        """Return a setting as a whole number of at least `least`; None if it is absent."""
        text = self.settings.get(setting)
        if text is None:
            return None
        if not text.isdecimal() or len(text) > _DIGITS or int(text) < least:
            raise self._invalid(setting, f"a whole number from {least} to {10**_DIGITS - 1:,}")
        return int(text)

    def number(self, setting: str) -> float | None:
        """Return a setting as a number; None if it is absent."""
        try:
            return float(self.settings[setting]) if setting in self.settings else None
        except ValueError:
            raise self._invalid(setting, "a number") from None

    def flag(self, setting: str) -> bool | None:
        """Return a setting that is true or false; None if it is absent."""
        text = self.settings.get(setting)
        if text not in (None, "true", "false"):
            raise self._invalid(setting, "true or false")
        return None if text is None else text == "true"

    def _invalid(self, setting: str, expected: str) -> UsageError:
        return UsageError(
            f"{setting} must be {expected}",
            facts=[("scorer", shown(self.text)), (setting, shown(self.settings[setting]))],
        )


def parse_specification(text: str) -> ScorerSpecification:
    """Parse the specification of a scorer; `UsageError` if there is no target, or a setting has no value.

    Examples
    --------
    >>> parse_specification("tuned=bm25,k1=1.2,b=0.8")[1:]
    ('tuned', 'bm25', {'k1': '1.2', 'b': '0.8'})
    >>> parse_specification("http://localhost:8000/score")[1:]
    (None, 'http://localhost:8000/score', {})
    """
    first, *parts = text.split(",")
    match = _NAMED.fullmatch(first)
    name, target = (match["name"].strip(), match["rest"]) if match else (None, first)
    if match is None and (invalid := _INVALID_NAME.match(first)):
        raise UsageError(
            "a scorer cannot have this name",
            facts=[("name", shown(invalid["name"])), ("expected", "letters, digits, blanks and _ . @ + -")],
            fixes=[f"mine={first[invalid.end() :]}", f"./{first}, if it is a file or folder"],
        )
    settings: dict[str, str] = {}
    for part in parts:
        setting, _, value = part.partition("=")
        if not setting or not value:
            raise _invalid_part(text, part)
        if setting in settings:
            raise UsageError("a setting is given twice", facts=[("scorer", text), ("setting", setting)])
        settings[setting] = value
    if not target.strip() or target.endswith("="):
        raise _invalid_part(text, first)
    return ScorerSpecification(text, name, target, settings)


def _invalid_part(text: str, part: str) -> UsageError:
    return UsageError(
        "a scorer is a model, folder, address or function, followed by settings after commas",
        facts=[("given", text), ("part", repr(part))],
        fixes=["bm25,k1=1.2,b=0.8", "mine=http://localhost:8000/score", "runs/my-index"],
    )
