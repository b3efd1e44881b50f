"""Cross-encoders of sentence-transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sentence_transformers = pytest.importorskip("sentence_transformers")

from tests.unit.train.conftest import configuration, save  # noqa: E402

from termwise import Document, build_index  # noqa: E402
from termwise.cli.main import run  # noqa: E402
from termwise.errors import ModelFormatError, ParameterError, UsageError  # noqa: E402
from termwise.rankers import ScorerContext, open_scorer  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.scorers.protocol import TextScorer  # noqa: E402
from termwise.yardsticks.cross_encoder import CrossEncoderScorer  # noqa: E402
from termwise.yardsticks.rerankers.folder import write_scorer  # noqa: E402
from termwise.yardsticks.rerankers.scorer import RerankerScorer  # noqa: E402

CONTEXT = ScorerContext(Background(list), device="cpu")
QUERY = "wing drag"
TEXTS = ["wing lift", "heat transfer of a plate", "", "drag"]


def saved(folder, labels=1):
    torch.manual_seed(5)
    network = transformers.BertForSequenceClassification(
        configuration(initializer_range=0.5, num_labels=labels)
    )
    return save(network, folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("crossed") / "mine")


@pytest.fixture(scope="module")
def scorer(folder):
    return CrossEncoderScorer.open(folder)


def by_hand(folder, query, text):
    """Run the network of transformers on one pair, without any padding."""
    network = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)([query], [text], return_tensors="pt")
    with torch.no_grad():
        return float(network(**tokens).logits[0, 0])


def test_scores_are_raw_outputs_of_the_network(folder, scorer):
    assert isinstance(scorer, TextScorer)
    assert scorer.name == "mine"
    expected = [by_hand(folder, QUERY, text) for text in TEXTS]
    assert scorer.score(QUERY, TEXTS) == pytest.approx(expected, abs=1e-5)
    assert min(expected) < 0 or max(expected) > 1, "a logistic function would show"


def test_a_score_does_not_depend_on_the_other_texts(scorer):
    together = scorer.score(QUERY, TEXTS)
    alone = np.concatenate([scorer.score(QUERY, [text]) for text in TEXTS])
    assert together == pytest.approx(alone, abs=1e-5)
    assert scorer.score(QUERY, []).shape == (0,)


def test_a_long_text_is_truncated(folder, scorer):
    assert scorer.score(QUERY, ["wing " * 300]) == pytest.approx(scorer.score(QUERY, ["wing " * 400]))
    short = CrossEncoderScorer.open(folder, length=16)
    text = "wing " * 300
    assert short.score(QUERY, [text]) == pytest.approx(short.score(QUERY, [text + "plate"]))
    with pytest.raises(ParameterError, match="cannot read texts of this length"):
        CrossEncoderScorer.open(folder, length=65)
    for device in ("nope", "meta"):
        with pytest.raises(ParameterError, match="no such device"):
            CrossEncoderScorer.open(folder, device=device)


def test_settings_of_a_specification(folder, scorer):
    context = ScorerContext(Background(list), device="cpu")
    short = open_scorer(f"{folder},length=16,batch=2", context)
    text = "wing " * 20
    assert short.score(QUERY, [text]) == pytest.approx(short.score(QUERY, [text + "plate"]))
    assert short.fingerprint != scorer.fingerprint
    for wrong in ("length=65", "batch=" + "9" * 5000, "batch=0", "batch=x", "device=nope"):
        with pytest.raises(UsageError):
            open_scorer(f"{folder},{wrong}", context)


def test_a_network_with_several_outputs_is_refused(tmp_path):
    with pytest.raises(ModelFormatError, match="one score"):
        CrossEncoderScorer.open(saved(tmp_path / "two", labels=2))


def test_arguments_that_are_not_strings_are_refused(scorer):
    with pytest.raises(ParameterError, match="query"):
        scorer.score(3, TEXTS)
    with pytest.raises(ParameterError, match="texts"):
        scorer.score(QUERY, "wing")


def test_queries_and_texts_have_equal_lengths(scorer):
    with pytest.raises(ParameterError, match="as many queries as texts"):
        scorer.score_pairs(["tea", "bread"], ["Keep tea dry."])


def test_a_score_that_is_not_finite_is_refused(folder):
    model = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    with torch.no_grad():
        model.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(ModelFormatError, match="not a finite number"):
        CrossEncoderScorer(model=model).score(QUERY, TEXTS)


def test_folders_and_hub_names(folder, tmp_path, network, analyzer, monkeypatch):
    assert isinstance(open_scorer(str(folder), CONTEXT), CrossEncoderScorer)
    write_scorer(network, analyzer, tmp_path / "ours")
    assert isinstance(open_scorer(str(tmp_path / "ours"), CONTEXT), RerankerScorer)
    with pytest.raises(UsageError, match="nowhere"):
        open_scorer("nowhere", CONTEXT)
    monkeypatch.setattr("termwise.train.hub._refusal", lambda base: "it does not answer")
    with pytest.raises(ModelFormatError, match="no ranker of that name"):
        open_scorer("somebody/a-cross-encoder", CONTEXT)


def test_incomplete_weights_are_refused(tmp_path, base):
    with pytest.raises(ModelFormatError, match="random numbers"):
        CrossEncoderScorer.open(base)
    folder = saved(tmp_path / "more")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(ModelFormatError, match="weights of the cross-encoder are missing"):
        CrossEncoderScorer.open(folder)


@pytest.mark.parametrize("words", [None, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwing\n"])
def test_another_tokenizer_is_refused(tmp_path, words):
    folder = saved(tmp_path / "mine")
    (folder / "vocab.txt").unlink()
    if words is not None:
        (folder / "vocab.txt").write_text(words)
    with pytest.raises(ModelFormatError, match="tokenizer"):
        CrossEncoderScorer.open(folder)


def test_very_long_texts_are_shortened_before_tokenisation(scorer):
    long = "wing drag " * 100_000
    found = scorer.score(long, [long, "wing drag " * 100])
    assert found == pytest.approx(scorer.score("wing drag " * 100, ["wing drag " * 100] * 2), abs=1e-5)


def test_a_folder_without_weights_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelFormatError, match="cannot be loaded"):
        CrossEncoderScorer.open(tmp_path)


def test_a_run_is_reranked(tmp_path, folder, scorer):
    texts = {"a": "wing lift", "b": "heat transfer of a plate"}
    build_index([Document(*one) for one in texts.items()], tmp_path / "index", store_text=True)
    (tmp_path / "queries.tsv").write_text("q1\twing drag\n")
    (tmp_path / "run.trec").write_text("q1 Q0 b 1 2.0 first\nq1 Q0 a 2 1.0 first\n")
    options = ["--scorer", str(folder), "--run", str(tmp_path / "run.trec")]
    options += ["--queries", str(tmp_path / "queries.tsv"), "--out", str(tmp_path / "out.trec")]
    assert run(["rerank", str(tmp_path / "index"), *options]) == 0
    lines = [line.split() for line in (tmp_path / "out.trec").read_text().splitlines()]
    found = {line[2]: float(line[4]) for line in lines}
    assert found == pytest.approx(
        dict(zip(texts, scorer.score(QUERY, list(texts.values())), strict=True)), abs=1e-5
    )
