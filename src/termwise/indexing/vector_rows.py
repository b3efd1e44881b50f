"""Rows read from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from termwise.collection import Collection
from termwise.engine.query_encoder import encoder_description
from termwise.errors import ParameterError
from termwise.index import IndexWriter, Manifest
from termwise.models import VectorModel, read_vectors
from termwise.progress import Progress
from termwise.records import Document
from termwise.text import Analyzer


def build_vectors(
    collection: str | Path | Collection | Iterable[Document],
    make_writer: Callable[[], IndexWriter],
    *,
    model: VectorModel,
    analyzer: Analyzer,
    store_text: bool,
    progress: Progress,
) -> Manifest:
    """Read a file of weights and publish the index.

    Raises
    ------
    ParameterError
        If no file is given, or texts are to be stored and it holds none.
    TermwiseError
        If there is anything wrong with the file or the folder.
    """
    if not isinstance(collection, str | Path):
        raise ParameterError("the model vectors reads a file of weights", fixes=["give its path"])
    source = read_vectors(collection, analyzer=analyzer)
    with_text = 0
    with make_writer() as writer:
        for batch in source.batches():
            with_text += sum(text is not None for text in batch.texts)
            texts = [text or "" for text in batch.texts] if store_text else None
            writer.add(batch.doc_ids, batch.weights, texts)
            progress("read vectors", writer.documents, source.length)
        if store_text and writer.documents and not with_text:
            raise ParameterError(
                "texts are to be stored, and the file of weights holds none",
                facts=[("file", collection), ("expected", "a field contents beside vector")],
                fixes=["leave --store-text out"],
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
