"""Readers of lines and JSON lines, plain or compressed; errors name the file and the line."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, NamedTuple, cast

from termwise.display.safe_text import lone_surrogate, shown
from termwise.errors import MalformedRecordError, MissingFileError, StorageError
from termwise.storage.safe_read import is_file, path_exists

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_SAMPLE = 1 << 20
"""Number of bytes from which the encoding of a file is guessed."""

DECOMPRESSORS = {".bz2": "bunzip2 --keep", ".xz": "unxz --keep", ".zip": "unzip", ".zst": "unzstd"}
"""Commands that decompress a file that is not read in compressed form, by its ending."""

_COMPRESSED = (
    (b"BZh", b"1AY&SY", ".bz2"),
    (b"\xfd7zXZ\x00", b"", ".xz"),
    (b"PK\x03\x04", b"", ".zip"),
    (b"\x28\xb5\x2f\xfd", b"", ".zst"),
)
"""First bytes of a compressed file, and those from the fifth on, with its ending."""

MAX_LINE = 64_000_000
"""Largest number of bytes in a line, and in a file that is read at once."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; a file that starts with the mark of gzip is decompressed.

    Errors are those of `read_lines`; a file compressed in another way is a `MalformedRecordError`, too.
    """
    try:
        stream = path.open("rb")
    except (OSError, ValueError) as error:
        raise MissingFileError(
            "a file cannot be read",
            facts=[("file", path), ("reason", getattr(error, "strerror", error))],
            fixes=["check the path and its permissions"],
        ) from error
    with stream:
        try:
            start = stream.peek(10)[:10]
            for first, fifth, ending in _COMPRESSED:
                if start.startswith(first) and start[4:].startswith(fifth):
                    raise MalformedRecordError(
                        "a file is compressed in another way than gzip",
                        facts=[("file", path), ("found", f"the first bytes of {ending}")],
                        fixes=[decompression(path, ending)],
                    )
            if start.startswith(GZIP_MAGIC):
                with gzip.GzipFile(fileobj=stream) as inner, io.BufferedReader(cast(Any, inner)) as buffered:
                    yield cast(BinaryIO, buffered)
            elif path.suffix == ".gz":
                raise _damaged(path, f"a file that starts with {start[:2]!r}")
            else:
                yield cast(BinaryIO, stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _damaged(path, str(error)) from error
        except OSError as error:
            raise StorageError(
                "reading a file failed", facts=[("file", path), ("reason", error.strerror or str(error))]
            ) from error


def first_character(path: Path) -> bytes:
    """Return the first visible character of a file, of ASCII, or nothing if its first 64 KiB have none."""
    with opened(path) as stream:
        return stream.read(1 << 16).removeprefix(BYTE_ORDER_MARK).lstrip()[:1]


def decompression(path: Path, ending: str) -> str:
    """Return the command that decompresses a file with an ending of `DECOMPRESSORS`."""
    return f"{DECOMPRESSORS[ending]} {quote(str(path))}"


def conversion(path: Path, seen: bytes) -> str:
    """Return a fix with the command that converts a file to UTF-8; `seen` are bytes of it that are not UTF-8."""
    if is_file(path):
        with opened(path) as stream:
            seen = stream.read(_SAMPLE) + seen
    encoding = _guessed_encoding(seen)
    return f"convert the file: iconv -f {encoding} -t utf-8 OLD > NEW    ({encoding}: the encoding of OLD)"


def _guessed_encoding(text: bytes) -> str:
    r"""Return the likely encoding of text that is not UTF-8.

    Examples
    --------
    >>> [_guessed_encoding(text) for text in ("é".encode("utf-16"), "Café".encode("utf-16-be"))]
    ['utf-16', 'utf-16be']
    >>> _guessed_encoding(b"caf\xe9"), _guessed_encoding(b"\x93caf\xe9\x94")
    ('latin1', 'windows-1252')
    """
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if 4 * text.count(0) > len(text):
        return "utf-16be" if text[::2].count(0) > text[1::2].count(0) else "utf-16le"
    # Bytes that are not UTF-8 become U+DC80 to U+DCFF; latin1 has control characters from 0x80 to 0x9f.
    controls = set(map(chr, range(0xDC80, 0xDCA0)))
    return "latin1" if controls.isdisjoint(text.decode("utf-8", "surrogateescape")) else "windows-1252"


def _damaged(path: Path, seen: str) -> MalformedRecordError:
    return MalformedRecordError(
        "a compressed file is damaged or cut off",
        facts=[("file", path), ("expected", "a complete gzip file"), ("seen", seen)],
        fixes=["fetch the file again", f"gzip -t {quote(str(path))}    (tests it)"],
    )


def read_bytes(path: Path, *, most: int = MAX_LINE) -> bytes:
    """Return the decompressed content of a file; raise `MalformedRecordError` if it has more than `most` bytes."""
    with opened(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise MalformedRecordError(
            "a file is too long",
            facts=[("file", path), ("expected", f"at most {most:,} bytes, decompressed")],
        )
    return data


class FilePart(NamedTuple):
    """Part of a file of records: bytes of a file of lines, or rows of a Parquet file.

    Attributes
    ----------
    start, stop : int
        First byte or row, and the one after the last.
    before : int
        Number of lines or rows before the part.
    """

    start: int
    stop: int
    before: int


def read_lines(path: Path, *, joined: bool = True, part: FilePart | None = None) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a UTF-8 text file with their numbers.

    Line ends (``\n`` or ``\r\n``) and byte order marks at the start of a line are removed. Blank lines are skipped, but
    counted.

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed file; the first bytes determine which.
    joined : bool, optional
        Whether a byte order mark at the start of a later line is that of a file that was appended to another one. If
        False, it is a character of the line, as in a list of words.
    part : FilePart, optional
        Lines to read of a file that is not compressed; by default all.

    Yields
    ------
    tuple of (int, str)
        Line number from 1, and the text.

    Raises
    ------
    MissingFileError
        If the file cannot be opened.
    MalformedRecordError
        If a line is not UTF-8 or longer than `MAX_LINE`, or a compressed file is damaged or cut off.
    StorageError
        If reading fails later.
    """
    for number, text in read_raw_lines(path, part):
        if joined:
            text = text.lstrip("\ufeff")
        if text and not text.isspace():
            yield number, text.removesuffix("\n").removesuffix("\r")


def read_raw_lines(path: Path, part: FilePart | None = None) -> Iterator[tuple[int, str]]:
    """Yield all lines of a UTF-8 text file with their numbers and line ends; errors as `read_lines`.

    A byte order mark at the start of the file is removed.
    """
    offset = 0 if part is None else part.start
    with opened(path) as stream:
        if part is not None:
            stream.seek(part.start)
        first = 1 if part is None else part.before + 1
        for number, raw in enumerate(iter(partial(stream.readline, MAX_LINE + 1), b""), first):
            if part is not None and offset >= part.stop:
                return
            if len(raw) > MAX_LINE:
                raise MalformedRecordError.at(
                    path,
                    number,
                    expected=f"lines of at most {MAX_LINE:,} bytes",
                    seen=f"a longer line that begins with {raw[:40]!r}",
                    message="a line is too long",
                )
            if number == 1 and raw.startswith(BYTE_ORDER_MARK):
                offset = len(BYTE_ORDER_MARK)
                raw = raw[offset:]
            text = _decoded(raw, path, number, offset)
            offset += len(raw)
            yield number, text


def _decoded(raw: bytes, path: Path, number: int, offset: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        excerpt = raw[max(0, error.start - 20) : error.start + 20]
        raise MalformedRecordError.at(
            path,
            number,
            expected="UTF-8",
            seen=f"byte 0x{raw[error.start]:02x} at offset {offset + error.start}, in {excerpt!r}",
            message="a line is not UTF-8",
            fixes=[conversion(path, raw)],
        ) from error


def refuse_pipe(path: Path) -> None:
    """Raise `MissingFileError` for a pipe or a device, which cannot be read twice."""
    if path_exists(path) and not is_file(path):
        raise MissingFileError(
            "the input is read twice, and a pipe or a device can be read only once",
            facts=[("path", path), ("expected", "a regular file")],
            fixes=["write the data to a file first"],
        )


def read_json_lines(path: Path, part: FilePart | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield the records of a file with one JSON object per line.

    Parameters
    ----------
    path : Path
        Plain or gzip-compressed; blank lines are skipped.
    part : FilePart, optional
        Lines to read of a file that is not compressed; by default all.

    Yields
    ------
    tuple of (int, dict)
        Line number from 1, and the record.

    Raises
    ------
    MissingFileError, StorageError
        As `read_lines`.
    MalformedRecordError
        If a line is not a JSON object, an object has a key twice, or a string has a lone surrogate.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "docs.jsonl"
    ...     _ = path.write_text('{"_id": "a", "text": "one"}\n')
    ...     list(read_json_lines(path))
    [(1, {'_id': 'a', 'text': 'one'})]
    """
    for number, line in read_lines(path, part=part):
        try:
            record = _decode(line)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            if isinstance(error, json.JSONDecodeError):
                reason = f"{error.msg}, column {error.colno}"
            raise MalformedRecordError.at(
                path,
                number,
                expected="one JSON object per line",
                seen=f"{line[:60]}  ({reason})",
                message="a line is not valid JSON",
                fixes=_unwrapped(path, number, line),
            ) from error
        if not isinstance(record, dict):
            raise MalformedRecordError.at(
                path, number, expected="a JSON object {...}", seen=line, fixes=_unwrapped(path, number, line)
            )
        refuse_surrogates(record, line, path, number)
        yield number, record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError for a repeated key."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for position, key in enumerate(keys) if key in keys[:position])
        raise ValueError(f"the key {shown(repeated)} is given twice")
    return record


DECODER = json.JSONDecoder(object_pairs_hook=_object)
"""Decoder shared by all records; `json.loads` with a hook builds a decoder in each call and takes twice as long."""

_decode = DECODER.decode


def _unwrapped(path: Path, number: int, line: str) -> list[str]:
    """Return a command that writes the objects of an array to lines, if the file begins with an array."""
    is_array = number == 1 and line.lstrip().startswith("[")
    return [f"jq -c '.[]' {quote(str(path))} > objects.jsonl"] if is_array else []


def refuse_surrogates(
    record: dict[str, Any], source: str, path: Path, number: int, *, unit: str = "line"
) -> None:
    """Raise `MalformedRecordError` for a lone surrogate in a record, of which `source` is the JSON text."""
    written = "\\ud" in source or "\\uD" in source
    if written and (found := lone_surrogate(record)):
        field, surrogate = found
        raise MalformedRecordError.at(
            path,
            number,
            expected="complete characters",
            seen=f"a lone surrogate, {surrogate}, in {field}",
            message="a string has a lone surrogate",
            unit=unit,
        )
