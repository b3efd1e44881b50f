"""Interface of the row sources of added documents, and what the row sources of builds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
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
from termwise.fixes import Fix, Name
from termwise.index.document_spill import DocumentWriter
from termwise.index.updater import IndexUpdater
from termwise.indexing.field_weights import texts_to_store
from termwise.indexing.options import BuildOptions
from termwise.models import Model
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer
from termwise.validation import check_documents


class RowSource(ABC):
    """Computes the rows of documents that are added to an index, and passes them to its updater."""

    updater: IndexUpdater

    @abstractmethod
    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Add documents with distinct identifiers; `known` has the published positions of unchanged texts."""

    def flush(self) -> None:  # noqa: B027
        """Pass the rows of all documents to the updater."""

    def reset(self) -> None:  # noqa: B027
        """Forget documents that were not passed to the updater, and start from its current generation."""

    def close(self) -> None:  # noqa: B027
        """Remove temporary files."""


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


def check_source(collection: object, fields: FieldChoice) -> None:
    """Refuse a collection or a choice of fields of the wrong type."""
    if not isinstance(collection, str | Path | Collection):
        check_documents(collection)
    checked_fields(fields)


def attributes_of(documents: Sequence[Document]) -> list[Mapping[str, AttributeValue]] | None:
    """Return the attributes of documents; None if none has any."""
    attributes = [document.attributes for document in documents]
    return attributes if any(attributes) else None


def pass_documents(
    writer: DocumentWriter, documents: Sequence[Document], store_text: bool, field_weights: Mapping[str, int]
) -> None:
    """Add the identifiers and attributes of documents to an index, and their texts if it stores them."""
    writer.add_documents(
        [document.doc_id for document in documents],
        texts_to_store(documents, field_weights) if store_text else None,
        attributes_of(documents),
    )


def refuse_arguments(message: str, model: Model | str, arguments: Mapping[str, object]) -> None:
    """Raise an error if arguments that do not apply to a model, or to the mixture of a name, are given."""
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise ParameterError(
            message,
            facts=[
                ("model", model if isinstance(model, str) else model.name),
                ("given", ", ".join(f"{name} {_named(arguments[name])}" for name in given)),
            ],
            fixes=[Fix("omit " + " and ".join(["{}"] * len(given)), tuple(map(Name, given)))],
        )


def check_network_options(mixture: str, networks: int, options: BuildOptions) -> None:
    """Raise an error if the options of a network do not fit a mixture of which this number of parts run one."""
    if networks == 0:
        arguments = {**options.of_network(), "encoding": options.encoding}
        refuse_arguments("these arguments require a model with a network", mixture, arguments)
    elif networks > 1:
        message = "each of these parts runs a network of its own, so they have no common encoder"
        refuse_arguments(message, mixture, {"encoder": options.encoder})


def _named(value: object) -> str:
    """Return the value of an argument as an error shows it."""
    if isinstance(value, Analyzer):
        return value.spec.name
    return str(value) if isinstance(value, str | Path) else shown(value)
