"""Validation: sampling of held-out queries, and measures computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.errors import EmptyCollectionError  # noqa: E402
from termwise.records import Qrel  # noqa: E402
from termwise.text.cleaned_analyzer import clean_vocabulary  # noqa: E402
from termwise.train.data.held_out import HeldOut  # noqa: E402
from termwise.train.loop import validation  # noqa: E402
from termwise.train.loop.validation import validate  # noqa: E402
from termwise.train.networks import network_on_base  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

from .conftest import VOCABULARY, made_source  # noqa: E402

SETTINGS = TrainSettings(document_length=12, query_length=8)


def counting(base):
    """A TILDEv2 that gives every piece the weight 1."""
    network = network_on_base("tildev2", base)
    with torch.no_grad():
        network.token_projection.weight.zero_()
        network.token_projection.bias.fill_(1.0)
    return network


def test_the_measures_by_hand(base, pieces):
    held_out = HeldOut(
        queries=("wing lift", "drag the drag", "shock"),
        passages=("wing lift lift", "drag", "shock drag wing", "wave"),
        qrels=(Qrel("0", "0", 1), Qrel("0", "2", 1), Qrel("1", "2", 1), Qrel("2", "3", 1)),
    )
    # 0: passage 0 scores 2, passage 2 scores 1: both relevant, on ranks 1 and 2.
    # 1: passages 1 and 2 score 2 each; ties by position, so the relevant one is second.
    # 2: passage 2 scores 1, then 0, 1 and 3 with nothing: the relevant one is fourth.
    measures = validate(counting(base), pieces, held_out, SETTINGS)
    assert measures["RR@10"] == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert measures["nDCG@10"] == pytest.approx((1 + 1 / math.log2(3) + 1 / math.log2(5)) / 3)


def test_the_idf_of_the_pool_or_fixed_weights_weigh_terms(base, pieces, number):
    held_out = HeldOut(
        queries=("wing lift",),
        passages=("lift drag", "lift shock", "wing drag"),
        qrels=(Qrel("0", "2", 1),),
    )
    plain = replace(SETTINGS, objective="contrastive")
    assert validate(counting(base), pieces, held_out, plain)["RR@10"] == pytest.approx(
        1 / 3
    )  # a tie, by position
    fixed = np.full(len(VOCABULARY), 1.0, dtype=np.float32)
    fixed[number("wing")] = 1.5
    assert validate(counting(base), pieces, held_out, plain, fixed)["RR@10"] == 1
    with_idf = replace(plain, idf_power=0.5)  # one passage has wing, two have lift
    assert validate(counting(base), pieces, held_out, with_idf)["RR@10"] == 1


def test_likelihoods_are_summed_over_occurrences(base, pieces, number):
    network = network_on_base("tilde", base).eval()
    held_out = HeldOut(
        queries=("wing wing drag",), passages=("lift", "wave", "shock"), qrels=(Qrel("0", "1", 1),)
    )
    with torch.no_grad():
        logits = torch.cat(
            [
                network(*pieces.padded([pieces.framed(pieces.special.document, pieces(text))]))
                for text in held_out.passages
            ]
        ).double()
    p = 1 / (1 + torch.exp(-logits))
    scores = 2 * torch.log(p[:, number("wing")]) + torch.log(p[:, number("drag")])
    rank = 1 + int((scores > scores[1]).sum())
    assert validate(network, pieces, held_out, SETTINGS)["RR@10"] == pytest.approx(1 / rank)


def test_a_network_of_document_likelihoods_ranks_by_them(base, pieces, number, monkeypatch):
    settings = replace(SETTINGS, objective="document-likelihood")
    network = network_on_base("tilde", base).eval()
    held_out = HeldOut(
        queries=("wing lift", "the"),
        passages=("drag drag shock", "wave the", "of", "jet nozzle"),
        qrels=(Qrel("0", "1", 1), Qrel("1", "0", 1)),
    )
    with torch.no_grad():
        asked = pieces.framed(pieces.special.query, pieces("wing lift"))
        logits = network(*pieces.padded([asked]))[0].double()
    p = torch.log(1 / (1 + torch.exp(-logits)))
    kept = torch.from_numpy(clean_vocabulary(pieces.analyzer.vocabulary, settings.cleaning))
    expected = [
        (2 * p[number("drag")] + p[number("shock")]) / 3,
        p[number("wave")],
        p[kept].min(),
        (p[number("jet")] + p[number("nozzle")]) / 2,
    ]
    seen = []
    monkeypatch.setattr(validation, "measure_scores", lambda scores, _: seen.append(scores) or {})
    validate(network, pieces, held_out, settings)
    assert seen[0][0].tolist() == pytest.approx([float(value) for value in expected], rel=1e-5)
    assert seen[0][1].tolist() == [0, 0, 0, 0]  # a query without a kept term says nothing


def test_the_digest_depends_on_the_held_out_data():
    one = HeldOut(("a",), ("b", "c"), (Qrel("0", "0", 1),))
    assert one.digest() == replace(one).digest()
    for changes in (
        {"queries": ("b",)},
        {"passages": ("bc", "")},
        {"passages": ("b",)},
        {"qrels": (Qrel("0", "1", 1),)},
        {"qrels": (Qrel("0", "0", 2),)},
    ):
        assert replace(one, **changes).digest() != one.digest()


def test_expansion_terms_match(base, pieces, number):
    held_out = HeldOut(
        queries=("jet",),
        passages=("wing", "lift"),
        qrels=(Qrel("0", "1", 1),),
        expansions=(np.empty(0, dtype=np.int64), np.array([number("jet")])),
    )
    assert validate(counting(base), pieces, held_out, SETTINGS)["RR@10"] == 1.0


@pytest.mark.parametrize("kind", ["tilde", "tildev2", "splade-doc"])
def test_validation_does_not_change_the_network(kind, base, pieces):
    network = network_on_base(kind, base)
    held_out = HeldOut.sample([made_source("air", 40)], queries=40, seed=1)
    state = torch.random.get_rng_state()
    first = validate(network, pieces, held_out, SETTINGS)
    assert network.training
    assert torch.equal(state, torch.random.get_rng_state())
    assert validate(network, pieces, held_out, SETTINGS) == first
    assert set(first) == {"nDCG@10", "RR@10"}
    network.eval()
    validate(network, pieces, held_out, SETTINGS)
    assert not network.training


def test_queries_without_kept_terms(base, pieces):
    held_out = HeldOut(
        queries=("the", ""), passages=("wing", "lift"), qrels=(Qrel("0", "1", 1), Qrel("1", "0", 1))
    )
    assert validate(counting(base), pieces, held_out, SETTINGS)["RR@10"] == pytest.approx(0.75)


def test_a_draw_is_even_and_keeps_all_relevant_passages():
    twice = PairSource(
        "twice",
        [f"q{i}" for i in range(100)],
        [f"p{i}" for i in range(200)],
        np.array([(i, j) for i in range(100) for j in (i, 100 + i)], dtype=np.int32),
    )
    small = made_source("small", 5)
    held_out = HeldOut.sample([twice, small], queries=21, seed=3)
    assert len(held_out.queries) == 21
    assert [query for query in held_out.queries if query in small.queries] == list(held_out.queries[:5])
    relevant: dict[str, list[str]] = {}
    for qrel in held_out.qrels:
        relevant.setdefault(held_out.queries[int(qrel.query_id)], []).append(
            held_out.passages[int(qrel.doc_id)]
        )
    for query in held_out.queries[5:]:
        number = int(query[1:])
        assert sorted(relevant[query]) == sorted([f"p{number}", f"p{100 + number}"])
    assert len(held_out.passages) == 5 + 2 * 16
    assert HeldOut.sample([twice, small], queries=21, seed=3) == held_out
    assert HeldOut.sample([twice, small], queries=21, seed=4) != held_out


def test_a_passage_of_several_queries_is_in_the_pool_once():
    source = PairSource("one", ["a", "b"], ["p"], np.array([[0, 0], [1, 0]], dtype=np.int32))
    held_out = HeldOut.sample([source], queries=5, seed=0)
    assert held_out.passages == ("p",)
    assert {qrel.doc_id for qrel in held_out.qrels} == {"0"}


def test_no_queries_to_hold_out():
    empty = PairSource("none", [], [], np.empty((0, 2), dtype=np.int32))
    with pytest.raises(EmptyCollectionError):
        HeldOut.sample([empty], queries=5, seed=0)
