"""Click logs: estimates by hand, formats, and bad lines."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termwise.collection import read_clicks
from termwise.collection.clicks import KEYS
from termwise.errors import EmptyCollectionError, MalformedRecordError, ParameterError, TermwiseError
from termwise.records import Qrel

LOG = [
    ("green tea", "a", 1, 1),
    ("green tea", "a", 1, 0),
    ("green tea", "b", 2, 1),
    ("green tea", "c", 3, 0),
    ("green tea", "b", 4, 1),
    ("pot", "a", 1, 0),
]
"""No result for *pot* was clicked."""


def log_file(folder: Path, log: list[tuple[str, str, int, int]], ending: str = "tsv") -> Path:
    path = folder / f"clicks.{ending}"
    lines = ["\t".join(map(str, line)) for line in log]
    if ending == "jsonl":
        lines = [json.dumps(dict(zip(KEYS, line, strict=True)) | {"time": "08:15"}) for line in log]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_estimates_by_hand(tmp_path: Path) -> None:
    path = log_file(tmp_path, LOG)
    # a: 1 click / (1 + 2 views at rank 1); b: 2 clicks / (1 + 1/2 + 1/4) = 1.14; c: none
    expected = [Qrel("green tea", "a", 33), Qrel("green tea", "b", 100), Qrel("green tea", "c", 0)]
    assert read_clicks(path) == expected
    # all results are looked at: a 1 / (1 + 2), b 2 / (1 + 2)
    assert [qrel.relevance for qrel in read_clicks(path, eta=0)] == [33, 67, 0]
    # 1 / 2**2 + 1 / 4**2 = .3125, so b has more than 1; a large exponent leaves the first rank
    assert [qrel.relevance for qrel in read_clicks(path, eta=2)] == [33, 100, 0]
    one = log_file(tmp_path, [("q", "d", 2, 1)])
    assert [read_clicks(one, eta=eta)[0].relevance for eta in (0, 1, 2, 1e300)] == [50, 67, 80, 100]


def test_formats(tmp_path: Path) -> None:
    expected = read_clicks(log_file(tmp_path, LOG))
    assert read_clicks(log_file(tmp_path, LOG, "jsonl")) == expected
    text = log_file(tmp_path, LOG).read_text()
    (tmp_path / "header").write_text("\ufeffQuery\tdoc_id\trank\tclicked\r\n" + text)
    assert read_clicks(tmp_path / "header") == expected
    (tmp_path / "clicks.tsv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_clicks(tmp_path / "clicks.tsv.gz") == expected
    booleans = json.dumps({"query": "q", "doc_id": "d", "rank": 1, "clicked": True})
    (tmp_path / "log").write_text(booleans + "\n\n" + booleans.replace("true", "false"))
    assert read_clicks(tmp_path / "log") == [Qrel("q", "d", 33)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q\td\t1", "4 columns with tabs"),
        ("q d 1 1", "4 columns with tabs"),
        ("q\td\t0\t1", "a rank: a whole number from 1"),
        ("q\td\t1.5\t1", "a rank: a whole number from 1"),
        ("q\td\t9999999\t1", "a rank: a whole number from 1"),
        ("q\td\t1\t2", "whether it was clicked"),
        ("q\td\t1\tyes", "whether it was clicked"),
        (" \td\t1\t1", "a query"),
        ("q\t\t1\t1", "the identifier of a document"),
        ('{"query": "q", "doc_id": "d", "rank": 1}', "whether it was clicked"),
        ('{"query": "q", "doc_id": 3, "rank": 1, "clicked": 1}', "the identifier of a document"),
        ('{"query": "q", "doc_id": "d", "rank": true, "clicked": 1}', "a rank"),
        ('{"query": "q", "doc_id": "d", "rank": "1", "clicked": 1}', "a rank"),
        ('{"query": "q", "doc_id": "d", "rank": 1, "clicked": 0.5}', "whether it was clicked"),
        ('{"query": "q"', "one JSON object per line"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    good = json.dumps(dict(zip(KEYS, LOG[0], strict=True))) if line[0] == "{" else "q\td\t1\t1"
    path = tmp_path / "log"
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(MalformedRecordError, match=said) as raised:
        read_clicks(path)
    facts = dict(raised.value.facts)
    assert facts["file"] == path
    assert facts["line"] == 2


def test_too_little_and_out_of_range(tmp_path: Path) -> None:
    path = log_file(tmp_path, [("q", "d", 1, 0)])
    with pytest.raises(EmptyCollectionError, match="no result of the click log was clicked"):
        read_clicks(path)
    for eta in (-1, float("nan"), "1"):
        with pytest.raises(ParameterError, match="eta"):
            read_clicks(path, eta=eta)  # type: ignore[arg-type]
    with pytest.raises(TermwiseError):
        read_clicks(tmp_path / "none")


VIEWS = st.lists(
    st.tuples(st.sampled_from("qr"), st.sampled_from("abc"), st.integers(1, 9), st.integers(0, 1)), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(VIEWS, st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter_and_clicks_never_lower(
    tmp_path_factory: pytest.TempPathFactory, log: list[tuple[str, str, int, int]], order: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("clicks")
    log.append(("q", "a", 1, 1))
    grades = {qrel[:2]: qrel.relevance for qrel in read_clicks(log_file(folder, log))}
    shuffled = order.sample(log, len(log))
    assert {qrel[:2]: qrel.relevance for qrel in read_clicks(log_file(folder, shuffled))} == grades
    clicked = {(query, doc_id) for query, doc_id, _, click in log if click}
    assert all(0 <= grade <= 100 and (not grade or pair in clicked) for pair, grade in grades.items())
    place = order.randrange(len(log))
    log[place] = (*log[place][:3], 1)
    more = {qrel[:2]: qrel.relevance for qrel in read_clicks(log_file(folder, log))}
    assert all(more[pair] >= grade for pair, grade in grades.items())


def test_clicks_that_follow_the_model_give_its_relevance(tmp_path: Path) -> None:
    """A relevant document that was always at rank 5 has more than a worse one at rank 1, which has more clicks."""
    random_numbers, relevance, log = random.Random(1), {"good": 0.8, "bad": 0.3}, []
    for _ in range(4000):
        for doc_id, rank in (("bad", 1), ("good", 5)):
            log.append(("q", doc_id, rank, int(random_numbers.random() < relevance[doc_id] / rank)))
    clicks = {doc_id: sum(line[3] for line in log if line[1] == doc_id) for doc_id in relevance}
    assert clicks["bad"] > 1.5 * clicks["good"]
    grades = {qrel.doc_id: qrel.relevance for qrel in read_clicks(log_file(tmp_path, log))}
    assert grades == pytest.approx({"good": 80, "bad": 30}, abs=4)
