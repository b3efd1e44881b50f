"""What is said of a collection before it is read."""

from __future__ import annotations

from pathlib import Path

from termwise.cli.terminal import note
from termwise.legible import shown


def say_header(source: str) -> None:
    """Say on stderr that the first line of a file of columns is no document, where it names them."""
    from termwise.collection import open_collection
    from termwise.collection.files import TabSeparatedCollection
    from termwise.errors import TermwiseError

    if not Path(source).is_file():
        return  # a pipe can be read only once
    try:
        collection = open_collection(source)
        header = collection.header() if isinstance(collection, TabSeparatedCollection) else None
    except TermwiseError:
        return  # whoever opens it next says what is wrong
    if header is not None:
        note(f"{source}: the first line names the columns and is left out: {shown(header)}")
