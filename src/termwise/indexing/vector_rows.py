"""Rows read from a file of weights."""

from __future__ import annotations

from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import IndexWriter, Manifest
from termwise.index.encoder_description import encoder_description
from termwise.models import CsrVectors, JsonVectors, VectorModel
from termwise.text import Analyzer


def build_vectors(
    writer: IndexWriter, *, source: JsonVectors | CsrVectors, model: VectorModel, analyzer: Analyzer
) -> Manifest:
    """Copy the rows of a file of weights, and publish the index; raise `ParameterError` without texts to store."""
    with_text = 0
    for batch in source.batches():
        with_text += sum(text is not None for text in batch.texts)
        writer.add(
            batch.doc_ids, batch.weights, [text or "" for text in batch.texts] if writer.store_text else None
        )
        writer.progress("read vectors", writer.documents, source.length)
    if writer.store_text and writer.documents and not with_text:
        raise ParameterError(
            "the file of weights holds no texts to store",
            facts=[("expected", "a field contents beside vector")],
            fixes=[Fix.use("omit {}", store_text=True)],
        )
    spec = analyzer.spec
    return writer.commit(
        source.vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=False,
        ),
        query_weights=model.term_weights(source.vocabulary),
        attachments=spec.files,
    )
