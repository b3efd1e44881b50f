"""The decorator `dataclass` of the standard library, which makes frozen classes in a third of the time.

A cold search imports some ninety frozen classes. The standard library compiles five methods for each of them, in .7 ms;
here, only ``__init__`` is compiled, and the other methods are shared. `InitVar`, ``field(hash=...)``, own ``__slots__``
and an own ``__setattr__`` are not known: for these, and outside of termwise, there is the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    from dataclasses import dataclass as standard

    def dataclass(cls: Any = None, /, *, frozen: bool = False, **options: bool) -> Any:
        """Make a data class; see `dataclasses.dataclass`."""

        def make(cls: type) -> type:
            if not frozen or not options.keys() <= {"eq", "repr", "kw_only"}:
                return standard(cls, frozen=frozen, **options)
            eq = options.pop("eq", True)
            bases = [base.__dict__.get("__dataclass_params__") for base in cls.__mro__[1:]]
            with _open([params for params in bases if params is not None and params.frozen]):
                made = standard(cls, init=False, eq=False, **options | {"repr": False})
            made.__dataclass_params__.frozen = True
            methods = {
                "__init__": _init_of(made),
                "__setattr__": _refuse_setting,
                "__delattr__": _refuse_deleting,
            }
            if options.get("repr", True):
                methods["__repr__"] = _repr
            if eq:
                methods |= {"__eq__": _eq, "__hash__": _hash}
            for name, method in methods.items():
                if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                    setattr(made, name, method)
            return made

        return make if cls is None else make(cls)


@contextmanager
def _open(bases: list[Any]) -> Iterator[None]:
    """Mark base classes as not frozen in the block: else `standard` refuses a class that it does not freeze."""
    for params in bases:
        params.frozen = False
    try:
        yield
    finally:
        for params in bases:
            params.frozen = True


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
"""Default of the parameters of fields with a `default_factory`."""


def _init_of(cls: type) -> Callable[..., None]:
    """Return ``__init__`` of a class: it writes to ``__dict__``, because `_refuse_setting` refuses other ways."""
    names: dict[str, Any] = {"_FACTORY": _FACTORY}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = ["_of_self = self.__dict__"]
    annotations: dict[str, Any] = {}
    for each in fields(cls):
        name, value = each.name, each.name
        if each.default_factory is not MISSING:
            names[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _FACTORY else {name}" if each.init else f"_make_{name}()"
        if each.init:
            annotations[name] = each.type
            default = ""
            if each.default_factory is not MISSING:
                default = " = _FACTORY"
            elif each.default is not MISSING:
                names[f"_default_{name}"] = each.default
                default = f" = _default_{name}"
            parameters[bool(each.kw_only)].append(f"{name}{default}")
        if each.init or each.default_factory is not MISSING:
            lines.append(f"_of_self[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    given = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    exec(f"def __init__({', '.join(given)}):\n    " + "\n    ".join(lines), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = {**annotations, "return": None}
    return made


@cache
def _compared(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that are compared."""
    return tuple(each.name for each in fields(cls) if each.compare)


def _values(record: Any) -> tuple[Any, ...]:
    return tuple([getattr(record, name) for name in _compared(record.__class__)])


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self is other or _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_setting(self: Any, name: str, value: object) -> None:
    if _is_frozen(self.__class__, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deleting(self: Any, name: str) -> None:
    if _is_frozen(self.__class__, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(cls: type, name: str) -> bool:
    """Return whether an attribute cannot be changed: all of a data class, the fields in other classes that inherit."""
    return "__dataclass_fields__" in cls.__dict__ or name in {each.name for each in fields(cls)}
