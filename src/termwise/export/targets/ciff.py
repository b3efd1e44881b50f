"""Common Index File Format: one file of Protocol Buffers with postings by term, read by PISA, JASS, BMP and others.

The file has a header, one list of postings for each term in the order of the UTF-8 bytes, and one record for each
document. Each message begins with its length as a varint. Document numbers in a list are differences. The frequency of
a term is its impact.

References
----------
.. [1] J. Lin et al., "Supporting Interoperability Between Open-Source Search Engines with the Common Index File
   Format", SIGIR 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, ClassVar, final

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.export.folder import ExportFolder
from termwise.export.postings import postings_by_term
from termwise.export.source import Batch, ExportSource
from termwise.export.target import Statement
from termwise.export.targets.file_forms import (
    RowSums,
    byte_order,
    integer_statements,
    no_changes,
    no_filters,
    refuse_all_but_impacts,
    scale_of,
)
from termwise.fast_dataclass import dataclass
from termwise.filters import Filter
from termwise.progress import Progress
from termwise.settings import TypedSettings
from termwise.text.vocabulary import BACKGROUND

_WHOLE_MESSAGE = 2
"""Wire type of strings and messages."""


@final
@dataclass(frozen=True, kw_only=True)
class Ciff(TypedSettings):
    """Target ``ciff``; `meanings` describes its settings."""

    compress: bool = False

    called: ClassVar[str] = "setting of the target ciff"
    meanings: ClassVar[Mapping[str, str]] = {
        "compress": "whether the file is compressed with gzip",
    }
    name: ClassVar[str] = "ciff"
    title: ClassVar[str] = "Common Index File Format"
    engine: ClassVar[str] = ""
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check(self, source: ExportSource) -> None:
        """Refuse vectors, mixtures and float weights."""
        refuse_all_but_impacts(self.title, source)

    def write(self, source: ExportSource, folder: ExportFolder, progress: Progress) -> None:
        """Write the file."""
        name = "data/index.ciff.gz" if self.compress else "data/index.ciff"
        if folder.finished(name):
            return
        with folder.piece(name) as file:
            _write(source, file, progress)

    def write_changes(
        self,
        rows: Iterator[Batch],
        deleted: Sequence[str],
        source: ExportSource,
        folder: ExportFolder,
        at: str,
    ) -> None:
        """Raise an error: the file is written as a whole."""
        raise no_changes(self.title)

    def describe(self, source: ExportSource) -> dict[str, Any]:
        """Return the scale of the impacts."""
        return scale_of(source)

    def statements(self, source: ExportSource) -> list[Statement]:
        """Return what is exact."""
        return integer_statements(source)

    def filter(self, filter: Filter, schema: Schema) -> Any:
        """Raise an error: the form has no filters."""
        raise no_filters(self.title)


def _write(source: ExportSource, file: BinaryIO, progress: Progress) -> None:
    (part,) = source.parts
    index = part.index
    ranks, order = byte_order(source)
    frequencies = index.document_frequencies
    of_rows = RowSums.for_rows(len(source))
    for batch in source.batches():
        of_rows.add(batch)
    biases = of_rows.biases
    lengths = of_rows.impacts + biases
    biased = np.flatnonzero(biases)
    lists = int((frequencies > 0).sum()) + bool(len(biased))
    mean = float(lengths.mean()) if len(lengths) else 0.0
    description = f"{source.path.name}, generation {source.generation}, impacts of termwise".encode()
    file.write(
        _message(
            b"".join(
                [
                    *(
                        _field(number, value)
                        for number, value in ((1, 1), (2, lists), (3, len(source)), (4, lists))
                    ),
                    _field(5, len(source)),
                    _field(6, int(lengths.sum())),
                    b"\x39" + np.array(mean, dtype="<f8").tobytes(),
                    _text(8, description),
                ]
            )
        )
    )

    def bias_list() -> bytes:
        gaps = np.diff(biased, prepend=0)
        return _postings(BACKGROUND, len(biased), int(biases.sum()), _encoded(gaps, biases[biased])[0])

    before = BACKGROUND if len(biased) else None
    for postings in postings_by_term(part, ranks=ranks, progress=progress):
        starts = np.flatnonzero(np.diff(postings.terms, prepend=-1))
        gaps = np.diff(postings.positions, prepend=0).astype(np.int64)
        gaps[starts] = postings.positions[starts]
        impacts = postings.impacts.astype(np.int64)
        data, ends = _encoded(gaps, impacts)
        stops = np.append(starts[1:], len(gaps))
        sums = np.concatenate([[0], np.cumsum(impacts)])
        places = np.concatenate([[0], ends])
        for start, stop, rank in zip(
            starts.tolist(), stops.tolist(), postings.terms[starts].tolist(), strict=True
        ):
            token = part.tokens[order[rank]]
            if before is not None and before < token:
                file.write(bias_list())
                before = None
            pairs = data[int(places[start]) : int(places[stop])]
            file.write(_postings(token, stop - start, int(sums[stop] - sums[start]), pairs))
    if before is not None:
        file.write(bias_list())
    for batch in source.batches():
        file.write(
            b"".join(
                _message(_field(1, position) + _text(2, doc_id.encode()) + _field(3, length))
                for position, doc_id, length in zip(
                    batch.positions.tolist(), batch.ids, lengths[batch.positions].tolist(), strict=True
                )
            )
        )


def _postings(token: str, documents: int, total: int, pairs: bytes) -> bytes:
    """Return a list of postings."""
    return _message(_text(1, token.encode()) + _field(2, documents) + _field(3, total) + pairs)


def _encoded(
    gaps: npt.NDArray[np.int64], impacts: npt.NDArray[np.int64]
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Return the postings as fields of their list, and the end of each in these bytes.

    A posting is a message with the difference of the document numbers and the impact: field 4 of the list.
    """
    first, second = _varint_lengths(gaps), _varint_lengths(impacts)
    sizes = 4 + first + second
    ends = np.cumsum(sizes)
    out = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    at = ends - sizes
    out[at], out[at + 1], out[at + 2] = 0x22, 2 + first + second, 0x08
    _put_varints(out, at + 3, gaps, first)
    at = at + 3 + first
    out[at] = 0x10
    _put_varints(out, at + 1, impacts, second)
    return out.tobytes(), ends


def _varint_lengths(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    lengths = np.ones(len(values), dtype=np.int64)
    for bits in range(7, 63, 7):
        more = values >= 1 << bits
        if not more.any():
            break
        lengths += more
    return lengths


def _put_varints(
    out: npt.NDArray[np.uint8],
    at: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> None:
    for place in range(int(lengths.max(initial=0))):
        chosen = lengths > place
        rest = values[chosen] >> (7 * place)
        more = lengths[chosen] > place + 1
        out[at[chosen] + place] = (rest & 0x7F) | (more << 7)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _field(number: int, value: int) -> bytes:
    """Return a field with a whole number."""
    return _varint(number << 3) + _varint(value)


def _text(number: int, data: bytes) -> bytes:
    """Return a field with bytes."""
    return _varint(number << 3 | _WHOLE_MESSAGE) + _varint(len(data)) + data


def _message(data: bytes) -> bytes:
    """Return a message after its length."""
    return _varint(len(data)) + data
