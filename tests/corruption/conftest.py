"""Helpers of the tests of damaged indexes: copies to damage, and programs in other processes."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import termwise

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"


@pytest.fixture
def run() -> Callable[..., Any]:
    """Return a function that runs a program of this folder in a new process and returns its JSON output.

    A crash of the interpreter then fails one test only.
    """

    def run(name: str, *arguments: object, timeout: float = 600, **variables: str) -> Any:
        result = subprocess.run(
            [sys.executable, "-X", "faulthandler", HERE / f"{name}.py", *map(str, arguments)],
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert result.returncode == 0, f"exit status {result.returncode}\n{result.stderr[-4000:]}"
        return json.loads(result.stdout)

    return run


def environment(**variables: str) -> dict[str, str]:
    """Return an environment in which a program imports the same package as this process."""
    source = str(Path(termwise.__file__).resolve().parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts a program of this folder in the background."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, HERE / f"{name}.py", *map(str, arguments)],
            env=environment(),
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stdin):
            if stream is not None:
                stream.close()


@pytest.fixture(params=["impacts", "floats", "texts", "vectors", "changes", "counts"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of one of the golden indexes."""
    return copy_of(request.param, tmp_path)


@pytest.fixture
def impacts(tmp_path: Path) -> Path:
    """Return a copy of the golden index of impacts."""
    return copy_of("impacts", tmp_path)


@pytest.fixture
def floats(tmp_path: Path) -> Path:
    """Return a copy of the golden index of real weights."""
    return copy_of("floats", tmp_path)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Return a copy of the golden index with texts."""
    return copy_of("texts", tmp_path)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Return a copy of the golden index with vectors."""
    return copy_of("vectors", tmp_path)


@pytest.fixture
def changes(tmp_path: Path) -> Path:
    """Return a copy of the golden index that was changed after its build."""
    return copy_of("changes", tmp_path)


def copy_of(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / name, folder / name))


@pytest.fixture(scope="session")
def reseal() -> ModuleType:
    """Return the module that changes files and recomputes their checksums."""
    spec = importlib.util.spec_from_file_location("termwise_reseal", HERE / "reseal.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
