"""Encoding in blocks: resumption, shards and progress."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.encode.counting import DOCUMENTS, Counting, path_of, read, texts

from termwise.encode import encoded_blocks
from termwise.encode.block_file import block_files
from termwise.errors import MissingFileError, ParameterError
from termwise.records import Document
from termwise.weights import TermWeights


def test_blocks_in_order_and_then_from_the_folder(tmp_path: Path) -> None:
    first = Counting()
    made = read(tmp_path / "work" / "a", first)
    assert [[document.doc_id for document in block] for block, _ in made] == [
        ["d0", "d1", "d2"],
        ["d3", "d4", "d5"],
        ["d6", "d7"],
    ]
    assert made[0][1] == TermWeights.from_rows([{}, {0: 2, 1: 0.1}, {0: 4, 1: 0.1}], Counting.vocabulary.id)
    again = Counting()
    assert [rows for _, rows in read(tmp_path / "work" / "a", again)] == [rows for _, rows in made]
    assert again.seen == []


def test_an_interrupted_encoding_resumes(tmp_path: Path) -> None:
    first = Counting()
    first.fail_at = DOCUMENTS[4].text
    done = []
    with pytest.raises(KeyboardInterrupt):
        done.extend(encoded_blocks(DOCUMENTS, first, tmp_path))
    assert len(done) == 1
    assert set(tmp_path.iterdir()) == {path_of(tmp_path, *texts(0, 1, 2)), tmp_path / "encoding.json"}
    again = Counting()
    assert len(read(tmp_path, again)) == 3
    assert again.seen == texts(3, 4, 5, 6, 7)


def test_only_new_texts_are_encoded(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    blocks = len(block_files(tmp_path))
    encoder = Counting()
    without_first = read(tmp_path, encoder, documents=DOCUMENTS[1:])
    renamed = [Document(f"x{document.doc_id}", document.text) for document in reversed(DOCUMENTS)]
    read(tmp_path, encoder, documents=renamed)
    assert encoder.seen == []
    assert len(block_files(tmp_path)) == blocks
    assert [[document.doc_id for document in block] for block, _ in without_first] == [
        ["d1", "d2", "d3"],
        ["d4", "d5", "d6"],
        ["d7"],
    ]
    changed = [*DOCUMENTS[:4], Document("new", "one more"), Document("d4", "another text"), *DOCUMENTS[5:]]
    made = read(tmp_path, encoder, documents=changed)
    assert encoder.seen == ["one more", "another text"]
    assert path_of(tmp_path, "one more", "another text").exists()
    assert [rows for _, rows in made] == [
        rows for _, rows in read(tmp_path / "new", Counting(), documents=changed)
    ]


def test_collections_share_a_folder(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    others = [Document(f"x{number}", "cd" * number) for number in range(8)]
    encoder = Counting()
    read(tmp_path, encoder, documents=others)
    assert encoder.seen == [document.text for document in others[1:]]  # both have an empty text
    encoder = Counting()
    read(tmp_path, encoder)
    read(tmp_path, encoder, documents=[*others, *DOCUMENTS])
    assert encoder.seen == []


@given(st.lists(st.lists(st.text("ab", max_size=3), max_size=12), max_size=6))
def test_the_states_of_a_collection(states: list[list[str]]) -> None:
    seen: set[str] = set()
    with TemporaryDirectory() as folder:
        for state in states:
            encoder = Counting()
            documents = [Document(str(number), text) for number, text in enumerate(state)]
            made = read(Path(folder), encoder, documents=documents)
            assert [document for block, _ in made for document in block] == documents
            for block, rows in made:
                assert rows == Counting().encode_documents([document.text for document in block])
            assert set(encoder.seen) == set(state) - seen
            seen.update(state)


def test_a_block_that_is_damaged_while_it_is_used(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    blocks = encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    next(blocks)
    path = path_of(tmp_path, *texts(6, 7))
    path.unlink()
    next(blocks)
    with pytest.raises(MissingFileError, match="removed or changed") as caught:
        next(blocks)
    assert ("file", path) in caught.value.facts


def test_shards_share_the_work(tmp_path: Path) -> None:
    encoders = [Counting(), Counting()]
    for number, encoder in enumerate(encoders, 1):
        blocks = read(tmp_path, encoder, shard=(number, 2))
        assert [block[0].doc_id for block, _ in blocks] == [["d0", "d6"], ["d3"]][number - 1]
    assert encoders[0].seen == texts(0, 1, 2, 6, 7)
    assert encoders[1].seen == texts(3, 4, 5)
    whole = Counting()
    assert len(read(tmp_path, whole)) == 3
    assert whole.seen == []


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 0), (-1, 1)])
def test_invalid_shards(tmp_path: Path, shard: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="counted from 1"):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path, shard=shard)


def test_progress(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    read(tmp_path, Counting(), length=8, progress=lambda *step: told.append(step))
    assert {stage for stage, _, _ in told} == {"encode documents"}
    done = [count for _, count, _ in told]
    assert done == sorted(done)
    assert set(done) == set(range(9))
    assert {total for _, _, total in told} == {8}
    told.clear()
    read(tmp_path, Counting(), progress=lambda *step: told.append(step))
    assert told == [("encode documents", 8, None)]
    path_of(tmp_path, *texts(3, 4, 5)).unlink()
    told.clear()
    read(tmp_path, Counting(), progress=lambda *step: told.append(step))
    assert [count for _, count, _ in told] == [3, 4, 5, 6, 6, 8]  # the rate begins at 3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"documents": None}, "documents"),
        ({"documents": "docs.jsonl"}, "documents"),
        ({"encoder": "tilde"}, "not an encoder"),
        ({"folder": 3}, "folder"),
        ({"shard": "1/2"}, "shard"),
        ({"shard": (1, 2.0)}, "shard"),
        ({"shard": (1, 2, 3)}, "shard"),
    ],
)
def test_arguments_of_the_wrong_type(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    arguments: dict[str, Any] = {
        "documents": DOCUMENTS,
        "encoder": Counting(),
        "folder": tmp_path / "w",
        **changes,
    }
    with pytest.raises(ParameterError, match=named):
        encoded_blocks(**arguments)
    assert not (tmp_path / "w").exists()


def test_invalid_documents(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="consists of documents"):
        list(encoded_blocks([("a", 5)], Counting(), tmp_path))  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="lone surrogate"):
        list(encoded_blocks([Document("a", "half \ud83d")], Counting(), tmp_path))


def test_odd_texts_and_no_documents(tmp_path: Path) -> None:
    odd = [Document("a\0b", "\U0001f600 and \ufffd"), Document("ö", "")]
    assert len(read(tmp_path, Counting(), documents=odd)) == 1
    encoder = Counting()
    read(tmp_path, encoder, documents=odd)
    assert encoder.seen == []
    assert read(tmp_path / "none", Counting(), documents=[]) == []
