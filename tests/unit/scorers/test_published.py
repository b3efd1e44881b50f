"""Published rankers as scorers that are named on one line."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.unit.yardsticks import test_ance, test_colbert, test_epic, test_mono_t5

from termwise import Document
from termwise.errors import MissingFileError, UnknownNameError, UsageError
from termwise.rankers import ScorerContext, open_scorer
from termwise.rankers import from_name as opening
from termwise.scorers import Background
from termwise.yardsticks.open_yardstick import PUBLISHED

AROUND = ScorerContext(Background(lambda: [Document("a", "x")]), device="cpu")
MADE = {"mono-t5:": test_mono_t5, "colbert:": test_colbert, "epic:": test_epic, "ance:": test_ance}


def test_each_kind_is_known_in_both_places():
    assert list(opening._PUBLISHED) == list(PUBLISHED) == list(MADE)


@pytest.mark.parametrize("prefix", MADE)
def test_a_checkpoint_is_opened_by_its_kind(tmp_path, prefix):
    folder = MADE[prefix].saved(tmp_path / "mine")
    scorer = open_scorer(f"short={prefix}{folder},length=18,batch=2", AROUND)
    by_hand = PUBLISHED[prefix](folder, length=18)
    assert scorer.name == "short"
    assert open_scorer(f"{prefix}{folder}", AROUND).name == "mine"
    assert scorer.fingerprint == by_hand.fingerprint
    texts = ["wing drag", "heat of a plate"]
    assert scorer.score("wing", texts) == pytest.approx(by_hand.score("wing", texts), abs=1e-5)
    assert scorer.cut(["wing"], ["wing " * 40]).tolist() == [True]


@pytest.mark.parametrize(("prefix", "setting"), [("colbert:", "mask_punctuation"), ("ance:", "lower_case")])
def test_what_is_true_or_false_of_a_kind(tmp_path, prefix, setting):
    folder = MADE[prefix].saved(tmp_path / "mine")
    length = 18
    scorer = open_scorer(f"{prefix}{folder},length={length},{setting}=false", AROUND)
    assert scorer.fingerprint == PUBLISHED[prefix](folder, length=length, **{setting: False}).fingerprint
    with pytest.raises(UsageError, match="true or false"):
        open_scorer(f"{prefix}{folder},{setting}=no", AROUND)


def test_what_cannot_be_opened():
    with pytest.raises(MissingFileError, match="no such checkpoint of EPIC"):
        open_scorer("epic:nowhere", AROUND)
    with pytest.raises(UnknownNameError, match="k1"):
        open_scorer("epic:nowhere,k1=2", AROUND)
    with pytest.raises(UsageError, match="length"):
        open_scorer("ance:nowhere,length=all", AROUND)
