"""Source of an export: an index or a mixture, read in batches of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.field_types import plain_type
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.reader import ImpactRows
from termwise.records import AttributeValue
from termwise.search import Searcher
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import MAX_WEIGHT, SMALLEST_SCALE
from termwise.search.opening import open_searcher
from termwise.search.parts import Part
from termwise.storage.file_record import json_fingerprint
from termwise.validation import is_finite_number
from termwise.vectors import DocumentVectors

BATCH = 2048
"""Number of rows in a batch."""

_NO_FIELD_CHARACTER = re.compile(r"[^a-z0-9_]+")


@final
@dataclass(frozen=True, eq=False)
class ExportPart:
    """One index of the source.

    Attributes
    ----------
    part : Part
    field : str
        Name of its field in the target: lower-case letters, digits and underscores, beginning with a letter.
    scale : float or None
        What its scores are divided by, so that those of the parts of a mixture can be added; None for a single index,
        whose scores stay as they are.
    """

    part: Part
    field: str
    scale: float | None

    @property
    def name(self) -> str:
        """Name of the part, or of the model."""
        return self.part.name

    @property
    def index(self) -> Index:
        """The open index."""
        return self.part.index

    @property
    def kind(self) -> Literal["sparse", "dense"]:
        """``sparse`` for weights of terms, ``dense`` for vectors."""
        return "sparse" if self.index.term_vectors is None else "dense"

    @property
    def is_exact_integer(self) -> bool:
        """Whether the weights are whole numbers; those of a float index are not."""
        return self.index.manifest.quantiser.kind != "float32"

    @property
    def has_bias(self) -> bool:
        """Whether documents have a bias that is multiplied by a weight of the query."""
        return self.index.manifest.background

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors; 0 without vectors."""
        vectors = self.index.manifest.vectors
        return 0 if vectors is None else vectors.dimensions

    @cached_property
    def largest_impact(self) -> int:
        """Upper bound of the impacts."""
        return 255 << self.index.segments.largest_shift

    @cached_property
    def tokens(self) -> list[str]:
        """Tokens of all terms, by their numbers."""
        vocabulary = self.index.vocabulary
        return vocabulary.tokens(np.arange(len(vocabulary), dtype=np.int64))

    def vocabulary_digest(self, terms: int) -> str:
        """Return a digest of the tokens of the first `terms` terms, which stay until the index is built anew."""
        return json_fingerprint(self.tokens[:terms])

    @property
    def units(self) -> str:
        """Units of the stored numbers."""
        quantiser, vectors = self.index.manifest.quantiser, self.index.manifest.vectors
        return repr((quantiser.scale, quantiser.bias_bits, vectors and vectors.scale))


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of the source: documents, or chunks of documents.

    Attributes
    ----------
    positions : ndarray of shape (n,), int64
        Positions that order documents with equal scores, ascending: those of the input, unless the export follows an
        earlier one, see `termwise.export.changes`.
    ids : list of str
        Identifiers of the rows: of documents, or of chunks as ``DOCUMENT#NUMBER``.
    doc_ids : list of str
        Identifiers of their documents.
    texts : list of str or None
        Stored texts; None if there are none.
    attributes : list of mapping of str to AttributeValue
        Attributes without missing values.
    rows : tuple of ImpactRows or DocumentVectors
        What each part stores.
    """

    positions: npt.NDArray[np.int64]
    ids: list[str]
    doc_ids: list[str]
    texts: list[str] | None
    attributes: list[dict[str, AttributeValue]]
    rows: tuple[ImpactRows | DocumentVectors, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)


@final
class ExportSource:
    """Documents of an index or of a mixture, for an export.

    Deleted documents are left out. Documents come in the order of the input, which is also that of documents with equal
    scores.

    Parameters
    ----------
    searcher : Searcher
        The opened index or mixture.
    scales : mapping of str to float, optional
        Scales of parts of a mixture by name, in place of those that it keeps; see `termwise.search.Part`.

    Attributes
    ----------
    searcher : Searcher
    parts : tuple of ExportPart
    schema : Schema
        Types of the attributes.

    Raises
    ------
    ParameterError
        If a part of a mixture has no scale, a scale is out of range, or there is no part of its name.
    """

    def __init__(self, searcher: Searcher, *, scales: Mapping[str, float] | None = None) -> None:
        self.searcher = searcher
        self.parts = _parts(searcher, scales or {})
        schema = searcher.backend.attribute_index.schema
        self.schema = Schema({name: plain_type(kind) for name, kind in schema.items()})

    @property
    def path(self) -> Path:
        """Folder of the index or mixture."""
        return self.searcher.backend.path or self.index.path

    @property
    def index(self) -> Index:
        """The index with identifiers and texts."""
        return self.searcher.index

    @property
    def is_mixture(self) -> bool:
        """Whether the scores of several parts are added."""
        return isinstance(self.searcher.backend, Mixture)

    @property
    def scales(self) -> dict[str, float]:
        """Scales of the parts of a mixture by name; empty for a single index."""
        return {part.name: part.scale for part in self.parts if part.scale is not None}

    @property
    def has_texts(self) -> bool:
        """Whether the texts are stored."""
        return self.index.stores_text

    @property
    def chunked(self) -> bool:
        """Whether rows are chunks of documents."""
        return bool(self.index.manifest.chunk)

    @property
    def generation(self) -> int:
        """Number of changes since the build."""
        return max(part.index.manifest.generation for part in self.parts)

    @property
    def identity(self) -> dict[str, object]:
        """What the exported data depend on, as JSON: the manifests of the parts, by name."""
        return {part.name: part.index.manifest.sha256 for part in self.parts}

    @property
    def units(self) -> list[str]:
        """Units of the numbers that the parts store."""
        return [part.units for part in self.parts]

    @property
    def origin(self) -> str:
        """Digest of what the data of an export depend on; an export keeps that of its first generation."""
        return json_fingerprint([self.identity, [part.scale for part in self.parts]]).removeprefix("sha256:")[
            :16
        ]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.index)

    def batches(self, first: int = 0, stop: int | None = None, *, size: int = BATCH) -> Iterator[Batch]:
        """Yield the rows from one position to another in batches."""
        for begin in range(first, len(self) if stop is None else stop, size):
            ordinals = np.arange(
                begin, min(begin + size, len(self) if stop is None else stop), dtype=np.int64
            )
            yield self.batch(ordinals, ordinals)

    def batch(self, ordinals: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> Batch:
        """Return rows by their places in the index, with the positions that they get in the target."""
        index = self.index
        ids = index.store.ids(ordinals)
        return Batch(
            positions,
            ids,
            index.doc_ids(ordinals) if self.chunked else ids,
            [text or "" for text in index.texts(ordinals)] if self.has_texts else None,
            self.searcher.backend.attribute_index.attributes(ordinals),
            tuple(
                part.index.impacts(ordinals)
                if part.kind == "sparse"
                else part.index.document_vectors(ordinals)
                for part in self.parts
            ),
        )


def exported_source(path: str | Path, description: Mapping[str, Any]) -> ExportSource:
    """Open an index with the scales of an export of it, whose ``export.json`` is given.

    Raises
    ------
    ParameterError
        If the export has other parts than the index.
    IndexFormatError, MissingFileError
        If the index cannot be read.
    """
    searcher = open_searcher(path)
    scales = {part["name"]: part["scale"] for part in description["parts"]}
    names = [part.name for part in searcher.parts]
    if names != list(scales):
        raise ParameterError(
            "the export was made from another index",
            facts=[
                ("index", path),
                ("parts of the index", ", ".join(names)),
                ("parts of the export", ", ".join(scales)),
            ],
            fixes=["give the index that was exported"],
        )
    return ExportSource(searcher, scales={name: scale for name, scale in scales.items() if scale is not None})


def _parts(searcher: Searcher, scales: Mapping[str, float]) -> tuple[ExportPart, ...]:
    parts = searcher.parts
    names = [part.name for part in parts]
    unknown = [name for name in scales if name not in names]
    is_mixture = isinstance(searcher.backend, Mixture)
    if unknown or (scales and not is_mixture):
        raise ParameterError(
            "scales are given for parts of a mixture, by their names",
            facts=[
                ("given", ", ".join(map(str, scales))),
                ("parts", ", ".join(names) if is_mixture else "none"),
            ],
            fixes=[Fix.omit("scales")],
        )
    for name, scale in scales.items():
        if not is_finite_number(scale) or not SMALLEST_SCALE <= scale <= MAX_WEIGHT:
            raise ParameterError(
                f"a scale is a number from {SMALLEST_SCALE:g} to {MAX_WEIGHT:g}",
                facts=[("part", name), ("scale", scale)],
            )
    if not is_mixture:
        return (ExportPart(parts[0], _fields(names)[0], None),)
    found = [scales.get(part.name, part.scale) for part in parts]
    missing = [name for name, scale in zip(names, found, strict=True) if scale is None]
    if missing:
        raise ParameterError(
            "the scores of a part have no scale, which other engines need to add them to those of other parts",
            facts=[("mixture", searcher.backend.path), ("parts without a scale", ", ".join(missing))],
            fixes=[
                "measure the scales on queries: give a file of typical queries",
                Fix.use(queries="FILE"),
            ],
        )
    fields = _fields(names)
    return tuple(map(ExportPart, parts, fields, found))


def _fields(names: Sequence[str]) -> list[str]:
    """Return distinct names of fields for names of parts."""
    fields: list[str] = []
    for name in names:
        field = _NO_FIELD_CHARACTER.sub("_", name.lower()).strip("_") or "terms"
        field = field if field[0].isalpha() else f"part_{field}"
        number = 1
        while (candidate := field if number == 1 else f"{field}_{number}") in (*fields, *RESERVED):
            number += 1
        fields.append(candidate)
    return fields


RESERVED = ("id", "doc_id", "position", "text")
"""Names of the other fields of a document in a target; attributes are in fields of their own, see each target."""
