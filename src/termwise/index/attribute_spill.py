"""Attributes of the documents of a build: a temporary file of rows, and the writer of their columns."""

from __future__ import annotations

import heapq
import marshal
import struct
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes.dates import iso
from termwise.attributes.field_types import (
    FIELD_TYPES,
    FOLDED_TYPES,
    LIST_TYPES,
    TEXT_TYPES,
    FieldType,
    Stored,
    folded_keyword,
)
from termwise.attributes.schema import Schema, SchemaInference
from termwise.index.attribute_columns import COLUMN_SECTIONS, KIND, MISSING
from termwise.index.container import ContainerWriter, IndexFile, discard, storage_errors
from termwise.index.spill import ArraySpill
from termwise.index.string_table import SECTIONS as STRING_SECTIONS
from termwise.index.string_table import write_strings
from termwise.records import Attributes, AttributeValue

DEFAULT_MEMORY = 1 << 28
"""Bytes of strings to hold before they are sorted and written to a temporary file."""

_ENTRY = struct.Struct("<II")  # bytes of a string, and its number in the run

_BUFFERED = 1 << 16
_PER_STRING = 120  # bytes of a string and its entry in a dictionary, without its characters


Spellings = dict[str, dict[str, str]]
"""Spelling of each value of an attribute by `folded_keyword`, by the name of the attribute."""


class AttributeSpill:
    """Temporary file for the attributes of a build; 8 bytes per document are in memory.

    Columns are prepared beside it. Only the fields of a `Schema` are kept; with a `SchemaInference`, and by default,
    all are kept, and their types inferred. `memory` is the number of bytes of strings to hold while columns are
    written. `spellings` has the spellings of the values that the index has, by attribute of the `FOLDED_TYPES` and
    `folded_keyword`; `write` adds those of other values, the most frequent ones of the documents.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema | SchemaInference | None = None,
        *,
        memory: int = DEFAULT_MEMORY,
        spellings: Spellings | None = None,
    ) -> None:
        self._path = path
        self._given = schema if isinstance(schema, Schema) else None
        self._inference = schema if isinstance(schema, SchemaInference) else SchemaInference()
        self._memory = memory
        self._lengths = array("Q")
        self._spellings: Spellings = {} if spellings is None else spellings
        self._folded = Schema({name: kind for name, kind in self.schema.items() if kind in FOLDED_TYPES})
        self._counts = {name: Counter[str]() for name in self._folded}
        with storage_errors(path):
            self._file = path.open("w+b")

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def schema(self) -> Schema:
        """The given schema, or the types inferred so far."""
        return self._inference.schema() if self._given is None else self._given

    def add(self, doc_id: str, attributes: Mapping[str, AttributeValue]) -> None:
        """Append the attributes of the next document; `doc_id` is for errors, which are those of `Schema`."""
        if self._given is not None:
            row: Any = self._given.stored(attributes, record=repr(doc_id))
        else:
            self._inference.add(attributes, record=repr(doc_id))
            untyped = isinstance(attributes, Attributes) and attributes.untyped
            row = ({name: _plain(value) for name, value in attributes.items()}, untyped)
        for name, value in self._folded.stored(attributes).items() if self._folded else ():
            self._counts[name].update(_strings(value))
        data = marshal.dumps(row)
        with storage_errors(self._path):
            self._file.write(data)
        self._lengths.append(len(data))

    def write(self, path: Path, first: int, last: int) -> IndexFile:
        """Write the container with the columns of the documents ``first:last``."""
        schema = self.schema
        for name, counts in self._counts.items():
            known = self._spellings.setdefault(name, {})
            for string, _ in counts.most_common():
                known.setdefault(folded_keyword(string), string)
        with ExitStack() as resources:
            columns = {
                name: _column(kind, resources, path.with_name(f"{path.name}.{number}"))
                for number, (name, kind) in enumerate(schema.items())
            }
            strings = [column for column in columns.values() if isinstance(column, _Keywords)]
            for position, row in enumerate(self._rows(schema, first, last)):
                for name, column in columns.items():
                    value = row.get(name)
                    if name in self._counts and value is not None:
                        value = self._spelt(name, value)
                    column.add(value)
                if position % 64 == 0 and sum(column.held for column in strings) > self._memory:
                    for column in strings:
                        column.flush()
            count = STRING_SECTIONS + 1 + sum(COLUMN_SECTIONS[kind] for kind in schema.values())
            with ContainerWriter(path, KIND, count) as writer:
                write_strings(writer, "fields", [name.encode("utf-8", "surrogatepass") for name in schema])
                types = np.array([FIELD_TYPES.index(kind) for kind in schema.values()], dtype=np.uint8)
                writer.write("fields.types", np.uint8, [types])
                for number, column in enumerate(columns.values()):
                    column.write(writer, str(number))
                return writer.finish()

    def _spelt(self, name: str, value: Stored) -> Stored:
        spellings = self._spellings[name]
        spelt = tuple(spellings[folded_keyword(string)] for string in _strings(value))
        return spelt[0] if isinstance(value, str) else spelt

    def _rows(self, schema: Schema, first: int, last: int) -> Iterator[Mapping[str, Stored]]:
        with storage_errors(self._path):
            self._file.seek(sum(self._lengths[:first]))
            for length in self._lengths[first:last]:
                row = marshal.loads(self._file.read(length))
                if self._given is not None:
                    yield row
                else:
                    yield self._inference.stored(Attributes(row[0], untyped=row[1]), schema)

    def close(self) -> None:
        """Close and remove the temporary file."""
        discard(self._file, self._path)


def _plain(value: AttributeValue) -> AttributeValue:
    """Return a value that `marshal` can write."""
    if isinstance(value, date):
        return iso(value)
    if isinstance(value, str):
        return str.__str__(value)  # of a derived class, such as that of numpy, too
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    return [str.__str__(string) for string in value]


def _strings(value: Stored) -> tuple[str, ...]:
    """Return the strings of a value of an attribute of strings."""
    return (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()


def _column(kind: FieldType, resources: ExitStack, path: Path) -> _Booleans | _Numbers | _Keywords:
    """Return a column in preparation: `add` appends the value of the next row, None if it is missing."""
    if kind in TEXT_TYPES:
        return _Keywords(resources, path, several=kind in LIST_TYPES)
    if kind == "boolean":
        return _Booleans(resources, path)
    return _Numbers(resources, path, "d" if kind == "float" else "q")


class _Booleans:
    def __init__(self, resources: ExitStack, path: Path) -> None:
        self._values = _BufferedSpill(resources, path, "B")

    def add(self, value: Stored | None) -> None:
        self._values.append(MISSING if value is None else bool(value))

    def write(self, writer: ContainerWriter, prefix: str) -> None:
        writer.write(f"{prefix}.values", np.uint8, self._values.pieces())


class _Numbers:
    def __init__(self, resources: ExitStack, path: Path, code: str) -> None:
        self._dtype = "<f8" if code == "d" else "<u8"
        self._values = _BufferedSpill(resources, path, code)
        self._present = _BufferedSpill(resources, path.with_name(f"{path.name}.present"), "B")
        self._complete = True

    def add(self, value: Stored | None) -> None:
        self._complete &= value is not None
        self._present.append(value is not None)
        self._values.append(0 if value is None else value)

    def write(self, writer: ContainerWriter, prefix: str) -> None:
        writer.write(
            f"{prefix}.values", self._dtype, (piece.view(self._dtype) for piece in self._values.pieces())
        )
        present = iter(()) if self._complete else self._present.pieces()
        # all pieces but the last have a multiple of 8 rows
        writer.write(
            f"{prefix}.present", np.uint8, (np.packbits(piece, bitorder="little") for piece in present)
        )


class _Keywords:
    """Column of strings in temporary files: the number of each string, and sorted runs of the strings.

    Strings are numbered in the order in which they occur, within a run. `flush` ends a run. Merging the runs gives each
    string its final number.
    """

    def __init__(self, resources: ExitStack, path: Path, *, several: bool) -> None:
        self.held = 0
        self._codes = _BufferedSpill(resources, path, "I")
        ends = path.with_name(f"{path.name}.ends")
        self._ends = _BufferedSpill(resources, ends, "Q") if several else None
        self._added = 0
        self._numbers: dict[str, int] = {}
        self._runs: list[tuple[int, int, int]] = []  # end of the codes, number of strings, start in the file
        self._path = path.with_name(f"{path.name}.strings")
        with storage_errors(self._path):
            self._strings = self._path.open("w+b")
        resources.callback(discard, self._strings, self._path)

    def add(self, value: Stored | None) -> None:
        if self._ends is not None:
            for string in value if isinstance(value, tuple) else ():
                self._append(string)
            self._ends.append(self._added)
        elif isinstance(value, str):
            self._append(value)
        else:
            self._codes.append(0)
            self._added += 1

    def _append(self, string: str) -> None:
        number = self._numbers.get(string)
        if number is None:
            number = self._numbers[string] = len(self._numbers)
            self.held += len(string) + _PER_STRING
        self._codes.append(number + 1)
        self._added += 1

    def flush(self) -> None:
        """Write the strings, sorted, to the temporary file, and start another run."""
        if not self._numbers:
            return
        with storage_errors(self._path):
            self._runs.append((self._added, len(self._numbers), self._strings.tell()))
            for string in sorted(self._numbers):
                data = string.encode("utf-8", "surrogatepass")
                self._strings.write(_ENTRY.pack(len(data), self._numbers[string]) + data)
            self._strings.flush()
        self._numbers = {}
        self.held = 0

    def write(self, writer: ContainerWriter, prefix: str) -> None:
        self.flush()
        finals = [np.zeros(count + 1, dtype=np.uint32) for _, count, _ in self._runs]
        offsets = array("Q", [0])
        writer.write(f"{prefix}.strings.data", np.uint8, self._merged(finals, offsets))
        writer.write(f"{prefix}.strings.offsets", np.uint64, [np.frombuffer(offsets, dtype=np.uint64)])
        count = len(offsets) - 1
        writer.write(f"{prefix}.strings.sorted", np.uint32, [np.arange(count, dtype=np.uint32)])
        if self._ends is not None:
            writer.write(f"{prefix}.starts", np.uint64, chain([np.zeros(1, np.uint64)], self._ends.pieces()))
        writer.write(f"{prefix}.codes", np.uint32, self._final_codes(finals))

    def _merged(
        self, finals: list[npt.NDArray[np.uint32]], offsets: array[int]
    ) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield the bytes of the strings in order; fill in their final numbers, from 1, and their offsets."""
        pieces: list[bytes] = []
        before: bytes | None = None
        for data, run, number in heapq.merge(*(self._run(run) for run in range(len(self._runs)))):
            if data != before:
                before = data
                offsets.append(offsets[-1] + len(data))
                pieces.append(data)
                if len(pieces) == _BUFFERED:
                    yield np.frombuffer(b"".join(pieces), dtype=np.uint8)
                    pieces = []
            finals[run][number + 1] = len(offsets) - 1
        yield np.frombuffer(b"".join(pieces), dtype=np.uint8)

    def _run(self, run: int) -> Iterator[tuple[bytes, int, int]]:
        _, count, start = self._runs[run]
        with storage_errors(self._path), self._path.open("rb") as file:
            file.seek(start)
            for _ in range(count):
                length, number = _ENTRY.unpack(file.read(_ENTRY.size))
                yield file.read(length), run, number

    def _final_codes(self, finals: list[npt.NDArray[np.uint32]]) -> Iterator[npt.NDArray[np.uint32]]:
        """Yield the codes with final numbers: from 0 in a column of lists, from 1 in one of strings, 0 for missing."""
        several = np.uint32(self._ends is not None)
        first = 0
        for (end, _, _), numbers in zip(self._runs, finals, strict=True):
            for codes in self._codes.pieces(first, end - first):
                yield numbers[codes] - several
            first = end
        yield np.zeros(self._added - first, dtype=np.uint32)  # rows after the last string


class _BufferedSpill:
    """File of numbers that are appended one by one."""

    def __init__(self, resources: ExitStack, path: Path, code: str) -> None:
        self.code = code
        self._buffer = array(code)
        self._spill = ArraySpill(path, np.dtype(code))
        resources.enter_context(closing(self._spill))

    def append(self, value: object) -> None:
        self._buffer.append(value)  # type: ignore[arg-type]
        if len(self._buffer) >= _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        self._spill.add(
            np.frombuffer(self._buffer, dtype=self.code) if self._buffer else np.empty(0, self.code)
        )
        self._buffer = array(self.code)

    def pieces(self, first: int = 0, count: int | None = None) -> Iterator[npt.NDArray[Any]]:
        self._flush()
        return self._spill.pieces(first, count)
