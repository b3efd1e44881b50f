"""Mixture of existing indexes: a folder that ranks with all of them.

`fuse_indexes` adds indexes term by term, which needs the same analyzer, the same query weights and a normalisation
that is the same for all queries. A mixture adds normalised scores at search time and needs none of these. The
documents have to be the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from termwise.engine.feedback import Feedback
from termwise.errors import ParameterError
from termwise.fusion.indexes import check_folders, check_indexes
from termwise.fusion.interpolation import checked_weights
from termwise.index import Index, Manifest
from termwise.index.container import storage_errors
from termwise.index.folder import publish
from termwise.indexing.mixture_writer import MixtureWriter, copy_index, link_or_copy
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import DEPTH, MixtureManifest, check_only_scoring, is_mixture
from termwise.search.parts import Part
from termwise.search.searcher import Searcher
from termwise.search.single_index import SingleIndex
from termwise.validation import check, check_flag, check_names, check_path


def mix_indexes(
    indexes: Sequence[str | Path | Index],
    weights: Sequence[float],
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    depth: int = DEPTH,
    feedback: Feedback | None = None,
    only_scoring: Collection[str] = (),
    scales: Mapping[str, float | None] = MappingProxyType({}),
    overwrite: bool = False,
) -> Searcher:
    """Write a mixture of existing indexes, whose normalised scores are added at search time.

    Parameters
    ----------
    indexes : sequence of str, Path or Index
        Two or more different indexes with the same documents in the same order. On the same disk, the mixture shares
        their files; otherwise they are copied.
    weights : sequence of float
        One per index, for z-scores. An index with the weight 0 is left out; if only such an index stores the texts, the
        first part takes them. A negative weight reverses the scores.
    path : str or Path
        Folder of the mixture.
    names : sequence of str, optional
        Distinct names of the parts; by default those of the folders, without ``.tw``.
    depth : int, optional
        Number of results that each part contributes to the candidates.
    feedback, only_scoring : optional
        See `Searcher.mix`.
    scales : mapping of str to float or None, optional
        Typical deviations of the scores of parts by name, for exports; see `termwise.search.Part`.
    overwrite : bool, optional
        Replace an existing mixture.

    Returns
    -------
    Searcher
        The mixture, opened.

    Raises
    ------
    ParameterError
        If an argument is out of range, an index is given twice, or the documents differ.
    IndexExistsError, ForeignFolderError, IndexLockedError
        If the folder cannot be used.
    TermwiseError
        Errors of opening the indexes; an existing mixture is left unchanged.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "merge sorted lists"), termwise.Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = [f"{folder}/bm25.tw", f"{folder}/jm.tw"]
    ...     for part in parts:
    ...         _ = termwise.build_index(documents, part, model=part[len(folder) + 1 : -3])
    ...     mixture = mix_indexes(parts, [0.3, 0.7], f"{folder}/mixture.tw")
    ...     [part.name for part in mixture.parts], mixture.rank("merging", k=1).doc_ids
    (['bm25', 'jm'], ('a',))
    """
    check_indexes(indexes)
    check_path("path", path)
    check_flag("overwrite", overwrite)
    for folder in indexes:
        if not isinstance(folder, Index) and is_mixture(folder):
            parts = [str(Path(folder) / part.folder) for part in MixtureManifest.read(Path(folder)).parts]
            raise ParameterError(
                "a mixture cannot be a part of another one, but its parts can",
                facts=[("mixture", folder), ("parts", ", ".join(parts))],
                fixes=["give the indexes of its parts, with a weight for each"],
            )
    opened = [index if isinstance(index, Index) else Index.open(index) for index in indexes]
    check_folders([index.path for index in opened], Path(path))
    shares = checked_weights(weights, len(opened))
    if names is None:
        names = distinct_names([stem(index.path) for index in opened])
    check_names("names", names)
    check("names", names, len(names) == len(opened), "one name for each index")
    chosen = [each for each in zip(names, opened, shares, strict=True) if each[2] != 0]
    # Before anything is copied, the constructor checks names, weights, depth and documents.
    check_only_scoring(only_scoring, names)
    mixed = [
        Part(name, SingleIndex(index), share, name not in only_scoring, scales.get(name))
        for name, index, share in chosen
    ]
    Mixture(mixed, depth=depth, feedback=feedback)
    texts = _texts_of_left_out([index for _, index, _ in chosen], opened)
    with MixtureWriter(Path(path), overwrite=overwrite) as writer:
        for number, (name, index, _) in enumerate(chosen):
            folder = writer.part(name)
            copy_index(index, folder)
            if texts is not None and number == 0:
                _add_texts(folder, index.manifest, texts)
        return writer.commit(
            [part.name for part in mixed],
            [part.weight for part in mixed],
            depth,
            feedback=feedback,
            only_scoring=only_scoring,
            scales={part.name: part.scale for part in mixed},
        )


def _texts_of_left_out(chosen: Sequence[Index], indexes: Sequence[Index]) -> Index | None:
    """Return an index whose texts the first of the chosen ones can take, if none of them stores texts."""
    if any(index.stores_text for index in chosen):
        return None
    for index in indexes:
        segments = zip(index.manifest.segments, chosen[0].manifest.segments, strict=False)
        same = all(one.ids.sha256 == other.ids.sha256 for one, other in segments)
        if index.stores_text and same and len(index.segments) == len(chosen[0].segments):
            return index
    return None


def _add_texts(folder: Path, manifest: Manifest, source: Index) -> None:
    """Copy the stored texts of an index to another index whose segments have the same documents."""
    segments = []
    with storage_errors(folder):
        for segment, other in zip(manifest.segments, source.manifest.segments, strict=True):
            if other.texts is not None:
                link_or_copy(source.path / other.texts.name, folder / other.texts.name)
            segments.append(replace(segment, texts=other.texts))
    publish(folder, replace(manifest, segments=tuple(segments)))


def stem(folder: Path) -> str:
    """Return the name of the folder of an index, without ``.tw``."""
    return folder.resolve().name.removesuffix(".tw") or "part"


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names; one that occurs again gets a number.

    Examples
    --------
    >>> distinct_names(["docs", "docs"])
    ['docs', 'docs-2']
    """
    distinct: list[str] = []
    for each in names:
        number, name = 1, each
        while name in distinct:
            number += 1
            name = f"{each}-{number}"
        distinct.append(name)
    return distinct
