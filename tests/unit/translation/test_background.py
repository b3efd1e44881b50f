"""Background probabilities, compared with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.translation.background import background_probabilities

COLLECTION = np.array([0.5, 0.25, 0.0, 0.0])
BITEXT = np.array([0.25, 0.0, 0.125, 0.0])


@pytest.mark.parametrize(
    ("background", "expected"),
    [
        ("smoothed", [0.275, 0.025, 0.1125, 1e-9]),
        ("collection", [0.5, 0.25, 1e-9, 1e-9]),
        ("bitext", [0.25, 1e-9, 0.125, 1e-9]),
    ],
)
def test_background_probabilities(background, expected):
    assert background_probabilities(background, COLLECTION, BITEXT).tolist() == pytest.approx(
        expected, rel=1e-12
    )
