"""Unknown names and those that are spelt like them."""

from __future__ import annotations

from termwise.errors import UnknownNameError, near_names

NAMES = ["bm25", "tilde", "tildev2", "Title", "title"]


def test_upper_and_lower_case_do_not_matter() -> None:
    assert near_names("TILDE", NAMES) == ["tilde"]
    assert near_names("TILD", NAMES)[:2] == ["tilde", "tildev2"]
    assert near_names("TITLE", NAMES) == ["Title", "title"]
    assert near_names("BM52", NAMES) == ["bm25"]
    assert near_names("jm", NAMES) == []


def test_the_error_for_an_unknown_name_suggests_the_nearest() -> None:
    assert UnknownNameError.of("model", "Bm25", NAMES).fixes == ("did you mean bm25?",)
    assert UnknownNameError.of("field", "TITLE", NAMES).fixes == ("did you mean Title or title?",)
    assert UnknownNameError.of("model", "jm", NAMES).fixes == ()
