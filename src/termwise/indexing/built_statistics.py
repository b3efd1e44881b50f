"""Collection statistics of a build, kept in the index for documents that are added later.

Weights of new documents are computed with the statistics of the build, so that all weights of an index belong
together. A term that the collection of the build lacks counts as one occurrence in one document.
"""

from __future__ import annotations

import numpy as np

from termwise.collection import CollectionStatistics
from termwise.errors import ParameterError
from termwise.fixes import Code, Fix
from termwise.index import Index
from termwise.index.manifest_records import DOCUMENT_FREQUENCIES, IdfRecord
from termwise.models.attachments import FREQUENCIES, read_frequencies


def statistics_record(statistics: CollectionStatistics) -> dict[str, int]:
    """Return the numbers of a collection for the description of an index."""
    return {
        "documents": statistics.n_documents,
        "tokens": statistics.n_tokens,
        "longest": statistics.longest,
    }


def statistics_files(statistics: CollectionStatistics) -> dict[str, bytes]:
    """Return document and collection frequencies as files to attach to an index."""
    return {
        DOCUMENT_FREQUENCIES: statistics.document_frequencies.astype("<u4").tobytes(),
        FREQUENCIES: statistics.collection_frequencies.astype("<i8").tobytes(),
    }


def built_statistics(index: Index) -> CollectionStatistics:
    """Return the statistics of the collection that an index was built from, over the terms of the build.

    An index that was written before these statistics were kept raises `ParameterError`.
    """
    record = index.manifest.encoder.statistics
    files = {DOCUMENT_FREQUENCIES, FREQUENCIES}
    if (
        not {"documents", "tokens", "longest"} <= record.keys()
        or not files <= index.manifest.attachments.keys()
    ):
        raise missing_statistics(index)
    return CollectionStatistics(
        record["documents"],
        record["tokens"],
        index.built_frequencies().astype(np.int64),
        read_frequencies(index.attachment(FREQUENCIES), index.manifest.built_terms),
        record["longest"],
    )


def built_idf(index: Index, power: float) -> IdfRecord | None:
    """Return the record of the idf in the weights of an index; None without one."""
    if not power:
        return None
    record = index.manifest.encoder.statistics
    if "documents" not in record or DOCUMENT_FREQUENCIES not in index.manifest.attachments:
        raise missing_statistics(index)
    return IdfRecord(float(power), record["documents"])


def missing_statistics(index: Index) -> ParameterError:
    """Return the error for an index without the statistics of its collection."""
    return ParameterError(
        "this index has no statistics of its collection, which the weights of new documents depend on",
        facts=[("index", index.path), ("written by", index.manifest.written_by)],
        fixes=[
            Fix.sentence("{}, if it stores texts", Fix.call("renew_index", Code("path"))),
            "build the index again with this version of termwise",
        ],
    )
