"""`build_index`: build an index of a collection with any model, and open it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from termwise.attributes import Schema
from termwise.collection import Collection
from termwise.collection.fields import FieldChoice
from termwise.collection.file_collections import RecordFile, TabSeparatedCollection
from termwise.collection.record_collection import RecordCollection
from termwise.encode import DocumentEncoder
from termwise.errors import ParameterError, VocabularyMismatchError
from termwise.fixes import Fix
from termwise.index import IndexWriter
from termwise.indexing.chunks import cut
from termwise.indexing.context import (
    cannot_be_empty,
    check_network_options,
    collection_named,
    decided_source,
    open_documents,
    refuse_arguments,
    roles_of,
    say_left_out,
    say_roles,
    schema_of,
    source_of,
)
from termwise.indexing.count_rows import build_counts
from termwise.indexing.document_languages import DocumentLanguages
from termwise.indexing.field_weights import refuse_weights_for_network
from termwise.indexing.html_texts import HtmlTexts, plain_document
from termwise.indexing.mixture_writer import MixtureWriter
from termwise.indexing.model_choice import check_same_encoder, chosen_model, opened_encoder
from termwise.indexing.network_rows import build_network
from termwise.indexing.options import DEFAULT_OPTIONS, BuildOptions
from termwise.indexing.recipes import RECIPES
from termwise.indexing.text_language import foreign_texts
from termwise.indexing.vector_rows import build_vectors
from termwise.indexing.work_folder import check_apart, check_outside_indexes, encoding_of_part, work_folder
from termwise.models import BM25, CountModel, Lookup, Model, NetworkModel, VectorModel, read_vectors
from termwise.progress import no_progress, silent
from termwise.records import Document
from termwise.search.opening import open_searcher
from termwise.search.searcher import Searcher
from termwise.storage.safe_read import is_file
from termwise.text import Analyzer, analyzer_from_spec, make_analyzer
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute
from termwise.text.registry import BY_ATTRIBUTE, check_restorable
from termwise.validation import check, check_count, check_flag, check_path

DEFAULT_ANALYZER = "english-parts"

VECTORS_ANALYZER = "whitespace"
"""Default analyzer of queries for the model ``vectors``, whose tokens may be any strings."""


def build_index(
    collection: str | Path | Collection | Iterable[Document] | Iterable[Mapping[str, Any]] | Any,
    path: str | Path,
    *,
    model: str | Path | Model = "bm25",
    analyzer: str | Analyzer | None = None,
    fields: tuple[str, ...] | Mapping[str, int] | None = None,
    attributes: Literal["all"] | Sequence[str] | Schema | None = None,
    chunk: int | None = None,
    store_text: bool = False,
    overwrite: bool = False,
    options: BuildOptions = DEFAULT_OPTIONS,
) -> Searcher:
    """Index a collection and open the index for searching.

    Parameters
    ----------
    collection : str, Path, Collection, iterable of Document or of mapping, or data frame
        A BEIR folder, a JSONL, JSON, CSV, TSV or Parquet file, ``"ir_datasets:ID"``, ``"python:stdlib"``, documents,
        records such as ``{"id": 7, "title": "Bees"}``, or a data frame of pandas, Polars or Arrow. Fields of records
        and columns of data frames have the names of fields in files; None and NaN are missing values. For the model
        ``vectors``, the file of weights. With an empty list, the index has no documents until `open_writer` adds some;
        that is possible for models of term counts except ``model1``, for networks whose rows depend on the text
        alone, and for mixtures of them.
    path : str or Path
        Folder of the index.
    model : str, Path or Model, optional
        A model with its parameters, such as ``BM25(k1=1.2)``, the name of a model (`model_names`), or the folder of an
        encoder (a trained network) or of a translation table. ``"best"`` builds the recommended mixture: the indexes of
        several models side by side in one folder.
    analyzer : str or Analyzer, optional
        Analyzer of documents and queries; by default ``english-parts``, or ``whitespace`` for the model ``vectors``.
        Models with a network have their own. A translation table works only with the analyzer of its training. In a
        mixture, that of the parts that count terms. For documents in several languages, an analyzer by an attribute,
        such as ``by-attribute:lang``, for ``bm25`` and for mixtures with it: see
        `termwise.text.make_analyzer_by_attribute`.
    fields : tuple of str or mapping of str to int, optional
        Fields of the records to index, joined with a line end; by default those that are text in the first records,
        see `open_collection`. A mapping has a weight for each
        field, a whole number from 1 to 100: each token of a field counts as often as its weight, in term frequencies,
        document lengths and collection statistics. The index keeps names and weights. Weights apply to models of term
        counts, and in a mixture to its parts of that kind; documents given as objects need `Document.of_fields`. A
        network reads one text, so other weights than 1 are an error for it.
    attributes : "all", sequence of str or Schema, optional
        Fields of a file, of records or of a data frame to keep as attributes, for filters; see `open_collection`. A
        schema gives their types, which are inferred otherwise. By default, the fields that have short values in the
        first records; values of different types become text. An empty sequence keeps none. Attributes of documents that
        are given as objects are kept in any case.
    chunk : int, optional
        Cut documents into chunks of whole sentences with at most this many words. A search compares the query with each
        chunk, and returns each document once, with the score of its best chunk. Statistics are those of the chunks. If
        the fields have weights, the last field is cut, and the others, such as a title, are part of each chunk.
    store_text : bool, optional
        Keep the texts, for highlights in explanations.
    overwrite : bool, optional
        Replace an existing index.
    options : BuildOptions, optional
        Threads, memory, progress, quantiser, and how a network is run.

    Returns
    -------
    Searcher
        The new index or mixture, opened.

    Raises
    ------
    ParameterError
        If an argument has the wrong type, or two arguments are incompatible.
    TermwiseError
        If there is an error in the collection, the settings or the folder; an existing index is not changed then.

    Examples
    --------
    >>> import tempfile
    >>> documents = [Document("a", "merge two sorted lists"), Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_index(documents, folder).rank("merging lists").doc_ids
    ('a', 'b')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     teas = [{"id": 1, "title": "Sencha", "price": 12}, {"id": 2, "title": "Assam", "price": float("nan")}]
    ...     build_index(teas, folder, attributes="all").attributes(["1", "2"])
    [{'price': 12}, {}]
    """
    check_path("path", path)
    check(
        "analyzer",
        analyzer,
        isinstance(analyzer, str | Analyzer | None),
        "the name of an analyzer, or one made with termwise.text.make_analyzer",
    )
    check("options", options, isinstance(options, BuildOptions), "BuildOptions")
    check_flag("store_text", store_text)
    if isinstance(analyzer, str) and analyzer.startswith(BY_ATTRIBUTE):
        analyzer = make_analyzer(analyzer)
    if isinstance(analyzer, AnalyzerByAttribute):
        attributes = _with_attribute(attributes, analyzer.attribute)
    empty = isinstance(collection, list | tuple) and not collection
    collection = source_of(
        collection, fields, "inferred" if attributes is None else attributes, options.id_field
    )
    check_flag("overwrite", overwrite)
    if chunk is not None:
        check_count("chunk", chunk)
    if options.encoding is not None:
        check_apart(Path(path), Path(options.encoding))
        check_outside_indexes(Path(options.encoding))
    if isinstance(model, str) and model in RECIPES:
        return _build_mixture(
            collection,
            Path(path),
            name=model,
            analyzer=analyzer,
            fields=fields,
            attributes=attributes,
            chunk=chunk,
            store_text=store_text,
            overwrite=overwrite,
            options=options,
        )
    chosen = chosen_model(model)
    if empty and not (
        isinstance(chosen, NetworkModel) or (isinstance(chosen, CountModel) and chosen.keeps_terms)
    ):
        raise cannot_be_empty(chosen.name)
    field_weights = fields if isinstance(fields, Mapping) else None

    source: Collection | Iterable[Document] = ()
    if not isinstance(chosen, VectorModel):
        source = decided_source(collection, fields, attributes, options.id_field)
        roles = roles_of(source)
        fields = roles.fields if roles is not None and roles.decided and fields is None else fields
        say_roles(source, options.say)

    html = HtmlTexts()
    languages = DocumentLanguages(analyzer) if isinstance(analyzer, AnalyzerByAttribute) else None

    def documents(*, count: bool = False) -> tuple[Iterator[Document], int | None]:
        opened, length = open_documents(source, count=count)
        opened = map(plain_document, opened) if options.html else html.of(opened)
        if languages is not None:
            opened = languages.of(opened)
        return (opened, length) if chunk is None else (cut(opened, chunk, field_weights), None)

    schema = schema_of(source, attributes)
    add_rows: Callable[[IndexWriter], object]
    quantiser = options.quantiser
    if isinstance(chosen, NetworkModel):
        refuse_arguments("a network has its own analyzer", chosen, {"analyzer": analyzer})
        refuse_weights_for_network(fields, chosen)
        if options.encoder is not None:
            check_same_encoder(chosen, options.encoder)
        quantiser = _network_quantiser(chosen, quantiser, options.encoder)
        add_rows = partial(
            build_network,
            documents=documents(count=options.progress is not no_progress),
            model=chosen,
            fields=tuple(fields) if fields and chunk is None else fields,
            open_encoder=partial(opened_encoder, chosen, options),
            work=work_folder(path, options.encoding),
            store_rows=chosen.runs_network or options.encoding is not None,
            statistics=None if options.statistics is None else Path(options.statistics),
            empty=empty,
        )
    else:
        arguments = options.of_network()
        if not isinstance(chosen, CountModel) or chosen.analyzer is None:
            arguments["encoding"] = options.encoding
        refuse_arguments("these arguments require a model with a network", chosen, arguments)
        if isinstance(chosen, VectorModel):
            arguments = {
                "fields": None if fields is None else ",".join(fields),
                "chunk": chunk,
                "id_field": options.id_field,
                "html": options.html or None,
            }
            refuse_arguments("a file of weights has no texts to choose or to cut", chosen, arguments)
            if not isinstance(collection, str | Path):
                raise ParameterError("the model vectors reads a file of weights", fixes=["pass its path"])
            if isinstance(analyzer, AnalyzerByAttribute):
                raise _no_languages(chosen, analyzer)
            query_analyzer = _analyzer(analyzer, default=VECTORS_ANALYZER)
            weights = read_vectors(collection, analyzer=query_analyzer)
            add_rows = partial(build_vectors, source=weights, model=chosen, analyzer=query_analyzer)
        elif isinstance(chosen, CountModel):
            add_rows = partial(
                build_counts,
                analyzer=_model_analyzer(chosen, analyzer),
                documents=documents(),
                model=chosen,
                fields=fields,
                work=None if options.encoding is None else Path(options.encoding),
                allow_empty=empty,
            )
        else:
            raise ParameterError(
                "this kind of model cannot be built from text", facts=[("model", chosen.name)]
            )
    with (
        collection_named(collection),
        IndexWriter(
            path,
            quantiser=quantiser or "uint8",
            reorder=options.reorder,
            store_text=store_text,
            schema=schema,
            chunk=chunk or 0,
            overwrite=overwrite,
            memory=options.memory,
            threads=options.threads,
            progress=options.progress,
        ) as writer,
    ):
        writer.html = options.html
        add_rows(writer)
    say_left_out(source, schema, options.say)
    for note in (*(languages.notes() if languages is not None else ()), *filter(None, [html.note()])):
        options.say(note)
    return open_searcher(path)


def _build_mixture(
    collection: str | Path | Collection | Iterable[Document],
    path: Path,
    *,
    name: str,
    analyzer: str | Analyzer | None,
    fields: FieldChoice,
    attributes: Literal["all"] | Sequence[str] | Schema | None,
    chunk: int | None,
    store_text: bool,
    overwrite: bool,
    options: BuildOptions,
) -> Searcher:
    """Build the indexes of a recipe side by side; `analyzer` is that of the parts that count terms."""
    if options.quantiser is not None:
        raise ParameterError(
            "the parts of a mixture have fixed settings",
            facts=[("model", name), ("given", "quantiser")],
            fixes=[
                "omit quantiser",
                Fix.sentence("build the indexes one by one, and mix them: {}", Fix.call("mix_indexes")),
            ],
        )
    recipe = RECIPES[name]
    models = {part.name: chosen_model(part.model, part.settings) for part in recipe.parts}
    networks = [
        part for part, model in models.items() if isinstance(model, NetworkModel) and model.runs_network
    ]
    check_network_options(name, len(networks), options)
    source = decided_source(collection, fields, attributes, options.id_field)
    roles = roles_of(source)
    fields = roles.fields if roles is not None and roles.decided and fields is None else fields
    repeatable = _repeatable(source)
    without_network = replace(
        options, encoder=None, encoding=None, statistics=None, precision=None, providers=None
    )
    with collection_named(collection), MixtureWriter(path, overwrite=overwrite) as mixture:
        for number, (part, model) in enumerate(models.items()):

            def report(stage: str, done: int, total: int | None, part: str = part) -> None:
                options.progress(f"{part}: {stage}", done, total)

            of_part = fields
            if isinstance(model, NetworkModel) and isinstance(fields, Mapping):  # all need the same chunks
                of_part = tuple(fields) if chunk is None else dict.fromkeys(fields, 1)
            used = options if part in networks else without_network
            if used.encoding is not None:
                used = replace(used, encoding=encoding_of_part(used.encoding, part, len(networks)))
            build_index(
                repeatable,
                mixture.part(part),
                model=model,
                analyzer=analyzer if isinstance(model, CountModel) else None,
                fields=of_part,
                attributes=Schema() if number else attributes,
                chunk=chunk,
                store_text=store_text and number == 0,
                overwrite=True,
                options=replace(used, id_field=None, progress=report, say=silent if number else options.say),
            )
        searcher = mixture.commit(
            list(models),
            [part.weight for part in recipe.parts],
            recipe.depth,
            feedback=recipe.feedback,
            only_scoring=[part.name for part in recipe.parts if not part.retrieves],
            scales={part.name: part.scale for part in recipe.parts},
        )
        documents = open_documents(repeatable, fields)[0]
        texts = (
            document.text for document in (map(plain_document, documents) if options.html else documents)
        )
        if (found := foreign_texts(texts)) is not None:
            by_language = len(found.languages) > 1 and not isinstance(analyzer, AnalyzerByAttribute)
            options.say(
                f"{found}: they match by their words, but the vectors of {name} are those of an English encoder, and "
                "help little"
                + ("; --analyzer-by ATTRIBUTE reads each document in its language" if by_language else "")
            )
        return searcher


def _repeatable(source: Collection | Iterable[Document]) -> Collection | Iterable[Document]:
    """Return a source that can be read once for each part: pipes and iterators are read into memory."""
    if isinstance(source, RecordFile | RecordCollection):
        return source.in_memory()
    if isinstance(source, TabSeparatedCollection) and not is_file(source.path):
        return list(source.documents())
    return source if isinstance(source, Collection | list | tuple) else list(source)


def _model_analyzer(model: CountModel, analyzer: str | Analyzer | None) -> Analyzer:
    """Return the required analyzer of the model, or else the given or the default analyzer; refuse a different one."""
    if isinstance(analyzer, AnalyzerByAttribute) and not isinstance(model, BM25):
        raise _no_languages(model, analyzer)
    if model.analyzer is None:
        return _analyzer(analyzer, default=DEFAULT_ANALYZER)
    required = analyzer_from_spec(model.analyzer)
    if analyzer is not None:
        given = _analyzer(analyzer, default=DEFAULT_ANALYZER).spec
        if given.fingerprint != required.spec.fingerprint:
            required_name, given_name = required.spec.differences(given)
            raise VocabularyMismatchError(
                "the model requires another analyzer",
                facts=[
                    ("model", f"{model.name}  {required_name}"),
                    ("analyzer", given_name),
                    (
                        "reason",
                        "the words of its table come from its own analyzer; other words have no translation",
                    ),
                ],
                fixes=["omit the analyzer"],
            )
    return required


def _with_attribute(
    attributes: Literal["all"] | Sequence[str] | Schema | None, name: str
) -> Literal["all"] | Sequence[str] | Schema | None:
    """Return the chosen attributes with the one that decides about the analyzer."""
    if isinstance(attributes, Schema):
        if attributes.get(name) not in ("keyword", "keyword folded"):
            raise ParameterError(
                "the attribute that decides about the analyzer has the type keyword",
                facts=[("attribute", name), ("type", attributes.get(name, "not in the schema"))],
                fixes=[f'write {name} = "keyword" in the schema'],
            )
        return attributes
    if attributes is None or isinstance(attributes, str):
        return attributes
    return attributes if name in attributes else [*attributes, name]


def _no_languages(model: Model, analyzer: AnalyzerByAttribute) -> ParameterError:
    return ParameterError(
        "an analyzer by attribute needs a model with statistics of each language, which is bm25",
        facts=[("model", model.name), ("attribute", analyzer.attribute)],
        fixes=[Fix.use(model="bm25"), Fix.omit("analyzer")],
    )


def _analyzer(analyzer: str | Analyzer | None, *, default: str) -> Analyzer:
    if not isinstance(analyzer, Analyzer):
        return make_analyzer(analyzer or default)
    check_restorable(analyzer)
    return analyzer


def _network_quantiser(
    model: NetworkModel, quantiser: Literal["uint8", "float32"] | None, encoder: DocumentEncoder | None
) -> Literal["uint8", "float32"]:
    if isinstance(model, Lookup) and model.form == "vectors" and quantiser == "float32":
        raise ParameterError(
            "vectors are stored in 8 bits",
            facts=[("model", model.name), ("form", model.form), ("quantiser", quantiser)],
            fixes=[Fix.use("omit {}", quantiser="float32"), Fix.use("store term weights: {}", form="terms")],
        )
    exact = model.parameters().get("form") == "exact" or (
        encoder is not None and encoder.gives_log_likelihoods
    )
    if exact and quantiser == "uint8":
        raise ParameterError(
            "8-bit weights do not preserve the order of the exact form",
            facts=[("model", model.name), ("quantiser", quantiser)],
            fixes=["omit the quantiser", Fix.use(form="compact")],
        )
    return quantiser or ("float32" if exact else "uint8")
