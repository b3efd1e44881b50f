"""The import contract: layers import downwards only, and models and index never see each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import termwise

ROOT = Path(termwise.__file__).parent

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "records": {"errors"},
    "scoring": {"records"},
    "weights": {"errors", "records"},
    "kernels": set(),
    "text": {"errors", "records", "weights"},
    "collection": {"errors", "records", "weights", "text"},
    "models": {"errors", "records", "weights", "text", "collection", "kernels"},
    "index": {"errors", "records", "weights", "text", "kernels"},
    "search": {"errors", "records", "weights", "text", "kernels", "index", "models"},
    "evaluate": {"errors", "records"},
    "build": {"errors", "records", "weights", "text", "collection", "kernels", "models", "index", "search"},
}
QUERY_SIDE = {"termwise.models.query", "termwise.models.contract"}
HEAVY = {"torch", "transformers", "onnxruntime", "sentence_transformers"}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield parts[0], path


def imported(path: Path) -> Iterator[str]:
    """Yield every module a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module


def test_every_layer_has_a_rule():
    assert {layer for layer, _ in modules()} - {"__init__", "__main__", "cli"} == set(ALLOWED)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_layers_import_downwards(layer):
    for owner, path in modules():
        if owner != layer:
            continue
        for name in imported(path):
            parts = name.split(".")
            if parts[0] != "termwise" or len(parts) == 1 or parts[1] == layer:
                continue
            assert parts[1] in ALLOWED[layer], f"{path.relative_to(ROOT)} imports {name}"


def test_search_sees_the_query_side_of_models_only():
    for owner, path in modules():
        if owner == "search":
            seen = {name for name in imported(path) if name.startswith("termwise.models")}
            assert seen <= QUERY_SIDE, path


def test_no_layer_imports_a_network_library():
    for _, path in modules():
        assert not {name.split(".")[0] for name in imported(path)} & HEAVY, path


def test_the_contract_can_fail(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text("def f():\n    from termwise.models.bm25 import BM25\n")
    assert list(imported(file)) == ["termwise.models.bm25"]
