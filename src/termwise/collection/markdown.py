"""Folders of Markdown files: a section of a page is a document, whose identifier is the link to its heading.

The text of a section has no signs of Markdown: words of links and code are kept, cells of tables have commas between
them, and HTML is left out. Its title has the headings from the top of the page on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from termwise.collection.fields import ID_FIELDS
from termwise.collection.file_collections import RecordFile
from termwise.collection.front_matter import read_front_matter
from termwise.collection.lines import read_raw_lines
from termwise.display.safe_text import lone_surrogate
from termwise.errors import DataError
from termwise.fast_dataclass import dataclass
from termwise.storage.safe_read import is_folder

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SUFFIXES = (".md", ".markdown")

BETWEEN = " › "
"""Sign between the headings of a title."""

_SLUG = re.compile(r"[^\w\- ]")
_RESERVED = frozenset((*ID_FIELDS, "title", "text", "page"))


@dataclass(frozen=True)
class Section:
    """Part of a page under one heading.

    Attributes
    ----------
    anchor : str
        Anchor of the heading, as GitHub makes it; empty before the first heading.
    headings : tuple of str
        Headings from the top of the page on.
    text : str
        Text below the heading, up to the next one.
    """

    anchor: str
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class MarkdownCollection(RecordFile):
    """Markdown file, or the Markdown files of a folder and its folders, in the order of their paths.

    A record has an identifier such as ``guide/install.md#from-source``, the fields `title` and `text`, and the path of
    the `page`. The front matter of a page has further fields of its sections, see `termwise.collection.front_matter`;
    names of identifiers are left out. A section without a text is no record. Files and folders whose names begin with
    a dot are left out.
    """

    unit = "section"

    @property
    def repeatable(self) -> bool:
        """Whether the records can be read more than once."""
        return True

    def _records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        parser = markdown_parser()
        number = 0
        top = self.path if is_folder(self.path) else self.path.parent
        files = {file.relative_to(top).as_posix(): file for file in markdown_files(self.path)}
        for page, file in files.items():
            if lone_surrogate(page):
                raise DataError(
                    "the path of a Markdown file, of which identifiers are made, is not in UTF-8",
                    facts=[("file", file)],
                    fixes=["rename the file or its folder"],
                )
        for page, file in files.items():
            text = "".join(line for _, line in read_raw_lines(file)).replace("\r\n", "\n").lstrip("\ufeff")
            front, text = read_front_matter(file, text)
            title = front.get("title")
            others = {name: value for name, value in front.items() if name not in _RESERVED}
            for section in sections(parser.parse(text), title if isinstance(title, str) else ""):
                if section.text.strip():
                    number += 1
                    yield (
                        number,
                        {
                            "_id": f"{page}#{section.anchor}" if section.anchor else page,
                            "title": BETWEEN.join(dict.fromkeys(section.headings)),
                            "text": section.text,
                            "page": page,
                            **others,
                        },
                    )


def markdown_files(path: Path) -> list[Path]:
    """Return a Markdown file, or those of a folder and its folders, in the order of their paths."""
    if not is_folder(path):
        return [path]
    found = (each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
    inside = ((each.relative_to(path).parts, each) for each in found)
    return [each for parts, each in sorted(inside) if not any(part.startswith(".") for part in parts)]


def markdown_parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def sections(tokens: list[Token], title: str = "") -> Iterator[Section]:
    r"""Give the headings the anchors that GitHub gives them, and yield the sections.

    Parameters
    ----------
    tokens : list of Token
        Tokens of a page; headings get the attribute `id`.
    title : str, optional
        Title of the page, which is above its headings.

    Examples
    --------
    >>> tokens = markdown_parser().parse("# Tea\nall *kinds*\n## Green\n`sencha`, [more](x.md)\n")
    >>> [(each.anchor, each.headings, each.text) for each in sections(tokens)]
    [('', (), ''), ('tea', ('Tea',), 'all kinds'), ('green', ('Tea', 'Green'), 'sencha, more')]
    """
    seen: dict[str, int] = {}
    above = [title] if title else []
    headings: list[tuple[int, str]] = []
    anchor, texts, cells = "", list[str](), list[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Section(anchor, (*above, *(heading for _, heading in headings)), "\n".join(texts))
            heading, level = _plain(tokens[place + 1]), int(token.tag[1])
            slug = _SLUG.sub("", heading.lower()).replace(" ", "-")
            number = seen.get(slug, 0)
            seen[slug] = number + 1
            anchor = f"{slug}-{number}" if number else slug
            token.attrSet("id", anchor)
            headings = [*((other, name) for other, name in headings if other < level), (level, heading)]
            texts = []
        elif token.type == "inline" and tokens[place - 1].type in ("th_open", "td_open"):
            cells.append(_plain(token))
        elif token.type == "tr_close":
            texts.append(", ".join(filter(None, cells)))
            cells = []
        elif token.type == "inline" and tokens[place - 1].type != "heading_open":
            texts.append(_plain(token))
        elif token.type in ("fence", "code_block"):
            texts.append(token.content.rstrip("\n"))
    yield Section(anchor, (*above, *(heading for _, heading in headings)), "\n".join(texts))


def _plain(token: Token) -> str:
    """Return the words of a paragraph, a heading or a cell."""
    words = (
        " " if each.type in ("softbreak", "hardbreak") else each.content
        for each in token.children or ()
        if each.type != "html_inline"
    )
    return "".join(words)
