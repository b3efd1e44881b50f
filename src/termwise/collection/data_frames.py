"""Data frames as collections; pyarrow is imported on first use, pandas and Polars are not.

A data frame is any object with the method ``__arrow_c_stream__`` of the Arrow PyCapsule interface: data frames of
pandas and Polars, tables and batch readers of pyarrow, relations of DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from termwise.attributes import Schema
from termwise.collection.arrow_rows import BATCH, import_pyarrow, needed_columns, records_of, repeated_name
from termwise.collection.fields import checked_attributes, checked_fields, checked_id_field
from termwise.collection.record_collection import RecordCollection, plain_record
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError, ParameterError
from termwise.fixes import Fix

PURPOSE = "reading and making data frames"

EXTRA = "dataframes"

FRAME, ROW = "data frame", "row"
"""Labels in errors. Rows are counted from 0, as in ``frame.iloc``."""


def is_data_frame(value: object) -> bool:
    """Return whether a value is a data frame."""
    return hasattr(value, "__arrow_c_stream__")


def documents_from(
    frame: Any,
    *,
    fields: Sequence[str] | Mapping[str, int] | None = None,
    attributes: Literal["all", "inferred"] | Sequence[str] | Schema | None = None,
    id_field: str | None = None,
) -> RecordCollection:
    r"""Return the rows of a data frame as a collection, for `termwise.build_index`.

    Parameters
    ----------
    frame : data frame
        With a column of identifiers (``_id``, ``id``, ``doc_id``, ``docid`` or ``docno``), strings or whole numbers. A
        missing text is empty, as in a Parquet file. The documents of a stream without a length, such as a batch reader
        of Arrow, can be read only once.
    fields : sequence of str or mapping of str to int, optional
        Columns of the text, with weights in a mapping; by default ``title`` and the first of ``text``, ``contents``,
        ``content``, ``body``, ``document_text`` and ``abstract``. See `termwise.open_collection`.
    attributes : "all", sequence of str or Schema, optional
        Columns to keep as attributes, for filters.
    id_field : str, optional
        Column of the identifiers, if it has another name.

    Raises
    ------
    ParameterError
        If `frame` is not a data frame, or has two columns of one name.
    MissingExtraError
        If pyarrow is not installed.
    MalformedRecordError
        When the documents are read: at the first row without an identifier or with a text that is not a string.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"docno": ["d1"], "title": ["Bees"], "text": ["Workers collect nectar."]})
    >>> list(documents_from(table).documents())
    [Document(doc_id='d1', text='Bees\nWorkers collect nectar.', borders=(4,))]
    """
    check_frame(frame)
    chosen, kept = checked_fields(fields), checked_attributes(attributes)
    try:
        length = len(frame)
    except TypeError:
        length = None

    def records() -> Iterator[Mapping[str, Any]]:
        reader = FrameStream.open(frame)
        return map(plain_record, reader.records(needed_columns(reader.names, chosen, kept, id_field)))

    return RecordCollection(
        frame_name(frame),
        records,
        source=FRAME,
        unit=ROW,
        fields=chosen,
        attributes=kept,
        length=length,
        once=length is None,
        id_field=checked_id_field(id_field),
    )


def frame_name(frame: object) -> str:
    """Return the type of a data frame with its package, such as ``polars.DataFrame``, for errors."""
    kind = type(frame)
    return f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"


def check_frame(frame: object) -> None:
    """Raise `ParameterError` unless a value is a data frame."""
    if is_data_frame(frame):
        return
    raise ParameterError(
        "this is not a data frame",
        facts=[
            ("given", frame_name(frame)),
            ("expected", "a pandas or Polars DataFrame, or another object with __arrow_c_stream__"),
        ],
        fixes=[Fix.python("frame.collect()")] if hasattr(frame, "collect") else [],
    )


class FrameStream(NamedTuple):
    """Open stream of record batches."""

    name: str
    arrow: Any
    reader: Any

    @classmethod
    def open(cls, frame: Any) -> FrameStream:
        """Open a data frame; raise an error if it has two columns of one name, or values that Arrow cannot hold."""
        check_frame(frame)
        arrow = import_pyarrow(PURPOSE, EXTRA)
        name = frame_name(frame)
        try:
            reader = arrow.RecordBatchReader.from_stream(frame)
        except (arrow.ArrowException, TypeError, ValueError) as error:
            raise _mixed_column(name, frame, error) from error
        twice = repeated_name(reader.schema.names)
        if twice is not None:
            raise ParameterError(
                "a data frame has two columns of one name",
                facts=[(FRAME, name), ("column", shown(twice))],
                fixes=["rename or leave out one of them"],
            )
        return cls(name, arrow, reader)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.reader.schema.names)

    def records(self, columns: Sequence[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows, with some columns or all."""
        for batch in self.reader:
            chosen = batch if columns is None else batch.select(columns)
            for start in range(0, len(chosen), BATCH):
                yield from records_of(self.arrow, chosen.slice(start, BATCH))


def _mixed_column(name: str, frame: Any, error: Exception) -> MalformedRecordError:
    """Return the error for a data frame that Arrow cannot hold; it names the first value of another type, if any."""
    for column in getattr(frame, "columns", ()):
        values = enumerate(frame[column].tolist()) if hasattr(frame[column], "tolist") else ()
        kinds: dict[type, int] = {}
        for row, value in values:
            if (
                value is not None
                and value == value
                and kinds.setdefault(type(value), row) == row
                and len(kinds) > 1
            ):
                first = next(iter(kinds)).__name__
                return refused_value(
                    name, row, str(column), f"a {first}, as in row {next(iter(kinds.values()))}", value
                )
    reason = str(error).split("\n")[0][:200]
    return MalformedRecordError("a data frame cannot be read", facts=[(FRAME, name), ("reason", reason)])


def refused_value(frame: str, row: int, column: str, expected: str, seen: object) -> MalformedRecordError:
    """Return the error for a value of a row."""
    return MalformedRecordError(
        "a value of a data frame is not in the expected form",
        facts=[(FRAME, frame), (ROW, row), ("column", column), ("expected", expected), ("seen", shown(seen))],
    )
