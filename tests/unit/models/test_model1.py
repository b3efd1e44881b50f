"""Model 1: parameters, hooks, and weights by hand; see also test_translation_scorer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from termwise.collection import CollectionStatistics
from termwise.errors import MissingFileError, ParameterError, UnknownNameError, VocabularyMismatchError
from termwise.models import CountModel, Model1
from termwise.models.attachments import TranslationColumns
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table
from termwise.translation.table_folder import read_manifest
from termwise.weights import TermWeights

VOCABULARY = Vocabulary(["heart", "cardiac", "valve"])


@pytest.fixture
def table(tmp_path):
    """Return the folder of a table: cardiac is asked for with heart, and nothing is known of valve."""
    made = TranslationTable(
        VOCABULARY,
        [0, 1, 3, 3],
        [0, 0, 1],
        [0.5, 0.375, 0.25],
        [6, 2, 0],
        make_analyzer("whitespace").spec,
    )
    write_table(made, tmp_path / "table")
    return str(tmp_path / "table")


COUNTS = TermWeights([0, 2, 2, 3], [1, 2, 0], [3.0, 1.0, 4.0], VOCABULARY.id)
STATISTICS = CollectionStatistics.from_counts([COUNTS], n_terms=3)


def weights(table, **settings):
    model = Model1(table=table, keep=0, **{"background": "collection", **settings}).for_vocabulary(VOCABULARY)
    rows = model.weigh(COUNTS, STATISTICS)
    return [
        dict(zip(map(VOCABULARY.token, terms.tolist()), found.tolist(), strict=True)) for terms, found in rows
    ]


def logs(means, lambda_=0.5, probabilities=(4 / 8, 3 / 8, 1 / 8)):
    background = dict(zip(VOCABULARY, probabilities, strict=True))
    return {
        token: pytest.approx(math.log(1 + (1 - lambda_) * mean / (lambda_ * background[token])))
        for token, mean in means.items()
    }


def test_the_hooks_of_a_count_model(table):
    model = Model1(table=table)
    compiled = model.for_vocabulary(VOCABULARY)
    assert isinstance(model, CountModel)
    assert isinstance(compiled, CountModel)
    assert model.expands
    assert (compiled.name, compiled.parameters()) == (model.name, model.parameters())
    assert model.table_facts == {"name": table, "id": read_manifest(table).id}
    assert model.analyzer == make_analyzer("whitespace").spec
    assert model.added_terms == ("heart", "cardiac")


def test_only_the_model_of_a_vocabulary_weighs(table):
    with pytest.raises(ParameterError, match="not numbered for the vocabulary"):
        Model1(table=table).weigh(COUNTS, STATISTICS)


def test_weights_by_hand(table):
    first, empty, last = weights(table, self_translation=0.5, lambda_=0.5)
    assert first == logs(
        {"heart": 0.5 * 0.375 * 0.75, "cardiac": (0.5 * 0.25 + 0.5) * 0.75, "valve": 0.5 * 0.25}
    )
    assert empty == {}
    assert last == logs({"heart": 0.5 * 0.5 + 0.5})


def test_a_word_without_a_row_translates_to_itself(table):
    """The published export drops such words, and with them their self-translation."""
    assert "valve" in weights(table, self_translation=0.1)[0]
    assert "valve" not in weights(table, self_translation=0.0)[0]


def test_keep_selects_by_the_documented_formula(table):
    every = weights(table, self_translation=0.5, lambda_=0.5)[0]
    model = Model1(
        table=table, keep=1, self_translation=0.5, lambda_=0.5, background="collection"
    ).for_vocabulary(VOCABULARY)
    terms, kept = model.weigh(COUNTS, STATISTICS).row(0)
    assert [VOCABULARY.token(term) for term in terms] == ["cardiac"]
    assert kept.tolist() == [every["cardiac"]]


def test_prune_drops_small_weights(table):
    every = weights(table, self_translation=0.5, lambda_=0.5)[0]
    least = sorted(every.values())[1]
    assert weights(table, self_translation=0.5, lambda_=0.5, prune=least)[0] == {
        token: weight for token, weight in every.items() if weight >= least
    }


def test_self_mode_set_replaces_the_diagonal(table):
    added = weights(table, self_translation=0.5, lambda_=0.5, self_mode="add")[2]
    instead = weights(table, self_translation=0.5, lambda_=0.5, self_mode="set")[2]
    assert (added, instead) == (logs({"heart": 0.75}), logs({"heart": 0.5}))


def test_renormalise_scales_rows_to_one(table):
    made = weights(table, self_translation=0.5, lambda_=0.5, renormalise=True)
    assert made[2] == logs({"heart": 1.0})
    assert made[0]["heart"] == logs({"heart": 0.5 * 0.6 * 0.75})["heart"]


def test_least_applies_once_to_the_trained_table(table):
    """0.25 of the table scores as 0.025 here; the published code would cut it a second time."""
    made = weights(table, self_translation=0.9, lambda_=0.5, least=0.25)[0]
    assert made["cardiac"] == logs({"cardiac": (0.1 * 0.25 + 0.9) * 0.75})["cardiac"]
    assert made["heart"] == logs({"heart": 0.1 * 0.375 * 0.75})["heart"]
    assert "heart" not in weights(table, least=0.4)[0]


@pytest.mark.parametrize(
    ("background", "probabilities"),
    [
        ("collection", (4 / 8, 3 / 8, 1 / 8)),
        ("bitext", (6 / 8, 2 / 8, 1e-9)),
        ("smoothed", (0.9 * 6 / 8 + 0.1 * 4 / 8, 0.9 * 2 / 8 + 0.1 * 3 / 8, 0.1 * 1 / 8)),
    ],
)
def test_background_sources(table, background, probabilities):
    means = {"heart": 0.5 * 0.375 * 0.75, "cardiac": (0.5 * 0.25 + 0.5) * 0.75, "valve": 0.5 * 0.25}
    made = weights(table, self_translation=0.5, lambda_=0.5, background=background)
    assert made[0] == logs(means, probabilities=probabilities)
    assert made[2] == logs({"heart": 0.75}, probabilities=probabilities)


def test_a_term_absent_from_the_collection_has_its_bitext_probability(table):
    """Measured by the collection alone it would weigh more than all that documents say."""
    counts = TermWeights([0, 1], [1], [1.0], VOCABULARY.id)
    statistics = CollectionStatistics.from_counts([counts], n_terms=3)
    made = {
        background: Model1(table=table, keep=0, lambda_=0.5, background=background)
        .for_vocabulary(VOCABULARY)
        .weigh(counts, statistics)
        .weights.max()
        for background in ("smoothed", "collection")
    }
    assert made["collection"] > 19 > 2 > made["smoothed"]


def test_without_smoothing_weights_lie_above_a_floor(table):
    """The published export has weights below 0 there, so that absent terms beat those that match."""
    made = weights(table, self_translation=0.5, lambda_=0)[0]
    assert made["valve"] == pytest.approx(math.log(0.125 / 1e-8))
    floors = Model1(table=table, lambda_=0).for_vocabulary(VOCABULARY).floors(STATISTICS)
    assert floors.tolist() == [math.log(1e-8)] * 3
    assert Model1(table=table).for_vocabulary(VOCABULARY).floors(STATISTICS) is None


def test_two_models_of_one_table_do_not_share_settings(table):
    """In the published code the second takes the table of the first, whatever its p and threshold."""
    first, second = (
        Model1(table=table, self_translation=0.1),
        Model1(table=table, self_translation=0.9, least=0.3),
    )
    assert first.for_vocabulary(VOCABULARY).chances.tolist() == [0.5, 0.375, 0.25]
    assert second.for_vocabulary(VOCABULARY).chances.tolist() == [0.5, 0.375]
    assert first != second


def test_the_table_is_renumbered_for_the_vocabulary(table):
    """Terms the other vocabulary lacks are left out; P(t|C) of the bitext stays what it was."""
    other = Vocabulary(["valve", "heart", "zebra"])
    compiled = Model1(table=table, keep=0).for_vocabulary(other)
    assert compiled.starts.tolist() == [0, 0, 1, 1]
    assert (compiled.targets.tolist(), compiled.chances.tolist()) == ([1], [0.5])
    assert compiled.bitext.tolist() == [0, 0.75, 0]
    larger = Vocabulary(["valve", "cardiac", "heart", "zebra"])
    compiled = Model1(table=table).for_vocabulary(larger)
    assert compiled.starts.tolist() == [0, 0, 2, 3, 3]
    assert (compiled.targets.tolist(), compiled.chances.tolist()) == ([1, 2, 2], [0.25, 0.375, 0.5])


@pytest.mark.parametrize("asked", [[], [0], [1], [2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("p", [0, 0.5])
def test_restricted_models_give_equal_weights(table, asked, p):
    model = Model1(table=table, keep=0, self_translation=p, background="collection").for_vocabulary(
        VOCABULARY
    )
    whole = model.weigh(COUNTS, STATISTICS)
    restricted = model.restricted_to(np.array(asked, dtype=np.int32))
    again = restricted.restricted_to(np.array(asked[:1], dtype=np.int32))
    for compiled, terms in ((restricted, asked), (again, asked[:1])):
        rows = compiled.weigh(COUNTS, STATISTICS)
        assert rows.vocabulary == whole.vocabulary
        for (found, weighs), (every, weights) in zip(rows, whole, strict=True):
            wanted = np.isin(every, terms)
            assert (found.tolist(), weighs.tolist()) == (every[wanted].tolist(), weights[wanted].tolist())


def test_keep_disables_restriction(table):
    model = Model1(table=table, keep=1).for_vocabulary(VOCABULARY)
    assert model.restricted_to(np.array([0], dtype=np.int32)) is model


def test_rows_of_another_vocabulary_are_refused(table):
    model = Model1(table=table).for_vocabulary(VOCABULARY)
    other = TermWeights([0, 1], [0], [1.0], "other")
    with pytest.raises(VocabularyMismatchError):
        model.weigh(other, CollectionStatistics.from_counts([other], n_terms=3))
    same = TermWeights([0, 1], [0], [1.0], VOCABULARY.id)
    with pytest.raises(VocabularyMismatchError):
        model.weigh(same, CollectionStatistics.from_counts([same], n_terms=2))


def test_attachments_of_an_index(table):
    files = Model1(table=table).attachments(VOCABULARY, STATISTICS)
    columns = TranslationColumns.read(files.__getitem__, 3)
    assert [part.tolist() for part in columns.column(0)] == [[0, 1], [0.5, 0.375]]
    assert [part.tolist() for part in columns.column(1)] == [[1], [0.25]]
    unheard = CollectionStatistics(1, 1, [1, 0, 0], [1, 0, 0], longest=1)
    columns = TranslationColumns.read(Model1(table=table).attachments(VOCABULARY, unheard).__getitem__, 3)
    assert columns.sources.tolist() == [0]


def test_lambda_1_is_refused():
    with pytest.raises(ParameterError, match="ignores the document"):
        Model1(lambda_=1)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("self_translation", -0.1),
        ("self_translation", 1.1),
        ("least", 2),
        ("lambda_", -0.1),
        ("lambda_", float("nan")),
        ("prune", -1),
        ("keep", -1),
        ("keep", 1.5),
        ("renormalise", 1),
        ("table", ""),
    ],
)
def test_values_out_of_range_are_refused(setting, value):
    with pytest.raises(ParameterError) as caught:
        Model1(**{setting: value})
    assert setting.rstrip("_") in str(caught.value)


@pytest.mark.parametrize("setting", ["self_mode", "background"])
def test_unknown_choices_are_refused(setting):
    with pytest.raises(UnknownNameError):
        Model1(**{setting: "sett"})


def test_a_missing_table_is_named():
    with pytest.raises(MissingFileError, match="no such translation table"):
        Model1(table="no/such/table").for_vocabulary(VOCABULARY)


def test_rows_are_float32_over_the_same_vocabulary(table):
    rows = Model1(table=table).for_vocabulary(VOCABULARY).weigh(COUNTS, STATISTICS)
    assert rows.vocabulary == VOCABULARY.id
    assert rows.weights.dtype == np.float32


def test_a_lambda_below_1e_9_is_refused():
    for value in (1e-320, 9e-10):
        with pytest.raises(ParameterError, match="lambda"):
            Model1(table="any", lambda_=value)
    assert Model1(table="any", lambda_=1e-9).lambda_ == 1e-9
    assert Model1(table="any", lambda_=0).lambda_ == 0
