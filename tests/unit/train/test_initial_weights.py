"""Encoders of termwise as bases of training."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnx")

from tests.unit.encode import tiny  # noqa: E402

from termwise.encode import shipped_encoders  # noqa: E402
from termwise.errors import ModelFormatError, ParameterError  # noqa: E402
from termwise.progress import Execution  # noqa: E402
from termwise.train.base_encoder import base_analyzer, base_name  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.published_checkpoints import dequantised_network  # noqa: E402
from termwise.train.loop.initial_weights import encoder_of_same_kind, initial_network  # noqa: E402
from termwise.train.loop.run import train_network  # noqa: E402
from termwise.train.networks import NETWORKS, network_on_base  # noqa: E402

from .conftest import made_source  # noqa: E402
from .test_run import settings  # noqa: E402


@pytest.fixture(scope="module")
def written(headed, tmp_path_factory):
    """Write an encoder folder of a kind, with or without weights for torch."""
    from termwise.text.wordpiece import WordPieceAnalyzer

    def write(kind, weights):
        torch.manual_seed(5)
        network = network_on_base(kind, headed)
        out = tmp_path_factory.mktemp("made") / kind
        write_encoder_folder(
            network,
            WordPieceAnalyzer.from_file(headed / "vocab.txt"),
            out,
            EncoderContents(cleaning="repo", length=16),
            trained={},
            precisions=("int8",),
            weights=weights,
        )
        return network, out

    return write


def same(one, other):
    other = dict(other.named_parameters())
    return all(torch.equal(value, other[name]) for name, value in one.named_parameters())


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
def test_an_encoder_folder_with_its_weights(kind, written):
    network, folder = written(kind, "kept")
    for wanted in NETWORKS:
        assert same(network.encoder, initial_network(wanted, folder).encoder)
        assert (encoder_of_same_kind(wanted, folder) is not None) == (wanted == kind)
    assert same(network, initial_network(kind, str(folder)))


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
def test_an_encoder_folder_with_an_int8_graph_alone(kind, written):
    _, folder = written(kind, "left out")
    rounded = dequantised_network(folder)
    for wanted in NETWORKS:
        assert same(rounded.encoder, initial_network(wanted, folder).encoder)
    assert same(rounded, initial_network(kind, folder))


def test_the_head_of_a_tildev2_is_trained_further(written, tmp_path):
    network, folder = written("tildev2", "kept")
    said = []

    def train(out, **chosen):
        return train_network(
            "tildev2",
            [made_source("one", 8)],
            folder,
            tmp_path / out,
            analyzer=base_analyzer(folder),
            settings=settings("tildev2", max_steps=1, learning_rate=1e-9, **chosen),
            execution=Execution(say=said.append),
        ).network

    gone_on = train("run").token_projection
    torch.testing.assert_close(gone_on.weight, network.token_projection.weight, rtol=0, atol=1e-6)
    torch.testing.assert_close(gone_on.bias, network.token_projection.bias, rtol=0, atol=1e-6)
    assert "tildev2 is a tildev2 encoder: its head is trained further" in said
    with pytest.raises(ParameterError, match="the base has a trained one"):
        train("another", initial_weight=1.0)
    assert not (tmp_path / "another").exists()


def test_a_run_from_such_a_folder(written, tmp_path):
    _, folder = written("tilde", "left out")
    trained = train_network(
        "tildev2",
        [made_source("one", 8)],
        folder,
        tmp_path / "run",
        analyzer=base_analyzer(folder),
        settings=settings("tildev2", max_steps=1),
    )
    assert trained.facts["base"] == "tilde"


def test_an_encoder_whose_network_reads_other_pieces_is_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="does not read the pieces of its WordPiece tokenizer"):
        base_analyzer(tiny.byte_lookup_folder(tmp_path / "bytes"))


def test_a_shipped_encoder(monkeypatch, tmp_path):
    if "lookup" not in shipped_encoders():
        pytest.skip("it does not ship here")
    monkeypatch.chdir(tmp_path)
    name = "lookup"
    network = initial_network("tildev2", name)
    assert network.config.vocab_size == len(base_analyzer(name).vocabulary)
    assert same(dequantised_network(name).encoder, network.encoder)
    assert base_name(name) == name
