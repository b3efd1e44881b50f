"""Lines and JSON records: what is accepted, and how the place of a fault is named."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from termwise.collection import read_json_lines, read_lines
from termwise.collection.lines import read_bytes
from termwise.errors import MalformedRecordError, MissingFileError


def facts(error: pytest.ExceptionInfo[MalformedRecordError]) -> dict[str, str]:
    return {label: str(value) for label, value in error.value.facts}


def test_lines_are_numbered_and_blank_ones_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\n   \ntwo\r\nthree")
    assert list(read_lines(path)) == [(1, "one"), (4, "two"), (5, "three")]


def test_byte_order_marks_of_joined_files_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\ufeffone\n\ufeff\ufefftwo\nthree\ufeff\n\ufeff\n")
    assert list(read_lines(path)) == [(1, "one"), (2, "two"), (3, "three\ufeff")]
    assert list(read_lines(path, joined=False))[1] == (2, "\ufeff\ufefftwo")


@pytest.mark.parametrize("inside", ["\r", "\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_feeds_end_lines(tmp_path: Path, inside: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"a{inside}b\nc\n".encode())
    assert [text for _, text in read_lines(path)] == [f"a{inside}b", "c"]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt"])
def test_compressed_files_are_seen_from_their_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress("é\nb\n".encode()))
    assert list(read_lines(path)) == [(1, "é"), (2, "b")]


def test_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    assert list(read_lines(path)) == []


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_not_utf8_are_named_with_their_offset(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(mark + b"one\ncaf\xe9 au lait\n")
    lines = read_lines(path)
    assert next(lines) == (1, "one")
    with pytest.raises(MalformedRecordError) as error:
        next(lines)
    assert facts(error)["line"] == "2"
    assert f"0xe9 at offset {len(mark) + 7}" in facts(error)["seen"]
    assert facts(error)["file"] == str(path)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("one\ncafé\n".encode("utf-16"), "utf-16"),
        ("one café\n".encode("utf-16-le"), "utf-16le"),
        ("one café\n".encode("utf-16-be"), "utf-16be"),
        (b"caf\xe9\n\x93one\x94\n", "windows-1252"),
        (b"caf\xe9\n", "latin1"),
        ("“one” ".encode() + b"caf\xe9\n", "latin1"),
    ],
)
def test_the_fix_names_the_encoding(tmp_path: Path, data: bytes, encoding: str) -> None:
    for name, content in (("a.txt", data), ("a.txt.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MalformedRecordError) as error:
            list(read_lines(tmp_path / name))
        assert error.value.fixes == (
            f"convert the file: iconv -f {encoding} -t utf-8 OLD > NEW    ({encoding}: the encoding of OLD)",
        )


@pytest.mark.parametrize(
    ("data", "command"),
    [
        (bz2.compress(b"one\n"), "bunzip2 --keep"),
        (lzma.compress(b"one\n"), "unxz --keep"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "unzstd"),
        (b"PK\x03\x04\x14\x00", "unzip"),
    ],
)
def test_a_file_of_another_compression_has_a_fix_that_decompresses_it(
    tmp_path: Path, data: bytes, command: str
) -> None:
    path = tmp_path / "a b.txt"
    path.write_bytes(data)
    with pytest.raises(MalformedRecordError, match="in another way than gzip") as error:
        list(read_lines(path))
    assert error.value.fixes == (f"{command} '{path}'",)


def test_a_line_may_begin_like_a_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("BZh9 one\n")
    assert list(read_lines(tmp_path / "a.txt")) == [(1, "BZh9 one")]


@pytest.mark.parametrize("kept", [1, 2, 5, 12, -1, -8, -12])
def test_truncated_gzip(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"line\n" * 1000)[:kept])
    with pytest.raises(MalformedRecordError) as error:
        list(read_lines(path))
    assert facts(error)["file"] == str(path)


@pytest.mark.parametrize("data", [b"", b"plain text\n", b"\x1f"])
def test_gz_that_is_not_compressed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(MalformedRecordError, match="compressed file is damaged"):
        list(read_lines(path))


def test_damaged_gzip_body(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"some text that is long enough\n" * 200))
    data[20] ^= 0xFF
    path = tmp_path / "a.gz"
    path.write_bytes(bytes(data))
    with pytest.raises(MalformedRecordError):
        list(read_lines(path))


@pytest.mark.parametrize("name", ["absent.txt", ".", "a\0b", "x" * 300])
def test_files_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingFileError) as error:
        list(read_lines(tmp_path / name))
    assert error.value.exit_code == 3


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "\\ud83d\\ude00"}\n')
    assert list(read_json_lines(path)) == [(1, {"a": 1}), (3, {"b": "😀"})]


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '"text"', "null", '{"a": 1} {"b": 2}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}"],
    ids=["open", "list", "string", "null", "two", "deep", "long number"],
)
def test_lines_that_are_not_json_objects(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n' + line + "\n")
    with pytest.raises(MalformedRecordError) as error:
        list(read_json_lines(path))
    assert facts(error)["line"] == "2"
    assert len(facts(error)["seen"]) <= 120


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ('{"_id": "\\ud83d"}', "_id"),
        ('{"\\udc00": "a"}', r"\udc00"),
        ('{"a": "x\\uD83Dy"}', "a"),
        ('{"a": {"\\ud83d": 1}}', r"a.\ud83d"),
        ('{"a": {"b": "\\ud83d"}}', "a.b"),
        ('{"tags": ["tea", "half \\ud83d"]}', "tags"),
        ('{"a": [[{"b": [{"c": "\\udfff"}]}]]}', "a.b.c"),
        ('{"a": ' + "[" * 900 + '"\\ud83d"' + "]" * 900 + "}", "a"),
    ],
)
def test_lone_surrogates_are_refused_at_any_depth(tmp_path: Path, record: str, field: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"_id": "ok"}}\n{record}\n')
    with pytest.raises(MalformedRecordError, match="lone surrogate") as error:
        list(read_json_lines(path))
    assert facts(error)["line"] == "2"
    assert facts(error)["seen"].endswith(f" in {field}")


def test_escaped_text_about_surrogates_is_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "write \\ud83d for half"}))
    assert next(read_json_lines(path))[1]["text"] == "write \\ud83d for half"


@pytest.mark.parametrize("text", ['[{"_id": "a"}]', '[\n  {"_id": "a"}\n]\n'])
def test_the_error_for_an_array_names_the_command_that_makes_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "all.json"
    path.write_text(text)
    with pytest.raises(MalformedRecordError) as caught:
        list(read_json_lines(path))
    assert caught.value.fixes == (f"jq -c '.[]' {path} > objects.jsonl",)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compressed: bool) -> None:
    monkeypatch.setattr("termwise.collection.lines.MAX_LINE", 100)
    path = tmp_path / "long.txt"
    text = b"a" * 99 + b"\n" + b"b" * 1_000_000
    path.write_bytes(gzip.compress(text) if compressed else text)
    lines = read_lines(path)
    assert next(lines) == (1, "a" * 99)
    with pytest.raises(MalformedRecordError, match="a line is too long") as error:
        next(lines)
    assert facts(error)["line"] == "2"


def test_a_line_without_end_does_not_take_all_memory() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000,) * 2)\n"
        "from termwise.collection import read_lines\n"
        "from termwise.errors import MalformedRecordError\n"
        "from pathlib import Path\n"
        "try:\n    next(read_lines(Path('/dev/zero')))\n"
        "except MalformedRecordError as error:\n    print(error.message)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "a line is too long\n"


@pytest.mark.parametrize("record", ['{"_id": "a", "_id": "b"}', '{"_id": "a", "more": {"x": 1, "x": 2}}'])
def test_repeated_keys_are_refused(tmp_path: Path, record: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(record)
    with pytest.raises(MalformedRecordError, match="is given twice"):
        list(read_json_lines(path))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_that_is_read_at_once_has_a_limit(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"a" * 100) if compressed else b"a" * 100)
    assert read_bytes(path, most=100) == b"a" * 100
    with pytest.raises(MalformedRecordError, match="too long") as error:
        read_bytes(path, most=99)
    assert facts(error) == {"file": str(path), "expected": "at most 99 bytes, decompressed"}
