"""Scores of texts by the model lookup, by hand."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.encode import tiny

from termwise import Document, build_index
from termwise.display.safe_text import short_digest
from termwise.encode import open_document_encoder
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.index import Index
from termwise.models import Lookup
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import (
    Background,
    EncoderWeigher,
    LookupScorer,
    index_scorer,
    model_scorer,
    model_scorers,
)
from termwise.scorers.protocol import AdditiveScorer, PairScorer, fingerprint_of

BACKGROUND = Background(list, length=0)


@pytest.fixture
def folder(tmp_path):
    return tiny.lookup_folder(tmp_path / "lookup")


@pytest.fixture
def scorer(folder):
    return model_scorer(Lookup(encoder=str(folder), length=5, overlap=0), BACKGROUND)


def test_by_hand(scorer):
    assert isinstance(scorer, LookupScorer)
    assert isinstance(scorer, PairScorer)
    assert isinstance(scorer, AdditiveScorer)
    # rows of terms: merge and sort (2, 0), dog (0, 2), list (3, 4), none for cat and unknown words
    scores = scorer.score("sort of dog", ["merge", "list", "", "cat cat cat list list list", "dog"])
    assert scores == pytest.approx([2, 2 * 0.6 + 2 * 0.8, 0, 2.8, 2], rel=0.005)
    assert scorer.score("list list", ["list"]) == pytest.approx([5 * (1 + np.log(2))], rel=0.005)
    assert scorer.score("cat", ["cat", "list"]).tolist() == [0, 0]
    assert scorer.score("nothing", ["cat"]).tolist() == [0]
    assert scorer.score("merge", []).tolist() == []


def test_contributions_add_up_to_the_score(scorer):
    query, text = "dog list sort cat list", "merge merge list cat dog dog sort dog"
    parts = dict(scorer.contributions(query, text))
    assert list(parts) == ["sort", "list", "cat", "dog"]
    assert parts["cat"] == 0
    assert sum(parts.values()) == pytest.approx(float(scorer.score(query, [text])[0]), rel=1e-12)
    assert set(dict(scorer.contributions(query, "")).values()) == {0.0}


def test_scores_are_exact_integers_times_scales(scorer, folder):
    encoder = open_document_encoder(Lookup(encoder=str(folder)))
    table = encoder.term_vectors
    vectors = encoder.encode_documents(["merge list dog"])
    for text, counts in (("list sort", [1, 1]), ("list sort list", [round((1 + np.log(2)) * 2048), 2048])):
        query = table.combine(np.array([tiny.LIST, tiny.SORT]), np.array(counts))
        unit = table.scale / counts[1]
        exact = float(int(query @ vectors.rows[0].astype(np.int64)) * np.float64(vectors.scales[0])) * unit
        assert scorer.score(text, ["merge list dog"]).tolist() == [exact]


def test_pairs_in_any_company_have_one_score(scorer):
    texts = ["merge", "list", "", "cat cat dog list list list"] * 3
    queries = ["sort dog", "list", "cat", "dog"] * 3
    alone = [scorer.score(query, [text])[0] for query, text in zip(queries, texts, strict=True)]
    assert scorer.score_pairs(queries, texts).tolist() == alone


def test_fingerprints(scorer, folder, tmp_path):
    def made(**settings):
        return fingerprint_of(model_scorer(Lookup(encoder=str(folder), **settings), BACKGROUND))

    assert made(length=5, overlap=0) == made(length=5, overlap=0, form="terms") == scorer.fingerprint
    other = tiny.lookup_folder(tmp_path / "other", query=np.eye(16, 2) + 1)
    opened = model_scorer(Lookup(encoder=str(other), length=5, overlap=0), BACKGROUND)
    assert len({made(), scorer.fingerprint, opened.fingerprint}) == 3


def test_opened_by_the_folder_of_the_encoder(folder):
    opened = open_scorer(f"{folder},length=8", ScorerContext(BACKGROUND))
    assert isinstance(opened, LookupScorer)
    assert opened.name == "lookup"


def test_scorers_of_other_encoders_are_refused(folder, tmp_path):
    model = Lookup(encoder=str(folder))
    weigher = EncoderWeigher(model, open_document_encoder(model))
    with pytest.raises(ParameterError, match="vectors, not term weights"):
        weigher.weigh(["merge"], ["merge"])
    splade = tiny.make_folder(tmp_path / "splade", "splade-doc", tiny.square({}))
    from termwise.models import SpladeDoc

    with pytest.raises(ParameterError, match="no query table"):
        LookupScorer(model, open_document_encoder(SpladeDoc(encoder=str(splade))))


@pytest.fixture
def index(folder, tmp_path):
    build_index([Document("a", "merge list")], tmp_path / "index", model=Lookup(encoder=str(folder)))
    return Index.open(tmp_path / "index")


def test_an_index_is_scored_with_its_own_encoder_only(index, folder):
    before = index.manifest.encoder.json["network"]["id"]
    assert index_scorer(index).score("list", ["merge"])[0] > 0
    shutil.rmtree(folder)
    tiny.lookup_folder(folder, query=np.eye(16, 2) + 1)
    with pytest.raises(VocabularyMismatchError, match="not the one that the index was built with") as raised:
        index_scorer(index)
    now = open_document_encoder(Lookup(encoder=str(folder))).description["id"]
    assert short_digest(before) in str(raised.value)
    assert short_digest(now) in str(raised.value)


def test_an_index_without_a_record_of_its_encoder_is_refused(index):
    manifest = replace(index.manifest, encoder=replace(index.manifest.encoder, network=None))
    index = Index(index.path, manifest)
    with pytest.raises(VocabularyMismatchError, match="built without a network"):
        index_scorer(index)


def test_an_index_is_scored_in_the_precision_of_its_build(index, monkeypatch):
    asked = []

    def opened(model, **options):
        asked.append(options["precision"])
        return open_document_encoder(model, **options)

    monkeypatch.setattr(model_scorers, "open_document_encoder", opened)
    index_scorer(index)
    assert asked == ["float32"]
