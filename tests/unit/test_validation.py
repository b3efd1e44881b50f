from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise
from termwise import Document, Qrel, Run
from termwise.collection import open_collection, read_qrels, read_queries, read_run, read_seeds, write_run
from termwise.errors import ParameterError
from termwise.evaluate import evaluate
from termwise.fusion import mix_indexes
from termwise.index import IndexWriter, verify
from termwise.indexing import build_graph
from termwise.search.timed_run import TimedRun
from termwise.validation import (
    check,
    check_count,
    check_document,
    check_documents,
    check_flag,
    check_memory,
    check_names,
    check_path,
    check_texts,
    check_threads,
    is_finite_number,
)


@pytest.mark.parametrize(
    ("checked", "right", "wrong"),
    [
        (lambda value: check("x", value, value == 1, "one"), [1], [2]),
        (lambda value: check_path("x", value), ["a", Path("a"), "\udcff"], [b"a", 3, None, "a\ud800b"]),
        (lambda value: check_flag("x", value), [True, np.False_], ["false", 0, None]),
        (lambda value: check_count("x", value), [1, 1 << 70], [0, -1, True, 1.0, "1", None]),
        (lambda value: check_count("x", value, least=0), [0], [-1, False]),
        (check_threads, [1, 1024], [0, 1025, 1 << 31, True, 2.0, "2", None]),
        (check_memory, [1, 2**62], [0, 2**62 + 1, 10**400, 10**5000, True, 2e9, "2GB", None]),
        (lambda value: check_names("x", value), [(), ("a",), ["a", "b"]], ["ab", b"ab", (1,), None, 3]),
        (check_texts, [[], ["a"], ("a", "b")], ["a", [3], None, iter(["a"])]),
        (check_documents, [[], iter(())], ["a", Path("a"), b"a", None, 3]),
        (check_document, [Document("a", "b")], [("a", "b"), Document("a", 3), Document(None, "b"), "a"]),
    ],
)
def test_right_and_wrong_arguments(checked, right, wrong):
    for value in right:
        checked(value)
    for value in wrong:
        with pytest.raises(ParameterError):
            checked(value)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (Document("\ud83d", "x"), "doc_id"),
        (Document("a", "half \ud83d"), "text"),
        (Document("a", "x", {"tags": ("tea", "half \ud83d")}), "attributes.tags"),
        (Document("a", "x", {"\ud83d": 1}), r"attributes.\ud83d"),
        (Document("a", "x", {"meta": [{"b": "\ud83d"}]}), "attributes.meta.b"),
        (Document.of_fields("a", {"title": "half \ud83d", "text": "x"}), "title"),
    ],
)
def test_lone_surrogates_are_refused_in_every_string_of_a_document(
    document: Document, field: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match="lone surrogate") as caught:
        check_document(document)
    assert dict(caught.value.facts)["field"] == field
    with pytest.raises(ParameterError, match="lone surrogate"):
        termwise.build_index(
            [Document("b", "x"), document],
            tmp_path / "i.tw",
            fields=document.fields and {"title": 1, "text": 1},
        )
    searcher = termwise.build_index([Document("b", "\U0001f600")], tmp_path / "j.tw")
    with (
        termwise.open_writer(tmp_path / "j.tw") as writer,
        pytest.raises(ParameterError, match="lone surrogate"),
    ):
        writer.add([document])
    assert searcher.refresh().index.documents == 1


def test_the_error_names_argument_value_and_expected_value():
    with pytest.raises(ParameterError, match="threads cannot have this value") as caught:
        check_count("threads", "2" * 100)
    facts = dict(caught.value.facts)
    assert facts["expected"] == "a whole number of at least 1"
    assert facts["given"].startswith("'222")
    assert len(facts["given"]) == 80


def test_a_number_that_is_too_long_to_write_is_refused_as_any_other():
    with pytest.raises(ParameterError, match="an int that is too long to write"):
        check_count("threads", -(10**5000))


def test_finite_numbers():
    for value in (0, -1.5, np.int64(3), np.float32(0.1), 10**300):
        assert is_finite_number(value)
    for value in (math.nan, -math.inf, 10**400, -(10**400), True, "1", None, 1j):
        assert not is_finite_number(value)


@pytest.mark.parametrize("path", [None, 3, "a\0b", "a\ud800b"])
@pytest.mark.parametrize(
    "call",
    [
        termwise.open,
        lambda path: termwise.build_index([Document("a", "b")], path),
        build_graph,
        lambda path: mix_indexes([path, path], [0.5, 0.5], "mixed"),
        lambda path: mix_indexes(["one", "other"], [0.5, 0.5], path),
        verify,
        open_collection,
        read_qrels,
        read_queries,
        read_run,
        read_seeds,
        lambda path: write_run(Run([]), path),
    ],
)
def test_public_functions_refuse_what_is_not_a_path(call: Callable[[Any], object], path: object) -> None:
    with pytest.raises(ParameterError, match=r"a path|a sequence of paths"):
        call(path)


def test_a_path_or_a_timed_run_is_not_a_run(tmp_path: Path) -> None:
    timed = TimedRun(Run([]), np.zeros(0), np.zeros(0))
    for value, fix in (("x.trec", "read_run"), (timed, "attribute `run`")):
        with pytest.raises(ParameterError, match=fix):
            evaluate(value, [Qrel("q", "d", 1)], ["RR"])  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=fix):
            write_run(value, tmp_path / "x.trec")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"overwrite": "false"}, {"store_text": 1}])
def test_flags_are_true_or_false(tmp_path: Path, wrong: dict[str, Any]) -> None:
    index = tmp_path / "index"
    searcher = termwise.build_index([Document("a", "b")], index)
    before = sorted(index.iterdir())
    with pytest.raises(ParameterError) as caught:
        termwise.build_index([Document("c", "d")], index, **{"overwrite": True, **wrong})
    assert next(iter(wrong)) in caught.value.message
    with pytest.raises(ParameterError):
        IndexWriter(index, **{"overwrite": True, **wrong})
    with pytest.raises(ParameterError, match="overwrite"):
        mix_indexes([index, index], [0.5, 0.5], tmp_path / "m", overwrite="no")  # type: ignore[arg-type]
    assert sorted(index.iterdir()) == before
    assert searcher.rank("b").doc_ids == ("a",)


@pytest.mark.parametrize(
    "wrong",
    [{"reorder": None}, {"quantiser": ""}, {"threads": 0}, {"memory": "2GB"}, {"encoding": 1}],
)
def test_options_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        termwise.BuildOptions(**wrong)
