"""Training of neural Model 1, from judged pairs to the folder of a table."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from tests.unit.train.neural_model1.conftest import ANSWERED, ASKED, PIECES
from transformers import BertConfig, BertModel

from termwise.cli.main import run
from termwise.errors import EmptyCollectionError, ForeignFolderError, ParameterError
from termwise.train.neural_model1.fit import train_neural_model1
from termwise.train.neural_model1.settings import NeuralModel1Settings
from termwise.train.neural_model1.training_loop import CHECKPOINT
from termwise.translation import open_table, train_model1


@pytest.fixture
def settings(vocabulary):
    return NeuralModel1Settings(
        analyzer=f"wordpiece:{vocabulary}",
        width=8,
        projection=6,
        hidden="8",
        epochs=40,
        batch=4,
        learning_rate=0.02,
        expected=0.05,
        decay=0.98,
        warm_up=0.0,
    )


def test_too_many_threads_are_refused(pairs, tmp_path, settings):
    with pytest.raises(ParameterError, match="from 1 to 1024"):
        train_neural_model1(pairs, tmp_path / "out", settings=settings, threads=1025)
    assert not (tmp_path / "out").exists()


def test_the_facts_and_the_table(pairs, tmp_path, settings):
    said = []
    facts = train_neural_model1(
        [pairs], tmp_path / "table", settings=settings, validation=pairs, say=said.append
    )
    table = open_table(tmp_path / "table")
    assert table.kind == "neural-model1"
    assert table.scoring == {"self_translation": 0.05, "lambda": 0.0, "least": 0.0}
    assert table.nnz == facts["entries"]
    files = [path for path in (tmp_path / "table").iterdir() if path.is_file()]
    assert facts["bytes"] == sum(path.stat().st_size for path in files)
    assert facts["steps"] == 40 * -(-facts["queries"] // 4)
    assert facts["validation"] == "pairs.jsonl"
    assert facts["best"]["nDCG@10"] > 0.8
    assert set(facts["seconds"]) == {"train", "export", "write", "total"}
    assert table.description["data"][0]["name"] == "pairs"
    assert "seconds" not in table.description
    assert str(tmp_path) not in (tmp_path / "table" / "translation.json").read_text()
    for asked, answered in zip(ASKED, ANSWERED, strict=True):
        likely = dict(table.column(asked))
        assert max(ANSWERED, key=lambda word: likely.get(word, 0.0)) == answered
    assert table.occurrences[PIECES.index("the")] > table.occurrences[PIECES.index("auto")] > 0
    assert said[0] == "ranking the passages with BM25 for hard negatives"
    assert said[1].startswith(f"training neural Model 1 on {facts['queries']} queries with ")
    assert said[2].startswith("epoch 1 of 40, step 3 of 120: loss ")


def test_pieces_that_do_not_occur_in_training(pairs, tmp_path, settings):
    few = dataclasses.replace(settings, epochs=1, least=0.0)
    facts = train_neural_model1([pairs], tmp_path / "seen", settings=few)
    table = open_table(tmp_path / "seen")
    sources = {PIECES[number] for number in np.unique(table.sources)}
    assert facts["sources"] == len(sources) == len([*ASKED, *ANSWERED, "the"])
    assert {PIECES[number] for number in np.unique(table.targets)} == set(ASKED)
    every = dataclasses.replace(few, unseen=True)
    train_neural_model1([pairs], tmp_path / "seen", settings=every, resume=True)
    assert open_table(tmp_path / "seen").nnz == len(PIECES) * (len(PIECES) - 1)


def test_an_interrupted_run_gives_the_same_table(pairs, tmp_path, settings):
    few = dataclasses.replace(settings, epochs=4)
    train_neural_model1([pairs], tmp_path / "whole", settings=few)

    def kill(stage, done, total):
        if stage.startswith("train") and done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_neural_model1([pairs], tmp_path / "killed", settings=few, progress=kill)
    assert (tmp_path / "killed" / "training" / CHECKPOINT).exists()
    with pytest.raises(ForeignFolderError):
        train_neural_model1([pairs], tmp_path / "killed", settings=few)
    other = dataclasses.replace(few, margin=2.0)
    with pytest.raises(ForeignFolderError, match="holds another training run"):
        train_neural_model1([pairs], tmp_path / "killed", settings=other, resume=True)
    with pytest.raises(ForeignFolderError) as caught:
        train_neural_model1([pairs], tmp_path / "killed", settings=few, validation="none", resume=True)
    assert "validation" in dict(caught.value.facts)["differs in"]
    train_neural_model1([pairs], tmp_path / "killed", settings=few, resume=True)
    for path in (tmp_path / "whole").iterdir():
        if path.is_file():
            assert (tmp_path / "killed" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_finished_run_is_exported_again(pairs, tmp_path, settings):
    few = dataclasses.replace(settings, epochs=1, least=0.0)
    first = train_neural_model1([pairs], tmp_path / "table", settings=few)
    said = []
    again = train_neural_model1(
        [pairs],
        tmp_path / "table",
        settings=dataclasses.replace(few, keep=1),
        resume=True,
        say=said.append,
    )
    assert again["entries"] < first["entries"]
    assert not any(line.startswith("epoch") for line in said)


def test_a_table_without_its_run_is_not_replaced(pairs, tmp_path, settings):
    few = dataclasses.replace(settings, epochs=1)
    train_neural_model1([pairs], tmp_path / "table", settings=few)
    shutil.rmtree(tmp_path / "table" / "training")
    before = {path.name: path.read_bytes() for path in (tmp_path / "table").iterdir()}
    for resume in (False, True):
        with pytest.raises(ForeignFolderError, match="already holds a translation table"):
            train_neural_model1([pairs], tmp_path / "table", settings=few, resume=resume)
    assert {path.name: path.read_bytes() for path in (tmp_path / "table").iterdir()} == before


def test_a_training_of_classic_model1_is_not_changed(pairs, tmp_path, settings):
    work = tmp_path / "table" / "training"
    work.mkdir(parents=True)
    (work / "em.json").write_text("{}")
    for resume in (False, True):
        with pytest.raises(ForeignFolderError, match="training of Model 1"):
            train_neural_model1([pairs], tmp_path / "table", settings=settings, resume=resume)
    few = dataclasses.replace(settings, epochs=1)
    train_neural_model1([pairs], tmp_path / "other", settings=few)
    with pytest.raises(ForeignFolderError, match="of another kind"):
        train_model1(pairs, tmp_path / "other", resume=True)
    assert (tmp_path / "other" / "training" / CHECKPOINT).exists()


def test_nothing_to_resume(pairs, tmp_path, settings):
    said = []
    few = dataclasses.replace(settings, epochs=1)
    train_neural_model1([pairs], tmp_path / "table", settings=few, resume=True, say=said.append)
    work = tmp_path / "table" / "training"
    assert said.count(f"nothing to resume in {work}: starting from the beginning") == 1


def test_an_empty_export_can_be_repeated(pairs, tmp_path, settings):
    few = dataclasses.replace(settings, epochs=1)
    with pytest.raises(ParameterError, match="the table is empty") as caught:
        train_neural_model1([pairs], tmp_path / "table", settings=dataclasses.replace(few, least=1.0))
    assert "`resume=True, least=NUMBER`" in caught.value.fixes_worded()[0]
    assert train_neural_model1([pairs], tmp_path / "table", settings=few, resume=True)["entries"] > 0


def test_a_refused_training_leaves_no_files(tmp_path, settings):
    (tmp_path / "one.jsonl").write_text('{"query": "car", "passage": "auto"}\n')
    with pytest.raises(EmptyCollectionError, match="nothing to train on"):
        train_neural_model1(
            [tmp_path / "one.jsonl"], tmp_path / "deep" / "table", settings=settings, validation="none"
        )
    assert not (tmp_path / "deep").exists()


def test_vectors_are_initialised_from_an_encoder(pairs, vocabulary, tmp_path, settings):
    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=len(PIECES) + 3,  # more rows than pieces
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=8,
    )
    encoder = BertModel(config)
    encoder.save_pretrained(tmp_path / "bert")
    (tmp_path / "bert" / "vocab.txt").write_text(vocabulary.read_text())
    given = dataclasses.replace(
        settings, embeddings=str(tmp_path / "bert"), learning_rate=0.0, epochs=1, form="cosine", unseen=True
    )
    train_neural_model1([pairs], tmp_path / "table", settings=given)
    table = open_table(tmp_path / "table")
    rows = torch.nn.functional.normalize(encoder.embeddings.word_embeddings.weight.detach(), dim=1)
    expected = ((1 + rows @ rows.T) / 2).numpy()
    np.testing.assert_allclose(table.probabilities, expected[table.sources, table.targets], atol=1e-6)
    assert table.description["settings"]["embeddings"] == "bert"


def test_an_analyzer_without_a_vocabulary(pairs, tmp_path):
    with pytest.raises(ParameterError, match="fixed vocabulary"):
        train_neural_model1([pairs], tmp_path / "t", settings=NeuralModel1Settings(analyzer="english"))
    assert not (tmp_path / "t").exists()


def test_a_foreign_folder(pairs, tmp_path, settings):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("")
    with pytest.raises(ForeignFolderError):
        train_neural_model1([pairs], tmp_path / "notes", settings=settings)


def command(pairs, settings, *options, out="table"):
    changed = {
        name: value
        for name, value in dataclasses.asdict(settings).items()
        if value != getattr(NeuralModel1Settings(), name)
    }
    given = [part for name, value in changed.items() for part in ("--set", f"{name}={value}")]
    return run(
        [
            *("train", "neural-model1", "--data", str(pairs), "--out", out, "--threads", "1"),
            *("--validation", "none", *given, *options),
        ]
    )


def test_the_command_trains_resumes_and_shows_a_word(pairs, tmp_path, settings, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = dataclasses.replace(settings, epochs=2)
    assert command(pairs, few) == 0
    streams = capsys.readouterr()
    assert streams.out.startswith("table: ")
    assert " translations of 11 document pieces, " in streams.out
    assert streams.err.splitlines()[-1] == (
        "next: termwise table table WORD, or termwise index COLLECTION --model table --out DIR"
    )
    assert command(pairs, few, "--json", "--resume") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["steps"] == 6
    assert run(["table", "table", "car"]) == 0
    assert "document terms" in capsys.readouterr().out


def test_errors_of_the_verb(pairs, tmp_path, settings, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(pairs, settings, "--set", "epoch=3") == 2
    assert "did you mean epochs" in capsys.readouterr().err
    assert command("nowhere", settings) == 3
