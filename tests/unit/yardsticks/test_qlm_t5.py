"""QLM-T5 on a T5 of a few thousand weights, compared with a loop that predicts one token at a time."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.yardsticks.contract import CheckpointContract  # noqa: E402
from tests.unit.yardsticks.test_mono_t5 import QUERY, TEXTS, VOCABULARY, saved  # noqa: E402

from termwise.errors import ModelFormatError, ParameterError, UnknownNameError, UsageError  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.train.pretrained import quiet  # noqa: E402
from termwise.yardsticks.qlm_t5 import QlmT5Scorer  # noqa: E402

CONTEXT = ScorerContext(Background(list), device="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("t5") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return QlmT5Scorer.open(folder)


def numbers(text):
    return [VOCABULARY.index(f"▁{word}") for word in text.split()]


def log_likelihood(folder, condition, target):
    """Return the sum of ln P of the tokens of the target, each from a forward pass of its own."""
    with quiet(bars=False):
        network = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    encoded = torch.tensor([[*numbers(condition), VOCABULARY.index("</s>")]])
    total = 0.0
    for place, token in enumerate(numbers(target)):
        before = torch.tensor([[0, *numbers(target)[:place]]])
        with torch.no_grad():
            logits = network(input_ids=encoded, decoder_input_ids=before).logits[0, -1].double()
        total += float(logits.log_softmax(0)[token])
    return total


class TestQlmT5(CheckpointContract):
    opened = QlmT5Scorer
    kind, title = "qlm-t5", "QLM-T5"
    queries, texts = [QUERY, "heat", QUERY, "a plate of flow", "heat"], TEXTS
    lengths = (7,)

    def saved(self, folder, seed):
        return saved(folder, seed=seed)

    def spoil(self, scorer):
        with torch.no_grad():
            scorer.network.shared.weight[VOCABULARY.index("▁plate")] = float("nan")


@pytest.mark.parametrize(("likelihood", "alpha"), [("query", 0.5), ("document", 0.5), ("both", 0.3)])
def test_likelihoods_are_products_of_next_token_probabilities(folder, likelihood, alpha):
    scorer = QlmT5Scorer.open(folder, likelihood=likelihood, alpha=alpha, batch=2)
    pairs = [(query, text) for query in (QUERY, "heat of a plate", "") for text in TEXTS]
    expected = []
    for query, text in pairs:
        parts = {
            "query": log_likelihood(folder, text, query),
            "document": log_likelihood(folder, query, text) / max(1, len(text.split())),
        }
        both = alpha * parts["query"] + (1 - alpha) * parts["document"]
        expected.append(parts.get(likelihood, both))
    assert np.ptp(expected) > 1
    assert scorer.score_pairs(*zip(*pairs, strict=True)) == pytest.approx(expected, abs=1e-4)
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected[: len(TEXTS)], abs=1e-4)


@pytest.mark.parametrize(("alpha", "likelihood"), [(0, "document"), (1, "query")])
def test_the_ends_of_alpha_are_the_parts(folder, alpha, likelihood):
    mixed = QlmT5Scorer.open(folder, likelihood="both", alpha=alpha)
    part = QlmT5Scorer.open(folder, likelihood=likelihood)
    assert mixed.score(QUERY, TEXTS).tolist() == part.score(QUERY, TEXTS).tolist()


def test_each_text_is_encoded_once_per_call(folder):
    scorer = QlmT5Scorer.open(folder, batch=2)
    encoded = []
    scorer.network.get_encoder().register_forward_hook(lambda *call: encoded.append(len(call[2][0])))
    scorer.score_pairs([QUERY, "heat", "drag"] * 2, ["wing lift"] * 3 + ["flow"] * 3)
    assert encoded == [2]


@pytest.mark.parametrize("likelihood", ["query", "document", "both"])
def test_queries_and_texts_are_truncated(folder, likelihood):
    scorer = QlmT5Scorer.open(folder, length=8, likelihood=likelihood)
    kept = "heat of a plate in the flow"
    for text in (f"{kept} drag lift", kept + " wing" * 5000):
        assert scorer.score(QUERY, [text]) == pytest.approx(scorer.score(QUERY, [kept]), abs=1e-6)
        assert scorer.score(text, TEXTS) == pytest.approx(scorer.score(kept, TEXTS), abs=1e-6)
    assert scorer.cut([QUERY] * 3, [kept, f"{kept} drag", ""]).tolist() == [False, True, False]
    assert np.isfinite(scorer.score("\ud800", ["a \ud800"])).all()


def test_likelihood_and_alpha_are_settings(folder):
    found = open_scorer(f"qlm-t5:{folder},likelihood=both,alpha=0.25", CONTEXT)
    direct = QlmT5Scorer.open(folder, likelihood="both", alpha=0.25)
    assert found.score(QUERY, TEXTS).tolist() == direct.score(QUERY, TEXTS).tolist()
    others = [QlmT5Scorer.open(folder), QlmT5Scorer.open(folder, likelihood="both")]
    assert len({found.fingerprint, direct.fingerprint, *(other.fingerprint for other in others)}) == 3
    for wrong, error in (
        ("likelihood=neither", UnknownNameError),
        ("alpha=2", ParameterError),
        ("alpha=half", UsageError),
        ("k1=1", UnknownNameError),
    ):
        with pytest.raises(error, match=wrong.partition("=")[0]):
            open_scorer(f"qlm-t5:{folder},{wrong}", CONTEXT)


def test_a_network_without_a_start_token_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "mine")
    config = tmp_path / "mine" / "config.json"
    config.write_text(config.read_text().replace('"decoder_start_token_id": 0,', ""))
    with pytest.raises(ModelFormatError, match="lacks a special token"):
        QlmT5Scorer.open(tmp_path / "mine")
