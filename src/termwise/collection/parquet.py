"""Collections in Parquet files; pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from termwise.attributes import Schema
from termwise.collection.fields import BODY_FIELDS, ID_FIELDS
from termwise.collection.file_collections import RecordFile
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, MissingExtraError, MissingFileError
from termwise.fast_dataclass import dataclass

BATCH = 1000
"""Number of rows to convert at a time."""


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", "reading a Parquet file") from error
    return pyarrow


@dataclass(frozen=True)
class ParquetCollection(RecordFile):
    """Parquet file with one document in each row; columns are fields, and keep their types."""

    unit = "record"

    def __post_init__(self) -> None:
        _pyarrow()

    @property
    def length(self) -> int | None:
        """Number of documents; None if the file cannot be read, which `documents` reports."""
        try:
            return int(self._open().metadata.num_rows)
        except (MissingFileError, MalformedRecordError):
            return None

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return enumerate(self._rows(), 1)

    def _rows(self) -> Iterator[dict[str, Any]]:
        arrow = _pyarrow()
        file = self._open()
        names = file.schema_arrow.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise MalformedRecordError(
                "a Parquet file has two columns of one name",
                facts=[("file", self.path), ("column", shown(twice))],
                fixes=["rename or leave out one of them"],
            )
        try:
            for batch in file.iter_batches(BATCH, columns=self._columns(names)):
                yield from batch.cast(_microseconds(arrow, batch.schema), safe=False).to_pylist()
        except (
            arrow.ArrowException,
            OSError,
            ValueError,
        ) as error:  # ValueError: not UTF-8, or a field twice
            raise self._unreadable(error) from error

    def _columns(self, names: list[str]) -> list[str] | None:
        """Return the columns that can be needed; None for all, to report a missing one beside them."""
        if self.attributes == "all":
            return None
        kept = tuple(self.attributes or ())
        needed = {
            *ID_FIELDS,
            *(self.fields or ("title", *BODY_FIELDS)),
            *kept,
            *(n.split(".")[0] for n in kept),
        }
        chosen = [name for name in names if name in needed]
        lacking = {*(self.fields or ()), *(() if isinstance(self.attributes, Schema) else kept)} - set(names)
        return None if lacking or not chosen else chosen

    def _open(self) -> Any:
        arrow = _pyarrow()
        try:
            return arrow.parquet.ParquetFile(self.path, memory_map=True)
        except arrow.ArrowException as error:
            raise self._unreadable(error) from error
        except OSError as error:
            raise MissingFileError.of("a file cannot be read", self.path, error) from error

    def _unreadable(self, error: Exception) -> MalformedRecordError:
        return MalformedRecordError(
            "a Parquet file cannot be read",
            facts=[("file", self.path), ("reason", str(error).split("\n")[0][:200])],
        )


def _microseconds(arrow: Any, schema: Any) -> Any:
    """Return a schema with all times in microseconds: Python has no smaller unit."""
    for place, field in enumerate(schema):
        if arrow.types.is_timestamp(field.type):
            schema = schema.set(place, field.with_type(arrow.timestamp("us", field.type.tz)))
    return schema
