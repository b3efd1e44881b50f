"""Fixes of errors on the command line."""

from __future__ import annotations

import click
import pytest
import typer

from termwise.cli.hints import _OPTIONS, spell
from termwise.cli.main import app
from termwise.errors import ParameterError


def test_an_argument_becomes_an_option_or_a_setting():
    assert spell("out=DIR") == "--out DIR"
    assert spell("overwrite=True") == "--overwrite"
    assert spell("port=8001") == "--port 8001"
    assert spell("k1=0.9") == "--set k1=0.9"


def test_a_call_becomes_a_command():
    assert spell("build_index(store_text=True)") == "termwise index COLLECTION --out DIR --store-text"
    assert spell("convert_checkpoint(expansion=Expansion('my tilde', TERMS))") == (
        "termwise train convert FOLDER --out DIR --expand-with 'my tilde' --expansion-terms TERMS"
    )
    assert spell("learn()") == "termwise learn-weights RUN RUN --qrels FILE --output FILE"
    assert spell("missing='encode'") == "--encode"


def test_a_positional_argument_fills_the_first_placeholder():
    assert spell("convert_checkpoint(/models/TILDE)") == "termwise train convert /models/TILDE --out DIR"
    assert spell("termwise.open(my index)") == "termwise search 'my index' --queries FILE --output RUN"


def test_a_positional_argument_in_quotes_is_a_value():
    assert spell('build_index(COLLECTION, "k=1.tw")') == "termwise index COLLECTION --out k=1.tw"


def test_an_option_has_the_quotes_that_a_shell_needs():
    assert spell("out=my index, table='a b'") == "--out 'my index' --table 'a b'"
    assert spell("analyzer='wordpiece:my vocab.txt'") == "--analyzer 'wordpiece:my vocab.txt'"
    assert spell("settings.analyzer='wordpiece:my vocab.txt'") == "--set 'analyzer=wordpiece:my vocab.txt'"


def test_every_argument_with_an_option_has_the_option():
    assert spell("measure='nDCG@10'") == "--measure nDCG@10"
    assert spell("output=FILE") == "--output FILE"
    assert spell("scaling='z'") == "--normalise z"
    assert spell("queries=QueryScales.of(index, queries)") == "--queries FILE --index DIR"
    assert spell("fields=(NAME, NAME)") == "--fields NAME,NAME"
    assert spell("attributes=(NAME, NAME)") == "--attributes NAME,NAME"
    assert spell("attributes='all'") == "--attributes all"


def test_every_option_of_a_fix_exists():
    def options(command: click.Command) -> set[str]:
        found = {option for parameter in command.params for option in parameter.opts}
        return found.union(*(options(verb) for verb in getattr(command, "commands", {}).values()))

    assert set(_OPTIONS.values()) <= options(typer.main.get_command(app))


def test_the_name_of_an_argument_becomes_the_option():
    assert spell("floors_from") == "--floors-from"


@pytest.mark.parametrize(
    "code",
    [
        "some_function(k=1)",
        "Run(rankings, name=…)",
        "termwise.probes.median_gap(rankings)",
        "rank",
        "a b c",
        "",
    ],
)
def test_other_code_stays_as_it_is(code):
    assert spell(code) == code


def test_only_what_stands_in_backticks_is_translated():
    error = ParameterError("no texts", fixes=["build it with `store_text=True`", "pip install x"])
    assert "fix  build it with `store_text=True`" in str(error)
    assert "fix  build it with --store-text" in error.render(spell)
    assert "   or  pip install x" in error.render(spell)


def test_a_quoted_folder_is_one_argument():
    assert spell("build_graph('a=b.tw')") == "termwise build-graph a=b.tw"
    assert spell("build_graph('a, b.tw')") == "termwise build-graph 'a, b.tw'"
    assert spell('build_graph("it\'s.tw")') == """termwise build-graph 'it'"'"'s.tw'"""
