"""EPIC on a BERT of a few thousand weights with the names of OpenNIR, compared with direct computation."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.train.conftest import VOCABULARY, configuration  # noqa: E402
from tests.unit.yardsticks.contract import CheckpointContract  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.yardsticks.epic import EpicScorer  # noqa: E402

QUERY = "wing drag wing"
TEXTS = ["wing lift", "heat transfer of a plate", "drag", "a the flow of heat is a jet"]
HEADS = ("query_salience", "doc_salience", "doc_quality")
DECODER = "encoder.bert.cls.predictions.decoder.weight"


def weights(seed=5, tied=False):
    """Return the tensors of a checkpoint of OpenNIR, including unused ones."""
    torch.manual_seed(seed)
    network = transformers.BertForPreTraining(configuration(initializer_range=0.5)).state_dict()
    found = {
        f"encoder.bert.{name}": value.clone()
        for name, value in network.items()
        if name != "cls.predictions.decoder.bias"
    }
    found["encoder.bert.cls.predictions.bias"] = torch.randn(len(VOCABULARY))
    found["encoder.bert.bert.cls.predictions.bias"] = torch.randn(len(VOCABULARY))
    found["_nil"] = torch.zeros(1)
    if tied:
        del found[DECODER]
    else:
        found[DECODER] = torch.randn(len(VOCABULARY), 16)
    for name in HEADS:
        found |= {f"{name}.weight": torch.randn(1, 16), f"{name}.bias": torch.randn(1)}
    return found


def saved(folder, tensors=None):
    folder.mkdir()
    torch.save(weights() if tensors is None else tensors, folder / "weights.p")
    configuration().to_json_file(folder / "config.json")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "ranker.json").write_text(json.dumps({"": "epic", "qlen": 500, "dlen": 2000}))
    vocabulary = {"": "bert", "encoding": "sep", "layer": -1, "last_layer": True, "train": True}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("importance") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return EpicScorer.open(folder)


def active(value):
    return np.log(1 + np.log(1 + np.exp(value)))


def by_hand(query, text, tied=False):
    held = weights(tied=tied)
    network = transformers.BertForPreTraining(configuration()).eval()
    own = {
        name: held[f"encoder.bert.{name}"]
        for name in network.state_dict()
        if not name.startswith("cls.predictions.decoder")  # the same tensor as the embeddings
    }
    network.load_state_dict(own, strict=False)

    def read(words, segment):
        ids = torch.tensor([[VOCABULARY.index(word) for word in ["[CLS]", *words.split(), "[SEP]"]]])
        with torch.no_grad():
            return network.bert(
                input_ids=ids, token_type_ids=torch.full_like(ids, segment)
            ).last_hidden_state[0]

    def linear(name, vectors):
        found = vectors @ held[f"{name}.weight"][0] + held[f"{name}.bias"]
        return found.double().numpy()

    query_vectors, text_vectors = read(query, 0), read(text, 1)
    decoder = held.get(DECODER, held["encoder.bert.bert.embeddings.word_embeddings.weight"])
    with torch.no_grad():
        logits = network.cls.predictions.transform(text_vectors[1:-1]) @ decoder.T
    logits = (logits + held["encoder.bert.cls.predictions.bias"]).double().numpy()
    vector = (active(logits) * active(linear("doc_salience", text_vectors[1:-1]))[:, None]).max(0)
    vector = vector / (1 + np.exp(-linear("doc_quality", text_vectors[:1])[0]))
    saliences = active(linear("query_salience", query_vectors[1:-1]))
    return sum(
        salience * vector[VOCABULARY.index(word)]
        for word, salience in zip(query.split(), saliences, strict=True)
    )


class TestEpic(CheckpointContract):
    opened = EpicScorer
    kind, title = "epic", "EPIC"
    queries, texts = [QUERY, "heat", QUERY, "a plate of flow"], TEXTS
    lengths = (2, 65)

    def saved(self, folder, seed):
        return saved(folder, weights(seed))

    def spoil(self, scorer):
        with torch.no_grad():
            scorer.network.doc_quality.bias.fill_(float("nan"))


def test_a_score_is_the_product_of_two_vectors_over_the_vocabulary(scorer):
    expected = [by_hand(QUERY, text) for text in TEXTS]
    assert np.ptp(expected) > 0.1
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_missing_decoder_is_replaced_by_the_embeddings(tmp_path, scorer):
    found = EpicScorer.open(saved(tmp_path / "mine", weights(tied=True))).score(QUERY, TEXTS)
    assert found == pytest.approx([by_hand(QUERY, text, tied=True) for text in TEXTS], rel=1e-5)
    assert not np.allclose(found, scorer.score(QUERY, TEXTS), rtol=1e-2)


def test_empty_queries_and_texts_score_zero(scorer):
    assert scorer.score("", TEXTS).tolist() == [0.0] * 4
    assert scorer.score(QUERY, [" ", "wing"])[0] == 0.0


def test_long_texts_are_truncated(folder, scorer):
    short = EpicScorer.open(folder, length=6)
    assert short.score("wing", ["heat transfer of a plate jet"]) == pytest.approx(
        [by_hand("wing", "heat transfer of a")], rel=1e-5
    )
    assert short.cut(["wing"] * 2, ["heat transfer of a", "heat transfer of a jet"]).tolist() == [False, True]
    assert scorer.cut(["wing"] * 2, ["drag " * 62, "drag " * 63]).tolist() == [False, True]
    assert scorer.score("wing", ["drag " * 62]) == pytest.approx(scorer.score("wing", ["drag " * 99_999]))


def test_a_file_of_weights_alone_is_opened(folder, scorer):
    found = EpicScorer.open(folder / "weights.p", name="e")
    assert found.name == "e"
    assert found.score(QUERY, TEXTS) == pytest.approx(scorer.score(QUERY, TEXTS))
    assert found.fingerprint == EpicScorer.open(folder / "weights.p").fingerprint


@pytest.mark.parametrize(
    "name",
    [
        "query_salience.bias",
        "doc_quality.weight",
        "encoder.bert.cls.predictions.bias",
        "encoder.bert.cls.predictions.transform.dense.weight",
        "encoder.bert.bert.embeddings.word_embeddings.weight",
        "encoder.bert.bert.encoder.layer.1.output.dense.weight",
    ],
)
def test_each_weight_is_needed(tmp_path, name):
    tensors = weights()
    del tensors[name]
    with pytest.raises(ModelFormatError, match="missing") as caught:
        EpicScorer.open(saved(tmp_path / "mine", tensors))
    assert name in str(caught.value)


def test_more_layers_than_the_configuration_are_refused(tmp_path):
    more = {"encoder.bert.bert.encoder.layer.2.output.dense.bias": torch.zeros(16)}
    with pytest.raises(ModelFormatError, match="more layers"):
        EpicScorer.open(saved(tmp_path / "mine", weights() | more))


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("ranker.json", '{"": "vanilla_transformer"}', "not a checkpoint of EPIC"),
        ("vocab.json", '{"": "bert", "encoding": "joint"}', "encoding"),
        ("vocab.json", '{"": "bert", "layer": 5}', "layer"),
        ("vocab.json", "{", "cannot be read"),
        (
            "vocab.txt",
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwing\n",
            "tokenizer does not belong to the network",
        ),
        ("config.json", '{"batch_size": 4}', "tokenizer does not belong to the network"),
    ],
)
def test_files_beside_the_weights_must_fit(tmp_path, file, text, why):
    folder = saved(tmp_path / "mine")
    (folder / file).write_text(text)
    with pytest.raises(ModelFormatError, match=why):
        EpicScorer.open(folder)


def test_other_folders_are_refused(base, tmp_path):
    with pytest.raises(ModelFormatError, match="does not contain a checkpoint of EPIC"):
        EpicScorer.open(tmp_path)
    with pytest.raises(ModelFormatError, match="missing"):
        EpicScorer.open(base)
