"""SPLADE-doc encoder: rows by hand."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from termwise.encode import network_encoder, splade_doc
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.splade_doc import SpladeDocumentEncoder
from termwise.errors import ModelFormatError, ParameterError
from termwise.models import SpladeDoc
from termwise.weights import TermWeights


@pytest.fixture
def folder(tiny: ModuleType, tmp_path: Path) -> Path:
    table = tiny.square(
        {
            tiny.CLS: {tiny.DOG: 0.25, tiny.SEP: 9.0},
            tiny.MERGE: {tiny.MERGE: 2.0, tiny.SORT: 1.0, tiny.THE: 5.0, tiny.CAT: -1.0},
            tiny.SORT: {tiny.SORT: 1.5, tiny.MERGE: 0.5},
        }
    )
    return tiny.make_folder(tmp_path / "splade", "splade-doc", table)


def encoder(folder: Path, **settings: Any) -> SpladeDocumentEncoder:
    return SpladeDocumentEncoder(
        SpladeDoc(**{"overlap": 2, **settings}), OnnxSession(EncoderFolder.open(folder))
    )


def test_by_hand(folder: Path, tiny: ModuleType) -> None:
    made = encoder(folder)
    assert isinstance(made, DocumentEncoder)
    assert (made.only_text_terms, made.gives_log_likelihoods, made.floors) == (False, False, None)
    rows = made.encode_documents(["merge", "", "sort merge", "cat"])
    expected = [
        {tiny.MERGE: 2.0, tiny.SORT: 1.0, tiny.DOG: 0.25},
        {},
        {tiny.MERGE: 2.0, tiny.SORT: 1.5, tiny.DOG: 0.25},
        {tiny.DOG: 0.25},
    ]
    assert rows == TermWeights.from_rows(expected, made.vocabulary.id)


def test_the_largest_are_kept_and_windows_pooled(folder: Path, tiny: ModuleType) -> None:
    rows = encoder(folder, keep=1, length=5).encode_documents(["cat cat cat cat sort cat merge", "sort"])
    assert [terms.tolist() for terms, _ in rows] == [[tiny.MERGE], [tiny.SORT]]


def test_weights_below_a_share_of_the_largest_are_pruned(folder: Path, tiny: ModuleType) -> None:
    """The largest weight is that of the whole document, not of each window; special pieces do not count."""
    made = encoder(folder, prune_ratio=0.75, length=5)
    rows = made.encode_documents(["merge cat cat cat sort cat", "", "cat"])
    expected = [{tiny.MERGE: 2.0, tiny.SORT: 1.5}, {}, {tiny.DOG: 0.25}]
    assert rows == TermWeights.from_rows(expected, made.vocabulary.id)
    alone = encoder(folder, prune_ratio=1.0).encode_documents(["merge sort"])
    assert alone == TermWeights.from_rows([{tiny.MERGE: 2.0}], made.vocabulary.id)


def test_encoded_rows_with_and_without_pruning_differ_in_their_settings(folder: Path) -> None:
    """Rows that were encoded before there was pruning are those without it."""
    settings = [encoder(folder, prune_ratio=ratio)._settings for ratio in (0.0, 0.5)]
    assert [sorted(each) for each in settings] == [
        ["keep", "length", "overlap"],
        ["keep", "length", "overlap", "prune_ratio"],
    ]


def test_one_document_in_the_last_batch(folder: Path) -> None:
    made = encoder(folder)
    texts = ["merge", "sort sort", "cat sort merge", "dog"] * 3
    alone = [made.encode_documents([text]) for text in texts]
    assert made.encode_documents(texts) == TermWeights.concatenate(alone)
    assert len(made.encode_documents([])) == 0


def test_a_document_of_100_000_pieces(
    folder: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 0
    run = OnnxSession.run

    def watched(self: OnnxSession, ids: Any, mask: Any) -> Any:
        nonlocal largest
        largest = max(largest, ids.size)
        return run(self, ids, mask)

    monkeypatch.setattr(OnnxSession, "run", watched)
    shares: list[float] = []
    rows = encoder(folder).encode_documents(["cat " * 99_999 + "merge", "sort"], advance=shares.append)
    assert dict(zip(*map(list, rows.row(0)), strict=True)) == {
        tiny.MERGE: 2.0,
        tiny.SORT: 1.0,
        tiny.DOG: 0.25,
    }
    assert tiny.SORT in rows.row(1)[0].tolist()
    assert largest <= 4096
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_one_block_is_pooled_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["merge", "", "cat sort merge", "dog", "sort sort cat cat cat cat cat cat cat"]
    whole = encoder(folder).encode_documents(texts)
    pools: list[int] = []
    pool = splade_doc.RowPool

    def counted(documents: int, **options: Any) -> Any:
        pools.append(documents)
        return pool(documents, **options)

    monkeypatch.setattr(splade_doc, "RowPool", counted)
    monkeypatch.setattr(network_encoder, "DOCUMENTS", 2)
    assert encoder(folder).encode_documents(texts) == whole
    assert pools == [2, 2, 1]


def test_settings_and_kind(folder: Path, tilde: Path) -> None:
    assert encoder(folder).fingerprint != encoder(folder, keep=3).fingerprint
    assert encoder(folder).description["kind"] == "splade-doc"
    with pytest.raises(ModelFormatError, match="not splade-doc"):
        encoder(tilde)
    with pytest.raises(ParameterError, match="longer than"):
        encoder(folder, length=17)
