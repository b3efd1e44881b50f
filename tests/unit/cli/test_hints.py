"""Fixes of errors on the command line."""

from __future__ import annotations

from termwise.cli.hints import spell
from termwise.errors import ParameterError


def test_an_argument_becomes_an_option_or_a_setting():
    assert spell("out=DIR") == "--out DIR"
    assert spell("overwrite=True") == "--overwrite"
    assert spell("k1=0.9") == "--set k1=0.9"


def test_a_call_becomes_a_command():
    assert spell("build_index(store_text=True)") == "termwise index COLLECTION --out DIR --store-text"
    assert spell("convert_checkpoint(expansion=Expansion('my tilde', TERMS))").endswith(
        " --expand-with my tilde"
    )
    assert spell("missing='encode'") == "--encode"
    assert spell("some_function(k=1)") == "some_function(k=1)"


def test_only_what_stands_in_backticks_is_translated():
    error = ParameterError("no texts", fixes=["build it with `store_text=True`", "pip install x"])
    assert "fix  build it with `store_text=True`" in str(error)
    assert "fix  build it with --store-text" in error.render(spell)
    assert "   or  pip install x" in error.render(spell)
