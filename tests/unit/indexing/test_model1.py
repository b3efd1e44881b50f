"""Indexes of a translation table: choice of the model, analyzer, and cached counts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import termwise
from termwise import BuildOptions, Document, build_index
from termwise.cli.main import app, run
from termwise.encode.block_file import block_files
from termwise.errors import ForeignFolderError, MissingFileError, ParameterError, VocabularyMismatchError
from termwise.indexing import chosen_model
from termwise.models import Model1
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, open_table, write_table
from termwise.translation.table_folder import read_manifest

DOCUMENTS = [
    Document("a", "cardiac valve cardiac surgeon"),
    Document("b", "car on a road"),
    Document("empty", ""),
]
WORDS = ["[UNK]", "cardiac", "heart", "valve", "car"]


@pytest.fixture
def folder(tmp_path):
    """Return a table folder over a closed vocabulary."""
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'vocab.txt'}")
    table = TranslationTable(
        analyzer.vocabulary, [0, 0, 2, 2, 2, 2], [1, 2], [0.25, 0.5], [0, 3, 1, 0, 1], analyzer.spec
    )
    write_table(table, tmp_path / "table")
    return tmp_path / "table"


@pytest.fixture
def opened(tmp_path):
    """Return a table folder over an open vocabulary."""
    table = TranslationTable(
        Vocabulary(["cardiac", "heart"]), [0, 1, 1], [1], [0.5], [1, 1], make_analyzer("whitespace").spec
    )
    write_table(table, tmp_path / "open")
    return tmp_path / "open"


def test_a_table_folder_selects_model1(folder, tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=chosen_model(folder, {"lambda": "0.1"}))
    model = searcher.index.manifest.encoder.json["model"]
    assert (model["name"], model["exact"], model["parameters"]["lambda"]) == ("model1", False, 0.1)
    assert searcher.rank("heart").doc_ids == ("a",)
    assert chosen_model(folder, {}) == Model1(table=str(folder))
    assert chosen_model("model1", {"table": str(folder)}) == Model1(table=str(folder))


def test_the_manifest_names_the_table(folder, tmp_path, capsys):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=folder)
    said = {"name": str(folder), "id": read_manifest(folder).id}
    assert searcher.index.manifest.encoder.json["table"] == said
    assert run(["inspect", str(tmp_path / "i"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["encoder"]["table"] == said
    assert run(["inspect", str(tmp_path / "i")]) == 0
    assert said["id"] in capsys.readouterr().out.replace("\n", "").replace(" ", "")
    assert "table" not in build_index(DOCUMENTS, tmp_path / "j").index.manifest.encoder.json


def test_the_model_name_selects_the_shipped_table(folder, tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    monkeypatch.setattr("termwise.translation.table_folder._shipped_root", lambda: tmp_path / "tables")
    with pytest.raises(MissingFileError, match="no such translation table") as caught:
        build_index(DOCUMENTS, tmp_path / "i", model="model1")
    assert ("ship with the package", "none") in caught.value.facts
    shipped = replace(open_table(folder), kind="neural-model1", scoring={"lambda": 0.5})
    write_table(shipped, tmp_path / "tables" / "model1")
    searcher = build_index(DOCUMENTS, tmp_path / "i", model="model1")
    assert searcher.rank("heart").doc_ids == ("a",)
    assert searcher.index.manifest.encoder.json["table"]["name"] == "model1"
    assert chosen_model("model1", {}) == Model1(lambda_=0.5)
    assert chosen_model("model1", {"table": str(folder)}) == Model1(table=str(folder))
    assert chosen_model(tmp_path / "tables" / "model1", {}).table == str(tmp_path / "tables" / "model1")


def test_a_table_given_twice_is_refused(folder):
    with pytest.raises(ParameterError, match="table is given twice"):
        chosen_model(folder, {"table": "other"})


def test_the_table_requires_its_analyzer(folder, opened, tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=folder)
    assert searcher.analyzer.spec.name == "wordpiece"
    same = make_analyzer(f"wordpiece:{tmp_path / 'vocab.txt'}")
    again = build_index(DOCUMENTS, tmp_path / "j", model=folder, analyzer=same)
    assert again.index.vocabulary.id == searcher.index.vocabulary.id
    for table, name in ((folder, "wordpiece"), (opened, "whitespace")):
        with pytest.raises(VocabularyMismatchError, match="requires another analyzer") as caught:
            build_index(DOCUMENTS, tmp_path / "k", model=table, analyzer="english")
        facts = dict(caught.value.facts)
        assert (facts["model"], facts["analyzer"]) == (f"model1  {name}", "english")
    with pytest.raises(VocabularyMismatchError) as caught:
        build_index(DOCUMENTS, tmp_path / "k", model=folder, analyzer="wordpiece")
    facts = dict(caught.value.facts)
    assert facts["model"].startswith("model1  wordpiece, ")
    assert not any(len(word) > 20 for word in f"{facts['model']} {facts['analyzer']}".split())
    assert not (tmp_path / "k").exists()


def test_terms_of_an_open_table_join_those_of_the_collection(opened, tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=opened)
    assert "heart" in searcher.index.vocabulary.load()
    assert searcher.rank("heart").doc_ids == ("a",)
    assert len(searcher.rank("zebra")) == 0


def test_empty_documents_and_queries(folder, tmp_path):
    searcher = build_index(DOCUMENTS, tmp_path / "i", model=folder)
    assert len(searcher.rank("")) == 0
    ranking = searcher.rank("heart", candidates=["empty", "b", "a"])
    assert (ranking.doc_ids, ranking.scores.tolist()[1:]) == (("a", "empty", "b"), [0, 0])


@pytest.mark.parametrize(("name", "value"), [("prune", "1e308"), ("least", "1")])
def test_thresholds_that_remove_every_weight(folder, tmp_path, name, value):
    with pytest.raises(ParameterError, match=r"removes every weight|no probability of the table") as caught:
        build_index(DOCUMENTS, tmp_path / "i", model=chosen_model(folder, {name: value}))
    assert (name, float(value)) in caught.value.facts
    assert f"{name}=" in caught.value.fixes_worded()[0]
    assert not (tmp_path / "i").exists()


def test_a_threshold_over_documents_without_words(folder, tmp_path):
    searcher = build_index(
        [Document("empty", "")], tmp_path / "i", model=chosen_model(folder, {"prune": "1"})
    )
    assert searcher.index.manifest.postings == 0


def test_counts_are_cached_for_another_build(folder, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    plain = build_index(DOCUMENTS, tmp_path / "plain", model=chosen_model(folder, {"lambda": "0.1"}))
    build_index(
        DOCUMENTS, tmp_path / "first", model=folder, store_text=True, options=BuildOptions(encoding=kept)
    )
    assert len(block_files(kept)) == 1

    from termwise.indexing.count_rows import TokenCounter

    monkeypatch.setattr(TokenCounter, "encode_documents", lambda *_, **__: pytest.fail("counted again"))
    second = build_index(
        DOCUMENTS,
        tmp_path / "second",
        model=chosen_model(folder, {"lambda": "0.1"}),
        options=BuildOptions(encoding=kept),
    )
    for ordinal in range(len(DOCUMENTS)):
        ours, theirs = second.index.row(ordinal), plain.index.row(ordinal)
        assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]


def test_the_cache_rejects_other_analyzers(folder, tmp_path):
    kept = tmp_path / "kept"
    build_index(DOCUMENTS, tmp_path / "first", model=folder, options=BuildOptions(encoding=kept))
    (tmp_path / "vocab.txt").write_text("\n".join([*WORDS, "road"]) + "\n")
    analyzer = make_analyzer(f"wordpiece:{tmp_path / 'vocab.txt'}")
    other = TranslationTable(analyzer.vocabulary, [0] * 7, [], [], [0] * 6, analyzer.spec)
    write_table(other, tmp_path / "other")
    with pytest.raises(ForeignFolderError):
        build_index(
            DOCUMENTS, tmp_path / "third", model=tmp_path / "other", options=BuildOptions(encoding=kept)
        )


def test_the_cache_requires_a_closed_vocabulary(opened, tmp_path):
    with pytest.raises(ParameterError, match="closed vocabulary"):
        build_index(DOCUMENTS, tmp_path / "i", model=opened, options=BuildOptions(encoding=tmp_path / "kept"))


def test_from_the_command_line(folder, tmp_path):
    from click.testing import CliRunner

    source = tmp_path / "docs.jsonl"
    source.write_text("".join(json.dumps({"_id": d.doc_id, "text": d.text}) + "\n" for d in DOCUMENTS))
    for number, named in enumerate(
        (["--model", str(folder)], ["--model", "model1", "--set", f"table={folder}"])
    ):
        out = tmp_path / f"i{number}"
        done = CliRunner().invoke(app, ["index", str(source), *named, "--set", "keep=0", "--out", str(out)])
        assert done.exit_code == 0, done.output
        assert termwise.open(out).rank("heart").doc_ids == ("a",)


def test_searching_loads_neither_table_nor_translation(folder, tmp_path):
    build_index(DOCUMENTS, tmp_path / "i", model=folder, store_text=True)
    for path in folder.iterdir():
        path.unlink()
    program = (
        "import sys, termwise\n"
        f"searcher = termwise.open({str(tmp_path / 'i')!r})\n"
        "assert searcher.rank('heart').doc_ids == ('a',)\n"
        "part, = searcher.explain('heart', 'a').contributions\n"
        "assert part.origin == 'translation' and part.sources[0].term == 'cardiac'\n"
        "print(sorted(name for name in sys.modules if name.startswith(('termwise.translation', 'torch'))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
