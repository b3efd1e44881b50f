"""The import contract: layers import downwards only, and models and index never see each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import termwise

ROOT = Path(termwise.__file__).parent

GROUND = {"legible", "errors", "records", "arguments", "progress"}
"""What every layer with public functions may import."""

ALLOWED: dict[str, set[str]] = {
    "legible": set(),
    "errors": {"legible"},
    "records": {"legible", "errors"},
    "arguments": {"legible", "errors", "records"},
    "exclusion": {"errors", "records"},
    "progress": set(),
    "sealed_json": {"legible"},
    "regular_files": {"sealed_json"},
    "staged_folder": {"errors"},
    "folder_kinds": {"errors"},
    "model_folders": {"legible", "errors", "folder_kinds", "sealed_json", "regular_files", "text"},
    "processes": {"errors"},
    "typed_settings": {"errors", "legible"},
    "pages": {"legible"},
    "scoring": {"legible", "errors", "records", "arguments"},
    "weights": GROUND,
    "kernels": set(),
    "text": GROUND | {"weights"},
    "collection": GROUND | {"weights", "text"},
    "models": GROUND | {"weights", "text", "collection", "kernels", "translation"},
    "index": GROUND | {"sealed_json", "folder_kinds", "weights", "text", "kernels"},
    "encode": GROUND
    | {
        "sealed_json",
        "regular_files",
        "model_folders",
        "weights",
        "text",
        "collection",
        "kernels",
        "models",
    },
    "translation": GROUND
    | {
        "sealed_json",
        "regular_files",
        "staged_folder",
        "model_folders",
        "processes",
        "typed_settings",
        "weights",
        "text",
        "collection",
        "kernels",
    },
    "search": GROUND
    | {
        "exclusion",
        "typed_settings",
        "pages",
        "weights",
        "text",
        "kernels",
        "index",
        "models",
        "translation",
    },
    "evaluate": GROUND | {"exclusion", "pages"},
    "scorers": GROUND
    | {
        "sealed_json",
        "staged_folder",
        "typed_settings",
        "scoring",
        "folder_kinds",
        "model_folders",
        "weights",
        "text",
        "collection",
        "kernels",
        "models",
        "encode",
        "index",
        "search",
        "translation",
        "build",
        "rerank",
    },
    "probes": GROUND
    | {
        "scoring",
        "scorers",
        "build",
        "text",
        "collection",
        "evaluate",
        "pages",
        "regular_files",
        "sealed_json",
    },
    "fusion": GROUND
    | {"sealed_json", "pages", "weights", "text", "collection", "kernels", "index", "search", "evaluate"},
    "build": GROUND
    | {
        "processes",
        "weights",
        "text",
        "collection",
        "kernels",
        "models",
        "encode",
        "index",
        "search",
        "translation",
    },
    "train": GROUND
    | {
        "staged_folder",
        "model_folders",
        "typed_settings",
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
    "neural_model1": GROUND
    | {"model_folders", "typed_settings", "text", "collection", "kernels", "translation", "train"},
    "rerank": GROUND
    | {
        "folder_kinds",
        "sealed_json",
        "staged_folder",
        "model_folders",
        "typed_settings",
        "scoring",
        "text",
        "collection",
        "kernels",
        "encode",
        "index",
        "search",
        "train",
        "neural_model1",
    },
}
QUERY_SIDE = {
    "termwise.models.query",
    "termwise.models.contract",
    "termwise.models.attachments",
    "termwise.models.rarity",
}
HEAVY = {
    "torch": {"train", "neural_model1", "rerank"},
    "transformers": {"train", "rerank"},
    "safetensors": {"train", "neural_model1", "rerank"},
    "sentence_transformers": {"train", "rerank"},
    "accelerate": {"train", "rerank"},
    "onnx": {"train"},
    "onnxruntime": {"encode"},
    "spacy": {"text"},
    "simplemma": {"text"},
    "ot": {"scorers"},
    "lightgbm": {"scorers"},
}
"""Network libraries and other large ones, and the layers that may import each."""

ON_REQUEST = {
    "neural_model1": {"cli/train_neural_model1.py", "rerank/bert_model1.py"},
    "rerank": {"cli/rerank.py", "cli/train_bert_model1.py", "scorers/opening.py"},
}
"""Layers that nothing may import but these files, inside a function where the file is not of such a layer itself: see
the notice in NOTICE."""


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


def test_each_large_library_has_its_layers():
    for owner, path in modules():
        for name in imported(path):
            assert owner in HEAVY.get(name.split(".")[0], {owner}), f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("layer", sorted(ON_REQUEST))
def test_layers_that_only_their_verbs_import(layer):
    def is_of_it(name):
        return f"{name}.".startswith(f"termwise.{layer}.")

    importing = [
        (owner, path) for owner, path in modules() if owner != layer and any(map(is_of_it, imported(path)))
    ]
    assert {path.relative_to(ROOT).as_posix() for _, path in importing} == ON_REQUEST[layer]
    others = [path for owner, path in importing if owner not in ON_REQUEST]
    assert not any(is_of_it(name) for path in others for name in imported_at_the_top(path))


@pytest.mark.parametrize("library", ["onnxruntime", "spacy", "simplemma", "ot", "lightgbm"])
def test_it_is_imported_inside_functions_only(library):
    for _, path in modules():
        assert library not in {name.split(".")[0] for name in imported_at_the_top(path)}, path


def test_the_contract_can_fail(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text("def f():\n    from termwise.models.bm25 import BM25\n")
    assert list(imported(file)) == ["termwise.models.bm25"]
