"""Indexes that grew, with toy data."""

from __future__ import annotations


def test_indexes_that_grew(experiment, tmp_path):
    import statistics_of_build

    result = experiment(
        statistics_of_build.main,
        'name = "statistics_of_build"\ntitle = "Grown"\nmeasure = "nDCG@10"\ndepth = 20\nmodels = ["bm25"]\n'
        'shares = [0.5]\ncommits = 2\n[collections]\ncats = "dev"\n',
    )
    (row,) = result["collections"]["cats"]["models"]["bm25"]["grown"]
    assert row["share"] == 0.5
    assert -1 <= row["difference"] <= 1
    assert "50% built" in (tmp_path / "out" / "statistics_of_build.md").read_text()
