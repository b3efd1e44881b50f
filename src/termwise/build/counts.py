"""Rows that are a function of term counts and of the statistics of the collection."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import numpy as np
import numpy.typing as npt

from termwise.arguments import check_document
from termwise.build.documents import empty_collection
from termwise.build.kept_counts import CountEncoder
from termwise.collection import CollectionStatistics
from termwise.encode import encoded_blocks
from termwise.index import IndexWriter, Manifest
from termwise.index.spill import RowSpill
from termwise.index.writer import Progress
from termwise.kernels.counting import count_rows
from termwise.kernels.rows import renumber_rows
from termwise.models import AnnotatingModel, CountModel, ExpandingCountModel
from termwise.records import Document
from termwise.search.encoding import encoder_description
from termwise.text import Analyzer, Vocabulary
from termwise.weights import TermWeights

BATCH = 512
"""Documents analysed at a time."""

WORTH_PROCESSES = 20_000
"""Collections of fewer documents are analysed before further processes would have started."""

CHUNK = 1 << 20
"""Postings weighed at a time."""

EXPANDED_CHUNK = 1 << 16
"""Postings weighed at a time by a model that may add hundreds of terms for each."""


def build_counts(
    documents: Iterator[Document],
    length: int | None,
    model: CountModel | ExpandingCountModel,
    analyzer: Analyzer,
    writer: IndexWriter,
    store_text: bool,
    threads: int,
    progress: Progress,
    work: Path | None = None,
) -> Manifest:
    """Count tokens, fix the vocabulary, weigh the counts, and publish the index.

    Counts are kept in the folder `work`, and taken from there, where one is named.

    Raises
    ------
    EmptyCollectionError
        If there are no documents.
    TermwiseError
        Whatever is wrong with documents, model or folder.
    """
    closed = analyzer.vocabulary
    numbers: dict[str, int] = {} if closed is None else {token: i for i, token in enumerate(closed)}
    with closing(RowSpill(writer.folder, "counts")) as spill:
        if work is None:
            counted = _counted(documents, partial(_count, analyzer, store_text), threads)
        else:
            counted = _kept(documents, CountEncoder(analyzer), store_text, work)
        for part in counted:
            writer.add_documents(part.doc_ids, part.texts)
            known = np.array(
                [numbers.setdefault(token, len(numbers)) for token in part.tokens], dtype=np.int32
            )
            spill.add(part.indptr, known[part.terms], part.counts)
            progress("read documents", writer.documents, length)
        if writer.documents == 0:
            raise empty_collection()
        if closed is None and isinstance(model, ExpandingCountModel):
            for token in model.added_terms:
                numbers.setdefault(token, len(numbers))
        tokens = list(numbers) if closed is not None else sorted(numbers)
        weigher = model.over(Vocabulary(tokens)) if isinstance(model, ExpandingCountModel) else model
        vocabulary = Vocabulary(tokens, background=weigher.background)
        chunk = EXPANDED_CHUNK if isinstance(model, ExpandingCountModel) else CHUNK
        statistics = _weigh(spill, numbers, vocabulary, weigher, chunk, writer, progress)
    spec = analyzer.spec
    files = model.files(vocabulary, statistics) if isinstance(model, AnnotatingModel) else {}
    return writer.commit(
        vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=not isinstance(model, ExpandingCountModel),
        ),
        floors=weigher.floors(statistics),
        attachments={**spec.files, **files},
    )


def _weigh(
    spill: RowSpill,
    numbers: Mapping[str, int],
    vocabulary: Vocabulary,
    model: CountModel,
    chunk: int,
    writer: IndexWriter,
    progress: Progress,
) -> CollectionStatistics:
    """Turn the spilled counts into weights, in two passes; `numbers` are those the counts were spilled with."""
    final = np.empty(len(vocabulary), dtype=np.int32)
    for number, token in enumerate(vocabulary):
        final[numbers[token]] = number

    def parts() -> Iterator[TermWeights]:
        for indptr, terms, counts in spill.read(0, spill.rows, postings=chunk):
            new_terms, new_counts = renumber_rows(indptr, terms, counts, final)
            yield TermWeights(indptr, new_terms, new_counts, vocabulary.id)

    statistics = CollectionStatistics.from_counts(parts(), n_terms=len(vocabulary))
    done = 0
    for counts in parts():
        writer.add_weights(model.weigh(counts, statistics))
        done += len(counts)
        progress("weigh terms", done, writer.documents)
    return statistics


@dataclass(frozen=True)
class _Counted:
    """The counts of a batch of documents, over the tokens of the batch."""

    doc_ids: list[str]
    texts: list[str] | None
    tokens: list[str]
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
    numbers: dict[str, int] = {}
    indptr = [0]
    found: list[int] = []
    for document in documents:
        found.extend(numbers.setdefault(token, len(numbers)) for token in analyzer.tokens(document.text))
        indptr.append(len(found))
    boundaries, terms, counts = count_rows(np.array(indptr, dtype=np.int64), np.array(found, dtype=np.int32))
    texts = [document.text for document in documents] if keep_text else None
    return _Counted(
        [document.doc_id for document in documents], texts, list(numbers), boundaries, terms, counts
    )


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    while batch := list(islice(documents, BATCH)):
        for document in batch:
            check_document(document)
        yield batch


def _counted(
    documents: Iterator[Document], count: Callable[[list[Document]], _Counted], threads: int
) -> Iterator[_Counted]:
    """Analyse batches in order: here at first, in further processes once the collection proves large."""
    batches = _batches(documents)
    patience = WORTH_PROCESSES // BATCH if threads > 1 else None
    yield from map(count, islice(batches, patience))
    following = next(batches, None)
    if following is None:
        return
    workers = min(threads, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        waiting = []
        for batch in chain([following], batches):
            waiting.append(pool.submit(count, batch))
            if len(waiting) > 4 * threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _end_with_parent() -> None:
    """Let a worker end when the process that started it does, however that ends."""

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()
