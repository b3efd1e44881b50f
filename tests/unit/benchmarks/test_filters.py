"""The benchmark of sets of documents: all contestants find the same documents."""

from __future__ import annotations

import json
from importlib.util import find_spec


def test_contestants_agree_and_the_result_is_a_file(tmp_path, monkeypatch):
    import filters

    monkeypatch.setattr(filters, "pinned", lambda: 0)
    monkeypatch.setattr(filters, "LOOK_UPS", 100)
    filters.main(["--documents", "5000", "--rounds", "1", "--out", str(tmp_path)])
    (line,) = (tmp_path / "filters.jsonl").read_text().splitlines()
    sets = json.loads(line)["sets"]
    assert len(sets) == 8
    contestants = {"booleans", "packed bits"} | ({"pyroaring"} if find_spec("pyroaring") else set())
    for steps in sets.values():
        assert list(steps) == ["make", "and", "or", "and not", "count", "list", "look up"]
        assert all(set(row) == contestants for row in steps.values())
