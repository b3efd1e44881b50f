"""Documentation from source: names as people call them, and nothing is executed."""

from pathlib import Path

import pytest

from termwise.collection.python_source import Entry, SourceLibrary, find_modules, is_public

FILES = {
    "plain.py": '''
"""A plain module."""
raise SystemExit("never executed")
def shown(a, /, b: int = 1, *args, c, d=None, **kw) -> str:
    """Show.

        Indented.
    """
def _hidden(): "no"
async def later(): ...
class Public:
    """A class."""
    def __init__(self, size=(1, 2)): ...
    def method(self, x): "do"
    def _private(self): "no"
    @classmethod
    def make(cls, *, fast=False): "make"
    @staticmethod
    def helper(one, two): "help"
    @property
    def size(self): "How large."
    @size.setter
    def size(self, value): "setter"
    class Inner:
        """Inside."""
        def deep(self): ...
class Child(Public): ...
class Bare: ...
try:
    import nothing
except ImportError:
    def fallback(): "used without"
if True:
    def twice(): ...
else:
    def twice(one): "the documented one"
if __name__ == "__main__":
    def script(): "no"
''',
    "private_base.py": '''
class _Base:
    def __init__(self, name): ...
    def add(self, item): "Add."
    def over(self): "base"
class Shown(_Base):
    """Shown."""
    def over(self): "own"
''',
    "pack/__init__.py": '''
"""A package."""
from .tasks import *
from ._core import Future, _secret
from .more import extra as also
from . import tasks
__all__ = tasks.__all__ + ("Future", "Lazy", "local")
__all__ += ["also"]
def local(): "here"
def __getattr__(name): ...
''',
    "pack/tasks.py": '''
"""Tasks."""
__all__ = "gather", "sleep",
def gather(*tasks): "Gather."
def sleep(delay): "Sleep."
def internal(): "Not for others."
''',
    "pack/_core.py": """
class Future:
    "A future."
    def result(self): "Its result."
def _secret(): ...
def unshown(): "private module"
""",
    "pack/more.py": 'def extra(): "more"\ndef other(): "other"\n',
    "pack/pool.py": 'class Lazy: "loaded on first use"\n',
    "pack/test/__init__.py": 'def tested(): "no"\n',
    "open_pack/__init__.py": "from .sub import thing\nfrom ._own import mine\n",
    "open_pack/sub.py": 'def thing(): "stays where it is"\n',
    "open_pack/_own.py": 'def mine(): "shown by the package"\n',
    "left_out.py": 'def no(): "no"\n',
    "broken.py": "def (:\n",
    "appended.py": """
__all__ = ["a"]
__all__.append("b")
__all__.extend(["c"])
def d(): "not listed, but public"
""",
    "unknown_all.py": '__all__ = [name for name in dir()]\ndef f(): "f"\n',
    "empty_all.py": '__all__ = ()\ndef f(): "f"\n',
}


@pytest.fixture
def library(tmp_path: Path) -> SourceLibrary:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    tops = sorted({name.partition("/")[0].removesuffix(".py") for name in FILES} | {"absent"})
    return SourceLibrary.read(find_modules(tmp_path, tops, skip={"left_out"}), elsewhere={"pack.more.other"})


@pytest.fixture
def entries(library: SourceLibrary) -> dict[str, Entry]:
    found = list(library.entries())
    table = {entry.name: entry for entry in found}
    assert len(table) == len(found)
    return table


def test_functions(entries: dict[str, Entry]) -> None:
    assert entries["plain"] == Entry("plain", "plain", None, "A plain module.")
    assert entries["plain.shown"] == Entry(
        "plain", "plain.shown", "(a, /, b=1, *args, c, d=None, **kw)", "Show.\n\nIndented."
    )
    assert entries["plain.later"].signature == "()"
    assert "plain._hidden" not in entries
    assert "plain.script" not in entries


def test_branches(entries: dict[str, Entry]) -> None:
    assert entries["plain.fallback"].docstring == "used without"
    assert entries["plain.twice"] == Entry("plain", "plain.twice", "(one)", "the documented one")


def test_classes(entries: dict[str, Entry]) -> None:
    assert entries["plain.Public"].signature == "(size=(1, 2))"
    assert entries["plain.Public.method"].signature == "(x)"
    assert entries["plain.Public.make"].signature == "(*, fast=False)"
    assert entries["plain.Public.helper"].signature == "(one, two)"
    assert entries["plain.Public.size"] == Entry("plain", "plain.Public.size", None, "How large.")
    assert entries["plain.Public.Inner.deep"] == Entry("plain", "plain.Public.Inner.deep", "()", "")
    assert entries["plain.Bare"] == Entry("plain", "plain.Bare", None, "")
    assert not [name for name in entries if "__" in name or "._" in name]


def test_inherited_methods_are_listed_with_the_class_that_defines_them(entries: dict[str, Entry]) -> None:
    assert entries["plain.Child"].signature == "(size=(1, 2))"
    assert "plain.Child.method" not in entries


def test_methods_of_private_bases_are_listed_under_the_public_class(entries: dict[str, Entry]) -> None:
    assert entries["private_base.Shown"].signature == "(name)"
    assert entries["private_base.Shown.add"].docstring == "Add."
    assert entries["private_base.Shown.over"].docstring == "own"


def test_packages_export_the_definitions_of_their_modules(entries: dict[str, Entry]) -> None:
    names = {name for name in entries if name.startswith("pack")}
    assert names == {
        "pack",
        "pack.gather",
        "pack.sleep",
        "pack.Future",
        "pack.Future.result",
        "pack.Lazy",
        "pack.also",
        "pack.local",
        "pack.tasks",
        "pack.more",
        "pack.pool",
    }
    assert entries["pack.gather"].module == "pack"


def test_packages_without_all_export_only_definitions_of_private_modules(entries: dict[str, Entry]) -> None:
    names = {name for name in entries if name.startswith("open_pack")}
    assert names == {"open_pack", "open_pack.sub", "open_pack.sub.thing", "open_pack.mine"}


def test_exports(library: SourceLibrary, entries: dict[str, Entry]) -> None:
    assert library.exports("appended") == ("a", "b", "c")
    assert library.exports("unknown_all") is None
    assert library.exports("absent") is None
    assert library.exports("pack") == ("gather", "sleep", "Future", "Lazy", "local", "also")
    assert "appended.d" in entries
    assert "broken" not in entries
    assert "unknown_all.f" in entries
    assert "empty_all.f" not in entries


@pytest.mark.parametrize(
    ("name", "public"),
    [("a", True), ("a.b", True), ("_a", False), ("a._b", False), ("a.b_", True), ("a.__b__", False)],
)
def test_public_names(name: str, public: bool) -> None:
    assert is_public(name) is public
