"""Groups of verbs: one that does not exist is refused with those that are spelt like it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from termwise.errors import UnknownNameError


class Verbs(TyperGroup):
    """A group that refuses an unknown verb as other unknown names are refused."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that the arguments begin with."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise UnknownNameError.of("verb", name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)
