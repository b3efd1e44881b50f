"""Vectors of the documents in groups of similar documents, one file each, and the table of queries in shards.

A search reads the groups that are likely to have the best documents, so similar documents share a group, and
neighbouring groups share a centre. The groups come from cutting the documents in two halves again and again: at the
median of their products with the difference of two centres, which are found by two-means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.export.source import ExportPart, ExportSource
from termwise.export.web.files import SearchFiles, short_names
from termwise.export.web.postings import utf16_key
from termwise.index.segment import concatenated_ranges
from termwise.progress import Progress
from termwise.vectors import DocumentVectors

GROUP = 16
"""Largest number of documents of a group."""

NEIGHBOURS = 96
"""Largest number of documents of neighbouring groups that share a centre."""

MOST_READ = 32
"""Groups that a search reads; in a smaller collection, it reads all of them."""

ROWS = 8
"""Rows of a shard of the table."""

_ITERATIONS = 6


def write_groups(
    files: SearchFiles, source: ExportSource, parts: list[ExportPart], progress: Progress
) -> dict[str, Any]:
    """Write the vectors of the documents of all parts with vectors; return their description."""
    ordinals = np.arange(len(source), dtype=np.int64)
    vectors = [part.index.document_vectors(ordinals) for part in parts]
    means = [window_means(each) for each in vectors]
    both = np.concatenate(means, axis=1)
    parents = grouped(both, NEIGHBOURS)
    nested = [[members[group] for group in grouped(both[members], GROUP)] for members in parents]
    groups = [group for each in nested for group in each]
    owners = np.zeros(len(source), dtype=np.int64)
    names = []
    for number, documents in enumerate(groups):
        owners[documents] = number
        window_owners, arrays = [], []
        for each in vectors:
            counts = np.diff(each.indptr)[documents]
            rows = concatenated_ranges(each.indptr[documents], counts)
            window_owners.append(np.repeat(documents, counts).tolist())
            arrays += [each.scales[rows].astype("<f4").tobytes(), each.rows[rows].tobytes()]
        header = {"documents": documents.tolist(), "owners": window_owners}
        names.append(files.add_shard("vectors", header, *arrays))
        progress("write vectors", number + 1, len(groups))
    arrays = [owners.astype("<u4").tobytes()]
    for mean in means:
        centres = np.stack([mean[documents].mean(axis=0) for documents in parents])
        centre = DocumentVectors.of(np.arange(len(parents) + 1), centres)
        arrays += [centre.scales.astype("<f4").tobytes(), centre.rows.tobytes()]
    header = {
        "documents": len(source),
        "count": len(parents),
        "parents": [number for number, each in enumerate(nested) for _ in each],
    }
    return {
        "centres": files.add_shard("centres", header, *arrays),
        "files": short_names(names),
        "most": MOST_READ,
    }


def write_table(files: SearchFiles, part: ExportPart, progress: Progress) -> dict[str, Any]:
    """Write the rows of the query terms in shards; return the description of the part."""
    table = part.index.term_vectors
    assert table is not None, "the part has vectors"
    known = np.flatnonzero(table.known)
    tokens = part.index.vocabulary.tokens(known.astype(np.int64))
    places = sorted(range(len(known)), key=lambda place: utf16_key(tokens[place]))
    firsts, names = [], []
    for first in range(0, len(places), ROWS):
        shard = places[first : first + ROWS]
        terms = known[shard]
        header = {"terms": [tokens[place] for place in shard], "shifts": table.shifts[terms].tolist()}
        firsts.append(header["terms"][0])
        names.append(files.add_shard("table", header, table.rows[terms].tobytes()))
        progress(f"{part.name}: write table", first + len(shard), len(places))
    return {
        "terms": {"firsts": firsts, "files": short_names(names)},
        "scale": table.scale,
        "dimensions": table.dimensions,
    }


def grouped(vectors: npt.NDArray[np.float32], size: int) -> list[npt.NDArray[np.int64]]:
    """Cut vectors into groups of similar ones, of at most `size` and at least half of it unless there are fewer.

    Parameters
    ----------
    vectors : ndarray of shape (n, dimensions), float32
    size : int
        2 or more.

    Returns
    -------
    list of ndarray of int64
        Positions in ascending order. The result depends on the vectors alone.

    Examples
    --------
    >>> rows = np.array([[0, 1], [1, 0], [0.1, 1], [1, 0.1]], dtype=np.float32)
    >>> [group.tolist() for group in grouped(rows, 2)]
    [[0, 2], [1, 3]]
    """
    waiting, groups = [np.arange(len(vectors), dtype=np.int64)], []
    while waiting:
        members = waiting.pop()
        if len(members) <= size:
            groups.append(members)
            continue
        own = vectors[members]
        mean = own.mean(axis=0)
        first = own[int(np.argmax(((own - mean) ** 2).sum(axis=1)))]
        second = own[int(np.argmax(((own - first) ** 2).sum(axis=1)))]
        for _ in range(_ITERATIONS):
            near = own @ (first - second) > (first @ first - second @ second) / 2
            if near.all() or not near.any():
                break
            first, second = own[near].mean(axis=0), own[~near].mean(axis=0)
        order = np.argsort(own @ (second - first), kind="stable")
        half = len(members) // 2
        waiting += [np.sort(members[order[half:]]), np.sort(members[order[:half]])]
    return groups


def window_means(vectors: DocumentVectors) -> npt.NDArray[np.float32]:
    """Return the mean of the windows of each document, zeros without windows."""
    matrix = vectors.matrix()
    counts = np.diff(vectors.indptr)
    sums = np.zeros((len(vectors), vectors.dimensions), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        sums[filled] = np.add.reduceat(matrix, vectors.indptr[:-1][filled], axis=0)
    return np.asarray(sums / np.maximum(counts, 1)[:, None])
