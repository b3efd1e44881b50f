"""Networks that re-rank, except BERT-Model1: scores against plain loops, padding, training and folders."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402
from tests.unit.train.conftest import WORDS  # noqa: E402

from termwise.cli.train_reranker import DESCRIPTIONS  # noqa: E402
from termwise.collection.training_pairs import read_sources  # noqa: E402
from termwise.errors import ParameterError, UnknownNameError  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.train.data.sampling import JudgedQueries  # noqa: E402
from termwise.train.inputs import Pieces  # noqa: E402
from termwise.yardsticks.rerankers.bert_model1_explanation import explain_pair  # noqa: E402
from termwise.yardsticks.rerankers.folder import read_scorer_folder, write_scorer  # noqa: E402
from termwise.yardsticks.rerankers.kinds import KINDS, network_type  # noqa: E402
from termwise.yardsticks.rerankers.step import RankingStep  # noqa: E402
from termwise.yardsticks.rerankers.training import reading_of, train_reranker  # noqa: E402
from termwise.yardsticks.rerankers.windows import Inputs, windows_of  # noqa: E402

from .conftest import number, scoring  # noqa: E402
from .test_bert_model1 import LONG, QUERY, SHORT, TEXTS  # noqa: E402
from .test_reranker_training import data  # noqa: E402, F401

READING = {"query_length": 6, "chunk_length": 8, "document_length": 20}
OWN = [kind for kind in KINDS if kind != "bert-model1"]
"""Kinds without tests of their own."""

WINDOWED = [kind for kind in OWN if kind not in ("epic", "qlm-bert")]


def small(kind, base, **changes):
    """Return a network in evaluation mode, with large weights in its head."""
    torch.manual_seed(3)
    made = network_type(kind)
    network = made.from_base(base, reading_of(made.settings_type(**READING, **changes), made))
    with torch.no_grad():
        for parameter in network.head_parameters():
            parameter.mul_(3)
    return network.eval()


@torch.no_grad()
def plain_windows(network, analyzer, query, text):
    """Return the states of all layers of each window, read alone and without padding, with its query and chunk."""
    pieces = Pieces(analyzer, network.kind)
    found = []
    for window in windows_of(pieces(query)[:6], pieces(text)[:20], chunk_length=8):
        chunk = [*window.chunk.tolist(), number("[SEP]")] if len(window.chunk) else []
        ids = [number("[CLS]"), *window.query.tolist(), number("[SEP]"), *chunk]
        segments = [0] * (len(window.query) + 2) + [1] * len(chunk)
        states = network.encoder(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.int64),
            token_type_ids=torch.tensor([segments]),
            output_hidden_states=True,
        ).hidden_states
        found.append((torch.cat(states).double().numpy(), window))
    return found


def similarities(windows):
    """Return the cosines by layer, query token and document token, and the mean vector of [CLS]."""
    layers = []
    for layer in range(len(windows[0][0])):
        matrix = []
        for row in range(len(windows[0][1].query)):
            values = []
            for states, window in windows:
                q = states[layer][1 + row]
                for place in range(len(window.chunk)):
                    d = states[layer][2 + len(window.query) + place]
                    values.append(q @ d / math.sqrt((q @ q) * (d @ d)))
            matrix.append(values)
        layers.append(np.array(matrix))
    return np.array(layers), np.mean([states[-1][0] for states, _ in windows], axis=0)


def weights(layer):
    return layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()


def cross_encoder(network, matrices, first):
    weight, bias = weights(network.linear)
    return (weight @ first + bias)[0]


def knrm(network, matrices, first):
    means = network.means.detach().double().numpy()
    widths = network.widths.detach().double().numpy()
    features = []
    for matrix in matrices:
        for mean, width in zip(means, widths, strict=True):
            terms = [sum(math.exp(-((s - mean) ** 2) / (2 * width**2)) for s in row) for row in matrix]
            features.append(sum(math.log(total + 1e-6) for total in terms))
    weight, bias = weights(network.linear)
    return (weight @ np.concatenate([first, features]) + bias)[0]


def drmm(network, matrices, first):
    (inner, inner_bias), (outer, outer_bias) = weights(network.term), weights(network.linear)
    total = 0.0
    for row in range(matrices.shape[1]):
        features = []
        for matrix in matrices:
            counts, _ = np.histogram(matrix[row], bins=11, range=(-1, 1))
            features += [math.log(count + 1e-5) for count in counts]
        hidden = np.maximum(0, inner @ np.concatenate([first, features]) + inner_bias)
        total += (outer @ hidden + outer_bias)[0]
    return total


def pacrr(network, matrices, first):
    layers, terms, tokens = matrices.shape
    padded = np.zeros((layers, 6 + 2, max(2, tokens) + 2))
    padded[:, :terms, :tokens] = matrices
    features = []
    by_length = []
    for length, convolution in enumerate(network.convolutions, 1):
        weight, bias = weights(convolution)
        rows = []
        for row in range(6):
            values = [
                max(
                    0.0,
                    max(
                        float((weight[one] * padded[:, row : row + length, place : place + length]).sum())
                        + bias[one]
                        for one in range(32)
                    ),
                )
                for place in range(max(2, tokens))
            ]
            rows.append(sorted(values)[::-1][:2])
        by_length.append(rows)
    for row in range(6):
        for rows in by_length:
            features += rows[row]
    out = np.concatenate([features, first])
    for layer in network.dense:
        weight, bias = weights(layer)
        out = np.maximum(0, weight @ out + bias)
    weight, bias = weights(network.linear)
    return (weight @ out + bias)[0]


PLAIN = {"cross-encoder": cross_encoder, "cedr-knrm": knrm, "cedr-drmm": drmm, "cedr-pacrr": pacrr}


@pytest.mark.parametrize("kind", WINDOWED)
def test_scores_agree_with_float64_loops(kind, base, analyzer):
    network = small(kind, base)
    texts = [*TEXTS, "lift", ""]
    expected = []
    for text in texts:
        windows = plain_windows(network, analyzer, QUERY, text)
        expected.append(PLAIN[kind](network, *similarities(windows)))
    assert np.ptp(expected) > 0.1
    assert scoring(network, analyzer).score(QUERY, texts) == pytest.approx(expected, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_a_score_does_not_depend_on_padding_or_other_texts(kind, batch, base, analyzer):
    """A short text alone has one window without padding; beside a long one, its window is padded."""
    network = small(kind, base)
    alone = [scoring(network, analyzer).score(QUERY, [text])[0] for text in TEXTS]
    together = scoring(network, analyzer, batch=batch)
    beside = [*TEXTS, "", " ".join(WORDS * 2), *TEXTS]
    assert together.score(QUERY, beside)[: len(TEXTS)] == pytest.approx(alone, rel=1e-4, abs=1e-4)
    queries = [QUERY, "wing", QUERY, "heat flow of a jet", ""]
    mixed = together.score_pairs(queries, TEXTS)
    one_by_one = [together.score(query, [text])[0] for query, text in zip(queries, TEXTS, strict=True)]
    assert mixed == pytest.approx(one_by_one, rel=1e-4, abs=1e-4)
    assert mixed[4] == 0.0


@pytest.mark.parametrize("kind", WINDOWED)
@torch.no_grad()
def test_vectors_at_padding_are_not_used(kind, base, analyzer):
    network = small(kind, base)
    pieces = Pieces(analyzer, kind)
    windows = windows_of(pieces(SHORT), pieces(LONG), chunk_length=8)
    tight = [network.vectors(Inputs.of([window], pieces))[0] for window in windows]
    padded = []
    for rows in tight:
        fill = torch.full((*rows.shape[:-2], 40, rows.shape[-1]), math.nan)
        fill[..., : rows.shape[-2], :] = rows
        padded.append(fill)
    torch.testing.assert_close(network.score(windows, padded), network.score(windows, tight))


@pytest.mark.parametrize("kind", OWN)
def test_a_network_is_trained_written_and_read(kind, data, base, tmp_path):  # noqa: F811
    made = network_type(kind)
    settings = made.settings_type(
        **READING, batch=4, epochs=30, dropout=0.0, learning_rate=1e-3, head_learning_rate=1e-2
    )
    facts = train_reranker(kind, [data], base, tmp_path / "mine", settings=settings, validation="none")
    log = (tmp_path / "mine" / "training" / "log.jsonl").read_text().splitlines()
    losses = [line["loss"] for line in map(json.loads, log) if "loss" in line]
    assert np.mean(losses[-2:]) < 0.7 * losses[0]
    assert facts["pairs_read"] == 30 * 14 * (1 if made.generative else 2)
    scorer = read_scorer_folder(tmp_path / "mine")
    assert isinstance(scorer.network, made)
    card = (tmp_path / "mine" / "README.md").read_text()
    assert made.about.split(":")[0] in card
    assert "patent" not in card
    again = tmp_path / "again"
    write_scorer(scorer.network, scorer.analyzer, again)
    reread = read_scorer_folder(again)
    assert reread.score(QUERY, TEXTS).tolist() == scorer.score(QUERY, TEXTS).tolist()
    assert reread.fingerprint == scorer.fingerprint


def log_likelihood(network, condition, target):
    """Return the sum of ln P of the target tokens, each predicted from a prefix that ends before it."""
    total = 0.0
    for place, token in enumerate(target):
        ids = torch.tensor([[number("[CLS]"), *condition, number("[SEP]"), *target[:place]]])
        size = ids.shape[1]
        causal = torch.ones(size, size, dtype=torch.bool).tril()[None, None]
        with torch.no_grad():
            logits = network.pretrained(input_ids=ids, attention_mask=causal).logits[0, -1].double()
        total += float(logits.log_softmax(0)[token])
    return total


@pytest.mark.parametrize(("likelihood", "alpha"), [("query", 0.5), ("document", 0.5), ("both", 0.3)])
def test_likelihoods_are_products_of_next_token_probabilities(likelihood, alpha, base, analyzer):
    network = small("qlm-bert", base, likelihood=likelihood, alpha=alpha)
    query = [number(token) for token in analyzer.tokens(QUERY)][:6]
    texts = [SHORT, LONG, "the wing is of a plate ."]
    expected = []
    for text in texts:
        document = [number(token) for token in analyzer.tokens(text)][:8]
        parts = {
            "query": log_likelihood(network, document, query),
            "document": log_likelihood(network, query, document) / len(document),
        }
        both = alpha * parts["query"] + (1 - alpha) * parts["document"]
        expected.append(parts.get(likelihood, both))
    scorer = scoring(network, analyzer)
    assert scorer.score(QUERY, texts) == pytest.approx(expected, rel=1e-4)
    empty = scorer.score(QUERY, [""])[0]
    assert empty == pytest.approx(
        {
            "query": (given := log_likelihood(network, [], query)),
            "document": 0.0,
            "both": alpha * given,
        }[likelihood],
        rel=1e-4,
    )


def test_later_tokens_do_not_change_a_likelihood(base, analyzer):
    """With one direction only, the probability of the first token is the same for any second one."""
    network = small("qlm-bert", base, likelihood="query")
    scorer = scoring(network, analyzer)
    word, other = (number(token) for token in ("wing", "lift"))
    alone = log_likelihood(network, [other], [word])
    assert scorer.score("wing", ["lift"])[0] == pytest.approx(alone, rel=1e-4)
    rest = log_likelihood(network, [other], [word, other]) - alone
    assert scorer.score("wing lift", ["lift"])[0] - alone == pytest.approx(rest, rel=1e-3)


def test_a_scorer_is_opened_with_another_configuration(base, analyzer, tmp_path):
    network = small("qlm-bert", base, likelihood="both")
    write_scorer(network, analyzer, tmp_path / "qlm")
    context = ScorerContext(Background(list), device="cpu")
    query, document = (
        open_scorer(f"{tmp_path / 'qlm'},likelihood={which}", context).score(QUERY, TEXTS)
        for which in ("query", "document")
    )
    both = read_scorer_folder(tmp_path / "qlm", reading={"alpha": "0.25"}).score(QUERY, TEXTS)
    assert both == pytest.approx(0.25 * query + 0.75 * document, rel=1e-4)
    with pytest.raises(ParameterError, match="alpha"):
        read_scorer_folder(tmp_path / "qlm", reading={"alpha": "2"})
    with pytest.raises(UnknownNameError, match="setting of the network"):
        open_scorer(f"{tmp_path / 'qlm'},projection=3", context)
    with pytest.raises(UnknownNameError, match="training setting"):
        network.settings_type.parse({"projection": "3"})


def test_a_tied_decoder_is_stored_once(base, analyzer, tmp_path):
    network = small("epic", base)
    write_scorer(network, analyzer, tmp_path / "epic")
    stored = load_file(tmp_path / "epic" / "model.safetensors")
    shapes = [tuple(value.shape) for value in stored.values()]
    assert shapes.count((len(analyzer.vocabulary), 16)) == 1
    read = read_scorer_folder(tmp_path / "epic").network.pretrained
    assert read.get_output_embeddings().weight is read.get_input_embeddings().weight


@torch.no_grad()
def test_the_score_of_epic_is_the_product_of_rows_of_an_index(base, analyzer):
    network = small("epic", base)
    pieces = Pieces(analyzer, network.kind)
    query, texts = pieces(QUERY)[:6], [pieces(text)[:8] for text in TEXTS]
    inputs = network.inputs([(query, text) for text in texts], pieces)
    ((ids, saliences),) = network.saliences(inputs["queries"])
    rows = network.weights(inputs["texts"])
    assert ids.tolist() == query.tolist()
    assert {row.shape for row in rows} == {(len(analyzer.vocabulary),)}
    assert all((row >= 0).all() for row in rows)
    places = [column for _, column in inputs["places"].value]
    products = [float(saliences @ rows[column][ids]) for column in places]
    assert products == pytest.approx(network(inputs).tolist(), rel=1e-5)


class Fixed(torch.nn.Module):
    """Network with given scores."""

    generative = False

    def __init__(self, scores):
        super().__init__()
        self.scores = torch.tensor(scores)

    def forward(self, inputs):
        return self.scores


def test_the_losses_by_hand():
    settings = network_type("cross-encoder").settings_type(margin=2.0, reduction="mean", teacher_scale=10.0)
    batch = {"inputs": {}, "queries": 2}
    scores = [3.0, 2.0, -1.0, 0.5, 1.0, 0.0]  # margins 1 and 4, -0.5 and 0.5
    step = RankingStep(Fixed(scores), settings)
    assert float(step(batch)["loss"]) == pytest.approx((1 + 0 + 2.5 + 1.5) / 4)
    # margins of the teacher: 10 * (.3, .5) and 10 * (.1, -.1)
    taught = batch | {"teacher": torch.tensor([[0.8, 0.5, 0.3], [0.4, 0.3, 0.5]])}
    squares = [(1 - 3) ** 2, (4 - 5) ** 2, (-0.5 - 1) ** 2, (0.5 + 1) ** 2]
    assert float(step(taught)["loss"]) == pytest.approx(sum(squares) / 4)
    summed = RankingStep(Fixed(scores), dataclasses.replace(settings, reduction="sum"))
    assert float(summed(taught)["loss"]) == pytest.approx(sum(squares))
    likelihoods = Fixed([-3.0, -1.0])
    likelihoods.generative = True
    assert float(RankingStep(likelihoods, settings)(batch)["loss"]) == pytest.approx(2.0)


def test_a_query_has_several_negatives():
    everything = np.ones(5, dtype=np.bool_)
    judged = JudgedQueries(
        np.arange(2), np.array([0, 1, 2]), np.array([0, 1]),
        np.array([[2, 3, 4], [2, -1, -1]]), np.array([[0, 5], [0, 5]]), everything,
    )  # fmt: skip
    drawn = [judged.sample(1, epoch, negatives=3) for epoch in range(20)]
    for sample in drawn:
        rows = dict(zip(sample.queries.tolist(), sample.negatives.tolist(), strict=True))
        assert sorted(rows[0]) == [2, 3, 4]
        assert rows[1] == [2, 2, 2]
    assert len({tuple(sample.negatives[sample.queries == 0][0].tolist()) for sample in drawn}) == 3
    for epoch in range(5):
        one = judged.sample(1, epoch).negatives
        assert one[:, 0].tolist() == judged.sample(1, epoch, negatives=3).negatives[:, 0].tolist()


def test_a_teacher_gives_the_margins(data, base, tmp_path):  # noqa: F811
    settings = network_type("cross-encoder").settings_type(
        **READING, batch=4, epochs=1, query_negatives=3, teacher=str(base)
    )
    out = tmp_path / "mine"
    facts = train_reranker("cross-encoder", [data], base, out, settings=settings, validation="none")
    assert facts["pairs_read"] == 14 * 4
    assert (out / "training" / "teacher").is_dir()
    assert facts["settings"]["teacher"] == base.name
    assert str(base) not in (out / "scorer.json").read_text() + (out / "README.md").read_text()


def test_unknown_kinds_and_foreign_settings_are_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="kind of re-ranking network"):
        train_reranker("mixer", ["pairs.jsonl"], "base", tmp_path / "out")
    with pytest.raises(ParameterError, match="settings"):
        train_reranker(
            "bert-model1", ["pairs.jsonl"], "base", tmp_path / "out",
            settings=network_type("cross-encoder").settings_type(),
        )  # fmt: skip


def test_only_scores_of_bert_model1_are_explained(base, analyzer):
    with pytest.raises(ParameterError, match="sums over query tokens"):
        explain_pair(scoring(small("cross-encoder", base), analyzer), QUERY, SHORT)


def test_every_kind_has_a_command():
    assert list(DESCRIPTIONS) == list(KINDS)
    assert all(network_type(kind).kind == kind for kind in KINDS)


def test_the_queries_of_a_source_are_limited(data, base, tmp_path):  # noqa: F811
    settings = network_type("cross-encoder").settings_type(**READING, source_queries=5)
    out = tmp_path / "mine"
    facts = train_reranker("cross-encoder", [data], base, out, settings=settings, validation="none")
    assert facts["queries"] == 5
    (source,) = read_sources(data)
    drawn = [source.sample(5, seed) for seed in (1, 1, 2)]
    assert [len(np.unique(one.pairs[:, 0])) for one in drawn] == [5, 5, 5]
    assert drawn[0].pairs.tolist() == drawn[1].pairs.tolist() != drawn[2].pairs.tolist()
    assert drawn[0].passages == source.passages
