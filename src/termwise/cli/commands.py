"""Commands made of typed functions: the annotation of each parameter describes an argument or an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from termwise.errors import UnknownNameError, UsageError
from termwise.fast_dataclass import dataclass

HELP = {"help_option_names": ["-h", "--help"]}
"""Settings of every command and group."""


@dataclass(frozen=True)
class Option:
    """Option of a command: its names and the placeholder of its value, None for a flag; its help and bounds."""

    names: tuple[str, ...]
    metavar: str | None
    help: str
    min: float | None = None
    max: float | None = None

    def parameter(self, name: str, kind: Any, default: Any, repeated: bool) -> click.Parameter:
        """Return the parameter of click."""
        given: dict[str, Any] = {"help": self.help, "required": default is inspect.Parameter.empty}
        if not given["required"] and default not in (None, "") and default is not False:
            given |= {"default": default, "show_default": True}
        if self.metavar is None:
            chosen = None if default is None else bool(default)  # None: neither of the two names is given
            return click.Option([name, *self.names], is_flag=True, **given | {"default": chosen})
        return click.Option(
            [name, *self.names], type=self._type(kind), metavar=self.metavar, multiple=repeated, **given
        )

    def _type(self, kind: Any) -> click.ParamType[Any]:
        if kind in (int, float) and (self.min, self.max) != (None, None):
            bounded = (click.IntRange if kind is int else click.FloatRange)(self.min, self.max)  # type: ignore[arg-type]
            bounded.name = "whole number" if kind is int else "number"  # for errors
            return bounded
        return _type_of(kind)


@dataclass(frozen=True)
class Argument:
    """Positional argument of a command."""

    metavar: str
    help: str

    def parameter(self, name: str, kind: Any, default: Any, repeated: bool) -> click.Parameter:
        """Return the parameter of click."""
        required = default is inspect.Parameter.empty
        given = {} if required or default is None else {"default": default}
        note = "  [required]" if required else f"  [default: {default}]" if given else ""
        return _Argument(
            [name], type=_type_of(kind), metavar=self.metavar, nargs=-1 if repeated else 1, required=required,
            text=self.help + note, **given,
        )  # fmt: skip


class _Argument(click.Argument):
    """Argument with a help text."""

    def __init__(self, *given: Any, text: str, **options: Any) -> None:
        super().__init__(*given, **options)
        self.text = text

    def make_metavar(self, ctx: click.Context) -> str:
        name = str(self.metavar).removesuffix("...")
        name = name if self.required else f"[{name}]"
        return name if self.nargs == 1 else f"{name}..."

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return str(self.metavar), self.text


def _type_of(kind: Any) -> click.ParamType[Any]:
    return click.Path(path_type=Path) if kind is Path else click.types.convert_type(kind)


class Command(click.Command):
    """Command whose help lists its arguments before its options."""

    allow_extra_args = True
    """So that `parse_args` can say what to do about them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; words beyond them are most often a query without quotes."""
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise UsageError(
                "there are more arguments than the command takes",
                facts=[
                    ("not expected", " ".join(rest)),
                    ("usage", self.get_usage(ctx).removeprefix("Usage: ")),
                ],
                fixes=["put words that belong together in quotes"],
            )
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections["Arguments" if isinstance(parameter, _Argument) else "Options"].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def command_of(name: str, function: Callable[..., None]) -> Command:
    """Return the command that calls a function.

    Parameters
    ----------
    name : str
    function : callable
        The type of each parameter is ``Annotated`` with an `Option` or an `Argument`. A list is an option, or an
        argument, that can be repeated. The docstring is the help.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters, lists = [], []
    for each in inspect.signature(function).parameters.values():
        kind, default = hints[each.name], each.default
        assert get_origin(kind) is Annotated, f"{name}: {each.name} is no argument or option"
        kind, described = get_args(kind)
        if NoneType in get_args(kind):
            kind = next(one for one in get_args(kind) if one is not NoneType)
        repeated = get_origin(kind) is list
        if repeated:
            (kind,) = get_args(kind)
            lists.append(each.name)
        parameters.append(described.parameter(each.name, kind, default, repeated))

    def call(**given: Any) -> None:
        for each in lists:
            given[each] = list(given[each]) if given[each] else None
        function(**given)

    return Command(
        name,
        params=parameters,
        callback=call,
        help=inspect.cleandoc(function.__doc__ or ""),
        context_settings=HELP,
    )


class Group(click.Group):
    """Command group that imports the module of a command only when that command is used.

    Parameters
    ----------
    name : str
    help : str
    sections : mapping of str to mapping
        Summary of each command by its name, by the title of a section of the help.
    make : callable
        Returns the command with a name.
    params : sequence of click.Parameter, optional

    Attributes
    ----------
    sections : mapping
        See above.
    """

    def __init__(
        self,
        name: str,
        help: str,
        sections: Mapping[str, Mapping[str, str]],
        make: Callable[[str], click.Command],
        params: Sequence[click.Parameter] = (),
    ) -> None:
        super().__init__(name, help=help, params=[*params], no_args_is_help=True, context_settings=HELP)
        self.sections, self._make = sections, make

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Return the names of all commands."""
        return [name for commands in self.sections.values() for name in commands]

    def get_command(self, ctx: click.Context | None, name: str) -> click.Command | None:
        """Return a command; None if there is none of the name."""
        if name not in self.commands and name in self.list_commands(ctx):
            self.commands[name] = self._make(name)
        return self.commands.get(name)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command named by the first argument."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise UnknownNameError.of("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([*commands.items()])
