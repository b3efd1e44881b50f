"""Views of one document and of one index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from termwise.display.html import css_number
from termwise.display.safe_text import human_bytes
from termwise.search.query_syntax import parse_query
from termwise.search.single_index import SingleIndex
from termwise.serve.bodies import checked_model
from termwise.serve.documents import document_record
from termwise.serve.indexes import ServedIndex
from termwise.serve.page.address import SearchAddress
from termwise.serve.page.titles import attribute_rows, titles_of
from termwise.serve.page.why import LONGEST_TEXT, marked_text, why_of
from termwise.serve.requests import ExplainRequest
from termwise.serve.search import explanation_of
from termwise.serve.settings import ServiceSettings
from termwise.text import Analyzer
from termwise.text.analyzer_by_attribute import languages_of
from termwise.text.words_around import word_around

HEAVIEST = 20
"""Terms of a document that are shown."""


class Term(NamedTuple):
    """Term of a document: its weight, the width of its bar from 0 to 100, and the number of documents with it.

    Its name is a word of the text, if there is one.
    """

    name: str
    weight: str
    width: str
    documents: int


def document_view(
    served: ServedIndex, doc_id: str, address: SearchAddress, settings: ServiceSettings
) -> dict[str, Any]:
    """Return the values of the template for a document; with a query, also why the document is a result.

    `address` is the search that found the document, or of the index alone.

    Raises
    ------
    UnknownIdError
        If the index has no such document.
    TermwiseError
        If the query is over a limit, or cannot be parsed.
    """
    opened = served.current()
    searcher = opened.searcher
    address, _ = address.for_index(searcher.schema, languages_of(searcher.analyzer))
    record = document_record(searcher, doc_id)
    text = record["text"]
    shown = (text or "")[:LONGEST_TEXT]
    values: dict[str, Any] = {
        "index": served.name,
        "doc_id": doc_id,
        "title": titles_of(searcher, [doc_id])[0],
        "address": address,
        "asked": titles_of(searcher, [address.like])[0] if address.like else address.query,
        "search_url": address.url(page=address.page),
        "similar": SearchAddress(index=served.name, like=doc_id).url(),
        "stores_text": text is not None,
        "text": [(shown, "")],
        "cut": len(text or "") > LONGEST_TEXT,
        "attributes": attribute_rows(record["attributes"]),
        "parts_of_terms": [
            (part.name if len(searcher.parts) > 1 else "", heaviest_terms(part.backend, doc_id, shown))
            for part in searcher.parts
        ],
        "why": None,
        "pinned": "",
    }
    words = parse_query(address.query).query
    if words or address.like:
        asked = {
            "query": words or None,
            "like": address.like or None,
            "filter": address.filter(searcher.schema),
            "doc_id": doc_id,
            "competitors": 0,
            "fuzzy": None if address.like else address.fuzzy,
            "lang": address.lang_of_query,
        }
        explanation = explanation_of(opened, checked_model(asked, ExplainRequest), settings)
        values["why"], values["rank"] = why_of(explanation), explanation.rank
        values["pinned"] = explanation.pinned
        if text is not None:
            values["text"] = marked_text(explanation, shown)
    return values


def heaviest_terms(backend: SingleIndex, doc_id: str, text: str) -> list[Term]:
    """Return the terms with the largest weights in a document, with the largest weight in any of its chunks.

    Empty for a document that the index lacks, and in an index of vectors. `text` is that of the document, with the
    words that the terms stand for; it can be empty.
    """
    index = backend.index
    document = index.find(doc_id)
    if document is None:
        return []
    weights = index.weights(np.array(index.chunks.of(document), dtype=np.int64))
    largest: dict[int, float] = {}
    for terms, row in weights:
        for term, weight in zip(terms.tolist(), row.tolist(), strict=True):
            if term < index.manifest.terms:
                largest[term] = max(weight, largest.get(term, 0.0))
    chosen = sorted(largest, key=lambda term: (-largest[term], term))[:HEAVIEST]
    numbers = np.array(chosen, dtype=np.int32)
    frequencies = index.segments.frequencies_of(numbers).tolist()
    written = written_terms(backend.encoder.analyzer, text) if chosen else {}
    names = [written.get(name, name) for name in index.vocabulary.tokens(numbers.astype(np.int64))]
    heaviest = max((largest[term] for term in chosen), default=1.0) or 1.0
    return [
        Term(name, f"{largest[term]:.3f}", css_number(100 * largest[term] / heaviest), documents)
        for term, name, documents in zip(chosen, names, frequencies, strict=True)
    ]


def written_terms(analyzer: Analyzer, text: str) -> dict[str, str]:
    """Return the most frequent word of a text for each term, with the term if it does not begin the word.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> written_terms(make_analyzer("english"), "Studies of children")
    {'studi': 'studies', 'children': 'children'}
    """
    names = {}
    for term, spans in analyzer.analyze(text).spans_by_token().items():
        words = Counter(text[slice(*word_around(text, *span))].casefold() for span in spans)
        ((word, _),) = words.most_common(1)
        is_piece = all(word_around(text, *span) != span for span in spans)
        names[term] = f"{word} ({term})" if is_piece or not word.startswith(term) else word
    return names


def index_view(served: ServedIndex, choices: Sequence[str]) -> dict[str, Any]:
    """Return the values of the template for an index; `choices` are the names of all indexes."""
    manifests = [part.index.manifest for part in served.searcher().parts]
    size = sum(file.length for manifest in manifests for file in manifest.files())
    return {
        "index": served.name,
        "facts": served.current().facts(),
        "failed": served.failed,
        "size": human_bytes(size),
        "choices": choices,
    }
