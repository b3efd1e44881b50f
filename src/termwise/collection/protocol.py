"""What a collection is to the rest of the package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from termwise.records import Document


@runtime_checkable
class Collection(Protocol):
    """Documents that can be read one after another, as often as needed.

    Readers only parse: whether an identifier occurs twice is for the index writer to find.
    """

    @property
    def name(self) -> str:
        """What the collection is called in manifests and tables."""
        ...

    @property
    def length(self) -> int | None:
        """Number of documents where it is known without reading them, else None."""
        ...

    def documents(self) -> Iterator[Document]:
        """Yield the documents from the first on; each call starts again."""
        ...
