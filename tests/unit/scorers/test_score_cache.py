"""The score cache: contents, concurrency and damaged files."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import pytest

from termwise.errors import DataError, ParameterError, StorageError
from termwise.scorers import ScoreCache, sqlite_cache


def test_scores_are_read_back(tmp_path):
    path = tmp_path / "scores.sqlite"
    scores = [0.1, -np.inf, 1e300]
    with ScoreCache(path) as cache:
        cache.add("f", ["q", "q", "é"], ["a", "b", "\ud800"], scores)
    with ScoreCache(path) as cache:
        assert cache.find("f", ["é", "q", "q"], ["\ud800", "a", "b"]).tolist() == [1e300, 0.1, -np.inf]
        assert np.isnan(cache.find("g", ["q"], ["a"])).all()
        assert np.isnan(cache.find("f", ["a"], ["q"])).all()
        assert cache.find("f", [], []).shape == (0,)
        cache.add("f", ["q"], ["a"], [0.5])
        assert cache.find("f", ["q"], ["a"]).tolist() == [0.5]
        assert len(cache) == 3
    assert b'"a"' not in path.read_bytes()


def test_many_scores_are_read_back():
    with ScoreCache() as cache:
        queries = [f"q{place}" for place in range(1234)]
        cache.add("f", queries, queries, np.arange(1234.0))
        assert cache.find("f", queries[::-1], queries[::-1]).tolist() == list(range(1233, -1, -1))


def test_files_of_another_type_are_refused(tmp_path):
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 40)
    with pytest.raises(DataError, match="damaged or of another type"):
        ScoreCache(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(DataError, match="cannot read the file as a cache of scores"):
        ScoreCache(tmp_path / "other")
    assert (tmp_path / "text").read_text().startswith("no database")


def fixes(path):
    with pytest.raises(DataError) as caught:
        ScoreCache(path)
    return " ".join(caught.value.fixes_worded())


def test_the_fix_deletes_score_caches_only(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as cache:
        cache.add("f", ["q"] * 500, [str(place) for place in range(500)], np.arange(500.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(4096) + whole[8192:])
    with ScoreCache(path) as cache, pytest.raises(DataError, match="damaged") as caught:
        cache.find("f", ["q"] * 500, [str(place) for place in range(500)])
    assert "delete it" in " ".join(caught.value.fixes_worded())
    later = sqlite3.connect(tmp_path / "later")
    later.execute(f"PRAGMA application_id = {0x74776373}")
    later.execute("PRAGMA user_version = 9")
    later.execute("CREATE TABLE scores (x)")
    later.close()
    assert "delete it" in fixes(tmp_path / "later")
    (tmp_path / "photo").write_bytes(b"JFIF" * 300)
    assert "delete" not in fixes(tmp_path / "photo")


def test_threads_can_create_one_file_together(tmp_path):
    path = tmp_path / "scores.sqlite"
    wrong = []
    barrier = threading.Barrier(8)

    def begin(number):
        barrier.wait()
        try:
            with ScoreCache(path) as cache:
                cache.add(f"f{number}", ["q"], ["t"], [float(number)])
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with ScoreCache(path) as cache:
        assert len(cache) == 8


def test_a_locked_file_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_cache, "_LOCK_TIMEOUT", 0.05)
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as cache:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="another process") as caught:
            cache.add("f", ["q"], ["t"], [1.0])
        assert caught.value.fixes_worded()[0] == "wait until it is done"
        other.execute("ROLLBACK")
        other.close()
        cache.add("f", ["q"], ["t"], [1.0])
        assert len(cache) == 1


def test_a_failed_addition_adds_nothing(tmp_path):
    with ScoreCache(tmp_path / "scores.sqlite") as cache:
        for wrong in ([1.0, np.nan], [1.0], [[1.0, 2.0]]):
            with pytest.raises(ParameterError, match="number for each pair"):
                cache.add("f", ["q", "q"], ["a", "b"], wrong)
        with pytest.raises(ParameterError):
            cache.add("f", ["q"], ["a", "b"], [1.0, 2.0])
        assert len(cache) == 0
    with pytest.raises(StorageError, match="closed"):
        cache.find("f", ["q"], ["a"])


def test_a_value_of_another_type_is_damage(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as cache:
        cache.add("f", ["q"], ["t"], [1.0])
    other = sqlite3.connect(path)
    other.execute("UPDATE scores SET score = 'much'")
    other.commit()
    other.close()
    with ScoreCache(path) as cache, pytest.raises(DataError, match="damaged"):
        cache.find("f", ["q"], ["t"])


@pytest.mark.parametrize("path", [5, "a\0b"])
def test_invalid_paths_are_refused(path):
    with pytest.raises(ParameterError, match="path"):
        ScoreCache(path)
