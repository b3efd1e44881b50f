"""Judgments: formats, splits and contradictions."""

import gzip
from pathlib import Path

import pytest

from termwise.collection import read_qrels, read_seeds
from termwise.errors import DuplicateIdError, MalformedRecordError, MissingFileError
from termwise.records import Qrel

EXPECTED = [Qrel("q1", "d1", 2), Qrel("q1", "d2", 0), Qrel("q2", "d1", -1)]


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t-1\n",
        "q1\td1\t2\nq1\td2\t0\nq2\td1\t-1\n",
        "q1 0 d1 2\nq1 0 d2 0\r\n\nq2 0 d1 -1\n",
        "q1\t0\td1\t2\nq1\t0\td2\t0\nq2\t0\td1\t-1\n",
        "  q1  0  d1 +2 \nq1 0\td2 0\nq2 0 d1 -1",
        "query_id iter doc_id rel\nq1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\n",
        "q1 0 d1 2\nq1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\n",
    ],
    ids=["beir", "no header", "trec", "tabs", "ragged", "trec header", "repeated"],
)
def test_forms(tmp_path: Path, text: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text)
    assert read_qrels(path) == EXPECTED
    path.write_bytes(gzip.compress(text.encode()))
    assert read_qrels(str(path)) == EXPECTED


def test_identifiers_with_spaces_in_tab_separated_files(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq 1\ta document\t1\n")
    assert read_qrels(path) == [Qrel("q 1", "a document", 1)]


def test_byte_order_marks_of_joined_files_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("\ufeffq1 0 a 1\n\ufeffq2 0 b 1\n")
    assert [qrel.query_id for qrel in read_qrels(tmp_path / "qrels.txt")] == ["q1", "q2"]
    (tmp_path / "seeds.tsv").write_text("q1\ta\n\ufeffq2\tb\n")
    assert list(read_seeds(tmp_path / "seeds.tsv")) == ["q1", "q2"]


def test_iteration_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q1 4.5 d1 1\n")
    assert read_qrels(path) == [Qrel("q1", "d1", 1, "4.5")]


@pytest.mark.parametrize(
    "line", ["q1 d2", "q1 0 d2 one", "q1 0 d2 1.0", "q1 0 d2 1_0", "q1 0 d2 ١", "q1 d2 1", "q1 0 d 2 1"]
)
def test_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(f"q1 0 d1 1\n{line}\n")
    with pytest.raises(MalformedRecordError) as error:
        read_qrels(path)
    assert dict(error.value.facts)["line"] == 2
    assert dict(error.value.facts)["seen"] == line


@pytest.mark.parametrize("digits", [19, 300, 5000])
def test_a_grade_of_too_many_digits_is_refused_and_shortened(tmp_path: Path, digits: int) -> None:
    path = tmp_path / "qrels"
    path.write_text(f"q1 0 d1 {10**17}\nq1 0 d2 {'9' * digits}\n")
    with pytest.raises(MalformedRecordError, match="at most 18 digits") as error:
        read_qrels(path)
    assert dict(error.value.facts)["line"] == 2
    assert len(dict(error.value.facts)["seen"]) <= 120


def test_contradiction_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q1 0 d1 1\nq2 0 d1 2\nq1 0 d1 0\n")
    with pytest.raises(DuplicateIdError) as error:
        read_qrels(path)
    facts = dict(error.value.facts)
    assert (facts["lines"], facts["query"], facts["document"]) == ("1 and 3", "q1", "d1")


def test_a_folder_in_beir_layout_is_its_test_split(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(MissingFileError) as error:
        read_qrels(tmp_path)
    assert error.value.fixes == (str(tmp_path / "qrels" / "dev.tsv"),)
    (tmp_path / "qrels" / "test.tsv").write_text("q2\td2\t1\n")
    assert read_qrels(tmp_path) == [Qrel("q2", "d2", 1)]


def test_the_split_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("q1\td1\t1\n")
    with gzip.open(tmp_path / "qrels" / "train.tsv.gz", "wt") as file:
        file.write("q2\td2\t1\n")
    assert read_qrels(tmp_path, split="dev") == [Qrel("q1", "d1", 1)]
    assert read_qrels(tmp_path, split="train") == [Qrel("q2", "d2", 1)]
