"""Documents of a served index: records in JSON, as in the lines of a collection."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from termwise.attributes import Schema
from termwise.attributes.field_types import is_missing
from termwise.attributes.json_values import json_attributes
from termwise.budget import spend
from termwise.collection.field_roles import may_be_attribute
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, FieldChoice, RecordReader, identifier
from termwise.errors import UnknownIdError, UnknownNameError
from termwise.index.field_texts import joined, unpack
from termwise.records import Document
from termwise.search import Searcher
from termwise.serve.changes import Merge
from termwise.serve.errors import PartialUpdateError, ServiceError

WHOLE = "send the whole document with PUT"

TOGETHER = 20
"""Documents whose texts are read at once, so that an answer that is too large is refused before it is made."""

PART = "PATCH /v1/indexes/INDEX/documents/ID"

REQUEST = Path("request")
"""Name of the source of records in errors, which the service leaves out."""


def read_document(
    searcher: Searcher, record: Mapping[str, Any], doc_id: str | None, number: int = 1
) -> Document:
    """Return a record, as in a line of a JSON-lines collection, as a document of an index.

    `doc_id` is the identifier from the address; without one, the record has it. `number` is the line of the body.

    Raises
    ------
    ServiceError
        If the record has another identifier than the address, or no text.
    UnknownNameError
        If a field is neither a text nor an attribute of the index, and cannot be a new attribute.
    MalformedRecordError
        If a text or an attribute has a value of another type.
    """
    fields = field_weights(searcher) or searcher.index.manifest.fields
    texts = tuple(fields) or ("title", *BODY_FIELDS)
    record = _checked(record, doc_id, texts, searcher.schema)
    if all(record.get(name) is None for name in texts):
        raise ServiceError(
            "the document has no text",
            facts=[("fields", ", ".join(texts))],
            fixes=["send at least one of these fields", f"change its attributes only: {PART}"],
        )
    document = _reader(fields or None, searcher.schema).document(number, record)
    return _with_new(document, record, texts, searcher.schema)


def read_merge(searcher: Searcher, record: Mapping[str, Any], doc_id: str | None, number: int = 1) -> Merge:
    """Return a JSON merge patch (RFC 7396) of a document as a change: new texts and attributes; null removes one.

    Parameters and errors as `read_document`; also `PartialUpdateError` if the index does not keep what is necessary:
    the texts, and for a new text, those of each field.
    """
    if not searcher.index.stores_text:
        raise PartialUpdateError("this index does not keep the texts of its documents", fixes=[WHOLE])
    schema = searcher.schema
    fields = tuple(field_weights(searcher))
    joined = () if fields else (searcher.index.manifest.fields or ("title", *BODY_FIELDS))
    record = _checked(record, doc_id, (*fields, *joined), schema)
    for name in record:
        if name in joined:
            raise PartialUpdateError(
                "this index keeps the texts of the fields of a document joined",
                facts=[("field", name)],
                fixes=[
                    WHOLE,
                    "build the index with weights of its fields, such as title^1 and text^1",
                ],
            )
    reader = _reader(dict.fromkeys(fields or BODY_FIELDS[:1], 1), schema)
    present = {name: value for name, value in record.items() if value is not None}
    document = _with_new(reader.document(number, present), record, (*fields, *joined), schema)
    texts = document.fields or {}
    given = _flat(record, schema)
    return Merge(
        document.doc_id,
        {name: texts[name] for name in given if name in fields},
        {
            name: document.attributes.get(name)
            for name in given
            if name in schema or name in document.attributes
        },
    )


def _reader(fields: FieldChoice, schema: Schema) -> RecordReader:
    return RecordReader(
        REQUEST, id_fields=ID_FIELDS, body_fields=BODY_FIELDS, fields=fields, attributes=schema or None
    )


def _with_new(
    document: Document, record: Mapping[str, Any], texts: Collection[str], schema: Schema
) -> Document:
    """Return a document with the attributes of its record that the index does not have yet."""
    new = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in _flat(record, schema).items()
        if not (name in schema or name in texts or name in ID_FIELDS or is_missing(value))
    }
    return document._replace(attributes={**document.attributes, **new}) if new else document


def _checked(
    record: Mapping[str, Any], doc_id: str | None, texts: Collection[str], schema: Schema
) -> Mapping[str, Any]:
    """Return a record whose fields are known, with the identifier from the address if there is one.

    A name of an identifier that is also a text or an attribute, such as ``id`` beside ``_id``, is a field of the
    document.
    """
    known = {*texts, *schema}
    _refuse_unknown(record, {*ID_FIELDS, *known}, schema)
    if doc_id is None:
        return record
    names = (name for name in ID_FIELDS if name in record and (name == ID_FIELDS[0] or name not in known))
    given = next((record[name] for name in names), doc_id)
    if identifier(given) != doc_id:
        raise ServiceError(
            "the identifier of the record is not that of the address",
            facts=[("address", doc_id), ("record", given)],
        )
    return {ID_FIELDS[0]: doc_id, **record}


def _flat(record: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return a record with the fields of its objects named ``OBJECT.FIELD``; null for an object is null for each."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inside = [each for each in schema if each.startswith(f"{name}.")]
        if isinstance(value, dict):
            flat |= {f"{name}.{part}": each for part, each in value.items()}
        elif value is None and inside and name not in schema:
            flat |= dict.fromkeys(inside)
        else:
            flat[name] = value
    return flat


def field_weights(searcher: Searcher) -> Mapping[str, int]:
    """Return the weights of the fields whose texts an index keeps apart; empty if it joins several fields."""
    manifest = searcher.index.manifest
    return manifest.field_weights or (dict.fromkeys(manifest.fields, 1) if len(manifest.fields) == 1 else {})


def _refuse_unknown(record: Mapping[str, Any], names: Collection[str], schema: Schema) -> None:
    """Raise `UnknownNameError` for a field that is not in `names` and cannot be a new attribute."""
    for name, value in record.items():
        opens = isinstance(value, dict) and (name in schema or name not in names)
        inner = {f"{name}.{part}": each for part, each in value.items()} if opens else {name: value}
        for each, part in inner.items():
            is_text = each == "title" or each in BODY_FIELDS
            if each not in names and part is not None and (is_text or not may_be_attribute(part)):
                raise UnknownNameError.of("field of the documents of this index", each, names)


def document_record(searcher: Searcher, doc_id: str) -> dict[str, Any]:
    """Return a document as JSON-like data.

    Raises
    ------
    UnknownIdError
        If the index has no such document.
    """
    ordinal = searcher.index.find(doc_id)
    if ordinal is None:
        raise UnknownIdError("the index has no such document", facts=[("doc_id", doc_id)])
    (attributes,) = searcher.attributes([doc_id])
    (text,) = searcher.index.document_texts(np.array([ordinal], dtype=np.int64))
    (texts,) = texts_by_field(searcher, [doc_id])
    return {"doc_id": doc_id, "attributes": json_attributes(attributes), "text": text, "texts": texts}


def texts_by_field(searcher: Searcher, doc_ids: Sequence[str]) -> list[dict[str, str]]:
    """Return the stored texts of documents by field.

    The text of several fields that are joined is named ``text``. Without stored texts there are none.
    """
    index = searcher.index
    if not index.stores_text:
        return [{} for _ in doc_ids]
    names = tuple(field_weights(searcher)) or BODY_FIELDS[:1]
    ordinals = index.find_many(doc_ids)
    found: list[dict[str, str]] = []
    for start in range(0, len(ordinals), TOGETHER):
        stored = index.store.document_texts(ordinals[start : start + TOGETHER])
        spend(size=sum(len(text or "") for text in stored))
        found += (
            dict(zip(names, unpack(text or "") if len(names) > 1 else [joined(text or "")], strict=True))
            for text in stored
        )
    return found
