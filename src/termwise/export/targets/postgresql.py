"""PostgreSQL: pieces for COPY, and the SQL that creates the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.field_types import FieldType
from termwise.errors import DataError, ParameterError
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, dense_parts, pieces, sparse_parts
from termwise.export.targets.sql import (
    attribute_column,
    check_names,
    document_rows,
    filter_sql,
    sql_statements,
    tables_sql,
    write_changes_sql,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.fixes import Code, Fix
from termwise.index.reader import ImpactRows
from termwise.progress import Progress
from termwise.records import AttributeValue
from termwise.settings import TypedSettings
from termwise.vectors import DocumentVectors

LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts longer ones."""

LONGEST_ID = 2_000
"""Bytes of an identifier, which an index of PostgreSQL can hold."""

MOST_WEIGHTS = 16_000
"""Largest number of weights of a sparse vector of pgvector."""

DIMENSIONS = 1_000_000_000
"""Dimensions of the sparse vectors, the most that pgvector takes, so that terms can be added."""

MADE = "termwise export"
"""Comment on tables and views, as in ``postgresql.py`` of the export."""

_SYSTEM = re.compile("public|information_schema|pg_.*", re.DOTALL)
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class PostgresqlDialect:
    """SQL of PostgreSQL."""

    types: Mapping[FieldType, str] = {
        "boolean": "BOOLEAN",
        "integer": "BIGINT",
        "float": "DOUBLE PRECISION",
        "date": "TIMESTAMPTZ",
        "keyword": "TEXT",
        "keywords": "TEXT[]",
    }

    def attribute(self, kind: FieldType, value: AttributeValue) -> Any:
        """Return the value of an attribute, without NUL characters, which PostgreSQL does not store."""
        if isinstance(value, str):
            return value.replace("\0", "�")
        return tuple(each.replace("\0", "�") for each in value) if isinstance(value, tuple) else value

    def literal(self, value: Any) -> str:
        """Return the literal of a value."""
        if value is None:
            return "NULL"
        if isinstance(value, tuple):
            return f"ARRAY[{', '.join(map(self.literal, value))}]::TEXT[]"
        if isinstance(value, datetime):
            return f"'{value.isoformat()}'::TIMESTAMPTZ"
        if isinstance(value, str):
            return "'" + value.replace("\0", "�").replace("'", "''") + "'"
        return f"{value!r}::DOUBLE PRECISION" if isinstance(value, float) else repr(value)

    def vector(self, numbers: npt.NDArray[np.float32]) -> str:
        """Return the literal of a vector of pgvector."""
        return f"'[{','.join(map(repr, numbers.tolist()))}]'"

    def date(self, microseconds: int) -> str:
        """Return the literal of a point in time."""
        return f"'{(_EPOCH + timedelta(microseconds=microseconds)).isoformat()}'::TIMESTAMPTZ"

    def compared(self, text: str) -> str:
        """Return an expression that is compared by code points."""
        return f'{text} COLLATE "C"'

    def any_of(self, column: str, condition: str) -> str:
        """Return whether a value ``v`` of an array fulfils a condition."""
        return f"EXISTS (SELECT 1 FROM unnest({column}) AS v WHERE {condition})"


@final
@dataclass(frozen=True, kw_only=True)
class Postgresql(TypedSettings):
    """Target ``postgresql``; `meanings` describes its settings."""

    schema: str = "termwise"
    form: Literal["postings", "sparsevec"] = "postings"

    called: ClassVar[str] = "setting of the target postgresql"
    meanings: ClassVar[Mapping[str, str]] = {
        "schema": "schema of the tables",
        "form": (
            "what is searched: an index of postings, or sparse vectors of pgvector, all of which are read "
            "for each query"
        ),
    }
    name: ClassVar[str] = "postgresql"
    title: ClassVar[str] = "PostgreSQL"
    engine: ClassVar[str] = "postgresql.py"
    helpers: ClassVar[tuple[str, ...]] = ("linear_sql.py",)
    extra: ClassVar[str] = "postgresql"

    def check(self, source: ExportSource) -> None:
        """Refuse names that PostgreSQL would cut, and rows that are too long for pgvector."""
        check_names(self.title, source, ignores_case=False)
        names = [attribute_column(name)[1:-1] for name in source.schema]
        names += [f"{part.field}_postings_position" for part in source.parts] + [self.schema]
        for name in names:
            if not 0 < len(name.encode()) <= LONGEST_NAME or "\0" in name:
                raise ParameterError(
                    f"a name in PostgreSQL has 1 to {LONGEST_NAME} bytes, and none is NUL",
                    facts=[("name", name), ("bytes", len(name.encode()))],
                )
        if _SYSTEM.fullmatch(self.schema):
            raise ParameterError(
                "an export has a schema of its own, and this one belongs to PostgreSQL or to all users",
                facts=[("schema", self.schema)],
                fixes=[Fix.use("choose another name: {}", settings=Code("schema=NAME"))],
            )
        if self.form == "sparsevec":
            for part in sparse_parts(source):
                lengths = part.index.lengths(np.arange(len(source), dtype=np.int64))
                if lengths.max(initial=0) > MOST_WEIGHTS:
                    row = int(lengths.argmax())
                    raise ParameterError(
                        "a document has more weights than a sparse vector of pgvector can hold",
                        facts=[
                            ("doc_id", source.index.doc_id(row)),
                            ("weights", int(lengths[row])),
                            ("most", MOST_WEIGHTS),
                        ],
                        fixes=[Fix.use(settings=Code("form=postings")), "cut long documents into chunks"],
                    )

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the pieces and the SQL."""
        dialect = PostgresqlDialect()
        tables = tables_sql(source, dialect, vector="vector({})".format, keys=False)
        quoted = self.schema.replace('"', '""')
        schema = [f'CREATE SCHEMA IF NOT EXISTS "{quoted}"']
        if dense_parts(source) or self.form == "sparsevec":
            schema.append("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        tables.append("CREATE TABLE export_pieces (name TEXT PRIMARY KEY)")
        for each in tables:
            schema += [each, _marked("TABLE", each.split()[2])]
        folder.write("schema/tables.sql", "".join(f"{each};\n" for each in schema))
        indexes = [*(_views(source) if self.form == "sparsevec" else ()), *_indexes(source)]
        folder.write("schema/indexes.sql", "".join(f"{each};\n" for each in indexes))
        for number, _, batches in pieces(source, progress):
            name = f"data/{{}}/{number:05}.{{}}"
            last = name.format(_table(source, -1), "bin")
            if folder.finished(last):
                continue
            kept = list(batches)
            with folder.piece(name.format("documents", "tsv")) as file:
                for batch in kept:
                    rows = document_rows(batch, source, dialect)
                    file.write("".join(map(_line, rows)).encode())
            for place in range(len(source.parts)):
                with folder.piece(name.format(_table(source, place), "bin")) as file:
                    file.write(_HEADER)
                    for batch in kept:
                        _write_rows(batch, place, source, file)
                    file.write(_TRAILER)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write the changes as statements of SQL."""
        write_changes_sql(rows, deleted, source, folder, at, PostgresqlDialect())

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return nothing: the statements are in schema."""
        return {}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        reason = "except that a NUL character becomes U+FFFD, because PostgreSQL stores none"
        return [
            *sql_statements(source, "pgvector multiplies in 32 bits: scores differ by less than 1e-5"),
            Statement("texts", True, reason),
        ]

    def filter(self, filter: Filter, schema: Schema) -> str:
        """Return a condition on the columns of ``documents d``."""
        return filter_sql(filter, schema, PostgresqlDialect())


def _table(source: ExportSource, place: int) -> str:
    part = source.parts[place]
    return f"{part.field}_{'postings' if part.kind == 'sparse' else 'vectors'}"


def _marked(kind: str, name: str) -> str:
    """Return the SQL statement that marks a table or view as part of an export, so that ``remove`` may drop it."""
    return f"COMMENT ON {kind} {name} IS '{MADE}'"


def _views(source: ExportSource) -> Iterator[str]:
    """Yield the statements that make sparse vectors of postings."""
    for part in sparse_parts(source):
        weights = "string_agg((term + 1) || ':' || impact, ',' ORDER BY term)"
        yield (
            f"CREATE MATERIALIZED VIEW IF NOT EXISTS {part.field}_sparse AS SELECT position, "
            f"('{{' || {weights} || '}}/{DIMENSIONS}')::sparsevec AS vector "
            f"FROM {part.field}_postings GROUP BY position"
        )
        yield _marked("MATERIALIZED VIEW", f"{part.field}_sparse")
        yield f"REFRESH MATERIALIZED VIEW {part.field}_sparse"


def _indexes(source: ExportSource) -> Iterator[str]:
    for place, part in enumerate(source.parts):
        table = _table(source, place)
        if part.kind == "sparse":
            yield f"CREATE INDEX IF NOT EXISTS {table}_term ON {table} (term, position) INCLUDE (impact)"
        else:
            yield f"CREATE INDEX IF NOT EXISTS {table}_position ON {table} (position)"
        yield f"VACUUM (ANALYZE) {table}"
    yield "VACUUM (ANALYZE) documents"


def _line(values: Sequence[Any]) -> str:
    """Return a row in the text form of COPY."""
    if any("\0" in each or len(each.encode()) > LONGEST_ID for each in values[1:3]):
        raise DataError(
            f"an identifier in PostgreSQL has at most {LONGEST_ID:,} bytes, and none is NUL",
            facts=[("doc_id", repr(values[1][:80])), ("bytes", len(values[1].encode()))],
        )
    return "\t".join(map(_text, values)) + "\n"


def _text(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        inner = ",".join('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in value)
        return f"{{{inner}}}".translate(_ESCAPES)
    if isinstance(value, str):
        return value.replace("\0", "�").translate(_ESCAPES)
    return repr(value)


def _write_rows(batch: Batch, place: int, source: ExportSource, file: BinaryIO) -> None:
    """Write the postings or vectors of a batch in the binary form of COPY."""
    found = batch.rows[place]
    owners = np.repeat(batch.positions, np.diff(found.indptr))
    columns: list[tuple[str, Any, Any]]
    if isinstance(found, ImpactRows):
        number = ">i4" if source.parts[place].is_exact_integer else ">f8"
        columns = [
            ("term", ">i4", found.terms),
            ("position", ">i4", owners),
            ("impact", number, found.impacts),
        ]
    else:
        assert isinstance(found, DocumentVectors), "weights or vectors"
        values = np.zeros(
            len(owners),
            dtype=[("dimensions", ">i2"), ("unused", ">i2"), ("numbers", ">f4", (found.dimensions,))],
        )
        values["dimensions"], values["numbers"] = found.dimensions, found.matrix()
        columns = [("position", ">i4", owners), ("vector", values.dtype, values)]
    kinds: list[Any] = [("fields", ">i2")]
    for name, kind, _ in columns:
        kinds += [(f"{name}_length", ">i4"), (name, kind)]
    rows = np.zeros(len(owners), dtype=kinds)
    rows["fields"] = len(columns)
    for name, kind, column in columns:
        rows[f"{name}_length"], rows[name] = np.dtype(kind).itemsize, column
    file.write(rows.tobytes())
