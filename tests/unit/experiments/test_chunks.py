"""Chunks and whole documents, with toy data."""

from __future__ import annotations


def test_chunks(experiment, tmp_path):
    import chunks

    result = experiment(
        chunks.main,
        'name = "chunks"\ntitle = "Chunks"\nmeasure = "nDCG@10"\ndepth = 20\n[collections]\ncats = "dev"\n'
        '[models.bm25]\ncollections = ["cats"]\nwords = [2, 1000]\n',
    )
    measured = result["collections"]["cats"]["models"]["bm25"]
    rows = {each["run"]: each for each in measured["chunks"]}
    assert rows["2 words"]["rows"] > rows["1000 words"]["rows"]
    assert rows["1000 words"]["difference"] == 0
    assert 0 <= measured["whole"] <= 1
    assert "| 2 words |" in (tmp_path / "out" / "chunks.md").read_text()
