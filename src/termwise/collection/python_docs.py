"""``python:stdlib``: the documentation of Python's standard library as a collection.

Each module, class, function, method and property is a document. The identifier is the public qualified name
(``heapq.merge``, ``collections.Counter.most_common``, ``builtins.str.split``); the text is this name with the
signature, and the docstring.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from termwise.collection.python_runtime import ImportedDocumentation
from termwise.collection.python_source import Entry, SourceLibrary, find_modules
from termwise.records import Document

# fmt: off
IMPORTED = (
    "builtins", "array", "ast", "atexit", "binascii", "bisect", "bz2", "calendar", "cmath", "codecs",
    "collections", "collections.abc", "contextvars", "csv", "ctypes", "datetime", "decimal", "errno",
    "faulthandler", "fcntl", "functools", "gc", "getpass", "grp", "hashlib", "heapq", "hmac", "io",
    "itertools", "json", "keyword", "locale", "lzma", "marshal", "math", "mmap", "multiprocessing",
    "operator", "os", "os.path", "pathlib", "pickle", "pwd", "queue", "random", "re", "resource", "secrets",
    "select", "selectors", "signal", "socket", "sqlite3", "ssl", "stat", "statistics", "string", "struct",
    "sys", "syslog", "tarfile", "termios", "threading", "time", "timeit", "tracemalloc", "types",
    "unicodedata", "weakref", "xml.parsers.expat", "zlib", "zoneinfo",
)
"""Modules whose contents cannot be read from their source. They are imported, which only changes `sys.modules`."""

SKIPPED = frozenset({
    "antigravity", "encodings", "genericpath", "idlelib", "lib2to3", "nturl2path", "ntpath", "posixpath",
    "pydoc_data", "sre_compile", "sre_constants", "sre_parse", "this", "turtledemo",
})
"""Modules that are not read: jokes, applications, tables, and implementations of ``os.path`` and ``re``."""
# fmt: on

IMPLEMENTATIONS = frozenset({"posix", "nt", "posixpath", "ntpath", "genericpath", "pyexpat"})
"""Modules with public names whose contents are documented under other names."""

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


@cache
def standard_library() -> tuple[Document, ...]:
    """Read the documentation of the standard library of the running Python.

    Returns
    -------
    tuple of Document
        Sorted by module, then by name, with distinct identifiers; equal in all processes of one Python.
    """
    imported = ImportedDocumentation.read(IMPORTED, hidden=IMPLEMENTATIONS)
    root = Path(sysconfig.get_path("stdlib"))
    files = find_modules(root, sorted(sys.stdlib_module_names), skip=SKIPPED)
    sources = {name: path for name, path in files.items() if name not in imported.modules}
    library = SourceLibrary.read(sources, elsewhere=imported.homes)
    entries: dict[str, Entry] = {}
    for entry in (*imported.entries, *library.entries()):
        entries.setdefault(entry.name, entry)
    ordered = sorted(entries.values(), key=lambda entry: (entry.module, entry.name))
    return tuple(Document(entry.name, _text(entry)) for entry in ordered)


def _text(entry: Entry) -> str:
    head = f"{entry.name}{entry.signature or ''}"
    text = f"{head}\n{entry.docstring}" if entry.docstring else head
    return ADDRESS.sub("", text)


@dataclass(frozen=True)
class PythonDocumentation:
    """Documentation of the standard library of the running Python.

    Built-in modules and extensions are imported, from a list of safe ones. Other modules are read as source and never
    executed. Private modules, tests and modules with side effects are not read. The collection is read once per process
    (a few MB).

    Attributes
    ----------
    name : str
        ``"python:stdlib"``.

    Examples
    --------
    >>> texts = {document.doc_id: document.text for document in PythonDocumentation().documents()}
    >>> print(texts["heapq.merge"].splitlines()[0])
    heapq.merge(*iterables, key=None, reverse=False)
    """

    name: str = "python:stdlib"

    @property
    def length(self) -> int:
        """Number of documents; the first call takes a few seconds."""
        return len(standard_library())

    def documents(self) -> Iterator[Document]:
        """Yield the documents, sorted by module, then by name."""
        yield from standard_library()
