"""Change an index at random, with and without new checksums, and use it in many ways.

Usage: ``fuzz_files.py FOLDER SEED SECONDS LEAST``. It prints one JSON object: the numbers of outcomes, and each
outcome that is neither an answer nor an error of termwise. The process ends with a signal if the interpreter crashes.
"""

import hashlib
import json
import random
import shutil
import struct
import sys
import time
import traceback
import warnings
import zlib
from collections import Counter
from pathlib import Path

import termwise
from termwise import Search
from termwise.errors import TermwiseError

ODD = (0, 1, 2, 127, 128, 255)
WIDE = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x7FC00000, 0xFF800000, 0x3F800000)


def dump(body: dict) -> bytes:
    """Write a manifest in its only valid form."""
    return (json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def write_manifest(folder: Path, body: dict) -> None:
    """Write a manifest with a new checksum."""
    rest = {key: value for key, value in body.items() if key != "checksum"}
    checksum = "sha256:" + hashlib.sha256(dump(rest)).hexdigest()
    (folder / "manifest.json").write_bytes(dump({**rest, "checksum": checksum}))


def file_records(value: object) -> list[dict]:
    """Return all file records in a manifest."""
    if isinstance(value, dict):
        if set(value) == {"name", "length", "sha256"}:
            return [value]
        return [found for part in value.values() for found in file_records(part)]
    if isinstance(value, list):
        return [found for part in value for found in file_records(part)]
    return []


def change_sections(rng: random.Random, data: bytearray) -> None:
    """Change a few numbers of sections of a container, and correct its checksums."""
    if data[:8] == b"termwise":
        (count,) = struct.unpack_from("<I", data, 12)
        for _change in range(rng.choice((1, 1, 1, 3))):
            at = 48 + 64 * rng.randrange(count)
            offset, length = struct.unpack_from("<QQ", data, at + 32)
            if length == 0:
                continue
            if length >= 8 and rng.random() < 0.5:
                place = offset + 4 * rng.randrange(length // 4)
                struct.pack_into("<I", data, place, rng.choice(WIDE))
            else:
                data[offset + rng.randrange(length)] = rng.choice(ODD)
        for number in range(count):
            at = 48 + 64 * number
            offset, length = struct.unpack_from("<QQ", data, at + 32)
            struct.pack_into("<I", data, at + 48, zlib.crc32(data[offset : offset + length]))
        struct.pack_into("<I", data, 40, zlib.crc32(data[48 : 48 + 64 * count]))
        struct.pack_into("<I", data, 44, zlib.crc32(data[:44]))
    elif data:
        data[rng.randrange(len(data))] = rng.choice(ODD)


def change_value(rng: random.Random, value: object) -> object:
    """Return a manifest with one value that is another."""
    odd = (
        None,
        -1,
        0,
        1,
        2**31,
        2**63,
        2**70,
        1e308,
        0.0,
        -0.0,
        "",
        "x",
        "\x00",
        [],
        {},
        True,
        "../x",
        [[]],
        0.5,
    )
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.05:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: change_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        if rng.random() < 0.15:
            return [*value, value[place]]
        return [*value[:place], change_value(rng, value[place]), *value[place + 1 :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1))
    return rng.choice(odd)


def damage(rng: random.Random, folder: Path) -> str:
    """Change one thing of an index, and return what it was."""
    body = json.loads((folder / "manifest.json").read_bytes())
    kind = rng.choice(
        ("flip", "cut", "grow", "sealed", "sealed", "sealed", "sealed", "sealed", "manifest", "manifest")
    )
    if kind == "manifest":
        key = rng.choice(list(body))
        write_manifest(folder, {**body, key: change_value(rng, body[key])})
        return kind
    record = rng.choice(file_records(body))
    path = folder / record["name"]
    data = bytearray(path.read_bytes())
    if kind == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    elif kind == "grow":
        data += b"\x00" * rng.randrange(1, 100)
    else:
        change_sections(rng, data)
        digest = hashlib.sha256(data).hexdigest()
        stem = record["name"].split("-")[0]
        record.update(name=f"{stem}-{digest[:16]}{path.suffix}", length=len(data), sha256=digest)
        path.unlink()
        path = folder / record["name"]
        write_manifest(folder, body)
    path.write_bytes(bytes(data))
    return f"{kind} {path.name.split('-')[0]}"


def actions(folder: Path) -> list:
    """Return ways to use an index."""

    def add() -> None:
        with termwise.open_writer(folder) as writer:
            writer.add([termwise.Document("q1", "green tea again"), termwise.Document("d3", "another text")])
            writer.delete(["d5"])
            writer.commit()

    def search(**options: object) -> None:
        found = termwise.open(folder).search(Search(**options))
        list(found.snippets())
        if options.get("query"):
            found.explain(found.ranking.doc_ids[:2])

    def facets() -> None:
        found = termwise.open(folder).search(Search("tea", facets=["kind", "tags", "organic"]))
        found.facets()
        found.count()

    return [
        lambda: search(query="green tea", k=1000),
        lambda: search(query="grean rain mi", k=20, fuzzy=True, prefix=True),
        lambda: search(
            query=None, k=1000, filter='price < 9 and kind = "red" or not organic or tags in ("a", "b")'
        ),
        lambda: search(
            query="tea", k=9, filter='stock between 0 and 7 and added >= "2015-01-01"', sort="-price"
        ),
        lambda: search(query="tea", k=9, collapse="kind", sort="kind", must="green", must_not=["black leaf"]),
        facets,
        lambda: termwise.open(folder).complete("gre"),
        add,
        lambda: termwise.open(folder).rank("again tea", k=5),
    ]


def main() -> None:
    """Damage copies of an index until the time is over."""
    source, seed, seconds, least = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    end = time.monotonic() + seconds
    copy = source.parent / "damaged.tw"
    count = 0
    while (time.monotonic() < end or count < least) and len(wrong) < 20:
        count += 1
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(source, copy)
        what = damage(rng, copy)
        (source.parent / "last").write_text(f"{seed} {count} {what}")
        for action in actions(copy):
            try:
                action()
                outcomes["done"] += 1
            except TermwiseError as error:
                outcomes[error.slug] += 1
            except Exception:
                wrong.append(f"{count} {what}: {traceback.format_exc()[-1200:]}")
    print(json.dumps({"damages": count, "outcomes": outcomes, "wrong": wrong}))


if __name__ == "__main__":
    main()
