"""``python:stdlib``: the shipped collection, documentation of Python's standard library with judged questions.

Each module, class, function, method and property is a document. The identifier is the qualified name
(``heapq.merge``, ``builtins.str.split``); the text is this name with the signature, and the docstring. The texts are
those of one version of Python, whichever runs. The folder has the layout of BEIR, and its README describes it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

PYTHON = "python:stdlib"
"""Name of the collection."""

PYTHON_VERSION = "3.11.7"
"""Version of CPython whose documentation this is."""


def python_folder() -> Path:
    """Return the folder of the documents, questions, judgments and rows."""
    return Path(str(resources.files("termwise"))) / "assets" / "python_docs"
