"""Fixes of errors as values, and their texts in the sources."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import termwise
from termwise.errors import ParameterError
from termwise.fixes import NAMES, Call, Code, Fix


def test_python_shows_a_fix_as_code() -> None:
    assert str(Fix.use(fields=NAMES)) == "use `fields=(NAME, NAME)`"
    assert str(Fix.settings(precision="float32", least=1e-7)) == (
        "use `settings.precision='float32', settings.least=1e-07`"
    )
    schema = Call.of("Schema.read", Code("FILE"))
    assert str(Fix.call("build_index", attributes=schema)) == "`build_index(attributes=Schema.read(FILE))`"
    assert str(Fix.call("termwise.open", Path("a b.tw"))) == "`termwise.open('a b.tw')`"
    assert (
        str(Fix.python("matrix.sum_duplicates()", "call {} first")) == "call `matrix.sum_duplicates()` first"
    )
    assert str(Fix.sentence("remove {}, then {}", "a{}b", Fix.use(resume=True))) == (
        "remove a{}b, then `resume=True`"
    )


def test_an_error_with_fixes_passes_between_processes() -> None:
    fixes = ("check the path", Fix.use(k=10), Fix.call("build_index", Code("COLLECTION"), model="tilde"))
    again = pickle.loads(pickle.dumps(ParameterError("no", fixes=fixes)))
    assert again.fixes == fixes
    assert str(again) == str(ParameterError("no", fixes=fixes))


SOURCES = Path(termwise.__file__).parent


def texts_of_fixes() -> Iterator[tuple[str, str]]:
    """Yield each string of a fix outside of the command line, with its file."""
    for path in SOURCES.rglob("*.py"):
        if "cli" in path.relative_to(SOURCES).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found: list[ast.AST] = []
            if isinstance(node, ast.keyword) and node.arg in ("fix", "fixes", "repairs"):
                found = [node.value]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("Fix."):
                found = [*node.args]
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if "fix" in ast.unparse(target).lower():
                    found = [node.value]
            for each in (part for one in found for part in ast.walk(one)):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield f"{path.relative_to(SOURCES)}:{each.lineno}", each.value


def test_no_text_of_a_fix_has_code_or_options():
    texts = list(texts_of_fixes())
    assert len(texts) > 500
    words = re.compile(r"`|(?<!install )--[a-z]|\btermwise (index|search|serve|train|rerank)\b")
    allowed = ("gunzip", "pip install", "gzip")
    assert [one for one in texts if words.search(one[1]) and not one[1].startswith(allowed)] == []
