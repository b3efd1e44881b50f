"""Weights of titles, with toy data."""

from __future__ import annotations


def test_weights_of_titles(experiment, tmp_path):
    import field_weights

    result = experiment(
        field_weights.main,
        'name = "field_weights"\ntitle = "Titles"\nmeasure = "nDCG@10"\ndepth = 20\nmodels = ["bm25"]\n'
        'weights = [1, 3]\n[collections]\ncats = "dev"\n',
    )
    (row,) = result["collections"]["cats"]["models"]["bm25"]["differences"]
    assert row["weight"] == 3
    assert -1 <= row["difference"] <= 1
    assert "title^3" in (tmp_path / "out" / "field_weights.md").read_text()
