"""Scripts of a search folder, as short as its index allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from importlib import resources
from typing import Any

MOST_BYTES = 40_000
"""Upper bound for the scripts of a folder, uncompressed."""

_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*[\s\S]*?\*/)$", re.MULTILINE)

_LITERAL = re.compile(r"[\"'`/]")
"""What a line with a string, a pattern or a comment has."""

_SPACED = re.compile(r" ?(=>|&&|\|\||\?\?=?|[=!]==|[<>]=|[-+*]=|[=,;:{}()<>]) ?")
"""Signs that need no spaces around them."""

_STANDARD = ("standardWords", "matchesAt", "shortened", "fitting")

_ONLY_FOR_TOKENIZERS = {
    "standard-words": _STANDARD,
    "cjk-bigrams": (*_STANDARD, "cjkPairs"),
    "code-words": ("codeWords",),
}
"""Functions of the kit that only these tokenizers need."""

_ONLY_FOR_STEMMERS = {"english": ("englishStem",), "porter": ("porterStem",)}

_ONLY_FOR_VECTORS = ("VectorsPart", "Groups")


def element_script() -> bytes:
    """Return the script that pages include."""
    return _written(_read("web", "script", "termwise-search.js"), ())


def worker_script(*, vectors: bool) -> bytes:
    """Return the script of the worker, which searches vectors if there are any."""
    return _written(_read("web", "script", "worker.js"), () if vectors else _ONLY_FOR_VECTORS)


def analyzer_script(descriptions: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the analyzers of the query kit that some descriptions need."""
    needed: set[str] = set()
    for description in descriptions:
        if description["kind"] == "pieces":
            needed.add("Pieces")
            continue
        needed.update(_ONLY_FOR_TOKENIZERS.get(description["tokenizer"], ()))
        for step in description["steps"]:
            needed.update(_ONLY_FOR_STEMMERS.get(step.get("stem", ""), ()))
    optional = {"Pieces"}.union(*_ONLY_FOR_TOKENIZERS.values(), *_ONLY_FOR_STEMMERS.values())
    return _written(_read("kit", "analyzers.js"), optional - needed)


def _read(*names: str) -> str:
    return resources.files("termwise.export").joinpath(*names).read_text("utf-8")


def _written(text: str, left_out: Collection[str]) -> bytes:
    r"""Return a script without comments, needless spaces, and the contents of some functions and classes.

    Only lines without quotes and slashes lose the spaces inside them.

    Examples
    --------
    >>> _written("// A comment.\nclass A {\n  b() {}\n}\nfunction c() {\n  return 1;\n}\n", ["c"])
    b'class A{\nb(){}\n}\nfunction c(){}\n'
    """
    for name in left_out:
        pattern = rf"^(class {name}|function {name})\b.*?^}}$"
        text, count = re.subn(pattern, _empty, text, flags=re.DOTALL | re.MULTILINE)
        assert count == 1, f"{name} is defined once"
    lines = (line.strip() for line in _COMMENT.sub("", text).splitlines())
    short = (line if _LITERAL.search(line) else _SPACED.sub(r"\1", line) for line in lines if line)
    return ("\n".join(short) + "\n").encode()


def _empty(definition: re.Match[str]) -> str:
    return f"{definition[1]} {{}}" if definition[1].startswith("class") else f"{definition[1]}() {{}}"
