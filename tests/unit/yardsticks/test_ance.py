"""ANCE on a RoBERTa of a few thousand weights with the published names, compared with direct computation."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.yardsticks.contract import CheckpointContract  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.yardsticks.ance import AnceScorer  # noqa: E402

QUERY = "ab c"
TEXTS = ["a bd", "dd  c a", "", "b", "a b c d c b a"]
VOCABULARY = ["<s>", "<pad>", "</s>", "<unk>", *"abcdABCD", "Ġ", "<mask>"]


def configuration(**changes):
    settings = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 90,
        "type_vocab_size": 1,
        "pad_token_id": 1,
    }
    return transformers.RobertaConfig(**(settings | changes))


def weights(seed=5):
    torch.manual_seed(seed)
    network = transformers.RobertaForSequenceClassification(configuration(initializer_range=0.5))
    found = dict(network.state_dict())
    found["roberta.pooler.dense.weight"] = torch.zeros(16, 16)
    found |= {"embeddingHead.weight": torch.randn(16, 16), "embeddingHead.bias": torch.randn(16)}
    return found | {"norm.weight": torch.randn(16), "norm.bias": torch.randn(16)}


def saved(folder, tensors=None, vocabulary=VOCABULARY):
    folder.mkdir()
    torch.save(weights() if tensors is None else tensors, folder / "pytorch_model.bin")
    configuration().to_json_file(folder / "config.json")
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    with quiet(bars=False):
        transformers.RobertaTokenizer(vocab=numbers, merges=[]).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("dense") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return AnceScorer.open(folder)


def vector(letters):
    held = weights()
    roberta = transformers.RobertaModel(configuration(), add_pooling_layer=False).eval()
    roberta.load_state_dict({name: held[f"roberta.{name}"] for name in roberta.state_dict()})
    pieces = ["<s>", *letters.replace(" ", "Ġ"), "</s>"]
    with torch.no_grad():
        ids = torch.tensor([[VOCABULARY.index(piece) for piece in pieces]])
        first = roberta(input_ids=ids).last_hidden_state[0, 0]
        found = held["embeddingHead.weight"] @ first + held["embeddingHead.bias"]
    found = found.double().numpy()
    found = (found - found.mean()) / np.sqrt(found.var() + 1e-5)
    return found * held["norm.weight"].double().numpy() + held["norm.bias"].double().numpy()


def by_hand(query, text):
    return float(vector(query) @ vector(text))


class TestAnce(CheckpointContract):
    opened = AnceScorer
    kind, title = "ance", "ANCE"
    queries, texts = [QUERY, "d", QUERY, "a b c", "d"], TEXTS
    lengths = (2, 89)

    def saved(self, folder, seed):
        return saved(folder, weights(seed))

    def spoil(self, scorer):
        with torch.no_grad():
            scorer.network.norm.bias.fill_(float("inf"))


def test_a_score_is_the_product_of_two_vectors(scorer):
    expected = [by_hand(QUERY, text) for text in TEXTS]
    assert np.ptp(expected) > 0.1
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-4)


def test_text_is_lower_cased_by_default(folder, scorer):
    cased = AnceScorer.open(folder, lower_case=False)
    assert scorer.score("AB c", ["a BD"]) == pytest.approx([by_hand("ab c", "a bd")], abs=1e-4)
    assert cased.score("AB c", ["a BD"]) == pytest.approx([by_hand("AB c", "a BD")], abs=1e-4)
    assert abs(by_hand("AB c", "a BD") - by_hand("ab c", "a bd")) > 1e-2
    assert cased.fingerprint != scorer.fingerprint


def test_long_queries_and_texts_are_truncated(folder, scorer):
    short = AnceScorer.open(folder, length=6)
    assert short.score("a", ["a b cd"]) == pytest.approx([by_hand("a", "a b ")], abs=1e-4)
    assert short.cut(["a"] * 3, ["abcd", "abcda", "abcd"]).tolist() == [False, True, False]
    assert scorer.score("a" * 100, ["b"]) == pytest.approx([by_hand("a" * 62, "b")], abs=1e-4)
    assert scorer.score("a", ["b" * 500]) == pytest.approx([by_hand("a", "b" * 86)], abs=1e-4)
    assert scorer.score("a", ["b c " * 90_000]) == pytest.approx(scorer.score("a", ["b c " * 90]))


@pytest.mark.parametrize(
    "name",
    ["norm.weight", "embeddingHead.bias", "roberta.encoder.layer.1.output.dense.weight"],
)
def test_each_weight_is_needed(tmp_path, name):
    tensors = weights()
    del tensors[name]
    with pytest.raises(ModelFormatError, match="missing") as caught:
        AnceScorer.open(saved(tmp_path / "mine", tensors))
    assert name in str(caught.value)


def test_weights_of_another_network_are_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="shape"):
        AnceScorer.open(saved(tmp_path / "wide", weights() | {"norm.weight": torch.zeros(17)}))
    more = {"roberta.encoder.layer.2.output.dense.bias": torch.zeros(16)}
    with pytest.raises(ModelFormatError, match="more layers"):
        AnceScorer.open(saved(tmp_path / "deep", weights() | more))


@pytest.mark.parametrize("size", [4, 40])
def test_another_tokenizer_is_refused(tmp_path, size):
    more = [*VOCABULARY[:4], "<mask>", *(f"x{number}" for number in range(size - 5))][:size]
    with pytest.raises(ModelFormatError, match="tokenizer does not belong to the network"):
        AnceScorer.open(saved(tmp_path / "mine", vocabulary=more))


def test_older_tokenizer_files_are_read(tmp_path, scorer):
    folder = saved(tmp_path / "mine")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    (folder / "vocab.json").write_text(json.dumps({piece: place for place, piece in enumerate(VOCABULARY)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    found = AnceScorer.open(folder)
    assert found.score(QUERY, TEXTS) == pytest.approx(scorer.score(QUERY, TEXTS), abs=1e-5)


def test_a_missing_tokenizer_is_refused(tmp_path):
    folder = saved(tmp_path / "mine")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(ModelFormatError, match="tokenizer"):
        AnceScorer.open(folder)


def test_other_folders_are_refused(base, tmp_path):
    with pytest.raises(ModelFormatError, match="does not contain a checkpoint of ANCE"):
        AnceScorer.open(tmp_path)
    with pytest.raises(ModelFormatError, match="not a checkpoint of ANCE"):
        AnceScorer.open(base)
