"""monoT5 on a T5 of a few thousand weights, compared with transformers without padding."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.yardsticks.contract import CheckpointContract  # noqa: E402

from termwise.errors import ModelFormatError  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.yardsticks.mono_t5 import MonoT5Scorer  # noqa: E402

QUERY = "wing drag"
TEXTS = ["wing lift", "heat of a plate in the flow", "", "drag", "true"]
SPOKEN = "Query: Document: Relevant: true false wing drag lift heat of a plate in the flow"
VOCABULARY = [
    "<pad>",
    "</s>",
    "<unk>",
    *(f"▁{word}" for word in SPOKEN.split()),
    "▁",
    *"abcdefghijklmnopqrstuvwxyz",
]


def tokenizer(vocabulary):
    return transformers.T5Tokenizer(
        vocab=[(piece, -float(place)) for place, piece in enumerate(vocabulary)], extra_ids=0
    )


def saved(folder, vocabulary=VOCABULARY, seed=5):
    torch.manual_seed(seed)
    config = transformers.T5Config(
        vocab_size=len(vocabulary) + 3,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
    network = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        network.shared.weight.mul_(3)
    with quiet(bars=False):
        network.save_pretrained(folder)
        tokenizer(vocabulary).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("t5") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return MonoT5Scorer.open(folder)


def by_hand(folder, pieces):
    with quiet(bars=False):
        network = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    ids = torch.tensor([[VOCABULARY.index(piece) for piece in pieces]])
    with torch.no_grad():
        first = network(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    yes, no = (float(first[VOCABULARY.index(f"▁{word}")]) for word in ("true", "false"))
    return -np.log1p(np.exp(no - yes))


def question(query, text):
    words = ["Query:", *query.split(), "Document:", *text.split(), "Relevant:"]
    return [*(f"▁{word}" for word in words), "</s>"]


class TestMonoT5(CheckpointContract):
    opened = MonoT5Scorer
    kind, title = "mono-t5", "monoT5"
    queries, texts = [QUERY, "heat", QUERY, "a plate of flow", "heat"], TEXTS
    lengths = (15,)

    def saved(self, folder, seed):
        return saved(folder, seed=seed)

    def spoil(self, scorer):
        with torch.no_grad():
            scorer.network.shared.weight[VOCABULARY.index("▁plate")] = float("nan")


def test_a_score_is_the_log_probability_of_true(folder, scorer):
    expected = [by_hand(folder, question(QUERY, text)) for text in TEXTS]
    assert np.ptp(expected) > 0.01
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-5)
    assert scorer.score("heat", ["lift"]) == pytest.approx(
        [by_hand(folder, question("heat", "lift"))], abs=1e-5
    )


def test_a_long_text_is_truncated_and_the_question_is_kept(folder):
    short = MonoT5Scorer.open(folder, length=16)
    text = " ".join(["heat", "flow"] * 6)
    kept = " ".join(text.split()[:10])
    assert len(question(QUERY, kept)) == 16
    assert short.score(QUERY, [text]) == pytest.approx([by_hand(folder, question(QUERY, kept))], abs=1e-5)
    assert short.cut([QUERY] * 3, [text, kept, kept + " a"]).tolist() == [True, False, True]
    endless = short.score(QUERY, [text, "heat flow " * 50_000])
    assert endless[0] == pytest.approx(endless[1], abs=1e-6)


def test_a_lone_surrogate_is_no_error(scorer):
    assert np.isfinite(scorer.score("\ud800", ["a \ud800"])).all()


def test_a_tokenizer_without_the_answers_is_refused(tmp_path):
    lacking = [piece if piece != "▁false" else "▁flutter" for piece in VOCABULARY]
    with pytest.raises(ModelFormatError, match="an answer is not one token") as caught:
        MonoT5Scorer.open(saved(tmp_path / "lacking", lacking))
    assert ("answer", "false") in caught.value.facts


@pytest.mark.parametrize("size", [6, len(VOCABULARY) + 30])
def test_another_tokenizer_is_refused(folder, tmp_path, size):
    shutil.copytree(folder, tmp_path / "mine")
    more = (VOCABULARY + [f"▁more{number}" for number in range(40)])[:size]
    with quiet(bars=False):
        tokenizer(more).save_pretrained(tmp_path / "mine")
    with pytest.raises(ModelFormatError, match="tokenizer does not belong to the network"):
        MonoT5Scorer.open(tmp_path / "mine")


def test_a_missing_tokenizer_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "mine")
    (tmp_path / "mine" / "tokenizer.json").unlink()
    with pytest.raises(ModelFormatError, match="tokenizer"):
        MonoT5Scorer.open(tmp_path / "mine")


def test_other_folders_are_refused(folder, base, tmp_path):
    with pytest.raises(ModelFormatError, match="checkpoint of monoT5 cannot be loaded"):
        MonoT5Scorer.open(base)
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(ModelFormatError, match="cannot be loaded"):
        MonoT5Scorer.open(tmp_path)
    shutil.copytree(folder, tmp_path / "deep")
    config = (tmp_path / "deep" / "config.json").read_text()
    (tmp_path / "deep" / "config.json").write_text(config.replace('"num_layers": 2', '"num_layers": 3'))
    with pytest.raises(ModelFormatError, match="random numbers"):
        MonoT5Scorer.open(tmp_path / "deep")


def test_one_invalid_score_does_not_affect_other_texts(folder):
    scorer = MonoT5Scorer.open(folder)
    with torch.no_grad():
        scorer.network.shared.weight[VOCABULARY.index("▁plate")] = float("nan")
    assert np.isfinite(scorer.score("wing", ["drag"])).all()
    with pytest.raises(ModelFormatError, match="not a finite number"):
        scorer.score("wing", ["drag", "plate"])
