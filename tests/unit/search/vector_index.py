"""Index of given vectors, whose queries are split at white space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from termwise.index import IndexWriter
from termwise.index.encoder_description import encoder_description
from termwise.text import Vocabulary, make_analyzer
from termwise.vectors import DocumentVectors, TermVectors


def write_vector_index(
    folder: Path,
    doc_ids: Sequence[str],
    vectors: DocumentVectors,
    table: TermVectors,
    vocabulary: Vocabulary,
    *,
    texts: Sequence[str] | None = None,
) -> Path:
    """Write an index of the model lookup, which stores texts if they are given, and return its folder."""
    description = encoder_description(
        model="lookup",
        parameters={},
        analyzer=make_analyzer("whitespace").spec,
        weighting="counts",
        exact=False,
    )
    with IndexWriter(folder, overwrite=True, store_text=texts is not None) as writer:
        writer.add_documents(doc_ids, texts)
        writer.add_vectors(vectors)
        writer.commit(vocabulary, encoder=description, term_vectors=table)
    return folder
