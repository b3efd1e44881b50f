"""Change the content of an index and recompute all checksums, as an attacker would.

As a program it changes every STEP-th number of every section to a few extreme values, one at a time, and uses and
verifies the index each time: ``reseal.py FOLDER:STEP [FOLDER:STEP ...]``.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTHS = {b"|u1": 1, b"|i1": 1, b"<u2": 2, b"<u4": 4, b"<u8": 8, b"<f4": 4, b"<f8": 8}


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a manifest without validation."""
    body: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return body


def write_manifest(folder: Path, body: dict[str, Any]) -> None:
    """Write a manifest with a correct checksum."""

    def dump(content: dict[str, Any]) -> bytes:
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    rest = {key: value for key, value in body.items() if key != "checksum"}
    checksum = "sha256:" + hashlib.sha256(dump(rest)).hexdigest()
    (folder / "manifest.json").write_bytes(dump({**rest, "checksum": checksum}))


def records(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the file records of a manifest by kind."""
    segment = body["segments"][0]
    found = {"terms": body["terms_file"], "segment": segment["views"], "ids": segment["ids"]}
    return found | {kind: segment[kind] for kind in ("texts", "vectors") if segment.get(kind)}


def sections(data: bytes) -> dict[str, tuple[int, int, int]]:
    """Return offset, length and number width of each section."""
    (count,) = struct.unpack_from("<I", data, 12)
    found = {}
    for number in range(count):
        name, dtype, offset, length = struct.unpack_from("<24s8sQQ", data, 48 + 64 * number)
        found[name.rstrip(b"\0").decode()] = (offset, length, WIDTHS[dtype.rstrip(b"\0")])
    return found


def seal(data: bytearray) -> None:
    """Recompute the checksums of sections, table and header."""
    (count,) = struct.unpack_from("<I", data, 12)
    for number in range(count):
        at = 48 + 64 * number
        offset, length = struct.unpack_from("<QQ", data, at + 32)
        struct.pack_into("<I", data, at + 48, zlib.crc32(data[offset : offset + length]))
    struct.pack_into("<Q", data, 32, len(data))
    struct.pack_into("<I", data, 40, zlib.crc32(data[48 : 48 + 64 * count]))
    struct.pack_into("<I", data, 44, zlib.crc32(data[:44]))


def replace(folder: Path, kind: str, data: bytes) -> Path:
    """Replace the content of a file, update the manifest, and return the new file."""
    body = read_manifest(folder)
    record = records(body)[kind]
    (folder / record["name"]).unlink()
    digest = hashlib.sha256(data).hexdigest()
    record.update(name=f"{kind}-{digest[:16]}.tw", length=len(data), sha256=digest)
    (folder / record["name"]).write_bytes(data)
    write_manifest(folder, body)
    return folder / str(record["name"])


def change(folder: Path, kind: str, edit: Callable[[bytearray], None]) -> Path:
    """Apply an edit to a file, and recompute its checksums."""
    path = folder / records(read_manifest(folder))[kind]["name"]
    data = bytearray(path.read_bytes())
    edit(data)
    seal(data)
    return replace(folder, kind, bytes(data))


def put(section: str, position: int, value: int) -> Callable[[bytearray], None]:
    """Return an edit that sets one number of a section."""

    def edit(data: bytearray) -> None:
        offset, length, width = sections(data)[section]
        assert width * (position + 1) <= length
        data[offset + width * position : offset + width * (position + 1)] = value.to_bytes(width, "little")

    return edit


def extremes(folder: Path, step: int) -> dict[str, dict[str, int]]:
    """Change every STEP-th number in turn; return the numbers of changes, and of those unnoticed by `verify`."""
    import sweep

    from termwise.errors import TermwiseError
    from termwise.index import Index, verify

    def damaged(folder: Path) -> bool:
        try:
            return bool(verify(folder))
        except TermwiseError:
            return True

    index = Index.open(folder)
    tokens = [index.vocabulary.token(i) for i in range(len(index.vocabulary))]
    doc_ids = [index.doc_id(i) for i in range(min(5, len(index)))]
    queries = [" ".join(tokens), tokens[0], "unknown"]
    del index
    changed: dict[str, int] = {}
    unnoticed: dict[str, int] = {}
    for kind, record in records(read_manifest(folder)).items():
        original = (folder / record["name"]).read_bytes()
        for name, (offset, length, width) in sections(original).items():
            for position in range(0, length // width, step):
                at = offset + width * position
                before = int.from_bytes(original[at : at + width], "little")
                top = 2 ** (8 * width)
                for value in {0, (before + 1) % top, (before - 1) % top, top - 1} - {before}:
                    change(folder, kind, put(name, position, value))
                    where = f"{name}[{position}]: {before} -> {value}"
                    try:
                        sweep.attempt(lambda: sweep.use(folder, queries, doc_ids))
                        found = damaged(folder)
                    except BaseException:
                        print(where, file=sys.stderr)
                        raise
                    changed[name] = changed.get(name, 0) + 1
                    unnoticed[name] = unnoticed.get(name, 0) + (not found)
                    replace(folder, kind, original)
    assert verify(folder) == []
    return {"changed": changed, "unnoticed": unnoticed}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    arguments = [argument.rsplit(":", 1) for argument in sys.argv[1:]]
    print(json.dumps({Path(folder).name: extremes(Path(folder), int(step)) for folder, step in arguments}))
