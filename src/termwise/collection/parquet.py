"""Collections in Parquet files; pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from termwise.collection.arrow_rows import BATCH, import_pyarrow, needed_columns, records_of, repeated_name
from termwise.collection.file_collections import RecordFile
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, MissingFileError
from termwise.fast_dataclass import dataclass

PURPOSE = "reading a Parquet file"


@dataclass(frozen=True)
class ParquetCollection(RecordFile):
    """Parquet file with one document in each row; columns are fields, and keep their types."""

    unit = "record"

    def __post_init__(self) -> None:
        import_pyarrow(PURPOSE)

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
        arrow = import_pyarrow(PURPOSE)
        file = self._open()
        names = file.schema_arrow.names
        twice = repeated_name(names)
        if twice is not None:
            raise MalformedRecordError(
                "a Parquet file has two columns of one name",
                facts=[("file", self.path), ("column", shown(twice))],
                fixes=["rename or leave out one of them"],
            )
        try:
            columns = needed_columns(names, self.fields, self.attributes)
            for batch in file.iter_batches(BATCH, columns=columns):
                yield from records_of(arrow, batch)
        except (
            arrow.ArrowException,
            OSError,
            ValueError,
        ) as error:  # ValueError: not UTF-8, or a field twice
            raise self._unreadable(error) from error

    def _open(self) -> Any:
        arrow = import_pyarrow(PURPOSE)
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
