"""Documents with another tokenizer than queries: pieces and windows by hand, and folders that do not fit."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, processors

from termwise.encode import EncoderFolder
from termwise.encode.document_tokenizer import DocumentTokenizer
from termwise.encode.lookup import LookupDocumentEncoder
from termwise.encode.network_inputs import window_spans, windows_of
from termwise.encode.onnx_session import OnnxSession
from termwise.errors import CorruptModelError, MissingFileError, ModelFormatError, ParameterError
from termwise.models import Lookup


@pytest.fixture
def folder(tiny: ModuleType, tmp_path: Path) -> Path:
    return tiny.byte_lookup_folder(tmp_path / "lookup")


def encoder(folder: Path, **settings: Any) -> LookupDocumentEncoder:
    return LookupDocumentEncoder(Lookup(overlap=0, **settings), OnnxSession(EncoderFolder.open(folder)))


def test_pieces_by_hand(tiny: ModuleType) -> None:
    tokenizer = DocumentTokenizer(tiny.byte_pairs())
    assert (tokenizer.first, tokenizer.last, tokenizer.terms) == (0, 2, 9)
    assert tokenizer.numbers("ab ab c").tolist() == [7, 8, 3, 6]  # neither special nor truncated
    assert tokenizer.numbers("a<pad>b").tolist() == [4, 1, 5]  # as the library
    assert tokenizer.numbers("x").tolist() == []
    for empty in ("", " ", " \n\t"):
        assert tokenizer.numbers(empty).tolist() == []
    assert tokenizer.numbers("\ud800ab").tolist() == [7]
    assert pickle.loads(pickle.dumps(tokenizer)).numbers("ab").tolist() == [7]


def test_windows_by_hand(tiny: ModuleType) -> None:
    windows = windows_of(DocumentTokenizer(tiny.byte_pairs()), ["ab ab c", "", "cc"], size=3, overlap=1)
    assert windows.documents.tolist() == [0, 0, 2]
    assert [pieces.tolist() for pieces in windows.pieces] == [[7, 8, 3], [8, 3, 6], [6, 6]]


def test_a_folder_has_two_tokenizers(folder: Path, tiny: ModuleType) -> None:
    opened = EncoderFolder.open(folder)
    assert opened.query_analyzer.tokens("merge ab") == ["merge"]
    assert len(opened.vocabulary) == 16
    assert opened.document_tokenizer.numbers("ab").tolist() == [7]
    assert (opened.document_special.cls, opened.document_special.pad) == (0, 1)
    assert opened.kept[tiny.MERGE]
    assert not opened.kept[[tiny.PAD, tiny.CLS]].any()
    assert type(opened.manifest).parse(opened.manifest.to_bytes(), folder) == opened.manifest


def test_documents_are_read_by_their_tokenizer(folder: Path) -> None:
    vectors = encoder(folder).encode_documents(["ab ab c", "", "c", " ", "ab"])
    assert vectors.indptr.tolist() == [0, 1, 1, 2, 2, 3]
    np.testing.assert_allclose(vectors.matrix(), [np.array([2, 1]) / np.sqrt(5), [0, 1], [1, 0]], atol=0.004)
    windows = encoder(folder, length=4).encode_documents(["abab cc"])
    assert windows.indptr.tolist() == [0, 3]  # ab ab | Ġ c | c, which moves back to c c
    np.testing.assert_allclose(windows.matrix(), [[1, 0], [0, 1], [0, 1]], atol=0.004)


def test_a_prompt_is_in_every_window(tiny: ModuleType, tmp_path: Path) -> None:
    tokenizer = DocumentTokenizer(tiny.byte_pairs())
    windows = windows_of(tokenizer, ["ab c", "", " "], size=3, overlap=0, prompt="c ")
    assert [pieces.tolist() for pieces in windows.pieces] == [[6, 8, 3], [6, 3, 6]]  # c Ġab Ġ | c Ġ c
    assert windows.documents.tolist() == [0, 0]
    spans = window_spans(tokenizer, "ab c", size=3, overlap=0, prompt="c ")
    assert spans == [(0, 3), (3, 4)]
    assert window_spans(tokenizer, " ", size=3, overlap=0, prompt="c ") == []
    (joined,) = windows_of(tokenizer, ["b"], size=4, overlap=0, prompt="a").pieces
    assert window_spans(tokenizer, "b", size=4, overlap=0, prompt="a") == [(0, 1)]
    assert joined.tolist() == [7]  # prompt and text share a piece
    folder = tiny.byte_lookup_folder(tmp_path / "a", document_prompt="c ")
    plain = tiny.byte_lookup_folder(tmp_path / "b")
    vectors = encoder(folder).encode_documents(["ab", "", " "])
    assert vectors.indptr.tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(vectors.matrix(), [np.array([1, 1]) / np.sqrt(2)], atol=0.004)
    assert encoder(folder).fingerprint != encoder(plain).fingerprint
    opened = EncoderFolder.open(folder).manifest
    assert opened.document_prompt == "c "
    assert type(opened).parse(opened.to_bytes(), folder) == opened
    with pytest.raises(ParameterError, match="no room for a text"):
        encoder(folder, length=3)


def test_padding_is_that_of_the_tokenizer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    run = OnnxSession.run

    def spy(self: OnnxSession, ids: Any, mask: Any) -> Any:
        seen.append(ids.tolist())
        return run(self, ids, mask)

    monkeypatch.setattr(OnnxSession, "run", spy)
    encoder(folder).encode_documents(["ab c", "ab"])
    assert seen == [[[0, 7, 3, 6, 2], [0, 7, 2, 1, 1]]]


def test_the_fingerprint_covers_the_tokenizer(folder: Path, tiny: ModuleType, tmp_path: Path) -> None:
    plain = json.loads(tiny.byte_pairs())
    plain["pre_tokenizer"]["add_prefix_space"] = True
    other = tiny.byte_lookup_folder(tmp_path / "other", data=json.dumps(plain).encode())
    assert encoder(folder).fingerprint != encoder(other).fingerprint
    assert EncoderFolder.open(folder).id != EncoderFolder.open(other).id


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "cannot be read"),
        (b"\xff", "cannot be read"),
        (None, "two special tokens"),
    ],
)
def test_tokenizers_that_cannot_be_used(tiny: ModuleType, data: bytes | None, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        DocumentTokenizer(tiny.byte_pairs(special=False) if data is None else data)


def word_level(unknown: str) -> bytes:
    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "a": 2, "[UNK]": 3}, unk_token=unknown))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer.to_str().encode()


def test_a_tokenizer_without_its_unknown_token(tiny: ModuleType, tmp_path: Path) -> None:
    assert DocumentTokenizer(word_level("[UNK]")).numbers("b").tolist() == [3]
    folder = tiny.byte_lookup_folder(tmp_path / "a", data=word_level("[NOPE]"))
    with pytest.raises(ModelFormatError, match="cannot tokenise a text") as raised:
        _ = EncoderFolder.open(folder).document_tokenizer
    assert dict(raised.value.facts)["file"] == folder / "document_tokenizer.json"


def test_the_fix_of_a_long_prompt_fits_the_encoder(tiny: ModuleType, tmp_path: Path) -> None:
    folder = tiny.byte_lookup_folder(tmp_path / "a", document_prompt="c" * 20, positions=32)
    for settings, fixes in (
        ({"length": 20}, ("use `length=32`",)),
        ({"length": 24, "overlap": 2}, ("use `overlap=0`", "use `length=32`")),
    ):
        with pytest.raises(ParameterError, match="no room for a text") as raised:
            LookupDocumentEncoder(Lookup(**settings), OnnxSession(EncoderFolder.open(folder)))
        assert tuple(raised.value.fixes_worded()) == fixes
    folder = tiny.byte_lookup_folder(tmp_path / "b", document_prompt="c" * 40, positions=32)
    with pytest.raises(ParameterError, match="no room for a text") as raised:
        encoder(folder, length=20)
    assert raised.value.fixes == ("use an encoder with a shorter prompt",)


@pytest.mark.parametrize(
    "record",
    [
        {"terms": 8, "special": {"document": 0, "query": 0, "cls": 0, "sep": 2, "pad": 1}},
        {"terms": 9, "special": {"document": 0, "query": 0, "cls": 1, "sep": 2, "pad": 1}},
        {"terms": 9, "special": {"document": 0, "query": 0, "cls": 0, "sep": 3, "pad": 1}},
    ],
)
def test_a_tokenizer_that_does_not_fit(tiny: ModuleType, tmp_path: Path, record: dict[str, Any]) -> None:
    folder = tiny.byte_lookup_folder(tmp_path / "a", document_tokenizer=record)
    with pytest.raises(ModelFormatError, match="does not fit the manifest"):
        encoder(folder).encode_documents(["ab"])


@pytest.mark.parametrize(
    "changes",
    [
        {"document_tokenizer": None},
        {"document_tokenizer": {"terms": 9}},
        {"document_tokenizer": {"terms": 9, "special": {}}},
        {"document_tokenizer": {"terms": 0, "special": {}}},
        {
            "document_tokenizer": {
                "terms": 9,
                "special": {"document": 0, "query": 0, "cls": 0, "sep": 9, "pad": 1},
            }
        },
        {"document_prompt": 1},
        {"document_prompt": None},
        {"kind": "tilde", "dimensions": None, "query_scale": None},
    ],
)
def test_invalid_records(tiny: ModuleType, tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = tiny.byte_lookup_folder(tmp_path / "a", **changes)
    with pytest.raises(CorruptModelError):
        EncoderFolder.open(folder)


def test_a_changed_or_missing_tokenizer(folder: Path) -> None:
    path = folder / "document_tokenizer.json"
    tokenizer = Tokenizer.from_str(path.read_text())
    tokenizer.no_truncation()
    path.write_text(tokenizer.to_str())
    with pytest.raises(CorruptModelError, match="damaged"):
        encoder(folder).encode_documents(["ab"])
    path.unlink()
    with pytest.raises(MissingFileError, match=r"document_tokenizer\.json"):
        encoder(folder).encode_documents(["ab"])
