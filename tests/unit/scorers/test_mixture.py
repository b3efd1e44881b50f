"""Mixtures of scorers, and their scales."""

from __future__ import annotations

import numpy as np
import pytest

from termwise.errors import DataError, ParameterError
from termwise.scorers import FunctionScorer, MixedScorer, Scale


def shared_words(queries, texts):
    return [len(set(query.split()) & set(text.split())) for query, text in zip(queries, texts, strict=True)]


def test_a_mixture_of_scorers():
    one = FunctionScorer(shared_words, name="one", fingerprint="1")
    other = FunctionScorer(
        lambda queries, texts: [len(text) for text in texts], name="other", fingerprint="2"
    )
    scales = (Scale(1.0, 2.0), Scale(10.0, 5.0))
    mixed = MixedScorer([one, other], weights=[0.25, 0.75], scales=scales)
    found = mixed.score("a b", ["a b", "a"])
    # .25 (2 - 1) / 2 + .75 (3 - 10) / 5, .25 (1 - 1) / 2 + .75 (1 - 10) / 5
    assert found == pytest.approx([0.125 - 1.05, -1.35])
    assert mixed.name == "one+other"
    assert MixedScorer([one, other], weights=[1, 0], scales=scales).score("a", ["a"]).tolist() == [0.0]
    assert mixed.fingerprint != MixedScorer([one, other], weights=[0.5, 0.5], scales=scales).fingerprint
    three = MixedScorer(
        [one, other, one], weights=[2, -1, 4], scales=[*scales, Scale(0.0, 1.0)], name="three"
    )
    # 2 (1 - 1) / 2 - (1 - 10) / 5 + 4 * 1
    assert three.score("a", ["a"]) == pytest.approx([5.8])
    assert three.name == "three"
    unknown = FunctionScorer(shared_words, name="unknown")
    assert MixedScorer([one, unknown], weights=[0.5, 0.5], scales=scales).fingerprint is None
    for weight in (float("inf"), float("nan"), "x"):
        with pytest.raises(ParameterError, match="weight of a scorer is not finite"):
            MixedScorer([one, other], weights=[1, weight], scales=scales)
    for scorers, weights, given in (([], [], []), ([one], [1, 2], scales), ([one], [1], scales)):
        with pytest.raises(ParameterError, match="a weight and a scale for each scorer"):
            MixedScorer(scorers, weights=weights, scales=given)
    for odd in ([1.0, 1.0], [-1e308, 1e308], [0.0, 1e200], [0.0, np.inf], [np.nan, 1.0], []):
        with pytest.raises(DataError, match="scale") as caught:
            Scale.of({"q": np.array(odd)}, name="one")
        assert ("scorer", "one") in caught.value.facts
    for mean, deviation in ((0.0, 0.0), (0.0, -1.0), (np.nan, 1.0), (0.0, np.inf), ("x", 1.0)):
        with pytest.raises(ParameterError, match="deviation"):
            Scale(mean, deviation)
