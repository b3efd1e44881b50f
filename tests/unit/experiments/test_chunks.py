"""Chunks and whole documents, with toy data."""

from __future__ import annotations


def test_chunks(experiment, tmp_path):
    import chunks

    result = experiment(
        chunks.main,
        'name = "chunks"\ntitle = "Chunks"\nmeasure = "nDCG@10"\ndepth = 20\nmodels = ["bm25"]\n'
        'words = [2, 1000]\n[collections]\ncats = "dev"\n',
    )
    small, large = result["collections"]["cats"]["models"]["bm25"]
    assert (small["run"], large["run"]) == ("2 words", "1000 words")
    assert small["chunks"] > large["chunks"] == 50
    assert small["cut"] < small["whole"] == large["cut"] == large["whole"]
    assert "| 2 words |" in (tmp_path / "out" / "chunks.md").read_text()
