"""The settings of neural Model 1."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from termwise.errors import ParameterError, UnknownNameError
from termwise.train.neural_model1.settings import NeuralModel1Settings


def test_the_defaults_are_those_of_the_paper():
    settings = NeuralModel1Settings()
    assert (settings.epochs, settings.batch, settings.learning_rate, settings.decay) == (32, 32, 3e-3, 0.9)
    assert (settings.weight_decay, settings.warm_up, settings.margin) == (1e-7, 0.1, 1.0)
    assert (settings.negatives, settings.negative_depth, settings.reduction) == (20, 500, "sum")
    assert (settings.width, settings.projection, settings.widths) == (512, 128, (128, 64))
    assert (settings.self_translation, settings.least) == (0.05, 1e-4)
    assert (settings.analyzer, settings.form) == ("wordpiece", "network")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", "0"),
        ("epochs", "1000001"),
        ("batch", "1.5"),
        ("negatives", "65"),
        ("negatives", "0"),
        ("self_translation", "0"),
        ("self_translation", "1"),
        ("expected", "1"),
        ("spread", "0"),
        ("decay", "1.1"),
        ("learning_rate", "nan"),
        ("hidden", ""),
        ("hidden", "128,"),
        ("hidden", "128,0"),
        ("hidden", "wide"),
        ("hidden", "1000000000"),
        ("hidden", ",".join(["8"] * 17)),
        ("width", "1000000000"),
        ("projection", "1000000000"),
        ("learning_rate", "1e300"),
        ("restart", "perhaps"),
    ],
)
def test_invalid_values(name, value):
    with pytest.raises(ParameterError):
        NeuralModel1Settings.parse({name: value})


@pytest.mark.parametrize(("name", "value"), [("form", "dot"), ("score_norm", "max"), ("widht", "3")])
def test_unknown_names(name, value):
    with pytest.raises(UnknownNameError):
        NeuralModel1Settings.parse({name: value})
