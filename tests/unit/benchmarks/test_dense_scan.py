"""The benchmark of vectors: all contestants find the same documents."""

from __future__ import annotations

import json


def test_contestants_agree_and_the_result_is_a_file(tmp_path, monkeypatch):
    import dense_scan

    monkeypatch.setattr(dense_scan, "pinned", lambda: 0)
    monkeypatch.setattr(dense_scan, "TERMS", 400)
    monkeypatch.setattr(dense_scan, "DEPTHS", (3,))
    monkeypatch.setattr(dense_scan, "LENGTHS", {"short queries": (2, 4), "long queries": (20, 30)})
    options = ["--documents", "300", "--queries", "3", "--rounds", "1"]
    dense_scan.main(["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out"), *options])
    (line,) = (tmp_path / "out" / "dense_scan.jsonl").read_text().splitlines()
    report = json.loads(line)["documents"]["300"]
    assert report["bytes per document"] < 410
    found = report["short queries"]["k = 3"]
    assert found["numpy float32"]["documents in common"] == 1.0
    assert found["termwise"]["ms"]["p50"] > 0
    assert report["verdicts"]["short queries, k = 3"]["reached"]
