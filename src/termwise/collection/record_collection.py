"""Records in memory as documents: rows of data frames, and dictionaries that frameworks pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import KW_ONLY, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from termwise.collection.field_roles import FieldTally, choices, decide_roles, first_records, undecided
from termwise.collection.fields import (
    BODY_FIELDS,
    ID_FIELDS,
    AttributeChoice,
    FieldChoice,
    RecordReader,
    checked_attributes,
    checked_id_field,
)
from termwise.errors import ParameterError, TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.records import Document


@contextmanager
def source_named(source: str, unit: str) -> Iterator[None]:
    """Label the source of records, which readers of files report as a file with lines, as what it is.

    Parameters
    ----------
    source, unit : str
        Labels in errors, such as ``data frame`` and ``row``.

    Examples
    --------
    >>> from termwise.errors import MalformedRecordError
    >>> with source_named("data frame", "row"):
    ...     raise MalformedRecordError.at("DataFrame", 2, expected="a text", seen="5")
    Traceback (most recent call last):
        ...
    termwise.errors.MalformedRecordError: a line is not in the expected form  [malformed-record]
      data frame  DataFrame
      row         2
      expected    a text
      seen        5
    """
    labels = {"file": source, "line": unit, "lines": f"{unit}s"}
    try:
        yield
    except TermwiseError as error:
        facts = [(labels.get(label, label), value) for label, value in error.facts]
        raise type(error)(error.message, facts=facts, fixes=error.fixes) from error.__cause__


@dataclass(frozen=True)
class RecordCollection:
    """Documents in records with named fields; a `termwise.collection.Collection`.

    Attributes
    ----------
    name : str
        Name of the source in errors, such as the type of a data frame.
    records : callable
        Returns a new iterator over the records, each a mapping of fields to values.
    source, unit : str
        Labels in errors, see `source_named`.
    fields, attributes
        See `termwise.open_collection`.
    id_fields, body_fields : sequence of str
        Names of the identifier and of the text; the first one that a record has is used.
    id_field : str or None
        Field with the identifier, in place of `id_fields`.
    first : int
        Number of the first record.
    length : int or None
        Number of documents, if known.
    once : bool
        Whether the records can be read only once; a mixture of several indexes then reads them into memory.
    tally : FieldTally or None
        Roles of the fields that are not named, once they are decided. Collections with other names of identifiers or
        texts than files, as those of frameworks, decide nothing: their texts are the title and the first body.
    """

    name: str
    records: Callable[[], Iterable[Mapping[str, Any]]]
    _: KW_ONLY
    source: str = "records"
    unit: str = "record"
    fields: FieldChoice = None
    attributes: AttributeChoice = None
    id_fields: Sequence[str] = ID_FIELDS
    body_fields: Sequence[str] = BODY_FIELDS
    id_field: str | None = None
    first: int = 0
    length: int | None = None
    once: bool = False
    tally: FieldTally | None = None

    def decided(self) -> RecordCollection:
        """Return the collection with the roles of fields that are not named; errors as `documents`."""
        if not undecided(self) or (self.id_fields, self.body_fields) != (ID_FIELDS, BODY_FIELDS):
            return self
        first, numbered = first_records(enumerate(self.records()))
        roles = decide_roles(
            first,
            id_fields=self._id_names,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
        )
        found = replace(self, **choices(roles, self.attributes))
        if not self.once:
            return found
        records = (record for _, record in numbered)
        return replace(found, records=lambda: records)

    @property
    def _id_names(self) -> Sequence[str]:
        return self.id_fields if self.id_field is None else (self.id_field,)

    def in_memory(self) -> RecordCollection:
        """Return the collection, with its records in memory if they can be read only once."""
        if not self.once:
            return self
        records = list(self.records())
        return replace(self, records=lambda: records, once=False)

    def documents(self) -> Iterator[Document]:
        """Yield the documents.

        Raises
        ------
        MalformedRecordError
            At the first invalid record; the error names the record and the field.
        UnknownNameError
            After the last record, if no record has a selected field.
        """
        decided = self.decided()
        if decided is not self:
            yield from decided.documents()
            return
        reader = RecordReader(
            Path(self.name),
            id_fields=self._id_names,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
            unit=self.unit,
            tally=self.tally,
        )
        with source_named(self.source, self.unit):
            yield from reader.documents(enumerate(self.records(), self.first))


def records_from(
    records: Iterable[Any], fields: FieldChoice, attributes: object, id_field: str | None = None
) -> RecordCollection | Iterable[Any]:
    """Return records in memory as a collection if the first one is a mapping; others, such as documents, as they are.

    Examples
    --------
    >>> list(records_from([{"id": 7, "title": "Bees", "text": float("nan")}], None, None).documents())
    [Document(doc_id='7', text='Bees')]
    """
    once = isinstance(records, Iterator)
    numbered = iter(records)
    first = next(numbered, None)
    if once:
        records = chain(() if first is None else (first,), numbered)
    if not isinstance(first, Mapping):
        return records
    return RecordCollection(
        type(records).__name__,
        lambda: map(plain_record, records),
        fields=fields,
        attributes=checked_attributes(attributes),
        length=len(records) if isinstance(records, Sized) else None,
        once=once,
        id_field=checked_id_field(id_field),
    )


_MISSING = ("NAType", "NaTType")
"""Types of missing values of pandas."""


def plain_record(record: object) -> Mapping[str, Any]:
    """Return a record with values of Python: None for NaN, and numbers for scalars of numpy."""
    if not isinstance(record, Mapping):
        raise ParameterError(
            "each record is a mapping of fields to values",
            facts=[("given", f"{type(record).__name__}: {str(record)[:80]}")],
            fixes=["{'id': 'a', 'text': 'green tea'}"],
        )
    return {name: value if isinstance(value, str) else _plain_value(value) for name, value in record.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.integer | np.floating | np.bool_):
        value = value.item()
    missing = (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING
    return None if missing else value
