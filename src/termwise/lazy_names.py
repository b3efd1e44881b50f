"""Public names of packages whose modules are imported when a name is first used, so that programs start fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping of str to str
        Names by the module of the package that defines them, separated by spaces.

    Examples
    --------
    >>> get, names = lazy_names("termwise.text", {"vocabulary": "BACKGROUND Vocabulary"})
    >>> get("Vocabulary").__name__, names()
    ('Vocabulary', ['BACKGROUND', 'Vocabulary'])
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes)
