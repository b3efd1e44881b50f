"""Reader of queries in all formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from termwise.collection.columns import names_columns, unnamed_column
from termwise.collection.datasets import PREFIX, dataset_queries
from termwise.collection.fields import RecordReader, checked_names
from termwise.collection.lines import first_character, read_json_lines, read_lines, refuse_pipe
from termwise.collection.openers import JSON_SUFFIXES, TAB_SUFFIXES, content_suffix, folder_file
from termwise.collection.topics import read_topics
from termwise.errors import DuplicateIdError, MalformedRecordError, ParameterError
from termwise.records import Query
from termwise.storage.safe_read import is_folder
from termwise.validation import check_path

ID_FIELDS = ("_id", "id", "query_id", "qid")
"""Names of the identifier in a JSON record; the first one that a record has is used."""

HEADER_IDS = (*ID_FIELDS, "query-id")
"""Names of the first column in a header of tab-separated queries."""

TEXT_FIELDS = ("text", "query", "title", "question")
"""Names of the text in a JSON record; the first one that a record has is used."""


def read_queries(path: str | Path, *, fields: Sequence[str] | None = None) -> Iterator[Query]:
    r"""Read queries.

    Parameters
    ----------
    path : str or Path
        A folder in BEIR layout, with ``queries.jsonl``, ``"ir_datasets:ID"`` (needs the extra ``datasets``), or a file,
        plain or gzip-compressed, in one of four formats:

        - one JSON object per line, as ``queries.jsonl`` in BEIR: an identifier (``_id``, ``id``, ``query_id``,
          ``qid``) and a text (``text``, ``query``, ``title``, ``question``);
        - identifier, tab and text on each line; a header line is skipped;
        - classic TREC topics, ``<top> <num> Number: 301 <title> ...``;
        - XML topics, ``<topic number="1"> <query> ...``.

        The ending ``.jsonl`` or ``.tsv`` determines the format. Without such an ending, the first character does
        (``{``, ``<``, or any other).
    fields : sequence of str, optional
        Fields of the text, in this order, such as ``("title", "desc")`` for classic topics.

    Returns
    -------
    iterator of Query
        In the order of the file. Queries can be empty.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        At the first invalid record; the error names its line.
    DuplicateIdError
        If two queries share an identifier.
    UnknownNameError
        If no record has a selected field.
    ParameterError
        If fields are selected for a format without fields.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "topics.txt"
    ...     _ = file.write_text("<top>\n<num> Number: 301\n<title> wing flutter\n</top>\n")
    ...     list(read_queries(file))
    [Query(query_id='301', text='wing flutter')]
    """
    chosen = checked_names(fields)
    if isinstance(path, str) and path.startswith(PREFIX):
        return distinct_queries(((0, query) for query in dataset_queries(path, chosen)), path)
    check_path("the file of queries", path)
    path = Path(path)
    if is_folder(path):
        path = folder_file(path, "queries.jsonl")
    return distinct_queries(_numbered(path, chosen), path)


def _numbered(path: Path, fields: tuple[str, ...] | None) -> Iterator[tuple[int, Query]]:
    refuse_pipe(path)
    suffix = content_suffix(path)
    start = b"" if suffix in (*JSON_SUFFIXES, *TAB_SUFFIXES) else first_character(path)
    if suffix in JSON_SUFFIXES or start == b"{":
        return _json(path, fields)
    if start == b"<":
        return read_topics(path, fields)
    if fields is not None:
        raise ParameterError(
            "queries in two columns have no named fields to choose from",
            facts=[("file", path), ("fields", ", ".join(fields))],
        )
    return _columns(path)


def _json(path: Path, fields: tuple[str, ...] | None) -> Iterator[tuple[int, Query]]:
    reader = RecordReader(path, id_fields=ID_FIELDS, body_fields=TEXT_FIELDS, fields=fields)
    for number, record in read_json_lines(path):
        yield number, Query(*reader.read(number, record))
    reader.finish()


def _columns(path: Path) -> Iterator[tuple[int, Query]]:
    for position, (number, line) in enumerate(read_lines(path)):
        if position == 0 and names_columns(line, identifiers=HEADER_IDS, texts=TEXT_FIELDS):
            continue
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id or "\t" in text:
            fixes = unnamed_column(line.split("\t"), HEADER_IDS) if number == 1 else ()
            expected = "an identifier, a tab and a text"
            raise MalformedRecordError.at(path, number, expected=expected, seen=line, fixes=fixes)
        yield number, Query(query_id, text)


def distinct_queries(numbered: Iterator[tuple[int, Query]], source: str | Path) -> Iterator[Query]:
    """Yield queries, and raise `DuplicateIdError` at the first that has the identifier of an earlier one."""
    first: dict[str, int] = {}
    for number, query in numbered:
        if query.query_id in first:
            lines = [("lines", f"{first[query.query_id]} and {number}")] if number else []
            raise DuplicateIdError(
                "two queries share an identifier",
                facts=[("file", source), ("query", query.query_id), *lines],
                fixes=["give each query an identifier of its own"],
            )
        first[query.query_id] = number
        yield query
