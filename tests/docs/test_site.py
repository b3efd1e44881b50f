"""The documentation as a site: links, anchors, and the documents of its search."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.styles = 0
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.anchors.add(found.get("id") or "")
        self.styles += "style" in found
        for name in ("href", "src"):
            if found.get(name):
                self.links.append(str(found[name]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    out = tmp_path_factory.mktemp("site") / "site"
    script = ROOT / "scripts" / "site"
    done = subprocess.run([sys.executable, script, "--out", out], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


def test_links_and_anchors_exist(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 80
    for path, page in pages.items():
        assert not page.styles, "the policy of the pages allows no styles in elements"
        for link in page.links:
            address = urlsplit(link)
            if address.scheme:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            assert target.is_file(), f"{path}: {link}"
            if address.fragment and target in pages:
                assert unquote(address.fragment) in pages[target].anchors, f"{path}: {link}"


def test_every_section_of_a_page_is_found(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}
    addresses = []
    for path in (site / "search").glob("documents-*.bin"):
        shard = gzip.decompress(path.read_bytes())
        header = json.loads(shard[4 : 4 + int.from_bytes(shard[:4], "little")])
        addresses += [address for _, address, _ in header["texts"]]
    assert len(addresses) > 500
    for address in addresses:
        path, _, anchor = address.partition("#")
        assert anchor in pages[path].anchors, address
    assert {path.partition("#")[0] for path in addresses} >= {"docs/tutorial.html", "README.html"}


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"', path.read_text("utf-8"))
        assert not [address for address in loaded if ":" in address], path


def test_another_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    script = ROOT / "scripts" / "site"
    done = subprocess.run(
        [sys.executable, script, "--out", tmp_path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "holds other files" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
