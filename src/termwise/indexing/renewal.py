"""`renew_index`: weigh the documents of an index again from their texts, if it keeps no counts of their terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from termwise.engine.query_encoder import analyzer_of
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.updater import IndexUpdater, refuse_part_of_mixture
from termwise.index.writer import DEFAULT_MEMORY
from termwise.indexing.builder import build_index
from termwise.indexing.field_weights import stored_document
from termwise.indexing.mixture_updater import MixtureUpdater
from termwise.indexing.model_choice import model_of
from termwise.indexing.options import BuildOptions
from termwise.indexing.reweighing import weigh_again_of
from termwise.models import CountModel
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.search.mixture_folder import is_mixture
from termwise.search.opening import open_searcher
from termwise.search.searcher import Searcher
from termwise.validation import check_path

BATCH = 4096
"""Documents to read at a time."""


def renew_index(
    path: str | Path, *, threads: int = 1, memory: int = DEFAULT_MEMORY, progress: Progress = no_progress
) -> Searcher:
    """Weigh all documents of an index or a mixture again, from the counts of their terms or from their stored texts.

    Afterwards the index has the weights, the ranking and one segment of a new build of its documents in their current
    order. In a mixture, the parts with models of term counts become those of a new build, all in one atomic step, and
    the segments of the other parts are merged. For an index that keeps counts, `LiveWriter.merge` does the same. An
    index of ``model1``, and one that was written before counts were kept, have the statistics of the build until they
    are weighed again from texts.

    Parameters
    ----------
    path : str or Path
        Folder of an index of a model of term counts that keeps counts or stores texts, or of a mixture with such a
        part, and with the texts in any part. Readers keep the generation that they opened.
    threads, memory, progress
        See `BuildOptions`.

    Returns
    -------
    Searcher
        The new generation.

    Raises
    ------
    ParameterError
        If there are neither counts nor texts, or no documents; if all weights depend on the text of a document alone,
        or if the index is a part of a mixture.
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
    ...         added = writer.add([Document("b", "a red pot"), Document("c", "a cup of tea")])
    ...     renew_index(folder).rank("tea").doc_ids
    ('a', 'c')
    """
    check_path("path", path)
    folder = Path(path)
    options = BuildOptions(threads=threads, memory=memory, progress=progress)
    if is_mixture(folder):
        _renew_mixture(folder, options)
        return open_searcher(folder)
    index = Index.open(folder)
    refuse_part_of_mixture(index.path)
    (model,) = _models_to_renew([index], folder)
    assert model is not None, "the only index has a model of term counts"
    weigh_again = weigh_again_of(index, options)
    if weigh_again is not None:
        with IndexUpdater(
            index, threads=threads, memory=memory, progress=progress, weigh_again=weigh_again
        ) as updater:
            updater.merge()
        return open_searcher(folder)
    _source(index, [index])

    def documents() -> Iterator[Document]:
        current = Index.open(folder)  # with the first document, when the build holds the lock
        yield from _documents(current, current)

    return _built(index, model, documents(), folder, options=options, overwrite=True)


def _renew_mixture(folder: Path, options: BuildOptions) -> None:
    """Weigh the parts with models of term counts again, and merge the segments of the others."""

    def open_part(index: Index) -> IndexUpdater:
        return IndexUpdater(
            index,
            threads=options.threads,
            memory=options.memory,
            progress=options.progress,
            weigh_again=weigh_again_of(index, options),
            in_mixture=True,
        )

    with MixtureUpdater(folder, open_part) as mixture:
        indexes = [part.index for part in mixture.parts]
        sources = {
            part: (model, _source(part.index, indexes))
            for part, model in zip(mixture.parts, _models_to_renew(indexes, folder), strict=True)
            if model is not None and weigh_again_of(part.index, options) is None
        }
        for part, (model, source) in sources.items():
            documents = _documents(part.index, source)
            _built(part.index, model, documents, part.folder / "renewed", options=options)
            part.replace_by(part.folder / "renewed")
        mixture.merge()


def _models_to_renew(indexes: Sequence[Index], path: Path) -> list[CountModel | None]:
    """Return the models of term counts of indexes, None for others; raise an error if there are only others."""
    models, names = [], []
    for index in indexes:
        model = model_of(index)
        models.append(model if isinstance(model, CountModel) else None)
        names.append(index.manifest.encoder.model.name or "unknown")
    if not any(models):
        raise ParameterError(
            "this index has no statistics to renew",
            facts=[
                ("index", path),
                ("model", ", ".join(names)),
                ("reason", "only models of term counts weigh a text with statistics of the whole collection"),
            ],
            fixes=["merge its segments without renewing them"],
        )
    return models


def _source(index: Index, indexes: Sequence[Index]) -> Index:
    """Return the first of some indexes whose stored texts can be weighed for `index`."""
    names = list(index.manifest.field_weights)
    fitting = (
        each for each in indexes if each.stores_text and names in ([], list(each.manifest.field_weights))
    )
    source = next(fitting, None)
    if source is None:
        raise ParameterError(
            "this index keeps no texts, from which its weights could be computed again",
            facts=[("index", index.path)],
            fixes=[Fix.build("build it again from the collection, with {}", store_text=True)],
        )
    if not len(index):
        raise ParameterError(
            "this index has no documents whose weights could be computed again",
            facts=[("index", index.path)],
            fixes=["add documents first"],
        )
    return source


def _built(
    index: Index,
    model: CountModel,
    documents: Iterable[Document],
    path: Path,
    *,
    options: BuildOptions,
    overwrite: bool = False,
) -> Searcher:
    """Build an index with the settings of another one."""
    return build_index(
        documents,
        path,
        model=model,
        analyzer=analyzer_of(index),
        fields=index.manifest.field_weights or index.manifest.fields or None,
        attributes=index.schema or None,
        chunk=index.manifest.chunk or None,
        store_text=index.stores_text,
        overwrite=overwrite,
        options=replace(
            options,
            quantiser="float32" if index.manifest.quantiser.kind == "float32" else "uint8",
            html=index.manifest.html,
        ),
    )


def _documents(index: Index, source: Index) -> Iterator[Document]:
    """Yield the documents of an index, with the texts that another index of the same documents stores."""
    weights = source.manifest.field_weights if index.manifest.field_weights else {}
    for start in range(0, index.documents, BATCH):
        places = slice(start, start + BATCH)
        ordinals = index.chunks.starts[places]
        others = source.chunks.starts[places]
        texts = source.store.document_texts(others)
        rows = zip(index.doc_ids(ordinals), texts, index.attributes(ordinals), strict=True)
        for doc_id, text, attributes in rows:
            yield stored_document(doc_id, text, attributes, weights)
