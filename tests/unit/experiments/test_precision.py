"""The experiment on the loss of int8 with toy data."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from termwise.encode import EncoderFolder
from termwise.errors import ParameterError, UnknownNameError

PLAN = """
name = "precision"
title = "Precision"
measure = "nDCG@10"
depth = 20
target = 0.005
kinds = ["tilde", "tildev2"]
[collections.cats]
split = "dev"
[collections.dogs]
split = "dev"
"""


@pytest.fixture
def both(tiny, pieces, tmp_path):
    """Return encoders with two networks each; those in int8 have slightly different expansions."""
    terms = len(pieces)
    first = pieces.index("merge")
    near = {n: {n: 3.0, first + (n - first + 1) % 12: 1.0} for n in range(first, terms)}
    table = tiny.square(near, otherwise=-6.0, terms=terms)
    rounded = table.copy()
    rounded[first, first], rounded[first + 1, first] = 1.0, 2.0
    weights = np.linspace(0.5, 2.0, terms)
    expansion = tiny.ExpansionRecord(terms=2, counting="new", length=8, encoder="sha256:none", name="tilde")
    common = {"pieces": pieces, "positions": 32}
    made = {
        "tilde": tiny.make_folder(
            tmp_path / "tilde", "tilde", {"float32": table, "int8": rounded}, floors=[-5.0] * terms, **common
        ),
        "tildev2": tiny.make_folder(
            tmp_path / "v2", "tildev2", {"float32": weights, "int8": weights}, expansion=expansion, **common
        ),
    }
    return [f"--encoder={kind}={folder}" for kind, folder in made.items()]


@pytest.fixture
def run(experiment):
    import precision

    return partial(experiment, precision.main, PLAN)


def test_int8_is_compared_with_float32(run, both, tmp_path):
    result = run(*both)
    tilde = result["kinds"]["tilde"]
    assert set(tilde) == {"re-ranking", "first stage"}
    assert set(tilde["first stage"]["collections"]) == {"cats", "dogs"}
    found = tilde["re-ranking"]
    low, high = found["macro"]["interval"]
    assert low <= found["macro"]["loss"] <= high
    for entry in (found["collections"]["cats"], found["macro"]):
        assert entry["loss"] == pytest.approx(1 - entry["int8"] / entry["float32"], abs=1e-4)
    assert found["macro"]["loss"] != 0
    # Where no query finds anything, as here where each is made of its only answer, there is nothing to lose.
    assert found["collections"]["dogs"]["loss"] is None
    page = (tmp_path / "out" / "precision.md").read_text()
    assert "### tilde, re-ranking: " in page
    assert "| **macro** |" in page
    assert result["expanded in"] == {"tilde": {}, "tildev2": {"float32": "float32", "int8": "int8"}}
    assert "Documents were expanded" not in page
    # A second run reads no document again.
    assert run(*both)["kinds"] == result["kinds"]


def test_an_expanding_encoder_with_int8_only(run, tiny, pieces, tmp_path):
    terms = len(pieces)
    common = {"pieces": pieces, "positions": 32}
    expands = tiny.make_folder(
        tmp_path / "small", "tilde", {"int8": tiny.square({}, otherwise=-6.0, terms=terms)},
        floors=[-5.0] * terms, **common,
    )  # fmt: skip
    expansion = EncoderFolder.open(expands).expansion(terms=2, counting="new", length=8)
    weights = np.linspace(0.5, 2.0, terms)
    second = tiny.make_folder(
        tmp_path / "second", "tildev2", {"float32": weights, "int8": weights}, expansion=expansion, **common
    )
    result = run(f"--encoder=tildev2={second}")
    assert result["expanded in"] == {"tildev2": {"float32": "int8", "int8": "int8"}}
    page = (tmp_path / "out" / "precision.md").read_text()
    assert "Documents were expanded in int8 for both" in page


def test_the_target_applies_to_the_macro_mean():
    import precision

    def values(*losses):
        full = np.array([0.5, 1.0, 0.25])
        return {str(n): {"float32": full, "int8": full * (1 - loss)} for n, loss in enumerate(losses)}

    found = precision.losses(values(0.012, 0.0, 0.0), 0.005)
    assert found["macro"]["loss"] == pytest.approx(0.004)
    assert found["reached"]
    assert found["collections"]["0"]["loss"] == pytest.approx(0.012)
    # Drawn in pairs: where every query loses the same share, there is no doubt about it.
    assert found["collections"]["0"]["interval"] == pytest.approx([0.012, 0.012])
    assert not precision.losses(values(0.018, 0.0, 0.0), 0.005)["reached"]
    assert precision.losses(values(-0.01), 0.005)["reached"]
    nothing = {"a": {"float32": np.zeros(3), "int8": np.zeros(3)}}
    found = precision.losses(nothing, 0.005)
    assert found["macro"]["loss"] is None
    assert not found["reached"]


def test_encoders_without_both_precisions_are_refused(run, encoders):
    with pytest.raises(ParameterError, match="not contain both precisions"):
        run(f"--encoder=tilde={encoders['tilde']}")
    with pytest.raises(ParameterError, match="no encoder was named"):
        run()
    with pytest.raises(UnknownNameError, match="kind"):
        run("--encoder=bm25=x")


def test_the_plan_of_the_experiment_is_valid():
    import tomllib

    import precision

    plan = tomllib.loads((precision.HERE / "precision.toml").read_text())
    assert plan["target"] == 0.005
    assert {entry["split"] for entry in plan["collections"].values()} == {"dev"}
    assert plan["kinds"] == ["tilde", "tildev2"]
