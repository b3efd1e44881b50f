import pytest

from termwise.evaluate.formats import format_value, shortlist


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("name", "text", "name"),
        ("a\x1b[2J\nb", "text", "a\ufffd[2J b"),
        (300, "count", "300"),
        (0.43215, "measure", "0.4321"),
        (1.0, "measure", "1.0000"),
        (29820.0, "total", "29820"),
        (0.01234, "difference", "+0.0123"),
        (-0.01234, "difference", "-0.0123"),
        (0.0, "difference", "0.0000"),
        (-0.00004, "difference", "0.0000"),
        (0.0289, "percent", "+2.9%"),
        (-0.0001, "percent", "0.0%"),
        (0.0, "p", "<0.001"),
        (0.000999, "p", "<0.001"),
        (0.001, "p", "0.001"),
        (0.0421, "p", "0.042"),
        (1.0, "p", "1.000"),
        (-2.134, "statistic", "-2.13"),
        (0.35, "ms", "0.350"),
        (None, "measure", "–"),
    ],
)
def test_formats_of_values(value, kind, expected):
    assert format_value(value, kind) == expected


def test_a_short_list():
    assert shortlist([]) == ""
    assert shortlist(["a", "b", "c"]) == "'a', 'b', 'c'"
    assert shortlist(list("abcdef")) == "'a', 'b', 'c' and 3 more"
