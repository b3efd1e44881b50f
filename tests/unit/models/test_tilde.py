"""Settings of TILDE."""

from __future__ import annotations

from typing import Any

import pytest

from termwise.errors import ParameterError, UnknownNameError
from termwise.models import CountModel, Model, NetworkModel, Tilde, VectorModel
from termwise.models.tilde import DEFAULT_KEEP


def test_a_model_of_a_network() -> None:
    model = Tilde()
    assert isinstance(model, Model)
    assert isinstance(model, NetworkModel)
    assert not isinstance(model, CountModel)
    assert not isinstance(VectorModel(), NetworkModel)
    assert (model.name, model.encoder, model.query_weighting) == ("tilde", "tilde", "counts")


def test_the_default_keep_is_explicit() -> None:
    assert Tilde().parameters()["keep"] == DEFAULT_KEEP
    assert Tilde(keep=DEFAULT_KEEP) == Tilde()
    assert Tilde(form="exact").parameters()["keep"] is None


def test_the_exact_form_keeps_everything() -> None:
    with pytest.raises(ParameterError, match="exact form keeps every weight"):
        Tilde(form="exact", keep=10)


@pytest.mark.parametrize(
    "settings",
    [
        {"keep": 0},
        {"keep": 1.5},
        {"keep": True},
        {"length": 2},
        {"length": 1 << 20},
        {"overlap": -1},
        {"overlap": "3"},
        {"encoder": ""},
        {"encoder": 7},
    ],
)
def test_values_out_of_range(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Tilde(**settings)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="did you mean compact"):
        Tilde(form="compacted")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown side of tilde"):
        Tilde(side="both")  # type: ignore[arg-type]
