"""The benchmark of the export: both ways compute the same values."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")


def test_both_ways_are_the_same_network(tmp_path, capsys):
    import neural_export

    given = ["--pieces", "60", "--rows", "3", "--rounds", "1", "--threads", "1", "--out", str(tmp_path)]
    neural_export.main(given)
    (line,) = (tmp_path / "neural_export.jsonl").read_text().splitlines()
    report = json.loads(line)
    assert report["rows"]["largest difference"] < 1e-6
    assert report["all pairs"]["pairs"] == 3600
    assert 0 < report["all pairs"]["translations"] <= 60 * 59
    assert "reached" in capsys.readouterr().out


def test_different_results_are_detected(monkeypatch):
    import neural_export
    import numpy as np
    import torch

    from termwise.train.neural_model1.settings import NeuralModel1Settings

    network = neural_export.made(50, NeuralModel1Settings(width=8, projection=4, hidden="6"))
    monkeypatch.setattr(neural_export, "plain", lambda *given: torch.zeros(2, 50))
    with pytest.raises(SystemExit, match="differ"):
        neural_export.of_rows(network, np.arange(2), np.arange(50), 1)
