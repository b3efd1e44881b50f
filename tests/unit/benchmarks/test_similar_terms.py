"""The benchmark of similar terms, on a few documents."""

from __future__ import annotations

import json


def test_the_result_is_a_file(tmp_path, monkeypatch):
    import similar_terms

    monkeypatch.setattr(similar_terms, "pinned", lambda: 0)
    docs = tmp_path / "docs.jsonl"
    docs.write_text(
        '{"_id": "a", "text": "shuffling kettles"}\n{"_id": "b", "text": "thermometer solutions"}\n'
    )
    similar_terms.main([str(docs), "--words", "3", "--made", "2", "--rounds", "1", "--out", str(tmp_path)])
    (line,) = (tmp_path / "similar_terms.jsonl").read_text().splitlines()
    figures = json.loads(line)["milliseconds"]
    assert list(figures) == ["standard", "english"]
    assert figures["standard"]["found"] == 1  # every edit can be undone
    assert figures["standard"]["terms"] == 6
