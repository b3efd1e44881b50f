"""The import contract of `tests.architecture.layers`, checked file by file."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.architecture.layers import (
    INSIDE_FUNCTIONS,
    LAYERS,
    LIBRARIES,
    ON_REQUEST,
    PROBES_WITHOUT_RANKERS,
    QUERY_SIDE,
)

import termwise

ROOT = Path(termwise.__file__).parent

ROW = {layer: row for row, layers in enumerate(LAYERS) for layer in layers}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def nodes(tree: ast.AST, *, types: bool, functions: bool) -> Iterator[ast.AST]:
    """Yield all nodes, with or without those for type checkers only and those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node) and not types:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not functions:
            continue
        yield node
        yield from nodes(node, types=types, functions=functions)


def imported(path: Path, *, types: bool = True, functions: bool = True) -> Iterator[str]:
    """Yield every module that a file imports, including modules imported as names of a package."""
    for node in nodes(ast.parse(path.read_text()), types=types, functions=functions):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


def is_of(package: str, module: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def test_every_layer_has_a_row():
    found = {layer_of(module) for module in MODULES if module.count(".")}
    assert found - {"__main__"} == set(ROW)


@pytest.mark.parametrize("layer", sorted(ROW))
def test_files_import_downwards(layer):
    for module, path in MODULES.items():
        if not is_of(f"termwise.{layer}", module):
            continue
        for other in imported(path):
            if is_of("termwise", other) and not is_of(f"termwise.{layer}", other):
                assert other != "termwise", f"{module} imports the root"
                assert ROW[layer_of(other)] > ROW[layer], f"{module} imports {other}"


def circles(graph: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the nodes that are in a circle or lead to one, each with those that it imports."""
    left = dict(graph)
    while leaves := {node for node, others in left.items() if not others & left.keys()}:
        for node in leaves:
            del left[node]
    return {node: sorted(others & left.keys()) for node, others in left.items()}


def test_files_do_not_import_in_circles():
    graph = {
        module: {other for other in imported(path, types=False) if other in MODULES} - {module}
        for module, path in MODULES.items()
        if module != "termwise"
    }
    assert not circles(graph)


def test_folders_do_not_import_in_circles():
    graphs: dict[Path, dict[str, set[str]]] = {}
    for module, path in MODULES.items():
        for other in {name for name in imported(path, types=False) if name in MODULES} - {"termwise"}:
            folder = Path(os.path.commonpath([path.parent, MODULES[other].parent]))
            part, other_part = (each.relative_to(folder).parts[0] for each in (path, MODULES[other]))
            if part != other_part and module != "termwise":
                graphs.setdefault(folder, {}).setdefault(part, set()).add(other_part)
    found = {folder.name: circles(graph) for folder, graph in graphs.items()}
    assert not any(found.values()), found


def test_circles_are_found():
    assert circles({"data": {"loop"}, "loop": {"data", "export"}, "export": set()}) == {
        "data": ["loop"],
        "loop": ["data"],
    }


def test_the_query_side_of_models_is_all_that_searching_sees():
    for module, path in MODULES.items():
        if module.startswith(("termwise.engine", "termwise.explain", "termwise.search")):
            seen = {name for name in imported(path) if is_of("termwise.models", name)}
            assert seen <= QUERY_SIDE, module


def test_probes_know_no_ranker():
    for module, path in MODULES.items():
        if any(is_of(f"termwise.probes.{folder}", module) for folder in PROBES_WITHOUT_RANKERS):
            layers = {name: layer_of(name) for name in imported(path) if is_of("termwise", name)}
            scorers = {name for name, layer in layers.items() if layer == "scorers"}
            assert scorers <= {"termwise.scorers.protocol"}, module
            assert not {"rankers", "yardsticks", "indexing"} & set(layers.values()), module


def test_each_large_library_has_its_layers():
    for module, path in MODULES.items():
        for name in imported(path):
            allowed = LIBRARIES.get(name.split(".")[0])
            assert allowed is None or layer_of(module) in allowed, f"{module} imports {name}"


@pytest.mark.parametrize("package", sorted(ON_REQUEST))
def test_packages_that_few_files_import(package):
    importing = {
        path.relative_to(ROOT).as_posix(): path
        for module, path in MODULES.items()
        if not is_of(package, module) and any(is_of(package, name) for name in imported(path))
    }
    assert set(importing) == ON_REQUEST[package]
    for file, path in importing.items():
        if not file.startswith("yardsticks/"):
            assert not any(is_of(package, name) for name in imported(path, types=False, functions=False))


@pytest.mark.parametrize("library", INSIDE_FUNCTIONS)
def test_it_is_imported_inside_functions_only(library):
    for module, path in MODULES.items():
        at_the_top = imported(path, types=False, functions=False)
        assert library not in {name.split(".")[0] for name in at_the_top}, module


def test_the_contract_can_fail(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text("def f():\n    from termwise.models.bm25 import BM25\n")
    assert list(imported(file)) == ["termwise.models.bm25"]
    assert list(imported(file, functions=False)) == []


def test_the_picture_of_the_layers_is_up_to_date():
    script = ROOT.parents[1] / "scripts" / "draw_layers"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0


def test_architecture_names_every_folder():
    text = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert [layer for layer in ROW if not layer.startswith("_") and f"`{layer}" not in text] == []
