"""Settings: defaults of the papers, accepted values, and departures."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from termwise.errors import ParameterError, UnknownNameError
from termwise.train.settings import TrainSettings


def test_the_defaults_are_those_of_the_papers():
    tilde = TrainSettings.for_kind("tilde")
    assert (tilde.learning_rate, tilde.batch, tilde.epochs, tilde.seed) == (2e-5, 128, 10, 313)
    assert (tilde.schedule, tilde.warm_up, tilde.weight_decay, tilde.clip) == ("constant", 0, 0, 0)
    assert (tilde.objective, tilde.precision, tilde.document_length) == ("biqdl", "float32", 512)
    second = TrainSettings.for_kind("tildev2")
    assert (second.learning_rate, second.batch, second.epochs, second.negatives) == (5e-6, 8, 5, 7)
    assert (second.schedule, second.warm_up, second.clip) == ("linear", 0.1, 1.0)
    assert (second.document_length, second.query_length, second.objective) == (192, 16, "contrastive")


def test_values_are_read_by_the_type_of_their_setting():
    given = {
        "batch": "16",
        "learning_rate": "1e-4",
        "checkpointing": "true",
        "teacher": "x",
        "precision": "bfloat16",
    }
    settings = TrainSettings.for_kind("tilde", given)
    assert settings.batch == 16
    assert settings.learning_rate == 1e-4
    assert settings.checkpointing is True
    assert settings.teacher == "x"
    assert settings.precision == "bfloat16"


def test_departures_are_the_differences_from_the_paper():
    for changes in ({}, {"workers": "4"}):
        assert TrainSettings.for_kind("tildev2", changes).departures("tildev2") == {}
    settings = TrainSettings.for_kind("tildev2", {"batch": "32", "epochs": "5"})
    assert settings.departures("tildev2") == {"batch": (8, 32)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", "many"),
        ("batch", "1.5"),
        ("batch", "0"),
        ("batch", "-3"),
        ("epochs", "0"),
        ("epochs", "1000001"),
        ("accumulate", "0"),
        ("learning_rate", "fast"),
        ("learning_rate", "nan"),
        ("learning_rate", "inf"),
        ("learning_rate", "-1"),
        ("document_length", "2"),
        ("query_length", "2"),
        ("dropout", "1.5"),
        ("warm_up", "1.1"),
        ("flattening", "-0.1"),
        ("flattening", "nan"),
        ("teacher_weight", "2"),
        ("seed", "-1"),
        ("seed", "4294967296"),
        ("checkpointing", "perhaps"),
        ("save_every", "0"),
        ("validate_every", "0"),
        ("block", "3"),
    ],
)
def test_values_out_of_range_or_unreadable(name, value):
    with pytest.raises(ParameterError) as error:
        TrainSettings.for_kind("tilde", {name: value})
    assert error.value.facts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("objective", "fame"),
        ("precision", "int4"),
        ("schedule", "cosine"),
        ("cleaning", "soap"),
        ("activation", "gelu"),
        ("candidates", "all"),
        ("negatives_from", "bm26"),
        ("teacher_loss", "mse"),
    ],
)
def test_unknown_names(name, value):
    with pytest.raises(UnknownNameError):
        TrainSettings.for_kind("splade-doc", {name: value})


def test_misspelt_settings_and_kinds():
    with pytest.raises(UnknownNameError) as error:
        TrainSettings.for_kind("tilde", {"bach": "3"})
    assert "batch" in error.value.fixes_worded()[0]
    with pytest.raises(UnknownNameError):
        TrainSettings.for_kind("tilde3")


@pytest.mark.parametrize(
    "given", [{"batch": 2.5}, {"batch": "16"}, {"learning_rate": "1"}, {"teacher": None}]
)
def test_python_values_of_another_type(given):
    with pytest.raises(ParameterError):
        TrainSettings(**given)


def test_whole_numbers_are_accepted_for_fractions():
    assert TrainSettings(learning_rate=1).learning_rate == 1


@pytest.mark.parametrize(
    "given", [{"validation_queries": "5"}, {"validation_queries": True}, {"max_steps": 2.0}, {"clip": None}]
)
def test_a_value_of_another_type_is_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        TrainSettings(**given)


@pytest.mark.parametrize(
    ("kind", "name", "value", "kinds"),
    [
        ("tilde", "negatives", "3", "tildev2, splade-doc"),
        ("tilde", "negative_depth", "1000", "tildev2, splade-doc"),
        ("tildev2", "prior_bias", "true", "tilde"),
        ("splade-doc", "head_steps", "5", "tilde"),
        ("tildev2", "contrast", "0.1", "tilde"),
        ("tilde", "initial_weight", "1", "tildev2, splade-doc"),
        ("tilde", "sparsity", "0.1", "splade-doc"),
        ("tildev2", "sparsity_ramp", "0.1", "splade-doc"),
        ("tildev2", "sparsity_budget", "150", "splade-doc"),
        ("tildev2", "activation", "log1p_relu", "splade-doc"),
        ("tilde", "query_weights", "idf", "tildev2, splade-doc"),
        ("tilde", "candidates", "own", "tildev2, splade-doc"),
        ("tilde", "negatives_from", "teacher", "tildev2, splade-doc"),
    ],
)
def test_settings_without_effect_on_a_kind_are_refused(kind, name, value, kinds):
    with pytest.raises(ParameterError, match=f"the setting {name} is not for") as error:
        TrainSettings.for_kind(kind, {name: value})
    assert dict(error.value.facts) == {"network": kind, f"{name} is for": kinds}
    assert error.value.fixes == (f"omit {name}",)


def test_settings_made_in_python_are_refused_as_well():
    for kind in ("tilde", "tildev2", "splade-doc"):
        TrainSettings.for_kind(kind).check_kind(kind)
    with pytest.raises(ParameterError, match="the setting sparsity"):
        TrainSettings(objective="contrastive", sparsity=0.1).check_kind("tildev2")
    with pytest.raises(ParameterError, match="objective"):
        TrainSettings(objective="contrastive").check_kind("tilde")
    with pytest.raises(UnknownNameError):
        TrainSettings().check_kind("tilda")


@pytest.mark.parametrize(
    ("kind", "given", "needed"),
    [
        ("tildev2", {"negatives": "0", "negative_depth": "10"}, "negatives"),
        ("tilde", {"head_pairs": "10"}, "head_steps"),
        ("tildev2", {"teacher_weight": "0.1"}, "teacher"),
        ("splade-doc", {"teacher_scale": "10"}, "teacher"),
        ("splade-doc", {"sparsity": "0", "sparsity_ramp": "0.5"}, "sparsity"),
        ("splade-doc", {"sparsity": "0", "sparsity_ramp": "0", "sparsity_budget": "150"}, "sparsity"),
        ("tildev2", {"teacher_loss": "margin-mse"}, "teacher"),
        ("tildev2", {"negatives_from": "teacher"}, "teacher"),
        ("tildev2", {"negatives": "0", "teacher": "x", "negatives_from": "teacher"}, "negatives"),
        ("tildev2", {"negatives": "0", "candidates": "own"}, "negatives"),
    ],
)
def test_a_setting_of_a_disabled_feature_is_refused(kind, given, needed):
    name = list(given)[-1]
    with pytest.raises(ParameterError, match=f"the setting {name} has no effect without {needed}"):
        TrainSettings.for_kind(kind, given).check_kind(kind)


def test_the_idf_is_in_the_weights_of_passages_or_of_queries():
    given = TrainSettings.for_kind("tildev2", {"idf_power": "0.5", "query_weights": "idf"})
    with pytest.raises(ParameterError, match="the idf is either") as error:
        given.check_kind("tildev2")
    assert dict(error.value.facts) == {"idf_power": 0.5, "query_weights": "idf"}


def test_a_disabled_setting_needs_no_other_setting():
    TrainSettings.for_kind("splade-doc", {"sparsity": "0", "sparsity_ramp": "0"}).check_kind("splade-doc")


RECIPE = Path(__file__).parents[3] / "experiments" / "shipped_models" / "recipe.toml"


@pytest.mark.skipif(not RECIPE.exists(), reason="the recipe is part of the repository, not of the package")
def test_the_recipe_of_the_shipped_encoders_is_accepted():
    recipe = tomllib.loads(RECIPE.read_text())
    for size in ("cpu", "gpu"):
        for name, chosen in recipe[size].items():
            kind = chosen.get("kind", name)
            given = {name: str(value) for name, value in chosen.items() if name not in ("kind", "base")}
            TrainSettings.for_kind(kind, given).check_kind(kind)
