"""Commands of the command line, for tests."""

from __future__ import annotations

import click

from termwise.cli.commands import Group


def every_command(command: click.Command) -> dict[str, click.Command]:
    """Return the commands of a group by their names; none for a command that is no group."""
    if not isinstance(command, Group):
        return {}
    made = {name: command.get_command(None, name) for name in command.list_commands(None)}
    return {name: each for name, each in made.items() if each is not None}
