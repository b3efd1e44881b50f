"""Rows computed from term counts and collection statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection import CollectionStatistics
from termwise.encode import encoded_blocks
from termwise.encode.document_encoder import Advance, no_advance, settings_fingerprint
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.index import Manifest
from termwise.index.encoder_description import encoder_description
from termwise.index.spill import RowSpill
from termwise.indexing.built_statistics import statistics_files, statistics_record
from termwise.indexing.context import BuildContext, attributes_of, empty_collection
from termwise.indexing.field_weights import number_documents, texts_to_store
from termwise.kernels.counting import count_rows, renumber_rows
from termwise.models import CountModel
from termwise.parallel import Workers
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer, Numbering, Vocabulary
from termwise.validation import check_document
from termwise.weights import TermWeights

BATCH = 512
"""Documents per analysed batch."""

CHUNK = 1 << 20
"""Postings per weighed chunk."""

EXPANDED_CHUNK = 1 << 16
"""Postings per weighed chunk of an expanding model, which may add hundreds of terms for each."""


def build_counts(
    context: BuildContext,
    *,
    documents: tuple[Iterator[Document], int | None],
    model: CountModel,
    analyzer: Analyzer,
    field_weights: Mapping[str, int] | None = None,
    work: Path | None = None,
) -> Manifest:
    """Count tokens, build the vocabulary, weigh the counts, and publish the index.

    Parameters
    ----------
    context : BuildContext
    documents : (iterator of Document, int or None)
        The documents and, if known, their number.
    model : CountModel
    analyzer : Analyzer
    field_weights : mapping of str to int, optional
        Weights of the fields of the documents; see `termwise.indexing.field_weights`.
    work : Path, optional
        Folder where counts are cached, so that documents are analysed once for several builds.

    Raises
    ------
    EmptyCollectionError
        If there are no documents.
    ParameterError
        If a threshold of the model removes every weight, a document lacks the fields, or `work` is given and the
        vocabulary is open or fields have weights.
    """
    writer, store_text = context.writer, context.store_text
    unread, length = documents
    if work is not None and field_weights is not None:
        raise ParameterError(
            "the cache of term counts holds those of whole texts, not of fields with weights",
            facts=[("encoding", work), ("fields", ", ".join(field_weights))],
            fixes=["omit the encoding"],
        )
    closed = analyzer.vocabulary
    with (
        closing(TokenCounts(writer.folder, closed or ())) as counts,
        Workers(
            partial(count_documents, analyzer, store_text, field_weights or {}), threads=context.threads
        ) as workers,
    ):
        if work is None:
            batches = workers.map(document_batches(unread))
        else:
            batches = _cached(unread, TokenCounter(analyzer), store_text, work)
        for batch in batches:
            writer.add_documents(batch.doc_ids, batch.texts, batch.attributes)
            counts.add(batch)
            context.progress("read documents", writer.documents, length)
        if writer.documents == 0:
            raise empty_collection()
        if closed is None:
            counts.numbers.of(model.added_terms)
        tokens = list(counts.numbers) if closed is not None else sorted(counts.numbers)
        prepared = model.for_vocabulary(Vocabulary(tokens))
        vocabulary = Vocabulary(tokens, background=prepared.has_background_term)
        statistics = _weigh(counts, context, vocabulary=vocabulary, model=prepared)
    spec = analyzer.spec
    return writer.commit(
        vocabulary,
        encoder=encoder_description(
            model=model.name,
            parameters=model.parameters(),
            analyzer=spec,
            weighting=model.query_weighting,
            exact=not model.expands,
            table=model.table_facts,
            statistics=statistics_record(statistics),
        ),
        fields=field_weights or context.fields,
        floors=prepared.floors(statistics),
        attachments={
            **spec.files,
            **model.attachments(vocabulary, statistics),
            **statistics_files(statistics),
        },
    )


def _weigh(
    counted: TokenCounts, context: BuildContext, *, vocabulary: Vocabulary, model: CountModel
) -> CollectionStatistics:
    """Weigh the counts in two passes: statistics, then weights."""
    chunk = chunk_of(model)
    final = np.empty(len(vocabulary), dtype=np.int32)
    final[counted.numbers.of(vocabulary)] = np.arange(len(vocabulary), dtype=np.int32)

    def parts() -> Iterator[TermWeights]:
        return counted.rows(final, vocabulary.id, postings=chunk)

    statistics = CollectionStatistics.from_counts(parts(), n_terms=len(vocabulary))
    done = kept = 0
    for counts in parts():
        rows = model.weigh(counts, statistics)
        context.writer.add_weights(rows)
        done += len(counts)
        kept += rows.nnz
        context.progress("weigh terms", done, context.writer.documents)
    if statistics.n_tokens and not kept and model.parameters().get("prune"):
        raise ParameterError(
            "the threshold removes every weight of the documents",
            facts=[("prune", model.parameters()["prune"])],
            fixes=[Fix.use("set a smaller one, such as {}, or omit it for the default", prune=0.1)],
        )
    return statistics


class TokenCounts:
    """Token counts of documents in temporary files. Tokens are numbered as they come.

    Parameters
    ----------
    folder : Path
        Folder of the temporary files.
    tokens : iterable of str, optional
        Tokens with the first numbers.

    Attributes
    ----------
    numbers : Numbering
        Number of each token.
    """

    def __init__(self, folder: Path, tokens: Iterable[str] = ()) -> None:
        self.numbers = Numbering((token, number) for number, token in enumerate(tokens))
        self._spill = RowSpill(folder, "counts")

    def add(self, batch: CountedBatch) -> None:
        """Append the counts of documents."""
        self._spill.add(batch.indptr, self.numbers.of(batch.tokens)[batch.terms], batch.counts)

    def rows(self, final: npt.NDArray[np.int32], vocabulary: str, *, postings: int) -> Iterator[TermWeights]:
        """Yield the counts over a vocabulary, about `postings` at a time; `final` has its number for each number."""
        for indptr, terms, counts in self._spill.read(0, self._spill.rows, postings=postings):
            yield TermWeights(indptr, *renumber_rows(indptr, terms, counts, final), vocabulary)

    def close(self) -> None:
        """Remove the temporary files."""
        self._spill.close()


def chunk_of(model: CountModel) -> int:
    """Return the number of postings to weigh at a time."""
    return EXPANDED_CHUNK if model.expands else CHUNK


@dataclass(frozen=True)
class CountedBatch:
    """Counts of a batch of documents; `terms` are positions in `tokens`."""

    doc_ids: list[str]
    texts: list[str] | None
    attributes: list[Mapping[str, AttributeValue]] | None
    tokens: Sequence[str]
    indptr: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


def count_documents(
    analyzer: Analyzer, store_text: bool, field_weights: Mapping[str, int], documents: Sequence[Document]
) -> CountedBatch:
    """Analyse documents and count their tokens."""
    numbered = number_documents(analyzer, documents, field_weights)
    indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
    doc_ids = [document.doc_id for document in documents]
    stored = texts_to_store(documents, field_weights) if store_text else None
    return CountedBatch(doc_ids, stored, attributes_of(documents), numbered.tokens, indptr, terms, counts)


def document_batches(documents: Iterator[Document], size: int = BATCH) -> Iterator[list[Document]]:
    """Yield documents in lists of `size`, after checking them."""
    while batch := list(islice(documents, size)):
        for document in batch:
            check_document(document)
        yield batch


@dataclass(frozen=True)
class TokenCounter:
    """Encoder of texts as rows of token counts, which `encoded_blocks` caches in a work folder.

    Parameters
    ----------
    analyzer : Analyzer
        With a closed vocabulary, because blocks are numbered before all documents are read.

    Raises
    ------
    ParameterError
        If the vocabulary is open.
    """

    analyzer: Analyzer

    def __post_init__(self) -> None:
        if self.analyzer.vocabulary is None:
            raise ParameterError(
                "counts can be cached only for an analyzer with a closed vocabulary",
                facts=[("analyzer", self.analyzer.spec.name)],
                fixes=["omit the encoding"],
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """Closed vocabulary of the analyzer."""
        assert self.analyzer.vocabulary is not None
        return self.analyzer.vocabulary

    @property
    def block(self) -> int:
        """Documents of a block."""
        return 4096

    @property
    def fingerprint(self) -> str:
        """Digest of the analyzer."""
        return settings_fingerprint({"counts": self.analyzer.spec.fingerprint})

    @property
    def description(self) -> dict[str, Any]:
        """Name and settings of the analyzer."""
        return {"name": f"counts of {self.analyzer.spec.name}", "settings": dict(self.analyzer.spec.options)}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return the number of occurrences of each term in each text."""
        numbers = {token: number for number, token in enumerate(self.vocabulary)}
        terms: list[int] = []
        indptr = [0]
        for done, text in enumerate(texts, 1):
            terms.extend(numbers[token] for token in self.analyzer.tokens(text))
            indptr.append(len(terms))
            advance(done / len(texts))
        rows = count_rows(np.array(indptr, dtype=np.int64), np.array(terms, dtype=np.int32))
        return TermWeights(*rows, self.vocabulary.id)


def _cached(
    documents: Iterator[Document], counter: TokenCounter, store_text: bool, work: Path
) -> Iterator[CountedBatch]:
    tokens = list(counter.vocabulary)
    for block, rows in encoded_blocks(documents, counter, work):
        texts = [document.text for document in block] if store_text else None
        doc_ids = [document.doc_id for document in block]
        yield CountedBatch(
            doc_ids, texts, attributes_of(block), tokens, rows.indptr, rows.terms, rows.weights
        )
