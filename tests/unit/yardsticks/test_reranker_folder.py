"""Folders of re-ranking networks: writing, reading and damaged files."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402

from termwise.errors import (  # noqa: E402
    CorruptModelError,
    ForeignFolderError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
)
from termwise.storage.file_record import digest_of  # noqa: E402
from termwise.storage.manifest_json import canonical_bytes, checksum_of  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.yardsticks.compatibility import fastest_device  # noqa: E402
from termwise.yardsticks.rerankers.folder import read_scorer_folder, scorer_tokenizer, write_scorer  # noqa: E402

from .conftest import small_network  # noqa: E402
from .test_bert_model1 import QUERY, TEXTS  # noqa: E402

FILES = ("config.json", "model.safetensors", "head.safetensors")


@pytest.fixture
def folder(tmp_path, network, analyzer):
    write_scorer(network, analyzer, tmp_path / "mine", trained={"steps": 3}, card="# Mine\n")
    return tmp_path / "mine"


def resealed(folder, change):
    """Change the manifest and its checksum, like an attacker."""
    path = folder / "scorer.json"
    body = json.loads(path.read_text())
    change(body)
    body["checksum"] = checksum_of(body)
    path.write_bytes(canonical_bytes(body))


def test_a_written_scorer_is_read_back(folder, scorer):
    found = read_scorer_folder(folder)
    assert found.name == "mine"
    assert found.network.reading == scorer.network.reading
    assert found.score(QUERY, TEXTS).tolist() == scorer.score(QUERY, TEXTS).tolist()
    assert {path.name for path in folder.iterdir()} == {*FILES, "scorer.json", "vocab.txt", "README.md"}


def test_a_scorer_is_the_base_of_another(tmp_path, network, folder, analyzer):
    """The shipped tokenizer is in no file of the folder, but in its manifest."""
    shipped = WordPieceAnalyzer.shipped()
    write_scorer(network, shipped, tmp_path / "shipped")
    assert scorer_tokenizer(tmp_path / "shipped").spec == shipped.spec
    assert scorer_tokenizer(folder).spec == analyzer.spec
    assert scorer_tokenizer(tmp_path) is None
    assert scorer_tokenizer("all-MiniLM-L6-v2") is None


def test_equal_networks_give_equal_files(folder, tmp_path, network, analyzer):
    write_scorer(network, analyzer, tmp_path / "again", trained={"steps": 3}, card="# Mine\n")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_scorer_is_replaced_and_its_training_stays(folder, base, analyzer):
    (folder / "training").mkdir()
    (folder / "training" / "log.jsonl").write_text("{}\n")
    write_scorer(small_network(base, score_norm="mean"), analyzer, folder)
    assert read_scorer_folder(folder).network.reading.score_norm == "mean"
    assert (folder / "training" / "log.jsonl").exists()
    assert not (folder / "README.md").exists()  # that of the one before


def test_opening_does_not_change_the_random_state(folder):
    state = torch.get_rng_state()
    read_scorer_folder(folder)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", [*FILES, "vocab.txt"])
def test_a_changed_file_is_named(folder, name):
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(CorruptModelError) as caught:
        read_scorer_folder(folder)
    assert name in caught.value.render()


def test_a_changed_manifest_is_refused(folder):
    text = (folder / "scorer.json").read_text()
    (folder / "scorer.json").write_text(text.replace('"steps": 3', '"steps": 4'))
    with pytest.raises(CorruptModelError, match="damaged"):
        read_scorer_folder(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(CorruptModelError) as caught:
        read_scorer_folder(folder)
    assert dict(caught.value.facts)["file"] == folder / name


@pytest.mark.parametrize("name", [*FILES, "vocab.txt"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(MissingFileError) as caught:
        read_scorer_folder(folder)
    assert dict(caught.value.facts)["file"] == folder / name


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body["reading"].update(hidden="12,x"),
        lambda body: body["reading"].update(query_vectors="last"),
        lambda body: body["reading"].pop("query_length"),
        lambda body: body["files"].pop("head.safetensors"),
        lambda body: body.pop("trained"),
        lambda body: body["files"].update({"../head": {}}),
    ],
)
def test_manifests_with_invalid_values_are_refused(folder, change):
    resealed(folder, change)
    with pytest.raises(CorruptModelError):
        read_scorer_folder(folder)


def test_weights_of_another_shape_are_refused(folder):
    resealed(folder, lambda body: body["reading"].update(projection=4))
    with pytest.raises(ModelFormatError, match="head of the scorer"):
        read_scorer_folder(folder)


def test_stored_weights_that_are_not_finite_are_refused(folder, network, analyzer):
    head = load_file(folder / "head.safetensors")
    head["pair.layers.0.bias"][0] = float("nan")
    save_file(head, folder / "head.safetensors", metadata={"format": "pt"})
    digest = digest_of(folder / "head.safetensors")
    resealed(folder, lambda body: body["files"]["head.safetensors"].update(sha256=digest))
    with pytest.raises(ModelFormatError, match="not finite"):
        read_scorer_folder(folder)
    with torch.no_grad():
        network.pair.layers[0].bias[0] = float("nan")
    with pytest.raises(ModelFormatError, match="not finite"):
        write_scorer(network, analyzer, folder)


def test_other_kinds_and_later_versions_are_refused(folder):
    resealed(folder, lambda body: body.update(kind="mixer"))
    with pytest.raises(ModelFormatError, match="of this kind"):
        read_scorer_folder(folder)
    resealed(folder, lambda body: body.update(version=2))
    with pytest.raises(ModelFormatError, match="later version"):
        read_scorer_folder(folder)
    resealed(folder, lambda body: body.update(format="other", version=1))
    with pytest.raises(ModelFormatError, match="does not belong"):
        read_scorer_folder(folder)


def test_places_without_a_scorer_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match="no such scorer"):
        read_scorer_folder(tmp_path / "nowhere")
    (tmp_path / "training").mkdir()
    with pytest.raises(ModelFormatError, match="not finished"):
        read_scorer_folder(tmp_path)
    (tmp_path / "training").rmdir()
    with pytest.raises(ModelFormatError, match="does not hold a scorer"):
        read_scorer_folder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFormatError, match="a scorer is a folder"):
        read_scorer_folder(tmp_path / "file")
    with pytest.raises(ParameterError):
        read_scorer_folder(3)


def test_other_folders_are_not_overwritten(tmp_path, network, analyzer):
    (tmp_path / "thesis.tex").write_text("years")
    with pytest.raises(ForeignFolderError, match=r"thesis\.tex|not a scorer"):
        write_scorer(network, analyzer, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("device", ["abacus", "cuda:99", 7.5])
def test_unknown_devices_are_refused(folder, device):
    with pytest.raises(ParameterError, match="no such device"):
        read_scorer_folder(folder, device=device)


def test_the_fastest_device_exists(folder):
    assert read_scorer_folder(folder, device=fastest_device()).name == "mine"
