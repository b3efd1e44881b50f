"""Readers of relevance judgments, and of the source documents of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from termwise.collection.columns import is_whole, read_columns
from termwise.collection.datasets import PREFIX, dataset_qrels
from termwise.errors import DuplicateIdError, MalformedRecordError, MissingFileError
from termwise.records import Qrel
from termwise.storage.safe_read import is_file, is_folder
from termwise.validation import check_path

HEADERS = frozenset({"query-id", "query_id", "qid"})
"""Names of the first column in a header, in lower case."""

FORMS = {
    4: "query id, iteration, document id, relevance",
    3: "query id, document id, relevance",
}
"""Formats of judgment files, by number of columns."""

_LONGEST_GRADE = 18
"""Largest number of characters of a relevance, so that it fits 64 bits."""


def read_qrels(path: str | Path, *, split: str = "test") -> list[Qrel]:
    r"""Read relevance judgments.

    Parameters
    ----------
    path : str or Path
        A folder in BEIR layout, ``"ir_datasets:ID"`` (needs the extra ``datasets``), or a file, plain or
        gzip-compressed, in one of two formats, which differ in the number of columns:

        - BEIR: query id, document id, relevance; with or without the header ``query-id corpus-id score``;
        - TREC: query id, iteration, document id, relevance.

        Lines with tabs are split at tabs, so that identifiers can have spaces; other lines at white space.
    split : str, optional
        Split of a BEIR folder: the judgments in ``qrels/<split>.tsv``, plain or gzip-compressed.

    Returns
    -------
    list of Qrel
        In the order of the file, without repetitions.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read, or the folder has no such judgments.
    MalformedRecordError
        If a line has a different number of columns, or a relevance that is not a whole number of at most 18 characters.
    DuplicateIdError
        If a document has two different judgments for one query; the error names their lines.

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
        return without_conflicts(path, ((0, qrel) for qrel in dataset_qrels(path)))
    check_path("the file of judgments", path)
    path = Path(path)
    if is_folder(path):
        path = _split_file(path, split)
    return without_conflicts(path, _numbered(path))


def qrels_file(folder: Path, split: str) -> Path | None:
    """Return the judgments of a BEIR folder, or None if it has none for `split`."""
    paths = [folder / "qrels" / f"{split}.tsv{ending}" for ending in ("", ".gz")]
    return next((path for path in paths if is_file(path)), None)


def _split_file(folder: Path, split: str) -> Path:
    path = qrels_file(folder, split)
    if path is None:
        others = sorted(file.name for file in folder.glob("qrels/*.tsv*"))
        raise MissingFileError(
            f"the folder has no file qrels/{split}.tsv",
            facts=[("folder", folder), ("found", ", ".join(others) or "no qrels/*.tsv")],
            fixes=[str(folder / "qrels" / name) for name in others],
        )
    return path


def _numbered(path: Path) -> Iterator[tuple[int, Qrel]]:
    """Yield the judgments of a file with their line numbers."""
    first = True
    for number, columns in read_columns(path, FORMS):
        query_id, *iteration, doc_id, grade = columns
        if is_whole(grade) and len(grade) <= _LONGEST_GRADE:
            yield number, Qrel(query_id, doc_id, int(grade), iteration[0] if iteration else "0")
        elif not first or query_id.lower() not in HEADERS or is_whole(grade):
            expected = "a relevance: a whole number of at most 18 digits"
            raise MalformedRecordError.at(path, number, expected=expected, seen=" ".join(columns))
        first = False


def without_conflicts(source: str | Path, numbered: Iterable[tuple[int, Qrel]]) -> list[Qrel]:
    """Drop repeated judgments; raise an error for contradictions."""
    judged: dict[tuple[str, str], tuple[int, Qrel]] = {}
    for number, qrel in numbered:
        first, before = judged.setdefault((qrel.query_id, qrel.doc_id), (number, qrel))
        if before.relevance != qrel.relevance:
            raise DuplicateIdError(
                "a document has two different judgments for one query",
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


def read_seeds(path: str | Path) -> dict[str, frozenset[str]]:
    r"""Read the source documents of queries, for query by example.

    Parameters
    ----------
    path : str or Path
        Two columns, query id and document id, separated by a tab or, in a line without tabs, by spaces; plain or
        gzip-compressed. A first line that starts with ``query-id``, ``query_id`` or ``qid`` is a header.

    Returns
    -------
    dict of str to frozenset of str
        Query ids with the ids of their source documents, usually one.

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
    check_path("the file of source documents", path)
    seeds: dict[str, set[str]] = {}
    first = True
    for _, (query_id, doc_id) in read_columns(Path(path), {2: "query id, document id"}):
        if not (first and query_id.lower() in HEADERS):
            seeds.setdefault(query_id, set()).add(doc_id)
        first = False
    return {query_id: frozenset(doc_ids) for query_id, doc_ids in seeds.items()}
