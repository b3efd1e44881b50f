"""Ranking, term by term.

A model weighs the terms of every document once, at index time. A query is then tokenised, and the weights of its terms
are added up. Search costs as much as BM25, and every score is a sum that can be shown term by term.

>>> import tempfile, termwise
>>> documents = [termwise.Document("a", "merge two sorted lists"), termwise.Document("b", "shuffle a list")]
>>> with tempfile.TemporaryDirectory() as folder:
...     searcher = termwise.build_index(documents, folder, store_text=True)
...     ranking = searcher.rank("merging lists", k=10)
...     explanation = searcher.explain("merging lists", "a")
>>> ranking.doc_ids
('a', 'b')
>>> [contribution.term for contribution in explanation.contributions]
['merg', 'list']
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from termwise._version import __version__ as __version__

if TYPE_CHECKING:
    from termwise.collection import open_collection, read_qrels, read_queries, read_run, write_run
    from termwise.compilation import warm
    from termwise.errors import TermwiseError
    from termwise.explain import Explanation
    from termwise.indexing import BuildOptions, build_index, open_writer
    from termwise.records import Document, Qrel, Query, Ranking, Run
    from termwise.search import Results, Search, Searcher

_MODULES = {
    "BuildOptions": "indexing",
    "Document": "records",
    "Explanation": "explain",
    "Qrel": "records",
    "Query": "records",
    "Ranking": "records",
    "Run": "records",
    "Results": "search",
    "Search": "search",
    "Searcher": "search",
    "TermwiseError": "errors",
    "build_index": "indexing",
    "open_collection": "collection",
    "open_writer": "indexing",
    "read_qrels": "collection",
    "read_queries": "collection",
    "read_run": "collection",
    "warm": "compilation",
    "write_run": "collection",
}
"""Public names, and the module that each is loaded from when it is first used."""

_PACKAGES = (
    "attributes",
    "collection",
    "encode",
    "engine",
    "errors",
    "evaluate",
    "explain",
    "export",
    "filters",
    "fusion",
    "index",
    "indexing",
    "models",
    "probes",
    "rankers",
    "records",
    "scorers",
    "search",
    "serve",
    "text",
    "train",
    "translation",
    "weights",
    "yardsticks",
)
"""Public sub-packages and modules, loaded when they are first used."""

__all__ = [
    "BuildOptions",
    "Document",
    "Explanation",
    "Qrel",
    "Query",
    "Ranking",
    "Results",
    "Run",
    "Search",
    "Searcher",
    "TermwiseError",
    "build_index",
    "open",
    "open_collection",
    "open_writer",
    "read_qrels",
    "read_queries",
    "read_run",
    "warm",
    "write_run",
]


def open(path: str | Path) -> Searcher:
    """Open the folder of an index or of a mixture for searching.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.

    Returns
    -------
    Searcher

    Raises
    ------
    MissingFileError
        If the folder, or that of a part of the mixture, does not exist.
    IndexFormatError
        If the folder is not an index or a mixture, is damaged, or was written by a later version.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = termwise.build_index([termwise.Document("a", "merge two sorted lists")], folder)
    ...     termwise.open(folder).rank("merging lists").doc_ids
    ('a',)
    """
    from termwise.search.opening import open_searcher

    return open_searcher(path)


def __getattr__(name: str) -> Any:
    """Load a public name or sub-package when it is first used, so that importing termwise is fast."""
    if name in _PACKAGES:
        return import_module(f"termwise.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'termwise' has no attribute {name!r}")
    return getattr(import_module(f"termwise.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([name for name in globals() if name.startswith("__")] + [*__all__, *_PACKAGES])
