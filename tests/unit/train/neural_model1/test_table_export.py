"""The exported table scores as the network does: compiled into an index, gathered, and by the network itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.unit.train.neural_model1.conftest import ANSWERED, ASKED, PIECES, small_network

from termwise import BuildOptions, Document, build_index
from termwise.cli.translation_options import opened_scorer
from termwise.indexing import chosen_model
from termwise.models import Model1
from termwise.search import TranslationScorer
from termwise.train.neural_model1.bags import Bags, bags_of
from termwise.train.neural_model1.scoring import rank_all
from termwise.train.neural_model1.settings import NeuralModel1Settings
from termwise.train.neural_model1.table_export import export_table
from termwise.translation import open_table, write_table

P = 0.05
EVERY = np.arange(len(PIECES))
TEXTS = ["auto repair the the", "car car physician", "kid the child purchase repair buy", "the"]
QUERIES = ["car", "fix car doctor fix", "kid the buy"]


def export(network, analyzer, **options):
    given = {"sources": EVERY, "targets": EVERY, "occurrences": np.ones(len(PIECES), dtype=np.int64)}
    chosen = {name: options.pop(name) for name in ("least", "keep") if name in options}
    settings = NeuralModel1Settings(**{"self_translation": P, "least": 0.0, **chosen})
    return export_table(network, analyzer, **{**given, "settings": settings, **options})


def test_the_table_equals_the_network_without_the_diagonal(network, analyzer):
    table = export(network, analyzer)
    expected = network.pair.table(
        network.queries(torch.from_numpy(EVERY)), network.documents(torch.from_numpy(EVERY))
    ).numpy()
    assert table.nnz == len(PIECES) * (len(PIECES) - 1)
    assert not (table.sources == table.targets).any()
    np.testing.assert_allclose(table.probabilities, expected[table.sources, table.targets], rtol=1e-5)
    assert table.kind == "neural-model1"
    assert table.scoring == {"self_translation": P, "lambda": 0.0, "least": 0.0}


@pytest.mark.parametrize("form", ["network", "cosine"])
def test_the_table_scores_as_the_network_does(form, analyzer, tmp_path):
    network = small_network(form)
    queries, texts = (bags_of(one, analyzer, analyzer.vocabulary) for one in (QUERIES, TEXTS))
    expected = rank_all(network, queries, texts, p_self=P)
    write_table(export(network, analyzer), tmp_path / "table")
    documents = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    compiled = build_index(
        documents,
        tmp_path / "compiled",
        model=chosen_model(tmp_path / "table", {"keep": "0"}),
        options=BuildOptions(quantiser="float32"),
    )
    shares = build_index(
        documents,
        tmp_path / "shares",
        model="ml",
        analyzer=analyzer,
        options=BuildOptions(quantiser="float32"),
    )
    gathered = TranslationScorer(
        shares.index, open_table(tmp_path / "table"), self_translation=P, lambda_=0.0, least=0.0
    )
    names = [document.doc_id for document in documents]
    for number, query in enumerate(QUERIES):
        for one in (
            compiled.rank(query, k=len(TEXTS)),
            gathered.rank(query, candidates=names, k=len(TEXTS)),
        ):
            found = dict(zip(one.doc_ids, one.scores.tolist(), strict=True))
            assert found == pytest.approx(dict(zip(names, expected[number], strict=True)), abs=1e-5)


def test_small_probabilities_are_not_stored(network, analyzer):
    whole = export(network, analyzer)
    least = float(np.median(whole.probabilities))
    cut = export(network, analyzer, least=least)
    assert cut.nnz == (whole.probabilities >= least).sum()
    assert cut.probabilities.min() >= least


def test_the_most_likely_targets_of_a_source_are_kept(network, analyzer):
    whole, cut = export(network, analyzer), export(network, analyzer, keep=3)
    for piece in PIECES:
        assert sorted(cut.row(piece)) == sorted(whole.row(piece)[:3])


def test_only_some_sources_and_targets(network, analyzer):
    numbers = {piece: analyzer.vocabulary.number(piece) for piece in PIECES}
    sources = np.array(sorted(numbers[piece] for piece in ANSWERED))
    targets = np.array(sorted(numbers[piece] for piece in ASKED))
    table = export(network, analyzer, sources=sources, targets=targets)
    assert np.unique(table.sources).tolist() == sources.tolist()
    assert np.unique(table.targets).tolist() == targets.tolist()
    assert table.nnz == len(sources) * len(targets)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_table_does_not_depend_on_blocks_and_threads(network, analyzer, monkeypatch, threads):
    whole = export(network, analyzer)
    monkeypatch.setattr("termwise.train.neural_model1.table_export.BLOCK", 2)
    told = []
    again = export(network, analyzer, threads=threads, progress=lambda *one: told.append(one))
    assert (again.indptr == whole.indptr).all()
    assert (again.targets == whole.targets).all()
    np.testing.assert_allclose(again.probabilities, whole.probabilities, rtol=1e-5)
    assert told[-1] == (f"export: {whole.nnz:,} kept", len(PIECES), len(PIECES))


def test_a_network_with_only_small_probabilities(network, analyzer, tmp_path):
    torch.nn.init.constant_(network.pair.layers[-1].bias, -60.0)
    table = export(network, analyzer, least=1e-4)
    assert table.nnz == 0
    write_table(table, tmp_path / "table")
    assert open_table(tmp_path / "table").nnz == 0
    scores = rank_all(network, Bags.of([[1]]), Bags.of([[1, 2]]), p_self=P)
    assert scores[0, 0] == pytest.approx(math.log(P / 2))


def test_the_scoring_of_a_table_is_the_default(network, analyzer, tmp_path):
    write_table(export(network, analyzer), tmp_path / "table")
    given = {"table": str(tmp_path / "table")}
    expected = Model1(table=given["table"], self_translation=P, lambda_=0.0, least=0.0)
    assert chosen_model(tmp_path / "table", {}) == chosen_model("model1", given) == expected
    other = chosen_model("model1", {**given, "lambda": "0.2"})
    assert other == Model1(table=given["table"], self_translation=P, lambda_=0.2, least=0.0)
    build_index(
        [Document("a", "car")],
        tmp_path / "shares",
        model="ml",
        analyzer=analyzer,
        options=BuildOptions(quantiser="float32"),
    )
    scorer = opened_scorer(tmp_path / "shares", tmp_path / "table", {"least": "0.01"})
    assert (scorer.self_translation, scorer.lambda_, scorer.least) == (P, 0.0, 0.01)
