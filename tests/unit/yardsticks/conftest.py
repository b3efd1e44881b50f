"""Fixtures: a BERT of a few thousand weights, and a BERT-Model1 on it."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.train.conftest import VOCABULARY, configuration, save  # noqa: E402

from termwise.text.wordpiece import WordPieceAnalyzer  # noqa: E402
from termwise.yardsticks.rerankers.bert_model1 import BertModel1, BertModel1Config  # noqa: E402
from termwise.yardsticks.rerankers.network import Reranker  # noqa: E402
from termwise.yardsticks.rerankers.scorer import RerankerScorer  # noqa: E402

SMALL = {"query_length": 6, "chunk_length": 8, "document_length": 20, "projection": 8, "hidden": "12,10"}


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread, as the networks are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save an encoder without a head whose outputs depend on the context of a token."""
    torch.manual_seed(7)
    model = transformers.BertModel(configuration(initializer_range=0.3))
    return save(model, tmp_path_factory.mktemp("encoders") / "bare")


@pytest.fixture(scope="session")
def analyzer(base: Path) -> WordPieceAnalyzer:
    return WordPieceAnalyzer.from_file(base / "vocab.txt")


def small_network(base: Path, **changes: object) -> BertModel1:
    """Return a network with enlarged weights, so that its outputs differ between tokens."""
    torch.manual_seed(3)
    network = BertModel1.from_base(base, BertModel1Config(**(SMALL | changes)))
    with torch.no_grad():
        for layer in network.pair.layers:
            layer.weight *= 2
    return network


@pytest.fixture
def network(base: Path) -> BertModel1:
    return small_network(base)


def scoring(network: Reranker, analyzer: WordPieceAnalyzer, **options: object) -> RerankerScorer:
    return RerankerScorer(network=network, analyzer=analyzer, **options)


@pytest.fixture
def scorer(network: BertModel1, analyzer: WordPieceAnalyzer) -> RerankerScorer:
    return scoring(network, analyzer)


def number(piece: str) -> int:
    return VOCABULARY.index(piece)
