"""Settings: frozen records with checks of types and ranges, and a parser."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args, get_type_hints

from termwise.display.safe_text import shown
from termwise.errors import ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass

MOST = 10**15
"""Upper bound of all numeric settings."""

MOST_EPOCHS = 10**6
"""Upper bound of epochs, within the range of the step counters and of the estimate of the remaining time."""

_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True)
class Setting:
    """Description of a setting.

    Attributes
    ----------
    name : str
    default : bool, int, float or str
    values : str
        Values that it takes, such as ``a whole number from 1 to 1,024``.
    meaning : str
    """

    name: str
    default: bool | int | float | str
    values: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class TypedSettings:
    """Base class of settings, such as those of a training run.

    Fields have the types bool, int, float, str, or Literal of names. `ranges` has the ranges of numbers; without one,
    the range is 0 to `MOST`. `called` is the term for a setting in errors. `meanings` says what the settings are, for
    lists of them.

    Raises
    ------
    ParameterError
        If a value is not of the type of its field, or out of range.
    UnknownNameError
        If a name is not one of the choices.
    """

    called: ClassVar[str] = "training setting"
    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    meanings: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():
            value = getattr(self, name)
            if get_args(hint):
                if value not in get_args(hint):
                    raise UnknownNameError.of(name, str(value), get_args(hint))
            elif isinstance(value, bool) is not (hint is bool) or not isinstance(
                value, (int, float) if hint is float else hint
            ):
                raise _unreadable(self.called, name, value, hint)
            elif hint in (int, float):
                least, most = self._range(name)
                if not least <= value <= most:
                    raise ParameterError(
                        f"{name} is out of range",
                        facts=[("given", shown(value)), ("least", least), ("most", most)],
                    )

    @classmethod
    def _range(cls, name: str) -> tuple[float, float]:
        least, most = cls.ranges.get(name, (0, MOST))
        return least, min(most, MOST)

    @classmethod
    def described(cls) -> list[Setting]:
        """Return a description of each setting.

        Examples
        --------
        >>> class Shop(TypedSettings):
        ...     meanings = {}
        >>> Shop.described()
        []
        """
        found = []
        for field in dataclasses.fields(cls):
            hint = _hints(cls)[field.name]
            values = " or ".join(get_args(hint)) or _EXPECTED[hint]
            if hint in (int, float):
                least, most = cls._range(field.name)
                values += f" from {least:,} to {most:,}"
            default: Any = field.default
            found.append(Setting(field.name, default, values, cls.meanings[field.name]))
        return found

    @classmethod
    def parse(cls, given: Mapping[str, str], *, defaults: Mapping[str, Any] = {}) -> Self:
        """Return settings with values parsed from text.

        Parameters
        ----------
        given : mapping of str to str
            Text of settings by name.
        defaults : mapping, optional
            Values of other settings, instead of the defaults of the class.

        Raises
        ------
        UnknownNameError
            If there is no such setting.
        ParameterError
            If a value is not of the type of its setting, or out of range.
        """
        hints = _hints(cls)
        values = dict(defaults)
        for name, text in given.items():
            if name not in hints:
                raise UnknownNameError.of(cls.called, name, hints)
            values[name] = _parsed(cls.called, name, text, hints[name])
        return cls(**values)


_HINTS: dict[type, dict[str, Any]] = {}
"""Types of the fields of the classes that were used."""


def _hints(kind: type[TypedSettings]) -> dict[str, Any]:
    if kind not in _HINTS:
        hints = get_type_hints(kind)
        _HINTS[kind] = {one.name: hints[one.name] for one in dataclasses.fields(kind)}
    return _HINTS[kind]


def _parsed(called: str, name: str, text: str, hint: Any) -> object:
    try:
        if hint is bool:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        return hint(text) if hint in (int, float) else text
    except (ValueError, KeyError):
        raise _unreadable(called, name, text, hint) from None


def _unreadable(called: str, name: str, value: object, hint: Any) -> ParameterError:
    return ParameterError(
        f"the {called} {name} cannot be read", facts=[("given", shown(value)), ("expected", _EXPECTED[hint])]
    )
