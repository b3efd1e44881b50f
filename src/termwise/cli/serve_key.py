"""``termwise serve-key``: create, list and revoke API keys of a service."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from termwise.cli.options import JsonFlag, option
from termwise.cli.terminal import note_line, print_json, print_text
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.serve.keys import Role


def command(
    keys: Annotated[Path, option("--keys FILE", "File of the API keys; created if there is none.")],
    role: Annotated[
        str | None, option("--role ROLE", "Create a key for search, write (and search), or admin (all).")
    ] = None,
    name: Annotated[str, option("--name TEXT", "Who uses the key, for the list.")] = "",
    revoke: Annotated[str | None, option("--revoke ID", "Remove a key.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Create an API key, list the keys, or revoke one.

    A new key is printed once; the file keeps its hash only. A running service reads the file again.

    For example:

    termwise serve-key --keys keys.json --role search --name website
    """
    from termwise.serve.keys import KeyFile

    file = KeyFile(keys)
    if role is not None and revoke is not None:
        raise UsageError("create a key or revoke one, not both")
    if role is not None:
        key = file.create(cast("Role", role), name)
        if as_json:
            print_json({"key": key, "role": role})
        else:
            print_text(key)
            note_line("this key is not shown again")
        return
    if revoke is not None:
        file.revoke(revoke)
    for record in file.read().values():
        shown = {name: value for name, value in asdict(record).items() if name != "sha256"}
        if as_json:
            print_json(shown)
        else:
            print_text("  ".join(str(value) for value in shown.values()).rstrip())
