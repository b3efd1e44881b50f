"""Text from elsewhere on a screen: nothing of it is a command."""

from __future__ import annotations

import pytest

from termwise.display.safe_text import (
    legible,
    legible_line,
    settings_differences,
    settings_text,
    short_digest,
)
from termwise.errors import MalformedRecordError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b]0;title\x07b", "a�]0;title�b"),
        ("nul\x00 del\x7f c1\x9b", "nul� del� c1�"),
        ("lone \ud800 surrogate", "lone � surrogate"),
        ("a\r\nb\rc\x0bd\x0ce\u2028f\u2029g\x85h", "a \nb\nc\nd\ne\nf\ng\nh"),
        ("tab\tstays", "tab\tstays"),
        ("\u202eturned\u202c \u2066isolated\u2069", "�turned� �isolated�"),
    ],
)
def test_legible(text, shown):
    assert legible(text) == shown
    assert len(legible(text)) == len(text)


def test_directions_may_be_kept():
    assert legible("\u202eturned\u202c", directions=True) == "\u202eturned\u202c"


def test_a_line_stays_a_line():
    assert legible_line("a\r\nb\tc\x85d\x1b") == "a  b c d\ufffd"


def test_errors_show_input_without_terminal_commands():
    error = MalformedRecordError.at("d\x1b[2J.jsonl", 1, expected="JSON", seen="{\x1b]0;title\x07\rgone")
    assert not {"\x1b", "\x07", "\r"} & set(error.render())
    assert "{\ufffd]0;title\ufffd" in str(error)
    assert "gone" in str(error)
    assert dict(error.facts)["seen"] == "{\x1b]0;title\x07\rgone"


DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("identity", "shown"),
    [
        (DIGEST, "0123456789ab"),
        (f"sha256:{DIGEST}", "sha256:0123456789ab"),
        (f"{DIGEST}0", f"{DIGEST}0"),
        (f"of {DIGEST}", f"of {DIGEST}"),
        ("toy", "toy"),
    ],
)
def test_digests_are_cut(identity, shown):
    assert short_digest(identity) == shown


def test_settings_in_words():
    assert settings_text({}) == ""
    assert (
        settings_text({"a": 1, "b": {"c": [1, 2], "d": None}, "e": DIGEST})
        == "a 1, b (c 1 2, d None), e 0123456789ab"
    )


def test_different_and_missing_settings_are_shown():
    assert settings_differences({"a": 1, "b": [1, 2]}, {"b": (1, 2), "a": 1}) == ("", "")
    assert settings_differences({"a": 1, "b": 2}, {"a": 1, "c": 3}) == ("b 2, no c", "no b, c 3")
