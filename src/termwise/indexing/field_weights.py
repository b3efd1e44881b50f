"""Weights of fields: the term frequencies of a document are weighted sums of those of its fields.

Each token of a field counts as often as the weight of the field. Term frequencies, document lengths and collection
statistics are those of these counts, before a model saturates them: the simple form of Robertson, Zaragoza and Taylor
(CIKM 2004). A weight of 3 has the effect of a text that holds the field three times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from termwise.errors import ParameterError
from termwise.fixes import NAMES, Fix
from termwise.index.field_texts import pack, unpack
from termwise.models import Model
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer, number_texts
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute
from termwise.text.token_numbering import NumberedTexts


def number_documents(
    analyzer: Analyzer, documents: Sequence[Document], weights: Mapping[str, int]
) -> NumberedTexts:
    """Return the tokens of documents as numbers, with each token as often as the weight of its field.

    `weights` are empty if documents have no fields. A document without these fields raises `ParameterError`.
    """
    analyzers = [analyzer] * len(documents)
    if isinstance(analyzer, AnalyzerByAttribute):
        analyzers = [analyzer.of_language(analyzer.language(document.attributes)) for document in documents]
    if not weights:
        return number_texts(analyzers, [document.text for document in documents])
    texts = [text for document in documents for text in field_texts(document, weights)]
    numbered = number_texts([each for each in analyzers for _ in weights], texts)
    of_fields = np.tile(np.array(list(weights.values())), len(documents))
    repeats = np.repeat(of_fields, np.diff(numbered.indptr))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(repeats)])
    indptr = ends[numbered.indptr[:: len(weights)]]
    return NumberedTexts(numbered.tokens, indptr, np.repeat(numbered.numbers, repeats))


def texts_to_store(documents: Iterable[Document], weights: Mapping[str, int]) -> list[str]:
    """Return the texts of documents as an index with these weights of fields stores them; errors as above."""
    if not weights:
        return [pack(document.texts) for document in documents]
    return [pack(field_texts(document, weights)) for document in documents]


def stored_document(
    doc_id: str, text: str | None, attributes: Mapping[str, AttributeValue], weights: Mapping[str, int]
) -> Document:
    """Return a document with the text that an index with these weights of fields stores; see `texts_to_store`."""
    if not weights:
        return Document.of_texts(doc_id, unpack(text or ""), attributes)
    return Document.of_fields(doc_id, dict(zip(weights, unpack(text or ""), strict=True)), attributes)


def field_texts(document: Document, weights: Mapping[str, int]) -> list[str]:
    """Return the texts of the fields in the order of the weights; an absent field is empty. Errors as above."""
    fields = document.fields
    if fields is None or [name for name in weights if name in fields] != list(fields):
        raise ParameterError(
            "the fields of this index have weights, and a document has "
            + ("no fields" if fields is None else "other fields, or another order"),
            facts=[
                ("document", document.doc_id),
                ("fields", "none" if fields is None else ", ".join(fields)),
                ("expected", ", ".join(weights)),
            ],
            fixes=[Fix.python("Document.of_fields(doc_id, {NAME: TEXT})"), "name the file of the documents"],
        )
    return [fields.get(name, "") for name in weights]


def refuse_weights_for_network(fields: tuple[str, ...] | Mapping[str, int] | None, model: Model) -> None:
    """Refuse weights of fields other than 1 for a network, which reads the joined text of the fields."""
    if isinstance(fields, Mapping) and any(weight != 1 for weight in fields.values()):
        described = ", ".join(f"{name} × {weight}" for name, weight in fields.items())
        raise ParameterError(
            "a network reads one text, so its fields have no weights",
            facts=[("model", model.name), ("fields", described)],
            fixes=[
                Fix.use("omit the weights: {}", fields=NAMES),
                Fix.use("choose a model that counts terms: {}", model="bm25"),
            ],
        )
