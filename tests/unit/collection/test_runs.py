"""Runs: order, exact scores, odd identifiers, and files that appear whole or not at all."""

import errno
import gzip
import os
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.collection import read_run, write_run
from termwise.errors import (
    DuplicateIdError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    StorageError,
)
from termwise.records import Ranking, Run


def test_the_error_for_a_folder_shows_how_to_rank_with_an_index(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="a folder is not a run") as caught:
        read_run(tmp_path)
    assert caught.value.fixes_worded()[0].endswith(f"`termwise.open('{tmp_path}')`")


def read(tmp_path: Path, text: str) -> Run:
    path = tmp_path / "run.trec"
    path.write_text(text)
    return read_run(path)


def test_order_is_score_then_rank_then_line(tmp_path: Path) -> None:
    run = read(
        tmp_path,
        "q2 Q0 a 1 0.5 s\n"
        "q1 Q0 c 3 1.0 s\n"
        "q1 Q0 a 9 2.0 s\n"
        "q1 Q0 b 2 1.0 s\n"
        "q1 Q0 e 3 1.0 s\n"
        "q1 Q0 d 3 1.0 s\n"
        "q2 Q0 b 0 0.5 s\n",
    )
    assert [ranking.query_id for ranking in run] == ["q2", "q1"]
    assert run["q1"].doc_ids == ("a", "b", "c", "e", "d")
    assert run["q2"].doc_ids == ("b", "a")
    assert run.name == "s"


@pytest.mark.parametrize("score", ["inf", "-inf", "1e-320", "-0.0", "3", "+2.5E3"])
def test_scores_are_read_exactly(tmp_path: Path, score: str) -> None:
    assert read(tmp_path, f"q Q0 d 1 {score} s")["q"].scores[0] == float(score)


def test_ms_marco_form(tmp_path: Path) -> None:
    run = read(tmp_path, "q1\td2\t2\nq1\td1\t1\nq1\td4\t4\n")
    assert run["q1"] == Ranking(["d1", "d2", "d4"], [1.0, 0.5, 0.25], "q1")
    assert run.name == "run"


def test_byte_order_marks_of_joined_files_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "r.trec").write_text("\ufeffq1 Q0 a 1 2 x\n\ufeffq2 Q0 b 1 2 x\n")
    assert [ranking.query_id for ranking in read_run(tmp_path / "r.trec")] == ["q1", "q2"]


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "my.bm25.trec.gz"
    path.write_bytes(gzip.compress(b"q d 1\n"))
    assert read_run(path).name == "my.bm25"
    assert read_run(path, name="BM25 tuned").name == "BM25 tuned"


def test_empty_file_is_an_empty_run(tmp_path: Path) -> None:
    assert len(read(tmp_path, "\n\n")) == 0


def test_tabs_separate_identifiers_with_spaces(tmp_path: Path) -> None:
    run = read(tmp_path, "q 1\tQ0\ta document\t1\t2.0\tmy system\n")
    assert (run["q 1"].doc_ids, run.name) == (("a document",), "my system")


def test_mixed_white_space_is_split_at_white_space(tmp_path: Path) -> None:
    assert read(tmp_path, "q1 Q0\td1 1 2.0 s \n")["q1"].doc_ids == ("d1",)


@pytest.mark.parametrize(
    "line",
    [
        "q Q0 d2 1 2.0",
        "q Q0 d2 1 2.0 s extra",
        "q Q0 d2 1 nan s",
        "q Q0 d2 1 1_0 s",
        "q Q0 d2 1 high s",
        "q Q0 d2 first 2.0 s",
        "q Q0 d2 1.5 2.0 s",
        "q Q0 d2 99999999999999999999 2.0 s",
        "q d2 1",
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(MalformedRecordError) as error:
        read(tmp_path, f"q Q0 d1 1 3.0 s\n{line}\n")
    facts = dict(error.value.facts)
    assert (facts["line"], facts["file"]) == (2, tmp_path / "run.trec")


def test_ranks_without_scores_start_at_one(tmp_path: Path) -> None:
    with pytest.raises(MalformedRecordError, match="from 1"):
        read(tmp_path, "q d1 0\n")


def test_document_listed_twice(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError) as error:
        read(tmp_path, "q Q0 d1 1 3.0 s\np Q0 d1 1 3.0 s\nq Q0 d1 2 2.0 s\n")
    facts = dict(error.value.facts)
    assert (facts["lines"], facts["query"], facts["document"]) == ("1 and 3", "q", "d1")


def test_bytes_of_a_small_file(tmp_path: Path) -> None:
    run = Run([Ranking(["b", "a"], [0.1 + 0.2, 0.1], "q1"), Ranking(["é"], [3], "2")], name="bm25")
    write_run(run, tmp_path / "run")
    expected = "q1 Q0 b 1 0.30000000000000004 bm25\nq1 Q0 a 2 0.1 bm25\n2 Q0 é 1 3.0 bm25\n"
    assert (tmp_path / "run").read_bytes() == expected.encode()
    write_run(run, tmp_path / "run.gz")
    assert gzip.decompress((tmp_path / "run.gz").read_bytes()) == expected.encode()


def test_compressed_bytes_do_not_depend_on_time_or_name(tmp_path: Path) -> None:
    run = Run([Ranking(["b"], [1.0], "q1")])
    for name in ("a.gz", "b.gz"):
        write_run(run, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


ids = st.text(min_size=1).filter(lambda text: text.split() == [text] and text[0] != "\ufeff")
spaced = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text[0] != "\ufeff"
)
scores = st.floats(allow_nan=False)


@st.composite
def runs(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Run:
    rankings = []
    for query_id in draw(st.lists(names, unique=True, max_size=4)):
        doc_ids = draw(st.lists(names, unique=True, min_size=1, max_size=6))
        values = draw(st.lists(scores, min_size=len(doc_ids), max_size=len(doc_ids)))
        rankings.append(Ranking(doc_ids, sorted(values, reverse=True), query_id))
    return Run(rankings, name=draw(names))


@given(runs(ids))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    write_run(run, path)
    again = read_run(path)
    assert list(again) == list(run)
    assert len(run) == 0 or again.name == run.name


@given(runs(spaced))
def test_round_trip_with_tabs(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.gz"
    write_run(run, path, separator="tab")
    assert list(read_run(path)) == list(run)


def test_ir_measures_reads_a_written_run(tmp_path: Path) -> None:
    run = Run([Ranking(["dö", "a"], [1 / 3, 1e-300], "q1")])
    write_run(run, tmp_path / "run")
    rows = [tuple(row)[:3] for row in ir_measures.read_trec_run(str(tmp_path / "run"))]
    assert rows == [("q1", "dö", 1 / 3), ("q1", "a", 1e-300)]


@pytest.mark.parametrize("value", ["a b", "", " ", "a\u00a0b", "a\tb", "a\nb", "\ufeffa", "\ud800"])
@pytest.mark.parametrize("place", ["query", "document", "name"])
def test_identifiers_that_cannot_be_written(tmp_path: Path, value: str, place: str) -> None:
    parts = {"query": "q", "document": "d", "name": "s"} | {place: value}
    run = Run([Ranking([parts["document"]], [1.0], parts["query"])], name=parts["name"])
    with pytest.raises(ParameterError) as error:
        write_run(run, tmp_path / "run")
    assert ("choose a name" if place == "name" else "separator='tab'") in error.value.fixes_worded()[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["a\tb", "a\nb", "a\rb", "", "\ud800"])
def test_identifiers_that_cannot_be_written_with_tabs(tmp_path: Path, value: str) -> None:
    with pytest.raises(ParameterError):
        write_run(Run([Ranking([value], [1.0], "q")]), tmp_path / "run", separator="tab")


def test_unknown_separator(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="separator"):
        write_run(Run([]), tmp_path / "run", separator="comma")  # type: ignore[arg-type]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("before")
    with pytest.raises(ParameterError):
        write_run(Run([Ranking(["a"], [1.0], "q"), Ranking(["a b"], [1.0], "p")]), path)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError) as error:
        write_run(Run([Ranking(["a"], [1.0], "q")]), tmp_path / "run")
    assert dict(error.value.facts)["reason"] == "No space left on device"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["absent/run", ".", "x" * 300])
def test_paths_that_cannot_be_written_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError) as error:
        write_run(Run([]), tmp_path / name)
    assert dict(error.value.facts)["file"] == tmp_path / name


def test_the_target_of_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_run(Run([Ranking(["a"], [1.0], "q")]), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "q Q0 a 1 1.0 termwise\n"


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_run(Run([Ranking(["a"], [1.0], "q")]), pipe)
        assert os.read(reader, 100) == b"q Q0 a 1 1.0 termwise\n"
    finally:
        os.close(reader)


def test_interruption_removes_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(what: str, name: str, *, tabs: bool) -> None:
        if what == "document id":
            raise KeyboardInterrupt

    run = Run([Ranking(["a"], [1.0], "q")])
    monkeypatch.setattr("termwise.collection.runs.check_writable", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_run(run, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_many_equal_scores_keep_their_order(tmp_path: Path) -> None:
    doc_ids = [f"d{number}" for number in np.random.default_rng(5).permutation(1000)]
    run = Run([Ranking(doc_ids, np.zeros(1000), "q")])
    write_run(run, tmp_path / "run")
    assert read_run(tmp_path / "run")["q"].doc_ids == tuple(doc_ids)


@pytest.mark.parametrize(
    "score", ["1e999", "-1e999", "9" * 5000, "\u0661\u0662", "0x10", "1_0", "nan", "infinity"]
)
def test_scores_are_ascii_decimal_numbers(tmp_path: Path, score: str) -> None:
    path = tmp_path / "a.trec"
    path.write_text(f"q1\tQ0\ta\t1\t{score}\tx\n")
    with pytest.raises(MalformedRecordError, match="a score"):
        read_run(path)


@pytest.mark.parametrize("score", ["1", "-2.5", "+.5", "3.", "1e-7", "2E+3", "inf", "-inf"])
def test_forms_of_scores(tmp_path: Path, score: str) -> None:
    path = tmp_path / "a.trec"
    path.write_text(f"q1 Q0 a 1 {score} x\n")
    assert read_run(path)["q1"].scores[0] == float(score)


def test_a_rank_with_two_signs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.trec"
    path.write_text("q1 Q0 a -+5 1.0 x\n")
    with pytest.raises(MalformedRecordError, match="a rank"):
        read_run(path)
