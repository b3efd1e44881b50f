"""Encoding block by block: nothing finished is lost, nothing foreign is taken."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise.collection.writing import create_bytes_whole
from termwise.encode import encoded_blocks
from termwise.encode.blocks import cut_blocks, holds_block
from termwise.encode.documents import Advance, unheard
from termwise.errors import ForeignFolderError, MissingFileError, ParameterError, StorageError
from termwise.records import Document
from termwise.text import Analyzer, Vocabulary, make_analyzer
from termwise.weights import TermWeights

DOCUMENTS = [Document(f"d{number}", "ab" * number) for number in range(8)]


class Counting:
    """Encodes a text as its length and its first letter, and counts what it encodes."""

    vocabulary = Vocabulary(["length", "first"])
    analyzer: Analyzer = make_analyzer("whitespace")
    floors = None
    minimum_floor = False
    idf_power = 0.0
    exact = False
    block = 3

    def __init__(self, fingerprint: str = "sha256:a") -> None:
        self.fingerprint = fingerprint
        self.seen: list[str] = []
        self.fail_at: str | None = None

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "toy", "network": {"precision": "int8"}, "settings": {"keep": 2}}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = unheard) -> TermWeights:
        rows = []
        for number, text in enumerate(texts):
            if text == self.fail_at:
                raise KeyboardInterrupt
            self.seen.append(text)
            rows.append({0: float(len(text)), 1: 0.1} if text else {})
            advance((number + 1) / len(texts))
        return TermWeights.from_rows(rows, self.vocabulary.id)


def read(folder: Path, encoder: Counting, **options: Any) -> list[tuple[list[Document], TermWeights]]:
    return list(encoded_blocks(options.pop("documents", DOCUMENTS), encoder, folder, **options))


def texts(*numbers: int) -> list[str]:
    return [DOCUMENTS[number].text for number in numbers]


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


def test_an_interrupted_encoding_goes_on_where_it_stopped(tmp_path: Path) -> None:
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


def test_what_changed_is_encoded_again(tmp_path: Path) -> None:
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


def test_identifier_and_text_are_not_confused(tmp_path: Path) -> None:
    read(tmp_path, Counting(), documents=[Document("ab", "c")])
    encoder = Counting()
    read(tmp_path, encoder, documents=[Document("a", "bc")])
    assert encoder.seen == ["bc"]


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
def test_shards_that_are_none(tmp_path: Path, shard: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="counted from 1"):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path, shard=shard)


def test_progress(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    read(tmp_path, Counting(), length=8, progress=lambda *step: told.append(step))
    assert {stage for stage, _, _ in told} == {"encode documents"}
    done = [count for _, count, _ in told]
    assert done == sorted(done)
    assert set(done) == set(range(1, 9))
    assert {total for _, _, total in told} == {8}
    told.clear()
    read(tmp_path, Counting(), progress=lambda *step: told.append(step))
    assert told == [("encode documents", count, None) for count in (3, 6, 8)]


def test_another_encoder_may_not_add_to_the_folder(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    with pytest.raises(ForeignFolderError, match="another encoder or of other settings") as caught:
        encoded_blocks(DOCUMENTS, Counting("sha256:b"), tmp_path)
    facts = dict(caught.value.facts)
    assert facts["differs in"] == "encoder"
    assert facts["there"] == "toy, int8, sha256:a"
    assert facts["here"] == "toy, int8, sha256:b"
    assert caught.value.fixes == ("choose another folder", f"rm -r {tmp_path}")
    kept = json.loads((tmp_path / "encoding.json").read_text())
    kept["description"]["settings"]["keep"], kept["encoder"] = 3, f"sha256:{'a' * 64}"
    (tmp_path / "encoding.json").write_text(json.dumps(kept))
    with pytest.raises(ForeignFolderError) as caught:
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    facts = dict(caught.value.facts)
    assert facts["there"] == f"toy, int8, keep 3, sha256:{'a' * 12}"
    assert facts["here"] == "toy, int8, keep 2, sha256:a"


def test_of_two_that_begin_at_once_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "termwise.encode.blocks.create_bytes_whole"

    def late(path: Path, data: bytes) -> None:
        monkeypatch.setattr(name, create_bytes_whole)
        read(tmp_path, Counting("sha256:b"))
        create_bytes_whole(path, data)

    monkeypatch.setattr(name, late)
    with pytest.raises(ForeignFolderError, match="another encoder"):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    again = Counting("sha256:b")
    read(tmp_path, again)
    assert again.seen == []


def test_of_two_of_the_same_settings_that_begin_at_once_both_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Path.iterdir

    def early(path: Path) -> Any:
        monkeypatch.setattr(Path, "iterdir", listed)
        read(tmp_path, Counting())
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", early)
    encoder = Counting()
    assert len(read(tmp_path, encoder)) == 3
    assert encoder.seen == []


def test_blocks_of_another_encoder_are_not_taken(tmp_path: Path) -> None:
    read(tmp_path / "a", Counting())
    read(tmp_path / "b", Counting("sha256:b"))
    name = "block-000001.rows"
    (tmp_path / "a" / name).write_bytes((tmp_path / "b" / name).read_bytes())
    keys = [key for key, _ in cut_blocks(DOCUMENTS, 3)]
    assert [holds_block(tmp_path / "a", key, Counting()) for key in keys] == [True, False, True]
    encoder = Counting()
    read(tmp_path / "a", encoder)
    assert encoder.seen == texts(3, 4, 5)
    assert all(holds_block(tmp_path / "a", key, Counting()) for key in keys)


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "encoding.json")
    with pytest.raises(ForeignFolderError):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    (tmp_path / "encoding.json").unlink()
    read(tmp_path, Counting())
    (tmp_path / "block-000001.rows").unlink()
    os.mkfifo(tmp_path / "block-000001.rows")
    with pytest.raises(MissingFileError) as caught:
        read(tmp_path, Counting())
    assert dict(caught.value.facts)["why"] == "it is a named pipe"


def test_descriptions_that_are_no_json(tmp_path: Path) -> None:
    class Odd(Counting):
        @property
        def description(self) -> dict[str, Any]:
            return {"loss": float("nan")}

    with pytest.raises(ParameterError, match="as JSON"):
        encoded_blocks(DOCUMENTS, Odd(), tmp_path)
    assert list(tmp_path.iterdir()) == []


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


def test_documents_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="made of documents"):
        list(encoded_blocks([("a", 5)], Counting(), tmp_path))  # type: ignore[list-item]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "another"}', "\ud800"])
def test_folders_of_others(tmp_path: Path, content: str) -> None:
    (tmp_path / "encoding.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ForeignFolderError, match="something other than encoded documents"):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    (tmp_path / "encoding.json").unlink()
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ForeignFolderError) as caught:
        encoded_blocks(DOCUMENTS, Counting(), tmp_path)
    assert dict(caught.value.facts)["holds"] == "thesis.tex"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_another_shard_is_writing_is_not_foreign(tmp_path: Path) -> None:
    (tmp_path / ".encoding.json.0a1b2c3d.tmp").write_text("{")
    assert len(read(tmp_path, Counting())) == 3


def test_damaged_blocks_are_encoded_again(tmp_path: Path) -> None:
    made = [rows for _, rows in read(tmp_path, Counting())]
    path = tmp_path / "block-000001.rows"
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        encoder = Counting()
        assert [rows for _, rows in read(tmp_path, encoder)] == made
        assert encoder.seen == texts(3, 4, 5)
        assert path.read_bytes() == data
    for length in range(0, len(data), 5):
        path.write_bytes(data[:length])
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(3, 4, 5)
    path.write_bytes(data + b"x")
    encoder = Counting()
    read(tmp_path, encoder)
    assert encoder.seen == texts(3, 4, 5)


def test_rows_that_nobody_writes_are_encoded_again(tmp_path: Path) -> None:
    read(tmp_path, Counting())
    path = tmp_path / "block-000001.rows"
    body = path.read_bytes()[40:]
    first = 32 + 48 + 32
    terms = np.frombuffer(body[first : first + 24], dtype="<i4")
    assert terms.tolist() == [0, 1] * 3
    for odd in (np.array([1, 0] * 3), np.array([0, -1] * 3), np.array([0, 1, 0, 1, 0, 7])):
        forged = body[:first] + odd.astype("<i4").tobytes() + body[first + 24 :]
        path.write_bytes(b"TWROWS01" + hashlib.sha256(forged).digest() + forged)
        encoder = Counting()
        read(tmp_path, encoder)
        assert encoder.seen == texts(3, 4, 5)


def test_the_bytes_of_a_block(tmp_path: Path) -> None:
    read(tmp_path, Counting(), documents=[Document("a", "xy")])
    data = (tmp_path / "block-000000.rows").read_bytes()
    hashed = b"".join(len(one).to_bytes(8, "little") + one for one in (b"a", b"xy"))
    body = hashlib.sha256(f"sha256:a\n{Counting.vocabulary.id}".encode()).digest()
    body += hashlib.sha256(hashed).digest()
    body += np.array([1, 2, 0, 2], dtype="<i8").tobytes()
    body += np.array([0, 1], dtype="<i4").tobytes() + np.array([2, 0.1], dtype="<f4").tobytes()
    assert data == b"TWROWS01" + hashlib.sha256(body).digest() + body
    about = json.loads((tmp_path / "encoding.json").read_text())
    assert about["encoder"] == "sha256:a"
    assert about["block"] == 3


def test_odd_texts_and_no_documents(tmp_path: Path) -> None:
    odd = [Document("\ud800", "lone \udfff surrogate"), Document("ö", "")]
    assert len(read(tmp_path, Counting(), documents=odd)) == 1
    encoder = Counting()
    read(tmp_path, encoder, documents=odd)
    assert encoder.seen == []
    assert read(tmp_path / "none", Counting(), documents=[]) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_folders_that_refuse(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError):
        read(tmp_path / "a", Counting())


def test_a_file_in_place_of_the_folder_or_a_folder_in_place_of_a_block(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="work folder cannot be used"):
        encoded_blocks(DOCUMENTS, Counting(), tmp_path / "file")
    read(tmp_path / "a", Counting())
    (tmp_path / "a" / "block-000000.rows").unlink()
    (tmp_path / "a" / "block-000000.rows").mkdir()
    with pytest.raises(MissingFileError):
        read(tmp_path / "a", Counting())
