"""Plain text of HTML."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.text.html_text import PASSES, first_markup, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("h&ouml;henverstellbar", "höhenverstellbar"),
        ("180&nbsp;g/m&sup2;. <br>Garantie", "180 g/m².\nGarantie"),
        ("<ul><li>rot</li><li class='x'>blau</li></ul>", "rot\nblau"),
        ("<TD>a</TD><td>b</td>", "a b"),
        ("so<b>fa</b>", "sofa"),
        ("a<!-- <p> x -->b<br/>c", "ab\nc"),
        ("x<script>if (a < b) { '<p>' }</script>y<style>p{}</style>", "xy"),
        ("x<script>never closed", "x"),
        ("a &amp;uuml; b &lt;br&gt; c", "a ü b\nc"),
        ("&#228;&#xe4;&#0;", "ää\ufffd"),
        # What is no markup stays, with its blanks.
        ("a  < b,\n\n R&D; <M> <3 &copy=2 &unknown; -->", None),
        ("List<String> x = <Ctrl>", None),
        ("", None),
        ("<", None),
        ("<p", None),
    ],
)
def test_plain_text(text: str, plain: str | None) -> None:
    assert plain_text(text) == (text if plain is None else plain)
    assert (first_markup(text) is None) == (plain is None)


@given(st.text(alphabet=st.sampled_from("ab<>&;/ \n!-prtyliscx#1")))
def test_a_text_without_markup_stays(text: str) -> None:
    if first_markup(text) is None and "<!--" not in text:
        assert plain_text(text) == text


@given(st.text(alphabet=st.characters(exclude_categories=("C", "Z"))), st.integers(1, PASSES))
def test_escaped_text_is_restored(text: str, times: int) -> None:
    if first_markup(text) is not None or "<!--" in text:
        return
    escaped = text
    for _ in range(times):
        escaped = html.escape(escaped)
    assert plain_text(escaped) == text
