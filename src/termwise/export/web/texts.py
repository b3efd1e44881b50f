"""Titles, links and texts of the results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError, UnknownNameError
from termwise.export.source import ExportSource
from termwise.fixes import Fix
from termwise.index.field_texts import unpack
from termwise.records import AttributeValue, join_fields

LONGEST = 100_000
"""Characters of a text that are written; snippets are taken from them."""

LONGEST_TITLE = 120
"""Characters of the longest first line that is a title."""

URL_FIELDS = ("url", "link", "href", "path")
TITLE_FIELDS = ("title", "name")
"""Attributes that are taken if no other is named, the first one that the index has."""

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_PATH = re.compile(r"(?:https?://\S+|\S*/\S*|\S+\.(?:html?|php|aspx?|pdf|md))(?:[?#]\S*)?")


@dataclass(frozen=True)
class Links:
    """Where the title and the address of a document come from.

    Attributes
    ----------
    url : str
        Name of an attribute, or a pattern with names of attributes and ``doc_id`` in braces.
    title : str
        Name of an attribute; empty for the first field or line of the text.
    """

    url: str
    title: str

    @classmethod
    def of(cls, source: ExportSource, url: str | None, title: str | None) -> Links:
        """Check given sources of titles and addresses, and choose those that are not given.

        Raises
        ------
        UnknownNameError
            If the index has no such attribute.
        ParameterError
            If no address is given, no attribute is called one of `URL_FIELDS`, and the first identifiers are no
            addresses.
        """
        schema = source.schema
        if title and title not in schema:
            raise UnknownNameError.of("attribute of the index", title, list(schema))
        if url is None:
            url = next((name for name in URL_FIELDS if name in schema), None)
        if url is None:
            ids = next(source.batches(size=20)).doc_ids if len(source) else []
            if ids and not all(map(_PATH.fullmatch, ids)):
                raise ParameterError(
                    "the documents have no addresses that results can link to",
                    facts=[
                        ("attributes", ", ".join(schema) or "none"),
                        ("looked for", ", ".join(URL_FIELDS)),
                        ("doc_id of the first document", ids[0]),
                    ],
                    fixes=[
                        Fix.use(
                            "name an attribute with the address, or a pattern: {}", url="docs/{doc_id}.html"
                        ),
                        Fix.build("keep the attribute when you build the index: {}", attributes=("url",)),
                    ],
                )
            url = "{doc_id}"
        elif "{" not in url:
            if url not in schema:
                raise UnknownNameError.of("attribute of the index", url, list(schema))
        else:
            for name in _names_in(url):
                if name != "doc_id" and name not in schema:
                    raise UnknownNameError.of("attribute of the index", name, ["doc_id", *schema])
        return cls(url, title or next((name for name in TITLE_FIELDS if name in schema), ""))

    def address(self, doc_id: str, attributes: Mapping[str, AttributeValue]) -> str:
        """Return the address of a document; empty if it lacks the attribute.

        Raises
        ------
        DataError
            If the address has a scheme other than http and https.
        """
        if "{" in self.url:
            values = {"doc_id": doc_id, **{name: _text(value) for name, value in attributes.items()}}
            address = self.url.format_map({name: values.get(name, "") for name in _names_in(self.url)})
        else:
            address = _text(attributes.get(self.url, ""))
        if _SCHEME.match(address) and not address.lower().startswith(("http:", "https:")):
            raise DataError(
                "the address of a document is neither a path nor an address of the web",
                facts=[("doc_id", doc_id), ("address", address[:200])],
                fixes=["correct the documents, or choose another source of addresses"],
            )
        return address

    def title_and_body(
        self, doc_id: str, stored: str, attributes: Mapping[str, AttributeValue]
    ) -> tuple[str, str]:
        """Return the title of a document, and its text without the title."""
        fields = unpack(stored)
        given = _text(attributes.get(self.title, "")) if self.title else ""
        if given:
            rest = fields[1:] if len(fields) > 1 and fields[0].strip() == given.strip() else fields
            return given, join_fields(rest)
        first, *rest = fields
        if not rest:
            line, _, after = stored.lstrip().partition("\n")
            first, rest = (line, [after]) if after and len(line) <= LONGEST_TITLE else ("", [stored])
        return first.strip() or doc_id, join_fields(rest).strip()

    def texts(self, source: ExportSource, ordinals: npt.NDArray[np.int64]) -> list[tuple[str, str, str]]:
        """Return titles, addresses and texts of documents."""
        ids = source.index.store.ids(ordinals)
        stored = source.index.store.texts(ordinals)
        attributes = source.searcher.backend.attribute_index.attributes(ordinals)
        rows = []
        for doc_id, text, values in zip(ids, stored, attributes, strict=True):
            title, body = self.title_and_body(doc_id, text or "", values)
            rows.append((title, self.address(doc_id, values), body[:LONGEST]))
        return rows


def _names_in(pattern: str) -> list[str]:
    try:
        fields = [each[1:] for each in Formatter().parse(pattern) if each[1] is not None]
        names = [str(name) for name, form, conversion in fields if not form and not conversion]
        if len(names) < len(fields):
            raise ValueError("a form or a conversion")
        pattern.format_map(dict.fromkeys(names, ""))
    except (ValueError, KeyError, IndexError, AttributeError):
        names = []
    if not names:
        raise ParameterError(
            "a pattern of addresses has names of attributes in braces",
            facts=[("url", pattern), ("example", "docs/{doc_id}.html")],
        )
    return names


def _text(value: AttributeValue) -> str:
    return value if isinstance(value, str) else "" if isinstance(value, (list, tuple)) else str(value)
