"""lsr-benchmark: term weights of an index as a folder of embeddings, and such folders as files for ``vectors``.

lsr-benchmark (0.1.1) reads embeddings from a folder with two parts, ``doc`` and ``query``. Each has the identifiers,
one in each line (``doc-ids.txt``), and a NumPy archive (``doc-embeddings.npz``) with the arrays of a sparse matrix:
``indptr``, ``indices`` (numbers of tokens) and ``data``. Its engines read tokens as whole numbers, so terms are
numbered as in the index. The archives that termwise writes also have ``shape``, ``doc_ids`` and ``tokens``, so that
they are files of the model ``vectors``, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, MissingFileError, ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.integrations.weight_blocks import weight_blocks
from termwise.records import Query
from termwise.search import Searcher
from termwise.search.searcher import checked_queries
from termwise.storage.atomic_file import bytes_written_whole, written_whole
from termwise.text.vocabulary import BACKGROUND
from termwise.validation import check_path
from termwise.weights import TermWeights

PURPOSE = "a folder of embeddings"

Part = Literal["doc", "query"]

Embedding = tuple[str, npt.NDArray[np.str_], npt.NDArray[np.float32]]
"""Identifier of a document or query, its tokens, and their weights."""


def doc_embeddings(searcher: Searcher) -> Iterator[Embedding]:
    """Yield the identifier, the terms and the weights of each document of an index.

    The form is that of ``doc_embeddings`` of a dataset of lsr-benchmark, with the terms themselves as tokens.

    Parameters
    ----------
    searcher : Searcher
        Of one index with term weights.

    Raises
    ------
    ParameterError
        At once, if the index has vectors, is a mixture, or has documents that are cut into chunks.
    """
    blocks = weight_blocks(searcher, PURPOSE)
    token = searcher.index.vocabulary.token

    def embeddings() -> Iterator[Embedding]:
        for doc_ids, rows in blocks:
            for doc_id, (terms, weights) in zip(doc_ids, rows, strict=True):
                yield doc_id, np.array([token(term) for term in terms.tolist()], dtype=np.str_), weights

    return embeddings()


def write_embeddings(searcher: Searcher, folder: str | Path, *, queries: Iterable[Query] = ()) -> None:
    """Write the weights of an index, and of queries, as a folder that lsr-benchmark reads.

    Parameters
    ----------
    searcher : Searcher
        Of one index with term weights.
    folder : str or Path
        Its parts ``doc`` and ``query`` are made, and replaced. Memory holds the weights of all documents, 8 bytes each.
    queries : iterable of Query, optional
        Queries whose weights are written, those of a search.

    Raises
    ------
    ParameterError
        If the index has vectors, is a mixture, or has documents that are cut into chunks, or an identifier has a line
        end.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index([termwise.Document("d1", "merge lists")], f"{folder}/docs.tw")
    ...     write_embeddings(searcher, f"{folder}/bm25", queries=[termwise.Query("q1", "merging")])
    ...     with np.load(f"{folder}/bm25/query/query-embeddings.npz") as archive:
    ...         archive["indices"].tolist(), archive["tokens"].tolist()
    ([1], ['list', 'merg'])
    """
    check_path("folder", folder)
    asked, _ = checked_queries(queries, None, None)
    doc_ids: list[str] = []
    parts = []
    for ids, rows in weight_blocks(searcher, PURPOSE):
        doc_ids += ids
        parts.append(rows)
    index = searcher.index
    _write(Path(folder), "doc", doc_ids, parts, index)
    encoded = [searcher.encode(query.text) for query in asked]
    _write(Path(folder), "query", [query.query_id for query in asked], encoded, index)


def write_vectors(folder: str | Path, path: str | Path) -> None:
    """Write the documents of a folder of embeddings as a file that the model ``vectors`` indexes.

    Parameters
    ----------
    folder : str or Path
        Folder of embeddings, of any model.
    path : str or Path
        File to write, ending in ``.npz``. Its tokens are those of the embeddings, which are mostly numbers; search its
        index with the weights of `query_embeddings`.

    Raises
    ------
    MissingFileError
        If the folder lacks a file.
    DataError
        If the files do not fit together.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index([termwise.Document("d1", "merge lists")], f"{folder}/docs.tw")
    ...     write_embeddings(searcher, f"{folder}/bm25")
    ...     write_vectors(f"{folder}/bm25", f"{folder}/bm25.npz")
    ...     copy = termwise.build_index(f"{folder}/bm25.npz", f"{folder}/copy.tw", model="vectors")
    ...     copy.rank("merg").doc_ids
    ('d1',)
    """
    check_path("path", path)
    if Path(path).suffix != ".npz":
        raise ParameterError("the file of vectors ends in .npz", facts=[("path", path)])
    ids, arrays = _read(Path(folder), "doc")
    tokens, columns = _tokens(arrays)
    with bytes_written_whole(Path(path)) as stream:
        np.savez(
            stream,
            indptr=arrays["indptr"],
            indices=columns,
            data=arrays["data"],
            shape=np.array([len(ids), len(tokens)]),
            doc_ids=np.array(ids, dtype=np.str_),
            tokens=tokens,
        )


def query_embeddings(folder: str | Path) -> dict[str, dict[str, float]]:
    """Return the weights of the queries of a folder of embeddings, by token, for `Search.weights`.

    Parameters
    ----------
    folder : str or Path
        Folder of embeddings, of any model.

    Raises
    ------
    MissingFileError, DataError
        See `write_vectors`.
    """
    ids, arrays = _read(Path(folder), "query")
    tokens, columns = _tokens(arrays)
    bounds = arrays["indptr"].tolist()
    rows = {}
    for number, query_id in enumerate(ids):
        stored = slice(bounds[number], bounds[number + 1])
        named = tokens[columns[stored]].tolist()
        rows[query_id] = dict(zip(named, arrays["data"][stored].tolist(), strict=True))
    return rows


def _write(folder: Path, part: Part, ids: list[str], rows: list[TermWeights], index: Index) -> None:
    bad = next((one for one in ids if "\n" in one or one.strip() != one), None)
    if bad is not None:
        raise ParameterError(
            "an identifier cannot be written on a line of its own",
            facts=[
                ("identifier", ascii(bad)),
                ("expected", "text without line ends, and no spaces around it"),
            ],
        )
    vocabulary = index.vocabulary
    tokens = list(vocabulary.load()) + ([BACKGROUND] if vocabulary.background is not None else [])
    joined = TermWeights.concatenate([TermWeights([0], [], [], index.manifest.vocabulary), *rows])
    target = folder / part
    target.mkdir(parents=True, exist_ok=True)
    with written_whole(target / f"{part}-ids.txt") as write:
        write("".join(f"{one}\n" for one in ids))
    with bytes_written_whole(target / f"{part}-embeddings.npz") as stream:
        np.savez(
            stream,
            indptr=joined.indptr,
            indices=joined.terms,
            data=joined.weights,
            shape=np.array([len(ids), len(tokens)]),
            doc_ids=np.array(ids, dtype=np.str_),
            tokens=np.array(tokens, dtype=np.str_),
        )


def _read(folder: Path, part: Part) -> tuple[list[str], dict[str, npt.NDArray[Any]]]:
    """Return the identifiers of a part, and its arrays after a check that they fit together."""
    names, archive = folder / part / f"{part}-ids.txt", folder / part / f"{part}-embeddings.npz"
    try:
        ids = names.read_text(encoding="utf-8").strip().split("\n")
        with np.load(archive, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in ("indptr", "indices", "data")}
            if "tokens" in stored:
                arrays["tokens"] = stored["tokens"]
    except OSError as error:
        raise MissingFileError(
            "a folder of embeddings lacks a file",
            facts=[
                ("folder", folder),
                ("expected", f"{names.name} and {archive.name} in {part}"),
                ("reason", error),
            ],
        ) from error
    except (KeyError, ValueError) as error:
        raise _damaged(archive, "arrays indptr, indices and data", str(error)) from error
    ids = [one for one in ids if one]
    indptr, indices, data = arrays["indptr"], arrays["indices"], arrays["data"]
    fits = (
        indptr.dtype.kind in "iu"
        and indptr.shape == (len(ids) + 1,)
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and indices.shape == data.shape == (int(indptr[-1]),)
        and data.dtype.kind in "iuf"
    )
    if not fits:
        shapes = ", ".join(f"{name} {arrays[name].shape}" for name in ("indptr", "indices", "data"))
        raise _damaged(archive, f"arrays of one length, and indptr for {len(ids)} identifiers", shapes)
    return ids, arrays


def _tokens(arrays: dict[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.int64]]:
    """Return the tokens of the columns, and the column of each weight."""
    indices = arrays["indices"]
    if "tokens" in arrays and indices.dtype.kind in "iu":
        return arrays["tokens"], indices.astype(np.int64)
    distinct, columns = np.unique(indices, return_inverse=True)
    return distinct.astype(np.str_), columns.astype(np.int64)


def _damaged(path: Path, expected: str, seen: str) -> DataError:
    return DataError(
        "a file of embeddings is not in the form of lsr-benchmark",
        facts=[("file", path), ("expected", expected), ("seen", seen[:200])],
        fixes=[Fix.python("write_embeddings(searcher, folder)")],
    )
