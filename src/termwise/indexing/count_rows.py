"""Rows computed from term counts and the statistics of the collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection import CollectionStatistics
from termwise.encode import encoded_blocks
from termwise.engine.query_encoder import encoder_description
from termwise.errors import ParameterError
from termwise.index import Manifest
from termwise.index.spill import RowSpill
from termwise.indexing.context import Filling
from termwise.indexing.count_cache import CountEncoder
from termwise.indexing.documents import empty_collection
from termwise.kernels.counting import count_rows
from termwise.kernels.rows import renumber_rows
from termwise.models import CountModel
from termwise.parallel import Workers
from termwise.records import Document
from termwise.text import Analyzer, Numbering, Vocabulary, number_texts
from termwise.validation import check_document
from termwise.weights import TermWeights

BATCH = 512
"""Documents analysed at a time."""

CHUNK = 1 << 20
"""Postings weighed at a time."""

EXPANDED_CHUNK = 1 << 16
"""Postings weighed at a time by a model that may add hundreds of terms for each."""


def build_counts(
    filling: Filling, *, model: CountModel, analyzer: Analyzer, work: Path | None = None
) -> Manifest:
    """Count tokens, fix the vocabulary, weigh the counts, and publish the index.

    With a folder `work`, counts are kept there and reused.

    Raises
    ------
    EmptyCollectionError
        If there are no documents.
    ParameterError
        If a threshold of the model leaves no weight.
    TermwiseError
        If there is anything wrong with the documents, the model or the folder.
    """
    writer, store_text = filling.writer, filling.store_text
    closed = analyzer.vocabulary
    numbers = Numbering() if closed is None else Numbering((token, i) for i, token in enumerate(closed))
    with (
        closing(RowSpill(writer.folder, "counts")) as spill,
        Workers(partial(_count, analyzer, store_text), threads=filling.threads) as workers,
    ):
        if work is None:
            counted = workers.map(_batches(filling.documents))
        else:
            counted = _kept(filling.documents, CountEncoder(analyzer), store_text, work)
        for part in counted:
            writer.add_documents(part.doc_ids, part.texts)
            spill.add(part.indptr, numbers.of(part.tokens)[part.terms], part.counts)
            filling.progress("read documents", writer.documents, filling.length)
        if writer.documents == 0:
            raise empty_collection()
        if closed is None:
            numbers.of(model.added_terms)
        tokens = list(numbers) if closed is not None else sorted(numbers)
        weigher = model.over(Vocabulary(tokens))
        vocabulary = Vocabulary(tokens, background=weigher.has_background_term)
        statistics = _weigh(
            spill,
            numbers,
            filling,
            vocabulary=vocabulary,
            model=weigher,
            chunk=EXPANDED_CHUNK if model.expands else CHUNK,
        )
    spec = analyzer.spec
    return writer.commit(
        vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=not model.expands,
            table=model.table_facts,
        ),
        floors=weigher.floors(statistics),
        attachments={**spec.files, **model.attachments(vocabulary, statistics)},
    )


def _weigh(
    spill: RowSpill,
    numbers: Mapping[str, int],
    filling: Filling,
    *,
    vocabulary: Vocabulary,
    model: CountModel,
    chunk: int,
) -> CollectionStatistics:
    """Turn spilled counts, whose terms are numbered by `numbers`, into weights, in two passes."""
    final = np.empty(len(vocabulary), dtype=np.int32)
    for number, token in enumerate(vocabulary):
        final[numbers[token]] = number

    def parts() -> Iterator[TermWeights]:
        for indptr, terms, counts in spill.read(0, spill.rows, postings=chunk):
            new_terms, new_counts = renumber_rows(indptr, terms, counts, final)
            yield TermWeights(indptr, new_terms, new_counts, vocabulary.id)

    statistics = CollectionStatistics.from_counts(parts(), n_terms=len(vocabulary))
    done = kept = 0
    for counts in parts():
        rows = model.weigh(counts, statistics)
        filling.writer.add_weights(rows)
        done += len(counts)
        kept += rows.nnz
        filling.progress("weigh terms", done, filling.writer.documents)
    if statistics.n_tokens and not kept and model.parameters().get("prune"):
        raise ParameterError(
            "nothing is left of the documents: no weight is as large as the least that is kept",
            facts=[("prune", model.parameters()["prune"])],
            fixes=["choose a smaller one, as in --set prune=0.1, or leave it out for the default"],
        )
    return statistics


@dataclass(frozen=True)
class _Counted:
    """The counts of a batch of documents, over the tokens of the batch."""

    doc_ids: list[str]
    texts: list[str] | None
    tokens: Sequence[str]
    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


def _kept(
    documents: Iterator[Document], encoder: CountEncoder, keep_text: bool, work: Path
) -> Iterator[_Counted]:
    tokens = list(encoder.vocabulary)
    for batch, rows in encoded_blocks(documents, encoder, work):
        texts = [document.text for document in batch] if keep_text else None
        doc_ids = [document.doc_id for document in batch]
        yield _Counted(doc_ids, texts, tokens, rows.indptr, rows.terms, rows.weights)


def _count(analyzer: Analyzer, keep_text: bool, documents: list[Document]) -> _Counted:
    texts = [document.text for document in documents]
    numbered = number_texts(analyzer, texts)
    indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
    doc_ids = [document.doc_id for document in documents]
    return _Counted(doc_ids, texts if keep_text else None, numbered.tokens, indptr, terms, counts)


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    while batch := list(islice(documents, BATCH)):
        for document in batch:
            check_document(document)
        yield batch
