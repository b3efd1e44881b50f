"""Tensors of planned batches, and their losses."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from termwise.collection.training_pairs import PairSource  # noqa: E402
from termwise.text.cleaned_analyzer import clean_vocabulary  # noqa: E402
from termwise.train.data.batches import BatchPlan, plan_batches  # noqa: E402
from termwise.train.data.expansions import Expansions  # noqa: E402
from termwise.train.data.teacher import TeacherVectors  # noqa: E402
from termwise.train.loop.step import Collator, PlannedBatches, TrainingStep  # noqa: E402
from termwise.train.networks import network_on_base  # noqa: E402
from termwise.train.objectives import QueryTerms, likelihood_scores  # noqa: E402
from termwise.train.settings import TrainSettings  # noqa: E402

from .conftest import VOCABULARY, made_source  # noqa: E402


def planned(*rows: list[tuple[int, int]]) -> PlannedBatches:
    """Return batches of given pairs: source and pair."""
    numbers = np.array(rows)
    plan = BatchPlan(numbers[..., 0].astype(np.int32), numbers[..., 1].astype(np.int64))
    return PlannedBatches(lambda epoch: plan, epochs=1)


def settings(kind: str, **changes: object) -> TrainSettings:
    plain = {"document_length": 12, "query_length": 8, "dropout": 0.0}
    usual = {"tilde": {}}.get(kind, {"objective": "contrastive", "negatives": 0})
    return TrainSettings(**(plain | usual | changes))


def mini(*pairs: tuple[str, str]) -> PairSource:
    queries = list(dict.fromkeys(query for query, _ in pairs))
    passages = list(dict.fromkeys(passage for _, passage in pairs))
    numbers = [(queries.index(query), passages.index(passage)) for query, passage in pairs]
    return PairSource("mini", queries, passages, np.array(numbers, dtype=np.int32))


def of_two_sources(epoch):
    return plan_batches([4, 7], batch=3, seed=313, epoch=epoch)


def test_batches_of_all_epochs_are_consecutive():
    batches = PlannedBatches(of_two_sources, epochs=3)
    assert len(batches) == 9
    assert [list(zip(*batches.pairs(number), strict=True)) for number in range(8)] == [
        [(1, 6), (0, 0), (1, 4)],
        [(0, 1), (1, 5), (0, 2)],
        [(1, 2), (1, 3), (1, 0)],
        [(0, 1), (1, 2), (1, 1)],
        [(1, 6), (1, 3), (1, 5)],
        [(0, 3), (1, 0), (0, 2)],
        [(1, 6), (1, 5), (1, 3)],
        [(0, 3), (1, 0), (0, 1)],
    ]


def test_a_batch_does_not_depend_on_earlier_batches():
    batches, again = (PlannedBatches(of_two_sources, epochs=4) for _ in range(2))
    upwards = [batches.pairs(number) for number in range(12)]
    assert [again.pairs(number) for number in reversed(range(12))] == upwards[::-1]


def test_an_epoch_is_planned_at_its_first_batch():
    planned = []
    batches = PlannedBatches(lambda epoch: planned.append(epoch) or of_two_sources(epoch), epochs=10**6)
    assert len(batches) == 3 * 10**6
    for number in (0, 1, 2, 3, 4, 5, 3 * 10**6 - 1):
        batches.pairs(number)
    assert planned == [0, 1, 10**6 - 1]


def test_the_number_of_batches_is_limited():
    assert len(PlannedBatches(of_two_sources, epochs=3, most=8)) == 8
    assert len(PlannedBatches(of_two_sources, epochs=3, most=10**15)) == 9


def test_a_batch_for_tilde(pieces, number):
    source = mini(("the wing zebra wing ?", "flutter of the wing"), ("lift", "drag , drag"))
    batch = Collator("tilde", settings("tilde"), pieces, [source], planned([(0, 0), (0, 1)]))([0])["batch"]
    doc, query, sep, pad = (number(name) for name in ("[unused0]", "[unused1]", "[SEP]", "[PAD]"))
    assert batch["passage_ids"].tolist() == [
        [doc, number("flutter"), number("of"), number("the"), number("wing"), sep],
        [doc, number("drag"), number(","), number("drag"), sep, pad],
    ]
    assert batch["query_ids"][1].tolist() == [query, number("lift"), sep, *[pad] * 4]
    assert batch["query_ids"][0, :4].tolist() == [query, number("the"), number("wing"), number("[UNK]")]
    # Targets: distinct, without stop words and without what is not in the vocabulary.
    assert batch["query_rows"].tolist() == [0, 1]
    assert batch["query_terms"].tolist() == [number("wing"), number("lift")]
    assert batch["passage_rows"].tolist() == [0, 0, 1]
    assert batch["passage_terms"].tolist() == [*sorted([number("wing"), number("flutter")]), number("drag")]


def test_inputs_are_truncated_and_targets_are_not(pieces, number):
    source = mini(("lift drag shock wave body flow heat", "wing flutter lift drag shock"))
    short = settings("tilde", document_length=4, query_length=5)
    batch = Collator("tilde", short, pieces, [source], planned([(0, 0)]))([0])["batch"]
    assert batch["passage_ids"].tolist() == [
        [number("[unused0]"), number("wing"), number("flutter"), number("[SEP]")]
    ]
    assert batch["query_ids"].shape == (1, 5)
    assert len(batch["query_terms"]) == 7
    assert len(batch["passage_terms"]) == 5


@pytest.mark.parametrize(
    ("objective", "there", "absent"),
    [("query-likelihood", "passage_ids", "query_ids"), ("document-likelihood", "query_ids", "passage_ids")],
)
def test_one_sided_objectives_have_one_input(pieces, objective, there, absent, base):
    chosen = settings("tilde", objective=objective)
    collator = Collator("tilde", chosen, pieces, [made_source("air", 4)], planned([(0, 0), (0, 1)]))
    batch = collator([0])["batch"]
    assert there in batch
    assert absent not in batch
    loss = TrainingStep(network_on_base("tilde", base), chosen, pieces)(batch)["loss"]
    assert loss.shape == ()
    assert math.isfinite(loss.item())


def test_two_queries_of_eight_passages_are_sixteen_columns(pieces):
    source = made_source("air", 30)
    negatives = np.stack([np.delete(np.arange(30), pair)[:12] for pair in range(30)]).astype(np.int32)
    chosen = settings("tildev2", negatives=7)
    collator = Collator("tildev2", chosen, pieces, [source], planned([(0, 3), (0, 9)]), negatives=[negatives])
    batch = collator([0])["batch"]
    assert batch["passage_ids"].shape[0] == 16
    assert batch["targets"].tolist() == [0, 8]
    places = collator.places(0)
    assert (places[0], places[8]) == ((0, 3), (0, 9))
    assert len(set(places[1:8])) == 7
    assert set(places[1:8]) <= {(0, passage) for passage in negatives[3].tolist()}
    assert batch["passage_ids"][:, 0].unique().tolist() == [pieces.special.cls]


def test_scores_of_a_batch_cover_all_its_passages(pieces, base):
    """The loss from a hand-made network: a weight of 1 for everything counts matching terms."""
    source = mini(("wing lift", "wing lift drag"), ("drag", "shock drag"))
    chosen = settings("tildev2")
    network = network_on_base("tildev2", base)
    with torch.no_grad():
        network.token_projection.weight.zero_()
        network.token_projection.bias.fill_(1.0)
    batch = Collator("tildev2", chosen, pieces, [source], planned([(0, 0), (0, 1)]))([0])["batch"]
    loss = TrainingStep(network, chosen, pieces)(batch)["loss"].item()
    # Scores: (2, 0) for the first, (1, 1) for the second.
    assert loss == pytest.approx((math.log(1 + math.exp(-2)) + math.log(2)) / 2, rel=1e-5)


def test_occurrences_are_weighted_by_the_idf_of_their_source(pieces, base, number):
    sources = [mini(("wing lift", "wing lift")), mini(("lift lift", "drag lift"))]
    factors = [np.full(len(VOCABULARY), fill, dtype=np.float32) for fill in (1.0, 3.0)]
    factors[0][number("wing")] = 2.0
    chosen = settings("tildev2")
    collator = Collator("tildev2", chosen, pieces, sources, planned([(0, 0), (1, 0)]), term_factors=factors)
    batch = collator([0])["batch"]
    assert batch["occurrence_weights"].tolist() == [2.0, 1.0, 3.0, 3.0]
    network = network_on_base("tildev2", base)
    with torch.no_grad():
        network.token_projection.weight.zero_()
        network.token_projection.bias.fill_(1.0)
    loss = TrainingStep(network, chosen, pieces)(batch)["loss"].item()
    # Scores: (3, 1) with the first passage right, (6, 6) with the second.
    assert loss == pytest.approx((math.log(1 + math.exp(-2)) + math.log(2)) / 2, rel=1e-5)
    pooled = network_on_base("splade-doc", base)
    step = TrainingStep(pooled, settings("splade-doc"), pieces)
    assert step(batch)["loss"].item() != pytest.approx(
        step({name: part for name, part in batch.items() if name != "occurrence_weights"})["loss"].item()
    )


def test_special_pieces_and_padding_match_nothing(pieces, base):
    source = mini(("[SEP] [CLS] [PAD] lift", "drag drag"), ("drag", "lift"))
    chosen = settings("tildev2", cleaning="none")
    network = network_on_base("tildev2", base)
    with torch.no_grad():
        network.token_projection.weight.zero_()
        network.token_projection.bias.fill_(1.0)
    batch = Collator("tildev2", chosen, pieces, [source], planned([(0, 0), (0, 1)]))([0])["batch"]
    loss = TrainingStep(network, chosen, pieces)(batch)["loss"].item()
    assert loss == pytest.approx(math.log(1 + math.e), rel=1e-5)  # both: (0, 1) with the right one at 0


def test_queries_are_truncated_after_cleaning(pieces, number):
    source = mini(("the of wing the lift a drag", "wing"))
    batch = Collator("tildev2", settings("tildev2", query_length=4), pieces, [source], planned([(0, 0)]))([0])
    assert batch["batch"]["occurrence_terms"].tolist() == [number("wing"), number("lift")]


def test_a_query_without_kept_terms_has_no_gradient(pieces, base):
    source = mini(("the of ?", "wing lift"), ("the", "drag"))
    chosen = settings("tildev2")
    network = network_on_base("tildev2", base)
    batch = Collator("tildev2", chosen, pieces, [source], planned([(0, 0), (0, 1)]))([0])["batch"]
    loss = TrainingStep(network, chosen, pieces)(batch)["loss"]
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    assert all(p.grad is None or p.grad.abs().max() == 0 for p in network.parameters())


@pytest.mark.parametrize("kind", ["tilde", "tildev2", "splade-doc"])
def test_a_batch_of_one_pair(kind, pieces, base):
    chosen = settings(kind, sparsity=0.1 if kind == "splade-doc" else 0.0)
    collator = Collator(kind, chosen, pieces, [made_source("air", 3)], planned([(0, 1)]))
    loss = TrainingStep(network_on_base(kind, base), chosen, pieces)(collator([0])["batch"])["loss"]
    assert math.isfinite(loss.item())
    loss.backward()


def test_relevant_passages_are_not_negatives(pieces):
    """Pairs: 0 (q0, p0), 1 (q0, p1), 2 (q1, p1), 3 (q2, p2); p2 stands in the batch as a hard negative too."""
    source = PairSource(
        "mini",
        ["q", "r", "s"],
        ["one", "two", "three"],
        np.array([[0, 0], [0, 1], [1, 1], [2, 2]], dtype=np.int32),
    )
    negatives = [np.array([[2], [2], [0], [0]], dtype=np.int32)]
    collator = Collator(
        "tildev2",
        settings("tildev2", negatives=1),
        pieces,
        [source],
        planned([(0, 0), (0, 2), (0, 3)]),
        negatives=negatives,
    )
    assert collator.places(0) == [(0, 0), (0, 2), (0, 1), (0, 0), (0, 2), (0, 0)]
    assert collator([0])["batch"]["excluded"].int().tolist() == [
        # p0 p2 p1 p0 p2 p0
        [0, 0, 1, 1, 0, 1],  # q0: p0 once more, and p1 by a pair that is not in the batch
        [0, 0, 0, 0, 0, 0],  # q1: only its own, in its own place
        [0, 1, 0, 0, 0, 0],  # q2: p2 as the hard negative of another
    ]


def test_passages_of_other_sources_with_the_same_number_are_negatives(pieces):
    sources = [made_source("air", 3, seed=1), made_source("code", 3, seed=2)]
    collator = Collator("tildev2", settings("tildev2"), pieces, sources, planned([(0, 1), (1, 1), (1, 1)]))
    assert collator([0])["batch"]["excluded"].int().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_hard_negatives_follow_seed_and_batch(pieces):
    source = made_source("air", 40)
    negatives = [np.tile(np.arange(20, dtype=np.int32) + 20, (40, 1))]
    batches = planned([(0, 3)], [(0, 3)])

    def drawn(seed: int, number: int) -> list[tuple[int, int]]:
        chosen = settings("tildev2", negatives=5, seed=seed)
        return Collator("tildev2", chosen, pieces, [source], batches, negatives=negatives).places(number)

    assert drawn(1, 0) == drawn(1, 0)
    assert drawn(1, 0) != drawn(1, 1)
    assert drawn(1, 0) != drawn(2, 0)


def test_few_and_no_known_negatives(pieces):
    source = made_source("air", 10)
    few = np.full((10, 4), -1, dtype=np.int32)
    few[0, :2] = [5, 6]
    chosen = settings("tildev2", negatives=7)
    collator = Collator("tildev2", chosen, pieces, [source], planned([(0, 0)], [(0, 1)]), negatives=[few])
    assert {passage for _, passage in collator.places(0)[1:]} == {5, 6}  # with replacement
    assert len(collator.places(0)) == len(collator.places(1)) == 8  # from all passages


def test_expansions_follow_a_separator(pieces, number):
    source = mini(("wing", "lift drag"), ("lift", "wing"))
    terms = np.array([number("shock"), number("wave")], dtype=np.int32)
    expansions = Expansions([(0, 0), (0, 1)], np.array([0, 2, 2]), terms)
    batches = planned([(0, 0), (0, 1)])
    collator = Collator("tildev2", settings("tildev2"), pieces, [source], batches, expansions=expansions)
    cls, sep, pad = number("[CLS]"), number("[SEP]"), number("[PAD]")
    assert collator([0])["batch"]["passage_ids"].tolist() == [
        [cls, number("lift"), number("drag"), sep, number("shock"), number("wave"), sep],
        [cls, number("wing"), sep, *[pad] * 4],
    ]


def test_cleaned_away_terms_get_no_gradient_through_the_network(pieces, base, analyzer):
    chosen = settings("tilde")
    network = network_on_base("tilde", base)
    collator = Collator("tilde", chosen, pieces, [made_source("air", 4)], planned([(0, 0), (0, 1)]))
    TrainingStep(network, chosen, pieces)(collator([0])["batch"])["loss"].backward()
    gradient = network.pretrained.get_output_embeddings().bias.grad
    kept = torch.from_numpy(clean_vocabulary(analyzer.vocabulary, "repo"))
    assert gradient[~kept].abs().max().item() == 0.0
    assert gradient[kept].abs().min().item() > 0.0


def test_the_sparsity_of_the_max_pooled_encoder_is_added(pieces, base):
    plain, sparse = (
        settings("splade-doc", sparsity=0.0),
        settings("splade-doc", sparsity=2.0, sparsity_ramp=0.0),
    )
    network = network_on_base("splade-doc", base).eval()
    batch = Collator("splade-doc", plain, pieces, [made_source("air", 4)], planned([(0, 0), (0, 1)]))([0])[
        "batch"
    ]
    with torch.no_grad():
        weights = network(batch["passage_ids"], batch["passage_mask"])
        losses = [TrainingStep(network, chosen, pieces)(batch)["loss"].item() for chosen in (plain, sparse)]
    assert losses[1] - losses[0] == pytest.approx(2 * weights.mean(0).square().sum().item(), rel=1e-4)


def test_sparsity_rises_with_the_square_of_the_step(pieces, base):
    chosen = settings("splade-doc", sparsity=2.0, sparsity_ramp=0.5)
    network = network_on_base("splade-doc", base).eval()
    batch = Collator("splade-doc", chosen, pieces, [made_source("air", 4)], planned([(0, 0), (0, 1)]))([0])[
        "batch"
    ]
    step = TrainingStep(network, chosen, pieces)
    added = []
    with torch.no_grad():
        weights = network(batch["passage_ids"], batch["passage_mask"])
        for progress in (0.0, 0.1, 0.25, 0.5, 0.9):
            step.progress = progress
            added.append(step(batch)["loss"].item())
    whole = 2 * weights.mean(0).square().sum().item()
    expected = [0.0, 0.04 * whole, 0.25 * whole, whole, whole]
    assert [one - added[0] for one in added] == pytest.approx(expected, rel=1e-4)


def counting(base):
    """A TILDEv2 network with a weight of 1 for every piece, so that a score is a sum of query weights."""
    network = network_on_base("tildev2", base)
    with torch.no_grad():
        network.token_projection.weight.zero_()
        network.token_projection.bias.fill_(1.0)
    return network


def taught_losses(base, pieces, *changes, **given):
    """Losses of a batch of two pairs; scores (2, 0) and (1, 1), cosines (.5, 0) and (1, .5)."""
    source = mini(("wing lift", "wing lift drag"), ("drag", "shock drag"))
    vectors = np.array([[0.5, 0.0], [1.0, 0.5], [1.0, 0.0], [0.0, 1.0]], dtype=np.float16)
    places = [(0, 0), (0, 1)]
    teacher = TeacherVectors(places, places, vectors)
    losses = []
    for change in changes:
        chosen = settings("tildev2", **(given | change))
        collator = Collator("tildev2", chosen, pieces, [source], planned(places), teacher=teacher)
        batch = collator([0])["batch"]
        losses.append(TrainingStep(counting(base), chosen, pieces)(batch)["loss"].item())
    return losses


def test_the_divergence_from_a_teacher_is_mixed_with_the_contrastive_loss(pieces, base):
    alone, mixed, only = taught_losses(
        base,
        pieces,
        {},
        {"teacher": "x", "teacher_weight": 0.25},
        {"teacher": "x", "teacher_weight": 1.0},
        teacher_scale=4.0,
    )
    assert alone == pytest.approx((math.log(1 + math.exp(-2)) + math.log(2)) / 2, rel=1e-5)

    def divergence(teacher, student):  # of softmax(teacher, 0) from softmax(student, 0)
        p, q = 1 / (1 + math.exp(-teacher)), 1 / (1 + math.exp(-student))
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    # Margins of the first passage, four times the cosines: 2 and 2 of the teacher, 2 and 0 of the network.
    assert only == pytest.approx((divergence(2, 2) + divergence(2, 0)) / 2, rel=1e-5)
    assert mixed == pytest.approx(0.75 * alone + 0.25 * only, rel=1e-5)


def test_the_margins_of_a_teacher(pieces, base):
    (loss,) = taught_losses(
        base,
        pieces,
        {"teacher": "x", "teacher_loss": "margin-mse", "teacher_weight": 1.0, "teacher_scale": 6.0},
    )
    # Margins of the relevant passage: 3 and -3 of the teacher, 2 and 0 of the network.
    assert loss == pytest.approx(((3 - 2) ** 2 + (-3 - 0) ** 2) / 2, rel=1e-5)


def test_a_query_is_ranked_over_its_own_candidates_only(pieces, base):
    source = mini(("wing lift", "wing lift drag"), ("drag", "shock drag"), ("lift", "heat"))
    mined = [np.array([[1], [2], [0]], dtype=np.int32)]
    excluded = {}
    for candidates in ("batch", "own"):
        chosen = settings("tildev2", negatives=1, candidates=candidates)
        collator = Collator("tildev2", chosen, pieces, [source], planned([(0, 0), (0, 1)]), negatives=mined)
        batch = collator([0])["batch"]
        excluded[candidates] = batch["excluded"].int().tolist()
        loss = TrainingStep(counting(base), chosen, pieces)(batch)["loss"].item()
    # Passages: 0 and 1 of the first pair, 1 and 2 of the second.
    assert excluded["batch"] == [[0, 0, 0, 0], [0, 1, 0, 0]]
    assert excluded["own"] == [[0, 0, 1, 1], [1, 1, 0, 0]]
    # Scores: (2, 0) and (1, 0).
    assert loss == pytest.approx((math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2, rel=1e-5)


def test_a_pair_without_mined_negatives_of_the_teacher_has_no_loss(pieces, base):
    source = mini(("wing lift", "wing lift drag"), ("drag", "shock drag"))
    chosen = settings(
        "tildev2", negatives=2, negatives_from="teacher", candidates="own", teacher="x", teacher_weight=1.0
    )
    collator = Collator(
        "tildev2",
        chosen,
        pieces,
        [source],
        planned([(0, 0)]),
        negatives=[np.full((2, 4), -1, dtype=np.int32)],
        teacher=TeacherVectors([(0, 0)], [(0, 0)], np.eye(2, dtype=np.float16)),
    )
    batch = collator([0])["batch"]
    assert collator.places(0) == [(0, 0)] * 3
    assert batch["excluded"].int().tolist() == [[0, 1, 1]]
    assert TrainingStep(counting(base), chosen, pieces)(batch)["loss"].item() == pytest.approx(0.0, abs=1e-6)


def test_fixed_query_weights_do_not_depend_on_the_count(pieces, base, number):
    source = mini(("wing lift wing", "wing lift"), ("drag", "drag"))
    weights = np.zeros(len(VOCABULARY), dtype=np.float32)
    weights[[number("wing"), number("lift"), number("drag")]] = 1.5, 0.5, 3.0
    chosen = settings("tildev2", query_weights="idf")
    collator = Collator("tildev2", chosen, pieces, [source], planned([(0, 0), (0, 1)]), query_weights=weights)
    batch = collator([0])["batch"]
    assert batch["occurrence_rows"].tolist() == [0, 0, 1]
    assert dict(
        zip(batch["occurrence_terms"].tolist(), batch["occurrence_weights"].tolist(), strict=True)
    ) == {number("wing"): 1.5, number("lift"): 0.5, number("drag"): 3.0}
    loss = TrainingStep(counting(base), chosen, pieces)(batch)["loss"].item()
    # Scores: (2, 0) and (0, 3).
    assert loss == pytest.approx((math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-3))) / 2, rel=1e-5)


def test_tilde_with_contrast_ranks_the_passages_of_the_batch(pieces, base):
    source = mini(("wing lift", "wing flutter"), ("drag", "drag drag lift"), ("heat", "heat transfer"))
    batches = planned([(0, 0), (0, 1), (0, 2)])
    losses = {}
    for contrast in (0.0, 0.5):
        chosen = settings("tilde", contrast=contrast)
        torch.manual_seed(3)
        step = TrainingStep(network_on_base("tilde", base), chosen, pieces).eval()
        made = Collator("tilde", chosen, pieces, [source], batches)([0])["batch"]
        losses[contrast] = step(made)["loss"]
    logits = step.network(made["passage_ids"], made["passage_mask"])
    scores = likelihood_scores(logits, QueryTerms(made["occurrence_rows"], made["occurrence_terms"], 3))
    expected = losses[0.0].detach() + 0.5 * torch.nn.functional.cross_entropy(scores, torch.arange(3))
    assert losses[0.5].item() == pytest.approx(expected.item(), rel=1e-5)
