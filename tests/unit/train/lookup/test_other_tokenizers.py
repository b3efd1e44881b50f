"""Encoders of kind lookup whose documents have another tokenizer than queries, from training to search."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import termwise  # noqa: E402
from termwise import Document, build_index  # noqa: E402
from termwise.cli.main import run  # noqa: E402
from termwise.encode import EncoderFolder  # noqa: E402
from termwise.errors import ForeignFolderError, MissingFileError, ParameterError  # noqa: E402
from termwise.progress import Execution, silent  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train import LookupSettings, train_lookup  # noqa: E402
from termwise.train.dense_encoder import load_dense_encoder  # noqa: E402

from ..conftest import SIZE  # noqa: E402

SETTINGS = LookupSettings(length=20, held_out=0.1, batch=16)


@pytest.fixture(scope="module")
def made(byte_teacher, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "encoder"
    return out, train_lookup([texts], out, teacher=byte_teacher, settings=SETTINGS)


def test_the_table_has_the_shipped_vocabulary(made):
    out, facts = made
    opened = EncoderFolder.open(out)
    assert (out / "document_tokenizer.json").is_file()
    assert opened.analyzer.spec == WordPieceAnalyzer.shipped().spec
    assert opened.term_vectors.rows.shape == (30_522, SIZE)
    number = opened.vocabulary.number
    known = opened.term_vectors.known
    assert known.sum() == facts["terms"]
    assert known[number("wing")]
    assert not known[[number("[CLS]"), number("[UNK]"), number("zebra")]].any()
    assert opened.manifest.document_tokenizer.terms == 400
    assert facts["cosine"] > 0.3


def test_the_card_names_both_tokenizers(made):
    assert "queries the word pieces of uncased BERT" in (made[0] / "README.md").read_text()


def test_prompts_are_read_before_texts_and_documents(byte_teacher, texts, tmp_path):
    source = tmp_path / "prompted"
    shutil.copytree(byte_teacher, source)
    prompts = {"prompts": {"query": "query: ", "document": "text: "}}
    (source / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    out = tmp_path / "made"
    facts = train_lookup([texts], out, teacher=source, settings=SETTINGS)
    opened = EncoderFolder.open(out)
    assert (facts["query_prompt"], opened.manifest.document_prompt) == ("query: ", "text: ")
    assert not opened.term_vectors.known[opened.vocabulary.number("query")]  # a query has no prompt
    card = (out / "README.md").read_text()
    assert (
        "The encoder read `query: ` before each text. The encoder read `text: ` before each document." in card
    )
    first = json.loads(texts.read_text().splitlines()[0])["text"]
    network, tokenizer = load_dense_encoder(source, say=silent).network, opened.document_tokenizer
    ids = torch.tensor([[0, *tokenizer.numbers("query: " + first)[:18], 2]])
    with torch.no_grad():
        expected = network(ids, torch.ones_like(ids))[0].numpy()
    stored = np.load(out / "training" / "vectors" / "0000.npy")[0]
    np.testing.assert_allclose(stored, expected, atol=2e-3)


def test_given_prompts_replace_those_of_the_folder(byte_teacher, texts, tmp_path):
    source = tmp_path / "prompted"
    shutil.copytree(byte_teacher, source)
    out = {}
    for name, prompts, settings in (
        ("folder", {"query": "query: ", "document": "text: "}, {}),
        ("given", {"query": "other: "}, {"query_prompt": "query: ", "document_prompt": "text: "}),
    ):
        (source / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
        out[name] = tmp_path / name
        facts = train_lookup([texts], out[name], teacher=source, settings=replace(SETTINGS, **settings))
        assert facts["query_prompt"] == "query: "
    one, other = (EncoderFolder.open(folder) for folder in out.values())
    assert one.id == other.id
    assert other.manifest.document_prompt == "text: "


def test_an_encoder_with_the_pieces_of_sentencepiece(unigram_teacher, texts, tmp_path):
    out = tmp_path / "encoder"
    facts = train_lookup([texts], out, teacher=unigram_teacher, settings=SETTINGS)
    assert facts["cosine"] > 0.3
    opened = EncoderFolder.open(out)
    assert (
        opened.document_tokenizer.numbers("wing wing").tolist()
        == [*opened.document_tokenizer.numbers("wing").tolist()] * 2
    )
    build_index([Document("a", "a wing"), Document("b", "a file")], tmp_path / "index", model=out)
    searcher = termwise.open(tmp_path / "index")
    assert sorted(searcher.rank("wing").doc_ids) == ["a", "b"]
    assert searcher.index.manifest.encoder.network.document_tokenizer


def test_an_encoder_of_several_languages_has_a_query_table_of_its_own_word_pieces(
    unigram_teacher, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "wing", "flügel", "flugel", "##wing", "hear"]
    (tmp_path / "several.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    words = ("Flügel", "wing", "file", "Flügel file", "wing hear")
    (tmp_path / "texts.txt").write_text("".join(f"{word} number {i}\n" for i in range(20) for word in words))
    settings = replace(SETTINGS, vocabulary="several.txt", query_prompt="query: ", held_out=0.0)
    facts = train_lookup(["texts.txt"], "encoder", teacher=unigram_teacher, settings=settings)
    assert facts["settings"]["vocabulary"] == "several.txt"
    opened = EncoderFolder.open("encoder")
    assert list(opened.vocabulary) == pieces
    known = [piece for piece, row in zip(pieces, opened.term_vectors.known, strict=True) if row]
    assert known == ["wing", "flugel", "hear"]  # accents are removed, as in uncased models
    assert "queries the word pieces of several.txt" in Path("encoder/README.md").read_text()
    build_index([Document("a", "der Flügel"), Document("b", "a file")], "index", model="encoder")
    assert termwise.open("index").rank("flügel").doc_ids


def test_the_vocabulary_of_an_encoder_with_word_pieces_is_not_replaced(teacher, texts, tmp_path):
    settings = replace(SETTINGS, vocabulary=str(teacher / "vocab.txt"))
    with pytest.raises(ParameterError, match="also those of the query table"):
        train_lookup([texts], tmp_path / "encoder", teacher=teacher, settings=settings)
    assert not (tmp_path / "encoder").exists()


def test_a_missing_vocabulary_is_named(unigram_teacher, texts, tmp_path):
    settings = replace(SETTINGS, vocabulary=str(tmp_path / "none.txt"))
    with pytest.raises(MissingFileError, match=r"vocabulary cannot be read|does not exist"):
        train_lookup([texts], tmp_path / "encoder", teacher=unigram_teacher, settings=settings)


def test_a_run_is_resumed_with_its_own_tokenizer_only(made, byte_teacher, texts, tmp_path):
    out = tmp_path / "copied"
    shutil.copytree(made[0], out)
    said = []
    train_lookup(
        [texts],
        out,
        teacher=byte_teacher,
        settings=SETTINGS,
        resume=True,
        execution=Execution(say=said.append),
    )
    assert EncoderFolder.open(out).id == EncoderFolder.open(made[0]).id
    other = tmp_path / "other"
    shutil.copytree(byte_teacher, other)
    body = json.loads((other / "tokenizer.json").read_text())
    body["pre_tokenizer"]["add_prefix_space"] = True
    (other / "tokenizer.json").write_text(json.dumps(body))
    with pytest.raises(ForeignFolderError, match="another training run"):
        train_lookup([texts], out, teacher=other, settings=SETTINGS, resume=True)


def test_index_search_rerank_and_explain(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        {"_id": "air", "text": "wing lift drag " * 12},  # several windows
        {"_id": "code", "text": "merge sort list tree"},
        {"_id": "none", "text": " "},
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "queries.tsv").write_text("q\twing lift\n")
    (tmp_path / "given.run").write_text("q Q0 code 1 2 x\nq Q0 air 2 1 x\n")
    model = str(made[0])
    assert (
        run(["index", "docs.jsonl", "--model", model, "--out", "made.tw", "--threads", "1", "--store-text"])
        == 0
    )
    capsys.readouterr()
    assert run(["search", "made.tw", "wing lift", "--json"]) == 0
    *hits, _ = map(json.loads, capsys.readouterr().out.splitlines())
    found = {hit["doc_id"]: hit["score"] for hit in hits}
    assert found.keys() == {"air", "code"}
    assert run(["explain", "made.tw", "wing lift", "air", "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    total = sum(part["score"] for part in explained["contributions"])
    np.testing.assert_allclose(total, explained["score"], rtol=1e-6)
    given = ["--run", "given.run", "--queries", "queries.tsv"]
    assert run(["rerank", "made.tw", *given, "--out", "index.run"]) == 0
    assert run(["rerank", "made.tw", *given, "--out", "scorer.run", "--scorer", model]) == 0
    for name in ("index.run", "scorer.run"):
        lines = [line.split() for line in (tmp_path / name).read_text().splitlines()]
        assert {line[2]: float(line[4]) for line in lines} == pytest.approx(found, rel=1e-4), name
