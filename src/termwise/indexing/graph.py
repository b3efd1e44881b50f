"""Function that adds graphs for approximate search to an index or a mixture."""

from __future__ import annotations

from pathlib import Path

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.folder import writer_lock
from termwise.index.vector_graph import write_graphs
from termwise.progress import Progress, no_progress
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import finish_commit, is_mixture
from termwise.validation import check_path


def build_graph(path: str | Path, *, progress: Progress = no_progress) -> list[Path]:
    """Build the graphs for approximate search of an index with vectors, or of those parts of a mixture that have them.

    The index itself does not change. A graph holds a copy of the vectors; ``termwise inspect`` shows its size. A new
    build of the index removes it. Existing graphs are replaced.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.
    progress : callable, optional
        Called with a stage name, the number of windows in the graph, and their total.

    Returns
    -------
    list of Path
        Files of the graphs.

    Raises
    ------
    MissingExtraError
        If the extra ``approximate`` is not installed.
    ParameterError
        If there are no vectors, or their lengths differ.
    IndexLockedError, StorageError, DataError
        If another process writes the index, or a folder cannot be written or opened.
    """
    check_path("the index", path)
    if not is_mixture(path):
        index = Index.open(path)
        if _has_term_form(index):
            raise ParameterError(
                "a graph needs an index with vectors",
                facts=[
                    ("index", path),
                    ("form", "terms: the index stores term weights, which need no graph"),
                ],
                fixes=["search it as it is", Fix.call("build_index", model="lookup")],
            )
        return write_graphs(index, progress=progress)
    with writer_lock(Path(path)):
        finish_commit(Path(path))
        return _build_graphs_of_parts(Mixture.open(Path(path)), progress)


def _build_graphs_of_parts(mixture: Mixture, progress: Progress) -> list[Path]:
    searched = [part.index for part in mixture.parts if part.retrieves]
    with_vectors = [index for index in searched if index.term_vectors is not None]
    if not with_vectors:
        parts = [
            f"{part.name} (form terms)" if _has_term_form(part.index) else part.name for part in mixture.parts
        ]
        raise ParameterError(
            "a graph needs an index with vectors, and no part of the mixture finds candidates by them",
            facts=[("mixture", mixture.path), ("parts", ", ".join(parts))],
            fixes=[Fix.call("build_index", model="best")],
        )
    return [file for index in with_vectors for file in write_graphs(index, progress=progress)]


def _has_term_form(index: Index) -> bool:
    """Return whether an index stores term weights that were computed from vectors."""
    parameters = index.manifest.encoder.model.parameters
    return index.term_vectors is None and parameters.get("form") == "terms"
