"""Records in memory as documents: rows of data frames, and dictionaries that frameworks pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any

from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, AttributeChoice, FieldChoice, RecordReader
from termwise.errors import TermwiseError
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
    first : int
        Number of the first record.
    length : int or None
        Number of documents, if known.
    once : bool
        Whether the records can be read only once; a mixture of several indexes then reads them into memory.
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
    first: int = 0
    length: int | None = None
    once: bool = False

    def documents(self) -> Iterator[Document]:
        """Yield the documents.

        Raises
        ------
        MalformedRecordError
            At the first invalid record; the error names the record and the field.
        UnknownNameError
            After the last record, if no record has a selected field.
        """
        reader = RecordReader(
            Path(self.name),
            id_fields=self.id_fields,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
            unit=self.unit,
        )
        with source_named(self.source, self.unit):
            yield from reader.documents(enumerate(self.records(), self.first))
