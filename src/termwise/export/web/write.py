"""Writing of a search folder; see `termwise.export.web`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termwise._version import __version__
from termwise.engine.query_encoder import query_weighting_of
from termwise.errors import ParameterError
from termwise.export.analyzer_description import describe_analyzer
from termwise.export.folder import FORMAT_OF_SITE
from termwise.export.source import ExportPart, ExportSource
from termwise.export.web.attributes import filter_fields, write_filters
from termwise.export.web.files import VERSION, SearchFiles
from termwise.export.web.groups import frequent_terms, table_of, write_groups
from termwise.export.web.postings import postings_of
from termwise.export.web.scripts import element_script, worker_script
from termwise.export.web.terms import Entries, sections, write_terms
from termwise.export.web.texts import Links
from termwise.export.web.words import folded, write_words
from termwise.fixes import Fix
from termwise.kernels.retrieval import max_score
from termwise.progress import Progress, no_progress
from termwise.text.analyzer import unknown_token

MOST_DOCUMENTS = 100_000
"""Largest number of documents. All postings of a word are fetched, and sums are kept for each document."""


@dataclass(frozen=True)
class WebSearch:
    """What was written.

    Attributes
    ----------
    path : Path
        The folder.
    documents, files, bytes : int
        Number of documents and of files, and their bytes.
    url, title : str
        Where addresses and titles of the documents come from.
    filters : tuple of str
        Attributes that are filters.
    """

    path: Path
    documents: int
    files: int
    bytes: int
    url: str
    title: str
    filters: tuple[str, ...]


def write_web(
    source: ExportSource,
    out: str | Path,
    *,
    url: str | None = None,
    title: str | None = None,
    filters: Sequence[str] | None = None,
    base: str = "..",
    progress: Progress = no_progress,
) -> WebSearch:
    """Write a folder of static files with which a page searches an index; see `termwise.export.web`.

    Parameters
    ----------
    source : ExportSource
        An index with stored texts, or a mixture with one, of at most `MOST_DOCUMENTS` documents.
    out : str or Path
        The folder: new, empty, or one with an earlier search, which is replaced.
    url : str, optional
        Source of the address of a document: the name of an attribute, or a pattern with ``{doc_id}`` and
        ``{ATTRIBUTE}``. By default the first of the attributes ``url``, ``link``, ``href`` and ``path``, or else the
        identifier, if it is a path or an address.
    title : str, optional
        Attribute with the title. By default ``title`` or ``name``, or else the first field or the first line of the
        text.
    filters : sequence of str, optional
        Attributes that are filters. By default all that are not address or title and have few different values.
    base : str, optional
        What relative addresses are relative to: an address relative to the folder. By default the folder above.
    progress : callable, optional

    Raises
    ------
    ParameterError
        If the index stores no texts, cuts documents into chunks, has float weights, an analyzer that the script does
        not know, or too many documents, or if nothing gives addresses.
    UnknownNameError
        If the index has no such attribute.
    ForeignFolderError
        If the folder has other files.
    """
    check_source(source)
    links = Links.of(source, url, title)
    fields = filter_fields(source, filters, {links.url, links.title})
    analyzers: list[dict[str, Any]] = []
    owners: list[int] = []
    for part in source.parts:
        analyzer = part.part.backend.encoder.analyzer
        described = describe_analyzer(analyzer, pieces=False)
        if analyzer.vocabulary is not None:
            described["pieces"] = folded(list(analyzer.vocabulary))
        if described not in analyzers:
            analyzers.append(described)
        owners.append(analyzers.index(described))
    files = SearchFiles(Path(out))
    entries, frequent, parts = [], [], []
    for number, owner in enumerate(owners):
        own, first, described = _part(files, source, number, progress)
        entries.append(own)
        frequent.append(first)
        parts.append({**described, "analyzer": owner})
    dense = [part for part in source.parts if part.kind == "dense"]
    described_filters = write_filters(files, source, fields, chosen=filters is not None, progress=progress)
    groups, numbers, vectors = write_groups(files, source, links, dense, progress)
    header, rows = sections(entries, frequent, len(numbers))
    index = {
        "documents": len(source),
        "mixture": source.is_mixture,
        "parts": parts,
        "terms": write_terms(
            files,
            entries,
            [{own.terms[place] for place in first} for own, first in zip(entries, frequent, strict=True)],
            progress,
        ),
        "frequent": header,
        "groups": groups,
        "vectors": vectors,
        "filters": described_filters,
    }
    manifest = {
        "format": FORMAT_OF_SITE,
        "version": VERSION,
        "written_by": f"termwise {__version__}",
        "base": base,
        "target": "web",
        "source": source.identity,
        "generation": source.generation,
        "parts": [{"name": part.name, "scale": part.scale} for part in source.parts],
        "index": files.add_shard("index", index, numbers, rows),
        "analyzers": files.add_json("analyzers", analyzers),
        "worker": files.add("worker", worker_script(analyzers, vectors=bool(dense)), "js"),
    }
    files.finish(element_script(), manifest)
    return WebSearch(
        files.path,
        len(source),
        files.count,
        files.bytes,
        links.url,
        links.title,
        tuple(each["field"] for each in described_filters),
    )


def check_source(source: ExportSource) -> None:
    """Raise `ParameterError` for an index that a browser cannot search; see `write_web`."""
    source.index.check_not_cut("a search without a server")
    if not len(source):
        raise ParameterError("the index has no documents to search", facts=[("index", source.path)])
    if not source.has_texts:
        raise ParameterError(
            "the index stores no texts, which titles and excerpts of results are taken from",
            facts=[("index", source.path)],
            fixes=[Fix.build(store_text=True)],
        )
    if len(source) > MOST_DOCUMENTS:
        raise ParameterError(
            "the collection is too large to be searched in a browser",
            facts=[("documents", len(source)), ("at most", MOST_DOCUMENTS)],
            fixes=["run a service", "index a part of the documents"],
        )
    for part in source.parts:
        if part.kind == "sparse" and not part.is_exact_integer:
            raise ParameterError(
                "the weights of a part are not quantised, so it has no postings",
                facts=[("index", part.index.path)],
                fixes=["build the index with quantised weights"],
            )


def _part(
    files: SearchFiles, source: ExportSource, number: int, progress: Progress
) -> tuple[Entries, list[int], dict[str, Any]]:
    """Return the entries of a part, the positions of its frequent entries, and the description of the part."""
    part = source.parts[number]
    described: dict[str, Any] = {
        "name": part.name,
        "weight": part.part.weight if source.is_mixture else 1,
        "deviation": part.scale or 1,
        "weighting": query_weighting_of(part.index),
        "unknown": unknown_token(part.part.backend.encoder.analyzer),
    }
    if part.kind == "dense":
        entries, own = table_of(part)
        return entries, frequent_terms(source, part, entries), described | own
    entries, own = postings_of(files, source, number, progress)
    described |= own | {"limit": max_score(len(source))}
    if _has_whole_words(part):
        described["words"] = write_words(files, source, part, progress)
    return entries, [], described


def _has_whole_words(part: ExportPart) -> bool:
    return part.part.backend.similar_terms is not None
