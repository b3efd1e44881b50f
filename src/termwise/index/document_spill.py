"""Documents of a build or of a change, in temporary files, and the segments that are written from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.attributes import Schema
from termwise.attributes.schema import SchemaInference
from termwise.display.safe_text import short_digest
from termwise.errors import ParameterError, VocabularyMismatchError, WeightError
from termwise.index.attribute_spill import AttributeSpill, Spellings
from termwise.index.container import ContainerWriter, IndexFile, storage_errors
from termwise.index.document_vectors import VectorSpill
from termwise.index.folder import FolderWriter
from termwise.index.identifiers import Identifiers
from termwise.index.manifest_records import BLOCK_BITS, MAX_DOCUMENTS, MAX_POSTINGS, SegmentRecord
from termwise.index.quantiser import Quantiser, WeightRange
from termwise.index.segment_writer import SegmentPlan, distinct_terms, write_segment
from termwise.index.spill import RowSpill, ranges_within
from termwise.index.string_table import SECTIONS, write_strings
from termwise.index.texts import TextSpill
from termwise.progress import Progress
from termwise.records import NO_ATTRIBUTES, AttributeValue
from termwise.storage.folder_path import FolderPath
from termwise.validation import check, check_memory, check_threads
from termwise.vectors import DocumentVectors
from termwise.weights import TermWeights


class DocumentWriter(FolderWriter, ABC):
    """Base class of the writers of documents: of a new index, and of changes to an index.

    Attributes
    ----------
    folder : Path
        Folder of temporary files, inside `path`.
    """

    folder: Path

    def __init__(self, path: str | Path, *, memory: int, threads: int, progress: Progress) -> None:
        check_threads(threads)
        check_memory(memory)
        self._folder = FolderPath.of(path)
        self._memory = memory
        self.threads = threads
        self.progress = progress

    def add(self, doc_ids: Sequence[str], rows: TermWeights, texts: Sequence[str] | None = None) -> None:
        """Add documents and their rows; see `add_documents` and `add_weights`."""
        if len(doc_ids) != len(rows):
            raise WeightError(
                "every document needs one row", facts=[("documents", len(doc_ids)), ("rows", len(rows))]
            )
        self.add_documents(doc_ids, texts)
        self.add_weights(rows)

    def add_documents(
        self,
        doc_ids: Sequence[str],
        texts: Sequence[str] | None = None,
        attributes: Sequence[Mapping[str, AttributeValue]] | None = None,
    ) -> None:
        """Add documents: identifiers, texts if the index stores them, and attributes.

        Raises
        ------
        DuplicateIdError
            If an identifier occurs twice; the facts name both positions. None of these documents is added.
        ParameterError
            If an identifier is not a string, or texts are missing.
        DataError, MalformedRecordError
            If an attribute has not the type of its field.
        """
        self._check_open()
        self._spill_for(doc_ids).add_documents(doc_ids, texts, attributes)

    def add_weights(self, rows: TermWeights, counts: npt.NDArray[np.integer] | None = None) -> None:
        """Add the term weights of the next documents. Weights that are 0 are not stored, but counted.

        Parameters
        ----------
        rows : TermWeights
        counts : ndarray of shape (rows.nnz,), integer, optional
            Number of occurrences of each term in its document, from 1 on; 0 for a background term. A segment keeps them
            if all its rows have them, and no term of a document has the weight 0.

        Raises
        ------
        VocabularyMismatchError
            If the rows have another vocabulary than earlier ones, or than the index.
        WeightError
            If a weight is negative; the facts name the document and the term.
        """
        self._check_open()
        self._spill_for(()).add_weights(rows, counts)

    def add_vectors(self, vectors: DocumentVectors) -> None:
        """Add the vectors of the next documents.

        Raises
        ------
        WeightError
            If the index has no vectors, or the vectors have no dimensions, or another number of them than earlier ones.
        """
        self._check_open()
        check("vectors", vectors, isinstance(vectors, DocumentVectors), "DocumentVectors")
        self._spill_for(()).add_vectors(vectors)

    def _write_segments(
        self,
        spill: DocumentSpill,
        n_terms: int,
        background: int | None,
        quantiser: Quantiser | None,
        *,
        reorder: bool,
        own_terms: bool = False,
    ) -> list[SegmentRecord]:
        """Write the documents of a spill to segments; see `SegmentPlan`."""
        plan = SegmentPlan(
            spill=spill.rows,
            first_row=0,
            last_row=len(spill),
            n_terms=n_terms,
            background=background,
            quantiser=quantiser,
            reorder=reorder,
            threads=self.threads,
            memory=self._memory,
            progress=self.progress,
        )
        return spill.write_segments(plan, own_terms=own_terms)

    @abstractmethod
    def _spill_for(self, doc_ids: Sequence[str]) -> DocumentSpill:
        """Return the spill that takes documents with these identifiers, and the rows of earlier ones."""


class DocumentSpill:
    """Documents in temporary files in a folder, from which segments are written.

    With `store_text`, documents have texts. A `Schema` has the attributes to keep; with a `SchemaInference`, and by
    default, all are kept, and their types inferred. `spellings` are those of `AttributeSpill`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store_text: bool,
        schema: Schema | SchemaInference | None = None,
        spellings: Spellings | None = None,
    ) -> None:
        self.folder = folder
        self.identifiers = Identifiers()
        self.vectors: VectorSpill | None = None
        self.vocabulary: str | None = None
        self._zeros: Counter[int] = Counter()
        self._schema = schema
        self._spellings = spellings
        self._attributes: AttributeSpill | None = None
        with ExitStack() as resources:
            self.rows = resources.enter_context(closing(RowSpill(folder, "rows")))
            self._texts: TextSpill | None = None
            if store_text:
                self._texts = resources.enter_context(closing(TextSpill(folder / "texts.spill")))
            self._resources = resources.pop_all()

    def __len__(self) -> int:
        return len(self.identifiers)

    def close(self) -> None:
        """Remove the temporary files."""
        self._resources.close()

    def add_documents(
        self,
        doc_ids: Sequence[str],
        texts: Sequence[str] | None = None,
        attributes: Sequence[Mapping[str, AttributeValue]] | None = None,
    ) -> None:
        """Append documents; see `IndexWriter.add_documents`."""
        if attributes is not None and len(attributes) != len(doc_ids):
            raise ParameterError(
                "attributes are given for all documents or for none",
                facts=[("documents", len(doc_ids)), ("attributes", len(attributes))],
            )
        if self._texts is not None and (texts is None or len(texts) != len(doc_ids)):
            raise ParameterError(
                "the index stores texts, so every document needs one",
                facts=[("documents", len(doc_ids)), ("texts", "none" if texts is None else len(texts))],
            )
        before = len(self)
        self.identifiers.add(doc_ids)
        self._add_attributes(before, doc_ids, attributes)
        if self._texts is not None:
            for text in texts or ():
                self._texts.add(text)

    def _add_attributes(
        self, before: int, doc_ids: Sequence[str], attributes: Sequence[Mapping[str, AttributeValue]] | None
    ) -> None:
        """Append attributes; the file begins with the first document that has some."""
        if self._attributes is None:
            if not attributes or not any(attributes):
                return
            path = self.folder / "attributes.spill"
            self._attributes = AttributeSpill(path, self._schema, spellings=self._spellings)
            self._resources.enter_context(closing(self._attributes))
            for _ in range(before):
                self._attributes.add("", NO_ATTRIBUTES)
        for doc_id, values in zip(doc_ids, attributes or [NO_ATTRIBUTES] * len(doc_ids), strict=True):
            self._attributes.add(doc_id, values)

    @property
    def schema(self) -> Schema:
        """Types of the attributes: the given ones, or those of the documents; empty without any."""
        if self._attributes is not None:
            return self._attributes.schema
        return (
            self._schema.schema() if isinstance(self._schema, SchemaInference) else self._schema or Schema()
        )

    def add_weights(self, rows: TermWeights, counts: npt.NDArray[np.integer] | None = None) -> None:
        """Append rows; see `IndexWriter.add_weights`."""
        if self.vocabulary is None:
            self.vocabulary = rows.vocabulary
        if rows.vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                "all rows of an index must have the same vocabulary",
                facts=[("before", short_digest(self.vocabulary)), ("now", short_digest(rows.vocabulary))],
            )
        negative = rows.weights < 0
        if negative.any():
            position = int(np.flatnonzero(negative)[0])
            row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
            raise WeightError(
                "an index cannot store negative weights: pruning would give wrong results",
                facts=[
                    ("document", self.identifiers.name(self.rows.rows + row)),
                    ("term", int(rows.terms[position])),
                    ("weight", float(rows.weights[position])),
                ],
                fixes=[
                    "raise negative weights to 0, or subtract a floor from each and pass the floors on committing"
                ],
            )
        indptr, terms, weights = rows.indptr, rows.terms, rows.weights
        zero = weights == 0
        if zero.any():
            self._zeros.update(terms[zero].tolist())
            indptr = indptr - np.concatenate([[0], np.cumsum(zero)])[indptr]
            terms, weights = terms[~zero], weights[~zero]
            if counts is not None:  # a document without some of its terms has another length
                counts = None if counts[zero].any() else counts[~zero]
        self.rows.add(indptr, terms, weights, counts)

    def add_vectors(self, vectors: DocumentVectors) -> None:
        """Append vectors; see `IndexWriter.add_vectors`."""
        if self.vectors is None:
            if not vectors.dimensions:
                raise WeightError("vectors have at least one dimension", facts=[("vectors", len(vectors))])
            self.vectors = VectorSpill(self.folder, vectors.dimensions)
            self._resources.enter_context(closing(self.vectors))
        self.vectors.add(vectors)

    def check_complete(self, vocabulary: str) -> None:
        """Check that every document has a row over a vocabulary, and its vectors; documents with vectors need no rows.

        Raises `WeightError` or `VocabularyMismatchError` if they have not.
        """
        documents = len(self)
        if self.vectors is not None and not self.rows.rows:
            self.add_weights(TermWeights(np.zeros(documents + 1, dtype=np.int64), [], [], vocabulary))
        if self.rows.rows != documents:
            raise WeightError(
                "every document needs one row", facts=[("documents", documents), ("rows", self.rows.rows)]
            )
        if self.vocabulary != vocabulary:
            raise VocabularyMismatchError(
                "the rows have another vocabulary",
                facts=[
                    ("rows", short_digest(self.vocabulary or "none")),
                    ("given", short_digest(vocabulary)),
                ],
            )
        if self.vectors is not None and self.vectors.documents != documents:
            raise WeightError(
                "every document needs its vectors",
                facts=[("documents", documents), ("with vectors", self.vectors.documents)],
            )

    def weight_range(self, n_terms: int, background: int | None) -> WeightRange:
        """Read all rows, and return the range of the weights.

        Raises `VocabularyMismatchError` for a term number outside the vocabulary.
        """
        found = WeightRange(dropped=sum(self._zeros.values()) - self._zeros[n_terms])
        limit = n_terms + (background is not None)
        for _, terms, weights in self.rows.read(0, self.rows.rows, postings=1 << 20):
            if len(terms) and int(terms.max()) >= limit:
                raise VocabularyMismatchError(
                    "a row holds a term number outside the vocabulary",
                    facts=[("number", int(terms.max())), ("terms", limit)],
                )
            if background is None:
                found.add_weights(weights)
            else:
                biases = terms == background
                found.add_weights(weights[~biases])
                found.add_biases(weights[biases])
        return found

    def write_segments(self, plan: SegmentPlan, *, own_terms: bool = False) -> list[SegmentRecord]:
        """Write segments of all rows, each as long as the format permits, into the folder.

        With `own_terms`, each segment numbers the terms that it contains.
        """
        lengths = self.rows.lengths()
        if self.vectors is not None:
            lengths = lengths + self.vectors.windows()
        records = []
        for first, last in ranges_within(lengths, MAX_POSTINGS, MAX_DOCUMENTS):
            part = replace(plan, first_row=first, last_row=last)
            if own_terms:
                part = replace(part, own_terms=distinct_terms(part))
            records.append(self._write_segment(part))
        return records

    def _write_segment(self, plan: SegmentPlan) -> SegmentRecord:
        first, last = plan.first_row, plan.last_row
        views, postings = write_segment(self.folder / "views", plan)
        final_name(self.folder / "views", views)
        with ContainerWriter(self.folder / "ids", "ids", SECTIONS) as writer:
            write_strings(writer, "ids", self.identifiers.bytes_of(first, last))
            ids = final_name(self.folder / "ids", writer.finish())
        texts = None
        if self._texts is not None:
            texts = final_name(self.folder / "texts", self._texts.write(self.folder / "texts", first, last))
        vectors = None
        if self.vectors is not None:
            path = self.folder / "vectors"
            vectors = final_name(path, self.vectors.write(path, first, last))
        attributes = None
        if self._attributes is not None and self.schema:
            path = self.folder / "attributes"
            attributes = final_name(path, self._attributes.write(path, first, last))
        return SegmentRecord(
            documents=last - first,
            postings=postings,
            block_bits=BLOCK_BITS,
            views=views,
            ids=ids,
            texts=texts,
            vectors=vectors,
            terms=None if plan.own_terms is None else len(plan.own_terms),
            attributes=attributes,
        )


def final_name(path: Path, file: IndexFile) -> IndexFile:
    """Give a finished file its final name, which depends on its content only."""
    with storage_errors(path):
        path.rename(path.with_name(file.name))
    return file
