"""Training of an encoder on the texts of a collection: windows, and an encoder that `termwise train` can start from."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CLS, SEP, END = 2, 3, 9
TOKENIZER = SimpleNamespace(cls_token_id=CLS, sep_token_id=SEP, convert_tokens_to_ids=lambda _: END)


def test_windows_have_a_continuation_or_a_part_of_another_document():
    from pretrain import windows

    rows = [[10 * number + place for place in range(1, 9)] for number in range(2, 22)]
    for row in rows:
        row[3] = END
    made = list(windows(rows, SimpleNamespace(seed=1, length=30), TOKENIZER, 0))
    assert len(made) == 20
    owners = []
    for one in made:
        ids, segments = one["input_ids"], one["token_type_ids"]
        assert len(ids) == len(segments) == len(one["attention_mask"]) <= 30
        middle = ids.index(SEP)
        first, second = ids[1:middle], ids[middle + 1 : -1]
        assert (ids[0], ids[-1], first[-1]) == (CLS, SEP, END)
        assert segments == [0] * (len(first) + 2) + [1] * (len(second) + 1)
        owner, follower = first[0] // 10, second[0] // 10
        assert (owner != follower) == one["next_sentence_label"]
        if not one["next_sentence_label"]:
            assert second == rows[owner - 2][4:]
        owners.append(owner)
    assert sorted(owners) == list(range(2, 22))
    assert 5 < sum(one["next_sentence_label"] for one in made) < 15
    again = list(windows(rows, SimpleNamespace(seed=1, length=30), TOKENIZER, 1))
    assert [one["input_ids"] for one in again] != [one["input_ids"] for one in made]
    short = list(windows(rows, SimpleNamespace(seed=1, length=9), TOKENIZER, 0))
    assert max(len(one["input_ids"]) for one in short) <= 9


def test_the_encoder_is_trained_and_saved(tmp_path, toy, monkeypatch, collections):
    import pretrain

    torch.manual_seed(1)
    model = transformers.BertForPreTraining(toy.configuration(initializer_range=0.3))
    base = toy.save(model, tmp_path / "base")
    out = tmp_path / "out"
    given = [
        "--collection",
        collections / "cats",
        "--base",
        base,
        "--out",
        out,
        "--max-steps",
        3,
        "--batch",
        4,
    ]
    monkeypatch.setattr(sys, "argv", ["pretrain.py", *map(str, [*given, "--threads", 1, "--length", 20])])
    pretrain.main()
    facts = json.loads((out / "pretraining.json").read_text())
    assert (facts["steps"], facts["documents"]) == (3, 50)
    assert len(facts["loss"]) == 3
    from termwise.train.base_encoder import base_analyzer
    from termwise.yardsticks.rerankers.cross_encoder import CrossEncoder
    from termwise.yardsticks.rerankers.settings import Reading

    network = CrossEncoder.from_base(out, Reading())
    before = model.bert.embeddings.word_embeddings.weight.detach().numpy()
    after = network.encoder.embeddings.word_embeddings.weight.detach().numpy()
    assert not np.allclose(before, after)
    assert len(base_analyzer(out).vocabulary) == len(base_analyzer(base).vocabulary)
    assert not (tmp_path / "out.training").exists()
