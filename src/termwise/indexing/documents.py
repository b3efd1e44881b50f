"""The documents of a collection, in any form it may be given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from pathlib import Path

from termwise.collection import Collection, open_collection
from termwise.errors import EmptyCollectionError
from termwise.records import Document


def documents_of(
    collection: str | Path | Collection | Iterable[Document], fields: tuple[str, ...] | None
) -> tuple[Iterator[Document], int | None]:
    """Return the documents and, if known, their number.

    Raises
    ------
    TermwiseError
        If there is anything wrong with a collection given by name.
    """
    if isinstance(collection, str | Path):
        collection = open_collection(collection, fields=fields)
    if isinstance(collection, Collection):
        return collection.documents(), collection.length
    return iter(collection), len(collection) if isinstance(collection, Sized) else None


def empty_collection() -> EmptyCollectionError:
    """Build the error for a collection without a document."""
    return EmptyCollectionError(
        "the collection holds no documents", fixes=["check the path and the format of the collection"]
    )
