"""Build context shared by all row sources, and the checks of common arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from termwise.attributes import Schema
from termwise.collection import Collection, open_collection
from termwise.collection.fields import FieldChoice, checked_fields
from termwise.collection.file_collections import (
    JsonLinesCollection,
    TabSeparatedCollection,
    count_documents,
)
from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, EmptyCollectionError, ParameterError
from termwise.index import IndexWriter
from termwise.models import Model
from termwise.progress import Progress
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer
from termwise.validation import check, check_documents, check_threads


@dataclass(frozen=True, kw_only=True)
class BuildContext:
    """An open index writer and the options of the build.

    Attributes
    ----------
    writer : IndexWriter
    store_text : bool
        Whether the index keeps the texts.
    threads : int
    progress : callable
        Called with a stage, the number of items done, and the total.
    fields : tuple of str, optional
        Names of the fields of the texts, if they were chosen.
    """

    writer: IndexWriter
    store_text: bool
    threads: int
    progress: Progress
    fields: tuple[str, ...] | None = None


def open_documents(
    collection: str | Path | Collection | Iterable[Document],
    fields: FieldChoice,
    attributes: Literal["all"] | Sequence[str] | Schema | None = None,
    *,
    count: bool = False,
) -> tuple[Iterator[Document], int | None]:
    """Return the documents of a collection and, if known, their number; with `count`, those of a file are counted."""
    if isinstance(collection, str | Path):
        collection = open_collection(collection, fields=fields, attributes=attributes)
    if isinstance(collection, Collection):
        length = collection.length
        if count and isinstance(collection, JsonLinesCollection | TabSeparatedCollection):
            length = count_documents(collection)
        return collection.documents(), length
    return iter(collection), len(collection) if isinstance(collection, Sized) else None


def empty_collection() -> EmptyCollectionError:
    """Return the error for a collection without documents."""
    return EmptyCollectionError(
        "the collection holds no documents", fixes=["check the path and the format of the collection"]
    )


@contextmanager
def collection_named(collection: object) -> Iterator[None]:
    """Name the collection in errors about equal identifiers and about an empty collection, unless they name a file."""
    try:
        yield
    except (DuplicateIdError, EmptyCollectionError) as error:
        if not isinstance(collection, str | Path) or "file" in dict(error.facts):
            raise
        facts = [("collection", collection), *error.facts]
        raise type(error)(error.message, facts=facts, fixes=error.fixes) from None


def check_arguments(
    *, collection: object, settings: object, fields: FieldChoice, threads: object, progress: object
) -> None:
    """Refuse arguments of the wrong type."""
    if not isinstance(collection, str | Path | Collection):
        check_documents(collection)
    if settings is not None:
        strings = isinstance(settings, Mapping) and all(
            isinstance(part, str) for pair in settings.items() for part in pair
        )
        check("settings", settings, strings, 'names and values, all of them strings, such as {"keep": "64"}')
    checked_fields(fields)
    check_threads(threads)


def attributes_of(documents: Sequence[Document]) -> list[Mapping[str, AttributeValue]] | None:
    """Return the attributes of documents; None if none has any."""
    attributes = [document.attributes for document in documents]
    return attributes if any(attributes) else None


def refuse_arguments(message: str, model: Model, arguments: Mapping[str, object]) -> None:
    """Raise an error if arguments that do not apply to a model are given."""
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise ParameterError(
            message,
            facts=[
                ("model", model.name),
                ("given", ", ".join(f"{name} {_named(arguments[name])}" for name in given)),
            ],
            fixes=[f"omit {' and '.join(given)}"],
        )


def _named(value: object) -> str:
    """Return the value of an argument as an error shows it."""
    if isinstance(value, Analyzer):
        return value.spec.name
    return str(value) if isinstance(value, str | Path) else shown(value)
