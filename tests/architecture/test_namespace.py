"""One sorted public namespace, every name of which can be loaded."""

from __future__ import annotations

import termwise


def test_public_names_are_sorted_and_load():
    assert termwise.__all__ == sorted(termwise.__all__)
    for name in termwise.__all__:
        value = getattr(termwise, name)
        assert value.__doc__, name
        assert name in dir(termwise)


def test_unknown_names_are_refused():
    assert not hasattr(termwise, "no_such_name")
