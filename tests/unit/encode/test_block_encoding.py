"""Encoding in blocks: resumption, shards and progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.encode.counting import DOCUMENTS, Counting, read, texts

from termwise.encode import encoded_blocks
from termwise.errors import ForeignFolderError, ParameterError
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
    given = []
    with pytest.raises(KeyboardInterrupt):
        given.extend(encoded_blocks(DOCUMENTS, first, tmp_path))
    assert len(given) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["block-000000.rows", "encoding.json"]
    again = Counting()
    assert len(read(tmp_path, again)) == 3
    assert again.seen == texts(3, 4, 5, 6, 7)


def test_changed_documents_are_encoded_again(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    changed = [*DOCUMENTS]
    changed[4] = Document("d4", "another text")
    encoder = Counting()
    read(tmp_path, encoder, documents=changed)
    assert encoder.seen == [DOCUMENTS[3].text, "another text", DOCUMENTS[5].text]
    renamed = [*changed]
    renamed[7] = Document("d8", DOCUMENTS[7].text)
    encoder = Counting()
    read(tmp_path, encoder, documents=renamed)
    assert encoder.seen == texts(6, 7)
    encoder = Counting()
    read(tmp_path, encoder, documents=renamed[:7])
    assert encoder.seen == texts(6)


OTHERS = [Document(f"x{number}", "cd" * number) for number in range(8)]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("shard", [(1, 1), (1, 2), (2, 2)])
def test_blocks_of_another_collection_are_refused(tmp_path: Path, shard: tuple[int, int]) -> None:
    read(tmp_path, Counting())
    before = contents(tmp_path)
    encoder = Counting()
    with pytest.raises(ForeignFolderError, match="other documents") as caught:
        read(tmp_path, encoder, documents=OTHERS, shard=shard)
    assert ("folder", tmp_path) in caught.value.facts
    assert caught.value.fixes[0] == "choose another folder"
    assert contents(tmp_path) == before
    assert encoder.seen == []


def test_blocks_written_before_another_collection_is_found_are_removed(tmp_path: Path) -> None:
    read(tmp_path, Counting(), shard=(2, 2))
    before = contents(tmp_path)
    for _ in range(2):
        with pytest.raises(ForeignFolderError, match="other documents"):
            read(tmp_path, Counting(), documents=OTHERS)
        assert contents(tmp_path) == before


def test_a_damaged_block_is_not_one_of_another_collection(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    path = tmp_path / "block-000000.rows"
    good = path.read_bytes()
    for place in (80, len(good) - 1):  # in the hash of the documents, in the weights
        data = bytearray(good)
        data[place] ^= 1
        path.write_bytes(data)
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(0, 1, 2)
        assert path.read_bytes() == good


def test_a_collection_that_has_grown_resumes(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    encoder = Counting()
    read(tmp_path, encoder, documents=[*DOCUMENTS, *OTHERS[:2]])
    assert encoder.seen == [*texts(6, 7), OTHERS[0].text, OTHERS[1].text]


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
    (tmp_path / "block-000001.rows").unlink()
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
    given: dict[str, Any] = {
        "documents": DOCUMENTS,
        "encoder": Counting(),
        "folder": tmp_path / "w",
        **changes,
    }
    with pytest.raises(ParameterError, match=named):
        encoded_blocks(**given)
    assert not (tmp_path / "w").exists()


def test_invalid_documents(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="consists of documents"):
        list(encoded_blocks([("a", 5)], Counting(), tmp_path))  # type: ignore[list-item]


def test_odd_texts_and_no_documents(tmp_path: Path) -> None:
    odd = [Document("\ud800", "lone \udfff surrogate"), Document("ö", "")]
    assert len(read(tmp_path, Counting(), documents=odd)) == 1
    encoder = Counting()
    read(tmp_path, encoder, documents=odd)
    assert encoder.seen == []
    assert read(tmp_path / "none", Counting(), documents=[]) == []
