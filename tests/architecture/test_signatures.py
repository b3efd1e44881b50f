"""No function has more than ten parameters, except in the command line and in kernels."""

from __future__ import annotations

import ast
from pathlib import Path

import termwise

ROOT = Path(termwise.__file__).parent

MOST_PARAMETERS = 10

WITHOUT_LIMIT = ("cli", "kernels")
"""Commands have one parameter for each option, and compiled functions take arrays one by one."""


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of all parameters but the first one of a method."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def test_no_function_has_more_than_ten_parameters():
    found = [
        f"{path.relative_to(ROOT)}: {node.name} has {len(parameters(node))} parameters"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in WITHOUT_LIMIT
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(parameters(node)) > MOST_PARAMETERS
    ]
    assert not found
