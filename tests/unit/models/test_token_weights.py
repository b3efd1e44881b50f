"""Files of token weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from termwise.errors import DataError, MalformedRecordError, MissingFileError
from termwise.models import VectorModel, read_token_weights
from termwise.models.token_weights import term_weights
from termwise.text.vocabulary import Vocabulary


def test_json_and_columns_give_equal_weights(tmp_path: Path) -> None:
    (tmp_path / "idf.json").write_text('{"wing": 7.1, "##er": 2, "ö": 0}', encoding="utf-8")
    (tmp_path / "idf.tsv").write_text("wing\t7.1\n##er\t2\n\nö\t0\n", encoding="utf-8")
    expected = {"wing": 7.1, "##er": 2.0, "ö": 0.0}
    assert read_token_weights(tmp_path / "idf.json") == expected
    assert read_token_weights(tmp_path / "idf.tsv") == expected


def test_windows_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "idf.tsv").write_bytes(b"\xef\xbb\xbfwing\t7\r\na\tb\t1\r\n")
    assert read_token_weights(tmp_path / "idf.tsv") == {"wing": 7.0, "a\tb": 1.0}


@pytest.mark.parametrize(
    "line",
    ["wing", "wing 7", "wing\tseven", "wing\t-1", "wing\tnan", "wing\tinf", "\t1", "the\t2", "wing\t1e39"],
)
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "idf.tsv"
    path.write_text(f"the\t1\n{line}\n")
    with pytest.raises(MalformedRecordError) as caught:
        read_token_weights(path)
    assert dict(caught.value.facts)["line"] == 2


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "[]", "3", '{"a": -1}', '{"a": NaN}', '{"a": true}', '{"a": "1"}', '{"a": 1, "a": 2}',
     '{"a": {"b": 1}}', '{"a": 1e999}', '{"a": null}', '[["a", 1]]'],
)  # fmt: skip
def test_bad_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "idf.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_token_weights(path)
    assert dict(caught.value.facts)["file"] == path


@pytest.mark.parametrize("name", ["absent.json", "absent.tsv", "."])
def test_missing_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingFileError):
        read_token_weights(tmp_path / name)


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "idf.tsv").write_bytes(b"caf\xe9\t1\n")
    (tmp_path / "idf.json").write_bytes(b'{"caf\xe9": 1}')
    for name in ("idf.tsv", "idf.json"):
        with pytest.raises(DataError):
            read_token_weights(tmp_path / name)


def test_missing_tokens_get_the_stated_weight() -> None:
    vocabulary = Vocabulary(["a", "b", "c"])
    weights = term_weights({"b": 5.0, "elsewhere": 9.0}, vocabulary, missing=0.5)
    assert weights.tolist() == [0.5, 5.0, 0.5]
    assert weights.dtype == np.float32


def test_the_model_reads_its_file(tmp_path: Path) -> None:
    path = tmp_path / "idf.json"
    path.write_text('{"b": 5}')
    vocabulary = Vocabulary(["a", "b"])
    assert VectorModel().term_weights(vocabulary) is None
    assert VectorModel(query="idf", idf=str(path)).term_weights(vocabulary).tolist() == [1.0, 5.0]
    strict = VectorModel(query="idf", idf=str(path), idf_missing=0)
    assert strict.term_weights(vocabulary).tolist() == [0.0, 5.0]


def test_a_json_file_is_a_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "idf.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(MissingFileError, match="a regular file"):
        read_token_weights(path)
