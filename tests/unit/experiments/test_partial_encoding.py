"""Mixtures of which only some documents were read by the network: vectors by hand, and a run with toy data."""

from __future__ import annotations

import numpy as np
import pytest

from termwise import Document
from termwise.encode import EncoderFolder
from termwise.vectors import DocumentVectors


@pytest.fixture
def windows(tiny, tmp_path):
    """Return a function that makes the windows of texts with given vectors."""
    from partial_encoding import Windows

    encoder = EncoderFolder.open(str(tiny.lookup_folder(tmp_path / "encoder")))

    def made(texts, indptr, vectors):
        documents = [Document(f"d{place}", text) for place, text in enumerate(texts)]
        return Windows(documents, DocumentVectors.of(indptr, np.array(vectors, dtype=np.float32)), encoder)

    return made


def chosen(*places, documents):
    return np.isin(np.arange(documents), places)


def test_vectors_of_the_sample_stay_and_the_others_have_its_mean_and_length(windows):
    vectors = [[0.6, 0.8], [1, 0], [0, 1]]
    made = windows(["merge", "list", "", "dog"], [0, 1, 2, 2, 3], vectors)
    mixed = made.mixed(chosen(0, 3, documents=4), None)
    assert mixed.indptr.tolist() == [0, 1, 2, 2, 3]
    for place in (0, 2):
        assert mixed.rows[place].tolist() == made.vectors.rows[place].tolist()
        assert mixed.scales[place] == made.vectors.scales[place]
    # The mean is (0.3, 0.9), each vector of the sample lies 0.316 from it, and the row of list is (3, 4).
    length = 0.1**0.5
    assert mixed.matrix()[1] == pytest.approx([0.3 + 0.6 * length, 0.9 + 0.8 * length], abs=0.02)


def test_a_document_is_in_the_sample_with_all_its_windows(windows):
    texts = ["merge " * 9, "dog", "merge"]  # a window has eight pieces
    made = windows(texts, [0, 2, 3, 4], [[1, 0], [0.6, 0.8], [0, 1], [0.8, 0.6]])
    mixed = made.mixed(chosen(0, 1, documents=3), None)
    assert mixed.rows[:3].tolist() == made.vectors.rows[:3].tolist()
    length = sum(np.hypot(x - 1.6 / 3, y - 0.6) for x, y in ((1, 0), (0.6, 0.8), (0, 1))) / 3
    assert mixed.matrix()[3] == pytest.approx([1.6 / 3 + length, 0.6], abs=0.02)


def test_a_document_without_a_known_term_has_the_mean(windows):
    made = windows(["merge", "dog", "cat"], [0, 1, 2, 3], [[1, 0], [0, 1], [-1, 0]])
    for ridge in (None, 1.0):
        mixed = made.mixed(chosen(0, 1, documents=3), ridge)
        assert mixed.matrix()[2] == pytest.approx([0.5, 0.5], abs=0.01)


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_fitted_rows_give_the_vector_of_the_same_words_in_the_sample(windows, ridge):
    made = windows(["merge", "dog", "merge merge"], [0, 1, 2, 3], [[0, 1], [-1, 0], [1, 0]])
    sample = chosen(0, 1, documents=3)
    # The sample has the mean (-0.5, 0.5) and the lengths 0.707; the row of merge points to the first axis.
    as_they_are = made.mixed(sample, None).matrix()[2]
    assert as_they_are == pytest.approx([-0.5 + 0.5**0.5, 0.5], abs=0.02)
    assert made.mixed(sample, ridge).matrix()[2] == pytest.approx([0, 1], abs=0.02)


def test_fitted_rows_are_nearer_to_the_sample(windows):
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(["merge", "sort", "list", "dog"], size=4)) for _ in range(6)]
    angles = random.uniform(0, 2 * np.pi, size=6)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    made = windows(texts * 2, np.arange(13), [*vectors, *vectors])
    wanted = vectors - vectors.mean(axis=0)

    def nearness(ridge):
        rows = made.mixed(chosen(*range(6), documents=12), ridge).matrix()[6:] - vectors.mean(axis=0)
        return float((rows * wanted).sum())

    assert nearness(0.1) > nearness(10.0) > nearness(None)


PLAN = """
name = "partial_encoding"
title = "In part"
measure = "nDCG@10"
depth = 20
shares = [0.3, 1.0]
ridge = 1.0
seed = 0
[collections]
cats = "dev"
dogs = "dev"
"""


def test_a_run(experiment, lookup_encoder, tmp_path, monkeypatch):
    import partial_encoding

    lookup_encoder()
    monkeypatch.setattr("termwise.encode.encoder_folder._shipped_root", lambda: tmp_path)
    result = experiment(partial_encoding.main, PLAN)
    systems = result["macro"]["systems"]
    ways = [
        f"{share} read, others {way}, weights of {recipe}"
        for share in ("30%", "100%")
        for way in ("as they are", "fitted")
        for recipe in ("best", "instant")
    ]
    assert list(systems) == ["bm25", "instant", "best", *ways]
    assert result["macro"]["collections"] == ["cats", "dogs"]
    # If all documents are read, there are no others.
    assert systems["100% read, others fitted, weights of best"] == systems["best"]
    assert systems["100% read, others as they are, weights of best"] == systems["best"]
    assert systems["30% read, others fitted, weights of best"] != systems["best"]
    assert 0 < systems["30% read, others fitted, weights of best"]["mean"] < 1
    page = (tmp_path / "out" / "partial_encoding.md").read_text()
    assert page.startswith(
        "# In part\n\nMade by `experiments/partial_encoding.py` on the dev splits of cats, dogs."
    )
    lines = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    assert lines["| bm25"].endswith("|  |")
    assert lines["| instant"].endswith("| 0% |")
    assert lines["| best"].endswith("| 100% |")
    assert len(lines) == 2 + len(systems)


def test_the_page_has_no_shares_of_a_gain_that_is_none():
    import partial_encoding

    one = {"mean": 0.25, "ratio": {"ratio": 1.0, "interval": [1.0, 1.0]}}
    made = {
        "date": "today",
        "seconds": 1,
        "commit": "none",
        "uncommitted": [],
        "sources": "none",
        "python": "3",
    }
    result = {
        "config": {"title": "In part", "measure": "nDCG@10"},
        "macro": {"collections": ["cats"], "systems": dict.fromkeys(("bm25", "instant", "best"), one)},
        "provenance": {**made, "packages": {}, "processor": "any", "processors": 1},
    }
    assert "| best | .2500 | 1.000 | 1.000 to 1.000 |  |" in partial_encoding.page(result)
