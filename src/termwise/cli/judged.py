"""Queries, runs and judgment options, read for several commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from termwise.cli.options import choice
from termwise.cli.terminal import note_line
from termwise.errors import DuplicateIdError, EmptyCollectionError

if TYPE_CHECKING:
    from termwise.records import Query, Run


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
