"""Queries, runs and judgment options, read for several commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from termwise.cli.options import choice
from termwise.cli.terminal import note_line
from termwise.errors import DuplicateIdError, EmptyCollectionError, UsageError

if TYPE_CHECKING:
    from termwise.records import Qrel, Query, Run


def load_queries(source: str) -> list[Query]:
    """Read all queries of ``--queries``.

    Raises
    ------
    EmptyCollectionError
        If there is none.
    """
    from termwise.collection import read_queries

    queries = list(read_queries(source))
    if not queries:
        raise EmptyCollectionError("there are no queries", facts=[("file", source)])
    return queries


def judgments_to_learn(qrels: str | None, clicks: Path | None) -> list[Qrel]:
    """Read the judgments of ``--qrels``, or estimate them from the click log of ``--clicks``.

    Raises
    ------
    UsageError
        If there is not exactly one of them.
    """
    from termwise.collection import read_clicks, read_qrels

    if (qrels is None) is (clicks is None):
        raise UsageError(
            "weights are learned from either judgments or clicks", fixes=["--qrels FILE", "--clicks FILE"]
        )
    return read_clicks(clicks) if clicks is not None else list(read_qrels(str(qrels)))


def judged_queries(
    queries: str | None, judgments: Sequence[Qrel], clicks: Path | None, needing: str
) -> list[Query]:
    """Read the queries of ``--queries``; without them, the queries of the click log are texts.

    Raises
    ------
    UsageError
        If there are neither queries nor clicks.
    EmptyCollectionError
        If there is no query.
    """
    from termwise.records import Query

    if queries is not None:
        return load_queries(queries)
    if clicks is None:
        raise UsageError(f"{needing} need the queries", fixes=["add --queries FILE"])
    return [Query(text, text) for text in dict.fromkeys(qrel.query_id for qrel in judgments)]


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read run files, named after their files, and report empty ones on stderr."""
    from termwise.collection import read_run

    names = [path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name for path in paths]
    if len(set(names)) != len(names):
        names = [str(path) for path in paths]
    if len(set(names)) != len(names):
        raise DuplicateIdError(
            "a run is given twice", facts=[("runs", ", ".join(names))], fixes=["give each run once"]
        )
    runs = [read_run(path, name=name) for path, name in zip(paths, names, strict=True)]
    for path, run in zip(paths, runs, strict=True):
        if not len(run):
            note_line(f"{path}: the run is empty: it ranks no document for any query")
    return runs


def tie_rule(text: str) -> Literal["ranking", "trec_eval"]:
    """Return the value of ``--ties``."""
    return "trec_eval" if choice("--ties", text, ("ranking", "trec-eval")) == "trec-eval" else "ranking"


def exclusion(text: str | None) -> Mapping[str, frozenset[str]] | Literal["id"] | None:
    """Return the value of ``--exclude-seed``: the contents of a file, or the word ``id``."""
    if text is None:
        return None
    if text == "id":
        return "id"
    from termwise.collection import read_seeds

    return read_seeds(Path(text))
