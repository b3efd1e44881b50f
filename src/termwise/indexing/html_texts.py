"""Documents with HTML in their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import final

from termwise.display.safe_text import shown
from termwise.records import AttributeValue, Document, join_fields
from termwise.text.html_text import first_markup, plain_text
from termwise.validation import check_document

LEAST_SHARE = 0.02
"""Share of documents with HTML in their texts from which on a build says so."""


def plain_document(document: Document) -> Document:
    r"""Return a document with the plain text of its HTML, see `termwise.text.html_text.plain_text`.

    Attributes that are texts of the document, such as its title, are plain, too. Others, such as addresses, stay.

    Examples
    --------
    >>> attributes = {"title": "T&uuml;r", "url": "?a=1&amp;b=2"}
    >>> plain_document(Document.of_texts("a", ["T&uuml;r", "<b>rot</b>"], attributes))
    Document(doc_id='a', text='Tür\nrot', attributes={'title': 'Tür', 'url': '?a=1&amp;b=2'}, borders=(3,))
    """
    check_document(document)
    if "<" not in document.text and "&" not in document.text:
        return document
    given, attributes = set(document.texts), document.attributes
    plain = {name: _plain_value(value, given) for name, value in attributes.items()}
    if plain != attributes:
        attributes = plain
    if document.fields is not None:
        fields = {name: plain_text(text) for name, text in document.fields.items()}
        return Document.of_fields(document.doc_id, fields, attributes)
    return Document.of_texts(document.doc_id, map(plain_text, document.texts), attributes)


def _plain_value(value: AttributeValue, texts: set[str]) -> AttributeValue:
    """Return the value of an attribute, plain if it is one of the texts, or all its strings are in one."""
    if isinstance(value, str):
        return plain_text(value) if value in texts else value
    if isinstance(value, tuple | list) and (texts.issuperset(value) or join_fields(value) in texts):
        return tuple(map(plain_text, value))
    return value


@final
class HtmlTexts:
    """Counts the documents of a build with HTML in their texts.

    Examples
    --------
    >>> found = HtmlTexts()
    >>> _ = list(found.of([Document("a", "T&uuml;r"), Document("b", "Tor")]))
    >>> found.note().partition(":")[0]
    "1 of 2 documents have HTML in their texts, such as '&uuml;', which is indexed as letters"
    """

    def __init__(self) -> None:
        self._documents = self._with_html = 0
        self._example = ""

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield all given objects and count texts with HTML; the build refuses objects that are no documents."""
        for document in documents:
            self._documents += 1
            text = getattr(document, "text", None)
            if isinstance(text, str) and (markup := first_markup(text)) is not None:
                self._with_html += 1
                self._example = self._example or markup
            yield document

    def note(self) -> str | None:
        """Return a line about these documents; None if they are few."""
        if self._with_html <= LEAST_SHARE * self._documents:
            return None
        return (
            f"{self._with_html:,} of {self._documents:,} documents have HTML in their texts, such as "
            f"{shown(self._example)}, which is indexed as letters: --html indexes and stores their plain text, in "
            "Python BuildOptions(html=True)"
        )
