"""Reader of the documentation of imported modules: built-ins, extensions in C, and modules created at import.

Nothing in the imported modules is called.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodType, ModuleType
from typing import Any

from termwise.collection.python_source import Entry, is_public


@dataclass(frozen=True)
class ImportedDocumentation:
    """Documentation of imported modules.

    Attributes
    ----------
    entries : tuple of Entry
        Distinct names. An object with two names in a module (``bisect.bisect`` and ``bisect.bisect_right``) has two
        entries.
    homes : frozenset of str
        Full names of definitions that differ from the public names (``"collections.abc"`` exports definitions of
        ``"_collections_abc"``).
    modules : frozenset of str
        Imported modules.
    """

    entries: tuple[Entry, ...]
    homes: frozenset[str]
    modules: frozenset[str]

    @classmethod
    def read(cls, modules: Iterable[str], *, hidden: Collection[str] = ()) -> ImportedDocumentation:
        """Import `modules` and read them in this order.

        Parameters
        ----------
        modules : iterable of str
            Names of modules that are safe to import; missing ones are skipped.
        hidden : collection of str
            Modules that implement public ones, such as ``posixpath``.
        """
        reader = _Reader(frozenset(hidden))
        imported = set()
        for name in modules:
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            imported.add(name)
            reader.module(name, module)
        return cls(tuple(reader.entries), frozenset(reader.homes), frozenset(imported))


@dataclass
class _Reader:
    hidden: frozenset[str]
    entries: list[Entry] = field(default_factory=list)
    homes: set[str] = field(default_factory=set)

    def module(self, name: str, module: ModuleType) -> None:
        self.entries.append(Entry(name, name, None, _doc(module)))
        exports = frozenset(getattr(module, "__all__", ()))
        for attribute in sorted(filter(is_public, vars(module))):
            value = _unhooked(module, attribute)
            if not self._belongs(value, name, attribute, exports):
                continue
            home = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', attribute)}"
            if home != f"{name}.{attribute}":
                self.homes.add(home)
            if isinstance(value, type):
                self.entries.extend(_class(value, name, f"{name}.{attribute}"))
            else:
                signature = _signature(value, bound=False)
                self.entries.append(Entry(name, f"{name}.{attribute}", signature, _doc(value)))

    def _belongs(self, value: object, module: str, attribute: str, exports: frozenset[str]) -> bool:
        """Return whether `value` is part of a module, and not only imported for use in it."""
        if not isinstance(value, type) and not inspect.isroutine(value):
            return False
        if isinstance(value, MethodType):
            return True  # random.choice is a method of a hidden instance
        home = getattr(value, "__module__", None)
        if home is None or home == module or home.startswith(f"{module}.") or home in self.hidden:
            return True
        if module == "builtins":
            return isinstance(value, BuiltinFunctionType)  # open belongs to io
        if not is_public(home):
            return attribute in exports or home == f"_{module}" or not exports
        # Exported under another name, such as timeit.default_timer or types.FunctionType.
        return attribute in exports and attribute != _name(value)


def _unhooked(module: ModuleType, attribute: str) -> object:
    """Return the original of a hook, such as ``sys.excepthook``, which programs can replace."""
    value = vars(module)[attribute]
    return vars(module).get(f"__{attribute}__", value) if attribute.endswith("hook") else value


def _name(value: object) -> str:
    return str(getattr(value, "__name__", ""))


def _class(cls: type, module: str, public: str) -> Iterator[Entry]:
    yield Entry(module, public, _constructor(cls), _doc(cls))
    for name, (owner, value) in sorted(_members(cls, module).items()):
        full = f"{public}.{name}"
        if isinstance(value, type):
            if value.__qualname__ == f"{owner.__qualname__}.{name}":
                yield from _class(value, module, full)
            continue
        if isinstance(value, property | cached_property) or inspect.isdatadescriptor(value):
            yield Entry(module, full, None, _doc(value))
        elif isinstance(value, staticmethod):
            yield Entry(module, full, _signature(value.__func__, bound=False), _doc(value.__func__))
        elif isinstance(value, classmethod):
            yield Entry(module, full, _signature(value.__func__, bound=True), _doc(value.__func__))
        elif isinstance(value, ClassMethodDescriptorType):
            yield Entry(module, full, _signature(getattr(cls, name), bound=False), _doc(value))
        elif inspect.isroutine(value):
            yield Entry(module, full, _signature(value, bound=True), _doc(value))


def _is_private(base: type, module: str) -> bool:
    if base.__name__.startswith("_"):
        return True
    return not is_public(base.__module__) and vars(sys.modules[module]).get(base.__name__) is not base


def _members(cls: type, module: str) -> dict[str, tuple[type, Any]]:
    """Return the public members of a class, with those from private bases."""
    members: dict[str, tuple[type, Any]] = {}
    constants = getattr(cls, "__members__", {}) if issubclass(cls, enum.Enum) else {}
    for owner in cls.__mro__:
        if owner is cls or _is_private(owner, module):
            for name, value in vars(owner).items():
                if is_public(name) and name not in constants:
                    members.setdefault(name, (owner, value))
    return members


def _doc(value: object) -> str:
    text = vars(value).get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def _constructor(cls: type) -> str | None:
    if issubclass(cls, enum.Enum):
        return None
    if cls.__init__ is object.__init__ and cls.__new__ is object.__new__:
        return None
    return _signature(cls, bound=False)


def _signature(value: Any, *, bound: bool) -> str | None:
    """Write the parameters without annotations, and without ``self`` if `bound`."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (ValueError, TypeError, AttributeError, NameError):
        return None  # there is none, or its defaults are unknown names
    if bound:
        parameters = parameters[1:]
    parts: list[str] = []
    kinds = [parameter.kind for parameter in parameters]
    for number, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.KEYWORD_ONLY not in kinds[:number]:
            parts.extend([] if parameter.VAR_POSITIONAL in kinds else ["*"])
        parts.append(_parameter(parameter))
        last = number + 1 == len(parameters) or kinds[number + 1] is not parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.POSITIONAL_ONLY and last:
            parts.append("/")
    return f"({', '.join(parts)})"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
    return f"{stars}{parameter.name}{default}"


def _default(value: object) -> str:
    """Write a default value in a form that is equal in all runs."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        inner = ", ".join(_default(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return _name(value) or "..."
