"""Web: a search box that needs no server, for static sites."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, final
from urllib.parse import quote

import numpy as np

from termwise.errors import CorruptIndexError
from termwise.export.folder import SCRIPT, read_description
from termwise.export.source import ExportSource
from termwise.export.web import check_source, write_web
from termwise.export.web.files import damaged_files
from termwise.export.web.node_search import NodeSearch, node_search
from termwise.fast_dataclass import dataclass
from termwise.progress import Progress
from termwise.settings import TypedSettings

NO_FILTERS = "none"
"""Value of `Web.filters` for a box without filters."""


@final
@dataclass(frozen=True, kw_only=True)
class Web(TypedSettings):
    """Target ``web``; `meanings` describes its settings."""

    called: ClassVar[str] = "setting of the target web"
    meanings: ClassVar[Mapping[str, str]] = {
        "url": (
            "attribute with the address of a document, or a pattern such as docs/{doc_id}.html; found by "
            "its name if empty"
        ),
        "heading": "attribute with the title; found by its name if empty",
        "filters": (
            "attributes that are filters, with commas between them, or none; chosen by their values if empty"
        ),
        "base": "what relative addresses are relative to, from the folder",
    }
    name: ClassVar[str] = "web"
    title: ClassVar[str] = "Search box of a static site"
    engine: ClassVar[str] = ""
    helpers: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    url: str = ""
    heading: str = ""
    filters: str = ""
    base: str = ".."

    def check(self, source: ExportSource) -> None:
        """Refuse what a browser cannot search; see `termwise.export.web.write_web`."""
        check_source(source)

    def opened(self, source: ExportSource, folder: Path) -> AbstractContextManager[NodeSearch]:
        """Search the folder under Node.js, if all its files are intact."""
        if damaged := damaged_files(folder, read_description(folder, published=True)):
            raise CorruptIndexError(
                "files of the search are missing or damaged",
                facts=[("export", folder), ("files", ", ".join(damaged[:5]))],
                fixes=["export the index anew"],
            )
        return node_search(folder, source.index.doc_ids(np.arange(len(source), dtype=np.int64)))

    def publish(self, source: ExportSource, out: Path, progress: Progress) -> dict[str, Any]:
        """Write the folder, or replace the search in it."""
        filters = None
        if self.filters:
            filters = [] if self.filters == NO_FILTERS else [each.strip() for each in self.filters.split(",")]
        written = write_web(
            source,
            out,
            url=self.url or None,
            title=self.heading or None,
            filters=filters,
            base=self.base,
            progress=progress,
        )
        address = quote(os.fsencode(out.absolute().name))  # which leaves nothing that HTML has to escape
        return {
            "target": self.name,
            "documents": written.documents,
            "number_of_files": written.files,
            "bytes": written.bytes,
            "url": written.url,
            "title": written.title,
            "filters": list(written.filters),
            "include": f'<script type="module" src="{address}/{SCRIPT}"></script>',
        }
