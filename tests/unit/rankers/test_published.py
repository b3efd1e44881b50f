"""Specifications of published rankers."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.yardsticks import test_ance, test_colbert, test_epic, test_mono_t5, test_qlm_t5

from termwise import Document
from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background
from termwise.yardsticks.ance import AnceScorer
from termwise.yardsticks.colbert import ColbertScorer
from termwise.yardsticks.epic import EpicScorer
from termwise.yardsticks.mono_t5 import MonoT5Scorer
from termwise.yardsticks.qlm_t5 import QlmT5Scorer

CONTEXT = ScorerContext(Background(lambda: [Document("a", "x")]), device="cpu")
MADE = {
    "mono-t5:": test_mono_t5,
    "qlm-t5:": test_qlm_t5,
    "colbert:": test_colbert,
    "epic:": test_epic,
    "ance:": test_ance,
}
CLASSES = {
    "mono-t5:": MonoT5Scorer,
    "qlm-t5:": QlmT5Scorer,
    "colbert:": ColbertScorer,
    "epic:": EpicScorer,
    "ance:": AnceScorer,
}


@pytest.mark.parametrize("prefix", MADE)
def test_a_checkpoint_is_opened_by_its_prefix(tmp_path, prefix):
    folder = MADE[prefix].saved(tmp_path / "mine")
    scorer = open_scorer(f"short={prefix}{folder},length=18,batch=2", CONTEXT)
    by_hand = CLASSES[prefix].open(folder, length=18)
    assert scorer.name == "short"
    assert open_scorer(f"{prefix}{folder}", CONTEXT).name == "mine"
    assert scorer.fingerprint == by_hand.fingerprint
    texts = ["wing drag", "heat of a plate"]
    assert scorer.score("wing", texts) == pytest.approx(by_hand.score("wing", texts), abs=1e-5)
    assert scorer.cut(["wing"], ["wing " * 40]).tolist() == [True]


@pytest.mark.parametrize(("prefix", "setting"), [("colbert:", "mask_punctuation"), ("ance:", "lower_case")])
def test_settings_that_are_true_or_false(tmp_path, prefix, setting):
    folder = MADE[prefix].saved(tmp_path / "mine")
    length = 18
    scorer = open_scorer(f"{prefix}{folder},length={length},{setting}=false", CONTEXT)
    assert scorer.fingerprint == CLASSES[prefix].open(folder, length=length, **{setting: False}).fingerprint
    with pytest.raises(UsageError, match="true or false"):
        open_scorer(f"{prefix}{folder},{setting}=no", CONTEXT)


def test_invalid_specifications_are_refused():
    with pytest.raises(MissingFileError, match="no such checkpoint of EPIC"):
        open_scorer("epic:nowhere", CONTEXT)
    with pytest.raises(UnknownNameError, match="k1"):
        open_scorer("epic:nowhere,k1=2", CONTEXT)
    with pytest.raises(UsageError, match="length"):
        open_scorer("ance:nowhere,length=all", CONTEXT)
