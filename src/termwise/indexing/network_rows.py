"""Rows computed by a network."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path

from termwise.display.safe_text import short_digest
from termwise.encode import DocumentEncoder, encoded_blocks
from termwise.encode.document_encoder import facts_of
from termwise.engine.query_encoder import encoder_description
from termwise.errors import VocabularyMismatchError
from termwise.index import Manifest
from termwise.indexing.context import Filling
from termwise.indexing.documents import empty_collection
from termwise.indexing.two_pass import held_rows
from termwise.models import Model


def build_network(filling: Filling, *, model: Model, encoder: DocumentEncoder, work: Path) -> Manifest:
    """Encode documents block by block, keeping finished blocks in the folder `work`, and publish the index.

    Raises
    ------
    VocabularyMismatchError
        If the encoder cuts queries into terms of another vocabulary than its rows have.
    EmptyCollectionError
        If there are no documents.
    TermwiseError
        If there is anything wrong with the documents, the encoder or the folder.
    """
    writer, progress = filling.writer, filling.progress
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
        blocks = encoded_blocks(filling.documents, encoder, work, length=filling.length, progress=progress)
        for batch, rows in blocks:
            texts = [document.text for document in batch] if filling.store_text else None
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
