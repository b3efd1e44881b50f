"""``termwise train model1`` and ``termwise table``, as scripts rely on them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from termwise.cli.main import run
from termwise.cli.translation_options import table_places
from termwise.text import Vocabulary, make_analyzer
from termwise.translation import TranslationTable, write_table

PAIRS = [("the house", "das haus"), ("the book", "das buch"), ("a book", "ein buch")]
TRAIN = ["train", "model1", "--data", "pairs.jsonl", "--out", "table", "--threads", "1"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")  # two tables side by side; narrower, their heads are broken
    lines = [json.dumps({"query": query, "passage": passage}) + "\n" for query, passage in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def table(place: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run([*TRAIN, "--set", "analyzer=standard", "--set", "iterations=20"]) == 0
    capsys.readouterr()
    return place / "table"


def test_training_prints_a_summary(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TRAIN, "--set", "analyzer=standard", "--set", "iterations=3", "--set", "tolerance=0"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("table: 20 translations of 8 terms")
    assert "3 pairs, 3 chunks, 20 cells" in said.out
    assert said.err.splitlines()[0] == "iteration 1: perplexity 8.00"
    assert len(said.err.splitlines()) == 4


def test_training_notes_a_pair_with_very_many_cells(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("termwise.translation.bitext._LARGE", 3)
    assert run([*TRAIN, "--set", "analyzer=standard", "--json"]) == 0
    said = capsys.readouterr()
    told = [line for line in said.err.splitlines() if "makes" in line]
    assert told == [
        "pair 1 of pairs, 2 x 2 terms, makes 8 cells, and 2 more above 3: "
        "such pairs take much time and memory"
    ]
    assert json.loads(said.out)["pairs"] == 3


def test_training_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TRAIN, "--json", "--set", "analyzer=standard"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pairs"] == 3
    assert facts["perplexities"][0] == pytest.approx(8.0)


def test_mistakes_in_training(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TRAIN, "--set", "iteration=3"]) == 2
    assert "did you mean iterations" in capsys.readouterr().err
    assert run([*TRAIN, "--set", "ratio=-1"]) == 2
    assert run(["train", "model1", "--data", "nowhere", "--out", "table"]) == 3
    (place / "notes").mkdir()
    (place / "notes" / "mine.txt").write_text("")
    assert run([*TRAIN[:-3], "notes"]) == 2


def test_translations_both_ways(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table", "House", "book", "-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["house, seen once", "query terms       T    document terms       T"]
    assert lines[2].split()[0] == lines[2].split()[2] == "haus"
    assert lines[4] == "book, seen 2 times"
    assert len(lines) == 8


def test_each_word_has_its_own_result(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table", "...", "house", "houses"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("house, seen once\n")
    assert said.err.splitlines() == [
        "the table has no translations of '...': the analyzer removes it",
        "the table has no translations of 'houses'; did you mean house or haus?",
    ]
    assert run(["table", "table", "...", "houses"]) == 2
    assert capsys.readouterr().out == ""


def test_words_in_quotes_are_separate_words(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table", "house", "...", "houses", "book"]) == 0
    separate = capsys.readouterr()
    assert run(["table", "table", "house ... houses", " book"]) == 0
    assert capsys.readouterr() == separate
    assert run(["table", "table", "house,zzz"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("house (of house,zzz), seen once\n")
    assert said.err == "the table has no translations of 'zzz'\n"
    assert run(["table", "table", " "]) == 2
    assert "the analyzer removes it" in capsys.readouterr().err


def test_rare_words_are_shown_with_seen_0(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = Vocabulary(["storm", "wind", "typo"])
    counts = [900_000, 200_000, 1]
    made = TranslationTable(
        terms,
        [0, 2, 4, 5],
        [0, 1, 0, 1, 0],
        [0.5, 0.1, 0.2, 0.5, 0.9],
        counts,
        make_analyzer("standard").spec,
    )
    write_table(made, place / "counted")
    for options, others in (([], ["storm", "wind"]), (["--min-occurrences", "0"], ["typo", "storm", "wind"])):
        assert run(["table", "counted", "storm", *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[-2] for line in lines[2 : 2 + len(others)]] == others
        told = [line for line in lines if line.startswith("not shown: ")]
        assert bool(told) == (not options)
    assert told == []
    assert run(["table", "counted", "storm", "--json"]) == 0
    assert [word for word, _ in json.loads(capsys.readouterr().out)["document_terms"]] == ["storm", "wind"]


def test_translations_as_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table", "das", "--json", "-k", "1"]) == 0
    (found,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["term"] == "das"
    assert found["query_terms"][0][0] == found["document_terms"][0][0] == "the"
    assert found["query_terms"][0][1] > 0.9


def test_rare_words_can_be_left_out(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seen in ("1", "2"):
        assert run(["table", "table", "the", "--json", "--min-occurrences", seen]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert "haus" in dict(found[0]["document_terms"])
    assert "haus" not in dict(found[1]["document_terms"])
    assert "das" in dict(found[1]["document_terms"])
    assert found[0]["occurrences"] == 2


def test_unknown_words_are_named_with_the_nearest(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "table", "houses"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no translations of 'houses'" in said.err
    assert "did you mean house" in said.err
    assert run(["table", "table", "..."]) == 2
    assert "the analyzer removes it" in capsys.readouterr().err


def test_words_of_several_terms(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "pairs.jsonl").write_text('{"query": "tokenizer", "passage": "splitting words"}\n')
    assert run(TRAIN) == 0
    capsys.readouterr()
    assert run(["table", "table", "tokenizer", "--json"]) == 0
    assert [json.loads(line)["term"] for line in capsys.readouterr().out.splitlines()] == ["token", "##izer"]
    assert run(["table", "table", "tokenizer"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "token (of tokenizer), seen once"
    assert "##izer (of tokenizer), seen once" in lines
    assert lines[-1] == "##: continuation piece of a word"


def test_no_such_table(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "nowhere", "house"]) == 3
    assert "termwise train model1" in capsys.readouterr().err
    (place / "docs.jsonl").write_text('{"_id": "a", "text": "house"}\n')
    assert run(["index", "docs.jsonl", "--model", "bm25", "--out", "words.tw"]) == 0
    capsys.readouterr()
    assert run(["table", "words.tw", "house"]) == 3
    error = capsys.readouterr().err
    assert "does not hold a translation table" in error
    assert "train one into a new folder: termwise train model1 --data DATA --out DIR" in error


def test_no_network_library_is_needed(place: Path) -> None:
    program = (
        "import sys\n"
        "from termwise.cli.main import run\n"
        f"assert run({TRAIN!r}) == 0\n"
        "assert run(['table', 'table', 'haus']) == 0\n"
        "print(sorted({'torch', 'transformers', 'onnxruntime'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_name_of_a_table_that_ships_is_not_a_file_here() -> None:
    """So that a run may be called model1, too."""
    assert table_places(None) == ()
    assert table_places("table") == (Path("table"),)
    (place,) = table_places("model1")
    assert place.is_absolute()
    assert (place / "translation.json").is_file()
