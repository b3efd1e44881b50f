"""Front matter of Markdown pages: fields between a first line ``---`` and a later line ``---`` or ``...``.

It is a small part of YAML, whose reader is no dependency of the package:

1. ``key: value`` is a number, true or false, or a string, also in quotes. A date is a string. A key without a value,
   with ``null`` or with ``~`` is missing.
2. ``key: [a, b]``, or lines ``- a`` below ``key:``, is a list of strings.
3. Other values are left out, with the lines below them: objects, lists in lists, texts of several lines, anchors.

Empty lines, and lines that begin with ``#``, are skipped. If the first other line has no key, the page has no front
matter, and ``---`` is a line between texts.
"""

from __future__ import annotations

import re
from pathlib import Path

from termwise.attributes.field_types import possible_types, stored_value
from termwise.errors import MalformedRecordError
from termwise.records import AttributeValue

_BLOCK = re.compile(r"---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_BELOW = (" ", "\t", "-", "]", "}")
_ENTRY = re.compile(r"\s*-[ \t]+(.*)")
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
_KEY = re.compile(rf"""({_QUOTED}|[^\s#"'\[\]{{}}&*!|>%@`?-].*?)[ \t]*:(?:[ \t]+(.*))?""")
_STRING = re.compile(rf"({_QUOTED})[ \t]*(?:#.*)?")
_ITEM = re.compile(rf"""[ \t]*({_QUOTED}|[^\s\[\]{{}},"'][^\[\]{{}},]*)?[ \t]*([,\]])""")
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*")


def read_front_matter(path: Path, page: str) -> tuple[dict[str, AttributeValue], str]:
    r"""Return the fields of the front matter of a page, and the page without it; the title is always a string.

    Raises
    ------
    MalformedRecordError
        If a line of it is not valid, or a key is repeated.

    Examples
    --------
    >>> read_front_matter(Path("a.md"), "---\nlang: en # English\ntags: [a, b]\nrank: 2\nnav: {icon: x}\n---\n# Tea\n")
    ({'lang': 'en', 'tags': ['a', 'b'], 'rank': 2}, '# Tea\n')
    """
    block = _BLOCK.match(page)
    if block is None:
        return {}, page
    lines = [
        (number, line.rstrip())
        for number, line in enumerate((block[1] or "").split("\n"), 2)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if lines and not _KEY.fullmatch(lines[0][1]):
        return {}, page
    fields: dict[str, AttributeValue | None] = {}
    while lines:
        number, line = lines.pop(0)
        below: list[str] = []
        while lines and lines[0][1].startswith(_BELOW):
            below.append(lines.pop(0)[1])
        key = _KEY.fullmatch(line)
        name = key[1].strip("\"'") if key else ""
        try:
            if key is None or name in fields:
                raise ValueError
            fields[name] = _value((key[2] or "").strip(), below, is_title=name == "title")
        except ValueError:
            raise MalformedRecordError.at(
                path,
                number,
                expected="key: value, with each key once, and quotes and brackets closed",
                seen=line,
                message="a line of the front matter of a page is not valid",
                fixes=["if the page has no front matter, begin it with an empty line"],
            ) from None
    return {name: value for name, value in fields.items() if value is not None}, page[block.end() :]


def _value(text: str, below: list[str], *, is_title: bool) -> AttributeValue | None:
    """Return a value, or None for a missing one or one that is left out; `ValueError` if it is not valid."""
    if below:
        entries = [_ENTRY.fullmatch(line) for line in below]
        items = [_string(entry[1]) if entry and not _KEY.fullmatch(entry[1]) else None for entry in entries]
        found = [item for item in items if item is not None]
        return found if not _COMMENT.sub("", text) and len(found) == len(items) else None
    if text.startswith("["):
        return _list(text)
    if text.startswith("{") and not _COMMENT.sub("", text).endswith("}"):
        raise ValueError
    string = _string(text)
    if is_title or string is None or text.startswith(("'", '"')):
        return string
    if string in ("", "~", "null"):
        return None
    kind = possible_types(string, untyped=True)[0]
    return stored_value(kind, string) if kind in ("boolean", "integer", "float") else string


def _list(text: str) -> list[str] | None:
    items: list[str] = []
    place = 1
    while item := _ITEM.match(text, place):
        items += filter(None, [_string(item[1] or "")])
        place = item.end()
        if item[2] == "]" and not _COMMENT.sub("", text[place:]).strip():
            return items
    if not _COMMENT.sub("", text).endswith("]"):
        raise ValueError
    return None


def _string(text: str) -> str | None:
    """Remove the quotes or the comment of a string; return None if the value is not a string."""
    if text.startswith(("'", '"')):
        quoted = _STRING.fullmatch(text)
        if quoted is None:
            raise ValueError
        inner = quoted[1][1:-1]
        return inner.replace("''", "'") if text[0] == "'" else re.sub(r'\\(["\\])', r"\1", inner)
    plain = _COMMENT.sub("", text).strip()
    return None if plain.startswith(tuple("[{|>&*!")) else plain
