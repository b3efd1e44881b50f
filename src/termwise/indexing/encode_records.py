"""Encoding of tables of records: the step that a data set of Ray or Spark runs on each of its batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, FieldChoice, RecordReader
from termwise.encode.document_encoder import EncodedRows, RowEncoder
from termwise.encode.row_table import encode_table


def encode_records(records: Any, encoder: RowEncoder[EncodedRows], fields: FieldChoice = None) -> Any:
    """Encode a table of records, and return a table with the columns of `row_schema`.

    Identifier and text are those that a JSONL or Parquet collection has, see `open_collection`.

    Parameters
    ----------
    records : pyarrow.Table or pyarrow.RecordBatch
        One document in each row.
    encoder : RowEncoder
    fields : sequence of str, optional
        Fields of the text; by default title and body.

    Raises
    ------
    MalformedRecordError
        If a record has no identifier or no text.

    Examples
    --------
    >>> import pyarrow
    >>> from termwise.encode import open_document_encoder
    >>> from termwise.models import Lookup
    >>> encoder = open_document_encoder(Lookup(documents="table"))
    >>> table = encode_records(pyarrow.table({"id": ["a"], "text": ["merge sorted lists"]}), encoder)
    >>> table.column_names, len(table.column("vectors")[0][0].as_py())
    (['doc_id', 'text_digest', 'encoder', 'vectors', 'scales'], 384)
    """
    reader = RecordReader(
        Path("records"), id_fields=ID_FIELDS, body_fields=BODY_FIELDS, fields=fields, unit="record"
    )
    documents = [reader.document(number, record) for number, record in enumerate(records.to_pylist(), 1)]
    return encode_table(
        [document.doc_id for document in documents], [document.text for document in documents], encoder
    )
