"""`renew_index`: weigh the documents of an index again, with the statistics of the documents that it has now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError
from termwise.index import Index
from termwise.index.field_texts import unpack
from termwise.index.updater import refuse_part_of_mixture
from termwise.index.writer import DEFAULT_MEMORY
from termwise.indexing.builder import build_index
from termwise.models import CountModel, Model, model_from_parameters, model_names
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.search.mixture_folder import is_mixture
from termwise.search.searcher import Searcher
from termwise.validation import check_path

BATCH = 4096
"""Documents to read at a time."""


def renew_index(
    path: str | Path, *, threads: int = 1, memory: int = DEFAULT_MEMORY, progress: Progress = no_progress
) -> Searcher:
    """Weigh all documents of an index again, from their stored texts.

    Documents that are added later get weights with the statistics of the build, such as its mean document length; only
    the document frequencies are always those of the current documents. Afterwards the index has the weights, the
    ranking and one segment of a new build of its documents in their current order.

    Parameters
    ----------
    path : str or Path
        Folder of an index of a model of term counts that stores texts. Readers keep the generation that they opened.
    threads, memory, progress
        See `build_index`.

    Returns
    -------
    Searcher
        The new generation.

    Raises
    ------
    ParameterError
        If the index stores no texts or has no documents, if its weights depend on the text of a document alone, or if
        it is a mixture or a part of one.
    IndexLockedError
        If another process writes the index.
    TermwiseError
        If the index cannot be read or written; it is unchanged then.

    Examples
    --------
    >>> import tempfile, termwise
    >>> from termwise.indexing import renew_index
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index([Document("a", "green tea")], folder, store_text=True)
    ...     with termwise.open_writer(folder) as writer:
    ...         added = writer.add([Document("b", "a pot for green tea, and a cup")])
    ...     before = searcher.refresh().rank("tea")
    ...     after = renew_index(folder).rank("tea")
    >>> before.scores.tolist() == after.scores.tolist()
    False
    """
    check_path("path", path)
    if is_mixture(path):
        raise ParameterError(
            "the statistics of a mixture cannot be renewed in place",
            facts=[("mixture", path)],
            fixes=["build the mixture again with all documents"],
        )
    index = Index.open(path)
    refuse_part_of_mixture(index.path)
    model = _count_model(index)
    if not index.stores_text:
        raise ParameterError(
            "this index keeps no texts, from which its weights could be computed again",
            facts=[("index", index.path)],
            fixes=["build it again from the collection, with `store_text=True`"],
        )
    if not len(index):
        raise ParameterError(
            "this index has no documents whose weights could be computed again",
            facts=[("index", index.path)],
            fixes=["add documents first"],
        )
    return build_index(
        _documents(Path(path)),
        path,
        model=model,
        analyzer=analyzer_of(index),
        fields=index.manifest.field_weights or None,
        attributes=index.schema or None,
        chunk=index.manifest.chunk or None,
        store_text=True,
        quantiser="float32" if index.manifest.quantiser.kind == "float32" else "uint8",
        overwrite=True,
        threads=threads,
        memory=memory,
        progress=progress,
    )


def _count_model(index: Index) -> Model:
    described = index.manifest.encoder.get("model") or {}
    name = described.get("name", "unknown")
    model = model_from_parameters(name, described.get("parameters", {})) if name in model_names() else None
    if not isinstance(model, CountModel):
        raise ParameterError(
            "this index has no statistics to renew",
            facts=[
                ("index", index.path),
                ("model", name),
                ("reason", "only models of term counts weigh a text with statistics of the whole collection"),
            ],
            fixes=["merge its segments without renewing them"],
        )
    return model


def _documents(path: Path) -> Iterator[Document]:
    """Yield the documents of an index. It is opened with the first one, when the build holds the lock."""
    index = Index.open(path)
    weights = index.manifest.field_weights
    for start in range(0, index.documents, BATCH):
        ordinals = index.document_starts[start : start + BATCH]
        texts = index.stored_texts(ordinals) if weights else index.document_texts(ordinals)
        rows = zip(index.doc_ids(ordinals), texts, index.attributes(ordinals), strict=True)
        for doc_id, text, attributes in rows:
            if weights:
                fields = dict(zip(weights, unpack(text or ""), strict=False))
                yield Document.of_fields(doc_id, fields, attributes)
            else:
                yield Document(doc_id, text or "", attributes)
