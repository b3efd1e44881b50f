"""BERT-Model1: scores compared with plain loops, independence of the batch, and invalid input."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.train.conftest import WORDS  # noqa: E402

from termwise.errors import ModelFormatError, ParameterError  # noqa: E402
from termwise.scorers.protocol import TextScorer  # noqa: E402
from termwise.train.inputs import Pieces  # noqa: E402
from termwise.yardsticks.rerankers.bert_model1 import BertModel1, BertModel1Config  # noqa: E402
from termwise.yardsticks.rerankers.bert_model1_explanation import explain_pair  # noqa: E402
from termwise.yardsticks.rerankers.windows import Inputs, windows_of  # noqa: E402

from .conftest import SMALL, number, scoring, small_network  # noqa: E402

QUERY = "wing lift of a shock ?"
SHORT = "lift drag"
LONG = " ".join(WORDS[3:22])  # 19 pieces: chunks of 6, 6 and 7
TEXTS = [SHORT, LONG, "the wing is of a plate .", "heap", "sorts merging lists tree"]


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def plain(network, query, document, *, config):
    """Return the score by float64 loops over tokens, without padding or batches."""
    layers = [(layer.weight.double(), layer.bias.double()) for layer in network.pair.layers]

    def translation(x_q, x_d):
        q = network.pair.project_query.weight.double() @ x_q + network.pair.project_query.bias.double()
        d = network.pair.project_document.weight.double() @ x_d + network.pair.project_document.bias.double()
        out = torch.cat([q, d, q * d])
        for place, (weight, bias) in enumerate(layers):
            out = weight @ (out if place == 0 else torch.relu(out)) + bias
        return sigmoid(float(out))

    count = math.ceil(len(document) / config.chunk_length)
    cut = [len(document) * part // count for part in range(count + 1)]
    query_vectors, text_vectors, places = [], [], []
    for begin, end in pairwise(cut):
        ids = [number("[CLS]"), *query, number("[SEP]"), *document[begin:end], number("[SEP]")]
        segments = [0] * (len(query) + 2) + [1] * (end - begin + 1)
        hidden = network.encoder(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.int64),
            token_type_ids=torch.tensor([segments]),
        ).last_hidden_state[0]
        query_vectors.append(hidden[1 : 1 + len(query)].double())
        text_vectors += list(hidden[2 + len(query) : -1].double())
        places += [len(query_vectors) - 1] * (end - begin)
    total = []
    for row, q in enumerate(query):
        chances = []
        for place, (x_d, d) in enumerate(zip(text_vectors, document, strict=True)):
            window = 0 if config.query_vectors == "first" else places[place]
            chance = translation(query_vectors[window][row], x_d)
            p = config.self_translation
            chances.append((p if q == d else (1 - p) * chance) if p else chance)
        total.append(math.log(sum(chances) / len(chances)))
    return sum(total) / (len(total) if config.score_norm == "mean" else 1)


def vectors_of(network, pieces, windows):
    return network.vectors(Inputs.of(windows, pieces))


def read(analyzer, text, most):
    return [number(token) for token in analyzer.tokens(text)][:most]


@pytest.mark.parametrize("query_vectors", ["window", "first"])
@pytest.mark.parametrize(("score_norm", "p"), [("sum", 0.0), ("mean", 0.0), ("sum", 0.2)])
@torch.no_grad()
def test_scores_agree_with_float64_loops(base, analyzer, query_vectors, score_norm, p):
    network = small_network(
        base, query_vectors=query_vectors, score_norm=score_norm, self_translation=p
    ).eval()
    found = scoring(network, analyzer).score(QUERY, TEXTS)
    config = network.reading
    expected = [
        plain(network, read(analyzer, QUERY, 6), read(analyzer, text, 20), config=config) for text in TEXTS
    ]
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx(expected, abs=2e-5)


def test_query_vectors_affect_long_texts_only(base, analyzer):
    first, window = (
        scoring(small_network(base, query_vectors=which), analyzer).score(QUERY, [SHORT, LONG])
        for which in ("first", "window")
    )
    assert first[0] == pytest.approx(window[0], abs=1e-6)
    assert abs(first[1] - window[1]) > 1e-3


def test_it_is_a_text_scorer_with_a_name(network, analyzer):
    scorer = scoring(network, analyzer, name="mine")
    assert isinstance(scorer, TextScorer)
    assert scorer.name == "mine"


@pytest.mark.parametrize("batch", [1, 2, 5, 64])
def test_a_score_does_not_depend_on_the_batch(network, analyzer, scorer, batch):
    """Alone, among others, in any order, and with any number of windows at once."""
    alone = np.array([scorer.score(QUERY, [text])[0] for text in TEXTS])
    batched = scoring(network, analyzer, batch=batch)
    np.testing.assert_allclose(batched.score(QUERY, TEXTS), alone, atol=1e-5)
    np.testing.assert_allclose(batched.score(QUERY, TEXTS[::-1]), alone[::-1], atol=1e-5)
    beside = [*TEXTS, "", " ".join(WORDS * 2), *TEXTS]
    np.testing.assert_allclose(batched.score(QUERY, beside)[: len(TEXTS)], alone, atol=1e-5)


@torch.no_grad()
def test_vectors_at_padding_are_not_used(network, analyzer):
    pieces = Pieces(analyzer, network.kind)
    windows = windows_of(pieces(SHORT), pieces(LONG), chunk_length=8)
    tight = [vectors_of(network.eval(), pieces, [window])[0] for window in windows]
    padded = []
    for rows, window in zip(tight, windows, strict=True):
        fill = torch.full((40, rows.shape[1]), math.nan)
        fill[window.query_places], fill[window.chunk_places] = (
            rows[window.query_places],
            rows[window.chunk_places],
        )
        padded.append(fill)
    expected = network.log_translations(windows, tight)
    assert expected.shape == (19, 2)
    assert torch.isfinite(expected).all()
    torch.testing.assert_close(network.log_translations(windows, padded), expected)


@torch.no_grad()
def test_the_encoder_does_not_attend_to_padding(network, analyzer):
    pieces = Pieces(analyzer, network.kind)
    (short,), (long,) = (
        windows_of(pieces(QUERY)[:6], pieces(text)[:8], chunk_length=8) for text in (SHORT, LONG)
    )
    beside = vectors_of(network.eval(), pieces, [short, long])
    torch.testing.assert_close(
        beside[0, : len(short)], vectors_of(network, pieces, [short])[0], atol=1e-5, rtol=0
    )


def test_the_test_network_gives_different_scores(scorer):
    scores = np.sort(scorer.score(QUERY, TEXTS))
    assert np.diff(scores).min() > 1e-3


def test_the_chunk_has_a_segment_of_its_own(base, analyzer):
    network = small_network(base)
    before = scoring(network, analyzer).score(QUERY, TEXTS)
    with torch.no_grad():
        network.encoder.embeddings.token_type_embeddings.weight[1, 0] += 3.0
    assert np.abs(scoring(network, analyzer).score(QUERY, TEXTS) - before).max() > 1e-4


def test_an_encoder_without_segments_is_accepted(analyzer):
    torch.manual_seed(1)
    settings = {
        "vocab_size": len(analyzer.vocabulary),
        "dim": 16,
        "n_layers": 1,
        "n_heads": 2,
        "hidden_dim": 32,
    }
    model = transformers.DistilBertModel(
        transformers.DistilBertConfig(**settings, max_position_embeddings=64)
    )
    scorer = scoring(BertModel1(model, BertModel1Config(**SMALL)), analyzer)
    assert np.isfinite(scorer.score(QUERY, TEXTS)).all()


def test_truncated_tokens_are_not_read_and_are_counted(scorer):
    longer, tail = QUERY + " heat heat", LONG + " " + " ".join(WORDS[:5])
    assert scorer.score(longer, [LONG]).tolist() == scorer.score(QUERY, [LONG]).tolist()
    assert scorer.score(QUERY, [tail]).tolist() == scorer.score(QUERY, [tail + " zig zag"]).tolist()
    unread = scorer.unread(longer, [SHORT, LONG, tail])
    assert unread.query == 2
    assert unread.texts.tolist() == [0, 0, 4]
    assert scorer.unread(QUERY, []).texts.tolist() == []


def test_without_a_limit_texts_are_not_truncated(base, analyzer):
    whole = scoring(small_network(base, document_length=0), analyzer)
    text = " ".join(WORDS)
    assert whole.unread(QUERY, [text]).texts.tolist() == [0]
    assert whole.score(QUERY, [text])[0] != whole.score(QUERY, [text + " heat"])[0]


def test_empty_texts_and_queries(scorer):
    scores = scorer.score("wing lift", ["", "  \n", SHORT])
    assert scores[:2].tolist() == pytest.approx([2 * math.log(1e-8)] * 2)
    assert scores[2] > scores[0]
    assert scorer.score("", TEXTS).tolist() == [0.0] * len(TEXTS)
    assert scorer.score(QUERY, []).shape == (0,)


def test_with_means_an_empty_text_scores_the_floor(base, analyzer):
    scorer = scoring(small_network(base, score_norm="mean"), analyzer)
    assert scorer.score("wing lift", [""]).tolist() == pytest.approx([math.log(1e-8)])


def test_means_have_a_floor(network, analyzer):
    torch.nn.init.constant_(network.pair.layers[-1].bias, -400.0)
    scorer = scoring(network, analyzer)
    assert scorer.score("wing", [SHORT, ""]).tolist() == pytest.approx([math.log(1e-8)] * 2)
    (contribution,) = explain_pair(scorer, "wing", SHORT).contributions
    assert sum(source.share for source in contribution.sources) == pytest.approx(1)


@torch.no_grad()
def test_training_has_no_floor(network, analyzer):
    torch.nn.init.constant_(network.pair.layers[-1].bias, -400.0)
    pieces = Pieces(analyzer, network.kind)
    windows = windows_of(pieces("wing"), pieces(SHORT), chunk_length=8)
    logs = network.log_translations(windows, list(vectors_of(network, pieces, windows)))
    assert (logs > -420).all()
    assert (logs < -380).all()


@pytest.mark.parametrize("weight", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_refused(network, analyzer, weight):
    with torch.no_grad():
        network.pair.layers[0].weight[1, 2] = weight
    with pytest.raises(ModelFormatError) as caught:
        scoring(network, analyzer)
    assert ("tensor", "pair.layers.0.weight") in caught.value.facts


def test_numbers_that_overflow_are_refused(network, analyzer):
    with torch.no_grad():
        network.pair.project_query.weight[:, 0] = 1e30
        network.pair.project_document.weight[:, 0] = 1e30
    scorer = scoring(network, analyzer)
    with pytest.raises(ModelFormatError, match="not a finite number"):
        scorer.score("wing", [SHORT])


def test_windows_have_to_fit_into_the_encoder(base, analyzer):
    with pytest.raises(ParameterError) as caught:
        scoring(small_network(base, chunk_length=56), analyzer)  # 6 + 56 + 3 of 64
    assert caught.value.fixes_worded() == ["use `chunk_length=55`"]
    scoring(small_network(base, chunk_length=55), analyzer)


def test_another_tokenizer_is_refused(network):
    from termwise.text import WordPieceAnalyzer

    with pytest.raises(ModelFormatError, match="vocabularies of different sizes"):
        scoring(network, WordPieceAnalyzer.shipped())


@pytest.mark.parametrize(("query", "texts"), [(3, ["a"]), ("a", "b"), ("a", [None]), (None, [])])
def test_arguments_that_are_not_strings_are_refused(scorer, query, texts):
    with pytest.raises(ParameterError):
        scorer.score(query, texts)


def test_scoring_changes_nothing(scorer):
    state = torch.get_rng_state()
    before = scorer.score(QUERY, TEXTS)
    explain_pair(scorer, QUERY, LONG)
    assert torch.equal(torch.get_rng_state(), state)
    assert scorer.score(QUERY, TEXTS).tolist() == before.tolist()


@pytest.mark.parametrize("score_norm", ["sum", "mean"])
@pytest.mark.parametrize("text", [SHORT, LONG, "wing wing"])
def test_an_explanation_adds_up_to_the_score(base, analyzer, score_norm, text):
    scorer = scoring(small_network(base, score_norm=score_norm), analyzer)
    made = explain_pair(scorer, QUERY, text)
    assert made.score == pytest.approx(scorer.score(QUERY, [text])[0], abs=1e-12)
    assert math.fsum(one.score for one in made.contributions) == pytest.approx(made.score, abs=1e-12)
    assert [one.piece for one in made.contributions] == analyzer.tokens(QUERY)
    for one in made.contributions:
        assert QUERY[slice(*one.span)] == one.piece
        assert [source.piece for source in one.sources] == analyzer.tokens(text)
        assert math.fsum(source.share for source in one.sources) == pytest.approx(1, abs=1e-12)
        assert math.fsum(source.score for source in one.sources) == pytest.approx(one.score, abs=1e-12)
        chances = [source.probability for source in one.sources]
        assert one.mean == pytest.approx(sum(chances) / len(chances), rel=1e-5)
        assert [source.share for source in one.sources] == pytest.approx(
            [chance / sum(chances) for chance in chances], rel=1e-5
        )


def test_explanations_of_empty_texts_and_queries(scorer):
    nothing = explain_pair(scorer, "", LONG)
    assert (nothing.score, nothing.contributions) == (0.0, ())
    empty = explain_pair(scorer, "wing lift", "")
    assert empty.score == pytest.approx(2 * math.log(1e-8))
    assert [one.sources for one in empty.contributions] == [(), ()]


def test_an_explanation_counts_truncated_tokens(scorer):
    made = explain_pair(scorer, QUERY + " heat", " ".join(WORDS[:23]))
    assert (made.query_unread, made.text_unread) == (1, 3)
    assert len(made.contributions) == 6
    assert len(made.contributions[0].sources) == 20


@pytest.mark.parametrize(
    "changes",
    [{"query_length": 0}, {"chunk_length": 0}, {"self_translation": 1.0}, {"hidden": ""}, {"hidden": "4,0"}],
)
def test_invalid_configurations_are_refused(changes):
    with pytest.raises(ParameterError):
        BertModel1Config(**changes)


def test_the_default_fills_the_512_positions_of_bert():
    assert BertModel1Config().longest == 512
    assert BertModel1Config().document_length == 3 * BertModel1Config().chunk_length
