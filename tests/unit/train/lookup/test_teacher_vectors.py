"""Vectors of the dense encoder: their files, and runs that were killed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from termwise.errors import CorruptModelError, ForeignFolderError, ModelFormatError  # noqa: E402
from termwise.train.dense_encoder import load_dense_encoder  # noqa: E402
from termwise.train.lookup.teacher_vectors import VectorsManifest, teacher_vectors  # noqa: E402
from termwise.train.lookup.tokenised_texts import TokenisedTexts  # noqa: E402
from termwise.train.messages import silent  # noqa: E402

from ..conftest import SIZE  # noqa: E402
from .conftest import made_texts  # noqa: E402

TEXTS = made_texts(40)[:25]


@pytest.fixture(scope="module")
def encoder(teacher):
    return load_dense_encoder(teacher, say=silent)


@pytest.fixture(scope="module")
def tokenised(encoder):
    return TokenisedTexts.of(TEXTS, encoder.analyzer, most=18)


MANIFEST = VectorsManifest("sha256:e", "sha256:t", count=25, dimensions=SIZE, length=20, rows=10)


@pytest.fixture
def compute(encoder, tokenised, tmp_path):
    def compute(manifest=MANIFEST, **options):
        said = []
        folder = options.pop("folder", tmp_path / "vectors")
        options = {"batch": 4, "say": said.append} | options
        return teacher_vectors(encoder, tokenised, folder, manifest, **options), said

    return compute


def test_vectors_are_those_of_the_encoder_in_the_order_of_the_texts(compute, encoder, tokenised, tmp_path):
    shards, said = compute()
    assert [shard.shape for shard in shards] == [(10, SIZE), (10, SIZE), (5, SIZE)]
    assert sorted(path.name for path in (tmp_path / "vectors").iterdir()) == [
        "0000.npy", "0001.npy", "0002.npy", "vectors.json",
    ]  # fmt: skip
    vectors = np.concatenate(shards)
    vocabulary = encoder.analyzer.vocabulary
    for number, vector in enumerate(vectors):
        row = [vocabulary.number("[CLS]"), *tokenised.row(number).tolist(), vocabulary.number("[SEP]")]
        ids = torch.tensor([row])
        with torch.no_grad():
            expected = encoder.network(ids, torch.ones_like(ids))[0].numpy()
        np.testing.assert_allclose(vector, expected, atol=1e-3)
    assert len(said) == 1
    assert said[0].startswith("encoded 25 texts in ")
    assert said[0].endswith(" texts/s")


def test_lower_precision_is_close(compute, tmp_path):
    exact, _ = compute()
    rounded, _ = compute(bfloat16=True, folder=tmp_path / "other")
    one, other = (np.concatenate(shards).astype(np.float32) for shards in (exact, rounded))
    assert 0.99 < (one * other).sum(axis=1).min() < 1.01
    assert not np.array_equal(one, other)


def test_a_killed_run_continues_after_its_last_file(compute, tmp_path):
    class Killed(Exception):
        pass

    def kill(stage, done, total):
        assert (stage, total) == ("encode texts", 25)
        if done > 14:
            raise Killed

    with pytest.raises(Killed):
        compute(progress=kill)
    assert [path.name for path in (tmp_path / "vectors").glob("*.npy")] == ["0000.npy"]
    first = (tmp_path / "vectors" / "0000.npy").stat().st_mtime_ns
    reports = []
    shards, said = compute(progress=lambda *report: reports.append(report[1]))
    assert reports[0] == 10  # the stored ones
    assert reports == sorted(reports)
    assert reports[-1] == 25
    assert (tmp_path / "vectors" / "0000.npy").stat().st_mtime_ns == first
    assert said[0].startswith("encoded 15 texts in ")
    assert said[1] == f"10 vectors were in {tmp_path / 'vectors'}"
    whole, _ = compute(folder=tmp_path / "whole")
    np.testing.assert_array_equal(np.concatenate(shards), np.concatenate(whole))


def test_files_computed_elsewhere_are_used(compute, tmp_path):
    shards, _ = compute()
    folder = tmp_path / "given"
    folder.mkdir()
    for number, shard in enumerate(shards):
        np.save(folder / f"{number:04d}.npy", shard)
    loaded, said = compute(folder=folder)
    np.testing.assert_array_equal(np.concatenate(loaded), np.concatenate(shards))
    assert said == [f"25 vectors were in {folder}"]
    assert json.loads((folder / "vectors.json").read_text())["count"] == 25


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-7]),
        lambda file: file.write_bytes(b""),
        lambda file: np.save(file, np.load(file)[:9]),
        lambda file: np.save(file, np.load(file).astype(np.float32)),
        lambda file: np.save(file, np.load(file) * np.float16(np.nan)),
        lambda file: np.save(file, np.load(file) * np.float16(100)),
        lambda file: np.save(file, np.load(file) * (np.arange(10) != 5).astype(np.float16)[:, None]),
    ],
)
def test_a_damaged_file_is_computed_again(compute, tmp_path, damage):
    shards, _ = compute()
    expected = np.concatenate(shards)
    del shards
    damage(tmp_path / "vectors" / "0001.npy")
    again, said = compute()
    np.testing.assert_array_equal(np.concatenate(again), expected)
    assert said[0].startswith(
        f"warning: {tmp_path / 'vectors' / '0001.npy'} is damaged and is computed again: "
    )


def test_vectors_of_other_texts_are_refused(compute, tmp_path):
    shards, _ = compute()
    file = tmp_path / "vectors" / "0001.npy"
    vectors = np.array(shards[1])
    for order in (np.arange(10)[::-1], [0, 1, 2, 3, *range(9, 3, -1)]):
        np.save(file, vectors[order])
        with pytest.raises(CorruptModelError, match="belongs to another run") as raised:
            compute()
        assert "another vector" in str(raised.value)


@pytest.mark.parametrize(
    "change", [{"encoder": "sha256:x"}, {"texts": "sha256:x"}, {"length": 19}, {"rows": 9}]
)
def test_a_folder_of_another_run_is_refused(compute, change):
    compute()
    with pytest.raises(ForeignFolderError, match="of other texts or of another encoder") as raised:
        compute(replace(MANIFEST, **change))
    assert dict(raised.value.facts)["differs in"] == next(iter(change))


def test_a_damaged_manifest_is_refused(compute, tmp_path):
    compute()
    for content in ("{", "[]"):
        (tmp_path / "vectors" / "vectors.json").write_text(content)
        with pytest.raises(CorruptModelError, match="a cache file of the training run is damaged") as raised:
            compute()
        assert "resume=True" in raised.value.fixes_worded()[0]


def test_a_file_in_place_of_the_folder_is_refused(compute, tmp_path):
    (tmp_path / "vectors").write_text("")
    with pytest.raises(ForeignFolderError, match="is a file") as raised:
        compute()
    assert raised.value.fixes == (f"remove {tmp_path / 'vectors'}",)


def test_vectors_without_a_direction_are_not_stored(encoder, tokenised, tmp_path):
    network = copy.deepcopy(encoder.network)
    with torch.no_grad():
        next(network.parameters()).fill_(torch.nan)
    damaged = replace(encoder, network=network)
    with pytest.raises(ModelFormatError, match="a vector without a direction") as raised:
        teacher_vectors(damaged, tokenised, tmp_path / "vectors", MANIFEST, batch=4)
    assert dict(raised.value.facts)["encoder"] == encoder.folder
    assert not list((tmp_path / "vectors").glob("*.npy"))
