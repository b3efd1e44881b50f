"""JSON lines of term weights, as SPLADE, Seismic and the model ``vectors`` of termwise read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, Literal, final

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.json_weights import JsonWeights
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement, pieces, refuse_several, refuse_vectors
from termwise.export.targets.file_forms import no_filters, scale_of
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.settings import TypedSettings
from termwise.text.vocabulary import BACKGROUND


@final
@dataclass(frozen=True, kw_only=True)
class Jsonl(TypedSettings):
    """Target ``jsonl``: ``{"id": ..., "contents": ..., "vector": {token: weight}}`` in each line."""

    weights: Literal["real", "impacts"] = "real"
    compress: bool = False

    called: ClassVar[str] = "setting of the target jsonl"
    meanings: ClassVar[Mapping[str, str]] = {
        "weights": "real weights, or the whole numbers that the index stores",
        "compress": "whether the files are compressed with gzip",
    }
    name: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON lines of term weights"
    engine: ClassVar[str] = ""
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check(self, source: ExportSource) -> None:
        """Refuse vectors and mixtures."""
        refuse_several(self.title, source)
        refuse_vectors(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the pieces."""
        writer = self._writer(source)
        for number, _, batches in pieces(source, progress):
            name = f"data/{number:05}.jsonl{'.gz' if self.compress else ''}"
            if folder.finished(name):
                continue
            with folder.piece(name) as file:
                self._write(batches, writer, source, file)

    def _writer(self, source: ExportSource) -> JsonWeights:
        scale = source.parts[0].index.manifest.quantiser.scale
        real = self.weights == "real"
        return JsonWeights(source.parts[0], lambda impact: f"{impact * scale:.9g}" if real else repr(impact))

    def _write(
        self, batches: Iterator[Batch], writer: JsonWeights, source: ExportSource, file: BinaryIO
    ) -> None:
        quantiser = source.parts[0].index.manifest.quantiser
        unit = quantiser.scale / 2**quantiser.bias_bits if self.weights == "real" else 1
        for batch in batches:
            file.write(writer.lines(batch, bias_unit=unit, without_text="").encode())

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Write changed rows in the form of the pieces, and the deleted identifiers as JSON strings."""
        with folder.piece(f"{at}/changed.jsonl{'.gz' if self.compress else ''}") as file:
            self._write(rows, self._writer(source), source, file)
        folder.write(f"{at}/deleted.jsonl", "".join(f"{json.dumps(each)}\n" for each in deleted))

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the scale of the impacts."""
        return scale_of(source)

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        reason = (
            "weights are impacts times the scale of the index, with nine digits"
            if self.weights == "real"
            else "weights are the whole numbers that the index stores"
        )
        lines = [
            Statement("weights", True, reason),
            Statement("scores", True, self._score(source)),
            Statement(
                "changes",
                True,
                "from changes/A-B, in their order: remove the documents in deleted.jsonl, and those with the id of a "
                "line of changed.jsonl, then add these lines",
            ),
        ]
        if source.parts[0].has_bias:
            lines.append(Statement("document bias", True, f"it is the weight of the token {BACKGROUND}"))
        if source.schema:
            lines.append(Statement("attributes", False, "the form has none"))
        return lines

    def _score(self, source: ExportSource) -> str:
        """Return how the score of a document is computed from its line and the query of the kit."""
        quantiser = source.parts[0].index.manifest.quantiser
        real = self.weights == "real"
        share = f"coefficient / {quantiser.scale!r}" if real else "coefficient"
        bias = ""
        if source.parts[0].has_bias:
            factor = f"{2**quantiser.bias_bits} x " if real else ""
            bias = f" + {factor}background x vector[{BACKGROUND}]"
        divided = "; vector has impacts times this number, which coefficient has, too" if real else ""
        return (
            f"constant + {share} x (sum of terms[token] x vector[token]{bias}), with the only part of a query of "
            f"query_kit{divided}"
        )

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Raise an error: the form has no filters."""
        raise no_filters(self.title)
