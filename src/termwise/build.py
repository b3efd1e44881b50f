"""From a collection to an index: the one place where models and the index meet."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
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
from termwise.encode import DocumentEncoder, EncoderFolder, encoded_blocks, open_document_encoder
from termwise.encode.blocks import NAME as ENCODING
from termwise.errors import (
    DuplicateIdError,
    EmptyCollectionError,
    ParameterError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import IndexWriter, Manifest
from termwise.index.spill import RowSpill
from termwise.index.writer import DEFAULT_MEMORY, Progress, silent
from termwise.kernels.counting import count_rows
from termwise.kernels.rows import renumber_rows
from termwise.models import (
    CountModel,
    Model,
    NetworkModel,
    VectorModel,
    make_model,
    model_names,
    read_vectors,
)
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

BELOW = 2.0**-10
"""How far below the smallest log-likelihood of a term its floor lies in the exact form, in nats."""

Precision = Literal["float32", "int8"]
"""In which numbers a network computes."""

DEFAULT_ANALYZER = "english"

VECTORS_ANALYZER = "whitespace"
"""Queries for weights made elsewhere: tokens as they are written, since nothing else can be known of them."""


def build_index(
    collection: str | Path | Collection | Iterable[Document],
    path: str | Path,
    *,
    model: str | Path | Model = "bm25",
    settings: Mapping[str, str] | None = None,
    analyzer: str | Analyzer | None = None,
    fields: tuple[str, ...] | None = None,
    store_text: bool = False,
    quantiser: Literal["uint8", "float32"] | None = None,
    reorder: bool = True,
    overwrite: bool = False,
    threads: int = 1,
    memory: int = DEFAULT_MEMORY,
    encoder: DocumentEncoder | None = None,
    encoding: str | Path | None = None,
    precision: Precision | None = None,
    providers: Sequence[str] | None = None,
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
    model : str, Path or Model, optional
        A model, the name of one (`model_names`), or the folder of an encoder: a trained network, which says of
        itself of which model it is.
    settings : mapping of str to str, optional
        Parameters for a model given by name or folder, as on the command line.
    analyzer : str or Analyzer, optional
        How text becomes tokens; ``english`` where nothing is said, ``whitespace`` for the model ``vectors``. Not
        for models with a network, which brings its own.
    fields : tuple of str, optional
        Fields of the records to index, joined with a space; see `open_collection`.
    store_text : bool, optional
        Keep the texts, for highlights in explanations.
    quantiser : {"uint8", "float32"}, optional
        See `IndexWriter`. Where nothing is said, ``uint8``; for the exact form of TILDE ``float32``, which is the
        only one that keeps its order.
    reorder, overwrite, memory, threads, progress
        See `IndexWriter`. More than one thread also starts that many processes for the analysis of a large
        collection; a script that asks for it needs the usual ``if __name__ == "__main__":``.
    encoder : DocumentEncoder, optional
        What runs the network of the model; opened from the model where nothing is given.
    encoding : str or Path, optional
        Folder where a network leaves the rows of finished blocks of documents, so that a build that was
        interrupted goes on from there when it is started again. It is kept. Where nothing is said, it is the path of
        the index with ``.encoding`` at its end, and is removed once the index is published.
    precision : {"float32", "int8"}, optional
        In which numbers the network computes; see `termwise.encode.session.choose_precision`.
    providers : sequence of str, optional
        Execution providers of onnxruntime in order of preference, such as ``cuda``.

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
    chosen = chosen_model(model, settings or {})
    if not isinstance(chosen, NetworkModel):
        _refuse(
            "this goes with a model that has a network",
            chosen,
            {"encoder": encoder, "encoding": encoding, "precision": precision, "providers": providers},
        )
    make_writer = partial(
        IndexWriter,
        path,
        quantiser=_quantiser(chosen, quantiser, encoder),
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
        _build_vectors(collection, chosen, cutter, make_writer, store_text=store_text, progress=progress)
        return Searcher.open(path)
    if isinstance(chosen, NetworkModel):
        _refuse("a network brings its own analyzer", chosen, {"analyzer": analyzer})
    elif not isinstance(chosen, CountModel):
        raise ParameterError("this model cannot be built from text alone", facts=[("model", chosen.name)])
    documents, length = _documents(collection, fields)
    try:
        with make_writer(store_text=store_text) as writer:
            if not isinstance(chosen, NetworkModel):
                cutter = _made(analyzer, default=DEFAULT_ANALYZER)
                _build_counts(documents, length, chosen, cutter, writer, store_text, threads, progress)
            else:
                running = _opened(chosen, encoder, threads=threads, precision=precision, providers=providers)
                with _work_folder(path, encoding) as work:
                    _build_network(documents, length, chosen, running, writer, work, store_text, progress)
    except DuplicateIdError as error:
        where = [("collection", collection)] if isinstance(collection, str | Path) else []
        raise DuplicateIdError(error.message, facts=[*where, *error.facts], fixes=error.fixes) from None
    return Searcher.open(path)


@dataclass(frozen=True)
class EncodedShare:
    """What `encode_collection` did, and what is left to do.

    Attributes
    ----------
    documents : int
        Documents of the collection.
    blocks : int
        Blocks they make.
    share : int
        Blocks of this share, all of them finished now.
    finished : int
        Blocks that are finished, whoever encoded them.
    """

    documents: int
    blocks: int
    share: int
    finished: int

    @property
    def left(self) -> int:
        """Blocks that nobody has encoded yet."""
        return self.blocks - self.finished


def encode_collection(
    collection: str | Path | Collection | Iterable[Document],
    encoding: str | Path,
    *,
    model: str | Path | NetworkModel,
    settings: Mapping[str, str] | None = None,
    fields: tuple[str, ...] | None = None,
    shard: tuple[int, int] = (1, 1),
    threads: int = 1,
    encoder: DocumentEncoder | None = None,
    precision: Precision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = silent,
) -> EncodedShare:
    """Run a network over a share of a collection, for `build_index` to find.

    A collection is encoded in blocks, and a share is every n-th of them. Shares can be encoded one after another or on
    several machines that have the same collection and write into one folder, or into folders of their own whose files
    are put together afterwards. Blocks that are there already are not encoded again.

    Parameters
    ----------
    collection, model, settings, fields, threads, encoder, precision, providers, progress
        See `build_index`, which has to get the same.
    encoding : str or Path
        Folder for the rows; `build_index` takes it as `encoding`.
    shard : (int, int), optional
        Part i of n, counted from 1.

    Raises
    ------
    ParameterError
        If the model has no network, or there is no such part.
    EmptyCollectionError
        If the collection holds no documents.
    TermwiseError
        Whatever is wrong with the collection, the settings, the encoder or the folder.
    """
    chosen = chosen_model(model, settings or {})
    if not isinstance(chosen, NetworkModel):
        raise ParameterError(
            "only models with a network encode documents before they are indexed",
            facts=[("model", chosen.name)],
            fixes=[f"termwise index COLLECTION --model {chosen.name} --out DIR"],
        )
    documents, length = _documents(collection, fields)
    running = _opened(chosen, encoder, threads=threads, precision=precision, providers=providers)
    passed = 0

    def counted() -> Iterator[Document]:
        nonlocal passed
        for batch in _batches(documents):
            passed += len(batch)
            yield from batch

    parts = encoded_blocks(counted(), running, encoding, shard=shard, length=length, progress=progress)
    share = sum(1 for _ in parts)
    if passed == 0:
        raise _empty()
    blocks = -(-passed // running.block)
    finished = {number for number in _block_numbers(Path(encoding)) if number < blocks}
    return EncodedShare(passed, blocks, share, len(finished))


def default_encoding(path: str | Path) -> Path:
    """Return where `build_index` keeps finished blocks of documents while it builds the index at `path`."""
    return Path(f"{path}.encoding")


def finished_blocks(encoding: str | Path) -> int:
    """Return how many blocks of documents a folder holds; 0 where it does not exist."""
    return len(_block_numbers(Path(encoding)))


def all_blocks(encoding: str | Path, documents: int) -> int | None:
    """Return how many blocks so many documents make in a folder; None where the folder does not say."""
    try:
        size = json.loads((Path(encoding) / ENCODING).read_text())["block"]
        return -(-documents // int(size))
    except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError):
        return None


def chosen_model(model: str | Path | Model, settings: Mapping[str, str]) -> Model:
    """Return the model that a user means: one that is made, the name of one, or the folder of an encoder.

    Parameters
    ----------
    model : str, Path or Model
        See `build_index`. What is a name and a folder is the name; ``./tilde`` is a folder.
    settings : mapping of str to str
        Parameters for a model given by name or folder.

    Raises
    ------
    UnknownNameError
        If there is no such model or parameter.
    ParameterError
        If a value is out of range, or there are settings for a model that is made already.
    MissingFileError, ModelFormatError, CorruptModelError
        If a folder is not that of an encoder.
    """
    if not isinstance(model, str | Path):
        if settings:
            raise ParameterError("settings go with the name of a model; this one is made already")
        return model
    if model in model_names() or (isinstance(model, str) and not _is_path(model)):
        return make_model(str(model), settings)
    if "encoder" in settings:
        raise ParameterError(
            "the encoder is named twice",
            facts=[("model", model), ("encoder", settings["encoder"])],
            fixes=["leave the setting encoder out"],
        )
    kind = EncoderFolder.open(Path(model)).manifest.kind
    name = str(model) if os.sep in str(model) else os.path.join(os.curdir, model)
    return make_model(kind, {**settings, "encoder": name})


def _is_path(name: str) -> bool:
    return os.sep in name or os.path.isdir(name)


def _refuse(why: str, model: Model, options: Mapping[str, object]) -> None:
    """Refuse options that would be ignored."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            why,
            facts=[("model", model.name), ("given", ", ".join(given))],
            fixes=[f"leave {' and '.join(given)} out"],
        )


def _empty() -> EmptyCollectionError:
    return EmptyCollectionError(
        "the collection holds no documents", fixes=["check the path and the format of the collection"]
    )


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
            raise _empty()
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


# --- weights that a network makes -------------------------------------------------------------------------------


_BLOCK = re.compile(r"block-(\d{6,})\.rows")


def _block_numbers(folder: Path) -> list[int]:
    try:
        found = [_BLOCK.fullmatch(entry.name) for entry in folder.iterdir()]
    except OSError:
        return []
    return [int(name.group(1)) for name in found if name is not None]


@contextmanager
def _work_folder(path: str | Path, encoding: str | Path | None) -> Iterator[Path]:
    """Give the folder for finished blocks; the one nobody named goes when it is not needed any more."""
    if encoding is not None:
        yield Path(encoding)
        return
    work = default_encoding(path)
    try:
        yield work
    except BaseException:
        if not finished_blocks(work):
            _remove_blocks(work)
        raise
    _remove_blocks(work)


def _remove_blocks(folder: Path) -> None:
    """Remove a work folder that has done its service; what it should not hold stays."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.name == ENCODING or _BLOCK.fullmatch(entry.name):
                entry.unlink()
        folder.rmdir()


def _opened(
    model: NetworkModel,
    encoder: DocumentEncoder | None,
    *,
    threads: int,
    precision: Precision | None,
    providers: Sequence[str] | None,
) -> DocumentEncoder:
    if encoder is not None:
        given = {"precision": precision, "providers": providers}
        _refuse("an encoder that is open already has these", model, given)
        return encoder
    return open_document_encoder(model, threads=threads, precision=precision, providers=providers)


def _quantiser(
    model: Model, quantiser: Literal["uint8", "float32"] | None, encoder: DocumentEncoder | None
) -> Literal["uint8", "float32"]:
    exact = model.parameters().get("form") == "exact" or (encoder is not None and encoder.minimum_floor)
    if exact and quantiser == "uint8":
        raise ParameterError(
            "one byte a weight does not keep the order of the exact form",
            facts=[("model", model.name), ("quantiser", quantiser)],
            fixes=["leave the quantiser out", "--set form=compact"],
        )
    return quantiser or ("float32" if exact else "uint8")


def _build_network(
    documents: Iterator[Document],
    length: int | None,
    model: Model,
    encoder: DocumentEncoder,
    writer: IndexWriter,
    work: Path,
    store_text: bool,
    progress: Progress,
) -> Manifest:
    spec = encoder.analyzer.spec
    closed = encoder.analyzer.vocabulary
    if closed is None or closed.id != encoder.vocabulary.id:
        raise VocabularyMismatchError(
            "the encoder cuts queries into terms of another vocabulary than its rows have",
            facts=[
                ("documents", f"{len(encoder.vocabulary)} terms  {encoder.vocabulary.id}"),
                (
                    "queries",
                    f"{spec.name}  {'open' if closed is None else f'{len(closed)} terms  {closed.id}'}",
                ),
                ("why", "the same number is another word in each; scores would mean nothing"),
            ],
        )
    checked = chain.from_iterable(_batches(documents))
    with closing(_Likelihoods(writer.folder, encoder)) as likelihoods:
        for batch, rows in encoded_blocks(checked, encoder, work, length=length, progress=progress):
            texts = [document.text for document in batch] if store_text else None
            writer.add_documents([document.doc_id for document in batch], texts)
            if encoder.minimum_floor:
                likelihoods.add(rows)
            else:
                writer.add_weights(rows)
        if writer.documents == 0:
            raise _empty()
        floors = encoder.floors
        if encoder.minimum_floor:
            floors = likelihoods.floors
            likelihoods.write(writer, progress)
    return writer.commit(
        encoder.vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=encoder.exact,
            network=encoder.description,
        ),
        floors=floors,
        attachments=spec.files,
    )


class _Likelihoods:
    """Rows of ln P(t|d), kept until the smallest of each term is known.

    A term is either in every row that is not empty or in none, so that a missing one is never mistaken for a likely
    one. The floor of a term lies just below the smallest, so that every document with a piece is a result of every
    query; one without has an empty row, and the floor of every term.
    """

    def __init__(self, folder: Path, encoder: DocumentEncoder) -> None:
        self._spill = RowSpill(folder, "likelihoods")
        self._vocabulary = encoder.vocabulary.id
        self._terms: npt.NDArray[np.int32] | None = None
        self._smallest = np.zeros(len(encoder.vocabulary), dtype=np.float64)

    @property
    def floors(self) -> npt.NDArray[np.float64]:
        """What an absent term contributes: shape (V,), 0 for terms of no row."""
        floors = self._smallest.copy()
        if self._terms is not None:
            floors[self._terms] -= BELOW
        return floors

    def add(self, rows: TermWeights) -> None:
        """Keep some rows."""
        for terms, weights in rows:
            if len(terms) == 0:
                continue
            if self._terms is None:
                self._terms = terms
                self._smallest[terms] = weights
            if not np.array_equal(terms, self._terms):
                raise WeightError(
                    "rows of the exact form hold the same terms, all of them",
                    facts=[("terms", len(terms)), ("in the first row", len(self._terms))],
                )
            self._smallest[terms] = np.minimum(self._smallest[terms], weights)
        self._spill.add(rows.indptr, rows.terms, rows.weights)

    def write(self, writer: IndexWriter, progress: Progress) -> None:
        """Hand the rows on, with the floor of each term subtracted."""
        floors = self.floors
        done = 0
        for indptr, terms, weights in self._spill.read(0, self._spill.rows, postings=CHUNK):
            above = weights.astype(np.float64) - floors[terms]
            writer.add_weights(TermWeights(indptr, terms, above, self._vocabulary))
            done += len(indptr) - 1
            progress("subtract floors", done, self._spill.rows)

    def close(self) -> None:
        """Remove what was kept."""
        self._spill.close()
