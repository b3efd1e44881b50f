"""The benchmark of pair scores: all ways compute the same scores."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture
def judged(tmp_path):
    folder = tmp_path / "pets"
    folder.mkdir()
    texts = ["a cat sleeps on a roof", "dogs bark at cats", "the roof is warm", "a garden with trees", ""]
    rows = {
        "corpus.jsonl": [{"_id": str(place), "text": text} for place, text in enumerate(texts)],
        "queries.jsonl": [
            {"_id": "q", "text": "cats on roofs"},
            {"_id": "r", "text": "dogs and garden trees"},
        ],
    }
    for name, lines in rows.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_both_ways_agree(judged, tmp_path, capsys):
    import probes

    models = ["bm25", "jm", "dirichlet", "tildev2"]
    probes.main(["--judged", str(judged), "--rounds", "1", "--models", *models, "--out", str(tmp_path)])
    (line,) = (tmp_path / "probes.jsonl").read_text().splitlines()
    report = json.loads(line)
    assert set(report["models"]) == set(models)
    assert report["pairs"]["queries"] == 2
    assert set(report["models"]["bm25"]["reached"]) == {"termwise, whole way", "termwise, texts known"}
    assert "texts to rows" in str(report["models"]["tildev2"]["reading"])
    assert "wanted" in capsys.readouterr().out


def test_different_scores_are_detected():
    import probes

    with pytest.raises(SystemExit, match="differ"):
        probes._compare(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
