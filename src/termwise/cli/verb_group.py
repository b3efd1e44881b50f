"""Command groups: grouped help, and suggestions for misspelt commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperGroup

from termwise.errors import UnknownNameError


class VerbCommand(TyperCommand):
    """Command whose help shows arguments without their Python types."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                sections["Arguments"].append((str(parameter.metavar), record[1]))
            elif record is not None:
                sections["Options"].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class VerbGroup(TyperGroup):
    """Command group that lists its commands in sections and suggests names for unknown ones."""

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Names of commands by the title of their section; empty for one section."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command named by the first argument."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise UnknownNameError.of("command", name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in sections."""
        for title, names in (self.sections or {"Commands": self.list_commands(ctx)}).items():
            rows = [(name, self.commands[name].get_short_help_str(formatter.width - 20)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)
