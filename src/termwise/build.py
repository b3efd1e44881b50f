"""From a collection to an index: the one place where models and the index meet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Literal

import numpy as np
import numpy.typing as npt

from termwise.collection import Collection, CollectionStatistics, open_collection
from termwise.errors import DuplicateIdError, EmptyCollectionError, ParameterError
from termwise.index import IndexWriter, Manifest
from termwise.index.spill import RowSpill
from termwise.index.writer import DEFAULT_MEMORY, Progress, silent
from termwise.kernels.counting import count_rows
from termwise.kernels.rows import renumber_rows
from termwise.models import CountModel, Model, VectorModel, make_model, read_vectors
from termwise.records import Document
from termwise.search.encoding import encoder_description
from termwise.search.searcher import Searcher
from termwise.text import Analyzer, Vocabulary, make_analyzer
from termwise.weights import TermWeights

BATCH = 512
"""Documents analysed at a time."""

WORTH_PROCESSES = 20_000
"""Collections of fewer documents are analysed before further processes would have started."""

CHUNK = 1 << 20
"""Postings weighed at a time."""

DEFAULT_ANALYZER = "english"

VECTORS_ANALYZER = "whitespace"
"""Queries for weights made elsewhere: tokens as they are written, since nothing else can be known of them."""


def build_index(
    collection: str | Path | Collection | Iterable[Document],
    path: str | Path,
    *,
    model: str | Model = "bm25",
    settings: Mapping[str, str] | None = None,
    analyzer: str | Analyzer | None = None,
    fields: tuple[str, ...] | None = None,
    store_text: bool = False,
    quantiser: Literal["uint8", "float32"] = "uint8",
    reorder: bool = True,
    overwrite: bool = False,
    threads: int = 1,
    memory: int = DEFAULT_MEMORY,
    progress: Progress = silent,
) -> Searcher:
    """Index a collection and open it for searching.

    Parameters
    ----------
    collection : str, Path, Collection or iterable of Document
        A BEIR folder, a JSONL or TSV file, ``"ir_datasets:ID"``, ``"python:stdlib"``, or documents. For the model
        ``vectors``, the file of weights.
    path : str or Path
        Folder of the index.
    model : str or Model, optional
        A model, or the name of one (`model_names`).
    settings : mapping of str to str, optional
        Parameters for a model given by name, as on the command line.
    analyzer : str or Analyzer, optional
        How text becomes tokens; ``english`` where nothing is said, ``whitespace`` for the model ``vectors``.
    fields : tuple of str, optional
        Fields of the records to index, joined with a space; see `open_collection`.
    store_text : bool, optional
        Keep the texts, for highlights in explanations.
    quantiser, reorder, overwrite, memory, threads, progress
        See `IndexWriter`. More than one thread also starts that many processes for the analysis of a large
        collection; a script that asks for it needs the usual ``if __name__ == "__main__":``.

    Returns
    -------
    Searcher
        The new index, opened.

    Raises
    ------
    TermwiseError
        Whatever is wrong with the collection, the settings or the folder; an index that was there before is left
        as it was.

    Examples
    --------
    >>> import tempfile
    >>> documents = [Document("a", "merge two sorted lists"), Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_index(documents, folder).rank("merging lists").doc_ids
    ('a', 'b')
    """
    chosen = make_model(model, settings or {}) if isinstance(model, str) else model
    if not isinstance(model, str) and settings:
        raise ParameterError("settings go with the name of a model; this one is made already")
    writer_options = partial(
        IndexWriter,
        path,
        quantiser=quantiser,
        reorder=reorder,
        overwrite=overwrite,
        memory=memory,
        threads=threads,
        progress=progress,
    )
    if isinstance(chosen, VectorModel):
        if fields is not None:
            raise ParameterError(
                "a file of weights has no fields to choose", facts=[("fields", ",".join(fields))]
            )
        cutter = _made(analyzer, default=VECTORS_ANALYZER)
        _build_vectors(collection, chosen, cutter, writer_options, store_text=store_text, progress=progress)
        return Searcher.open(path)
    if not isinstance(chosen, CountModel):
        raise ParameterError("this model cannot be built from text alone", facts=[("model", chosen.name)])
    cutter = _made(analyzer, default=DEFAULT_ANALYZER)
    documents, length = _documents(collection, fields)
    try:
        with writer_options(store_text=store_text) as writer:
            _build_counts(documents, length, chosen, cutter, writer, store_text, threads, progress)
    except DuplicateIdError as error:
        where = [("collection", collection)] if isinstance(collection, str | Path) else []
        raise DuplicateIdError(error.message, facts=[*where, *error.facts], fixes=error.fixes) from None
    return Searcher.open(path)


def _made(analyzer: str | Analyzer | None, *, default: str) -> Analyzer:
    return analyzer if isinstance(analyzer, Analyzer) else make_analyzer(analyzer or default)


def _documents(
    collection: str | Path | Collection | Iterable[Document], fields: tuple[str, ...] | None
) -> tuple[Iterator[Document], int | None]:
    if isinstance(collection, str | Path):
        collection = open_collection(collection, fields=fields)
    if isinstance(collection, Collection):
        return collection.documents(), collection.length
    return iter(collection), len(collection) if isinstance(collection, Sized) else None


# --- models that are a function of counts -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted:
    """The counts of a batch of documents, over the tokens of the batch."""

    doc_ids: list[str]
    texts: list[str] | None
    tokens: list[str]
    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


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
            if not isinstance(document, Document) or not all(isinstance(part, str) for part in document):
                raise ParameterError(
                    "a collection is made of documents, each with two strings: doc_id and text",
                    facts=[("given", f"{type(document).__name__}: {str(document)[:80]}")],
                    fixes=["termwise.Document('id', 'text')"],
                )
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


def _build_counts(
    documents: Iterator[Document],
    length: int | None,
    model: CountModel,
    analyzer: Analyzer,
    writer: IndexWriter,
    store_text: bool,
    threads: int,
    progress: Progress,
) -> Manifest:
    closed = analyzer.vocabulary
    numbers: dict[str, int] = {} if closed is None else {token: i for i, token in enumerate(closed)}
    with closing(RowSpill(writer.folder, "counts")) as spill:
        for part in _counted(documents, partial(_count, analyzer, store_text), threads):
            writer.add_documents(part.doc_ids, part.texts)
            known = np.array(
                [numbers.setdefault(token, len(numbers)) for token in part.tokens], dtype=np.int32
            )
            spill.add(part.indptr, known[part.terms], part.counts)
            progress("read documents", writer.documents, length)
        if writer.documents == 0:
            raise EmptyCollectionError(
                "the collection holds no documents", fixes=["check the path and the format of the collection"]
            )
        tokens = list(numbers) if closed is not None else sorted(numbers)
        vocabulary = Vocabulary(tokens, background=model.background)
        statistics = _weigh(spill, numbers, vocabulary, model, writer, progress)
    spec = analyzer.spec
    return writer.commit(
        vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=True,
        ),
        floors=model.floors(statistics),
        attachments=spec.files,
    )


def _weigh(
    spill: RowSpill,
    numbers: Mapping[str, int],
    vocabulary: Vocabulary,
    model: CountModel,
    writer: IndexWriter,
    progress: Progress,
) -> CollectionStatistics:
    """Turn the spilled counts into weights, in two passes; `numbers` are those the counts were spilled with."""
    final = np.empty(len(vocabulary), dtype=np.int32)
    for number, token in enumerate(vocabulary):
        final[numbers[token]] = number

    def parts() -> Iterator[TermWeights]:
        for indptr, terms, counts in spill.read(0, spill.rows, postings=CHUNK):
            new_terms, new_counts = renumber_rows(indptr, terms, counts, final)
            yield TermWeights(indptr, new_terms, new_counts, vocabulary.id)

    statistics = CollectionStatistics.from_counts(parts(), n_terms=len(vocabulary))
    done = 0
    for counts in parts():
        writer.add_weights(model.weigh(counts, statistics))
        done += len(counts)
        progress("weigh terms", done, writer.documents)
    return statistics


# --- weights that come from a file ------------------------------------------------------------------------------


def _build_vectors(
    collection: str | Path | Collection | Iterable[Document],
    model: VectorModel,
    analyzer: Analyzer,
    make_writer: Callable[..., IndexWriter],
    *,
    store_text: bool,
    progress: Progress,
) -> Manifest:
    if not isinstance(collection, str | Path):
        raise ParameterError("the model vectors reads a file of weights", fixes=["give its path"])
    source = read_vectors(collection, analyzer=analyzer)
    with_text = 0
    with make_writer(store_text=store_text) as writer:
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
