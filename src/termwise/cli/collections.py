"""What is said of a collection that is read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from termwise.cli.terminal import say
from termwise.display.safe_text import shown

if TYPE_CHECKING:
    from termwise.collection import Collection
    from termwise.collection.file_collections import Header


def header_said(source: str, fields: tuple[str, ...] | None) -> str | Collection:
    """Say on stderr what becomes of the first line of a file of columns, where it names them.

    Returns
    -------
    str or Collection
        The source. A pipe can be read only once: for one, a collection that says it while it is read.
    """
    from termwise.collection import open_collection
    from termwise.collection.file_collections import TabSeparatedCollection
    from termwise.errors import TermwiseError

    path = Path(source)
    if not path.exists():
        return source
    try:
        collection = open_collection(source, fields=fields)
        if not isinstance(collection, TabSeparatedCollection):
            return source
        if not path.is_file():
            return replace(collection, on_header=partial(_say_header, source))
        header = collection.header()
    except TermwiseError:
        return source  # whoever opens it next says what is wrong
    if header is not None:
        _say_header(source, header)
    return source


def _say_header(source: str, header: Header) -> None:
    if header.left_out:
        say(f"{source}: the first line names the columns and is left out: {shown(header.line)}")
    else:
        say(
            f"{source}: the first line is read as a document, although it seems to name the columns, of which the "
            f"identifier comes first: {shown(header.line)}"
        )
