"""Reads which document a query was made of, for query by example."""

from __future__ import annotations

from pathlib import Path

from termwise.collection.columns import split
from termwise.collection.lines import read_lines
from termwise.collection.qrels import HEADERS
from termwise.errors import MalformedRecordError


def read_seeds(path: str | Path) -> dict[str, frozenset[str]]:
    r"""Read a file of query and document identifiers: the document that each query is made of.

    Parameters
    ----------
    path : str or Path
        Two columns, separated by a tab or, where there is none, by spaces; plain or gzip-compressed. A first
        line that starts with ``query-id``, ``query_id`` or ``qid`` is a header.

    Returns
    -------
    dict of str to frozenset of str
        Query identifier to the identifiers of its own documents, mostly one.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If a line does not have two columns.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "seeds.tsv"
    ...     _ = path.write_text("query-id\tcorpus-id\nq1\td7\n")
    ...     read_seeds(path)
    {'q1': frozenset({'d7'})}
    """
    path = Path(path)
    seeds: dict[str, set[str]] = {}
    first = True
    for number, line in read_lines(path):
        columns = split(line, [2])
        if len(columns) != 2:
            raise MalformedRecordError.at(path, number, expected="a query id and a document id", seen=line)
        if not (first and columns[0].lower() in HEADERS):
            seeds.setdefault(columns[0], set()).add(columns[1])
        first = False
    return {query_id: frozenset(doc_ids) for query_id, doc_ids in seeds.items()}
