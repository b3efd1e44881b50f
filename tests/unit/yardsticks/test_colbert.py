"""ColBERT on a BERT of a few thousand weights in both published layouts, compared with direct computation."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors_torch = pytest.importorskip("safetensors.torch")

from tests.unit.train.conftest import VOCABULARY, configuration  # noqa: E402
from tests.unit.yardsticks.contract import CheckpointContract  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.yardsticks.colbert import ColbertScorer  # noqa: E402

QUERY = "wing drag"
TEXTS = ["wing lift", "heat transfer , of a plate .", "", "drag", ". , ?"]
SETTINGS = {
    "query_maxlen": 8,
    "doc_maxlen": 20,
    "dim": 4,
    "mask_punctuation": True,
    "similarity": "cosine",
    "attend_to_mask_tokens": False,
    "query_token_id": "[unused0]",
    "doc_token_id": "[unused1]",
    "interaction": "colbert",
}


def weights(seed=5):
    """Return the tensors of a published checkpoint, including unused ones."""
    torch.manual_seed(seed)
    bert = transformers.BertModel(configuration(initializer_range=0.5))
    found = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    found["bert.embeddings.position_ids"] = torch.arange(64)[None]
    return found | {"linear.weight": torch.randn(4, 16)}


def saved(folder, tensors=None, settings=SETTINGS):
    folder.mkdir()
    safetensors_torch.save_file(weights() if tensors is None else tensors, folder / "model.safetensors")
    configuration().to_json_file(folder / "config.json")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    if settings is not None:
        (folder / "artifact.metadata").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("late") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return ColbertScorer.open(folder)


def read(pieces, seen):
    """Return the vectors of one row, with attention to its first tokens only."""
    held = weights()
    bert = transformers.BertModel(configuration()).eval()
    bert.load_state_dict({name: held[f"bert.{name}"] for name in bert.state_dict()})
    ids = torch.tensor([[VOCABULARY.index(piece) for piece in pieces]])
    mask = torch.tensor([[1] * seen + [0] * (len(pieces) - seen)])
    with torch.no_grad():
        found = bert(input_ids=ids, attention_mask=mask).last_hidden_state[0] @ held["linear.weight"].T
    found = found.double().numpy()
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def by_hand(query, text, *, attend=False, skip=".,?", length=20):
    tokens = ["[CLS]", "[unused0]", *query.split(), "[SEP]"]
    seen = 8 if attend else len(tokens)
    words = ["[CLS]", "[unused1]", *text.split()[: length - 3], "[SEP]"]
    left = read(tokens + ["[MASK]"] * (8 - len(tokens)), seen)
    right = read(words, len(words))[[word not in list(skip) for word in words]]
    return sum(max(float(x @ y) for y in right) for x in left)


class TestColbert(CheckpointContract):
    opened = ColbertScorer
    kind, title = "colbert", "ColBERT"
    queries, texts = [QUERY, "heat", QUERY, "a plate of flow", "heat"], TEXTS
    lengths = (3, 65)

    def saved(self, folder, seed):
        return saved(folder, weights(seed))

    def spoil(self, scorer):
        with torch.no_grad():
            scorer.network.linear.weight.fill_(float("nan"))


def test_a_score_is_the_sum_of_maximal_products(scorer):
    expected = [by_hand(QUERY, text) for text in TEXTS]
    assert np.ptp(expected) > 0.1
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-5)


def test_punctuation_can_be_included(folder, scorer):
    other = ColbertScorer.open(folder, mask_punctuation=False)
    expected = [by_hand(QUERY, text, skip="") for text in TEXTS]
    assert other.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-5)
    differing = np.abs(other.score(QUERY, TEXTS) - scorer.score(QUERY, TEXTS)) > 1e-4
    assert differing.tolist() == [False, False, False, False, True]
    assert other.fingerprint != scorer.fingerprint


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"attend_to_mask_tokens": True}, lambda text: by_hand(QUERY, text, attend=True)),
        ({"similarity": "l2"}, lambda text: 2 * by_hand(QUERY, text) - 16),
        ({"doc_maxlen": 6}, lambda text: by_hand(QUERY, text, length=6)),
    ],
)
def test_settings_of_the_checkpoint_are_used(tmp_path, settings, expected):
    scorer = ColbertScorer.open(saved(tmp_path / "mine", settings=SETTINGS | settings))
    assert scorer.score(QUERY, TEXTS) == pytest.approx([expected(text) for text in TEXTS], abs=2e-5)


def test_a_checkpoint_of_the_first_version(folder, scorer, tmp_path):
    shutil.copy(folder / "config.json", tmp_path)
    shutil.copy(folder / "vocab.txt", tmp_path)
    arguments = {name: SETTINGS[name] for name in ("query_maxlen", "doc_maxlen", "dim", "similarity")}
    tensors = {f"module.{name}": value for name, value in weights().items()}
    file = tmp_path / "colbert.dnn"
    torch.save({"epoch": 0, "model_state_dict": tensors, "arguments": arguments}, file)
    found = ColbertScorer.open(file)
    assert found.name == "colbert"
    assert found.settings == scorer.settings
    assert found.score(QUERY, TEXTS) == pytest.approx(scorer.score(QUERY, TEXTS), abs=1e-6)
    assert ColbertScorer.open(tmp_path).score(QUERY, TEXTS) == pytest.approx(found.score(QUERY, TEXTS))
    before = found.fingerprint
    assert ColbertScorer.open(file, name="else").fingerprint == before
    (tmp_path / "notes.txt").write_text("not of it")
    assert ColbertScorer.open(file).fingerprint == before
    torch.save({"model_state_dict": weights(6), "arguments": arguments}, file)
    assert ColbertScorer.open(file).fingerprint != before


def test_missing_settings_are_those_of_the_paper(tmp_path):
    held = ColbertScorer.open(saved(tmp_path / "mine", settings=None), length=30)
    assert (held.settings.query_maxlen, held.settings.doc_maxlen) == (32, 30)
    assert held.settings.mask_punctuation
    assert not held.settings.attend_to_mask_tokens


def test_the_default_tokenizer_is_that_of_bert(tmp_path):
    torch.manual_seed(5)
    bert = transformers.BertModel(configuration(vocab_size=30522), add_pooling_layer=False)
    tensors = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    folder = saved(tmp_path / "mine", tensors | {"linear.weight": torch.randn(4, 16)})
    configuration(vocab_size=30522).to_json_file(folder / "config.json")
    (folder / "vocab.txt").unlink()
    found = ColbertScorer.open(folder)
    assert found._framed(found._query_marker, "wing", 8).tolist() == [101, 1, 3358, 102]
    assert found._framed(found._text_marker, "wing", 8).tolist() == [101, 2, 3358, 102]
    assert len(found._punctuation) == 32
    assert np.isfinite(found.score(QUERY, TEXTS)).all()


def test_long_queries_and_texts_are_truncated(folder, scorer):
    long = "wing drag " * 30
    assert scorer.score("heat flow a plate of wing", ["lift"]) == pytest.approx(
        [by_hand("heat flow a plate of", "lift")], abs=1e-5
    )
    assert scorer.score(QUERY, [long]) == pytest.approx([by_hand(QUERY, long)], abs=1e-5)
    assert scorer.score(QUERY, ["wing drag " * 100_000]) == pytest.approx(scorer.score(QUERY, [long]))
    fits, over = "drag " * 17, "drag " * 18
    assert scorer.cut([QUERY] * 3, [fits, over, fits]).tolist() == [False, True, False]
    assert ColbertScorer.open(folder, length=64).cut([QUERY], [over]).tolist() == [False]


def changed(**tensors):
    return {name: value for name, value in (weights() | tensors).items() if value is not None}


@pytest.mark.parametrize(
    ("tensors", "why"),
    [
        (changed(**{"linear.weight": None}), "missing"),
        (changed(**{"bert.encoder.layer.1.output.dense.weight": None}), "missing"),
        (changed(**{"bert.encoder.layer.2.output.dense.bias": torch.zeros(16)}), "more layers"),
        (changed(**{"linear.weight": torch.zeros(4, 15)}), "shape"),
        (changed(**{"linear.weight": torch.full((4, 16), float("nan"))}), "finite"),
    ],
)
def test_weights_of_another_network_are_refused(tmp_path, tensors, why):
    with pytest.raises(ModelFormatError, match=why):
        ColbertScorer.open(saved(tmp_path / "mine", tensors))


@pytest.mark.parametrize(
    "settings",
    [
        {"query_maxlen": "32"},
        {"query_maxlen": 3},
        {"doc_maxlen": True},
        {"mask_punctuation": 1},
        {"similarity": "dot"},
    ],
)
def test_invalid_settings_are_refused(tmp_path, settings):
    with pytest.raises(ModelFormatError, match="setting of the checkpoint"):
        ColbertScorer.open(saved(tmp_path / "mine", settings=SETTINGS | settings))


@pytest.mark.parametrize("text", ["{", "[]"])
def test_metadata_that_is_not_an_object_is_refused(tmp_path, text):
    folder = saved(tmp_path / "mine")
    (folder / "artifact.metadata").write_text(text)
    with pytest.raises(ModelFormatError, match=r"artifact\.metadata"):
        ColbertScorer.open(folder)


def test_another_tokenizer_is_refused(tmp_path):
    folder = saved(tmp_path / "mine")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwing\n")
    with pytest.raises(ModelFormatError, match="tokenizer does not belong to the network"):
        ColbertScorer.open(folder)
    other = [piece if piece != "[unused1]" else "marker" for piece in VOCABULARY]
    (folder / "vocab.txt").write_text("\n".join(other) + "\n")
    with pytest.raises(ModelFormatError, match="special token is missing"):
        ColbertScorer.open(folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(ModelFormatError, match="tokenizer does not belong to the network"):
        ColbertScorer.open(folder)


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def test_other_folders_and_files_are_refused(base, tmp_path):
    with pytest.raises(ModelFormatError, match="does not contain a checkpoint of ColBERT"):
        ColbertScorer.open(tmp_path)
    with pytest.raises(ModelFormatError, match="missing"):
        ColbertScorer.open(base)
    file = tmp_path / "colbert.dnn"
    torch.save({"model_state_dict": weights(), "arguments": Evil()}, file)
    with pytest.raises(ModelFormatError, match="cannot be read"):
        ColbertScorer.open(file)
    file.write_bytes(b"PK no archive")
    with pytest.raises(ModelFormatError, match="cannot be read"):
        ColbertScorer.open(file)
    torch.save({"model_state_dict": {}}, file)
    with pytest.raises(ModelFormatError, match="no weights of ColBERT"):
        ColbertScorer.open(file)
    folder = saved(tmp_path / "mine")
    (folder / "config.json").write_text('{"model_type": "roberta"}')
    with pytest.raises(ModelFormatError, match="not a checkpoint of ColBERT"):
        ColbertScorer.open(folder)
