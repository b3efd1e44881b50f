"""The import contract: layers import downwards only, and models and index never see each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import termwise

ROOT = Path(termwise.__file__).parent

GROUND = {"errors", "records", "arguments"}
"""What every layer with public functions may import."""

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "records": {"errors"},
    "arguments": {"errors", "records"},
    "sealed_json": set(),
    "regular_files": {"sealed_json"},
    "staged_folder": {"errors"},
    "scoring": {"records"},
    "weights": GROUND,
    "kernels": set(),
    "text": GROUND | {"weights"},
    "collection": GROUND | {"weights", "text"},
    "models": GROUND | {"weights", "text", "collection", "kernels", "translation"},
    "index": GROUND | {"sealed_json", "weights", "text", "kernels"},
    "encode": GROUND | {"sealed_json", "regular_files", "weights", "text", "collection", "kernels", "models"},
    "translation": GROUND
    | {"sealed_json", "regular_files", "staged_folder", "weights", "text", "collection", "kernels"},
    "search": GROUND | {"weights", "text", "kernels", "index", "models", "translation"},
    "evaluate": GROUND,
    "fusion": GROUND | {"sealed_json", "collection", "kernels", "index", "search", "evaluate"},
    "build": GROUND
    | {"weights", "text", "collection", "kernels", "models", "encode", "index", "search", "translation"},
    "train": GROUND
    | {
        "staged_folder",
        "weights",
        "text",
        "collection",
        "kernels",
        "models",
        "encode",
        "index",
        "search",
        "build",
        "evaluate",
    },
}
QUERY_SIDE = {"termwise.models.query", "termwise.models.contract", "termwise.models.attachments"}
HEAVY = {
    "torch": "train",
    "transformers": "train",
    "safetensors": "train",
    "sentence_transformers": "train",
    "accelerate": "train",
    "onnx": "train",
    "onnxruntime": "encode",
}
"""Network libraries, and the one layer that may import each."""


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


def imported_at_the_top(path: Path) -> Iterator[str]:
    """Yield what is imported when the file is, not counting what only type checkers read."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


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


def test_each_network_library_has_one_layer():
    for owner, path in modules():
        for name in imported(path):
            home = HEAVY.get(name.split(".")[0])
            assert home in (None, owner), f"{path.relative_to(ROOT)} imports {name}"


def test_onnxruntime_is_imported_inside_functions_only():
    for _, path in modules():
        assert "onnxruntime" not in {name.split(".")[0] for name in imported_at_the_top(path)}, path


def test_the_contract_can_fail(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text("def f():\n    from termwise.models.bm25 import BM25\n")
    assert list(imported(file)) == ["termwise.models.bm25"]
