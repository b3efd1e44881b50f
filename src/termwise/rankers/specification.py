"""How a scorer is named on one line: ``[NAME=]TARGET[,SETTING=VALUE...]``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from termwise.display.safe_text import shown
from termwise.errors import UnknownNameError, UsageError

_NAMED = re.compile(r"(?P<name>[\w.@+ -]+)=(?P<rest>.+)", re.DOTALL)


_UNNAMED = re.compile(r"(?P<name>[^=/:]*)=")
"""What would be a name, if these letters were of one; a path has a slash before, an address or a function a colon."""


class ScorerSpecification(NamedTuple):
    """What a line says of a scorer.

    Attributes
    ----------
    text : str
        The line.
    name : str or None
        What it is to be called; None where that is left to the scorer.
    target : str
        A model, a folder, an address, a function.
    settings : mapping of str to str
        By name.
    """

    text: str
    name: str | None
    target: str
    settings: Mapping[str, str]

    def take(self, known: tuple[str, ...]) -> dict[str, str]:
        """Return the settings, all of which have to be known.

        Raises
        ------
        UnknownNameError
            If one is not.
        """
        for setting in self.settings:
            if setting not in known:
                raise UnknownNameError.of(f"setting of {self.target}", setting, known)
        return dict(self.settings)


def parse_specification(text: str) -> ScorerSpecification:
    """Read a line.

    Raises
    ------
    UsageError
        If there is no target, or a setting has no value.

    Examples
    --------
    >>> parse_specification("tuned=bm25,k1=1.2,b=0.8")[1:]
    ('tuned', 'bm25', {'k1': '1.2', 'b': '0.8'})
    >>> parse_specification("http://localhost:8000/score")[1:]
    (None, 'http://localhost:8000/score', {})
    """
    first, *others = text.split(",")
    found = _NAMED.fullmatch(first)
    name, target = (found["name"].strip(), found["rest"]) if found else (None, first)
    if found is None and (before := _UNNAMED.match(first)):
        raise UsageError(
            "a scorer cannot have this name",
            facts=[("name", shown(before["name"])), ("expected", "letters, digits, blanks and _ . @ + -")],
            fixes=[f"mine={first[before.end() :]}", f"./{first}, if it is a file or folder"],
        )
    settings = {}
    for other in others:
        setting, equals, value = other.partition("=")
        if not equals or not setting or not value:
            raise _odd(text, other)
        if setting in settings:
            raise UsageError("a setting is given twice", facts=[("scorer", text), ("setting", setting)])
        settings[setting] = value
    if not target.strip() or target.endswith("="):
        raise _odd(text, first)
    return ScorerSpecification(text, name, target, settings)


def _odd(text: str, part: str) -> UsageError:
    return UsageError(
        "a scorer is named by a model, folder, address or function, and settings after commas",
        facts=[("given", text), ("part", repr(part))],
        fixes=["bm25,k1=1.2,b=0.8", "mine=http://localhost:8000/score", "runs/my-index"],
    )
