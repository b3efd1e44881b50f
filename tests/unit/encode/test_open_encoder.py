"""Functions that open the encoder of a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from termwise.encode import EncoderFolder, ExpansionRecord, open_document_encoder, open_query_encoder
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.splade_doc import SpladeDocumentEncoder
from termwise.encode.tilde import TildeDocumentEncoder
from termwise.encode.tildev2 import TildeV2DocumentEncoder
from termwise.errors import CorruptModelError, MissingFileError, ModelFormatError, ParameterError, UsageError
from termwise.models import BM25, NetworkModel, SpladeDoc, Tilde, TildeV2


def test_every_model_has_its_encoder(tiny: ModuleType, tilde: Path, tmp_path: Path) -> None:
    record = ExpansionRecord(terms=2, counting="new", length=8, encoder="sha256:0", name="toy")
    second = tiny.make_folder(tmp_path / "v2", "tildev2", np.zeros(16), expansion=record)
    splade = tiny.make_folder(tmp_path / "splade", "splade-doc", tiny.square({}))
    models: list[tuple[NetworkModel, type]] = [
        (Tilde(encoder=str(tilde)), TildeDocumentEncoder),
        (TildeV2(encoder=str(second), expansion_encoder=str(tilde)), TildeV2DocumentEncoder),
        (TildeV2(encoder=str(second), expansion_encoder="none"), TildeV2DocumentEncoder),
        (SpladeDoc(encoder=str(splade)), SpladeDocumentEncoder),
    ]
    for model, kind in models:
        encoder = open_document_encoder(model, precision="float32", threads=2, providers=["cpu"])
        assert isinstance(encoder, kind)
        assert encoder.only_text_terms == (isinstance(model, TildeV2) and model.expansion_encoder == "none")
        assert len(encoder.encode_documents(["merge", "cat"])) == 2


def test_the_default_expanding_encoder_is_that_of_training(
    tiny: ModuleType, tilde: Path, tmp_path: Path
) -> None:
    def trained_with(**changes: object) -> str:
        facts = {
            "terms": 2,
            "counting": "new",
            "length": 8,
            "encoder": EncoderFolder.open(tilde).id,
            "name": tilde.name,
        }
        record = ExpansionRecord(**facts | changes)  # type: ignore[arg-type]
        return str(
            tiny.make_folder(
                tilde.parent / f"v2-{len(list(tilde.parent.iterdir()))}",
                "tildev2",
                np.zeros(16),
                expansion=record,
            )
        )

    assert not open_document_encoder(TildeV2(encoder=trained_with())).only_text_terms
    for changes in ({"name": "gone"}, {"encoder": "sha256:0"}):
        with pytest.raises(MissingFileError, match="is not found") as caught:
            open_document_encoder(TildeV2(encoder=trained_with(**changes)))
        assert "use `expansion_encoder='none'`" in caught.value.fixes_worded()
    plain = tiny.make_folder(tmp_path / "plain", "tildev2", np.zeros(16))
    assert open_document_encoder(TildeV2(encoder=str(plain))).only_text_terms


@pytest.mark.parametrize(
    ("there", "asked", "taken"),
    [
        (("float32", "int8"), "int8", "int8"),
        (("float32", "int8"), "float32", "float32"),
        (("float32",), "int8", "float32"),
        (("int8",), "float32", "int8"),
    ],
)
def test_precision_of_the_expanding_encoder(
    there: tuple[str, ...], asked: NetworkPrecision, taken: str, tiny: ModuleType, tmp_path: Path
) -> None:
    both = {precision: np.zeros(16) for precision in ("float32", "int8")}
    tables = {precision: tiny.square({}) for precision in there}
    expands = tiny.make_folder(tmp_path / "tilde", "tilde", tables, floors=[-7.0] * 16)
    record = ExpansionRecord(
        terms=2, counting="new", length=8, encoder=EncoderFolder.open(expands).id, name="tilde"
    )
    folder = tiny.make_folder(tmp_path / "v2", "tildev2", both, expansion=record)
    encoder = open_document_encoder(TildeV2(encoder=str(folder)), precision=asked)
    described: Any = encoder.description
    assert described["network"]["precision"] == asked
    assert described["expansion"]["network"]["precision"] == taken


def test_opening_loads_the_network(tiny: ModuleType, tilde: Path, tmp_path: Path) -> None:
    (tilde / "model.onnx").write_bytes(b"")
    with pytest.raises(CorruptModelError):
        open_document_encoder(Tilde(encoder=str(tilde)))
    record = ExpansionRecord(terms=2, counting="new", length=8, encoder="sha256:0", name="toy")
    second = tiny.make_folder(tmp_path / "v2", "tildev2", np.zeros(16), expansion=record)
    with pytest.raises(CorruptModelError):
        open_document_encoder(TildeV2(encoder=str(second), expansion_encoder=str(tilde)))


def test_models_and_encoders_that_do_not_match(tilde: Path) -> None:
    with pytest.raises(MissingFileError):
        open_document_encoder(Tilde(encoder="no-such-encoder"))
    with pytest.raises(ModelFormatError, match="not tildev2"):
        open_document_encoder(TildeV2(encoder=str(tilde), expansion_encoder="none"))
    with pytest.raises(ParameterError, match="has no document encoder"):
        open_document_encoder(BM25())  # type: ignore[arg-type]
    assert not isinstance(BM25(), NetworkModel)


def test_importing_loads_neither_onnxruntime_nor_torch() -> None:
    program = "import sys, termwise.encode; print('onnxruntime' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threads": "2"}, "threads"),
        ({"threads": 0}, "threads"),
        ({"precision": 3}, "precision"),
        ({"providers": "cuda"}, "providers"),
        ({"providers": [1]}, "providers"),
    ],
)
def test_arguments_of_the_wrong_type(tilde: Path, options: dict[str, Any], named: str) -> None:
    for made in (open_document_encoder, open_query_encoder):
        given: Any = Tilde(encoder=str(tilde)) if made is open_document_encoder else tilde
        with pytest.raises(UsageError, match=named):
            made(given, **options)


def test_invalid_models() -> None:
    for given in ("tilde", None):
        with pytest.raises(ParameterError, match="this model"):
            open_document_encoder(given)  # type: ignore[arg-type]


def test_texts_of_the_wrong_type(tilde: Path) -> None:
    model = Tilde(encoder=str(tilde))
    encode = open_document_encoder(model).encode_documents
    query = open_query_encoder(tilde).encode_queries
    for odd in ("merge", b"merge", None, [3], iter(["merge"])):
        for call in (encode, query):
            with pytest.raises(ParameterError, match="text"):
                call(odd)  # type: ignore[arg-type]
