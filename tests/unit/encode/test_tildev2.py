"""TILDEv2 encoder: rows by hand, with and without expansion."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.encode import ExpansionRecord, network_encoder
from termwise.encode import tildev2 as module
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.tildev2 import TildeV2DocumentEncoder
from termwise.errors import ModelFormatError, ParameterError, VocabularyMismatchError
from termwise.models import TildeV2
from termwise.weights import TermWeights


def row(rows: TermWeights, position: int) -> dict[int, float]:
    terms, weights = rows.row(position)
    return dict(zip(terms.tolist(), weights.tolist(), strict=True))


@pytest.fixture
def folder(tiny: ModuleType, tmp_path: Path) -> Path:
    """Return an encoder whose weights are relu(table[piece] + place / 4)."""
    table = np.zeros(16, dtype=np.float32)
    table[[tiny.MERGE, tiny.SORT, tiny.LIST, tiny.CAT]] = [1.0, -0.75, -8.0, 0.5]
    record = ExpansionRecord(terms=2, counting="new", length=8, encoder="sha256:0", name="toy")
    return tiny.make_folder(tmp_path / "tildev2", "tildev2", table, expansion=record)


def plain(folder: Path, **settings: Any) -> TildeV2DocumentEncoder:
    model = TildeV2(expansion_encoder="none", **{"overlap": 2, **settings})
    return TildeV2DocumentEncoder(model, OnnxSession(EncoderFolder.open(folder)))


def expanded(folder: Path, tilde: Path, **settings: Any) -> TildeV2DocumentEncoder:
    sessions = [OnnxSession(EncoderFolder.open(path)) for path in (folder, tilde)]
    return TildeV2DocumentEncoder(TildeV2(**{"overlap": 2, **settings}), *sessions)


def inputs_of(monkeypatch: pytest.MonkeyPatch) -> list[list[list[int]]]:
    """Record what networks read."""
    seen: list[list[list[int]]] = []
    run = OnnxSession.run

    def recorded(self: OnnxSession, ids: Any, mask: Any) -> Any:
        seen.append([one[: int(there.sum())].tolist() for one, there in zip(ids, mask, strict=True)])
        return run(self, ids, mask)

    monkeypatch.setattr(OnnxSession, "run", recorded)
    return seen


def test_the_encoder_protocol(folder: Path, tilde: Path) -> None:
    assert isinstance(plain(folder), DocumentEncoder)
    assert plain(folder).only_text_terms
    assert not expanded(folder, tilde).only_text_terms
    assert plain(folder).floors is None
    assert not plain(folder).gives_log_likelihoods


def test_weights_by_hand(folder: Path, tiny: ModuleType) -> None:
    rows = plain(folder).encode_documents(["merge the sort merge list dog"])
    # places: [CLS] 0, merge 1, the 2, sort 3, merge 4, list 5, dog 6, [SEP] 7; sort is 0 after the relu, list below.
    assert row(rows, 0) == {tiny.MERGE: 2.0, tiny.DOG: 1.5}


def test_stop_words_and_special_tokens_have_no_weight(folder: Path, tiny: ModuleType) -> None:
    rows = plain(folder).encode_documents(["cat the lists [SEP] [UNK] zebra"])
    assert list(row(rows, 0)) == [tiny.CAT]
    # Pieces that are left out are read all the same: dog stands in place 7, after [CLS] and six pieces.
    rows = plain(folder).encode_documents(["cat the lists [SEP] [UNK] dog"])
    assert row(rows, 0)[tiny.DOG] == 7 / 4


def test_documents_without_weights(folder: Path) -> None:
    rows = plain(folder).encode_documents(["", "the", "cat", "sort"])
    assert [len(terms) for terms, _ in rows] == [0, 0, 1, 0]
    assert len(plain(folder).encode_documents([])) == 0


def test_one_document_in_the_last_batch(folder: Path, tilde: Path) -> None:
    texts = ["merge sort list", "cat", "dog dog dog", "cat dog", "merge"] * 2
    for encoder in (plain(folder), expanded(folder, tilde)):
        alone = [encoder.encode_documents([text]) for text in texts]
        assert encoder.encode_documents(texts) == TermWeights.concatenate(alone)


def test_a_term_takes_its_largest_weight_over_windows(folder: Path, tiny: ModuleType) -> None:
    # length 10: windows of 8 pieces and a stride of 6; merge is piece 6: place 7 of the first, 1 of the second.
    words = ["dog"] * 14
    words[6] = "merge"
    rows = plain(folder).encode_documents([" ".join(words)])
    assert row(rows, 0) == {tiny.MERGE: 1 + 7 / 4, tiny.DOG: 8 / 4}


def test_expansions_follow_the_text_after_a_separator(
    folder: Path, tilde: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = inputs_of(monkeypatch)
    rows = expanded(folder, tilde).encode_documents(["merge"])
    # TILDE's logits for merge: sort 1, cat -1; the, ##s and how may not be appended.
    assert seen == [
        [[tiny.DOC, tiny.MERGE, tiny.SEP]],
        [[tiny.CLS, tiny.MERGE, tiny.SEP, tiny.SORT, tiny.CAT, tiny.SEP]],
    ]
    assert row(rows, 0) == {tiny.MERGE: 1.25, tiny.CAT: 0.5 + 4 / 4}


def test_windows_are_expanded_separately(
    folder: Path, tilde: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = inputs_of(monkeypatch)
    expanded(folder, tilde, expansion_terms=1, length=5, overlap=0).encode_documents(
        ["cat cat cat sort dog dog"]
    )
    ends = sorted(one[one.index(tiny.SEP) + 1 :] for one in seen[1])
    assert ends == [[tiny.LIST, tiny.SEP], [tiny.DOG, tiny.SEP]]


def test_an_empty_expansion_adds_no_separator(
    folder: Path, tilde: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = inputs_of(monkeypatch)
    expanded(folder, tilde, expansion_terms=3, counting="raw").encode_documents(["merge"])
    assert seen[1] == [[tiny.CLS, tiny.MERGE, tiny.SEP]]  # the three likeliest are the, ##s and merge itself


def test_default_expansion_settings_are_those_of_training(folder: Path, tilde: Path) -> None:
    described = expanded(folder, tilde).description
    assert described["settings"]["length"] == 8  # what the expanding encoder read, which is shorter than 10
    assert described["expansion"]["settings"] == {"terms": 2, "counting": "new"}
    assert described["expansion"]["trained_with"]["encoder"] == "sha256:0"
    assert described["expansion"]["network"]["precision"] == "float32"
    assert plain(folder).description["expansion"] is None
    assert plain(folder).description["settings"]["length"] == 10
    chosen = expanded(folder, tilde, expansion_terms=1, counting="raw", length=9).description
    assert chosen["settings"]["length"] == 9
    assert chosen["expansion"]["settings"] == {"terms": 1, "counting": "raw"}
    lifted = expanded(folder, tilde, expansion_lift=0.5).description
    assert lifted["expansion"]["settings"] == {"terms": 2, "counting": "new", "lift": 0.5}


def test_a_lift_prefers_terms_that_are_unlikely_in_other_texts(tiny: ModuleType, tmp_path: Path) -> None:
    table = tiny.square({tiny.MERGE: {tiny.CAT: 2.0, tiny.DOG: 1.0}}, otherwise=-6.0)
    floors = np.full(16, -7.0)
    floors[tiny.CAT] = -0.2  # likely whatever is read
    tilde = tiny.make_folder(tmp_path / "tilde", "tilde", table, floors=floors)
    weights = np.ones(16, dtype=np.float32)
    record = EncoderFolder.open(tilde).expansion(terms=1, counting="new", length=8, lift=1.0)
    folder = tiny.make_folder(tmp_path / "v2", "tildev2", weights, expansion=record)
    assert EncoderFolder.open(folder).manifest.expansion == record
    (terms, _) = expanded(folder, tilde).encode_documents(["merge"]).row(0)
    assert set(terms.tolist()) == {tiny.MERGE, tiny.DOG}
    (terms, _) = expanded(folder, tilde, expansion_lift=0.0).encode_documents(["merge"]).row(0)
    assert set(terms.tolist()) == {tiny.MERGE, tiny.CAT}


def test_a_lift_needs_floors(tiny: ModuleType, folder: Path, tmp_path: Path) -> None:
    tilde = tiny.make_folder(tmp_path / "bare", "tilde", tiny.square({}))
    with pytest.raises(ModelFormatError, match="has no floors") as caught:
        expanded(folder, tilde, expansion_lift=0.5)
    assert "use `expansion_lift=0`" in caught.value.fixes_worded()


@pytest.mark.parametrize("kind", ["plain", "expanded"])
def test_a_document_of_100_000_pieces(
    folder: Path, tilde: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    largest = 0
    run = OnnxSession.run

    def watched(self: OnnxSession, ids: Any, mask: Any) -> Any:
        nonlocal largest
        largest = max(largest, ids.size)
        return run(self, ids, mask)

    monkeypatch.setattr(OnnxSession, "run", watched)
    monkeypatch.setattr(module, "WINDOWS", 1000)
    made = plain(folder) if kind == "plain" else expanded(folder, tilde)
    shares: list[float] = []
    rows = made.encode_documents(["cat " * 99_999 + "merge", "dog"], advance=shares.append)
    text = made.description["settings"]["length"] - 2
    assert row(rows, 0)[tiny.CAT] == 0.5 + text / 4  # in the last place of a window
    assert row(rows, 0)[tiny.MERGE] > 1  # the very last piece is read
    # Of the last window TILDE finds sort, list and how likely; they are weighed only where it is asked.
    assert (tiny.SORT in row(rows, 0)) == (kind == "expanded")
    assert tiny.DOG in row(rows, 1)
    assert largest <= 4096
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_fingerprints(folder: Path, tilde: Path) -> None:
    made = [
        plain(folder),
        plain(folder, length=9),
        expanded(folder, tilde),
        expanded(folder, tilde, expansion_terms=1),
        expanded(folder, tilde, counting="raw"),
        expanded(folder, tilde, overlap=1),
        expanded(folder, tilde, expansion_lift=0.5),
        expanded(folder, tilde, expansion_lift=1.0),
    ]
    assert len({one.fingerprint for one in made}) == len(made)
    assert expanded(folder, tilde).fingerprint == expanded(folder, tilde, expansion_terms=2).fingerprint
    assert expanded(folder, tilde).fingerprint == expanded(folder, tilde, expansion_lift=0).fingerprint


def test_progress_covers_both_networks(folder: Path, tilde: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOWS", 3)
    monkeypatch.setattr(network_encoder, "DOCUMENTS", 4)
    for encoder in (plain(folder), expanded(folder, tilde)):
        shares: list[float] = []
        encoder.encode_documents(["cat dog " * 10, "merge", "sort", "", "list", "cat"], advance=shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_windows_and_terms_that_do_not_fit_are_refused(
    tiny: ModuleType, folder: Path, tilde: Path, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match="longer than the input of the encoders") as caught:
        expanded(folder, tilde, expansion_terms=8)  # 8 + 8 + 1 > 16
    assert caught.value.fixes_worded() == ["use `length=7`"]
    with pytest.raises(ParameterError) as caught:
        expanded(folder, tilde, expansion_terms=14)
    assert "expansion_terms" in caught.value.fixes_worded()[0]
    with pytest.raises(ModelFormatError, match="not tildev2"):
        plain(tilde)
    with pytest.raises(ModelFormatError, match="not tilde"):
        expanded(folder, folder)
    unexpanded = tiny.make_folder(tmp_path / "a", "tildev2", np.zeros(16))
    with pytest.raises(ParameterError, match="records no expansion") as caught:
        expanded(unexpanded, tilde)
    assert caught.value.fixes_worded()[0] == "use `expansion_encoder='none'`"
    assert f"`convert_checkpoint(expansion=Expansion('{tilde}', TERMS))`" in caught.value.fixes_worded()[1]
    pieces = [*tiny.PIECES[:-1], "horse"]
    other = tiny.make_folder(tmp_path / "b", "tilde", tiny.square({}), pieces=pieces)
    with pytest.raises(VocabularyMismatchError, match="different vocabularies"):
        expanded(folder, other)


def test_nan_weights(tiny: ModuleType, tmp_path: Path) -> None:
    table = np.zeros(16, dtype=np.float32)
    table[tiny.DOG] = np.nan
    encoder = plain(tiny.make_folder(tmp_path / "a", "tildev2", table))
    encoder.encode_documents(["cat"])
    with pytest.raises(ModelFormatError, match="not a finite number"):
        encoder.encode_documents(["cat", "dog"])
