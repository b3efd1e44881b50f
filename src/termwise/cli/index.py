"""``termwise index``: build an index of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.index_notes import (
    collection_with_header_note,
    note_better_mixture,
    note_finished_blocks,
    note_ignored_vectors,
    note_text_fields,
    parts_by_hand,
    report_built,
    resumable_work,
)
from termwise.cli.options import (
    IdField,
    JsonFlag,
    Memory,
    Overwrite,
    Precision,
    Provider,
    Settings,
    Threads,
    WeightedFields,
    argument,
    attribute_choice,
    available_processors,
    field_choice,
    flag,
    memory_size,
    model_settings,
    network_precision,
    option,
    refuse_options,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note_line, working_seconds
from termwise.cli.translation_options import TunedSettings, with_tuned
from termwise.collection import read_lines
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.collection import Collection
    from termwise.models import Model
    from termwise.records import Document
    from termwise.text import Analyzer


def command(
    out: Annotated[Path, option("--out DIR", "Folder of the index.")],
    collection: Annotated[
        str | None,
        argument(
            "COLLECTION",
            "A BEIR folder, a folder of JSONL or Parquet files, a JSONL, JSON, CSV or TSV file (also .gz), a Parquet "
            "file, ir_datasets:ID, or python:stdlib; a file of term weights for --model vectors.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        option(
            "--model NAME|DIR",
            "instant, best or best-large, which are mixtures with BM25; bm25, jm, dirichlet, ml, vectors, model1, "
            "tilde, tildev2, splade-doc or lookup; or the folder of an encoder or a translation table.  [default: "
            "instant; bm25 with --analyzer, --analyzer-by, --set or --float]",
        ),
    ] = None,
    settings: Settings = None,
    tuned: TunedSettings = None,
    analyzer: Annotated[
        str | None,
        option(
            "--analyzer NAME[:FILE]",
            "Analyzer, such as german or wordpiece:tokenizer.json; encoders and translation tables bring "
            "their own.  [default: english-parts; whitespace for vectors]",
        ),
    ] = None,
    analyzer_by: Annotated[
        str | None,
        option(
            "--analyzer-by ATTRIBUTE",
            "Attribute with the language of each document, such as lang, which decides about its analyzer; "
            "lang:de=german-codes,en=english chooses those of some values. Other documents have --analyzer.  "
            "[default: one analyzer; for other documents english-parts]",
        ),
    ] = None,
    detect_language: Annotated[
        bool,
        flag(
            "--detect-language", "With --analyzer-by, detect the language of documents without the attribute."
        ),
    ] = False,
    whole_words: Annotated[
        Path | None,
        option("--whole-words FILE", "Words that analyzers leave whole, such as brands, one a line."),
    ] = None,
    id_field: IdField = None,
    fields: WeightedFields = None,
    attributes: Annotated[
        str | None,
        option(
            "--attributes all|none|A,B",
            "Fields to keep as attributes, for filters (search --filter) and facets.  [default: fields that have short "
            "values in the first 1,000 records]",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        option("--schema FILE", "Types of the attributes to keep, as JSON or TOML.  [default: inferred]"),
    ] = None,
    chunk: Annotated[
        int | None,
        option(
            "--chunk N",
            "Cut long documents into chunks of whole sentences with at most N words; a search returns each document "
            "once, with its best chunk.",
            min=1,
        ),
    ] = None,
    empty: Annotated[
        bool,
        flag(
            "--empty",
            "Build an index without documents, in place of COLLECTION, which termwise add fills.",
        ),
    ] = False,
    html: Annotated[
        bool,
        flag(
            "--html",
            "Texts are HTML: index and store their plain text, without tags, and with characters in place of entities.",
        ),
    ] = False,
    store_text: Annotated[
        bool, flag("--store-text", "Store the texts, for snippets and highlights.")
    ] = False,
    overwrite: Overwrite = False,
    float_weights: Annotated[
        bool, flag("--float", "Store weights as float32 instead of one byte: exact, but larger and slower.")
    ] = False,
    reorder: Annotated[
        bool,
        flag(
            "--reorder/--no-reorder",
            "Renumber documents so that similar ones are neighbours: slower to build, faster to search, "
            "same results.",
        ),
    ] = True,
    threads: Threads = None,
    memory: Memory = "2GB",
    encoding: Annotated[
        Path | None,
        option(
            "--encoding DIR",
            "Work folder for encoded blocks of documents; interrupted builds resume from it.  [default: "
            "beside the index, removed when it is complete]  With a translation table: cache of term counts.",
        ),
    ] = None,
    statistics: Annotated[
        Path | None,
        option(
            "--statistics FILE",
            "statistics.json of encode --on, for the index of a part of that collection: weights with an idf have the "
            "idf of the whole collection.",
        ),
    ] = None,
    precision: Precision = None,
    provider: Provider = None,
    as_json: JsonFlag = False,
) -> None:
    """Index a collection.

    For example:

    termwise index docs.jsonl --out docs.tw --store-text

    termwise index shop.jsonl --out shop.tw --fields title^3,description --attributes brand,price

    termwise index shop.jsonl --analyzer-by lang --out shop.tw --store-text

    termwise index docs.jsonl --model best --out docs.tw --store-text

    termwise index --empty --schema attributes.toml --out docs.tw

    termwise index python:stdlib --model bm25 --out python.tw --store-text

    For approximate search of the vectors of lookup or best beyond a million documents: termwise build-graph docs.tw
    """
    from termwise.indexing import BuildOptions, build_index, chosen_model, default_encoding
    from termwise.indexing.mixture_writer import part_folder
    from termwise.indexing.recipes import INSTANT, RECIPES
    from termwise.indexing.work_folder import encoding_of_part
    from termwise.models import Model1, NetworkModel, VectorModel

    if (collection is None) != empty:
        raise UsageError(
            "an index is built from a collection, or without documents",
            facts=[("given", "neither" if collection is None else f"{collection} and --empty")],
            fixes=["termwise index COLLECTION --out DIR", "termwise index --empty --out DIR"],
        )
    chose_default = model is None
    if model is None:
        of_words = analyzer or analyzer_by or settings or tuned or float_weights
        model = "bm25" if of_words else INSTANT
    if model == INSTANT:
        refuse_options(
            {"--encoding": encoding, "--precision": precision, "--provider": provider},
            f"to {INSTANT}, which runs no network",
            "--model best, or another model with a network",
        )
    if analyzer_by is None:
        refuse_options({"--detect-language": detect_language}, "without --analyzer-by", "--analyzer-by lang")
    given, size = model_settings(settings or ()), memory_size(memory)
    names, numbers = field_choice(fields), network_precision(precision)
    providers = None if provider is None else (provider,)
    kept = attribute_choice(attributes, schema)
    note_text_fields(names, kept)
    chosen: str | Model = model
    if model in RECIPES:
        fixed = {"--set": settings, "--settings": tuned, "--float": float_weights}
        parts = RECIPES[model].parts
        refuse_options(
            fixed,
            "to a mixture, whose parts have fixed settings",
            *([] if settings is None else ["--model bm25"]),
            parts_by_hand(RECIPES[model], out),
        )
        built = [
            (part.name, part_folder(out, part.name), chosen_model(part.model, part.settings))
            for part in parts
        ]
    else:
        chosen = chosen_model(model, given)
        if tuned is not None:
            if not isinstance(chosen, Model1):
                raise UsageError(
                    "--settings applies to translation tables only",
                    facts=[("file", tuned), ("model", model)],
                    fixes=["--model model1, or the folder of a table", "omit --settings"],
                )
            chosen = chosen_model(model, with_tuned(tuned, given, chosen.table))
        built = [(chosen.name, out, chosen)]
    networks = [
        (name, folder, network)
        for name, folder, network in built
        if isinstance(network, NetworkModel) and network.runs_network
    ]
    work = [
        default_encoding(folder) if encoding is None else encoding_of_part(encoding, name, len(networks))
        for name, folder, _ in networks
    ]
    for folder, (_, _, network) in zip(work, networks, strict=True):
        note_finished_blocks(folder, network, precision=numbers, providers=providers)
    documents: str | Collection | list[Document] = []
    if collection is not None:
        documents = collection_with_header_note(collection, names, kept, id_field)
    if collection is not None and not isinstance(chosen, VectorModel):
        note_ignored_vectors(collection)
    begin = working_seconds()
    with resumable_work(work), progress_bar() as progress:
        searcher = build_index(
            documents,
            out,
            model=chosen,
            analyzer=_chosen_analyzer(analyzer, analyzer_by, detect_language, whole_words),
            fields=names,
            attributes=kept,
            chunk=chunk,
            store_text=store_text,
            overwrite=overwrite,
            options=BuildOptions(
                id_field=id_field,
                threads=threads or available_processors(),
                memory=size,
                quantiser="float32" if float_weights else None,
                reorder=reorder,
                html=html,
                encoding=encoding,
                statistics=statistics,
                precision=numbers,
                providers=providers,
                progress=progress,
                say=note_line,
            ),
        )
    report_built(out, searcher, working_seconds() - begin, as_json)
    if model == INSTANT:
        note_better_mixture(chose_default)


def _chosen_analyzer(
    name: str | None, by: str | None, detect: bool, whole_words: Path | None
) -> str | Analyzer | None:
    """Return the analyzer of a name, or the one that an attribute chooses, which leave some words whole."""
    from termwise.text import make_analyzer, make_analyzer_by_attribute
    from termwise.text.analyzer_by_attribute import DEFAULT, parse_choice

    whole = [] if whole_words is None else [line for _, line in read_lines(whole_words)]
    if by is not None:
        return make_analyzer_by_attribute(*parse_choice(by), default=name, detect=detect, whole=whole)
    return make_analyzer(name or DEFAULT, whole=whole) if whole else name
