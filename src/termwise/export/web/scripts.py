"""Scripts of a search folder, as short as its index allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

MOST_BYTES = 40_000
"""Upper bound for the scripts of a folder, uncompressed."""

_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*[\s\S]*?\*/)$|(?<=[;{,]) // .*$", re.MULTILINE)

_LITERAL = re.compile(r"[\\'`/]")
"""What a line with a pattern, a template, a comment, or a string with an escape has."""

_STRING = re.compile(r'("[^"]*")')

_SPACED = re.compile(r" ?(=>|&&|\|\||\?\?=?|[=!]==|[<>]=|[-+*]=|[=,;:{}()<>]) ?")
"""Signs that need no spaces around them."""

_STANDARD = ("standardWords", "matchesAt", "shortened", "fitting")

_ONLY_FOR_TOKENIZERS = {
    "standard-words": _STANDARD,
    "standard-words-persian": _STANDARD,
    "cjk-bigrams": (*_STANDARD, "cjkPairs"),
    "code-words": ("codeWords", "besideMarks", "matchesAt"),
    "words-with-parts": ("wordsWithParts", "besideMarks", "matchesAt"),
}
"""Functions of the kit that only these tokenizers need."""

_ONLY_FOR_STEMMERS = {"english": ("englishStem", "narrow"), "porter": ("porterStem", "narrow")}

_ONLY_FOR_VECTORS = ("VectorsPart", "Vectors", "rows")


def element_script() -> bytes:
    """Return the script that pages include."""
    return _written(_read("web", "script", "termwise-search.js"), ())


def worker_script(descriptions: Iterable[Mapping[str, Any]], *, vectors: bool) -> bytes:
    """Return the analyzers of the query kit that some descriptions need, and the worker, for an index with vectors."""
    needed: set[str] = set()
    for description in descriptions:
        if description["kind"] == "pieces":
            needed.add("Pieces")
            continue
        needed.update(_ONLY_FOR_TOKENIZERS.get(description["tokenizer"], ()))
        for step in _all_steps(description["steps"]):
            needed.update(_ONLY_FOR_STEMMERS.get(step.get("stem", ""), ()))
    optional = {"Pieces"}.union(*_ONLY_FOR_TOKENIZERS.values(), *_ONLY_FOR_STEMMERS.values())
    analyzers = _written(_read("kit", "analyzers.js"), optional - needed)
    return analyzers + _written(_read("web", "script", "worker.js"), () if vectors else _ONLY_FOR_VECTORS)


def _all_steps(steps: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for step in steps:
        yield step
        yield from _all_steps(step.get("steps", ()))


def _read(*names: str) -> str:
    return resources.files("termwise.export").joinpath(*names).read_text("utf-8")


def _written(text: str, left_out: Collection[str]) -> bytes:
    r"""Return a script without comments, needless spaces, and the contents of some functions and classes.

    Lines keep their spaces if they have a slash or another quote than a double one, and strings keep theirs.

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
    return ("\n".join(map(_tight, filter(None, lines))) + "\n").encode()


def _tight(line: str) -> str:
    if _LITERAL.search(line):
        return line
    parts = _STRING.split(line)  # code and strings in turns
    return "".join(part if place % 2 else _SPACED.sub(r"\1", part) for place, part in enumerate(parts))


def _empty(definition: re.Match[str]) -> str:
    return f"{definition[1]} {{}}" if definition[1].startswith("class") else f"{definition[1]}() {{}}"
