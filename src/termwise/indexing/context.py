"""Interface of the row sources of added documents, and what the row sources of builds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from termwise.attributes import Schema
from termwise.attributes.schema import SchemaInference
from termwise.collection import Collection, open_collection
from termwise.collection.data_frames import documents_from, is_data_frame
from termwise.collection.field_roles import FieldRoles
from termwise.collection.fields import FieldChoice, checked_fields
from termwise.collection.file_collections import (
    JsonLinesCollection,
    RecordFile,
    TabSeparatedCollection,
    count_documents,
)
from termwise.collection.parts import FolderCollection
from termwise.collection.record_collection import RecordCollection, records_from
from termwise.collection.table import TableCollection
from termwise.display.safe_text import shown
from termwise.errors import DuplicateIdError, EmptyCollectionError, ParameterError
from termwise.fixes import Fix, Name
from termwise.index.document_spill import DocumentWriter
from termwise.index.updater import IndexUpdater
from termwise.indexing.field_weights import texts_to_store
from termwise.indexing.options import BuildOptions
from termwise.models import Model
from termwise.progress import Say
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer
from termwise.validation import check_documents

RecordSource = RecordFile | RecordCollection | FolderCollection
"""Collections of records, whose fields have roles."""


class RowSource(ABC):
    """Computes the rows of documents that are added to an index, and passes them to its updater."""

    updater: IndexUpdater

    def with_language(self, document: Document) -> Document:
        """Return a document with the attribute that its analyzer needs, if it is detected."""
        return document

    @abstractmethod
    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Add documents with distinct identifiers; `known` has the published positions of unchanged texts."""

    def flush(self) -> None:  # noqa: B027
        """Pass the rows of all documents to the updater."""

    def reset(self) -> None:  # noqa: B027
        """Forget documents that were not passed to the updater, and start from its current generation."""

    def close(self) -> None:  # noqa: B027
        """Remove temporary files."""


def decided_source(
    collection: str | Path | Collection | Iterable[Document],
    fields: FieldChoice,
    attributes: Literal["all", "inferred"] | Sequence[str] | Schema | None,
    id_field: str | None = None,
) -> Collection | Iterable[Document]:
    """Open a collection that is named, and decide the roles of its fields; other collections have their own choices.

    Without `attributes`, they are inferred.
    """
    if isinstance(collection, str | Path):
        kept = "inferred" if attributes is None else attributes
        collection = open_collection(collection, fields=fields, attributes=kept, id_field=id_field)
    return collection.decided() if isinstance(collection, RecordSource) else collection


def roles_of(source: object) -> FieldRoles | None:
    """Return the roles of the fields of a source that has decided about some."""
    tally = source.tally if isinstance(source, RecordSource) else None
    return None if tally is None else tally.roles


def schema_of(source: object, attributes: object) -> Schema | SchemaInference:
    """Return the schema that is given for a source, or else an inference, which is lenient if nobody named fields."""
    if attributes is None and isinstance(source, RecordFile | RecordCollection):
        attributes = source.attributes
    if isinstance(attributes, Schema):
        return attributes
    roles = roles_of(source)
    return SchemaInference(lenient=roles is not None and roles.inferred)


def say_roles(source: object, say: Say) -> None:
    """Report the separator of a table, and the roles of fields, unless there are the default texts only."""
    say_separator(source, say)
    roles = roles_of(source)
    if roles is not None and (roles.attributes or roles.neither or roles.fields) and roles.texts:
        say(str(roles))


def say_separator(source: object, say: Say) -> None:
    """Report the separator of the columns of a CSV file, unless it is the comma."""
    if isinstance(source, TableCollection) and (note := source.separator_note()) is not None:
        say(note)


def say_left_out(source: object, schema: Schema | SchemaInference, say: Say) -> None:
    """Report the values of attributes that decided about types, and the fields and values that are not kept."""
    roles = roles_of(source)
    for note in (
        schema.notes(() if roles is None else roles.codes) if isinstance(schema, SchemaInference) else ()
    ):
        say(note)
    files = source.files if isinstance(source, FolderCollection) else [source]
    for file in files:
        if isinstance(file, RecordFile | RecordCollection) and file.tally is not None:
            for note in file.tally.notes(file.unit):
                say(note if file is source else f"{file.name}: {note}")


def open_documents(
    collection: str | Path | Collection | Iterable[Document],
    fields: FieldChoice = None,
    *,
    count: bool = False,
) -> tuple[Iterator[Document], int | None]:
    """Return the documents of a collection and, if known, their number; with `count`, those of a file are counted."""
    if isinstance(collection, str | Path):
        collection = open_collection(collection, fields=fields)
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


def cannot_be_empty(model: str) -> EmptyCollectionError:
    """Return the error for an index without documents of a model whose rows depend on those of others."""
    return EmptyCollectionError(
        "an index of this model cannot be built without documents",
        facts=[("model", model)],
        fixes=[
            Fix.use("use a model of term counts, whose weights follow the documents: {}", model="bm25"),
            "give at least one document",
        ],
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


def source_of(
    collection: Any,
    fields: FieldChoice,
    attributes: Literal["all", "inferred"] | Sequence[str] | Schema | None = None,
    id_field: str | None = None,
) -> str | Path | Collection | Iterable[Document]:
    """Return records in memory and data frames as collections, and other sources as they are.

    Raises
    ------
    ParameterError
        If the collection, or a choice of fields or attributes, has the wrong type.
    """
    chosen = checked_fields(fields)
    if is_data_frame(collection):
        return documents_from(collection, fields=fields, attributes=attributes, id_field=id_field)
    if isinstance(collection, str | Path):
        return collection
    if isinstance(collection, Collection):
        found: Collection | Iterable[Any] = collection
    else:
        check_documents(collection)
        found = records_from(collection, chosen, attributes, id_field)
    if id_field is not None and (found is collection or not isinstance(found, RecordCollection)):
        raise ParameterError(
            "these documents have identifiers",
            facts=[("id_field", id_field), ("given", type(collection).__name__)],
            fixes=[Fix.omit("id_field")],
        )
    return found


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
