"""Interface of the targets of an export, and what they share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from termwise.attributes import Schema
from termwise.errors import ParameterError
from termwise.export.folder import ExportFolder
from termwise.export.source import Batch, ExportPart, ExportSource
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.fixes import Fix
from termwise.progress import Progress

PIECE = 20_000
"""Rows of one piece of data, which an interrupted export keeps or writes again as a whole."""

STAGE = "export"

_NO_FIELD_CHARACTER = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True)
class Statement:
    """Statement of the README of an export on one kind of data.

    Attributes
    ----------
    what : str
        The data, such as ``weights of bm25``.
    exact : bool or None
        Whether the target keeps them without loss; None if this was not tested, see `untested`.
    reason : str
        Why, in one sentence.
    """

    what: str
    exact: bool | None
    reason: str


class Target(Protocol):
    """One form that an index is exported to; each is a frozen class with its settings as fields.

    Attributes
    ----------
    name : str
        Name in ``--to``.
    title : str
        Name of the engine or format for people.
    engine : str
        Name of the file in ``export/scripts`` that loads the data into the engine and searches there; empty if the
        target is a file format.
    helpers : tuple of str
        Other files there that it imports.
    extra : str
        Extra of termwise with the library that this file needs; empty for none.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    engine: ClassVar[str]
    helpers: ClassVar[tuple[str, ...]]
    extra: ClassVar[str]

    def check(self, source: ExportSource) -> None:
        """Raise `ParameterError` if the target cannot hold what the source has."""

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write schema, data and query templates."""

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write what changed into the folder `at` of the export: rows that are new or different, and deleted ones."""

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return what the engine file needs to know, as JSON."""

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact and what is not."""

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Return a filter in the form of the target; raise `ParameterError` if it has none."""


class TextSearch(Protocol):
    """Search of a published folder, which encodes queries itself."""

    def search(self, text: str, k: int) -> list[tuple[str, float]]:
        """Return identifiers and scores of the best documents."""


@runtime_checkable
class Publisher(Protocol):
    """Target that writes a folder of its own form, in place of `Target.write`."""

    def publish(self, source: ExportSource, out: Path, progress: Progress) -> dict[str, Any]:
        """Write the folder, or replace what an earlier call wrote; return what was written."""

    def opened(self, source: ExportSource, folder: Path) -> AbstractContextManager[TextSearch]:
        """Search the folder that was written; raise `EngineError` if it cannot be searched."""


def pieces(
    source: ExportSource, progress: Progress, *, size: int = PIECE
) -> Iterator[tuple[int, int, Iterator[Batch]]]:
    """Yield the number of each piece, its rows, and its batches; report progress.

    A caller that skips a piece does not read its batches.
    """
    total = len(source)
    progress(STAGE, 0, total)
    for number, first in enumerate(range(0, total, size)):
        stop = min(first + size, total)

        def batches(first: int = first, stop: int = stop) -> Iterator[Batch]:
            done = first
            for batch in source.batches(first, stop):
                yield batch
                done += len(batch)
                progress(STAGE, done, total)

        yield number, stop - first, batches()
        progress(STAGE, stop, total)


def json_line(value: Any) -> str:
    """Return a value as one line of compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def float_weights(source: ExportSource) -> Statement:
    """Return the statement on weights of an engine that stores and adds floats of 32 bits."""
    if all(part.is_exact_integer for part in sparse_parts(source)):
        reason = (
            "impacts are whole numbers below 2^24, which floats of 32 bits keep; a sum is exact below 2^24, and "
            "beyond that rounded to 24 bits"
        )
        return Statement("weights", True, reason)
    return Statement("weights", False, "the weights of a float index are rounded to 24 bits")


def untested(engine: str, checked: str) -> Statement:
    """Return the statement on a target that was not run against a server; `checked` says what was done instead.

    Examples
    --------
    >>> untested("Vespa", "its files follow the documentation")
    Statement(what='server', exact=None, reason='not run against a server of Vespa; its files follow the documentation')
    """
    return Statement("server", None, f"not run against a server of {engine}; {checked}")


def refuse_vectors(target: str, source: ExportSource) -> None:
    """Raise `ParameterError` for a source with vectors, for a target that has sparse weights only."""
    dense = [part.name for part in source.parts if part.kind == "dense"]
    if dense:
        raise ParameterError(
            f"{target} has no vectors, and the index has",
            facts=[("index", source.path), ("parts with vectors", ", ".join(dense))],
            fixes=[
                Fix.build("build an index of term weights: {}", model="bm25"),
                *(
                    f"export the part {part.name}: its folder is {part.index.path}"
                    for part in sparse_parts(source)
                ),
                "choose a target with vectors, such as opensearch, qdrant, postgresql or duckdb",
            ],
        )


def refuse_several(target: str, source: ExportSource) -> None:
    """Raise `ParameterError` for a mixture, for a target whose files hold the weights of one index."""
    if len(source.parts) > 1:
        raise ParameterError(
            f"{target} holds the weights of one index, and a mixture has several",
            facts=[("mixture", source.path), ("parts", ", ".join(part.name for part in source.parts))],
            fixes=[f"export the part {part.name}: its folder is {part.index.path}" for part in source.parts],
        )


def refuse_float(target: str, source: ExportSource) -> None:
    """Raise `ParameterError` for a float index, for a target with whole numbers."""
    real = [part.name for part in source.parts if part.kind == "sparse" and not part.is_exact_integer]
    if real:
        raise ParameterError(
            f"{target} has whole numbers as weights, and the weights of this index are not rounded",
            facts=[("index", source.path), ("parts", ", ".join(real))],
            fixes=["build the index without float weights: its impacts are whole numbers from 1 to 255"],
        )


def refuse_negative_weights(target: str, source: ExportSource) -> None:
    """Raise `ParameterError` for a negative weight in a mixture, if the target adds positive scores only."""
    negative = [part.name for part in source.parts if part.part.weight < 0]
    if negative:
        raise ParameterError(
            f"{target} ranks by the largest scores of each part, and a negative weight asks for the smallest ones",
            facts=[("mixture", source.path), ("parts with negative weights", ", ".join(negative))],
            fixes=["choose a target that adds up in SQL, such as postgresql or duckdb"],
        )


def attribute_fields(schema: Schema) -> dict[str, str]:
    """Return a name for the field of each attribute: letters, digits and underscores.

    Examples
    --------
    >>> attribute_fields(Schema({"year": "integer", "list.price": "float", "list price": "float"}))
    {'list price': 'attribute_list_price', 'list.price': 'attribute_list_price_2', 'year': 'attribute_year'}
    """
    fields: dict[str, str] = {}
    for name in schema:
        field = "attribute_" + _NO_FIELD_CHARACTER.sub("_", name)[:200]
        number = 1
        while (candidate := field if number == 1 else f"{field}_{number}") in fields.values():
            number += 1
        fields[name] = candidate
    return fields


def sparse_parts(source: ExportSource) -> list[ExportPart]:
    """Return the parts with weights of terms."""
    return [part for part in source.parts if part.kind == "sparse"]


def dense_parts(source: ExportSource) -> list[ExportPart]:
    """Return the parts with vectors."""
    return [part for part in source.parts if part.kind == "dense"]
