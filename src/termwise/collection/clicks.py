"""Click logs as judgments, corrected for the positions of the results.

A result far down is clicked less because fewer users look at it. In the position-based model (Craswell et al., WSDM
2008), a result is clicked if it is relevant and looked at, and the second depends on its rank alone:

    P(click on d for q at rank r) = relevance(q, d) * examination(r)            examination(r) = (1 / r) ** eta

with the examination of Joachims, Swaminathan and Schnabel (WSDM 2017). The relevance is estimated by clicks over
expected clicks (Zhang and Jones, WWW 2007), the clicks of a pair divided by the sum of the examination of its views:

    relevance(q, d) = min(1, clicks / (1 + sum over the views of  (1 / rank) ** eta))

The 1 stands for one more view at rank 1 without a click. Because of it, a pair that was seen once and clicked has less
relevance than a pair that was clicked in most of a hundred views.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from termwise.collection.columns import is_whole
from termwise.collection.lines import first_character, read_json_lines, read_lines, refuse_pipe
from termwise.collection.openers import JSON_SUFFIXES, TAB_SUFFIXES, content_suffix
from termwise.display.safe_text import shown
from termwise.errors import EmptyCollectionError, MalformedRecordError
from termwise.records import Qrel
from termwise.validation import check, check_path, is_finite_number, is_integer

ETA = 1.0
"""Default exponent of the examination."""

LARGEST_GRADE = 100
"""Grade of the relevance 1."""

MOST_RANK = 1_000_000
"""Largest rank of a result."""

KEYS = ("query", "doc_id", "rank", "clicked")
"""Keys of a record, and the order of the columns."""

_EXPECTED = {
    "query": "a query: its text, or an identifier",
    "doc_id": "the identifier of a document",
    "rank": f"a rank: a whole number from 1 to {MOST_RANK:,}",
    "clicked": "whether it was clicked: 1 or 0, in JSON also true or false",
}


def read_clicks(path: str | Path, *, eta: float = ETA) -> list[Qrel]:
    r"""Read a click log, and estimate judgments from it by clicks over expected clicks; see the module.

    Parameters
    ----------
    path : str or Path
        A file, plain or gzip-compressed, with a line for each result that was shown, clicked or not, in one of two
        formats:

        - one JSON object per line with ``query``, ``doc_id``, ``rank`` (1 for the first result) and ``clicked``
          (``true``, ``false``, 1 or 0); other keys are ignored;
        - these four values in this order with tabs between them; a header line with these names is skipped.
    eta : float, optional
        Exponent of the examination ``(1 / rank) ** eta``: 0 for users who look at all results, larger values for users
        who look at the first ones only.

    Returns
    -------
    list of Qrel
        The pairs of query and document that were shown, in the order of the file, for queries with a click. The
        relevance is the estimate times 100, rounded.

    Raises
    ------
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        At the first line that lacks a value, or has one of another type; the error names the line.
    EmptyCollectionError
        If no result was clicked.
    ParameterError
        If `eta` is out of range.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "clicks.tsv"
    ...     _ = file.write_text("tea\tp1\t1\t0\ntea\tp2\t2\t1\n")
    ...     [(qrel.doc_id, qrel.relevance) for qrel in read_clicks(file)]  # 1 click / (1 + 1/2 of a view)
    [('p1', 0), ('p2', 67)]
    """
    check_path("the click log", path)
    check("eta", eta, is_finite_number(eta) and eta >= 0, "a number of at least 0")
    views: dict[tuple[str, str], Counter[int]] = {}
    clicks: Counter[tuple[str, str]] = Counter()
    for query, doc_id, rank, clicked in _views(Path(path)):
        views.setdefault((query, doc_id), Counter())[rank] += 1
        clicks[query, doc_id] += clicked
    with_click = {query for (query, _), number in clicks.items() if number}
    if not with_click:
        raise EmptyCollectionError(
            "no result of the click log was clicked", facts=[("file", path), ("pairs", len(views))]
        )
    return [
        Qrel(query, doc_id, _grade(clicks[query, doc_id], ranks, eta))
        for (query, doc_id), ranks in views.items()
        if query in with_click
    ]


def _grade(clicks: int, ranks: Counter[int], eta: float) -> int:
    examined = math.fsum(number * (1 / rank) ** eta for rank, number in ranks.items())
    return round(LARGEST_GRADE * min(1.0, clicks / (1 + examined)))


def _views(path: Path) -> Iterator[tuple[str, str, int, bool]]:
    """Yield query, document, rank and whether it was clicked for each line of a file."""
    refuse_pipe(path)
    suffix = content_suffix(path)
    start = b"" if suffix in (*JSON_SUFFIXES, *TAB_SUFFIXES) else first_character(path)
    as_json = suffix in JSON_SUFFIXES or start == b"{"
    for number, record in read_json_lines(path) if as_json else _columns(path):
        for key in KEYS:
            if not _holds(key, value := record.get(key)):
                seen = f"{key}: {shown(value)}" if key in record else f"no key {key}"
                raise MalformedRecordError.at(path, number, expected=_EXPECTED[key], seen=seen)
        yield record["query"], record["doc_id"], record["rank"], bool(record["clicked"])


def _holds(key: str, value: object) -> bool:
    if key == "rank":
        return is_integer(value) and 1 <= value <= MOST_RANK
    if key == "clicked":
        return isinstance(value, bool | int) and value in (0, 1)
    return isinstance(value, str) and value.strip() != ""


def _columns(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the columns of each line by their names, numbers as numbers."""
    for place, (number, line) in enumerate(read_lines(path)):
        columns = line.split("\t")
        if place == 0 and tuple(column.strip().lower() for column in columns) == KEYS:
            continue
        if len(columns) != len(KEYS):
            expected = f"{len(KEYS)} columns with tabs between them: {', '.join(KEYS)}"
            raise MalformedRecordError.at(path, number, expected=expected, seen=line)
        record: dict[str, Any] = dict(zip(KEYS, columns, strict=True))
        for key in ("rank", "clicked"):
            if is_whole(record[key]) and len(record[key]) <= len(str(MOST_RANK)):
                record[key] = int(record[key])
        yield number, record
