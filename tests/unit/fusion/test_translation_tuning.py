"""Settings of a translation that are tuned together with its weight beside a first stage."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from termwise import BuildOptions, Document, Qrel, Query, Ranking, Run, build_index
from termwise.errors import (
    DataError,
    ParameterError,
    UnknownIdError,
    UnknownNameError,
    VocabularyMismatchError,
)
from termwise.evaluate import evaluate
from termwise.fusion import Fusion, Tuning, learn, tune
from termwise.fusion.translation_tuning import LAMBDAS, SELF_TRANSLATIONS
from termwise.search import TranslationScorer
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable

WORDS = [f"w{number}" for number in range(8)]
P, L = (0.1, 0.5, 0.9), (0.05, 0.5)


def table_over(words, analyzer="whitespace"):
    """Each word is asked for with itself and, less often, with the next one."""
    terms = len(words)
    targets = [sorted([place, (place + 1) % terms]) for place in range(terms)]
    chances = [0.5 if target == place else 0.25 for place, row in enumerate(targets) for target in row]
    return TranslationTable(
        Vocabulary(words),
        np.arange(0, 2 * terms + 1, 2),
        np.array(targets).ravel(),
        np.array(chances),
        np.arange(1, terms + 1),
        make_analyzer(analyzer).spec,
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Return a scorer, a first stage that errs, queries and judgments: relevant documents say the next word."""
    source = random.Random(4)
    documents = [Document(f"d{i}", " ".join(source.choices(WORDS, k=5))) for i in range(24)]
    index = build_index(
        documents,
        tmp_path_factory.mktemp("said") / "i",
        model="ml",
        analyzer="whitespace",
        options=BuildOptions(quantiser="float32"),
    ).index
    queries, rankings, qrels = [], [], []
    for number in range(12):
        word = source.randrange(8)
        queries.append(Query(f"q{number}", f"{WORDS[word]} {WORDS[(word + 3) % 8]}"))
        near = [d.doc_id for d in documents if WORDS[word - 1] in d.text.split()]
        relevant = set(source.sample(near, min(3, len(near))))
        qrels += [Qrel(f"q{number}", doc_id, 1) for doc_id in sorted(relevant)]
        scores = {d.doc_id: source.gauss(0, 1) + 0.7 * (d.doc_id in relevant) for d in documents}
        best = sorted(scores, key=scores.get, reverse=True)[:20]
        rankings.append(Ranking(best, [scores[one] for one in best], f"q{number}"))
    scorer = TranslationScorer(index, table_over(WORDS), least=0.01, background="bitext")
    return scorer, Run(rankings, "bm25"), queries, qrels


def tuned(world, **options) -> Tuning:
    return tune(*world, **{"measure": "nDCG@5", "self_translations": P, "lambdas": L, **options})


def translated(world, p, lambda_):
    """Score the candidates of the first stage as a user would."""
    scorer, first, queries, _ = world
    other = TranslationScorer(
        scorer.documents, scorer.table, self_translation=p, lambda_=lambda_, least=0.01, background="bitext"
    )
    return other.rank_many(queries, candidates=first, name="model1")


def test_the_value_of_a_cell_is_that_of_learned_weights(world):
    tuning = tuned(world)
    assert [(cell.self_translation, cell.lambda_) for cell in tuning.cells] == [(p, x) for p in P for x in L]
    for cell in tuning.cells:
        runs = [world[1], translated(world, cell.self_translation, cell.lambda_)]
        learned = learn(runs, world[3], method="sweep", measure="nDCG@5", missing="drop").learned
        assert cell.value == pytest.approx(learned.value, abs=1e-9)
        assert learned.low <= cell.share <= learned.high


def test_the_fusion_has_settings_and_weights_of_the_best_cell(world):
    tuning = tuned(world)
    assert tuning.best.value == pytest.approx(max(cell.value for cell in tuning.cells))
    assert len({cell.value for cell in tuning.cells}) > 1
    fusion = tuning.fusion
    runs = [world[1], translated(world, tuning.best.self_translation, tuning.best.lambda_)]
    assert fusion.runs == ("bm25", "model1")
    expected = learn(runs, world[3], method="sweep", measure="nDCG@5", missing="drop")
    assert (fusion.weights, fusion.learned.alone) == (expected.weights, expected.learned.alone)
    fused = evaluate(fusion.apply(runs), world[3], ["nDCG@5"]).means["nDCG@5"]
    assert fused == pytest.approx(tuning.best.value)


def test_the_file_keeps_settings_and_weights(world, tmp_path):
    tuning = tuned(world)
    tuning.fusion.save(tmp_path / "t.json")
    again = Fusion.open(tmp_path / "t.json")
    assert again == tuning.fusion
    assert again.settings == (
        {},
        {
            "self_translation": tuning.best.self_translation,
            "lambda": tuning.best.lambda_,
            "self_mode": "add",
            "renormalise": False,
            "least": 0.01,
            "background": "bitext",
        },
    )


def test_the_estimate_uses_held_out_queries(world):
    """Each query its own part: what is best on all others is worth this much on it."""
    scorer, first, queries, qrels = world
    estimate = tuned(world, folds=12).fusion.learned.estimate
    left_out = []
    for query in queries:
        others = [qrel for qrel in qrels if qrel.query_id != query.query_id]
        best = tune(
            scorer, first, queries, others, measure="nDCG@5", self_translations=P, lambdas=L, folds=0
        ).best
        runs = [first, translated(world, best.self_translation, best.lambda_)]
        fused = Fusion(["a", "b"], [best.share, 1 - best.share], missing="drop").apply(runs)
        own = [qrel for qrel in qrels if qrel.query_id == query.query_id]
        left_out.append(evaluate(fused, own, ["nDCG@5"]).means["nDCG@5"])
    assert estimate == pytest.approx(math.fsum(left_out) / len(left_out))
    assert estimate < tuned(world).best.value


def test_parts_do_not_depend_on_the_order_of_queries(world):
    scorer, first, queries, qrels = world
    turned = Run(list(first)[::-1], "bm25")
    one, other = tuned(world), tuned((scorer, turned, queries[::-1], qrels[::-1]))
    assert other.fusion.learned.estimate == pytest.approx(one.fusion.learned.estimate)
    assert (one.fusion.learned.folds, tuned(world, folds=0).fusion.learned.estimate) == (5, None)


def test_a_judged_query_that_the_run_lacks_counts_nothing(world):
    scorer, first, queries, qrels = world
    whole = tuned(world)
    more = tuned((scorer, first, queries, [*qrels, Qrel("elsewhere", "d1", 1)]))
    assert more.best.value == pytest.approx(whole.best.value * 12 / 13)
    assert more.fusion.learned.estimate == pytest.approx(whole.fusion.learned.estimate * 12 / 13)


def test_other_scalings(world):
    tuning = tuned(world, scaling=["z", "query-length"])
    assert tuning.fusion.scaling == ("z", "query-length")


def test_as_data(world):
    found = tuned(world).to_dict()
    assert set(found["cells"][0]) == {"self_translation", "lambda", "value", "share"}
    assert found["fusion"]["settings"][1]["least"] == 0.01


def test_equal_cells_go_to_the_first(world):
    """One document for each query: its place is the first, whatever p and lambda."""
    scorer, _, queries, qrels = world
    relevant = {qrel.query_id: qrel.doc_id for qrel in qrels}
    single = Run([Ranking([doc_id], [1.0], query_id) for query_id, doc_id in relevant.items()], "bm25")
    assert tuned((scorer, single, queries, qrels)).best.self_translation == P[0]


def test_the_usual_grid_is_that_of_the_published_experiments():
    assert {0.05, 0.35, 0.75, 0.9} <= set(SELF_TRANSLATIONS)
    assert {0.0001, 0.1, 0.3, 0.5} <= set(LAMBDAS)


@pytest.mark.parametrize(
    "options",
    [
        {"lambdas": (0.1, 1.0)},
        {"lambdas": (-0.1,)},
        {"self_translations": (1.1,)},
        {"self_translations": (float("nan"),)},
        {"self_translations": ()},
        {"lambdas": (0.1, 0.1)},
        {"folds": 1},
        {"folds": 13},
        {"measure": "ERR@10"},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(world, options):
    with pytest.raises(ParameterError):
        tuned(world, **options)


def test_the_number_of_folds_is_0_or_at_least_2(world):
    with pytest.raises(ParameterError, match="folds cannot have this value") as error:
        tuned(world, folds=1)
    assert dict(error.value.facts)["expected"] == "0, or a whole number of at least 2"


def test_unknown_names_are_refused(world):
    with pytest.raises(UnknownNameError):
        tuned(world, scaling="half")


def test_inputs_that_do_not_match_are_refused(world):
    scorer, first, queries, qrels = world
    with pytest.raises(DataError, match="no query in common"):
        tuned((scorer, first, queries, [Qrel("elsewhere", "d1", 1)]))
    with pytest.raises(DataError, match="no query in common"):
        tuned((scorer, Run([], "bm25"), queries, qrels))
    with pytest.raises(DataError, match="ranks no document"):
        tuned((scorer, Run([Ranking([], [], "q1")], "bm25"), queries, qrels))
    with pytest.raises(UnknownIdError, match="has no text"):
        tuned((scorer, first, queries[1:], qrels))
    with pytest.raises(UnknownIdError):
        tuned((scorer, Run([Ranking(["nobody"], [1.0], "q1")], "bm25"), queries, qrels))
    with pytest.raises(VocabularyMismatchError):
        TranslationScorer(scorer.documents, table_over(WORDS, "english"))


def test_runs_and_judgments_without_information_are_refused(world):
    scorer, first, queries, qrels = world
    with pytest.raises(DataError, match="no relevant document"):
        tuned((scorer, first, queries, [qrel._replace(relevance=0) for qrel in qrels]))
    unknown = [query._replace(text="unheard of") for query in queries]
    with pytest.raises(DataError, match="contains or translates a word of its query") as caught:
        tuned((scorer, first, unknown, qrels))
    assert ("first query", "'unheard of'") in caught.value.facts
    assert tuned((scorer, first, [*unknown[:-1], queries[-1]], qrels)).cells
