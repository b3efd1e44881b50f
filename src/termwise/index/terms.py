"""Terms of an open index: vocabulary, floors, query weights and query table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.errors import WeightError
from termwise.index.container import Container, corrupt
from termwise.index.manifest import Manifest
from termwise.index.open_files import OpenFiles
from termwise.index.string_table import StringTable
from termwise.index.vocabulary import MappedVocabulary
from termwise.vectors import TermVectors


@dataclass(frozen=True, eq=False)
class Terms:
    """Per-term contents of an index; see `Index` for the attributes."""

    vocabulary: MappedVocabulary
    floors: npt.NDArray[np.float64]
    query_weights: npt.NDArray[np.float32]
    vectors: TermVectors | None

    @classmethod
    def open(cls, files: OpenFiles, manifest: Manifest) -> Terms:
        """Map the files of the terms of the build, and of those that were added later."""
        terms = files.container(manifest.terms_file, "terms")
        added = []
        for record in manifest.added_terms:
            container = files.container(record.file, "added")
            added.append((container, container.array("added.floors", "<f8", record.terms)))
        vocabulary = MappedVocabulary(
            [
                StringTable(terms, "terms", manifest.built_terms),
                *(StringTable(file, "terms", len(floors)) for file, floors in added),
            ],
            background=manifest.background,
            identity=manifest.vocabulary,
        )
        slots = manifest.built_terms + manifest.background
        floors = terms.array("floors", "<f8", slots if len(terms.array("floors", "<f8")) else 0)
        if added and len(floors):
            built = floors[: manifest.built_terms]
            floors = np.concatenate([built, *(part for _, part in added), floors[len(built) :]])
        weights = terms.array("query_weights", "<f4")
        weights = terms.array("query_weights", "<f4", manifest.built_terms if len(weights) else 0)
        if added and len(weights):  # added terms have no fixed query weight
            weights = np.pad(weights, (0, manifest.terms - len(weights)))
        return cls(vocabulary, floors, weights, _vectors(terms, manifest))


def _vectors(terms: Container, manifest: Manifest) -> TermVectors | None:
    record, count = manifest.vectors, manifest.built_terms
    if record is None:
        return None
    rows = terms.array("term_vectors.rows", "i1", count * record.dimensions)
    shifts = terms.array("term_vectors.shifts", "u1", count)
    try:
        return TermVectors(rows.reshape(count, record.dimensions), shifts, record.scale, manifest.vocabulary)
    except WeightError as error:
        seen = f"{int(shifts.max(initial=0))}"
        raise corrupt(terms.path, terms.offset("term_vectors.shifts"), error.facts[0][1], seen) from None
