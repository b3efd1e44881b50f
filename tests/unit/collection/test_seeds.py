"""Seeds: the documents queries are made of."""

from pathlib import Path

import pytest

from termwise.collection import read_seeds
from termwise.errors import MalformedRecordError, MissingFileError


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\nq1\td1\nq 2\td2\nq1\td3\n",
        "q1\td1\nq 2\td2\nq1\td3\nq1\td3\n",
    ],
    ids=["header", "no header"],
)
def test_forms(tmp_path: Path, text: str) -> None:
    (tmp_path / "seeds.tsv").write_text(text)
    assert read_seeds(tmp_path / "seeds.tsv") == {"q1": frozenset({"d1", "d3"}), "q 2": frozenset({"d2"})}


def test_spaces_separate_columns_without_a_tab(tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text("q1 d1\n")
    assert read_seeds(str(tmp_path / "seeds")) == {"q1": frozenset({"d1"})}


def test_a_query_id_equal_to_a_header_name_is_read_after_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text("q1 d1\nqid d2\n")
    assert set(read_seeds(tmp_path / "seeds")) == {"q1", "qid"}


@pytest.mark.parametrize("line", ["q1", "q1\td1\td2", "q1 d 1"])
def test_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "seeds").write_text(f"q0 d0\n{line}\n")
    with pytest.raises(MalformedRecordError) as error:
        read_seeds(tmp_path / "seeds")
    assert dict(error.value.facts)["line"] == 2


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_seeds(tmp_path / "seeds.tsv")
