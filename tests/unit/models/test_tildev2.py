"""Settings of TILDEv2."""

from __future__ import annotations

from typing import Any

import pytest

from termwise.errors import ParameterError, UnknownNameError
from termwise.models import NetworkModel, TildeV2


def test_a_model_of_a_network() -> None:
    model = TildeV2()
    assert isinstance(model, NetworkModel)
    assert (model.encoder, model.expansion_encoder) == ("tildev2", "as-trained")


def test_every_occurrence_of_a_query_token_counts() -> None:
    assert TildeV2().query_weighting == "counts"


def test_expansion_settings_require_an_expansion_encoder() -> None:
    for settings in ({"expansion_terms": 3}, {"counting": "new"}, {"expansion_lift": 0.0}):
        with pytest.raises(ParameterError, match="need an expansion encoder"):
            TildeV2(expansion_encoder="none", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [
        {"expansion_terms": 0},
        {"expansion_terms": 2.0},
        {"expansion_lift": -0.1},
        {"expansion_lift": 1.5},
        {"expansion_lift": "1"},
        {"length": 2},
        {"overlap": -1},
        {"encoder": ""},
        {"expansion_encoder": ""},
    ],
)
def test_values_out_of_range(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        TildeV2(**settings)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="unknown counting of tildev2"):
        TildeV2(counting="old")  # type: ignore[arg-type]
