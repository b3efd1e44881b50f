"""Verification of an index: checksums of all files, and consistency of their contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError
from termwise.fast_dataclass import dataclass
from termwise.index.container import Container, IndexFile
from termwise.index.manifest import Manifest
from termwise.index.reader import ATTEMPTS, Index
from termwise.index.segment import Segment
from termwise.index.terms import grown_vocabulary
from termwise.index.vector_graph import graph_files
from termwise.kernels.inversion import first_difference, first_unsorted
from termwise.progress import Progress, no_progress
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import open_regular
from termwise.validation import check_path
from termwise.vectors import LEVELS


@dataclass(frozen=True)
class Damage:
    """Damage of an index: the file, the offset in bytes or None, and a description."""

    file: str
    offset: int | None
    what: str


def verify(path: str | Path, *, progress: Progress = no_progress) -> list[Damage]:
    """Check the checksums of all files of an index, and the consistency of their contents.

    Parameters
    ----------
    path : str or Path
        Folder of the index.
    progress : callable, optional
        Called with a stage name, the number of bytes read, and the total.

    Returns
    -------
    list of Damage
        Empty if the index is undamaged.

    Raises
    ------
    DataError
        If the manifest is missing, foreign or damaged.
    """
    check_path("the index", path)
    folder = Path(path)
    for _ in range(ATTEMPTS):
        manifest = Manifest.read(folder)
        damages = damages_of(folder, manifest, progress)
        if not damages or Manifest.read(folder) == manifest:
            break  # otherwise a build has published the next generation meanwhile
    return damages


def damages_of(folder: Path, manifest: Manifest, progress: Progress) -> list[Damage]:
    """Return the damages of the files that a manifest names; see `verify`."""
    records = list({record.name: record for record in manifest.files()}.values())
    total = sum(record.length for record in records)
    done = 0
    damages: list[Damage] = []
    for record in records:
        damages.extend(_check_file(folder, record))
        done += record.length
        progress("read", done, total)
    if damages:
        return damages
    try:
        index = Index(folder, manifest)
        return [*_check_structure(index), *_check_graphs(index)]
    except DataError as error:
        return [_damage(error, folder.name)]


def _check_graphs(index: Index) -> Iterator[Damage]:
    """Check the checksums and links of the graphs, if there are any."""
    for graph in graph_files(index):
        if graph.exists:
            try:
                graph.container()
            except DataError as error:
                yield _damage(error, graph.path.name)


def _damage(error: DataError, name: str) -> Damage:
    """Turn an error into a damage; `name` is the file if the error names none."""
    facts = dict(error.facts)
    offset = facts.get("offset")
    expected, is_checksum, _ = str(facts.get("expected", "")).partition(" that matches its checksum")
    what = f"{error.message}: {expected} expected" if expected else error.message
    if is_checksum:
        what = f"the {expected.removeprefix('a ')} does not match its checksum"
    return Damage(Path(str(facts.get("file", name))).name, offset if isinstance(offset, int) else None, what)


def _check_file(folder: Path, record: IndexFile) -> list[Damage]:
    path = folder / record.name
    try:
        with open_regular(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
    except Misfit as misfit:
        return [Damage(record.name, None, f"{misfit.seen} instead of {misfit.expected}")]
    except OSError as error:
        return [Damage(record.name, None, error.strerror or "cannot be read")]
    if size != record.length:
        return [Damage(record.name, min(size, record.length), f"{size} bytes instead of {record.length}")]
    if digest == record.sha256:
        return []
    damages = []
    if path.suffix == ".tw":
        kind = record.name.split("-")[0]
        try:
            container = Container(path, "views" if kind == "segment" else kind, record.length)
        except DataError as error:
            damages.append(_damage(error, record.name))
        else:
            damages = [
                Damage(record.name, offset, f"section {name} does not match its checksum")
                for name, offset in container.damaged_sections()
            ]
    return damages or [Damage(record.name, None, "the file does not match its SHA-256")]


def _check_structure(index: Index) -> Iterator[Damage]:
    """Check the consistency of the contents, such as the equality of both views."""
    manifest = index.manifest
    index.vocabulary.check()
    index.store.check()
    for segment in index.segments:
        if segment.attributes is not None:
            segment.attributes.check()
    built = index.vocabulary.built().id
    if grown_vocabulary(built, manifest.added_terms) != manifest.vocabulary or len(
        set(index.vocabulary.load())
    ) != len(index.vocabulary):
        yield Damage(manifest.terms_file.name, None, "the terms are not those of the manifest")
    if not (np.isfinite(index.floors).all() and np.isfinite(index.query_weights).all()):
        yield Damage(manifest.terms_file.name, None, "a number is not finite")
    if index.term_vectors is not None and index.term_vectors.rows.min(initial=0) < -LEVELS:
        yield Damage(manifest.terms_file.name, None, f"a number of a term vector is below -{LEVELS}")
    for segment in index.segments:
        columns = segment.attributes
        if columns is not None and any(
            index.schema.get(name) != kind for name, kind in columns.schema.items()
        ):
            yield Damage(columns.path.name, None, "the attributes are not those of the manifest")
        what = _views_problem(segment, manifest.terms)
        if what is not None:
            yield Damage(segment.path.name, None, what)
        if segment.vectors is not None and (what := segment.vectors.problem()) is not None:
            yield Damage(segment.vectors.path.name, None, what)


def _views_problem(segment: Segment, n_terms: int) -> str | None:
    """Describe the first problem of the views of a segment of an index with some terms; None if there is none."""
    own, starts, inverted = segment.own_terms, segment.starts, segment.inverted
    if own is not None and len(own) and ((own[1:] <= own[:-1]).any() or int(own[-1]) >= n_terms):
        return "the terms of the segment are out of order"
    if not _boundaries(starts, segment.postings):
        return "row boundaries are out of order"
    row = first_unsorted(starts, segment.terms, segment.n_terms)
    if row >= 0:
        return f"the terms of row {row} are out of order"
    if segment.counts is not None and (what := segment.counts.problem(starts)) is not None:
        return what
    if inverted is None:
        weights = (segment.impacts, segment.bias)
        whole = all(np.isfinite(part).all() and (part >= 0).all() for part in weights)
        return None if whole else "a weight is negative or not finite"
    if segment.impacts.min(initial=1) < 1:
        return "an impact is 0"
    order = inverted.order
    if int(order.max()) >= segment.documents or (np.bincount(order, minlength=segment.documents) != 1).any():
        return "the document order is not a permutation"
    if not (
        _boundaries(inverted.term_postings, segment.postings)
        and _boundaries(inverted.term_entries, len(inverted.entry_block))
    ):
        return "term boundaries are out of order"
    term = first_difference(
        starts, segment.terms, segment.impacts, order, segment.block_bits,
        inverted.term_entries, inverted.term_postings,
        inverted.entry_block, inverted.entry_count, inverted.entry_max,
        inverted.posting_offset, inverted.posting_impact,
    )  # fmt: skip
    if term >= 0:
        return f"the two views differ in term {term}"
    if len(segment.bias):
        blocks = np.arange(0, segment.documents, 1 << segment.block_bits)
        if not (
            np.array_equal(inverted.bias, segment.bias[order])
            and np.array_equal(inverted.block_bias, np.maximum.reduceat(inverted.bias, blocks))
        ):
            return "the two views hold different document biases"
    return None


def _boundaries(bounds: npt.NDArray[np.unsignedinteger[Any]], length: int) -> bool:
    return bool(bounds[0] == 0 and bounds[-1] == length and (bounds[1:] >= bounds[:-1]).all())
