"""Fixtures that several parts of the suite share."""

from __future__ import annotations

import gc
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings
from tests.shared_exports import SharedExports

from termwise.compilation import warm
from termwise.index import segment_writer
from termwise.index.document_order import LEAF
from termwise.kernels.jit import compiled_names
from termwise.storage.atomic_file import locked_folder

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is imported

# Examples can be slow on shared machines, which is not a failure; failures must be reproducible.
settings.register_profile("termwise", deadline=None, derandomize=True)
settings.load_profile("termwise")


gc.disable()  # until all tests are collected


@pytest.fixture
def no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let indexes that are built keep no counts of their terms, as those of earlier versions."""
    monkeypatch.setattr("termwise.indexing.count_rows._occurrences", lambda counts, rows: None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave the modules and tests out of later garbage collections, which would take a second each."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile all kernels before the first test, and check at the end that no test has compiled another one."""
    with locked_folder(tmp_path_factory.getbasetemp().parent):  # of the processes of one run, one compiles
        warm()
    yield
    assert [name for name in compiled_names if "<locals>" not in name] == []


@pytest.fixture(scope="session", autouse=True)
def small_segments_are_ordered() -> Iterator[None]:
    """Order the documents of small segments too, so that the tests see segments in another order than the input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_writer, "UNORDERED", LEAF)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_flushes() -> Iterator[None]:
    """Do not flush files to the disk: it matters for power failures only, and takes most of the time of many tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_exports() -> Iterator[None]:
    """Let networks of one architecture share an export, if torch is loaded."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.onnx, "export", SharedExports(torch.onnx.export))
        yield


@pytest.fixture(autouse=True)
def no_note_on_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suppress the note about the compilation of kernels, because it depends on what earlier tests compiled."""
    monkeypatch.setattr("termwise.cli.main.note_compiling", lambda: None)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Undo what a service that a test starts in this process changes in the loggers of all services."""
    service, requests = map(logging.getLogger, ("termwise.serve", "termwise.serve.requests"))
    handlers, propagate, levels = service.handlers, service.propagate, (service.level, requests.level)
    yield
    service.handlers, service.propagate = handlers, propagate
    service.setLevel(levels[0])
    requests.setLevel(levels[1])


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def skip_with_warning(message: str) -> NoReturn:
    """Skip a test, or a module that is being imported, and say so in the summary of the suite."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"skipped: {message}", stacklevel=2)
    pytest.skip(message, allow_module_level=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of judged collections beside the repository; skip with a warning without one."""
    if not SHARED.is_dir():
        skip_with_warning(f"the judged collections are not at {SHARED}")
    return SHARED
