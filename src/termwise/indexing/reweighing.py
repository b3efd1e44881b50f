"""Weights of an index that follow its documents: drift of their statistics, and new weights from stored counts.

Documents that are added get weights with the statistics of the documents for which the weights were last computed. An
index of a count model keeps the counts of its postings, so all weights can be computed again without the texts. A merge
of all segments does so after any change; the result has the bytes of a new build of the same documents. A commit does
so if the statistics have drifted, see `has_drifted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import analyzer_of
from termwise.fast_dataclass import dataclass
from termwise.index import Index, IndexWriter
from termwise.index.encoder_description import documents_of_languages
from termwise.index.quantiser import LEVELS
from termwise.indexing.built_statistics import built_statistics
from termwise.indexing.count_rows import (
    CountedBatch,
    TokenCounts,
    count_documents,
    placeholder,
    publish_counts,
)
from termwise.indexing.language_statistics import LanguagesOfTerms, share_of_drift
from termwise.indexing.model_choice import model_of
from termwise.indexing.options import BuildOptions
from termwise.models import CountModel
from termwise.records import AttributeValue

DRIFT = 0.02
"""Share by which the mean document length, or the largest weight, may exceed that of the statistics."""

GROWTH = 1.5
"""Factor by which the number of documents may grow; document frequencies change by about as much."""

LEFT = 0.5
"""Share of the documents of the statistics that must be left, and of the range of impacts that must be used."""

BATCH = 4096
"""Documents to read at a time."""


def has_drifted(index: Index, model: CountModel) -> bool:
    """Return whether the weights of an index have statistics that no longer fit its documents.

    That is so if the mean document length differs by more than `DRIFT` from that of the statistics; the number of
    documents is more than `GROWTH` times theirs, or less than `LEFT` of theirs remain; the largest weight exceeds the
    range of the impacts by more than `DRIFT`, or less than `LEFT` of the range is used; or, in a model with a document
    bias, the longest document is longer by more than `DRIFT`. With an analyzer by attribute, each language has
    its own length and number of documents, see `share_of_drift`.
    """
    if not len(index):
        return False
    statistics, manifest = index.manifest.encoder.statistics, index.manifest
    before = statistics["documents"]
    if len(index) > GROWTH * before or _remaining(index) < LEFT * before:
        return True
    parts = [
        segment.counts.lengths if segment.live is None else segment.counts.lengths[segment.live.rows]
        for segment in index.segments
        if segment.counts is not None
    ]
    if (by_language := documents_of_languages(statistics)) and _languages_have_drifted(index, by_language):
        return True
    mean = sum(int(part.sum(dtype=np.int64)) for part in parts) / len(index)
    if not by_language and abs(mean - statistics["tokens"] / before) > DRIFT * statistics["tokens"] / before:
        return True
    longest = max(int(part.max(initial=0)) for part in parts)
    if manifest.background and longest > (1 + DRIFT) * statistics["longest"]:
        return True
    quantiser = manifest.quantiser
    if quantiser.kind == "float32":
        return False
    largest = max(
        int(segment.inverted.entry_max.max(initial=0)) << segment.shift
        for segment in index.segments
        if segment.inverted is not None
    )
    return (
        quantiser.largest > (1 + DRIFT) * LEVELS * quantiser.scale
        or largest * quantiser.scale < LEFT * quantiser.largest
    )


def _languages_have_drifted(index: Index, documents: Mapping[str, int]) -> bool:
    """Return whether the documents of languages have drifted, see `share_of_drift`."""
    languages = LanguagesOfTerms.of_index(index, analyzer_of(index))
    assert languages is not None, "its statistics have languages"
    before = {}
    built = built_statistics(index)
    of_built = np.bincount(
        languages.of_term[: built.n_terms],
        weights=built.collection_frequencies,
        minlength=len(languages.names),
    )
    for name, tokens in zip(languages.names, of_built.tolist(), strict=True):
        if name in documents:
            before[name] = documents[name], tokens / documents[name]
    sums = np.zeros((2, len(languages.names)), dtype=np.int64)
    for segment in index.segments:
        assert segment.counts is not None, "an index with statistics of languages keeps counts"
        rows = np.arange(segment.documents) if segment.live is None else segment.live.rows
        firsts, lengths = segment.row_bounds(rows)
        written = lengths > 0
        of_rows = languages.of_term[segment.index_terms(segment.terms[firsts[written]])]
        sums[0] += np.bincount(of_rows, minlength=len(sums[0]))
        tokens_of_rows = segment.counts.lengths[rows[written]].astype(np.int64)
        np.add.at(sums[1], of_rows, tokens_of_rows)
    now = [
        (name, count, tokens / count)
        for name, count, tokens in zip(languages.names, *sums.tolist(), strict=True)
        if count
    ]
    return share_of_drift(before, now) > DRIFT


def _remaining(index: Index) -> int:
    """Return how many documents are in segments that were written with the statistics."""
    return sum(record.live for record in index.manifest.segments if record.terms is None)


def _is_changed(index: Index) -> bool:
    """Return whether the index differs from a new build of its documents."""
    manifest = index.manifest
    if manifest.added_terms or any(
        record.deletions or record.terms is not None for record in manifest.segments
    ):
        return True
    tokens = list(index.vocabulary.load())
    return analyzer_of(index).vocabulary is None and (
        tokens != sorted(tokens) or not index.document_frequencies.all()
    )


@dataclass(frozen=True)
class Reweighing:
    """Computes the weights of the index of a count model again; see `termwise.index.updater.WeighAgain`."""

    model: CountModel
    options: BuildOptions

    def __call__(self, index: Index, folder: Path, everything: bool) -> bool:
        """Write the index anew, if it keeps counts and its weights are not up to date.

        Terms keep their numbers, on which exports depend, unless `everything` asks for those of a new build.
        """
        if not index.keeps_counts or not (
            _is_changed(index) if everything else has_drifted(index, self.model)
        ):
            return False
        manifest, options = index.manifest, self.options
        weights, analyzer, tokens = manifest.field_weights, analyzer_of(index), list(index.vocabulary.load())
        with (
            IndexWriter(
                folder,
                quantiser="float32" if manifest.quantiser.kind == "float32" else "uint8",
                store_text=index.stores_text,
                schema=index.schema or None,
                chunk=manifest.chunk,
                memory=options.memory,
                threads=options.threads,
                progress=options.progress,
            ) as writer,
            closing(TokenCounts(writer, tokens)) as counts,
        ):
            writer.html = manifest.html
            found = np.zeros(manifest.terms, dtype=np.bool_)
            for first in range(0, len(index), BATCH):
                batch = _stored_batch(index, np.arange(first, min(first + BATCH, len(index))))
                counts.add_numbered(batch, batch.terms)
                found[batch.terms] = True
            empty = not len(index)
            if empty:
                counts.add(count_documents(analyzer, index.stores_text, weights, [placeholder(weights)]))
            if everything and analyzer.vocabulary is None:
                tokens = sorted(tokens[term] for term in np.flatnonzero(found))
            publish_counts(
                writer,
                counts,
                tokens,
                model=self.model,
                analyzer=analyzer,
                fields=weights or manifest.fields or None,
                empty=empty,
            )
        return True


def weigh_again_of(index: Index, options: BuildOptions) -> Reweighing | None:
    """Return how the weights of an index are computed again; None if they depend on texts that it does not count."""
    model = model_of(index)
    return Reweighing(model, options) if isinstance(model, CountModel) and index.keeps_counts else None


def _stored_batch(index: Index, ordinals: npt.NDArray[np.int64]) -> CountedBatch:
    """Return documents of an index with their counts; `terms` are numbers of the index."""
    rows = index.counts(ordinals)
    texts = [text or "" for text in index.store.texts(ordinals)] if index.stores_text else None
    attributes: list[Mapping[str, AttributeValue]] = [*index.attributes(ordinals)]
    return CountedBatch(
        index.store.ids(ordinals), texts, attributes, [], rows.indptr, rows.terms, rows.weights
    )
