"""Loading of encoders: no terminal output, no random weights."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from transformers.utils import logging as their_logging  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.train.networks import NETWORKS, network_on_base  # noqa: E402
from termwise.train.pretrained import load_encoder, quiet  # noqa: E402


@pytest.mark.parametrize("kind", sorted(NETWORKS))
def test_loading_an_encoder_prints_nothing(kind, base, headed, capfd, caplog):
    with caplog.at_level(logging.WARNING):
        for folder in (base, headed):
            network_on_base(kind, folder)
    seen = capfd.readouterr()
    assert (seen.out, seen.err, caplog.text) == ("", "", "")


def test_verbosity_is_restored():
    before = their_logging.get_verbosity(), their_logging.is_progress_bar_enabled()

    def fail():
        with quiet(bars=False):
            assert not their_logging.is_progress_bar_enabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (their_logging.get_verbosity(), their_logging.is_progress_bar_enabled()) == before


def test_an_encoder_without_its_pooling_layer(base):
    assert not [name for name, _ in load_encoder(base).named_parameters() if "pooler" in name]


def damaged(how, folder):
    weights, config = folder / "model.safetensors", folder / "config.json"
    data = weights.read_bytes()
    if how == "no folder":
        shutil.rmtree(folder)
    elif how == "no weights":
        weights.unlink()
    elif how == "no configuration":
        config.unlink()
    elif how == "cut in the middle":
        weights.write_bytes(data[: len(data) // 2])
    elif how == "cut in the header":
        weights.write_bytes(data[:4])
    elif how == "empty":
        weights.write_bytes(b"")
    elif how == "no JSON":
        config.write_text("{")
    elif how == "unknown kind":
        config.write_text('{"model_type": "nonsense"}')
    elif how == "other sizes":
        config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_size": 32}))
    elif how == "more layers":
        config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 3}))
    elif how == "other weights":
        save_file({"a": torch.zeros(3)}, weights, metadata={"format": "pt"})
    elif how == "one tensor missing":
        tensors = load_file(weights)
        del tensors["encoder.layer.1.output.dense.weight"]
        save_file(tensors, weights, metadata={"format": "pt"})
    else:
        raise AssertionError(how)


@pytest.mark.parametrize("kind", ["tilde", "tildev2"])
@pytest.mark.parametrize(
    "how",
    [
        "no weights",
        "no configuration",
        "cut in the middle",
        "cut in the header",
        "empty",
        "no JSON",
        "unknown kind",
        "other sizes",
        "more layers",
        "other weights",
        "one tensor missing",
    ],
)
def test_a_folder_without_an_encoder(kind, how, base, tmp_path):
    folder = tmp_path / "base"
    shutil.copytree(base, folder)
    damaged(how, folder)
    with pytest.raises(ModelFormatError) as error:
        network_on_base(kind, folder)
    assert dict(error.value.facts)["base"] == folder
    assert error.value.fixes
    if how in ("more layers", "one tensor missing", "other weights"):
        assert "tensors" in dict(error.value.facts)["missing"]
