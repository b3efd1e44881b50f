"""Style sheet, script and icon of the page, read once from the package."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

MEDIA_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files, and the media type of each. No other file is sent."""


class StaticFile(NamedTuple):
    """Contents of a file, and the address that names them by their digest."""

    url: str
    media_type: str
    content: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    """Return the files by name."""
    found = {}
    for name, media_type in MEDIA_TYPES.items():
        content = files("termwise.serve.page").joinpath("static", name).read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        found[name] = StaticFile(f"/static/{name}?v={digest}", media_type, content)
    return found
