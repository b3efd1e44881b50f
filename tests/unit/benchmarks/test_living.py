"""The benchmark of changes: all contestants see the same documents, and it runs on a few."""

from __future__ import annotations

import json

import pytest

TEXTS = ["red car", "blue bicycle", "green cars", "red tree"]


@pytest.mark.parametrize("name", ["Termwise", "Tantivy", "Sqlite", "SqliteSparse"])
def test_changes_are_seen(tmp_path, name):
    if name in ("Tantivy", "SqliteSparse"):
        pytest.importorskip({"Tantivy": "tantivy", "SqliteSparse": "sqlite_sparse"}[name])
    import living_peers

    make = getattr(living_peers, name)
    words = (" ".join(TEXTS).split(),) if name == "SqliteSparse" else ()
    contestant = make(tmp_path / "index", *words)
    contestant.build(TEXTS[:3])
    assert sorted(contestant.find("car")) == ["d0", "d2"]
    contestant.add([("new3", TEXTS[3])])
    assert contestant.find("tree") == ["new3"]
    contestant.delete("d0")
    assert contestant.find("red") == ["new3"]
    bound = living_peers.number_of("d2")
    for limit, expected in [(None, ["d2"]), (bound, []), (bound + 1, ["d2"])]:
        if contestant.can_search(limit):
            assert contestant.search("a car", limit) == expected
    contestant.close()


def test_the_result_is_a_file(tmp_path, monkeypatch):
    import living

    def no_jar(folder):
        raise ImportError("no jar")

    monkeypatch.setattr(living, "pinned", lambda: 0)
    monkeypatch.setattr(living, "load_texts", lambda folder: (TEXTS * 5, ["red car", "blue"]))
    monkeypatch.setattr(living, "fetch_jar", no_jar)
    options = ["--documents", "100", "--changes", "2", "--bulk", "10", "--rounds", "1"]
    folders = ["--workload", str(tmp_path), "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    living.main([*folders, *options])
    (line,) = (tmp_path / "out" / "living.jsonl").read_text().splitlines()
    report = json.loads(line)
    assert report["left out"]["Lucene"] == "no jar"
    assert report["changes"]["add"]["termwise"]["first ms"] > 0
    assert report["bulk"]["termwise, new build"] > 0
    assert set(report["filters"]) == set(living.BOUNDS)
