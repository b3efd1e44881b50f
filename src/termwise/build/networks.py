"""Rows computed by a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

from termwise.build.documents import empty_collection
from termwise.build.held_rows import held_rows
from termwise.encode import DocumentEncoder, encoded_blocks
from termwise.encode.documents import facts_of
from termwise.errors import VocabularyMismatchError
from termwise.index import IndexWriter, Manifest
from termwise.legible import short_digest
from termwise.models import Model
from termwise.progress import Progress
from termwise.records import Document
from termwise.search.encoding import encoder_description


def build_network(
    documents: Iterator[Document],
    length: int | None,
    model: Model,
    encoder: DocumentEncoder,
    writer: IndexWriter,
    work: Path,
    store_text: bool,
    progress: Progress,
) -> Manifest:
    """Encode documents block by block, and publish the index.

    Raises
    ------
    VocabularyMismatchError
        If the encoder cuts queries into terms of another vocabulary than its rows have.
    EmptyCollectionError
        If there are no documents.
    TermwiseError
        If there is anything wrong with the documents, the encoder or the folder.
    """
    spec = encoder.analyzer.spec
    closed = encoder.analyzer.vocabulary
    if closed is None or closed.id != encoder.vocabulary.id:
        raise VocabularyMismatchError(
            "the encoder cuts queries into terms of another vocabulary than its rows have",
            facts=[
                ("documents", f"{len(encoder.vocabulary):,} terms  {short_digest(encoder.vocabulary.id)}"),
                (
                    "queries",
                    f"{spec.name}, an open vocabulary"
                    if closed is None
                    else f"{spec.name}  {len(closed):,} terms  {short_digest(closed.id)}",
                ),
                ("why", "the same number is another word in each; scores would mean nothing"),
            ],
        )
    held = held_rows(writer.folder, encoder)
    with nullcontext() if held is None else closing(held):
        for batch, rows in encoded_blocks(documents, encoder, work, length=length, progress=progress):
            texts = [document.text for document in batch] if store_text else None
            writer.add_documents([document.doc_id for document in batch], texts)
            if held is None:
                writer.add_weights(rows)
            else:
                held.add(rows)
        if writer.documents == 0:
            raise empty_collection()
        floors = encoder.floors
        if held is not None:
            floors = held.floors
            held.write(writer, progress)
    query_weights = encoder.query_weights
    return writer.commit(
        encoder.vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting if query_weights is None else "idf",
            exact=encoder.only_text_terms,
            network=facts_of(encoder),
        ),
        floors=floors,
        query_weights=query_weights,
        attachments=spec.files,
    )
