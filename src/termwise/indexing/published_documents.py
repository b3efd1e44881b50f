"""Documents of the last published generation of an index or a mixture, as they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from termwise.attributes import Schema
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.document_store import chunk_id
from termwise.index.updater import IndexUpdater
from termwise.indexing.field_weights import stored_document, texts_to_store
from termwise.records import Document


class PublishedDocuments:
    """Documents that an index, or the parts of a mixture, have published.

    Errors name `path`. `with_attributes` are those of the parts that keep the attributes of documents.
    """

    def __init__(self, path: Path, parts: Sequence[IndexUpdater]) -> None:
        self._path = path
        self._parts = parts
        self.with_attributes = [part for part in parts if part.index.schema] or parts[:1]

    @property
    def field_weights(self) -> Mapping[str, int]:
        """Weights of the fields; see `LiveWriter.field_weights`."""
        return next(filter(None, (part.index.manifest.field_weights for part in self._parts)), {})

    @property
    def fields(self) -> tuple[str, ...] | Mapping[str, int] | None:
        """Fields of the texts; see `LiveWriter.fields`."""
        names = (part.index.manifest.fields for part in self._parts)
        return self.field_weights or next(filter(None, names), None)

    def document(self, doc_id: str) -> Document | None:
        """Return a document; see `LiveWriter.document`."""
        ordinals = self._parts[0].index.find_many([doc_id])
        if ordinals[0] < 0:
            return None
        index = self._index_of_texts()
        if index is None:
            raise ParameterError(
                "the index does not store the texts of its documents",
                facts=[("index", self._path)],
                fixes=[Fix.build(store_text=True)],
            )
        (text,) = index.store.document_texts(ordinals)
        (attributes,) = self.with_attributes[0].index.attributes(ordinals)
        return stored_document(doc_id, text, attributes, index.manifest.field_weights)

    def compare(
        self, documents: Sequence[Document], touched: Mapping[str, bool], schema: Schema
    ) -> tuple[set[str], set[str], dict[str, int]]:
        """Compare documents with distinct identifiers with the published ones.

        `touched` has the identifiers that were added (True) or deleted (False) since, `schema` the types of all
        attributes. The result are the identifiers
        that the index has, with these changes; those of them with the same text and attributes; and the positions in
        the published index of those with the same text and other attributes, or of each of their chunks.
        """
        ordinals = self._parts[0].index.find_many([document.doc_id for document in documents])
        present = {
            document.doc_id
            for document, ordinal in zip(documents, ordinals.tolist(), strict=True)
            if touched.get(document.doc_id, ordinal >= 0)
        }
        same: set[str] = set()
        known: dict[str, int] = {}
        index = self._index_of_texts()
        if index is None:
            return present, same, known
        places = [
            place
            for place, document in enumerate(documents)
            if ordinals[place] >= 0 and document.doc_id not in touched
        ]
        unchanged = [documents[place] for place in places]
        texts = zip(
            texts_to_store(unchanged, index.manifest.field_weights),
            index.store.document_texts(ordinals[places]),
            strict=True,
        )
        attributes = self.with_attributes[0].index.attributes(ordinals[places])
        for document, ordinal, (given, text), values in zip(
            unchanged, ordinals[places].tolist(), texts, attributes, strict=True
        ):
            if text not in (given, document.text):  # the second without borders, in an older index
                continue
            if schema.same(values, document.attributes):
                same.add(document.doc_id)
            elif index.manifest.chunk:
                numbered = enumerate(index.chunks.of(ordinal), 1)
                known |= {chunk_id(document.doc_id, number): chunk for number, chunk in numbered}
            else:
                known[document.doc_id] = ordinal
        return present, same, known

    def _index_of_texts(self) -> Index | None:
        """Return the part that stores the texts as they are given, by field if fields have weights; None without."""
        weighted = bool(self.field_weights)
        for part in self._parts:
            if part.index.stores_text and bool(part.index.manifest.field_weights) == weighted:
                return part.index
        return None
