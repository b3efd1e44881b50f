"""Columns of attributes: writing, reading, merging, and every damage that `check` finds."""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.golden import independent

from termwise.attributes import Attributes, Schema
from termwise.attributes.field_types import keyword
from termwise.errors import CorruptIndexError, DataError
from termwise.index.attribute_columns import AttributeColumns, KeywordColumn, KeywordsColumn, NumberColumn
from termwise.index.attribute_spill import KIND, AttributeSpill
from termwise.index.container import Container

ROWS: list[dict[str, Any]] = [
    {"lang": "de", "price": 3, "tags": ["b", "a", "b"], "sold": True, "weight": 0.5, "day": "2024-01-31"},
    {},
    {"lang": "", "price": -(2**63), "tags": ["a"], "sold": False, "weight": 2, "day": "2024-01-31T12:00:00.000001"},
    {"lang": "öst\udc80", "tags": [], "day": "0001-01-01"},
]  # fmt: skip
SCHEMA = Schema.infer(ROWS)
READ = [
    {
        "lang": "de", "price": 3, "tags": ("b", "a"), "sold": True, "weight": 0.5,
        "day": datetime(2024, 1, 31, tzinfo=UTC),
    },
    {},
    {
        "lang": "", "price": -(2**63), "tags": ("a",), "sold": False, "weight": 2.0,
        "day": datetime(2024, 1, 31, 12, 0, 0, 1, UTC),
    },
    {"lang": "öst\udc80", "day": datetime(1, 1, 1, tzinfo=UTC)},
]  # fmt: skip


def write(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    schema: Schema | None = None,
    memory: int = 1 << 20,
    first: int = 0,
    last: int | None = None,
) -> AttributeColumns:
    spill = AttributeSpill(folder / "spill", schema, memory=memory)
    for number, row in enumerate(rows):
        spill.add(str(number), row)
    assert len(spill) == len(rows)
    last = len(rows) if last is None else last
    entry = spill.write(folder / "columns", first, last)
    spill.close()
    assert [path.name for path in folder.iterdir()] == ["columns"]
    assert entry.name.startswith("attributes-")
    return AttributeColumns(Container(folder / "columns", KIND, entry.length), last - first)


def every(columns: AttributeColumns) -> list[dict[str, Any]]:
    return columns.values(np.arange(columns.rows))


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_what_is_written_is_read(
    tmp_path: Path, schema: Schema | None, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = write(tmp_path, ROWS, schema=schema, memory=memory)
    assert columns.schema == SCHEMA
    assert every(columns) == READ
    assert [list(row) for row in every(columns)] == [sorted(row) for row in READ]
    assert columns.values(np.array([2, 0, 2])) == [READ[2], READ[0], READ[2]]
    assert columns.values(np.empty(0, np.int64)) == []
    columns.check()


def test_exact_arrays(tmp_path: Path) -> None:
    columns = write(tmp_path, ROWS)
    lang, tags, price = (columns.column(name) for name in ("lang", "tags", "price"))
    assert isinstance(lang, KeywordColumn)
    assert isinstance(tags, KeywordsColumn)
    assert isinstance(price, NumberColumn)
    assert lang.codes.tolist() == [2, 0, 1, 3]
    assert [lang.strings.get(number) for number in range(3)] == ["", "de", "öst\udc80"]
    assert (tags.starts.tolist(), tags.codes.tolist()) == ([0, 2, 2, 3, 3], [1, 0, 0])
    assert (price.values.tolist(), price.bits.tolist()) == ([3, 0, -(2**63), 0], [0b101])
    assert price.present(slice(1, 4)).tolist() == [False, True, False]
    assert columns.column("unknown") is None


def test_a_later_segment(tmp_path: Path) -> None:
    columns = write(tmp_path, ROWS, first=2, last=4)
    assert every(columns) == READ[2:]
    assert columns.schema == SCHEMA
    columns.check()
    lang = columns.column("lang")
    assert isinstance(lang, KeywordColumn)
    assert len(lang.strings) == 2


def test_values_that_are_read_can_be_written_again(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    one = write(tmp_path / "one", ROWS)
    two = write(tmp_path / "two", every(one), schema=one.schema)
    three = write(tmp_path / "three", every(one))
    data = [(tmp_path / name / "columns").read_bytes() for name in ("one", "two", "three")]
    assert data[0] == data[1] == data[2]
    assert every(two) == every(three) == READ


def test_text_from_tables_is_converted(tmp_path: Path) -> None:
    cells = [("7", "true", "a", "2.5"), ("", "", "b", "1"), ("8", "FALSE", "", "")]
    rows = [Attributes(dict(zip("nbkf", row, strict=True)), untyped=True) for row in cells]
    columns = write(tmp_path, rows)
    assert columns.schema == {"n": "integer", "b": "boolean", "k": "keyword", "f": "float"}
    assert every(columns) == [
        {"n": 7, "b": True, "k": "a", "f": 2.5},
        {"k": "b", "f": 1.0},
        {"n": 8, "b": False},
    ]


def test_derived_classes_are_stored_as_their_bases(tmp_path: Path) -> None:
    rows = [{"f": np.float64(0.1), "k": np.str_("a"), "t": (np.str_("b"),), "d": date(2024, 1, 1)}]
    columns = write(tmp_path, rows)
    assert every(columns) == [{"d": datetime(2024, 1, 1, tzinfo=UTC), "f": 0.1, "k": "a", "t": ("b",)}]


def test_a_value_of_the_wrong_type_names_the_document(tmp_path: Path) -> None:
    spill = AttributeSpill(tmp_path / "spill", Schema({"price": "float"}))
    with pytest.raises(DataError) as caught:
        spill.add("d7", {"price": "cheap"})
    assert dict(caught.value.facts)["record"] == "'d7'"
    spill.close()


def test_no_fields_at_all(tmp_path: Path) -> None:
    columns = write(tmp_path, [{}, {}])
    assert every(columns) == [{}, {}]
    columns.check()


@pytest.mark.parametrize("memory", [0, 40_000])
def test_many_strings_in_little_memory(tmp_path: Path, memory: int) -> None:
    rows = [{"k": f"{number * 7919 % 1000}", "t": [f"{number % 7}", f"{number}"]} for number in range(2000)]
    columns = write(tmp_path, rows, memory=memory)
    assert every(columns) == [{"k": row["k"], "t": tuple(dict.fromkeys(row["t"]))} for row in rows]
    columns.check()
    (tmp_path / "again").mkdir()
    write(tmp_path / "again", rows)
    assert (tmp_path / "columns").read_bytes() == (tmp_path / "again" / "columns").read_bytes()


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "keyword": st.text(st.characters(exclude_categories=()), max_size=3),
    "keywords": st.lists(st.text(max_size=2), max_size=3),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "date": st.datetimes(timezones=st.just(UTC)),
}
TABLES = st.dictionaries(
    st.text(min_size=1, max_size=3), st.sampled_from(sorted(VALUES)), max_size=4
).flatmap(
    lambda types: st.tuples(
        st.just(types),
        st.lists(
            st.fixed_dictionaries({}, optional={n: VALUES[kind] for n, kind in types.items()}), min_size=1
        ),
    )
)


@given(TABLES, st.sampled_from([0, 200, 1 << 20]))
@settings(max_examples=80)
def test_any_table_survives(table: tuple[dict[str, str], list[dict[str, Any]]], memory: int) -> None:
    types, rows = table
    with tempfile.TemporaryDirectory() as name:
        columns = write(Path(name), rows, schema=Schema(types), memory=memory)
        expected = [
            {
                field: tuple(dict.fromkeys(map(stored, value))) if isinstance(value, list) else stored(value)
                for field, value in row.items()
                if value != []
            }
            for row in rows
        ]
        assert every(columns) == expected
        columns.check()


def stored(value: Any) -> Any:
    """Return a value in the form in which a column holds it."""
    return keyword(value) if isinstance(value, str) else value


def changed(path: Path, section: str, position: int, value: int | float) -> AttributeColumns:
    """Change a number of a section, and reseal the checksums, so that only the value itself is wrong."""
    data = bytearray(path.read_bytes())
    count = struct.unpack_from("<I", data, 12)[0]
    for number in range(count):
        at = 48 + 64 * number
        name, dtype, offset, length, _ = struct.unpack_from("<24s8sQQI", data, at)
        if name.rstrip(b"\0").decode() == section:
            kind = np.dtype(dtype.rstrip(b"\0").decode())
            assert length > position * kind.itemsize
            start = offset + position * kind.itemsize
            data[start : start + kind.itemsize] = np.array([value]).astype(kind).tobytes()
            struct.pack_into("<I", data, at + 48, zlib.crc32(data[offset : offset + length]))
    struct.pack_into("<I", data, 40, zlib.crc32(data[48 : 48 + 64 * count]))
    struct.pack_into("<I", data, 44, zlib.crc32(data[:44]))
    other = path.with_name("changed")
    other.write_bytes(data)
    return AttributeColumns(Container(other, KIND), len(ROWS))


NAMES = {name: str(number) for number, name in enumerate(SCHEMA)}


@pytest.mark.parametrize(
    ("field", "section", "position", "value"),
    [
        ("lang", "codes", 0, 4),
        ("lang", "codes", 0, 3),  # no row has "de" then
        ("lang", "strings.sorted", 0, 1),
        ("lang", "strings.data", 0, 0xFF),
        ("lang", "strings.offsets", 1, 3),
        ("tags", "codes", 0, 2),
        ("tags", "codes", 1, 1),  # twice in a row
        ("tags", "starts", 0, 1),
        ("tags", "starts", 1, 3),
        ("tags", "starts", 4, 2),
        ("sold", "values", 1, 3),
        ("price", "values", 1, 1),
        ("price", "present", 0, 0b100101),
        ("price", "present", 0, 0b1111),
        ("price", "present", 0, 0b1),
        ("weight", "values", 0, float("nan")),
        ("weight", "values", 0, float("inf")),
        ("weight", "values", 1, -0.0),
        ("day", "values", 0, 2**63),
    ],
)
def test_wrong_values_are_found(
    tmp_path: Path, field: str, section: str, position: int, value: float
) -> None:
    write(tmp_path, ROWS)
    columns = changed(tmp_path / "columns", f"{NAMES[field]}.{section}", position, value)
    with pytest.raises(CorruptIndexError):
        columns.check()
    with suppress(CorruptIndexError):
        every(columns)


@pytest.mark.parametrize(("section", "position", "value"), [("fields.types", 0, 6), ("fields.data", 0, 0x7A)])
def test_wrong_fields_are_found_at_once(tmp_path: Path, section: str, position: int, value: int) -> None:
    write(tmp_path, ROWS)
    with pytest.raises(CorruptIndexError):
        changed(tmp_path / "columns", section, position, value)


def test_another_type_has_other_sections(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    with pytest.raises(CorruptIndexError):
        changed(tmp_path / "columns", "fields.types", 0, 0)


def test_wrong_number_of_rows(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    with pytest.raises(CorruptIndexError):
        AttributeColumns(Container(tmp_path / "columns", KIND), len(ROWS) + 1)


def test_bytes_are_those_of_the_documentation(tmp_path: Path) -> None:
    """Read the file as docs/format.md describes it, without the package."""
    write(tmp_path, ROWS)
    data = (tmp_path / "columns").read_bytes()
    table = independent.sections(data)
    values = {name: section.values(data) for name, section in table.items()}
    assert data[16:32].rstrip(b"\0") == b"attributes"

    def strings(name: str) -> list[str]:
        raw, offsets = bytes(values[f"{name}.data"]), values[f"{name}.offsets"]
        assert values[f"{name}.sorted"] == tuple(range(len(offsets) - 1))
        return [raw[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(offsets)]

    assert strings("fields") == ["day", "lang", "price", "sold", "tags", "weight"]
    assert values["fields.types"] == (3, 4, 1, 0, 5, 2)
    assert values["0.values"][0] == (date(2024, 1, 31) - date(1970, 1, 1)).days * 86_400_000_000
    assert values["0.values"][3] == 2**64 - (date(1970, 1, 1) - date(1, 1, 1)).days * 86_400_000_000
    assert values["0.present"] == (0b1101,)
    assert strings("1.strings") == ["", "de", "öst\udc80"]
    assert values["1.codes"] == (2, 0, 1, 3)
    assert (values["2.values"], values["2.present"]) == ((3, 0, 2**63, 0), (0b101,))
    assert values["3.values"] == (1, 2, 0, 2)
    assert strings("4.strings") == ["a", "b"]
    assert (values["4.starts"], values["4.codes"]) == ((0, 2, 2, 3, 3), (1, 0, 0))
    assert (values["5.values"], values["5.present"]) == ((0.5, 0.0, 2.0, 0.0), (0b101,))
