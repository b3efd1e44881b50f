"""Settings of SPLADE-doc."""

from __future__ import annotations

from typing import Any

import pytest

from termwise.errors import ParameterError
from termwise.models import NetworkModel, SpladeDoc


def test_a_model_of_a_network() -> None:
    model = SpladeDoc(encoder="runs/splade")
    assert isinstance(model, NetworkModel)
    assert (model.name, model.query_weighting) == ("splade-doc", "counts")
    assert model.parameters()["encoder"] == "runs/splade"


@pytest.mark.parametrize(
    "settings", [{"keep": 0}, {"length": 1}, {"overlap": -1}, {"encoder": ""}, {"prune_ratio": 1.5}]
)
def test_values_out_of_range(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SpladeDoc(**settings)
