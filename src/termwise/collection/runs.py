"""Reader and writer of runs."""

from __future__ import annotations

import math
import re
from array import array
from pathlib import Path
from sys import intern
from typing import Literal

import numpy as np

from termwise.collection.columns import check_writable, is_whole, read_columns
from termwise.errors import DuplicateIdError, MalformedRecordError, MissingFileError
from termwise.fixes import Fix
from termwise.records import Ranking, Run
from termwise.storage.atomic_file import written_whole
from termwise.storage.safe_read import is_folder
from termwise.validation import check, check_path, check_run

FORMS = {
    6: "query id, Q0, document id, rank, score, name",
    3: "query id, document id, rank (from 1)",
}

_SCORE = re.compile(
    r"[+-]?(?:(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,6})?|[iI][nN][fF])"
)
"""Pattern of a score: an ASCII decimal number, or infinity."""


class _Rows:
    """Lines of one query, in the order of the file."""

    __slots__ = ("doc_ids", "lines", "ranks", "scores")

    def __init__(self) -> None:
        self.doc_ids: list[str] = []
        self.scores = array("d")
        self.ranks = array("q")
        self.lines = array("q")

    def ranking(self, query_id: str, path: Path) -> Ranking:
        if len(set(self.doc_ids)) != len(self.doc_ids):
            self._refuse_twice(query_id, path)
        # lexsort is stable and sorts by its last key first.
        order = np.lexsort((np.array(self.ranks), -np.array(self.scores)))
        return Ranking([self.doc_ids[i] for i in order], np.array(self.scores)[order], query_id)

    def _refuse_twice(self, query_id: str, path: Path) -> None:
        first: dict[str, int] = {}
        for doc_id, line in zip(self.doc_ids, self.lines, strict=True):
            if doc_id in first:
                raise DuplicateIdError(
                    "a document is ranked twice for one query",
                    facts=[
                        ("file", path),
                        ("query", query_id),
                        ("document", doc_id),
                        ("lines", f"{first[doc_id]} and {line}"),
                    ],
                    fixes=["keep one of the two lines"],
                )
            first[doc_id] = line


def read_run(path: str | Path, *, name: str | None = None) -> Run:
    r"""Read a run.

    Documents are sorted by descending score, ties by the rank in the file, then by line. The order therefore never
    depends on the identifiers.

    Parameters
    ----------
    path : str or Path
        A file, plain or gzip-compressed, in one of two formats, which differ in the number of columns:

        - TREC: query id, ``Q0``, document id, rank, score, name of the system;
        - MS MARCO: query id, document id, rank from 1. The score of a document is 1 / rank.

        Lines with tabs are split at tabs, so that identifiers can have spaces; other lines at white space.
    name : str, optional
        Name of the run; by default the last column of the first line, or the name of the file.

    Returns
    -------
    Run
        Queries in the order of their first lines, with exactly the scores of the file.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If a line has a different number of columns, a rank that is not a whole number, or a score that is not a number.
    DuplicateIdError
        If a document is ranked twice for one query; the error names the lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "bm25.trec"
    ...     _ = file.write_text("q1 Q0 a 1 2.5 bm25\nq1 Q0 b 2 1.25 bm25\n")
    ...     run = read_run(file)
    >>> run.name, run["q1"].doc_ids, run["q1"].scores
    ('bm25', ('a', 'b'), array([2.5 , 1.25]))
    """
    check_path("the run", path)
    path = Path(path)
    if is_folder(path):
        raise MissingFileError(
            "a folder is not a run",
            facts=[("folder", path)],
            fixes=[
                Fix.sentence(
                    "if it is an index, rank the queries with it: {}", Fix.call("termwise.open", path)
                )
            ],
        )
    table: dict[str, _Rows] = {}
    tag = ""
    for number, columns in read_columns(path, FORMS):
        if not table and len(columns) == 6:
            tag = columns[5]
        rank, score = _numbers(columns, path, number)
        rows = table.get(columns[0])
        if rows is None:
            rows = table[columns[0]] = _Rows()
        rows.doc_ids.append(intern(columns[2 if len(columns) == 6 else 1]))
        rows.ranks.append(rank)
        rows.scores.append(score)
        rows.lines.append(number)
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    rankings = (rows.ranking(query_id, path) for query_id, rows in table.items())
    return Run(rankings, name=name or tag or stem)


def _numbers(columns: list[str], path: Path, number: int) -> tuple[int, float]:
    written = columns[3] if len(columns) == 6 else columns[2]
    rank = int(written) if is_whole(written) and len(written) < 19 else None
    if rank is None or (len(columns) == 3 and rank < 1):
        least = "" if len(columns) == 6 else " from 1"
        raise MalformedRecordError.at(path, number, expected=f"a rank: a whole number{least}", seen=written)
    if len(columns) == 3:
        return rank, 1.0 / rank
    if not _SCORE.fullmatch(columns[4]):
        raise MalformedRecordError.at(path, number, expected="a score: a number", seen=columns[4])
    score = float(columns[4])
    if math.isinf(score) and "inf" not in columns[4].lower():
        raise MalformedRecordError.at(
            path, number, expected="a score: a number that a float64 can hold", seen=columns[4]
        )
    return rank, score


def write_run(run: Run, path: str | Path, *, separator: Literal["space", "tab"] = "space") -> None:
    """Write a run in the TREC format: query id, ``Q0``, document id, rank from 1, score, name of the run.

    Scores are written with all digits, so `read_run` returns an equal run, except for queries without a document,
    which have no line. Readers sort by score, so pinned documents are written with scores above the others: the largest
    score plus 1, plus 2, and so on. The file is written atomically.

    trec_eval and ir_measures sort by score and break ties by document id, so the order of equal scores in `run` has
    no effect on them.

    Parameters
    ----------
    run : Run
    path : str or Path
        The file is compressed if its name ends in ``.gz``.
    separator : {"space", "tab"}, optional
        Column separator. Tabs allow identifiers with spaces, which `read_run` can read; trec_eval and ir_measures
        split at any white space and cannot read such a file.

    Raises
    ------
    ParameterError
        If an identifier or the name of the run is empty or has white space (with ``"tab"``: a tab or a line end), or
        `separator` has another value.
    StorageError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from termwise.records import Ranking
    >>> run = Run([Ranking(["b", "a"], [0.1, 0.1], query_id="q1")], name="bm25")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "bm25.trec"
    ...     write_run(run, file)
    ...     print(file.read_text(), end="")
    q1 Q0 b 1 0.1 bm25
    q1 Q0 a 2 0.1 bm25
    """
    check_run(run)
    check_path("path", path)
    check("separator", separator, separator in ("space", "tab"), "'space' or 'tab'")
    tabs = separator == "tab"
    between = "\t" if tabs else " "
    check_writable("run name", run.name, tabs=tabs)
    with written_whole(Path(path)) as write:
        for ranking in run:
            check_writable("query id", ranking.query_id, tabs=tabs)
            lines = []
            scores = ranking.scores.copy()
            pinned = ranking.pinned
            scores[:pinned] = scores.max(initial=0.0) + np.arange(pinned, 0, -1)
            for rank, (doc_id, score) in enumerate(zip(ranking.doc_ids, scores.tolist(), strict=True), 1):
                check_writable("document id", doc_id, tabs=tabs)
                columns = (ranking.query_id, "Q0", doc_id, str(rank), repr(score), run.name)
                lines.append(between.join(columns) + "\n")
            write("".join(lines))
