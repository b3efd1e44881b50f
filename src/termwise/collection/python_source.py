"""Reader of the documentation in Python source files, which are not executed.

:mod:`ast` parses each file; the reader keeps names, signatures and docstrings. Definitions have their public names:
``asyncio.gather``, not ``asyncio.tasks.gather``, because the package exports it. Methods that a public class inherits
from a private base (``argparse.ArgumentParser.add_argument``) belong to the public class.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

PROPERTY_DECORATORS = frozenset({"property", "cached_property", "abstractproperty", "DynamicClassAttribute"})
REPETITIONS = frozenset({"setter", "deleter", "overload"})


class Entry(NamedTuple):
    """Documentation of one name.

    Attributes
    ----------
    module : str
        Public module of the name.
    name : str
        Public qualified name, with the module.
    signature : str or None
        Parameters in parentheses, without ``self``; None for modules and properties, and if unknown.
    docstring : str
        Cleaned by `inspect.cleandoc`; can be empty.
    """

    module: str
    name: str
    signature: str | None
    docstring: str


class Member(NamedTuple):
    """Function, method, property or class in a source file.

    Attributes
    ----------
    kind : {"function", "property", "class"}
    signature : str or None
        Signature of functions and methods, without ``self``.
    docstring : str
        Cleaned; can be empty.
    bases : tuple of str
        Base classes of a class, as in the source.
    members : dict of str to Member
        Definitions in a class, by name.
    """

    kind: Literal["function", "property", "class"]
    signature: str | None
    docstring: str
    bases: tuple[str, ...] = ()
    members: Mapping[str, Member] = {}


def is_public(name: str) -> bool:
    """Return whether no part of a dotted name starts with an underscore."""
    return not name.startswith("_") and "._" not in name


def find_modules(root: Path, names: Iterable[str], *, skip: Collection[str]) -> dict[str, Path]:
    """Find the source files of modules, and of all modules in packages.

    Parameters
    ----------
    root : Path
        Folder of the modules.
    names : iterable of str
        Names of top-level modules; those without a source file are skipped.
    skip : collection of str
        Full names of skipped modules and packages. Folders ``test`` and ``tests`` are always skipped.

    Returns
    -------
    dict of str to Path
        Files by full module name, sorted. Private modules are included, because public modules export their contents.
    """
    files: dict[str, Path] = {}
    for name in names:
        if (root / name / "__init__.py").is_file():
            files.update(_inside(root / name, name, skip))
        elif name not in skip and (root / f"{name}.py").is_file():
            files[name] = root / f"{name}.py"
    return dict(sorted(files.items()))


def _inside(folder: Path, package: str, skip: Collection[str]) -> Iterator[tuple[str, Path]]:
    if package in skip or folder.name in {"test", "tests"}:
        return
    yield package, folder / "__init__.py"
    for path in folder.iterdir():
        name = f"{package}.{path.stem}"
        if not path.stem.isidentifier() or path.name == "__init__.py":
            continue
        if path.is_dir() and (path / "__init__.py").is_file():
            yield from _inside(path, name, skip)
        elif path.suffix == ".py" and name not in skip:
            yield name, path


@dataclass(frozen=True)
class ModuleSource:
    """Definitions, imports and exports of a source file.

    Attributes
    ----------
    name : str
        Full module name.
    docstring : str
        Cleaned; can be empty.
    members : dict of str to Member
        Functions and classes at the top level, also in branches of ``if`` and ``try``.
    imports : dict of str to (str, str)
        Module and name of each imported name, by local name.
    stars : tuple of str
        Modules of ``from MODULE import *``.
    exports : list of expressions, or None
        Parts of ``__all__``, not evaluated; None without ``__all__``.
    """

    name: str
    docstring: str
    members: Mapping[str, Member]
    imports: Mapping[str, tuple[str, str]]
    stars: tuple[str, ...]
    exports: tuple[ast.expr, ...] | None

    @classmethod
    def parse(cls, name: str, path: Path) -> ModuleSource:
        """Parse the file at `path` as the module `name`.

        Raises
        ------
        SyntaxError
            If the file is not Python source of the running version.
        """
        tree = ast.parse(path.read_bytes(), filename=str(path))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports: dict[str, tuple[str, str]] = {}
        stars: list[str] = []
        exports: list[ast.expr] | None = None
        for node in _statements(tree.body):
            if isinstance(node, ast.ImportFrom):
                origin = _origin(node, package)
                for alias in node.names:
                    if alias.name == "*":
                        stars.append(origin)
                    else:
                        imports.setdefault(alias.asname or alias.name, (origin, alias.name))
            elif isinstance(node, ast.Assign) and any(_is_all(target) for target in node.targets):
                exports = [node.value]
            elif (added := _added_to_all(node)) is not None:
                exports = [*(exports or []), added]
        docstring = ast.get_docstring(tree) or ""
        members = _members(tree.body, inside_class=False)
        return cls(
            name, docstring, members, imports, tuple(stars), None if exports is None else tuple(exports)
        )


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements in order, also in branches for platforms and versions."""
    for node in body:
        if isinstance(node, ast.If):
            if not _is_main_guard(node.test):
                yield from _statements(node.body)
                yield from _statements(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _statements(node.body)
            for handler in node.handlers:
                yield from _statements(handler.body)
            yield from _statements(node.orelse)
            yield from _statements(node.finalbody)
        elif isinstance(node, ast.With):
            yield from _statements(node.body)
        else:
            yield node


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _origin(node: ast.ImportFrom, package: str) -> str:
    """Return the full module name of an absolute or relative import statement."""
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, node.module] if node.module else kept)


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _added_to_all(node: ast.stmt) -> ast.expr | None:
    """Return the sequence that ``+=``, ``extend`` or ``append`` adds to ``__all__``."""
    if isinstance(node, ast.AugAssign) and _is_all(node.target):
        return node.value
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    call = node.value
    if not isinstance(call.func, ast.Attribute) or not _is_all(call.func.value) or len(call.args) != 1:
        return None
    if call.func.attr == "append":
        return ast.List(elts=call.args, ctx=ast.Load())
    return call.args[0] if call.func.attr == "extend" else None


def _members(body: Iterable[ast.stmt], *, inside_class: bool) -> dict[str, Member]:
    """Collect definitions; of equal names, the first with a docstring, or else the first."""
    members: dict[str, Member] = {}
    for node in _statements(body):
        if isinstance(node, Definition) and (node.name not in members or not members[node.name].docstring):
            member = _member(node, inside_class=inside_class)
            if member is not None and (node.name not in members or member.docstring):
                members[node.name] = member
    return members


def _member(node: Definition, *, inside_class: bool) -> Member | None:
    docstring = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef):
        bases = tuple(ast.unparse(base) for base in node.bases)
        return Member("class", None, docstring, bases, _members(node.body, inside_class=True))
    decorators = {_last_name(decorator) for decorator in node.decorator_list}
    if decorators & REPETITIONS or (node.name.startswith("_") and node.name not in {"__init__", "__new__"}):
        return None
    if decorators & PROPERTY_DECORATORS:
        return Member("property", None, docstring)
    bound = inside_class and "staticmethod" not in decorators
    return Member("function", _signature(node.args, bound=bound), docstring)


def _last_name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def _signature(given: ast.arguments, *, bound: bool) -> str:
    """Write the parameters without annotations, and without ``self`` if `bound`."""
    positional, ordinary = _names(given.posonlyargs), _names(given.args)
    if bound and (positional or ordinary):
        del (positional or ordinary)[0]
    surplus = max(0, len(given.defaults) - len(positional) - len(ordinary))
    arguments = ast.arguments(
        posonlyargs=positional,
        args=ordinary,
        vararg=ast.arg(arg=given.vararg.arg) if given.vararg else None,
        kwonlyargs=_names(given.kwonlyargs),
        kw_defaults=given.kw_defaults,
        kwarg=ast.arg(arg=given.kwarg.arg) if given.kwarg else None,
        defaults=given.defaults[surplus:],
    )
    return f"({ast.unparse(arguments)})"


def _names(arguments: Iterable[ast.arg]) -> list[ast.arg]:
    return [ast.arg(arg=argument.arg) for argument in arguments]


@dataclass(frozen=True)
class SourceLibrary:
    """Modules and the public names of their definitions.

    Parameters
    ----------
    modules : mapping of str to ModuleSource
        By full module name, with private modules.
    elsewhere : collection of str, optional
        Full names (``"json.decoder.JSONDecoder"``) that are documented elsewhere and skipped.
    """

    modules: Mapping[str, ModuleSource]
    elsewhere: Collection[str] = field(default=())

    @classmethod
    def read(cls, files: Mapping[str, Path], *, elsewhere: Collection[str] = ()) -> SourceLibrary:
        """Parse files by full module name; files that cannot be parsed are skipped."""
        modules = {}
        for name, path in files.items():
            with suppress(SyntaxError, ValueError, OSError):
                modules[name] = ModuleSource.parse(name, path)
        return cls(modules, elsewhere)

    def entries(self) -> Iterator[Entry]:
        """Yield the documentation of every public name once, by module."""
        for module in self.modules.values():
            if is_public(module.name):
                yield Entry(module.name, module.name, None, module.docstring)
            for name, member in module.members.items():
                public = self.public_names.get(f"{module.name}.{name}")
                if public is not None and f"{module.name}.{name}" not in self.elsewhere:
                    yield from self._listed(member, module, public.rpartition(".")[0], public)

    def _listed(self, member: Member, module: ModuleSource, owner: str, public: str) -> Iterator[Entry]:
        if member.kind != "class":
            yield Entry(owner, public, member.signature, member.docstring)
            return
        yield Entry(owner, public, self._constructor(member, module), member.docstring)
        for name, inner in self._with_private_bases(member, module).items():
            if is_public(name):
                yield from self._listed(inner, module, owner, f"{public}.{name}")

    @cached_property
    def public_names(self) -> dict[str, str]:
        """Public names of top-level definitions, by the full name of the definition."""
        moved: dict[str, str] = {}
        modules = [name for name in self.modules if is_public(name)]
        for module in sorted(modules, key=lambda name: (name.count("."), name)):
            for name, home in self._shown(module):
                moved.setdefault(home, f"{module}.{name}")
        backstage = {home.rpartition(".")[0] for home in (*moved, *self.elsewhere)}
        names = {}
        for module in modules:
            exports = self.exports(module)
            for name in filter(is_public, self.modules[module].members):
                hidden = module in backstage if exports else exports is not None
                if not hidden or (exports is not None and name in exports):
                    names[f"{module}.{name}"] = f"{module}.{name}"
        taken = set(names.values())
        return names | {home: public for home, public in moved.items() if public not in taken}

    def _shown(self, module: str) -> Iterator[tuple[str, str]]:
        """Yield the names and full names of definitions that a module exports from other modules.

        These are the names in ``__all__``, all names of a star import from a module inside, and, without ``__all__``,
        names from private modules; in each case only if the defining module is private or inside.
        """
        source, exports = self.modules[module], self.exports(module)
        names = dict.fromkeys(exports or ())
        for star in filter(self.modules.__contains__, source.stars):
            if star.startswith(f"{module}.") or (exports is None and not is_public(star)):
                names.update(dict.fromkeys(self.exports(star) or ()))
        if exports is None:
            names.update(
                (name, None) for name, (origin, _) in source.imports.items() if not is_public(origin)
            )
        for name in filter(is_public, names):
            home = self._home(module, name)
            if home is None or home == f"{module}.{name}":
                continue
            if not is_public(home.rpartition(".")[0]) or home.startswith(f"{module}."):
                yield name, home

    def _home(self, module: str, name: str) -> str | None:
        """Return the full name of the definition of ``module.name``, or None if unknown."""
        seen: set[tuple[str, str]] = set()
        while (module, name) not in seen and module in self.modules:
            seen.add((module, name))
            source = self.modules[module]
            star = next((star for star in source.stars if self._offers(star, name)), None)
            if name in source.members:
                return f"{module}.{name}"
            if name in source.imports:
                module, name = source.imports[name]
            elif star is not None:
                module = star
            elif name in (self.exports(module) or ()):
                return self._loaded_later(module, name)
        return None

    def _loaded_later(self, package: str, name: str) -> str | None:
        """Find a name that a package loads on first use: exactly one module inside defines it."""
        inside = [
            other
            for other in self.modules
            if other.startswith(f"{package}.") and name in self.modules[other].members
        ]
        return f"{inside[0]}.{name}" if len(inside) == 1 else None

    def _offers(self, module: str, name: str) -> bool:
        source, exports = self.modules.get(module), self.exports(module)
        if source is None or (exports is not None and name not in exports):
            return False
        return name in source.members or name in source.imports

    def exports(self, module: str) -> tuple[str, ...] | None:
        """Return the names in ``__all__`` of a module, or None if there is none that can be evaluated."""
        if module not in self._exports:
            self._exports[module] = None
            parts = self.modules[module].exports if module in self.modules else None
            if parts is not None:
                strings = [self._strings(part, module) for part in parts]
                names = [name for part in strings if part is not None for name in part]
                self._exports[module] = None if None in strings else tuple(dict.fromkeys(names))
        return self._exports[module]

    @cached_property
    def _exports(self) -> dict[str, tuple[str, ...] | None]:
        return {}

    def _strings(self, node: ast.expr, module: str) -> list[str] | None:
        """Evaluate literal strings, sums of them, or the ``__all__`` of another module."""
        if isinstance(node, ast.List | ast.Tuple):
            values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
            texts = [value for value in values if isinstance(value, str)]
            return texts if len(texts) == len(node.elts) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._strings(node.left, module), self._strings(node.right, module)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.Attribute) and node.attr == "__all__" and isinstance(node.value, ast.Name):
            for target in (f"{module}.{node.value.id}", node.value.id):
                if target in self.modules:
                    exports = self.exports(target)
                    return None if exports is None else list(exports)
        return None

    def _with_private_bases(self, member: Member, module: ModuleSource) -> dict[str, Member]:
        members = dict(member.members)
        for full, base, home in self._bases(member, module):
            if full not in self.public_names:
                for name, inner in self._with_private_bases(base, home).items():
                    members.setdefault(name, inner)
        return members

    def _bases(self, member: Member, module: ModuleSource) -> Iterator[tuple[str, Member, ModuleSource]]:
        """Yield the known base classes: full name, class, module."""
        for base in member.bases:
            prefix, _, name = base.rpartition(".")
            home = self._home(prefix or module.name, name)
            if home is None:
                continue
            source = self.modules[home.rpartition(".")[0]]
            definition = source.members[home.rpartition(".")[2]]
            if definition.kind == "class" and definition is not member:
                yield home, definition, source

    def _constructor(self, member: Member, module: ModuleSource) -> str | None:
        """Return the signature of the nearest known ``__init__`` or ``__new__``."""
        for name in ("__init__", "__new__"):
            if name in member.members:
                return member.members[name].signature
        inherited = (self._constructor(base, home) for _, base, home in self._bases(member, module))
        return next((signature for signature in inherited if signature is not None), None)
