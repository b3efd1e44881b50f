"""Rows computed from term counts and collection statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection import CollectionStatistics
from termwise.collection.fields import FieldChoice
from termwise.collection.statistics import OpenStatistics
from termwise.encode import encoded_blocks
from termwise.encode.document_encoder import Advance, no_advance, settings_fingerprint
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import IndexWriter, Manifest
from termwise.index.document_spill import DocumentWriter
from termwise.index.encoder_description import EncoderDescription, documents_of_languages, encoder_description
from termwise.index.spill import RowSpill
from termwise.index.updater import IndexUpdater
from termwise.indexing.built_statistics import built_statistics, statistics_files, statistics_record
from termwise.indexing.context import RowSource, attributes_of, empty_collection
from termwise.indexing.field_weights import field_texts, number_documents, texts_to_store
from termwise.indexing.language_statistics import (
    LanguageCounter,
    LanguagesOfTerms,
    LanguageStatistics,
    record_of,
)
from termwise.kernels.counting import count_rows, renumber_rows
from termwise.models import CountModel
from termwise.parallel import Workers
from termwise.progress import Progress, no_progress
from termwise.records import AttributeValue, Document
from termwise.text import Analyzer, Numbering, Vocabulary
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute
from termwise.validation import check_document
from termwise.weights import TermWeights

BATCH = 512
"""Documents per analysed batch."""

CHUNK = 1 << 20
"""Postings per weighed chunk."""

EXPANDED_CHUNK = 1 << 16
"""Postings per weighed chunk of an expanding model, which may add hundreds of terms for each."""

BLOCKS = 64
"""Blocks of added documents that wait for their analysis if several processes take part."""


def build_counts(
    writer: IndexWriter,
    *,
    documents: tuple[Iterator[Document], int | None],
    model: CountModel,
    analyzer: Analyzer,
    fields: FieldChoice = None,
    work: Path | None = None,
    allow_empty: bool = False,
) -> Manifest:
    """Count tokens, build the vocabulary, weigh the counts, and publish the index.

    `documents` come with their number, if it is known. `fields` are those of the texts, if they were chosen; for their
    weights, see `termwise.indexing.field_weights`. In the folder `work`, counts are cached, so that documents are
    analysed once for several builds.

    Raises `EmptyCollectionError` without documents unless that is allowed, and `ParameterError` if a threshold of the
    model removes every weight, a document lacks the fields, or counts cannot be cached: the vocabulary is open or
    fields have weights.
    """
    unread, length = documents
    field_weights = fields if isinstance(fields, Mapping) else {}
    if work is not None and field_weights:
        raise ParameterError(
            "the cache of term counts holds those of whole texts, not of fields with weights",
            facts=[("encoding", work), ("fields", ", ".join(field_weights))],
            fixes=["omit the encoding"],
        )
    closed = analyzer.vocabulary
    with (
        closing(TokenCounts(writer, closed or ())) as counts,
        Workers(
            partial(count_documents, analyzer, writer.store_text, field_weights), threads=writer.threads
        ) as workers,
    ):
        if work is None:
            batches = workers.map(document_batches(unread))
        else:
            batches = _cached(unread, TokenCounter(analyzer), writer.store_text, work)
        for batch in batches:
            counts.add(batch)
            writer.progress("read documents", writer.documents, length)
        empty = writer.documents == 0
        if empty and not allow_empty:
            raise empty_collection()
        if empty:
            counts.add(next(workers.map([[placeholder(field_weights)]])))
        if closed is None:
            counts.numbers.of(model.added_terms)
        tokens = list(counts.numbers) if closed is not None else sorted(counts.numbers)
        return publish_counts(
            writer, counts, tokens, model=model, analyzer=analyzer, fields=fields, empty=empty
        )


def placeholder(field_weights: Mapping[str, int]) -> Document:
    """Return the document that an index without documents has as its only, deleted one."""
    return Document.of_fields("", dict.fromkeys(field_weights, "")) if field_weights else Document("", "")


def publish_counts(
    writer: IndexWriter,
    counts: TokenCounts,
    tokens: Sequence[str],
    *,
    model: CountModel,
    analyzer: Analyzer,
    fields: FieldChoice,
    empty: bool = False,
) -> Manifest:
    """Weigh the counts of documents over the vocabulary of `tokens`, and publish the index.

    If it is `empty`, its only document is a placeholder.
    """
    prepared = model.for_vocabulary(Vocabulary(tokens))
    vocabulary = Vocabulary(tokens, background=prepared.has_background_term)
    languages = LanguagesOfTerms.of(analyzer, tokens)
    statistics, documents = _weigh(
        counts, writer.progress, vocabulary=vocabulary, model=prepared, languages=languages
    )
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
            statistics={**statistics_record(statistics), **record_of(documents)},
        ),
        fields=fields,
        floors=prepared.floors(statistics),
        attachments={
            **spec.files,
            **model.attachments(vocabulary, statistics),
            **statistics_files(statistics),
        },
        empty=empty,
    )


def _weigh(
    counted: TokenCounts,
    progress: Progress,
    *,
    vocabulary: Vocabulary,
    model: CountModel,
    languages: LanguagesOfTerms | None,
) -> tuple[CollectionStatistics, dict[str, int]]:
    """Weigh the counts in two passes: statistics, with the number of documents of each language, then weights."""
    final = np.zeros(
        len(counted.numbers), dtype=np.int32
    )  # some may be outside the vocabulary, without a count
    final[counted.numbers.of(vocabulary)] = np.arange(len(vocabulary), dtype=np.int32)
    rows = counted.rows(final, vocabulary.id, postings=_chunk_of(model))
    counter = None if languages is None else LanguageCounter(languages)
    statistics = CollectionStatistics.from_counts(
        rows if counter is None else counter.passing(rows), n_terms=len(vocabulary)
    )
    documents, of_languages = {}, None
    if counter is not None and languages is not None:
        documents = counter.documents
        of_languages = LanguageStatistics.of(languages, documents, statistics)
    kept = counted.weigh(final, vocabulary.id, model, statistics, of_languages, progress=progress)
    if statistics.n_tokens and not kept and model.parameters().get("prune"):
        raise ParameterError(
            "the threshold removes every weight of the documents",
            facts=[("prune", model.parameters()["prune"])],
            fixes=[Fix.use("set a smaller one, such as {}, or omit it for the default", prune=0.1)],
        )
    return statistics, documents


class TokenCounts:
    """Token counts, in temporary files, of the documents that a writer takes. Tokens are numbered as they come.

    The writer takes the documents at once, and their rows by `weigh`. `tokens` are those with the first numbers;
    `numbers` has the number of each token.
    """

    def __init__(self, writer: DocumentWriter, tokens: Iterable[str] = ()) -> None:
        self.numbers = Numbering((token, number) for number, token in enumerate(tokens))
        self._writer = writer
        self._spill = RowSpill(writer.folder, "counts")

    def add(self, batch: CountedBatch) -> None:
        """Pass documents to the writer, and append their counts."""
        self.add_numbered(batch, self.numbers.of(batch.tokens)[batch.terms])

    def add_numbered(self, batch: CountedBatch, terms: npt.NDArray[np.int32]) -> None:
        """Do so for a batch whose terms have these numbers."""
        self._writer.add_documents(batch.doc_ids, batch.texts, batch.attributes)
        self._spill.add(batch.indptr, terms, batch.counts)

    def rows(self, final: npt.NDArray[np.int32], vocabulary: str, *, postings: int) -> Iterator[TermWeights]:
        """Yield the counts over a vocabulary, about `postings` at a time; `final` has its number for each number."""
        for indptr, terms, counts in self._spill.read(0, self._spill.rows, postings=postings):
            yield TermWeights(indptr, *renumber_rows(indptr, terms, counts, final), vocabulary)

    def weigh(
        self,
        final: npt.NDArray[np.int32],
        vocabulary: str,
        model: CountModel,
        statistics: CollectionStatistics | OpenStatistics,
        of_languages: LanguageStatistics | None = None,
        *,
        progress: Progress = no_progress,
    ) -> int:
        """Compute the weights of all documents, and pass them to the writer; return the number of weights."""
        done = kept = 0
        for counts in self.rows(final, vocabulary, postings=_chunk_of(model)):
            its = statistics if of_languages is None else of_languages
            rows = (
                its.weigh(model, counts) if isinstance(its, LanguageStatistics) else model.weigh(counts, its)
            )
            self._writer.add_weights(rows, _occurrences(counts, rows) if model.keeps_terms else None)
            done += len(counts)
            kept += rows.nnz
            progress("weigh terms", done, self._spill.rows)
        return kept

    def close(self) -> None:
        """Remove the temporary files."""
        self._spill.close()


def _occurrences(counts: TermWeights, rows: TermWeights) -> npt.NDArray[np.integer]:
    """Return the count of each weight, 0 for a background term, which comes last in its row."""
    found = counts.weights.astype(np.int64)
    return found if rows.nnz == counts.nnz else np.insert(found, counts.indptr[1:], 0)


def _chunk_of(model: CountModel) -> int:
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

    An analyzer with an open vocabulary is refused, because blocks are numbered before all documents are read.
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


class AddedCountRows(RowSource):
    """Rows of a count model, weighed with the statistics of the build; new terms join the vocabulary."""

    def __init__(
        self,
        updater: IndexUpdater,
        model: CountModel,
        analyzer: Analyzer,
        threads: int,
    ) -> None:
        self.updater = updater
        self._model = model
        self._analyzer = analyzer
        self._statistics: tuple[EncoderDescription, CollectionStatistics] | None = None
        self._field_weights = updater.index.manifest.field_weights
        self._analyse = partial(count_documents, analyzer, updater.index.stores_text, self._field_weights)
        self._workers = Workers(self._analyse, threads=threads)
        self._blocks = 1 if threads == 1 else BLOCKS
        self._counts: TokenCounts | None = None
        self.reset()

    def with_language(self, document: Document) -> Document:
        """Return a document with the attribute that its analyzer needs, if it is detected; see `RowSource`."""
        its = self._analyzer
        if not isinstance(its, AnalyzerByAttribute):
            return document
        document = its.with_language(document)
        its.language(document.attributes)  # raises the error of a value that is no string
        return document

    def reset(self) -> None:
        """Forget the documents that were not passed on, and the tokens that the current generation lacked."""
        self._new: dict[str, int] = {}
        """Numbers of the tokens that the current generation lacks."""
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[Sequence[Document]] = []
        """Blocks of documents that are not analysed yet."""
        self._remove_counts()

    def add(self, documents: Sequence[Document], known: Mapping[str, int]) -> None:
        """Queue documents, and analyse the queue when it has a block for each process."""
        for document in documents if self._field_weights else ():
            field_texts(document, self._field_weights)  # raises the error of a document without the fields
        self._waiting.append(documents)
        if len(self._waiting) >= self._blocks:
            self._count()

    def _count(self) -> None:
        """Analyse the waiting documents and count their terms; worker processes share several blocks.

        The updater takes the documents at once, and their rows by `flush`.
        """
        waiting, self._waiting = self._waiting, []
        analyse = map(self._analyse, waiting) if len(waiting) == 1 else self._workers.map(waiting)
        for batch in analyse:
            if self._counts is None:
                self._counts = TokenCounts(self.updater)
            self._counts.add(batch)

    def flush(self) -> None:
        """Compute the weights of the documents, and pass them to the updater, which writes them."""
        self._count()
        if self._counts is None:
            return
        updater, before = self.updater, self.updater.terms
        final = self._numbered(list(self._counts.numbers))
        tokens = list(self._new)[before - updater.index.manifest.terms :]
        built = self._built_statistics()
        statistics = OpenStatistics(built, before + len(tokens), longest=built.longest)
        floors = self._model.floors(statistics) if tokens else None
        updater.add_terms(tokens, None if floors is None else floors[before : before + len(tokens)])
        languages, of_languages = LanguagesOfTerms.of_index(updater.index, self._analyzer, self._new), None
        if languages is not None:
            documents = documents_of_languages(updater.index.manifest.encoder.statistics)
            of_languages = LanguageStatistics.of(languages, documents, built, opened=True)
        self._counts.weigh(final, updater.vocabulary, self._prepared(), statistics, of_languages)
        updater.write()
        self._begin()

    def _built_statistics(self) -> CollectionStatistics:
        """Return the statistics of the weights of the current generation, which are read again if they have changed."""
        index = self.updater.index
        if self._statistics is None or self._statistics[0] != index.manifest.encoder:
            self._statistics = index.manifest.encoder, built_statistics(index)
        return self._statistics[1]

    def _numbered(self, tokens: list[str]) -> npt.NDArray[np.int32]:
        """Return the term numbers of tokens; those that the current generation lacks get the next ones."""
        vocabulary = self.updater.index.vocabulary
        numbers = vocabulary.numbers(tokens)
        for place in np.flatnonzero(numbers < 0).tolist():
            numbers[place] = self._new.setdefault(tokens[place], len(vocabulary) + len(self._new))
        return numbers.astype(np.int32)

    def _prepared(self) -> CountModel:
        """Return the model for the current vocabulary."""
        if type(self._model).for_vocabulary is CountModel.for_vocabulary:
            return self._model
        vocabulary = self.updater.index.vocabulary
        known = Vocabulary([*vocabulary.load(), *self._new], background=vocabulary.background is not None)
        return replace(self._model.for_vocabulary(known), vocabulary=self.updater.vocabulary)  # type: ignore[call-arg]

    def _remove_counts(self) -> None:
        if self._counts is not None:
            self._counts.close()
            self._counts = None

    def close(self) -> None:
        """Remove the temporary files, and end other processes."""
        self._remove_counts()
        self._workers.close()
