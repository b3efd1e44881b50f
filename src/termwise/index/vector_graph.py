"""Graphs for approximate search of vectors: one file for each segment, built and searched by usearch.

A graph is derived from the vectors of a segment and holds a copy of them. Its file is not in the manifest, so that an
index and a mixture keep their checksums when a graph is added. It is named like the file of the vectors and holds the
SHA-256 of that file, so that it is never used for other vectors. ``docs/format.md`` has the bytes.

The library follows the links of a graph without checking them, so opening a graph checks its CRC-32 and all links.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import (
    IndexFormatError,
    IndexLockedError,
    MissingExtraError,
    MissingFileError,
    NewerFormatError,
    ParameterError,
    StorageError,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index.container import Container, ContainerWriter, storage_errors
from termwise.index.document_vectors import KIND as VECTORS
from termwise.index.document_vectors import SegmentVectors
from termwise.index.folder import is_current, make_build_folder, writer_lock
from termwise.index.graph_structure import check_graph
from termwise.index.reader import Index
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import remove, sync_folder
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import is_file
from termwise.vectors import LEVELS

KIND = "graph"

CONNECTIVITY = 16
"""Neighbours of a window in each layer of the graph; twice as many in the lowest one."""

EF_CONSTRUCTION = 128
"""Candidates among which a build chooses the neighbours of a window: ``ef_construction`` of HNSW."""

BATCH = 1 << 12
"""Windows per call of the library in a build."""

LENGTH_RATIO = 1.1
"""Largest ratio of the lengths of two vectors: a graph compares cosines, not products."""

LEAST_VERSION = (2, 26)
"""Oldest version of usearch that can be used."""

PIECE = 1 << 24
"""Bytes per piece when a graph is copied."""


@dataclass(frozen=True, eq=False)
class GraphFile:
    """File of the graph of a segment, whether or not it was built; `sha256` is that of the file of the vectors."""

    path: Path
    vectors: SegmentVectors
    sha256: str

    @property
    def exists(self) -> bool:
        """Whether the graph was built."""
        return is_file(self.path)

    def container(self) -> Container:
        """Open the file and check checksums, vectors and links, without usearch; raises `CorruptIndexError`."""
        container = Container(self.path, KIND)
        for name, _ in container.damaged_sections():
            raise container.damaged(name, f"a {name} that matches its checksum", "one that does not")
        digest = container.array("graph.vectors", "|u1", 32).tobytes().hex()
        if digest != self.sha256:
            expected = f"a graph of {self.vectors.path.name}"
            raise container.damaged("graph.vectors", expected, f"one of {digest[:16]}")
        try:
            check_graph(container.array("graph.usearch", "|u1"), self.vectors.rows.shape, CONNECTIVITY)
        except Misfit as misfit:
            raise container.damaged("graph.usearch", misfit.expected, misfit.seen) from None
        return container


def graph_files(index: Index) -> list[GraphFile]:
    """Return the graph file of each segment; an empty list for an index without vectors."""
    return [
        GraphFile(
            index.path / record.vectors.name.replace(VECTORS, KIND), segment.vectors, record.vectors.sha256
        )
        for record, segment in zip(index.manifest.segments, index.segments, strict=True)
        if record.vectors is not None and segment.vectors is not None
    ]


class VectorGraph:
    """Graph of the vectors of a segment, memory-mapped from its file.

    Parameters
    ----------
    file : GraphFile

    Raises
    ------
    MissingExtraError
        If usearch is not installed.
    MissingFileError
        If there is no graph.
    NotAnIndexError, NewerFormatError, CorruptIndexError
        If the file is of another kind, was written by a later version, is damaged, or is a graph of other vectors.
    """

    def __init__(self, file: GraphFile) -> None:
        library = _library()
        rebuild = [Fix.call("build_graph", str(file.path.parent))]
        if not file.exists:
            raise MissingFileError(
                "the index has no graph for approximate search",
                facts=[("index", file.path.parent), ("missing", file.path.name)],
                fixes=rebuild,
            )
        try:
            container = file.container()
            data = container.array("graph.usearch", "|u1")
            try:
                with _python_errors():
                    self._graph = library.Index.restore(data, view=True)
            except (RuntimeError, ValueError) as error:
                expected = "a graph that this version of usearch reads"
                raise container.damaged("graph.usearch", expected, error) from None
            self._data = data  # the graph is a view of it
        except (MissingFileError, IndexFormatError) as error:
            others = error.fixes if isinstance(error, NewerFormatError) else ()
            raise type(error)(error.message, facts=error.facts, fixes=[*others, *rebuild]) from None

    def nearest(self, vector: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
        """Return the approximate nearest windows of a vector by cosine.

        Parameters
        ----------
        vector : ndarray of shape (dimensions,), int64
            Not all 0. It is rounded to 8 bits.
        count : int
            Number of windows, and of the candidates that the search keeps (``ef`` of HNSW): with a larger number,
            fewer of the nearest windows are missing.

        Returns
        -------
        ndarray of shape (at most count,), int64
            Distinct windows of the segment, in the order of the rounded cosines.
        """
        rounded = np.rint(vector * (LEVELS / np.abs(vector).max())).astype(np.int8)
        with _python_errors():
            return np.asarray(self._graph.search(rounded, count, threads=1).keys).astype(np.int64)


def write_graphs(index: Index, *, progress: Progress = no_progress) -> list[Path]:
    """Build the graphs of all segments and replace existing ones.

    A build uses one thread, so that the same vectors give the same graph on machines of one kind.

    Parameters
    ----------
    index : Index
        Index with vectors.
    progress : callable, optional
        Called with a stage name, the number of windows in the graph, and their total.

    Returns
    -------
    list of Path
        The files; segments without windows have none.

    Raises
    ------
    MissingExtraError
        If usearch is not installed.
    ParameterError
        If the index has no vectors, or their lengths differ.
    IndexLockedError
        If another process writes the index, or has replaced it since it was opened.
    StorageError
        If the folder cannot be written.
    """
    if index.term_vectors is None:
        raise ParameterError(
            "a graph needs an index with vectors",
            facts=[("index", index.path)],
            fixes=[Fix.call("build_index", model="lookup")],
        )
    files = [file for file in graph_files(index) if len(file.vectors.rows)]
    library = _library()
    for file in files:
        _check_lengths(file)
        if file.path.is_dir():
            raise StorageError(
                "a folder has the name of the graph", facts=[("folder", file.path)], fixes=["remove it"]
            )
    with writer_lock(index.path), storage_errors(index.path):
        if not is_current(index.path, index.manifest):
            raise IndexLockedError(
                "the index was replaced while its graph was built",
                facts=[("index", index.path)],
                fixes=["run it again"],
            )
        build = make_build_folder(index.path)
        try:
            for file in files:
                _write(library, file, build, progress)
            sync_folder(index.path)
        finally:
            remove(build)
    return [file.path for file in files]


def _write(library: Any, file: GraphFile, folder: Path, progress: Progress) -> None:
    """Build the graph of a segment in a temporary folder and move it into place."""
    total, dimensions = file.vectors.rows.shape
    graph = library.Index(
        ndim=dimensions,
        metric=library.MetricKind.Cos,
        dtype=library.ScalarKind.I8,
        connectivity=CONNECTIVITY,
        expansion_add=EF_CONSTRUCTION,
    )
    for first in range(0, total, BATCH):
        rows = np.array(file.vectors.rows[first : first + BATCH])
        with _python_errors():
            graph.add(np.arange(first, first + len(rows), dtype=np.uint64), rows, threads=1)
        progress("graph", first + len(rows), total)
    saved, path = folder / "usearch", folder / KIND
    try:
        with _python_errors():
            graph.save(saved)
    except RuntimeError as error:
        raise StorageError(
            "the graph cannot be written",
            facts=[("folder", folder.parent), ("reason", error)],
            fixes=["free some space"],
        ) from None
    with ContainerWriter(path, KIND, 2) as writer:
        writer.write("graph.vectors", "|u1", [np.frombuffer(bytes.fromhex(file.sha256), dtype=np.uint8)])
        writer.write("graph.usearch", "|u1", _pieces(saved))
        writer.finish()
    saved.unlink()
    path.replace(file.path)


def _pieces(path: Path) -> Iterator[npt.NDArray[np.uint8]]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield np.frombuffer(piece, dtype=np.uint8)


def _check_lengths(file: GraphFile) -> None:
    """Raise `ParameterError` if vectors differ in length: the largest cosine is then not the largest product."""
    vectors, least, most = file.vectors, np.inf, 0.0
    for first in range(0, len(vectors.rows), BATCH):
        rows = vectors.rows[first : first + BATCH].astype(np.float32)
        lengths = np.sqrt((rows * rows).sum(axis=1)) * vectors.scales[first : first + BATCH]
        least, most = min(least, float(lengths.min())), max(most, float(lengths.max()))
    if not most <= LENGTH_RATIO * least:
        raise ParameterError(
            "a graph needs vectors of equal length",
            facts=[
                ("file", vectors.path),
                ("expected", "lengths near 1"),
                ("seen", f"{least:g} to {most:g}"),
            ],
            fixes=["search this index without a graph"],
        )


@contextmanager
def _python_errors() -> Iterator[None]:
    """Raise the errors of Python where the library raises others for an interruption and for a lack of memory."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if "terminated" in str(error):
            raise KeyboardInterrupt from None
        if "memory" in str(error):
            raise MemoryError(str(error)) from None
        raise


def _library() -> Any:
    try:
        import usearch.index
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("usearch"):
            raise MissingExtraError.of("usearch", "approximate", "a graph for approximate search") from None
        reason: object = error
    else:
        if tuple(map(int, usearch.__version__.split(".")[:2])) >= LEAST_VERSION:
            return usearch.index
        reason = f"version {usearch.__version__}, older than {'.'.join(map(str, LEAST_VERSION))}"
    raise MissingExtraError(
        "the package usearch is installed, but cannot be used",
        facts=[("package", "usearch"), ("reason", reason)],
        fixes=["pip install --upgrade usearch"],
    )
