"""DuckDB: one database file with tables of documents, postings and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.errors import MissingExtraError, StorageError
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, pieces, sparse_parts
from termwise.export.targets.sql import (
    check_names,
    document_rows,
    filter_sql,
    sql_statements,
    tables_sql,
    write_changes_sql,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.vectors import DocumentVectors

if TYPE_CHECKING:
    import pyarrow

FILE = "data/index.duckdb"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DuckdbDialect:
    """SQL of DuckDB."""

    types: Mapping[FieldType, str] = {
        "boolean": "BOOLEAN",
        "integer": "BIGINT",
        "float": "DOUBLE",
        "date": "TIMESTAMP",
        "keyword": "TEXT",
        "keywords": "TEXT[]",
    }

    def attribute(self, kind: FieldType, value: AttributeValue) -> Any:
        """Return the value of an attribute: dates in UTC without a time zone."""
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value

    def literal(self, value: Any) -> str:
        """Return the literal of a value."""
        if value is None:
            return "NULL"
        if isinstance(value, tuple):
            return f"[{', '.join(map(self.literal, value))}]"
        if isinstance(value, datetime):
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        if not isinstance(value, str):
            return f"CAST({value!r} AS DOUBLE)" if isinstance(value, float) else repr(value)
        if "\0" in value:
            return " || chr(0) || ".join(map(self.literal, value.split("\0")))
        return "'" + value.replace("'", "''") + "'"

    def vector(self, numbers: npt.NDArray[np.float32]) -> str:
        """Return the literal of a vector."""
        return f"[{', '.join(map(repr, numbers.tolist()))}]::FLOAT[{len(numbers)}]"

    def date(self, microseconds: int) -> str:
        """Return the literal of a point in time."""
        moment = (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None)
        return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"

    def compared(self, text: str) -> str:
        """Return the text: DuckDB compares by code points."""
        return text

    def any_of(self, column: str, condition: str) -> str:
        """Return whether a value ``v`` of a list fulfils a condition."""
        return f"len(list_filter({column}, lambda v: {condition})) > 0"


@final
@dataclass(frozen=True)
class Duckdb:
    """Target ``duckdb``."""

    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    engine: ClassVar[str] = "duckdb.py"
    helpers: ClassVar[tuple[str, ...]] = ("linear_sql.py",)
    extra: ClassVar[str] = "duckdb"

    def check(self, source: ExportSource) -> None:
        """Check that the library is installed."""
        _libraries()
        check_names(self.title, source, ignores_case=True)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the database."""
        duckdb, arrow = _libraries()
        dialect = DuckdbDialect()
        tables = tables_sql(source, dialect, vector="FLOAT[{}]".format, keys=False)
        folder.write("schema/tables.sql", "".join(f"{each};\n" for each in tables))
        if folder.finished(FILE):
            return
        with folder.place(FILE) as path:
            database = duckdb.connect(str(path), config={"threads": 2, "memory_limit": "300MB"})
            try:

                def insert(table: str, columns: Mapping[str, Any]) -> None:
                    rows = arrow.table(dict(columns))
                    database.register("batch", rows)
                    database.execute(f"INSERT INTO {table} SELECT * FROM batch")
                    database.unregister("batch")

                for statement in tables:
                    database.execute(statement)
                state = [source.origin, source.generation]
                database.execute("INSERT INTO export_state VALUES (?, ?)", state)
                for _, _, batches in pieces(source, progress):
                    for batch in batches:
                        columns = list(zip(*document_rows(batch, source, dialect), strict=True))
                        kinds = _arrow_types(source, arrow)
                        insert(
                            "documents",
                            {
                                f"c{number}": arrow.array(list(column), kind)
                                for number, (column, kind) in enumerate(zip(columns, kinds, strict=True))
                            },
                        )
                        for part, found in zip(source.parts, batch.rows, strict=True):
                            if isinstance(found, DocumentVectors):
                                insert(f"{part.field}_vectors", _vectors(batch, found, arrow))
                for part in sparse_parts(source):
                    for postings in postings_by_term(part, progress=progress):
                        insert(f"{part.field}_postings", postings._asdict())
            except duckdb.Error as error:
                raise StorageError(
                    "the database cannot be written", facts=[("path", path), ("reason", str(error)[:300])]
                ) from error
            finally:
                with suppress(duckdb.Error):
                    database.close()

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes as statements of SQL."""
        write_changes_sql(rows, deleted, source, folder, at, DuckdbDialect())

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the schema is in the database."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        return sql_statements(
            source, "numbers of 8 bits times a scale are stored in 32 bits, and multiplied in 64 bits"
        )

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a condition on the columns of ``documents d``."""
        return filter_sql(filter, schema, DuckdbDialect())


def _libraries() -> tuple[Any, Any]:
    try:
        import duckdb
        import pyarrow
    except ImportError as error:
        raise MissingExtraError.of(str(error.name), "duckdb", "exporting to DuckDB") from error
    return duckdb, pyarrow


def _arrow_types(source: ExportSource, arrow: Any) -> list[pyarrow.DataType]:
    kinds = {
        "boolean": arrow.bool_(),
        "integer": arrow.int64(),
        "float": arrow.float64(),
        "date": arrow.timestamp("us"),
        "keyword": arrow.string(),
        "keywords": arrow.list_(arrow.string()),
    }
    found = [arrow.int32(), arrow.string(), arrow.string(), arrow.string()]
    found += [kinds[kind] for kind in source.schema.values()]
    found += [
        arrow.int32() if part.is_exact_integer else arrow.float64() for part in source.parts if part.has_bias
    ]
    return found


def _vectors(batch: Batch, found: DocumentVectors, arrow: Any) -> dict[str, Any]:
    owners = np.repeat(batch.positions, np.diff(found.indptr)).astype(np.int32)
    numbers = arrow.array(found.matrix().ravel())
    return {"position": owners, "vector": arrow.FixedSizeListArray.from_arrays(numbers, found.dimensions)}
