"""What is said of a collection before it is read."""

from __future__ import annotations

from pathlib import Path

from termwise.cli.terminal import note
from termwise.legible import shown


def say_header(source: str) -> None:
    """Say on stderr what becomes of the first line of a file of columns, where it names them."""
    from termwise.collection import open_collection
    from termwise.collection.files import TabSeparatedCollection
    from termwise.errors import TermwiseError

    if not Path(source).is_file():
        return  # a pipe can be read only once
    try:
        collection = open_collection(source)
        if not isinstance(collection, TabSeparatedCollection):
            return
        header, misplaced = collection.header(), collection.misplaced_header()
    except TermwiseError:
        return  # whoever opens it next says what is wrong
    if header is not None:
        note(f"{source}: the first line names the columns and is left out: {shown(header)}")
    if misplaced is not None:
        note(
            f"{source}: the first line is read as a document, although it seems to name the columns, of which the "
            f"identifier comes first: {shown(misplaced)}"
        )
