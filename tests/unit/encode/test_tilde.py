"""TILDE document encoder: rows by hand in both forms, and regressions of defects of the published code."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from termwise.encode import batches as batching
from termwise.encode.document_encoder import DocumentEncoder
from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.onnx_session import OnnxSession
from termwise.encode.tilde import TildeDocumentEncoder
from termwise.errors import ModelFormatError, ParameterError
from termwise.models import Tilde
from termwise.weights import TermWeights

FLOOR = -3.0


def encoder(path: Path, **settings: Any) -> TildeDocumentEncoder:
    chosen = {"overlap": 2, **settings}
    return TildeDocumentEncoder(Tilde(**chosen), OnnxSession(EncoderFolder.open(path)))


def ln_sigmoid(z: float) -> float:
    return -math.log1p(math.exp(-z))


def row(rows: TermWeights, position: int) -> dict[int, float]:
    terms, weights = rows.row(position)
    return dict(zip(terms.tolist(), weights.tolist(), strict=True))


def test_the_encoder_protocol(tilde: Path) -> None:
    for form in ("compact", "exact"):
        made = encoder(tilde, form=form)
        assert isinstance(made, DocumentEncoder)
        assert made.gives_log_likelihoods == (form == "exact")
        assert (made.floors is None) == (form == "exact")
        assert not made.only_text_terms


def test_compact_rows_by_hand(tilde: Path, tiny: ModuleType) -> None:
    made = encoder(tilde)
    rows = made.encode_documents(["merge"])
    # [DOC] merge [SEP]: the larger of the two rows of the table; the, ##s and definition are cleaned away or too low.
    expected = {
        tiny.MERGE: ln_sigmoid(3.0) - FLOOR,
        tiny.SORT: ln_sigmoid(1.0) - FLOOR,
        tiny.HOW: ln_sigmoid(2.5) - FLOOR,
        tiny.CAT: ln_sigmoid(-1.0) - FLOOR,
        tiny.DOG: ln_sigmoid(-2.0) - FLOOR,
    }
    assert row(rows, 0) == pytest.approx(expected, rel=1e-6)
    assert rows.vocabulary == made.vocabulary.id
    floors = made.floors
    assert floors is not None
    assert floors.dtype == np.float64
    assert floors[[tiny.MERGE, tiny.CAT]].tolist() == [FLOOR, FLOOR]
    assert floors[[tiny.THE, tiny.S, tiny.DOC, tiny.PAD]].tolist() == [0, 0, 0, 0]


def test_the_largest_are_kept(tilde: Path, tiny: ModuleType) -> None:
    rows = encoder(tilde, keep=2).encode_documents(["merge", "sort list"])
    assert list(row(rows, 0)) == [tiny.MERGE, tiny.HOW]
    assert list(row(rows, 1)) == [tiny.SORT, tiny.DEFINITION]


def test_exact_rows_hold_every_term_of_the_cleaned_vocabulary(tilde: Path, tiny: ModuleType) -> None:
    made = encoder(tilde, form="exact")
    rows = made.encode_documents(["merge", ""])
    taking_part = [tiny.MERGE, tiny.SORT, tiny.LIST, tiny.HOW, tiny.DEFINITION, tiny.CAT, tiny.DOG]
    assert rows.row(0)[0].tolist() == taking_part
    assert rows.row(0)[1] == pytest.approx(
        [ln_sigmoid(z) for z in (3.0, 1.0, -8.0, 2.5, -8.0, -1.0, -2.0)], rel=1e-6
    )
    assert len(rows.row(1)[0]) == 0


def test_the_marker_replaces_the_start_token(tilde: Path, tiny: ModuleType) -> None:
    read = encoder(tilde).encode_documents(["list"])
    asked = encoder(tilde, side="query").encode_documents(["list"])
    assert row(read, 0)[tiny.CAT] == pytest.approx(ln_sigmoid(-1.0) - FLOOR, rel=1e-6)
    assert row(asked, 0)[tiny.DOG] == pytest.approx(ln_sigmoid(4.0) - FLOOR, rel=1e-6)
    assert tiny.CAT not in row(asked, 0)


def test_position_0_is_replaced_and_nothing_inserted(tilde: Path, tiny: ModuleType, monkeypatch: Any) -> None:
    seen: list[Any] = []
    made = encoder(tilde)
    run = OnnxSession.run
    monkeypatch.setattr(
        OnnxSession, "run", lambda self, ids, mask: (seen.append(ids.tolist()), run(self, ids, mask))[1]
    )
    made.encode_documents(["merge lists"])
    assert seen == [[[tiny.DOC, tiny.MERGE, tiny.LIST, tiny.S, tiny.SEP]]]


def test_documents_without_pieces_have_empty_rows(tilde: Path) -> None:
    rows = encoder(tilde).encode_documents(["", "merge", "  \n", "sort"])
    assert [len(terms) for terms, _ in rows] == [0, 5, 0, 5]
    assert len(encoder(tilde).encode_documents([])) == 0
    assert len(encoder(tilde).encode_documents(["", ""])) == 2


def test_documents_without_a_kept_piece_have_a_row(tilde: Path, tiny: ModuleType) -> None:
    rows = encoder(tilde).encode_documents(["the"])
    assert list(row(rows, 0)) == [tiny.CAT, tiny.DOG]


def test_one_document_in_the_last_batch(tilde: Path) -> None:
    texts = ["merge sort list", "merge", "sort", "list", "cat dog cat dog cat"] * 3
    together = encoder(tilde).encode_documents(texts)
    alone = [encoder(tilde).encode_documents([text]) for text in texts]
    assert together == TermWeights.concatenate(alone)


def test_every_piece_of_a_long_document_is_read(tilde: Path, tiny: ModuleType) -> None:
    for place in range(40):
        words = ["cat"] * 40
        words[place] = "merge"
        (weights,) = [row(encoder(tilde).encode_documents([" ".join(words)]), 0)]
        assert weights[tiny.MERGE] == pytest.approx(ln_sigmoid(3.0) - FLOOR, rel=1e-6)


@given(st.lists(st.sampled_from(["merge", "sort", "list", "cat", "the"]), max_size=30), st.integers(5, 16))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_keep_the_maximum(tilde: Path, words: list[str], length: int) -> None:
    text = " ".join(words)
    for form, keep in (("compact", 3), ("exact", None)):
        cut = encoder(tilde, form=form, keep=keep, length=length).encode_documents([text])
        parts = [encoder(tilde, form=form, keep=None).encode_documents([word]) for word in words]
        whole: dict[int, float] = {}
        for part in parts:
            for term, weight in row(part, 0).items():
                whole[term] = max(weight, whole.get(term, weight))
        best = sorted(whole.items(), key=lambda item: (-item[1], item[0]))[:keep]
        assert row(cut, 0) == dict(best)


def test_a_document_of_100_000_pieces(tilde: Path, tiny: ModuleType, monkeypatch: Any) -> None:
    largest = 0
    run = OnnxSession.run

    def watched(self: OnnxSession, ids: Any, mask: Any) -> Any:
        nonlocal largest
        largest = max(largest, ids.size)
        return run(self, ids, mask)

    monkeypatch.setattr(OnnxSession, "run", watched)
    monkeypatch.setattr(batching, "WINDOWS", 1000)
    shares: list[float] = []
    rows = encoder(tilde).encode_documents(["cat " * 99_999 + "merge", "sort"], advance=shares.append)
    assert row(rows, 0)[tiny.MERGE] == pytest.approx(ln_sigmoid(3.0) - FLOOR, rel=1e-6)
    assert tiny.SORT in row(rows, 1)
    assert largest <= 4096
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_vocabularies_beyond_16_bits(tiny: ModuleType, tmp_path: Path) -> None:
    pieces = [*tiny.PIECES, *(f"word{number}" for number in range(40_000))]
    table = np.full((1, len(pieces)), -9.0, dtype=np.float32)
    table[0, 40_000] = 2.0
    graph = tiny.graph("tilde", table)
    # A table with one row: whatever the piece, the graph looks it up there.
    import onnx

    model = onnx.load_model_from_string(graph)
    model.graph.node[0].input[1] = "zeros"
    model.graph.node.insert(0, onnx.helper.make_node("Sub", ["input_ids", "input_ids"], ["zeros"]))
    folder = tiny.make_folder(
        tmp_path / "a",
        "tilde",
        table,
        pieces=pieces,
        floors=[FLOOR] * len(pieces),
        networks={"float32": model.SerializeToString()},
    )
    rows = encoder(folder).encode_documents(["word39999"])
    assert row(rows, 0) == pytest.approx({40_000: ln_sigmoid(2.0) - FLOOR}, rel=1e-6)


def test_outputs_that_are_not_finite(tiny: ModuleType, tmp_path: Path) -> None:
    table = tiny.square({tiny.MERGE: {tiny.CAT: np.inf}})
    folder = tiny.make_folder(tmp_path / "a", "tilde", table, floors=[FLOOR] * 16)
    with pytest.raises(ModelFormatError, match="not a finite number"):
        encoder(folder).encode_documents(["sort", "merge"])


def test_saturated_logits_stay_finite(tiny: ModuleType, tmp_path: Path) -> None:
    table = tiny.square({tiny.DOC: {tiny.CAT: 500.0}}, otherwise=-500.0)
    folder = tiny.make_folder(tmp_path / "a", "tilde", table, floors=[FLOOR] * 16)
    rows = encoder(folder, form="exact").encode_documents(["sort"])
    assert row(rows, 0)[tiny.CAT] == 0.0
    assert row(rows, 0)[tiny.DOG] == -500.0


def test_invalid_settings_and_encoders(tiny: ModuleType, tilde: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="longer than the input of the encoder"):
        encoder(tilde, length=17)
    with pytest.raises(ParameterError, match="not smaller than the windows"):
        encoder(tilde, overlap=8)
    other = tiny.make_folder(tmp_path / "other", "splade-doc", tiny.square({}))
    with pytest.raises(ModelFormatError, match="not tilde"):
        encoder(other)
    without = tiny.make_folder(tmp_path / "without", "tilde", tiny.square({}))
    with pytest.raises(ModelFormatError, match="no floors"):
        encoder(without)
    assert encoder(without, form="exact").gives_log_likelihoods


def test_the_fingerprint_depends_on_the_output_only(tiny: ModuleType, tilde: Path, tmp_path: Path) -> None:
    first = encoder(tilde).fingerprint
    assert encoder(tilde).fingerprint == first
    assert encoder(tilde, length=10).fingerprint == first  # what the folder says
    changed = [{"keep": 5}, {"length": 9}, {"overlap": 1}, {"form": "exact"}, {"side": "query"}]
    assert len({first, *(encoder(tilde, **settings).fingerprint for settings in changed)}) == 6
    both = {"float32": tiny.square({}), "int8": tiny.square({}, otherwise=-7.0)}
    folder = EncoderFolder.open(tiny.make_folder(tmp_path / "a", "tilde", both, floors=[FLOOR] * 16))
    made = [
        TildeDocumentEncoder(Tilde(overlap=2), OnnxSession(folder, precision=precision))
        for precision in ("float32", "int8")  # type: ignore[misc]
    ]
    assert made[0].fingerprint != made[1].fingerprint
    (folder.folder / "model.onnx").unlink()
    assert made[1].description["network"]["precision"] == "int8"
    assert made[1].description["settings"]["length"] == 10
