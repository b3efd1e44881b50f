"""Fixes of errors on the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from tests.commands import every_command

from termwise.cli.hints import _COMMANDS, _OPTIONS, spell
from termwise.cli.main import app, run
from termwise.errors import ParameterError
from termwise.fixes import NAMES, Call, Code, Fix


def test_an_argument_becomes_an_option_or_a_setting():
    assert spell(Fix.use(out=Code("DIR"))) == "use --out DIR"
    assert spell(Fix.use(overwrite=True)) == "use --overwrite"
    assert spell(Fix.use(port=8001)) == "use --port 8001"
    assert spell(Fix.use(k1=0.9)) == "use --set k1=0.9"


def test_a_call_becomes_a_command():
    assert spell(Fix.call("build_index", store_text=True)) == (
        "termwise index COLLECTION --out DIR --store-text"
    )
    expansion = Call.of("Expansion", "my tilde", Code("TERMS"))
    assert spell(Fix.call("convert_checkpoint", expansion=expansion)) == (
        "termwise train convert FOLDER --out DIR --expand-with 'my tilde' --expansion-terms TERMS"
    )
    assert spell(Fix.call("learn")) == "termwise learn-weights RUN RUN --qrels FILE --out FILE"
    assert spell(Fix.call("KeyFile(path).create", role="search")) == (
        "termwise serve-key --keys FILE --role search"
    )


def test_a_positional_argument_fills_the_first_placeholder():
    assert spell(Fix.call("convert_checkpoint", Path("/models/TILDE"))) == (
        "termwise train convert /models/TILDE --out DIR"
    )
    assert spell(Fix.call("termwise.open", "my index")) == "termwise search 'my index' \"your question\""
    assert spell(Fix.call("build_index", Code("COLLECTION"), "k=1.tw")) == (
        "termwise index COLLECTION --out k=1.tw"
    )


def test_an_option_has_the_quotes_that_a_shell_needs():
    assert spell(Fix.use(out="my index", table="a b")) == "use --out 'my index' --table 'a b'"
    assert spell(Fix.use(analyzer="wordpiece:my vocab.txt")) == "use --analyzer 'wordpiece:my vocab.txt'"
    assert spell(Fix.settings(analyzer="wordpiece:my vocab.txt")) == (
        "use --set 'analyzer=wordpiece:my vocab.txt'"
    )
    assert spell(Fix.call("build_graph", "a, b.tw")) == "termwise build-graph 'a, b.tw'"
    assert spell(Fix.call("build_graph", "it's.tw")) == """termwise build-graph 'it'"'"'s.tw'"""


def test_every_argument_with_an_option_has_the_option():
    assert spell(Fix.use(measure="nDCG@10")) == "use --measure nDCG@10"
    assert spell(Fix.use(scaling="z")) == "use --normalise z"
    queries = Call.of("QueryScales.of", Code("index"), Code("queries"))
    assert spell(Fix.use(queries=queries)) == "use --queries FILE --index DIR"
    assert spell(Fix.use(fields=NAMES)) == "use --fields NAME,NAME"
    assert spell(Fix.use(fields={"title": 3, "text": 2})) == "use --fields 'title^3,text^2'"
    assert spell(Fix.use(attributes="all")) == "use --attributes all"
    assert spell(Fix.use(relevance=Code("NAME=FILE")), {"--relevance"}) == "use --relevance NAME=FILE"


def test_every_option_and_command_of_a_fix_exists():
    def options(command: click.Command) -> set[str]:
        found = {option for parameter in command.params for option in parameter.opts}
        return found.union(*(options(verb) for verb in every_command(command).values()))

    assert set(_OPTIONS.values()) <= options(app)
    assert {words.split(" ")[0] for words in _COMMANDS.values()} <= set(every_command(app))


def test_the_name_of_an_argument_becomes_the_option():
    assert spell(Fix.omit("floors_from")) == "omit --floors-from"


def test_a_fix_with_an_option_that_the_command_lacks_is_left_out():
    known = {"--out", "--set"}
    assert spell(Fix.use(store_text=True), known) is None
    assert spell(Fix.use(k1=0.9), known - {"--set"}) is None
    assert spell(Fix.use(k1=0.9), known) == "use --set k1=0.9"
    assert spell(Fix.build(store_text=True), known) == "build the index with --store-text"
    assert spell(Fix.call("build_index", store_text=True), set()) is not None
    # An argument that is also a parameter of a model is set as one.
    assert spell(Fix.use(table="t"), known) == "use --set table=t"


@pytest.mark.parametrize("fix", [Fix.call("some_function", k=1), Fix.python("some_function(k=1)")])
def test_code_without_a_command_is_marked_as_python(fix: Fix):
    assert spell(fix) == "in Python: some_function(k=1)"
    assert spell(Fix.sentence("call {} first", fix)) == "call some_function(k=1) first"


def test_an_error_words_its_fixes_as_options():
    build = Fix.sentence("build {} with {}", "a{}b", Fix.use(store_text=True))
    error = ParameterError("no texts", fixes=[build, "pip install x", Fix.use(k1=1)])
    assert "fix  build a{}b with `store_text=True`" in str(error)
    assert "fix  build a{}b with --store-text" in error.render(spell)
    assert "   or  pip install x" in error.render(spell)
    assert "--set" not in error.render(lambda fix: spell(fix, {"--store-text"}))


def test_a_command_without_settings_has_no_fix_with_one(capsys: pytest.CaptureFixture[str]):
    assert run(["serve", "My Index.tw"]) == 2
    error = capsys.readouterr().err
    assert "fix     give another name: NAME=FOLDER" in error
    assert "--set" not in error
