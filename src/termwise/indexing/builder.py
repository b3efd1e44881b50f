"""From a collection to an open index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from termwise.collection import Collection
from termwise.encode import DocumentEncoder
from termwise.encode.encoder_manifest import Precision
from termwise.errors import DuplicateIdError, ParameterError, VocabularyMismatchError
from termwise.index import IndexWriter
from termwise.index.writer import DEFAULT_MEMORY
from termwise.indexing.checks import check_arguments, refuse
from termwise.indexing.context import Filling
from termwise.indexing.count_rows import build_counts
from termwise.indexing.documents import documents_of
from termwise.indexing.encoders import check_together, opened_encoder
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.network_rows import build_network
from termwise.indexing.vector_rows import build_vectors
from termwise.indexing.work_folder import check_apart, check_outside_indexes, work_folder
from termwise.models import CountModel, Model, Model1, NetworkModel, VectorModel
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.search.searcher import Searcher
from termwise.text import Analyzer, analyzer_from_spec, make_analyzer
from termwise.validation import check, check_memory, check_path

DEFAULT_ANALYZER = "english"

VECTORS_ANALYZER = "whitespace"
"""For weights made elsewhere, queries are split at white space: nothing else is known of their tokens."""


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
    progress: Progress = no_progress,
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
        A model, the name of one (`model_names`), or the folder of an encoder (a trained network) or of a translation
        table.
    settings : mapping of str to str, optional
        Parameters of a model given by name or folder, as on the command line.
    analyzer : str or Analyzer, optional
        How text becomes tokens; by default ``english``, or ``whitespace`` for the model ``vectors``. Not for models
        with a network, which have their own; for a translation table only the one it was trained with.
    fields : tuple of str, optional
        Fields of the records to index, joined with a space; see `open_collection`.
    store_text : bool, optional
        Keep the texts, for highlights in explanations.
    quantiser : {"uint8", "float32"}, optional
        See `IndexWriter`. By default ``uint8``; for the exact form of TILDE ``float32``, the only one that preserves
        its order.
    reorder, overwrite, memory, threads, progress
        See `IndexWriter`. More than one thread also starts that many processes for the analysis of a large
        collection; a script that asks for it needs the usual ``if __name__ == "__main__":``.
    encoder : DocumentEncoder, optional
        Runs the network of the model; by default opened from the model. One that was made from an encoder folder has
        to be the encoder that the model names, with the same settings.
    encoding : str or Path, optional
        Folder for the rows of finished blocks of documents, so that an interrupted build resumes from there when it
        is started again. It is kept, so it may not lie inside an index, nor the new index in it. By default it is the
        path of the index with ``.encoding`` appended, and is removed once the index is published. With a translation
        table, counts of documents are kept there if a folder is given, and reused by builds with other settings or
        with another table of the same analyzer.
    precision : {"float32", "int8"}, optional
        Precision of the network; see `termwise.encode.onnx_session.choose_precision`.
    providers : sequence of str, optional
        Execution providers of onnxruntime in order of preference, such as ``cuda``.

    Returns
    -------
    Searcher
        The new index, opened.

    Raises
    ------
    ParameterError
        If an argument is of the wrong type, or two of them are incompatible.
    TermwiseError
        If there is anything wrong with the collection, the settings or the folder; an index that was there before is
        left as it was.

    Examples
    --------
    >>> import tempfile
    >>> documents = [Document("a", "merge two sorted lists"), Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_index(documents, folder).rank("merging lists").doc_ids
    ('a', 'b')
    """
    check_path("path", path)
    check_memory(memory)
    check_arguments(
        collection=collection,
        settings=settings,
        fields=fields,
        threads=threads,
        encoding=encoding,
        progress=progress,
    )
    check(
        "analyzer",
        analyzer,
        isinstance(analyzer, str | Analyzer | None),
        "the name of an analyzer, or one made with termwise.make_analyzer",
    )
    if encoding is not None:
        check_apart(Path(path), Path(encoding))
        check_outside_indexes(Path(encoding))
    chosen = chosen_model(model, settings or {})
    make_writer = partial(
        IndexWriter,
        path,
        quantiser=quantiser or "uint8",
        reorder=reorder,
        store_text=store_text,
        overwrite=overwrite,
        memory=memory,
        threads=threads,
        progress=progress,
    )
    filling = partial(_filling, collection, fields, store_text=store_text, threads=threads, progress=progress)
    if isinstance(chosen, NetworkModel):
        refuse("a network brings its own analyzer", chosen, {"analyzer": analyzer})
        if encoder is not None:
            check_together(chosen, encoder)
        kind = _quantiser(chosen, quantiser, encoder)
        with filling(partial(make_writer, quantiser=kind)) as index:
            running = opened_encoder(
                chosen, encoder, threads=threads, precision=precision, providers=providers
            )
            with work_folder(path, encoding) as work:
                build_network(index, model=chosen, encoder=running, work=work)
        return Searcher.open(path)
    options: dict[str, object] = {"encoder": encoder, "precision": precision, "providers": providers}
    if not isinstance(chosen, Model1):
        options["encoding"] = encoding
    refuse("this goes with a model that has a network", chosen, options)
    if isinstance(chosen, VectorModel):
        if fields is not None:
            raise ParameterError(
                "a file of weights has no fields to choose", facts=[("fields", ",".join(fields))]
            )
        cutter = _made(analyzer, default=VECTORS_ANALYZER)
        build_vectors(
            collection,
            make_writer,
            model=chosen,
            analyzer=cutter,
            store_text=store_text,
            progress=progress,
        )
        return Searcher.open(path)
    if not isinstance(chosen, CountModel):
        raise ParameterError("this model cannot be built from text alone", facts=[("model", chosen.name)])
    cutter = _cutter(analyzer, chosen)
    kept = None if encoding is None else Path(encoding)
    with filling(make_writer) as index:
        build_counts(index, model=chosen, analyzer=cutter, work=kept)
    return Searcher.open(path)


@contextmanager
def _filling(
    collection: str | Path | Collection | Iterable[Document],
    fields: tuple[str, ...] | None,
    make_writer: Callable[[], IndexWriter],
    *,
    store_text: bool,
    threads: int,
    progress: Progress,
) -> Iterator[Filling]:
    """Open a collection, and then the writer of the index that it goes into."""
    documents, length = documents_of(collection, fields)
    with _named(collection), make_writer() as writer:
        yield Filling(
            documents=documents,
            length=length,
            writer=writer,
            store_text=store_text,
            threads=threads,
            progress=progress,
        )


@contextmanager
def _named(collection: object) -> Iterator[None]:
    """Name the collection, if it has a name, in the error for two documents with the same identifier."""
    try:
        yield
    except DuplicateIdError as error:
        where = [("collection", collection)] if isinstance(collection, str | Path) else []
        raise DuplicateIdError(error.message, facts=[*where, *error.facts], fixes=error.fixes) from None


def _cutter(analyzer: str | Analyzer | None, model: CountModel) -> Analyzer:
    """Return the analyzer of the model, which one that is given has to equal, or else the given or default one."""
    if model.analyzer is None:
        return _made(analyzer, default=DEFAULT_ANALYZER)
    theirs = analyzer_from_spec(model.analyzer)
    if analyzer is not None:
        ours = _made(analyzer, default=DEFAULT_ANALYZER).spec
        if ours.fingerprint != theirs.spec.fingerprint:
            its, given = theirs.spec.beside(ours)
            raise VocabularyMismatchError(
                "the model was made for texts that are cut in another way",
                facts=[
                    ("model", f"{model.name}  {its}"),
                    ("analyzer", given),
                    ("why", "it knows nothing of words that are cut otherwise; scores would mean little"),
                ],
                fixes=["leave the analyzer out"],
            )
    return theirs


def _made(analyzer: str | Analyzer | None, *, default: str) -> Analyzer:
    return analyzer if isinstance(analyzer, Analyzer) else make_analyzer(analyzer or default)


def _quantiser(
    model: NetworkModel, quantiser: Literal["uint8", "float32"] | None, encoder: DocumentEncoder | None
) -> Literal["uint8", "float32"]:
    exact = model.parameters().get("form") == "exact" or (
        encoder is not None and encoder.gives_log_likelihoods
    )
    if exact and quantiser == "uint8":
        raise ParameterError(
            "one byte a weight does not keep the order of the exact form",
            facts=[("model", model.name), ("quantiser", quantiser)],
            fixes=["leave the quantiser out", "--set form=compact"],
        )
    return quantiser or ("float32" if exact else "uint8")
