"""Indexes whose statistics follow their documents, with toy data."""

from __future__ import annotations


def test_statistics_that_follow(experiment, tmp_path):
    import following_statistics

    result = experiment(
        following_statistics.main,
        'name = "following_statistics"\ntitle = "Follow"\nmeasure = "nDCG@10"\ndepth = 20\nmodels = ["bm25"]\n'
        'words = 500\ncommits = 2\n[collections]\ncats = "dev"\n',
    )
    entry = result["collections"]["cats"]["models"]["bm25"]
    assert entry["with counts"]["difference"] == 0.0
    assert 0 < entry["count bytes"] < entry["bytes"]
    assert "cats" in (tmp_path / "out" / "following_statistics.md").read_text()
