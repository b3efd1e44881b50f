"""The benchmark of mixtures: it runs, and the result is a file."""

from __future__ import annotations

import json


def test_the_result_is_a_file(tmp_path, monkeypatch):
    import dense_scan
    import mixture

    monkeypatch.setattr(dense_scan, "pinned", lambda: 0)
    monkeypatch.setattr(dense_scan, "TERMS", 400)
    options = ["--documents", "300", "--queries", "3", "--rounds", "1"]
    mixture.main(["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out"), *options])
    (line,) = (tmp_path / "out" / "mixture.jsonl").read_text().splitlines()
    report = json.loads(line)
    assert report["documents"]["300"]["mixture"]["ms"]["p50"] > 0
    contestants = {"without feedback", "second encoder", "bm25", "lookup", "parts, k = 1000", "numpy float32"}
    assert contestants <= set(report["documents"]["300"])
    assert report["verdicts"]["300 documents, mixture"]["reached"]


def test_the_second_encoder_only_scores(tmp_path, monkeypatch):
    import dense_scan
    import mixture

    import termwise

    monkeypatch.setattr(dense_scan, "TERMS", 400)
    made = mixture.built(tmp_path / "mixture-50", 50, 0)
    assert [(part.name, part.weight, part.retrieves) for part in made.parts] == [
        ("bm25", 0.2, True),
        ("lookup", 0.4, True),
        ("second", 0.4, False),
    ]
    before = termwise.open(tmp_path / "mixture-50").rank("t1 t7 t100")
    again = mixture.built(tmp_path / "mixture-50", 50, 1).rank("t1 t7 t100")  # what is there stays
    assert (again.doc_ids, again.scores.tolist()) == (before.doc_ids, before.scores.tolist())
