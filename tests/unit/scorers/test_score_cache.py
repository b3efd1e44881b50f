"""Scores that are kept in a file."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import pytest

from termwise.errors import DataError, ParameterError, StorageError
from termwise.scorers import ScoreCache
from termwise.scorers import sqlite_cache as kept_file


def test_scores_are_kept(tmp_path):
    path = tmp_path / "scores.sqlite"
    scores = [0.1, -np.inf, 1e300]
    with ScoreCache(path) as store:
        store.add("f", ["q", "q", "é"], ["a", "b", "\ud800"], scores)
    with ScoreCache(path) as store:
        assert store.find("f", ["é", "q", "q"], ["\ud800", "a", "b"]).tolist() == [1e300, 0.1, -np.inf]
        assert np.isnan(store.find("g", ["q"], ["a"])).all()
        assert np.isnan(store.find("f", ["a"], ["q"])).all()
        assert store.find("f", [], []).shape == (0,)
        store.add("f", ["q"], ["a"], [0.5])
        assert store.find("f", ["q"], ["a"]).tolist() == [0.5]
        assert len(store) == 3
    assert b'"a"' not in path.read_bytes()


def test_many_scores_are_found():
    with ScoreCache() as store:
        queries = [f"q{place}" for place in range(1234)]
        store.add("f", queries, queries, np.arange(1234.0))
        assert store.find("f", queries[::-1], queries[::-1]).tolist() == list(range(1233, -1, -1))


def test_a_file_that_is_something_else_is_refused(tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 40)
    with pytest.raises(DataError, match="damaged, or is something else"):
        ScoreCache(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(DataError, match="no store of scores"):
        ScoreCache(tmp_path / "other")
    assert (tmp_path / "text").read_text().startswith("no database")


def fixes(path):
    with pytest.raises(DataError) as caught:
        ScoreCache(path)
    return " ".join(caught.value.fixes)


def test_only_a_file_of_ours_is_to_be_deleted(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as store:
        store.add("f", ["q"] * 500, [str(place) for place in range(500)], np.arange(500.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(4096) + whole[8192:])
    with ScoreCache(path) as store, pytest.raises(DataError, match="damaged") as caught:
        store.find("f", ["q"] * 500, [str(place) for place in range(500)])
    assert "delete it" in " ".join(caught.value.fixes)
    later = sqlite3.connect(tmp_path / "later")
    later.execute(f"PRAGMA application_id = {0x74776373}")
    later.execute("PRAGMA user_version = 9")
    later.execute("CREATE TABLE scores (x)")
    later.close()
    assert "delete it" in fixes(tmp_path / "later")
    (tmp_path / "photo").write_bytes(b"JFIF" * 300)
    assert "delete" not in fixes(tmp_path / "photo")


def test_several_begin_one_file_together(tmp_path):
    path = tmp_path / "scores.sqlite"
    wrong = []
    barrier = threading.Barrier(8)

    def begin(number):
        barrier.wait()
        try:
            with ScoreCache(path) as store:
                store.add(f"f{number}", ["q"], ["t"], [float(number)])
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with ScoreCache(path) as store:
        assert len(store) == 8


def test_a_file_that_another_writes_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_file, "_PATIENCE", 0.05)
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="another process") as caught:
            store.add("f", ["q"], ["t"], [1.0])
        assert caught.value.fixes[0] == "wait until it is done"
        other.execute("ROLLBACK")
        other.close()
        store.add("f", ["q"], ["t"], [1.0])
        assert len(store) == 1


def test_what_fails_is_not_kept_in_part(tmp_path):
    with ScoreCache(tmp_path / "scores.sqlite") as store:
        for wrong in ([1.0, np.nan], [1.0], [[1.0, 2.0]]):
            with pytest.raises(ParameterError, match="number for each pair"):
                store.add("f", ["q", "q"], ["a", "b"], wrong)
        with pytest.raises(ParameterError):
            store.add("f", ["q"], ["a", "b"], [1.0, 2.0])
        assert len(store) == 0
    with pytest.raises(StorageError, match="closed"):
        store.find("f", ["q"], ["a"])


def test_a_value_that_is_no_score(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as store:
        store.add("f", ["q"], ["t"], [1.0])
    other = sqlite3.connect(path)
    other.execute("UPDATE scores SET score = 'much'")
    other.commit()
    other.close()
    with ScoreCache(path) as store, pytest.raises(DataError, match="damaged"):
        store.find("f", ["q"], ["t"])


@pytest.mark.parametrize("path", [5, "a\0b"])
def test_what_is_no_path(path):
    with pytest.raises(ParameterError, match="path"):
        ScoreCache(path)
