"""Relative links and their anchors exist in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_FENCED = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`+[^`\n]*`+")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)


def prose(text: str) -> str:
    """Return the text without its code."""
    return _CODE.sub("", _FENCED.sub("", text))


def links(text: str) -> Iterator[str]:
    yield from (found.group(1) for found in _LINK.finditer(prose(text)))
    yield from (found.group(1) for found in _DEFINITION.finditer(prose(text)))


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, named as GitHub names them."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def broken(path: Path) -> list[str]:
    wrong = []
    for link in links(path.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = path if not name else (path.parent / name).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            wrong.append(f"{link}: no such file in the repository")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            wrong.append(f"{link}: no such heading")
    return wrong


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    assert not broken(path)


def test_every_page_is_on_the_map():
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text())}
    pages = {page for page in (ROOT / "docs").rglob("*.md") if "adr" not in page.parts}
    assert pages - {index} <= linked


def test_headings_become_anchors():
    text = "# A `--flag`, and more\n## Same\n## Same\n```\n# not one\n```\n"
    assert anchors(text) == {"a---flag-and-more", "same", "same-1"}


def test_links_in_code_do_not_count():
    text = "[a](b.md) `[c](d.md)` ![i](img/e.svg)\n```text\n[f](g.md)\n```\n[ref]: h.md\n"
    assert list(links(text)) == ["b.md", "img/e.svg", "h.md"]
