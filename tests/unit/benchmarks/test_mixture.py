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
    assert {"bm25", "lookup", "numpy float32"} <= set(report["documents"]["300"])
    assert report["verdicts"]["300 documents, mixture"]["reached"]
