"""Intervals of the experiments, and reuse of indexes."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import Document


def test_resampled_means_have_the_mean_and_spread_of_the_bootstrap(monkeypatch):
    import record

    monkeypatch.setattr(record, "RESAMPLES", 10_000)
    values = np.array([[0.0, 1.0, 1.0, 0.0], [0.5, 0.5, 0.5, 0.5]])
    drawn = record.resampled_means(values, 3)
    assert drawn.shape == (10_000, 2)
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert drawn[:, 0].std() == pytest.approx(0.25, abs=0.01)  # sqrt(1/4 / 4)
    assert np.allclose(drawn[:, 1], 0.5)


def test_the_same_queries_are_drawn_for_every_system_however_few_at_a_time(monkeypatch):
    import record

    values = np.random.default_rng(1).random((3, 37))
    values[2] = values[0]
    whole = record.resampled_means(values)
    assert (whole[:, 0] == whole[:, 2]).all()
    monkeypatch.setattr(record, "AT_ONCE", 100)  # two draws at a time
    assert (record.resampled_means(values) == whole).all()
    assert (record.resampled_means(values[1:2])[:, 0] == whole[:, 1]).all()


def test_the_interval_of_a_mean_is_that_of_all_draws_at_once(monkeypatch):
    import record

    monkeypatch.setattr(record, "AT_ONCE", 500)
    values = np.random.default_rng(2).random(60)
    drawn = np.random.default_rng(0).integers(0, 60, size=(record.RESAMPLES, 60), dtype=np.int32)
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    assert record.mean_interval(values) == (low, high)


class Documents:
    name = "some"
    length = 3

    def __init__(self):
        self.read = 0

    def documents(self):
        self.read += 1
        return iter([Document("a", "merge sort"), Document("b", "sort the list"), Document("c", "cat")])


def test_an_index_with_the_same_settings_is_reused(tmp_path):
    from indexes import index_counts

    documents = Documents()

    def index(*, reuse=True, **changes):
        settings = {"model": "bm25", "settings": {"k1": "0.9"}, "analyzer": "english", **changes}
        return index_counts(documents, tmp_path / "i", reuse=reuse, **settings)

    first = index()
    assert index().searcher.rank("sort list") == first.searcher.rank("sort list")
    assert index().sizes == first.sizes
    assert documents.read == 1
    for changed in (
        {"settings": {"k1": "1.2"}},
        {"analyzer": "standard"},
        {"model": "ml", "settings": {}},
        {"model": "ml", "settings": {}, "quantiser": "float32"},
        {"reuse": False},
    ):
        before = documents.read
        index(**changed)
        assert documents.read == before + 1


def test_an_encoded_index_is_reused(encoders, tmp_path):
    from indexes import index_encoded

    from termwise.models import Tilde

    documents = Documents()

    def index(**settings):
        model = Tilde(encoder=encoders["tilde"], **settings)
        return index_encoded(documents, tmp_path / "i", model=model, reuse=True)

    first = index()
    read = documents.read
    again = index()
    assert (again.sizes, again.network, again.effort) == (
        first.sizes,
        first.network,
        first.effort,
    )
    assert documents.read == read
    index(keep=2)
    assert documents.read > read


def test_targets_that_were_set_later_are_marked():
    import record

    assert record.verdict(True, set_later=False) == "yes"
    assert record.verdict(False, set_later=True) == "no, set later"
    assert record.target_section([{"set_later": False}], "table") == "table"
    assert record.target_section([{"set_later": True}], "table") == f"{record.SET_LATER}\n\ntable"
