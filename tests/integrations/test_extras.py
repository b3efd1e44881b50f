"""Adapters without their frameworks."""

from __future__ import annotations

import sys

import pytest

from termwise.errors import MissingExtraError


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(monkeypatch, module, package, extra):
    for name in list(sys.modules):
        if f"{name}.".startswith(f"{package}.") or name == f"termwise.integrations.{module}":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=extra) as caught:
        __import__(f"termwise.integrations.{module}")
    assert caught.value.fixes == (f"pip install 'termwise[{extra}]'",)
