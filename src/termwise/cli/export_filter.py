"""``termwise export-filter``: a filter in the form of the engine of an export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.options import argument
from termwise.cli.terminal import print_json


def command(
    export: Annotated[Path, argument("EXPORT", "Folder of the export.")],
    filter: Annotated[
        str, argument("EXPR", "Condition on attributes, such as 'lang = \"de\" and price < 20'.")
    ],
) -> None:
    """Print a filter in the form of the engine of an export.

    It is that of client.py search --filter, and of requests of your own to the engine.

    For example:

    termwise export-filter docs.sqlite "price < 20"
    """
    from termwise.export import translated_filter

    found = translated_filter(export, filter)
    if isinstance(found, str):
        print(found)  # as it is: it is pasted
    else:
        print_json(found)
