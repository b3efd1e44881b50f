"""Data frames of pandas, Polars and Arrow as collections, queries, judgments and runs, and results as Arrow tables.

Every function reads any object with the method ``__arrow_c_stream__`` of the Arrow PyCapsule interface: data frames of
pandas and Polars, tables and batch readers of pyarrow, relations of DuckDB. Results are tables or readers of pyarrow;
``table.to_pandas()`` and ``polars.DataFrame(table)`` make data frames of them. All of it needs pyarrow, the extra
``dataframes``; pandas and Polars are not imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from termwise.collection.arrow_rows import import_pyarrow
from termwise.collection.data_frames import EXTRA, FRAME, PURPOSE, ROW, FrameStream, frame_name, refused_value
from termwise.collection.data_frames import documents_from as documents_from
from termwise.collection.fields import RecordReader, checked_names, identifier
from termwise.collection.qrels import without_conflicts
from termwise.collection.queries import ID_FIELDS as QUERY_IDS
from termwise.collection.queries import TEXT_FIELDS as QUERY_TEXTS
from termwise.collection.queries import distinct_queries
from termwise.collection.record_collection import source_named
from termwise.errors import DuplicateIdError, MalformedRecordError, UnknownNameError
from termwise.explain import Explanation
from termwise.integrations.weight_blocks import weight_blocks
from termwise.records import Qrel, Query, Ranking, Run
from termwise.search import Searcher
from termwise.validation import check, check_run, is_finite_number, is_integer

QUERY_COLUMNS = ("query_id", "qid")
DOCUMENT_COLUMNS = ("doc_id", "docno")
RELEVANCE_COLUMNS = ("relevance", "label")
SCORE_COLUMNS = ("score",)


def queries_from(frame: Any, *, fields: Sequence[str] | None = None) -> list[Query]:
    """Return the rows of a data frame as queries.

    Parameters
    ----------
    frame : data frame
        With an identifier (``_id``, ``id``, ``query_id`` or ``qid``) and a text (``text``, ``query``, ``title`` or
        ``question``), such as the topics of PyTerrier.
    fields : sequence of str, optional
        Columns of the text, joined with spaces.

    Raises
    ------
    MalformedRecordError
        If a row has no identifier, or its text is not a string.
    DuplicateIdError
        If two queries share an identifier.

    Examples
    --------
    >>> import pyarrow
    >>> queries_from(pyarrow.table({"qid": ["1"], "query": ["wing flutter"]}))
    [Query(query_id='1', text='wing flutter')]
    """
    chosen = checked_names(fields)
    path = Path(frame_name(frame))
    reader = RecordReader(path, id_fields=QUERY_IDS, body_fields=QUERY_TEXTS, fields=chosen, unit=ROW)
    rows = enumerate(FrameStream.open(frame).records())
    with source_named(FRAME, ROW):
        queries = list(
            distinct_queries(((row, Query(*reader.read(row, record))) for row, record in rows), path)
        )
        reader.finish()
    return queries


def qrels_from(frame: Any) -> list[Qrel]:
    """Return the rows of a data frame as relevance judgments.

    Parameters
    ----------
    frame : data frame
        With the columns ``query_id`` or ``qid``, ``doc_id`` or ``docno``, and ``relevance`` or ``label``, which has
        whole numbers.

    Raises
    ------
    UnknownNameError
        If a column is missing.
    MalformedRecordError
        If an identifier or a relevance is missing or of another type.
    DuplicateIdError
        If a document has two different judgments for one query.

    Examples
    --------
    >>> import pyarrow
    >>> qrels_from(pyarrow.table({"qid": ["1"], "docno": ["d1"], "label": [2]}))
    [Qrel(query_id='1', doc_id='d1', relevance=2, iteration='0')]
    """

    def judged() -> Iterator[tuple[int, Qrel]]:
        for row in _cells(frame, RELEVANCE_COLUMNS):
            if not is_integer(row.value):
                raise row.refuse("a relevance: a whole number")
            yield row.number, Qrel(row.query_id, row.doc_id, int(row.value))

    with source_named(FRAME, ROW):
        return without_conflicts(frame_name(frame), judged())


def run_from(frame: Any, *, name: str = "run") -> Run:
    """Return the rows of a data frame as a run.

    Parameters
    ----------
    frame : data frame
        With the columns ``query_id`` or ``qid``, ``doc_id`` or ``docno``, and ``score``; other columns are ignored.
        Queries are in the order of their first rows. Documents with equal scores are in the order of the rows.
    name : str, optional
        Name of the run.

    Raises
    ------
    UnknownNameError
        If a column is missing.
    MalformedRecordError
        If an identifier or a score is missing or of another type.
    DuplicateIdError
        If a document occurs twice for one query.

    Examples
    --------
    >>> import pyarrow
    >>> run_from(pyarrow.table({"qid": ["1", "1"], "docno": ["d1", "d2"], "score": [1.0, 2.5]}))["1"].doc_ids
    ('d2', 'd1')
    """
    found: dict[str, dict[str, tuple[int, float]]] = {}
    for row in _cells(frame, SCORE_COLUMNS):
        if not is_finite_number(row.value):
            raise row.refuse("a score: a finite number")
        scored = found.setdefault(row.query_id, {})
        if row.doc_id in scored:
            raise DuplicateIdError(
                "a document is ranked twice for one query",
                facts=[
                    (FRAME, frame_name(frame)),
                    ("query", row.query_id),
                    ("document", row.doc_id),
                    (f"{ROW}s", f"{scored[row.doc_id][0]} and {row.number}"),
                ],
                fixes=["keep one of the two rows"],
            )
        scored[row.doc_id] = row.number, float(row.value)
    rankings = []
    for query_id, scored in found.items():
        ordered = sorted(scored.items(), key=lambda item: -item[1][1])
        rankings.append(Ranking([doc_id for doc_id, _ in ordered], [s for _, (_, s) in ordered], query_id))
    return Run(rankings, name)


def run_to_arrow(run: Run | Ranking) -> Any:
    """Return a run or a ranking as a table, one document in each row.

    Parameters
    ----------
    run : Run or Ranking

    Returns
    -------
    pyarrow.Table
        With the columns ``query_id`` and ``doc_id`` (string), ``rank`` (int64, from 1) and ``score`` (float64).

    Examples
    --------
    >>> run_to_arrow(Ranking(["b", "a"], [2.0, 1.5], "q1")).to_pylist()[0]
    {'query_id': 'q1', 'doc_id': 'b', 'rank': 1, 'score': 2.0}
    """
    arrow = import_pyarrow(PURPOSE, EXTRA)
    if not isinstance(run, Ranking):
        check_run(run)
    rankings = [run] if isinstance(run, Ranking) else list(run)
    scores = [ranking.scores for ranking in rankings]
    return arrow.table(
        {
            "query_id": arrow.array(
                chain.from_iterable([r.query_id] * len(r) for r in rankings), arrow.string()
            ),
            "doc_id": arrow.array(chain.from_iterable(r.doc_ids for r in rankings), arrow.string()),
            "rank": np.concatenate([np.empty(0, np.int64), *(np.arange(1, len(r) + 1) for r in rankings)]),
            "score": np.concatenate([np.empty(0), *scores]),
        }
    )


def explanations_to_arrow(explanations: Explanation | Iterable[Explanation]) -> Any:
    """Return explanations as a table, one contribution of a term in each row.

    Parameters
    ----------
    explanations : Explanation or iterable of Explanation

    Returns
    -------
    pyarrow.Table
        With the columns ``query``, ``doc_id``, ``part``, ``term`` and ``origin`` (string), ``query_weight``,
        ``weight``, ``scale`` and ``score`` (float64), as in `termwise.explain.Contribution`. A row with an empty term
        has the constant of the score, if it is not 0. The scores of an explanation add up to that of the document.
    """
    arrow = import_pyarrow(PURPOSE, EXTRA)
    several = [explanations] if isinstance(explanations, Explanation) else list(explanations)
    texts, numbers = ("part", "term", "origin"), ("query_weight", "weight", "scale", "score")
    schema = arrow.schema(
        [(name, arrow.string()) for name in ("query", "doc_id", *texts)]
        + [(name, arrow.float64()) for name in numbers]
    )
    rows: list[dict[str, object]] = []
    for explanation in several:
        check("explanations", explanation, isinstance(explanation, Explanation), "explanations of termwise")
        scored = {"query": explanation.query, "doc_id": explanation.doc_id}
        if explanation.constant:
            constant = {"part": "", "term": "", "origin": "constant", "score": explanation.constant}
            rows.append({**scored, **constant})
        rows += [
            {**scored, **{name: getattr(each, name) for name in (*texts, *numbers)}}
            for each in explanation.contributions
        ]
    return arrow.Table.from_pylist(rows, schema=schema)


def weights_to_arrow(searcher: Searcher) -> Any:
    """Return the term weights that an index stores, one document in each row.

    Parameters
    ----------
    searcher : Searcher
        Of one index with term weights, not of vectors or of a mixture.

    Returns
    -------
    pyarrow.RecordBatchReader
        Batches with the columns ``doc_id`` (string), ``terms`` (list of string) and ``weights`` (list of float32), read
        from the index as they are needed. A document bias is the weight of the term ``[background]``.

    Raises
    ------
    ParameterError
        If the index has vectors, is a mixture, or has documents that are cut into chunks.
    """
    arrow = import_pyarrow(PURPOSE, EXTRA)
    blocks = weight_blocks(searcher, "a table of term weights")
    fields = [("doc_id", arrow.string()), ("terms", arrow.list_(arrow.string()))]
    schema = arrow.schema([*fields, ("weights", arrow.list_(arrow.float32()))])
    token = searcher.index.vocabulary.token

    def batches() -> Iterator[Any]:
        for doc_ids, rows in blocks:
            offsets = arrow.array(rows.indptr, arrow.int32())
            distinct, places = np.unique(rows.terms, return_inverse=True)
            names = arrow.array([token(term) for term in distinct.tolist()], arrow.string())
            columns = [
                arrow.array(doc_ids, arrow.string()),
                arrow.ListArray.from_arrays(offsets, names.take(arrow.array(places))),
                arrow.ListArray.from_arrays(offsets, arrow.array(rows.weights)),
            ]
            yield arrow.RecordBatch.from_arrays(columns, schema=schema)

    return arrow.RecordBatchReader.from_batches(schema, batches())


class _Row(NamedTuple):
    """Row of judgments or of a run."""

    frame: str
    number: int
    query_id: str
    doc_id: str
    value: Any
    column: str

    def refuse(self, expected: str) -> MalformedRecordError:
        return refused_value(self.frame, self.number, self.column, expected, self.value)


def _cells(frame: Any, value_columns: Sequence[str]) -> Iterator[_Row]:
    """Yield the rows of a data frame with a query, a document and a value; check that the first two are identifiers."""
    stream = FrameStream.open(frame)
    columns = [_column(stream, names) for names in (QUERY_COLUMNS, DOCUMENT_COLUMNS, value_columns)]
    name = frame_name(frame)
    for number, record in enumerate(stream.records(list(dict.fromkeys(columns)))):
        query_id, doc_id = (_identifier(name, number, column, record[column]) for column in columns[:2])
        yield _Row(name, number, query_id, doc_id, record[columns[2]], columns[2])


def _identifier(frame: str, row: int, column: str, value: object) -> str:
    found = identifier(value)
    if found is None:
        raise refused_value(frame, row, column, "a string that is not empty, or a whole number", value)
    return found


def _column(stream: FrameStream, names: Sequence[str]) -> str:
    """Return the first of some column names that a data frame has."""
    found = next((name for name in names if name in stream.names), None)
    if found is None:
        error = UnknownNameError.of("column", names[0], stream.names)
        raise UnknownNameError(
            f"a data frame has no column {' or '.join(names)}",
            facts=[(FRAME, stream.name), ("columns", ", ".join(map(str, stream.names)) or "none")],
            fixes=error.fixes or [f"rename the column that has these values to {names[0]}"],
        )
    return found
