"""Texts for the query table: files, training pairs, and bad input."""

from __future__ import annotations

import gzip
import os
from random import Random

import numpy as np
import pytest

from termwise.collection.training_pairs import PairSource
from termwise.errors import (
    EmptyCollectionError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
)
from termwise.train.data.tokenised_texts import TokenisedTexts
from termwise.train.lookup.texts import read_texts, texts_of_pairs

from ..conftest import write_jsonl

PASSAGE = "Too short. The first sentence is long enough. This is another sentence! And is this a third one?"


def test_files_keep_their_order_and_repeated_texts_are_dropped(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("merge lists\n\n  sort a list \nmerge lists\n")
    lines = write_jsonl(
        tmp_path / "rows.jsonl", {"text": "sort a list"}, {"text": "heat", "source": "air"}, {"text": "tree"}
    )
    read = read_texts([plain, str(lines)])
    assert read.texts == ["merge lists", "sort a list", "heat", "tree"]
    assert read.sources == {"air": 1, "plain": 2, "rows": 1}
    packed = tmp_path / "plain.txt.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_texts([packed]).sources == {"plain": 2}
    assert read_texts([plain, lines]) == read != read_texts([lines, plain])


def test_a_limit_draws_texts_in_their_order(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"{number}\n" for number in range(50)))
    drawn = read_texts([plain], most=10, seed=1)
    assert len(drawn.texts) == drawn.sources["plain"] == 10
    assert drawn.texts == sorted(drawn.texts, key=int)
    assert (
        drawn.texts
        == read_texts([plain], most=10, seed=1).texts
        != read_texts([plain], most=10, seed=2).texts
    )
    assert len(read_texts([plain], most=100).texts) == 50


def test_pairs_give_queries_and_two_sentences_of_each_passage(tmp_path):
    write_jsonl(tmp_path / "pairs" / "faq.jsonl", {"query": "what  is\nthis", "passage": PASSAGE})
    read = read_texts([tmp_path / "pairs"], seed=4)
    assert read.sources == {"faq": 3}
    assert read.texts[0] == "what is this"
    sentences = {
        "The first sentence is long enough.",
        "This is another sentence!",
        "And is this a third one?",
    }
    assert set(read.texts[1:]) < sentences


def test_a_limit_of_queries_and_passages():
    numbers = np.arange(9, dtype=np.int32)
    source = PairSource(
        "made",
        [f"query {number}" for number in numbers],
        [f"A passage with the number {number}." for number in numbers],
        np.stack([numbers, numbers], axis=1),
    )
    drawn = list(texts_of_pairs(source, Random(1), queries=4, passages=2))
    assert [text.startswith("query") for text in drawn] == [True] * 4 + [False] * 2
    assert drawn == list(texts_of_pairs(source, Random(1), queries=4, passages=2))
    assert len(list(texts_of_pairs(source, Random(1)))) == 18


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": ""}', "a text is not valid"),
        ('{"text": 3}', "a text is not valid"),
        ('{"text": "wing", "source": 3}', "a text is not valid"),
        ('{"query": "wing", "passage": "a wing"}', "a text is not valid"),
        ('["wing"]', "bad.jsonl"),
        ('{"text": "wing"', "not valid JSON"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, said):
    file = tmp_path / "bad.jsonl"
    file.write_text('{"text": "fine"}\n' + line + "\n")
    with pytest.raises(MalformedRecordError, match=said) as raised:
        read_texts([file])
    facts = {name: str(value) for name, value in raised.value.facts}
    assert "bad.jsonl" in str(facts)
    assert "2" in str(facts)


def test_bad_paths(tmp_path):
    with pytest.raises(MissingFileError, match="no such file"):
        read_texts([tmp_path / "none.txt"])
    for name in ("empty.txt", "empty.jsonl"):
        (tmp_path / name).write_text("\n")
        with pytest.raises(EmptyCollectionError, match="no texts"):
            read_texts([tmp_path / name])
    (tmp_path / "texts.csv").write_text("a,b\n")
    with pytest.raises(ParameterError, match=r"\.txt or \.jsonl"):
        read_texts([tmp_path / "texts.csv"])
    (tmp_path / "folder").mkdir()
    with pytest.raises(MissingFileError, match="no training pairs"):
        read_texts([tmp_path / "folder"])
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(MissingFileError, match="pipe"):
        read_texts([tmp_path / "pipe.txt"])
    (tmp_path / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(MalformedRecordError, match="UTF-8"):
        read_texts([tmp_path / "latin.txt"])


def test_texts_are_cut_and_counted(analyzer):
    texts = TokenisedTexts.of(["wing wing the lift", "the", "", "heat flow heat flow heat"], analyzer, most=4)
    tokens = [[analyzer.vocabulary.token(int(piece)) for piece in texts.row(number)] for number in range(4)]
    assert tokens == [["wing", "wing", "the", "lift"], ["the"], [], ["heat", "flow", "heat", "flow"]]
    kept = np.array([token not in ("the", "[UNK]") for token in analyzer.vocabulary])
    counts = texts.counts(kept).toarray()
    columns = [analyzer.vocabulary.number(token) for token in ("wing", "lift", "heat", "flow", "the")]
    np.testing.assert_allclose(
        counts[:, columns],
        [[2 / 3**0.5, 1 / 3**0.5, 0, 0, 0], [0] * 5, [0] * 5, [0, 0, 1, 1, 0]],
        rtol=1e-6,
    )
    assert np.count_nonzero(counts) == 4
