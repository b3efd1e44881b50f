"""Names of termwise that the scripts in experiments/ and benchmarks/ use exist."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for folder in ("experiments", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def used_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted path of each import and attribute of termwise."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "termwise" and all(part.isidentifier() for part in parts):
                yield node.lineno, name


def resolves(name: str) -> bool:
    """Return whether a dotted path leads from termwise to a module or to a name in one."""
    value = importlib.import_module("termwise")
    for part in name.split(".")[1:]:
        if not hasattr(value, part):
            try:
                importlib.import_module(f"{value.__name__}.{part}")
            except ModuleNotFoundError:
                return False
        value = getattr(value, part)
        if not hasattr(value, "__spec__"):
            return True
    return True


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_termwise_exist(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    missing = [f"line {line}: {name}" for line, name in used_names(tree) if not resolves(name)]
    assert not missing


@pytest.mark.parametrize("name", ["termwise.nowhere", "termwise.fusion.no_such_name"])
def test_missing_names_are_reported(name):
    assert not resolves(name)
