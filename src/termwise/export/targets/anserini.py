"""Anserini: JSON lines of ``JsonVectorCollection``, whose weights are whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, final
from urllib.parse import quote

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.json_weights import JsonWeights
from termwise.export.source import Batch, ExportPart, ExportSource
from termwise.export.target import Statement, pieces
from termwise.export.targets.file_forms import (
    integer_statements,
    no_changes,
    no_filters,
    refuse_all_but_impacts,
    scale_of,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress

_WHITE = re.compile(r"[\s%]")


@final
@dataclass(frozen=True)
class Anserini:
    """Target ``anserini``."""

    name: ClassVar[str] = "anserini"
    title: ClassVar[str] = "Anserini and Lucene"
    engine: ClassVar[str] = "anserini.py"
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = "anserini"

    def check(self, source: ExportSource) -> None:
        """Refuse vectors, mixtures and float weights."""
        refuse_all_but_impacts(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the pieces."""
        part = source.parts[0]
        renamed = _names(part)
        writer = JsonWeights(part, repr, [renamed.get(token, token) for token in part.tokens])
        for number, _, batches in pieces(source, progress):
            name = f"data/{number:05}.jsonl"
            if not folder.finished(name):
                with folder.piece(name) as file:
                    for batch in batches:
                        file.write(writer.lines(batch, bias_unit=1, without_text='"contents": "", ').encode())

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Raise an error: the index of Anserini is built as a whole."""
        raise no_changes(self.title)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the scale of the impacts, and the names of tokens with blanks, which Anserini would split."""
        part = source.parts[0]
        return {**scale_of(source), "names": _names(part)}

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        reason = "Lucene adds them in 32 bits; documents with equal scores are in the order of the index"
        return [
            *integer_statements(source),
            Statement("scores", True, reason),
            Statement("changes", False, "the index of Lucene is built as a whole: export it anew"),
        ]

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Raise an error: the form has no filters."""
        raise no_filters(self.title)


def _names(part: ExportPart) -> dict[str, str]:
    """Return the names of tokens that are not their own: blanks are escaped as in addresses."""
    return {
        token: _WHITE.sub(lambda found: quote(found[0]), token)
        for token in part.tokens
        if _WHITE.search(token)
    }
