"""Suggestions of how to mend an error, as values that each interface renders in its own syntax."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from termwise.fast_dataclass import dataclass


class Code(str):
    """Python code, which is shown without quotes: a placeholder such as ``FILE``, or an expression."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NAMES = (Code("NAME"), Code("NAME"))
"""Placeholder for a tuple of names."""


@dataclass(frozen=True)
class Name:
    """Name of an argument of the call that failed."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Arguments:
    """Keyword arguments with their values.

    Attributes
    ----------
    values : tuple of (str, object)
        Name and value of each.
    of : {"call", "settings", "index"}
        Whether they belong to the call that failed, to its argument `settings`, or to the call that builds the index.
    """

    values: tuple[tuple[str, object], ...]
    of: Literal["call", "settings", "index"] = "call"

    def __str__(self) -> str:
        prefix = "settings." if self.of == "settings" else ""
        return ", ".join(f"{prefix}{name}={_python(value)}" for name, value in self.values)


@dataclass(frozen=True, repr=False)
class Call:
    """Call of a public function."""

    function: str
    positional: tuple[object, ...]
    arguments: Arguments

    @classmethod
    def of(cls, function: str, /, *positional: object, **arguments: object) -> Call:
        """Build the call of a function with these arguments."""
        return cls(function, positional, Arguments(tuple(arguments.items())))

    def __str__(self) -> str:
        given = [*map(_python, self.positional), *filter(None, [str(self.arguments)])]
        return f"{self.function}({', '.join(given)})"

    __repr__ = __str__


Part: TypeAlias = Code | Name | Arguments | Call


@dataclass(frozen=True)
class Fix:
    """Way out of an error, as a sentence about arguments and calls.

    Attributes
    ----------
    text : str
        Sentence with ``{}`` for each part. The constructors with one part take it as an argument.
    parts : tuple of str, Code, Name, Arguments or Call
        Values of the sentence; a plain string is the same in every interface.

    Examples
    --------
    >>> print(Fix.use(k=10), Fix.omit("fuzzy"), Fix.build(store_text=True), sep="; ")
    use `k=10`; omit `fuzzy`; build the index with `store_text=True`
    >>> print(Fix.use("limit the gradients: {}", clip=1))
    limit the gradients: `clip=1`
    >>> print(Fix.sentence("continue in {} with {}", "runs/1", Fix.use(resume=True, batch=Code("NUMBER"))))
    continue in runs/1 with `resume=True, batch=NUMBER`
    >>> print(Fix.call("build_index", Code("COLLECTION"), "docs.tw", model="tilde"))
    `build_index(COLLECTION, 'docs.tw', model='tilde')`
    """

    text: str
    parts: tuple[str | Part, ...] = ()

    @classmethod
    def use(cls, text: str = "use {}", /, **arguments: object) -> Fix:
        """Use arguments of the call that failed."""
        return cls(text, (Arguments(tuple(arguments.items())),))

    @classmethod
    def settings(cls, text: str = "use {}", /, **arguments: object) -> Fix:
        """Use attributes of the argument `settings` of the call that failed."""
        return cls(text, (Arguments(tuple(arguments.items()), "settings"),))

    @classmethod
    def build(cls, text: str = "build the index with {}", /, **arguments: object) -> Fix:
        """Build the index with these arguments."""
        return cls(text, (Arguments(tuple(arguments.items()), "index"),))

    @classmethod
    def omit(cls, name: str, text: str = "omit {}") -> Fix:
        """Omit an argument of the call that failed."""
        return cls(text, (Name(name),))

    @classmethod
    def call(cls, function: str, /, *positional: object, **arguments: object) -> Fix:
        """Call a public function."""
        return cls("{}", (Call.of(function, *positional, **arguments),))

    @classmethod
    def python(cls, code: str, text: str = "{}") -> Fix:
        """Write code that only Python has an equivalent of."""
        return cls(text, (Code(code),))

    @classmethod
    def sentence(cls, text: str, /, *values: object) -> Fix:
        """Follow a sentence; `values` are text, or fixes of which it shows the arguments and calls."""
        parts: list[str | Part] = []
        for value in values:
            parts += value.parts if isinstance(value, Fix) else [str(value)]
        return cls(text, tuple(parts))

    def worded(self, spell: Callable[[Part], str | None]) -> str | None:
        """Return the sentence with its parts as an interface spells them; None if one has no equivalent there."""
        spelt = [part if type(part) is str else spell(part) for part in self.parts]  # type: ignore[arg-type]
        return None if None in spelt else self.text.format(*spelt)

    def __str__(self) -> str:
        return self.worded("`{}`".format) or ""


def _python(value: object) -> str:
    return repr(str(value) if isinstance(value, Path) else value)
