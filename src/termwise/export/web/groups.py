"""Groups of documents. Each group is a file with the texts of its documents, and their vectors if the index has any.

A search reads the groups of the documents that are likely to be the best: those with the largest sum of the scores of
other parts and an estimate of the product with the query, from the first principal coordinates of their vectors. Then
it has the texts of the results, too. Groups are made of similar documents, by cutting the documents in two halves again
and again: at the median of their products with the difference of two centres, which are found by two-means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.export.source import ExportPart, ExportSource
from termwise.export.web.files import SearchFiles, short_names
from termwise.export.web.terms import Entries
from termwise.export.web.texts import Links
from termwise.index.segment import concatenated_ranges
from termwise.progress import Progress
from termwise.vectors import DocumentVectors

CHARACTERS = 12_000
"""Number of characters of the texts of a group without vectors. A longer text has a group of its own."""

WINDOWS = 20
"""Largest number of windows of a group with vectors, unless one document has more."""

COORDINATES = 24
"""Principal coordinates of a document that its product with a query is estimated from."""

LEVELS = 7
"""Largest absolute value of a coordinate."""

FREQUENT = 64
"""Rows of a table that are read with the index: those of the most frequent terms."""

SAMPLE = 512
"""Number of documents that are read to find the most frequent terms."""

_ITERATIONS = 6


def write_groups(
    files: SearchFiles, source: ExportSource, links: Links, parts: list[ExportPart], progress: Progress
) -> tuple[list[str], bytes, dict[str, Any] | None]:
    """Write the groups; return their files, numbers that a search reads first, and the description of their vectors.

    The numbers are the group of each document, the principal axes of each part, and the coordinates of each document.
    """
    ordinals = np.arange(len(source), dtype=np.int64)
    vectors = [part.index.document_vectors(ordinals) for part in parts]
    means = [window_means(each) for each in vectors]
    windows = sum((np.diff(each.indptr) for each in vectors), np.zeros(len(source), dtype=np.int64))
    groups = grouped(np.concatenate(means, axis=1), windows, WINDOWS) if parts else _neighbours(source)
    owners = np.zeros(len(source), dtype="<u4")
    names: list[str] = []
    for documents in groups:
        owners[documents] = len(names)
        window_owners, arrays = [], []
        for each in vectors:
            counts = np.diff(each.indptr)[documents]
            rows = concatenated_ranges(each.indptr[documents], counts)
            window_owners.append(np.repeat(documents, counts).tolist())
            arrays += [each.scales[rows].astype("<f4").tobytes(), each.rows[rows].tobytes()]
        header = {
            "documents": documents.tolist(),
            "texts": links.texts(source, documents),
            "owners": window_owners,
        }
        names.append(files.add_shard("documents", header, *arrays))
        progress("write documents", len(names), None)
    if not parts:
        return short_names(names), owners.tobytes(), None
    axes, coordinates = zip(*map(principal_coordinates, means), strict=True)
    first = b"".join(
        array for each in axes for array in (each.scales.astype("<f4").tobytes(), each.rows.tobytes())
    )
    numbers = owners.tobytes() + first
    described = {"sketches": len(numbers), "axes": [len(each) for each in axes]}
    return short_names(names), numbers + np.concatenate(coordinates, axis=1).tobytes(), described


def _neighbours(source: ExportSource) -> Iterator[npt.NDArray[np.int64]]:
    """Cut the documents in their order into groups of about `CHARACTERS` characters."""
    first = size = 0
    for batch in source.batches():
        for position, text in zip(batch.positions.tolist(), batch.texts or (), strict=True):
            if position > first and size + len(text) > CHARACTERS:
                yield np.arange(first, position, dtype=np.int64)
                first, size = position, 0
            size += len(text)
    yield np.arange(first, len(source), dtype=np.int64)


def principal_coordinates(
    vectors: npt.NDArray[np.float32], count: int = COORDINATES
) -> tuple[DocumentVectors, npt.NDArray[np.int8]]:
    """Return the principal axes of vectors, times the unit of the coordinates, and the coordinates.

    There are at most `count` axes. Coordinates have `LEVELS` levels on each side, and the largest thousandth is cut.
    """
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    axes = directions[:, ::-1][:, :count].T
    coordinates = centred @ axes.T
    unit = float(np.quantile(np.abs(coordinates), 0.999)) / LEVELS or 1.0
    found = np.clip(np.rint(coordinates / unit), -LEVELS, LEVELS).astype(np.int8)
    return DocumentVectors.of(np.arange(len(axes) + 1), axes * unit), found


def table_of(part: ExportPart) -> tuple[Entries, dict[str, Any]]:
    """Return the rows of the query terms, and the description of the part."""
    table = part.index.term_vectors
    assert table is not None, "the part has vectors"
    known = np.flatnonzero(table.known)
    tokens = part.index.vocabulary.tokens(known.astype(np.int64))

    def section(places: list[int]) -> tuple[dict[str, Any], bytes]:
        terms = known[places]
        header = {"terms": [tokens[place] for place in places], "shifts": table.shifts[terms].tolist()}
        return header, table.rows[terms].tobytes()

    described = {"scale": table.scale, "dimensions": table.dimensions}
    return Entries(tokens, [table.dimensions] * len(tokens), section), described


def frequent_terms(source: ExportSource, part: ExportPart, entries: Entries) -> list[int]:
    """Return the places of the terms with vectors that are the most frequent ones in the first documents."""
    analyzer = part.part.backend.encoder.analyzer
    texts = source.index.store.texts(np.arange(min(SAMPLE, len(source)), dtype=np.int64))
    counts = Counter(token for text in texts for token in analyzer.tokens(text or ""))
    places = {term: place for place, term in enumerate(entries.terms)}
    return [places[term] for term, _ in counts.most_common() if term in places][:FREQUENT]


def grouped(
    vectors: npt.NDArray[np.float32], sizes: npt.NDArray[np.int64], most: int
) -> list[npt.NDArray[np.int64]]:
    """Cut vectors into groups of similar ones, whose sizes are together at most `most`, or of one vector.

    Parameters
    ----------
    vectors : ndarray of shape (n, dimensions), float32
    sizes : ndarray of shape (n,), int64
    most : int

    Returns
    -------
    list of ndarray of int64
        Positions in ascending order. The result depends on the vectors alone.

    Examples
    --------
    >>> rows = np.array([[0, 1], [1, 0], [0.1, 1], [1, 0.1]], dtype=np.float32)
    >>> [group.tolist() for group in grouped(rows, np.ones(4, dtype=np.int64), 2)]
    [[0, 2], [1, 3]]
    """
    waiting, groups = [np.arange(len(vectors), dtype=np.int64)], []
    while waiting:
        members = waiting.pop()
        if len(members) == 1 or sizes[members].sum() <= most:
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
