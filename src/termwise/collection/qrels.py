"""Reads and writes relevance judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import isdir
from pathlib import Path
from typing import Literal

from termwise.collection.columns import check_writable, is_whole, separator_character, split
from termwise.collection.datasets import PREFIX, dataset_qrels
from termwise.collection.lines import read_lines
from termwise.errors import DuplicateIdError, MalformedRecordError, MissingFileError
from termwise.records import Qrel
from termwise.storage.atomic_file import written_whole

HEADERS = frozenset({"query-id", "query_id", "qid"})
"""What the first column of a header is called."""

FORMS = {
    4: "query id, iteration, document id, relevance (a whole number of 18 digits at most)",
    3: "query id, document id, relevance (a whole number of 18 digits at most)",
}
"""The known forms by their number of columns."""

_LONGEST_GRADE = 18
"""Characters of a relevance; what an evaluation can count is far shorter."""


def read_qrels(path: str | Path) -> list[Qrel]:
    r"""Read relevance judgments.

    Parameters
    ----------
    path : str or Path
        Plain or gzip-compressed, in one of two forms, told by the number of columns:

        - BEIR: query id, document id, relevance; with or without the header ``query-id corpus-id score``;
        - TREC: query id, iteration, document id, relevance.

        Or a folder in BEIR layout, of which ``qrels/test.tsv`` is read, or ``"ir_datasets:ID"`` (needs the extra
        ``datasets``). Lines with tabs are split at tabs, so that
        identifiers may hold spaces; others at white space.

    Returns
    -------
    list of Qrel
        In the order of the file. A judgment that is repeated word for word counts once.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If a line has another number of columns, or a relevance that is not a whole number, or of more than 18 digits.
    DuplicateIdError
        If a document is judged twice for one query and the judgments differ; the lines are named.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "test.tsv"
    ...     _ = file.write_text("query-id\tcorpus-id\tscore\nq1\td7\t2\n")
    ...     read_qrels(file)
    [Qrel(query_id='q1', doc_id='d7', relevance=2, iteration='0')]
    """
    if isinstance(path, str) and path.startswith(PREFIX):
        return _without_conflicts(path, ((0, qrel) for qrel in dataset_qrels(path)))
    path = Path(path)
    if isdir(path):
        splits = sorted(file.name for file in (path / "qrels").glob("*.tsv*"))
        test = next((name for name in splits if name in ("test.tsv", "test.tsv.gz")), None)
        if test is None:
            raise MissingFileError(
                "the folder has no file qrels/test.tsv",
                facts=[("folder", path), ("found", ", ".join(splits) or "no qrels/*.tsv")],
                fixes=[str(path / "qrels" / name) for name in splits],
            )
        path = path / "qrels" / test
    return _without_conflicts(path, _numbered(path))


def _numbered(path: Path) -> Iterator[tuple[int, Qrel]]:
    """Yield the judgments of a file with their line numbers."""
    width = 0
    for number, line in read_lines(path):
        columns = split(line, [width] if width else FORMS)
        if not width and len(columns) in FORMS:
            width = len(columns)
            if columns[0].lower() in HEADERS and not is_whole(columns[-1]):
                continue
        if len(columns) != width or not is_whole(columns[-1]) or len(columns[-1]) > _LONGEST_GRADE:
            expected = FORMS.get(width) or " -- or -- ".join(FORMS.values())
            raise MalformedRecordError.at(
                path, number, expected=expected, seen=line, message="a judgment is not usable"
            )
        yield number, Qrel(columns[0], columns[-2], int(columns[-1]), columns[1] if width == 4 else "0")


def _without_conflicts(source: str | Path, numbered: Iterable[tuple[int, Qrel]]) -> list[Qrel]:
    """Keep the first of equal judgments and refuse those that contradict each other."""
    judged: dict[tuple[str, str], tuple[int, Qrel]] = {}
    for number, qrel in numbered:
        first, before = judged.setdefault((qrel.query_id, qrel.doc_id), (number, qrel))
        if before.relevance != qrel.relevance:
            raise DuplicateIdError(
                "a document is judged twice and differently for one query",
                facts=[
                    ("file", source),
                    ("query", qrel.query_id),
                    ("document", qrel.doc_id),
                    ("relevance", f"{before.relevance} and {qrel.relevance}"),
                    *([("lines", f"{first} and {number}")] if number else []),
                ],
                fixes=["keep one of the two judgments; judgments of subtopics are not supported"],
            )
    return [qrel for _, qrel in judged.values()]


def write_qrels(
    qrels: Iterable[Qrel], path: str | Path, *, separator: Literal["space", "tab"] = "space"
) -> None:
    """Write judgments in the TREC form: query id, iteration, document id, relevance.

    The file appears only once it is complete.

    Parameters
    ----------
    qrels : iterable of Qrel
        Written in this order.
    path : str or Path
        Compressed if it ends in ``.gz``.
    separator : {"space", "tab"}, optional
        What stands between columns; see `write_run`.

    Raises
    ------
    ParameterError
        If an identifier holds the separator.
    StorageError
        If the file cannot be written.
    """
    between = separator_character(separator)
    tabs = between == "\t"
    with written_whole(Path(path)) as write:
        for qrel in qrels:
            check_writable("query id", qrel.query_id, tabs=tabs)
            check_writable("document id", qrel.doc_id, tabs=tabs)
            check_writable("iteration", qrel.iteration, tabs=tabs)
            columns = (qrel.query_id, qrel.iteration, qrel.doc_id, str(qrel.relevance))
            write(between.join(columns) + "\n")
