"""Collections in Parquet files; pyarrow is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from termwise.collection.arrow_rows import BATCH, import_pyarrow, needed_columns, records_of, repeated_name
from termwise.collection.file_collections import RecordFile
from termwise.collection.lines import FilePart
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, MissingFileError
from termwise.fast_dataclass import dataclass

PURPOSE = "reading a Parquet file"


@dataclass(frozen=True)
class ParquetCollection(RecordFile):
    """Parquet file with one document in each row; columns are fields, and keep their types."""

    part: FilePart | None = None

    unit = "record"

    def __post_init__(self) -> None:
        import_pyarrow(PURPOSE)

    @property
    def length(self) -> int | None:
        """Number of documents; None if the file cannot be read, which `documents` reports."""
        if self.part is not None:
            return self.part.stop - self.part.start
        try:
            return int(self._open().metadata.num_rows)
        except (MissingFileError, MalformedRecordError):
            return None

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if self.part is None:
            return enumerate(self._rows(), 1)
        return enumerate(self._rows_of(self.part), self.part.before + 1)

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the number of rows and of bytes, not compressed, of each row group; errors as `documents`."""
        metadata = self._open().metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return [(int(group.num_rows), int(group.total_byte_size)) for group in groups]

    def _rows_of(self, part: FilePart) -> Iterator[dict[str, Any]]:
        groups = [0]
        for rows, _ in self.row_groups():
            groups.append(groups[-1] + rows)
        kept = [n for n in range(len(groups) - 1) if groups[n] < part.stop and groups[n + 1] > part.start]
        first = part.start - groups[kept[0]] if kept else 0
        return islice(self._rows(kept), first, first + part.stop - part.start)

    def _rows(self, row_groups: list[int] | None = None) -> Iterator[dict[str, Any]]:
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
            columns = needed_columns(names, self.fields, self.attributes, self.id_field)
            if self.tally is not None:  # also those without values in the first records, to count later ones
                roles = self.tally.roles
                columns = [name for name in names if name not in roles.neither or name not in roles.known]
            for batch in file.iter_batches(BATCH, row_groups=row_groups, columns=columns):
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
