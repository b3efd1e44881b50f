"""Stored attributes of the documents of a segment, one column for each field."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.attributes.dates import EARLIEST, LATEST
from termwise.attributes.field_types import (
    FIELD_TYPES,
    FOLDED_TYPES,
    FieldType,
    attribute_value,
    folded_keyword,
    keyword,
    plain_type,
)
from termwise.attributes.schema import MOST_FIELDS, Schema
from termwise.errors import CorruptIndexError
from termwise.fast_dataclass import dataclass
from termwise.index.container import Container, corrupt
from termwise.index.string_table import SECTIONS as STRING_SECTIONS
from termwise.index.string_table import StringTable
from termwise.records import AttributeValue

KIND = "attributes"

COLUMN_SECTIONS: dict[FieldType, int] = {
    "boolean": 1,
    "integer": 2,
    "float": 2,
    "date": 2,
    "keyword": 1 + STRING_SECTIONS,
    "keywords": 2 + STRING_SECTIONS,
    "keyword folded": 1 + STRING_SECTIONS,
    "keywords folded": 2 + STRING_SECTIONS,
}
"""Number of file sections that a column takes, by the type of its attribute."""

MISSING = 2
"""Number of a missing value in a column of booleans."""

Mask = npt.NDArray[np.bool_]

Rows = npt.NDArray[np.int64] | slice


@dataclass(frozen=True)
class BooleanColumn:
    """Column of true and false.

    Attributes
    ----------
    values : ndarray of shape (rows,), uint8
        0 for false, 1 for true, 2 for a missing value.
    """

    values: npt.NDArray[np.uint8]

    def present(self, rows: Rows) -> Mask:
        """Return which of some rows have a value."""
        return self.values[rows] < MISSING


@dataclass(frozen=True)
class NumberColumn:
    """Column of integers, dates or floats.

    Attributes
    ----------
    values : ndarray of shape (rows,), int64 or float64
        Dates in microseconds; 0 for a missing value.
    bits : ndarray of shape (ceil(rows / 8),) or (0,), uint8
        Bit *r* is 1 if row *r* has a value; empty if all rows have one.
    """

    values: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    bits: npt.NDArray[np.uint8]

    def present(self, rows: Rows) -> Mask:
        """Return which of some rows have a value."""
        if not len(self.bits):
            return np.ones(len(self.values[rows]), dtype=np.bool_)
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self.values))
            begin = first // 8
            bits = np.unpackbits(self.bits[begin : (last + 7) // 8], bitorder="little")
            return bits[first - 8 * begin : last - 8 * begin].view(np.bool_)
        present: Mask = ((self.bits[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1).view(np.bool_)
        return present


@dataclass(frozen=True)
class KeywordColumn:
    """Column of strings.

    Attributes
    ----------
    codes : ndarray of shape (rows,), uint32
        Number of the string of each row plus 1; 0 for a missing value.
    strings : StringTable
        Distinct strings in ascending order.
    """

    codes: npt.NDArray[np.uint32]
    strings: StringTable

    def present(self, rows: Rows) -> Mask:
        """Return which of some rows have a value."""
        return self.codes[rows] > 0


@dataclass(frozen=True)
class KeywordsColumn:
    """Column of lists of strings.

    Attributes
    ----------
    starts : ndarray of shape (rows + 1,), uint64
        Start of the codes of each row; a row without codes is a missing value.
    codes : ndarray of shape (values,), uint32
        Numbers of the strings, distinct in a row.
    strings : StringTable
        Distinct strings in ascending order.
    """

    starts: npt.NDArray[np.uint64]
    codes: npt.NDArray[np.uint32]
    strings: StringTable

    def present(self, rows: Rows) -> Mask:
        """Return which of some rows have a value."""
        return self.starts[1:][rows] > self.starts[:-1][rows]


Column = BooleanColumn | NumberColumn | KeywordColumn | KeywordsColumn


class AttributeColumns:
    """Columns of attributes in a mapped container, for a number of documents.

    Raises `CorruptIndexError` if a column is missing, or its length or the name or type of a field is wrong; `check`
    reads all values.
    """

    def __init__(self, container: Container, rows: int) -> None:
        self.path = container.path
        self.rows = rows
        self._container = container
        types = container.array("fields.types", np.uint8)
        wrong = np.flatnonzero(types >= len(FIELD_TYPES))
        if len(wrong):
            place = int(wrong[0])
            raise container.damaged(
                "fields.types", f"types below {len(FIELD_TYPES)}", int(types[place]), place
            )
        if len(types) > MOST_FIELDS:
            raise container.damaged("fields.types", f"at most {MOST_FIELDS} fields", len(types))
        self._fields = StringTable(container, "fields", len(types))
        names = self._fields.get_many(np.arange(len(types)))
        if names != sorted(set(names)) or "" in names:
            raise container.damaged("fields.data", "distinct names in order", "others")
        self.schema = Schema(
            {name: FIELD_TYPES[kind] for name, kind in zip(names, types.tolist(), strict=True)}
        )
        count = STRING_SECTIONS + 1 + sum(COLUMN_SECTIONS[kind] for kind in self.schema.values())
        if len(container.section_bytes()) != count:
            raise corrupt(self.path, None, f"{count} sections", len(container.section_bytes()))
        self._folded: dict[str, dict[str, int]] = {}
        self._numbers = {name: number for number, name in enumerate(names)}
        self._columns = {
            name: self._column(str(number), kind) for number, (name, kind) in enumerate(self.schema.items())
        }

    def __len__(self) -> int:
        return self.rows

    def _column(self, prefix: str, kind: FieldType) -> Column:
        array, rows, kind = self._container.array, self.rows, plain_type(kind)
        if kind == "boolean":
            return BooleanColumn(array(f"{prefix}.values", np.uint8, rows))
        if kind == "keyword":
            return KeywordColumn(array(f"{prefix}.codes", np.uint32, rows), self._strings(prefix))
        if kind == "keywords":
            return KeywordsColumn(
                array(f"{prefix}.starts", np.uint64, rows + 1),
                array(f"{prefix}.codes", np.uint32),
                self._strings(prefix),
            )
        values = array(f"{prefix}.values", "<f8" if kind == "float" else "<u8", rows)
        bits = array(f"{prefix}.present", np.uint8)
        if len(bits):
            array(f"{prefix}.present", np.uint8, (rows + 7) // 8)
        return NumberColumn(values if kind == "float" else values.view("<i8"), bits)

    def _strings(self, prefix: str) -> StringTable:
        count = len(self._container.array(f"{prefix}.strings.sorted", np.uint32))
        return StringTable(self._container, f"{prefix}.strings", count)

    def column(self, name: str) -> Column | None:
        """Return the column of a field, or None if no document of the segment has it."""
        return self._columns.get(name)

    def folded(self, name: str) -> Mapping[str, int] | None:
        """Return the numbers of the strings of a field by `folded_keyword`; None if its type folds none."""
        column = self._columns.get(name)
        if not isinstance(column, KeywordColumn | KeywordsColumn) or self.schema[name] not in FOLDED_TYPES:
            return None
        if name not in self._folded:
            strings = column.strings.get_many(np.arange(len(column.strings)))
            self._folded[name] = {folded_keyword(string): number for number, string in enumerate(strings)}
        return self._folded[name]

    def spellings(self) -> dict[str, dict[str, str]]:
        """Return the strings of each field that folds its values by `folded_keyword`."""
        return {
            name: {folded: column.strings.get(number) for folded, number in known.items()}
            for name, column in self._columns.items()
            if isinstance(column, KeywordColumn | KeywordsColumn) and (known := self.folded(name)) is not None
        }

    def string_numbers(self, name: str, values: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of the strings of a field that are equal to one of some values."""
        column, folded = self._columns[name], self.folded(name)
        assert isinstance(column, KeywordColumn | KeywordsColumn), "a field of strings"
        if folded is not None:
            found = {folded.get(folded_keyword(value), -1) for value in values}
            numbers = np.array(sorted(found), dtype=np.int64)
        else:
            # as given, too: in an index of an earlier version, strings are as they were written
            given = list(values)
            numbers = np.unique(column.strings.find_many(dict.fromkeys((*map(keyword, given), *given))))
        return numbers[numbers >= 0]

    def damaged(self, name: str, section: str, expected: str, seen: object) -> CorruptIndexError:
        """Build the error for a wrong value in a section of the column of a field."""
        return self._container.damaged(f"{self._numbers[name]}.{section}", f"{name}: {expected}", seen)

    def values(
        self, rows: npt.NDArray[np.int64], fields: Collection[str] | None = None
    ) -> list[dict[str, AttributeValue]]:
        """Return the attributes of several documents by their rows, in any order; missing values are left out.

        By default, all fields are read. Dates are `datetime` in UTC, and lists are tuples. `AttributeSpill.add` accepts
        the values, for a merge. A damaged value raises `CorruptIndexError`.
        """
        results: list[dict[str, AttributeValue]] = [{} for _ in range(len(rows))]
        for name, column in self._columns.items():
            if fields is None or name in fields:
                for place, value in self._present_values(name, column, rows):
                    results[place][name] = value
        return results

    def keys(
        self, name: str, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64], Mask]:
        """Return numbers in the order of the values of a field in some rows, and which rows have a value.

        Equal values have equal numbers. The numbers of strings are those of the segment; lists of strings have none.
        """
        column = self._columns.get(name)
        if column is None:
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.bool_)
        assert not isinstance(column, KeywordsColumn), "a field with one value"
        if isinstance(column, NumberColumn):
            return column.values[rows], column.present(rows)
        keys = column.values[rows] if isinstance(column, BooleanColumn) else column.codes[rows]
        return keys.astype(np.int64), column.present(rows)

    def _present_values(
        self, name: str, column: Column, rows: npt.NDArray[np.int64]
    ) -> list[tuple[int, AttributeValue]]:
        if isinstance(column, KeywordsColumn):
            bounds = self.code_ranges(name, column, rows)
            found: list[tuple[int, AttributeValue]] = []
            for place, (start, stop) in enumerate(bounds.T.tolist()):
                if start < stop:
                    codes = column.codes[start:stop].astype(np.int64)
                    found.append((place, tuple(self._decoded(name, column.strings, codes))))
            return found
        places = np.flatnonzero(column.present(rows))
        rows = rows[places]
        values: list[Any]
        if isinstance(column, KeywordColumn):
            values = self._decoded(name, column.strings, column.codes[rows].astype(np.int64) - 1)
        elif isinstance(column, BooleanColumn):
            values = (column.values[rows] == 1).tolist()
        else:
            kind, numbers = self.schema[name], column.values[rows]
            if kind == "date" and len(numbers) and not EARLIEST <= numbers.min() <= numbers.max() <= LATEST:
                raise self.damaged(name, "values", "dates from the years 1 to 9999", "another number")
            values = [attribute_value(kind, number) for number in numbers.tolist()]
        return list(zip(places.tolist(), values, strict=True))

    def code_ranges(
        self, name: str, column: KeywordsColumn, rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the first code of each of some rows and the one after its last, shape (2, rows)."""
        bounds = np.stack([column.starts[rows], column.starts[rows + 1]]).astype(np.int64)
        if (bounds[0] > bounds[1]).any() or bounds.max(initial=0) > len(column.codes):
            raise self.damaged(name, "starts", "starts in order", "another order")
        return bounds

    def _decoded(self, name: str, strings: StringTable, codes: npt.NDArray[np.int64]) -> list[str]:
        if codes.max(initial=-1) >= len(strings):
            raise self.damaged(name, "codes", f"strings below {len(strings)}", int(codes.max()))
        return strings.get_many(codes)

    def check(self) -> None:
        """Read every value.

        Raises `CorruptIndexError` if a value is out of range, a missing value is not written as 0, a string is not
        UTF-8, out of order, or used by no row, or rows or codes are out of order.
        """
        self._fields.check()
        for name, column in self._columns.items():
            if isinstance(column, BooleanColumn):
                if column.values.max(initial=0) > MISSING:
                    raise self.damaged(name, "values", f"0, 1 or {MISSING}", int(column.values.max()))
            elif isinstance(column, NumberColumn):
                self._check_numbers(name, column)
            else:
                self._check_strings(name, column)

    def _check_numbers(self, name: str, column: NumberColumn) -> None:
        present = column.present(slice(None))
        if len(column.bits):
            spare = np.unpackbits(column.bits, bitorder="little")[self.rows :]
            if spare.any() or present.all():
                raise self.damaged(name, "present", "bits of the rows, some of them 0", "others")
        missing = column.values[~present]
        if missing.any() or np.signbit(missing).any():
            raise self.damaged(name, "values", "0 for a missing value", "another number")
        if self.schema[name] == "float" and not np.isfinite(column.values).all():
            raise self.damaged(name, "values", "finite numbers", "another number")
        if self.schema[name] == "date" and not (
            (column.values >= EARLIEST).all() and (column.values <= LATEST).all()
        ):
            raise self.damaged(name, "values", "dates from the years 1 to 9999", "another number")

    def _check_strings(self, name: str, column: KeywordColumn | KeywordsColumn) -> None:
        column.strings.check()
        count = len(column.strings)
        if not column.strings.is_in_order:
            raise self.damaged(name, "strings.sorted", "strings in ascending order", "another order")
        folded = self.folded(name)
        if folded is not None and len(folded) < count:
            raise self.damaged(name, "strings.data", "one spelling of each value", "several")
        codes = column.codes.astype(np.int64)
        if isinstance(column, KeywordColumn):
            codes = codes[codes > 0] - 1
        if codes.max(initial=-1) >= count:
            raise self.damaged(name, "codes", f"strings below {count}", int(codes.max()))
        if (np.bincount(codes, minlength=count) == 0).any():
            raise self.damaged(name, "codes", "a row for each string", "a string without one")
        if isinstance(column, KeywordsColumn):
            starts = column.starts
            if starts[0] != 0 or starts[-1] != len(codes) or (starts[1:] < starts[:-1]).any():
                raise self.damaged(name, "starts", f"starts from 0 to {len(codes)} in order", "others")
            owners = np.repeat(np.arange(self.rows), np.diff(starts).astype(np.int64))
            order = np.lexsort((codes, owners))
            owners, codes = owners[order], codes[order]
            if ((owners[1:] == owners[:-1]) & (codes[1:] == codes[:-1])).any():
                raise self.damaged(name, "codes", "different strings in a row", "a string twice")
