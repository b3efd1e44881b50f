"""Search folders of the documentation of Python and of small collections, and their search under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import termwise
from termwise.collection.openers import open_collection
from termwise.collection.python_docs import PYTHON, python_folder
from termwise.export import export_index

NODE = shutil.which("node")
URL = "https://docs.python.org/3/#{doc_id}"

PAGES = [
    termwise.Document(
        "guide/merge.html",
        "Merging lists\nMerge two sorted lists into one sorted list.",
        {"section": "guide", "year": 2021, "tags": ("lists", "sorting"), "day": "2021-03-01"},
    ),
    termwise.Document(
        "guide/heap.html",
        "Heaps\nA heap keeps the smallest item first. Lists are sorted with a heap as well.",
        {"section": "guide", "year": 2023, "tags": ("sorting",), "day": "2023-12-31"},
    ),
    termwise.Document(
        "api/merge.html?a=1&b=2",
        "merge(a, b)\nReturn the merged items of two lists, <b>lazily</b>.",
        {"section": "api", "year": 2024, "day": "2024-02-29"},
    ),
    termwise.Document(
        "api/xss.html",
        '<img src=x onerror="window.broken=1">\n<script>window.broken=1</script> merge & <i>lists</i>',
        {"section": "api <b>&", "tags": ("<script>window.broken=1</script>",)},
    ),
    termwise.Document("empty/", "", {"year": 2020}),
    termwise.Document(
        "ümläut/日本.html", "Überblick 日本語\nSortierte Listen zusammenführen 🎉 lists", {"year": 2022}
    ),
]
"""Pages of a site, some with odd identifiers and with markup in their texts."""


def first_documents(count: int) -> list[termwise.Document]:
    """Return the first documents of the documentation of Python."""
    return list(islice(open_collection(PYTHON).documents(), count))


def questions(count: int) -> list[str]:
    lines = (python_folder() / "queries.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines[:count]]


def exported(index: Path, out: Path, **settings: str) -> Path:
    """Export an index into a folder that Node reads as modules."""
    export_index(index, "web", out, settings=settings)
    (out.parent / "package.json").write_text('{"type": "module"}')
    return out


Answer = Callable[[Path, Sequence[Mapping[str, Any]]], list[Any]]


@pytest.fixture(scope="session")
def ask() -> Answer:
    """Return a function that searches in a folder with Node."""
    if NODE is None:
        pytest.skip("THE SEARCH OF STATIC SITES IS NOT TESTED: Node.js is not installed")

    def answers(folder: Path, queries: Sequence[Mapping[str, Any]]) -> list[Any]:
        script = Path(__file__).with_name("run_search.mjs")
        request = json.dumps({"folder": str(folder), "queries": list(queries)})
        done = subprocess.run([NODE, str(script)], input=request, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found: list[Any] = json.loads(done.stdout)
        return found

    return answers
