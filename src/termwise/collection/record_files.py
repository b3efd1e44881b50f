"""Collections in files of records: what the formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, AttributeChoice, FieldChoice, RecordReader
from termwise.records import Document


@dataclass(frozen=True)
class RecordFile(ABC):
    """File of records with named fields, one for each document.

    Attributes
    ----------
    name : str
        Name of the collection.
    path : Path
        The file.
    fields : FieldChoice
        Fields of the text; None for title and body (see `termwise.collection.fields`).
    attributes : AttributeChoice
        Fields to keep as attributes.
    """

    name: str
    path: Path
    fields: FieldChoice = None
    attributes: AttributeChoice = None

    id_fields: ClassVar[Sequence[str]] = ID_FIELDS
    body_fields: ClassVar[Sequence[str]] = BODY_FIELDS
    untyped: ClassVar[bool] = False
    """Whether all values are text."""

    unit: ClassVar[str] = "line"
    """What is counted in the file, for errors."""

    @property
    def length(self) -> int | None:
        """Number of documents; None if it is unknown without reading the file."""
        return None

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the file.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            At the first invalid record; the error names its line or number.
        UnknownNameError
            After the last record, if no record has a selected field.
        """
        reader = RecordReader(
            self.path,
            id_fields=self.id_fields,
            body_fields=self.body_fields,
            fields=self.fields,
            attributes=self.attributes,
            untyped=self.untyped,
            unit=self.unit,
        )
        yield from reader.documents(self._records())

    @abstractmethod
    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of each record, from 1, and its fields."""
