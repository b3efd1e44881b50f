"""Encoder folders: written atomically, and only with graphs that agree with torch."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")

from safetensors.torch import load_file  # noqa: E402

from termwise.encode import EncoderFolder, ExpansionRecord, SpecialIds  # noqa: E402
from termwise.errors import (  # noqa: E402
    CheckFailedError,
    ForeignFolderError,
    ModelFormatError,
    ParameterError,
    StorageError,
)
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train.export import folder_writer as write_folder  # noqa: E402
from termwise.train.export import onnx_export as export  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.networks import TildeNetwork, TildeV2Network, untrained  # noqa: E402
from termwise.vectors import TermVectors  # noqa: E402

from .conftest import POSITIONS, SIZE, VOCABULARY, configuration  # noqa: E402

SPECIAL = SpecialIds(document=1, query=2, cls=5, sep=6, pad=0)
FLOORS = np.linspace(-3, 0, len(VOCABULARY), dtype=np.float32)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(5)
    return TildeNetwork(transformers.AutoModelForMaskedLM.from_config(configuration(num_hidden_layers=1)))


@pytest.fixture(scope="module")
def graph(network):
    return export.to_onnx(network)


@pytest.fixture
def write(network, graph, analyzer, tmp_path, monkeypatch):
    """Write the network; its graph is made once for all tests."""
    monkeypatch.setattr(write_folder, "to_onnx", lambda given: graph)

    def call(out="encoder", **changes) -> EncoderFolder:
        settings = {"cleaning": "repo", "length": 32, "trained": {"base": "toy"}} | changes
        own = {name: settings.pop(name) for name in ("trained", "precisions", "weights") if name in settings}
        other = settings.pop("network", network), settings.pop("analyzer", analyzer)
        return write_encoder_folder(*other, tmp_path / out, EncoderContents(**settings), **own)

    return call


def files(folder: EncoderFolder) -> set[str]:
    return {path.name for path in folder.folder.iterdir()}


def test_a_folder_has_the_files_for_indexing_and_for_training(write, network):
    folder = write(floors=FLOORS)
    assert files(folder) == {
        "encoder.json", "vocab.txt", "model.onnx", "model.int8.onnx", "floors.npy",
        "config.json", "model.safetensors",
    }  # fmt: skip
    manifest = folder.manifest
    assert (manifest.kind, manifest.terms, manifest.cleaning) == ("tilde", len(VOCABULARY), "repo")
    assert (manifest.positions, manifest.length) == (POSITIONS, 32)
    assert manifest.special == SPECIAL
    assert manifest.networks() == {"float32": "model.onnx", "int8": "model.int8.onnx"}
    for name in manifest.files:
        folder.path(name)  # compares checksums
    np.testing.assert_array_equal(folder.floors, np.where(folder.kept, FLOORS, 0))


def test_measurements_of_the_export_are_stored(write):
    trained = write().manifest.trained
    assert trained["base"] == "toy"
    seen = trained["export"]
    assert seen["opset"] == export.OPSET
    assert seen["float32"]["largest"] < export.TOLERANCE
    assert seen["float32"]["relative"] < seen["int8"]["relative"] < 0.1


def test_equal_networks_give_equal_bytes(write):
    one, other = write("one"), write("other")
    assert one.id == other.id
    for name in files(one):
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes(), name


def test_a_folder_can_have_only_the_int8_graph(write):
    folder = write(precisions=("int8",), weights="left out")
    assert files(folder) == {"encoder.json", "vocab.txt", "model.int8.onnx"}
    assert folder.manifest.networks() == {"int8": "model.int8.onnx"}
    assert "float32" in folder.manifest.trained["export"]  # compared all the same


def test_transformers_loads_the_weights(write, network):
    folder = write().folder
    loaded, report = transformers.AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    ids = torch.tensor([[1, 20, 21, 6]])
    with torch.no_grad():
        expected = network.eval()(ids, torch.ones_like(ids))
        torch.testing.assert_close(loaded.eval()(ids).logits[:, 0], expected)
    table = [
        name for name, tensor in load_file(folder / "model.safetensors").items() if tensor.shape[-1] == SIZE
    ]
    assert sum("embeddings.word" in name or "decoder" in name for name in table) == 1


def test_an_earlier_encoder_is_replaced_and_its_training_stays(write, tmp_path):
    training = tmp_path / "encoder" / "training"
    training.mkdir(parents=True)
    (training / "log.jsonl").write_text("{}\n")
    write(floors=FLOORS)
    folder = write(precisions=("float32",), weights="left out")
    assert files(folder) == {"encoder.json", "vocab.txt", "model.onnx", "training"}
    assert (training / "log.jsonl").exists()


def test_a_failed_export_keeps_the_earlier_encoder(write, tmp_path, monkeypatch):
    before = write().manifest

    def refuse(*_, **__):
        raise CheckFailedError("no")

    monkeypatch.setattr(write_folder, "check_agreement", refuse)
    with pytest.raises(CheckFailedError):
        write(length=16)
    after = EncoderFolder.open(tmp_path / "encoder")
    assert after.manifest == before
    assert not [path for path in after.folder.iterdir() if path.name.startswith(".unfinished")]


def test_foreign_folders_are_not_changed(write, tmp_path):
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "thesis.tex").write_text("x")
    with pytest.raises(ForeignFolderError) as caught:
        write()
    assert dict(caught.value.facts)["found"] == "thesis.tex"
    assert [path.name for path in (tmp_path / "encoder").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_created_is_named(write, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        write("file/encoder")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"length": 2}, ParameterError),
        ({"length": POSITIONS + 1}, ParameterError),
        ({"precisions": ()}, ParameterError),
        ({"precisions": ("int8", "int8")}, ParameterError),
        ({"precisions": ("int4",)}, ParameterError),
        ({"floors": FLOORS[:-1]}, ParameterError),
        ({"floors": FLOORS + 1}, ParameterError),
        ({"floors": FLOORS * np.nan}, ParameterError),
        ({"query_weights": -FLOORS}, ParameterError),  # of a tilde
        (
            {"term_vectors": TermVectors.of(np.ones((len(VOCABULARY), 2)), "toy")},
            ParameterError,
        ),  # of a tilde
        ({"expansion": ExpansionRecord(20, "new", 32, "sha256:0", "tilde")}, ParameterError),
        ({"analyzer": WordPieceAnalyzer.shipped()}, ModelFormatError),
    ],
)
def test_parts_that_do_not_match(write, tmp_path, changes, error):
    with pytest.raises(error):
        write(**changes)
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize(
    "changes", [{"query_weights": FLOORS}, {"query_weights": -FLOORS[1:]}, {"floors": FLOORS}]
)
def test_vectors_of_other_kinds_are_refused(write, tmp_path, changes):
    network = TildeV2Network(transformers.AutoModel.from_config(configuration(num_hidden_layers=1)))
    with pytest.raises(ParameterError):
        write(network=network, **changes)
    assert not (tmp_path / "encoder").exists()


def test_a_lookup_encoder_has_a_query_table(analyzer, tmp_path):
    torch.manual_seed(5)
    network = untrained("lookup", configuration(num_hidden_layers=1))
    dimensions = network.config.hidden_size
    table = TermVectors.of(
        np.random.default_rng(0).normal(size=(len(VOCABULARY), dimensions)), analyzer.vocabulary.id
    )

    def write(term_vectors, **changes):
        contents = EncoderContents(cleaning="none", length=32, term_vectors=term_vectors, **changes)
        return write_encoder_folder(
            network, analyzer, tmp_path / "made", contents, trained={}, precisions=("float32",)
        )

    for other in (None, TermVectors(table.rows, table.shifts, table.scale, "another")):
        with pytest.raises(ParameterError, match="query table"):
            write(other)
    with pytest.raises(ParameterError, match="query weights"):
        write(table, query_weights=-FLOORS)
    folder = write(table)
    np.testing.assert_array_equal(folder.term_vectors.rows, np.where(folder.kept[:, None], table.rows, 0))
    np.testing.assert_array_equal(folder.term_vectors.shifts, table.shifts)
    assert (folder.term_vectors.scale, folder.term_vectors.vocabulary) == (table.scale, table.vocabulary)
    with pytest.raises(ModelFormatError, match="numbers of dimensions"):
        write(TermVectors(table.rows[:, 1:], table.shifts, table.scale, table.vocabulary))


def test_special_pieces_can_be_given(write):
    given = SpecialIds(document=3, query=2, cls=5, sep=6, pad=0)
    assert write(special=given).manifest.special == given


def test_the_manifest_is_readable_json(write):
    text = (write().folder / "encoder.json").read_text()
    assert json.loads(text)["trained"]["base"] == "toy"
    assert text.count("\n") > 20
