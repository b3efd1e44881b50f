"""Independent reader, written from docs/format.md without the package, to test the format.

``python tests/golden/independent.py`` prints the annotated dump that docs/format.md shows;
``python tests/golden/independent.py --write`` puts it there.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FORMAT = HERE.parents[1] / "docs" / "format.md"
BEGIN, END = "<!-- dump: begin -->", "<!-- dump: end -->"

CODES = {"|u1": "B", "|i1": "b", "<u2": "H", "<u4": "I", "<u8": "Q", "<f4": "f", "<f8": "d"}


@dataclass(frozen=True)
class Section:
    """Row of the table of sections."""

    name: str
    dtype: str
    offset: int
    length: int
    crc: int

    def values(self, data: bytes) -> tuple[Any, ...]:
        """Decode the numbers."""
        code = CODES[self.dtype]
        return struct.unpack_from(f"<{self.length // struct.calcsize(code)}{code}", data, self.offset)


def sections(data: bytes) -> dict[str, Section]:
    """Read and check the header and the table of a container."""
    magic, version, count, _, length, table_crc, header_crc = struct.unpack_from("<8sII16sQII", data)
    assert magic == b"termwise"
    assert length == len(data)
    assert header_crc == zlib.crc32(data[:44])
    assert table_crc == zlib.crc32(data[48 : 48 + 64 * count])
    table = {}
    for number in range(count):
        name, dtype, offset, size, crc = struct.unpack_from("<24s8sQQI12x", data, 48 + 64 * number)
        row = Section(name.rstrip(b"\0").decode(), dtype.rstrip(b"\0").decode(), offset, size, crc)
        assert offset % 64 == 0
        assert crc == zlib.crc32(data[offset : offset + size])
        table[row.name] = row
    changed = {"deletions.rows", "views.terms", "added.floors"} & table.keys()
    assert version == (3 if changed else 2 if any(row.dtype == "|i1" for row in table.values()) else 1)
    return table


def arrays(path: Path) -> dict[str, tuple[Any, ...]]:
    """Read all sections of a container."""
    data = path.read_bytes()
    return {name: section.values(data) for name, section in sections(data).items()}


def strings(columns: dict[str, tuple[Any, ...]], prefix: str) -> list[str]:
    """Read a table of strings."""
    data, offsets = bytes(columns[f"{prefix}.data"]), columns[f"{prefix}.offsets"]
    found = [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]
    order = columns[f"{prefix}.sorted"]
    assert [found[i].encode("utf-8", "surrogatepass") for i in order] == sorted(
        string.encode("utf-8", "surrogatepass") for string in found
    )
    return found


def manifest(folder: Path) -> dict[str, Any]:
    """Read a manifest and check its checksum."""
    data = (folder / "manifest.json").read_bytes()
    body: dict[str, Any] = json.loads(data)

    def dump(content: dict[str, Any]) -> bytes:
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    assert dump(body) == data
    rest = {key: value for key, value in body.items() if key != "checksum"}
    assert body["checksum"] == "sha256:" + hashlib.sha256(dump(rest)).hexdigest()
    return body


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of each document from the forward view, checked against the inverted view."""
    body = manifest(folder)
    unit = body["quantiser"]["scale"]
    terms = strings(arrays(folder / body["terms_file"]["name"]), "terms")
    built = len(terms)
    for added in body.get("added_terms", ()):
        terms += strings(arrays(folder / added["file"]["name"]), "terms")
    for segment in body["segments"]:
        views = arrays(folder / segment["views"]["name"])
        ids = strings(arrays(folder / segment["ids"]["name"]), "ids")
        texts = None if segment["texts"] is None else arrays(folder / segment["texts"]["name"])
        starts = views["forward.starts"]
        postings = set()
        own = views.get("views.terms", range(built))
        coarser = 2 ** segment.get("shift", 0)
        deleted = deleted_rows(folder, segment)
        for row, doc_id in enumerate(ids):
            held = range(starts[row], starts[row + 1])
            weights = {}
            for position in held:
                term, impact = views["forward.terms"][position], views["forward.impacts"][position]
                weights[terms[own[term]]] = impact * unit * coarser
                postings.add((term, row, impact))
            bias = None
            if body["background"]:
                bias = views["forward.bias"][row] * unit * coarser / 2 ** body["quantiser"]["bias_bits"]
            text = None if texts is None else stored_text(texts, row)
            if row not in deleted:
                yield {"doc_id": doc_id, "weights": weights, "bias": bias, "text": text}
        if body["quantiser"]["kind"] == "uint8":
            assert postings == set(inverted(views, segment, len(own)))


def counts(folder: Path) -> Iterator[dict[str, int]]:
    """Yield the number of occurrences of each token in each row of an index with the term numbers of its build."""
    body = manifest(folder)
    tokens = strings(arrays(folder / body["terms_file"]["name"]), "terms")
    for segment in body["segments"]:
        views = arrays(folder / segment["views"]["name"])
        larger, largest = iter(views["counts.bytes"]), iter(views["counts.large"])
        starts = views["forward.starts"]
        for row, (first, last) in enumerate(pairwise(starts)):
            found = {}
            for posting in range(first, last):
                count = (views["counts.codes"][posting // 4] >> 2 * (posting % 4)) % 4 + 1
                if count == 4:
                    count = next(larger)
                if count == 255:
                    count = next(largest)
                found[tokens[views["forward.terms"][posting]]] = count
            assert min(sum(found.values()), 65_535) == views["counts.lengths"][row]
            yield found
        assert not [*larger, *largest]


def deleted_rows(folder: Path, segment: dict[str, Any]) -> set[int]:
    """Return the deleted rows of a segment."""
    if not segment.get("deletions"):
        return set()
    marks = arrays(folder / segment["deleted"]["name"])["deletions.rows"]
    rows = {8 * place + bit for place, byte in enumerate(marks) for bit in range(8) if byte >> bit & 1}
    assert len(rows) == segment["deletions"]
    return rows


def inverted(
    views: dict[str, tuple[Any, ...]], segment: dict[str, Any], n_terms: int
) -> Iterator[tuple[int, int, int]]:
    """Yield term, row and impact of each posting of the inverted view."""
    size = 2 ** segment["block_bits"]
    order = views["documents.order"]
    for term in range(n_terms):
        position = views["inverted.postings"][term]
        for entry in range(views["inverted.entries"][term], views["inverted.entries"][term + 1]):
            block = views["entry.block"][entry]
            held = range(position, position + views["entry.count"][entry] + 1)
            assert views["entry.max"][entry] == max(views["posting.impact"][p] for p in held)
            for position in held:
                yield (
                    term,
                    order[block * size + views["posting.offset"][position]],
                    views["posting.impact"][position],
                )
            position = held.stop
        assert position == views["inverted.postings"][term + 1]
    for number, row in enumerate(order if views["forward.bias"] else ()):
        assert views["documents.bias"][number] == views["forward.bias"][row]
        assert views["blocks.bias"][number // size] >= views["forward.bias"][row]


def stored_text(columns: dict[str, tuple[Any, ...]], row: int) -> str:
    """Unpack the text of one document."""
    group = columns["texts.group"][row]
    first, last = columns["groups.offsets"][group : group + 2]
    unpacked = zlib.decompress(bytes(columns["groups.data"][first:last]))
    same = row + 1 < len(columns["texts.group"]) and columns["texts.group"][row + 1] == group
    stop = columns["texts.start"][row + 1] if same else len(unpacked)
    return unpacked[columns["texts.start"][row] : stop].decode("utf-8", "surrogatepass")


def document_vectors(folder: Path) -> Iterator[list[list[float]]]:
    """Yield the vectors of each document, one for each window."""
    body = manifest(folder)
    dimensions = body["vectors"]["dimensions"]
    for segment in body["segments"]:
        columns = arrays(folder / segment["vectors"]["name"])
        for first, last in pairwise(columns["vectors.starts"]):
            yield [
                [
                    number * columns["vectors.scales"][window]
                    for number in columns["vectors.rows"][window * dimensions : (window + 1) * dimensions]
                ]
                for window in range(first, last)
            ]


def term_vectors(folder: Path) -> Iterator[list[float]]:
    """Yield the vector of each term."""
    body = manifest(folder)
    dimensions, scale = body["vectors"]["dimensions"], body["vectors"]["scale"]
    columns = arrays(folder / body["terms_file"]["name"])
    for term, shift in enumerate(columns["term_vectors.shifts"]):
        row = columns["term_vectors.rows"][term * dimensions : (term + 1) * dimensions]
        yield [number * 2**shift * scale for number in row]


def dump(data: bytes) -> Iterator[str]:
    """Print a container with 16 bytes per line and the meaning of each line."""
    _, version, count, kind, length, table_crc, header_crc = struct.unpack_from("<8sII16sQII", data)

    def line(offset: int, size: int, note: str) -> str:
        part = data[offset : offset + min(size, 16)]
        return f"{offset:04x}  {part.hex(' '):<47}  {note}"

    table = sections(data)
    yield line(0, 16, f"magic; version {version}; {count} sections")
    yield line(16, 16, f"kind: {kind.rstrip(bytes(1)).decode()}")
    yield line(
        32, 16, f"length {length}; CRC-32 of the table {table_crc:08x}, of the header {header_crc:08x}"
    )
    for number, row in enumerate(table.values()):
        at = 48 + 64 * number
        yield line(at, 16, f"section {row.name}")
        yield line(at + 16, 16, f"  type {row.dtype}")
        yield line(at + 32, 16, f"  offset {row.offset:#06x}, length {row.length}")
        yield line(at + 48, 16, f"  CRC-32 {row.crc:08x}; unused")
    reached = 48 + 64 * count
    for row in table.values():
        if row.offset > reached:
            yield f"{reached:04x}  {f'{row.offset - reached} x 00':<47}"
        reached = row.offset
        values = row.values(data)
        width = struct.calcsize(CODES[row.dtype])
        if not values:
            yield f"{row.offset:04x}  {'':<47}  {row.name}: empty"
        for start in range(0, len(values), 16 // width):
            part = values[start : start + 16 // width]
            shown = repr(bytes(part))[2:-1] if row.name.endswith(".data") else " ".join(map(str, part))
            name = f"{row.name}: " if start == 0 else "  "
            yield line(row.offset + start * width, len(part) * width, name + shown)
            reached += len(part) * width


def dumps(folder: Path) -> str:
    """Print all files of an index as in docs/format.md."""
    body = manifest(folder)
    segment = body["segments"][0]
    parts = []
    for what, record in [
        ("terms", body["terms_file"]),
        ("views of the one segment", segment["views"]),
        ("identifiers of the one segment", segment["ids"]),
    ]:
        lines = "\n".join(line.rstrip() for line in dump((folder / record["name"]).read_bytes()))
        parts.append(f"`{record['name']}`, the {what}:\n\n```text\n{lines}\n```\n")
    ((name, note),) = body["attachments"].items()
    content = (folder / note["name"]).read_bytes().decode()
    parts.append(f"`{note['name']}`, attached as `{name}`:\n\n```text\n{content}```\n")
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    parts.append(f"`manifest.json`:\n\n```json\n{text}```\n")
    return "\n".join(parts)


def shown() -> str:
    """Return the dump in docs/format.md."""
    found = re.search(f"{BEGIN}\n\n(.*?)\n{END}", FORMAT.read_text(encoding="utf-8"), re.DOTALL)
    return "" if found is None else found[1]


if __name__ == "__main__":
    now = dumps(HERE / "impacts")
    if "--write" in sys.argv:
        page = FORMAT.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        FORMAT.write_text(f"{before}{BEGIN}\n\n{now}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    else:
        print(now)
