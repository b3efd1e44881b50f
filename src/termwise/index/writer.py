"""Writer of an index: takes documents and rows of weights, and publishes a folder."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise._version import __version__
from termwise.display.safe_text import short_digest
from termwise.errors import EmptyCollectionError, ParameterError, VocabularyMismatchError, WeightError
from termwise.index.container import ContainerWriter, IndexFile, file_name, storage_errors
from termwise.index.document_vectors import VectorSpill
from termwise.index.folder import (
    check_free,
    claim,
    is_current,
    make_build_folder,
    remove_files,
    writer_lock,
)
from termwise.index.identifiers import Identifiers
from termwise.index.manifest import (
    BLOCK_BITS,
    FILE,
    MAX_DOCUMENTS,
    MAX_POSTINGS,
    Manifest,
    QuantiserRecord,
    SegmentRecord,
    VectorsRecord,
    json_copy,
    publish,
)
from termwise.index.quantiser import Quantiser, WeightRange
from termwise.index.segment import SegmentPlan, write_segment
from termwise.index.spill import RowSpill
from termwise.index.string_table import SECTIONS, write_strings
from termwise.index.texts import TextSpill
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import sync_folder, write_synced
from termwise.storage.ownership import remove_empty
from termwise.text.vocabulary import Vocabulary
from termwise.validation import check_memory, check_threads
from termwise.vectors import DocumentVectors, TermVectors
from termwise.weights import TermWeights

DEFAULT_MEMORY = 2 << 30
"""Default working memory in bytes."""


class IndexWriter:
    """Writes an index folder.

    Documents and rows are added together (`add`), or separately in the same order (`add_documents`, then
    `add_weights`, for models that need statistics of the whole collection). Documents of an index that ranks by vectors
    have vectors (`add_vectors`) instead of rows, or beside them. `commit` publishes the index by an atomic rename. If
    the ``with`` block ends without it, an existing index is unchanged.

    Parameters
    ----------
    path : str or Path
        Folder of the index; created if it is missing.
    quantiser : {"uint8", "float32"}
        Store impacts 1 to 255 (the default), or unchanged weights; see `QuantiserRecord`.
    store_text : bool
        Keep the texts, for explanations with highlights.
    reorder : bool
        Number documents internally so that similar ones are neighbours: search is faster, results are the same.
    overwrite : bool
        Replace an existing index.
    memory : int
        Working memory in bytes for sorting postings. It does not include the vocabulary, about 100 bytes per document
        for identifiers, and the file cache of the system.
    threads : int
        Threads to use; the files do not depend on it.
    progress : callable
        Called with stage, done, total.

    Raises
    ------
    IndexExistsError
        If there is an index and `overwrite` is False.
    ForeignFolderError
        If the folder holds files that do not belong to an index.
    IndexLockedError
        If another process writes the index.
    StorageError
        If the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from termwise.text.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary(["merge", "sort"])
    >>> rows = TermWeights([0, 1, 3], [1, 0, 1], [2.0, 1.0, 0.5], vocabulary.id)
    >>> with tempfile.TemporaryDirectory() as folder, IndexWriter(folder) as writer:
    ...     writer.add(["a", "b"], rows)
    ...     manifest = writer.commit(vocabulary, encoder={})
    >>> manifest.documents, manifest.postings
    (2, 3)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        quantiser: Literal["uint8", "float32"] = "uint8",
        store_text: bool = False,
        reorder: bool = True,
        overwrite: bool = False,
        memory: int = DEFAULT_MEMORY,
        threads: int = 1,
        progress: Progress = no_progress,
    ) -> None:
        if quantiser not in ("uint8", "float32"):
            raise ParameterError(
                "unknown quantiser", facts=[("given", quantiser), ("known", "uint8, float32")]
            )
        check_threads(threads)
        check_memory(memory)
        self.path = Path(path)
        self._kind = quantiser
        self._reorder = reorder
        self._memory = memory
        self._threads = threads
        self._progress = progress
        self._range = WeightRange()
        self._identifiers = Identifiers()
        self._vocabulary: str | None = None
        self._zeros: Counter[int] = Counter()
        self._vectors: VectorSpill | None = None
        self._published = False
        self._closed = False
        self._created: list[Path] = []
        with ExitStack() as resources:
            resources.callback(self._remove_created)
            self._created = claim(self.path, overwrite=overwrite)
            resources.enter_context(writer_lock(self.path))
            check_free(self.path, overwrite=overwrite)
            with storage_errors(self.path):
                self.folder = make_build_folder(self.path)
            resources.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self._rows = resources.enter_context(closing(RowSpill(self.folder, "rows")))
            self._texts: TextSpill | None = None
            if store_text:
                self._texts = resources.enter_context(closing(TextSpill(self.folder / "texts.spill")))
            self._resources = resources.pop_all()

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def documents(self) -> int:
        """Number of documents added so far."""
        return len(self._identifiers)

    def add(self, doc_ids: Sequence[str], rows: TermWeights, texts: Sequence[str] | None = None) -> None:
        """Append documents and their rows; see `add_documents` and `add_weights`."""
        if len(doc_ids) != len(rows):
            raise WeightError(
                "every document needs one row", facts=[("documents", len(doc_ids)), ("rows", len(rows))]
            )
        self.add_documents(doc_ids, texts)
        self.add_weights(rows)

    def add_documents(self, doc_ids: Sequence[str], texts: Sequence[str] | None = None) -> None:
        """Append documents: identifiers, and texts if the index stores them.

        Raises
        ------
        DuplicateIdError
            If an identifier occurs twice; the facts name both positions. None of these documents is added.
        """
        self._check_open()
        if self._texts is not None and (texts is None or len(texts) != len(doc_ids)):
            raise ParameterError(
                "the index stores texts, so every document needs one",
                facts=[("documents", len(doc_ids)), ("texts", "none" if texts is None else len(texts))],
            )
        self._identifiers.add(doc_ids)
        if self._texts is not None:
            for text in texts or ():
                self._texts.add(text)

    def add_weights(self, rows: TermWeights) -> None:
        """Append the rows of the next documents. Weights of exactly 0 are dropped and counted.

        Raises
        ------
        VocabularyMismatchError
            If the rows have another vocabulary than earlier ones.
        WeightError
            If a weight is negative; the facts name the document and the term.
        """
        self._check_open()
        if self._vocabulary is None:
            self._vocabulary = rows.vocabulary
        if rows.vocabulary != self._vocabulary:
            raise VocabularyMismatchError(
                "all rows of an index must have the same vocabulary",
                facts=[("before", short_digest(self._vocabulary)), ("now", short_digest(rows.vocabulary))],
            )
        negative = rows.weights < 0
        if negative.any():
            position = int(np.flatnonzero(negative)[0])
            row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
            raise WeightError(
                "an index cannot store negative weights: pruning would give wrong results",
                facts=[
                    ("document", self._identifiers.name(self._rows.rows + row)),
                    ("term", int(rows.terms[position])),
                    ("weight", float(rows.weights[position])),
                ],
                fixes=[
                    "raise negative weights to 0, or subtract a floor from each and pass the floors to `commit`"
                ],
            )
        indptr, terms, weights = rows.indptr, rows.terms, rows.weights
        zero = weights == 0
        if zero.any():
            self._zeros.update(terms[zero].tolist())
            indptr = indptr - np.concatenate([[0], np.cumsum(zero)])[indptr]
            terms, weights = terms[~zero], weights[~zero]
        self._rows.add(indptr, terms, weights)

    def add_vectors(self, vectors: DocumentVectors) -> None:
        """Append the vectors of the next documents.

        Raises
        ------
        WeightError
            If the vectors have no dimensions, or another number of them than earlier ones.
        """
        self._check_open()
        if self._vectors is None:
            if not vectors.dimensions:
                raise WeightError("vectors have at least one dimension", facts=[("vectors", len(vectors))])
            self._vectors = VectorSpill(self.folder, vectors.dimensions)
            self._resources.enter_context(closing(self._vectors))
        self._vectors.add(vectors)

    def commit(
        self,
        vocabulary: Vocabulary,
        *,
        encoder: Mapping[str, Any],
        floors: npt.ArrayLike | None = None,
        query_weights: npt.ArrayLike | None = None,
        attachments: Mapping[str, bytes] | None = None,
        term_vectors: TermVectors | None = None,
    ) -> Manifest:
        """Write and publish the index.

        Parameters
        ----------
        vocabulary : Vocabulary
            Vocabulary of all rows.
        encoder : mapping
            JSON-like description of model, analyzer and query encoder, stored without interpretation.
        floors : array-like of shape (terms,) or (terms + 1,), float64, optional
            Contribution of an absent term per unit of query weight; the last one belongs to the background term, if
            there is one. None for 0.
        query_weights : array-like of shape (terms,), float32, optional
            Static query weights for the query encoder.
        attachments : mapping of str to bytes, optional
            Small files to store with the index.
        term_vectors : TermVectors, optional
            Query table: required for documents with vectors, refused for others.

        Raises
        ------
        EmptyCollectionError
            If there are no documents.
        WeightError
            If there are not as many rows or vectors as documents, vectors of documents and of terms do not belong
            together, all weights are 0, or a bias or per-term number is out of range.
        VocabularyMismatchError
            If the rows have another vocabulary or term numbers outside it.
        ParameterError
            If JSON cannot represent the description of the encoder.
        """
        self._check_open()
        if self._vectors is not None and not self._rows.rows:
            documents = len(self._identifiers)
            self.add_weights(TermWeights(np.zeros(documents + 1, dtype=np.int64), [], [], vocabulary.id))
        self._check_complete(vocabulary)
        self._check_vectors(vocabulary, term_vectors)
        description = json_copy(encoder)
        n_slots = len(vocabulary) + (vocabulary.background is not None)
        self._measure_weights(vocabulary)
        if self._range.dropped and not self._rows.postings:
            raise WeightError(
                "all weights are 0, so no query has results",
                facts=[("weights", self._range.dropped)],
                fixes=["check the parameters of the model"],
            )
        quantiser = None if self._kind == "float32" else Quantiser(self._range)
        if quantiser is not None and not quantiser.bias_fits:
            raise WeightError(
                "the document bias is too large, compared with the term weights, to be quantised",
                facts=[("largest bias", self._range.largest_bias), ("largest weight", self._range.largest)],
                fixes=["use quantiser='float32'"],
            )
        terms_file = self._write_terms(vocabulary, n_slots, floors, query_weights, term_vectors)
        lengths = self._rows.lengths()
        ends = _segment_ends(lengths if self._vectors is None else lengths + self._vectors.windows())
        segments = [
            self._write_segment(first, last, vocabulary, quantiser) for first, last in pairwise([0, *ends])
        ]
        manifest = Manifest(
            documents=len(self._identifiers),
            postings=sum(segment.postings for segment in segments),
            terms=len(vocabulary),
            vocabulary=vocabulary.id,
            background=vocabulary.background is not None,
            encoder=description,
            quantiser=QuantiserRecord("float32", largest=self._range.largest, dropped=self._range.dropped)
            if quantiser is None
            else quantiser.record(),
            terms_file=terms_file,
            segments=tuple(segments),
            attachments={name: self._attach(data) for name, data in sorted((attachments or {}).items())},
            vectors=None
            if term_vectors is None
            else VectorsRecord(term_vectors.dimensions, term_vectors.scale),
            written_by=f"termwise {__version__}",
        )
        self._publish(manifest)
        return manifest

    def close(self) -> None:
        """Remove temporary files and the lock, and without `commit` also the folders that were created."""
        self._closed = True
        self._resources.close()

    def _check_open(self) -> None:
        if self._published or self._closed:
            raise ParameterError(
                "this writer is closed", facts=[("index", self.path)], fixes=["create another IndexWriter"]
            )

    def _remove_created(self) -> None:
        if not self._published:
            remove_empty(self._created)

    def _check_complete(self, vocabulary: Vocabulary) -> None:
        documents = len(self._identifiers)
        if documents == 0:
            raise EmptyCollectionError(
                "the collection holds no documents", fixes=["check the path and the format of the collection"]
            )
        if self._rows.rows != documents:
            raise WeightError(
                "every document needs one row", facts=[("documents", documents), ("rows", self._rows.rows)]
            )
        if self._vocabulary != vocabulary.id:
            raise VocabularyMismatchError(
                "the rows have another vocabulary",
                facts=[
                    ("rows", short_digest(self._vocabulary or "none")),
                    ("given", short_digest(vocabulary.id)),
                ],
            )

    def _check_vectors(self, vocabulary: Vocabulary, term_vectors: TermVectors | None) -> None:
        if self._vectors is None and term_vectors is None:
            return
        if self._vectors is None or term_vectors is None:
            raise WeightError(
                "an index has vectors of its documents and of its terms, or neither",
                facts=[
                    ("documents", "no vectors" if self._vectors is None else "vectors"),
                    ("terms", "no vectors" if term_vectors is None else "vectors"),
                ],
                fixes=["call `add_vectors` for all documents, and pass `term_vectors` to `commit`"],
            )
        documents = len(self._identifiers)
        if self._vectors.documents != documents:
            raise WeightError(
                "every document needs its vectors",
                facts=[("documents", documents), ("with vectors", self._vectors.documents)],
            )
        if term_vectors.dimensions != self._vectors.dimensions:
            raise WeightError(
                "vectors of documents and of terms have the same number of dimensions",
                facts=[("documents", self._vectors.dimensions), ("terms", term_vectors.dimensions)],
            )
        if (term_vectors.vocabulary, len(term_vectors)) != (vocabulary.id, len(vocabulary)):
            raise VocabularyMismatchError(
                "the term vectors have another vocabulary",
                facts=[
                    ("term vectors", f"{len(term_vectors):,} terms  {short_digest(term_vectors.vocabulary)}"),
                    ("given", f"{len(vocabulary):,} terms  {short_digest(vocabulary.id)}"),
                ],
            )

    def _measure_weights(self, vocabulary: Vocabulary) -> None:
        """Read all rows once: find the range of the weights, and check the term numbers."""
        self._range.dropped = sum(self._zeros.values()) - self._zeros[len(vocabulary)]
        limit = len(vocabulary) + (vocabulary.background is not None)
        for _, terms, weights in self._rows.read(0, self._rows.rows, postings=1 << 20):
            if len(terms) and int(terms.max()) >= limit:
                raise VocabularyMismatchError(
                    "a row holds a term number outside the vocabulary",
                    facts=[("number", int(terms.max())), ("terms", limit)],
                )
            if vocabulary.background is None:
                self._range.add_weights(weights)
            else:
                background = terms == vocabulary.background
                self._range.add_weights(weights[~background])
                self._range.add_biases(weights[background])

    def _write_segment(
        self, first: int, last: int, vocabulary: Vocabulary, quantiser: Quantiser | None
    ) -> SegmentRecord:
        plan = SegmentPlan(
            spill=self._rows,
            first_row=first,
            last_row=last,
            n_terms=len(vocabulary),
            background=vocabulary.background,
            quantiser=quantiser,
            reorder=self._reorder,
            threads=self._threads,
            memory=self._memory,
            progress=self._progress,
        )
        views, postings = write_segment(self.folder / "views", plan)
        self._rename("views", views)
        with ContainerWriter(self.folder / "ids", "ids", SECTIONS) as writer:
            write_strings(writer, "ids", self._identifiers.bytes_of(first, last))
            ids = self._rename("ids", writer.finish())
        texts = None
        if self._texts is not None:
            texts = self._rename("texts", self._texts.write(self.folder / "texts", first, last))
        vectors = None
        if self._vectors is not None:
            vectors = self._rename("vectors", self._vectors.write(self.folder / "vectors", first, last))
        return SegmentRecord(last - first, postings, BLOCK_BITS, views, ids, texts, vectors)

    def _write_terms(
        self,
        vocabulary: Vocabulary,
        n_slots: int,
        floors: npt.ArrayLike | None,
        query_weights: npt.ArrayLike | None,
        vectors: TermVectors | None,
    ) -> IndexFile:
        sections = SECTIONS + (2 if vectors is None else 4)
        with ContainerWriter(self.folder / "terms", "terms", sections) as writer:
            write_strings(writer, "terms", [token.encode("utf-8", "surrogatepass") for token in vocabulary])
            writer.write("floors", "<f8", [_per_term(floors, n_slots, "floors", np.float64)])
            writer.write(
                "query_weights",
                "<f4",
                [_per_term(query_weights, len(vocabulary), "query weights", np.float32)],
            )
            if vectors is not None:
                writer.write("term_vectors.rows", "i1", [vectors.rows])
                writer.write("term_vectors.shifts", "u1", [vectors.shifts])
            return self._rename("terms", writer.finish())

    def _attach(self, data: bytes) -> IndexFile:
        path = self.folder / "attachment"
        with storage_errors(path):
            write_synced(path, data)
        digest = hashlib.sha256(data).hexdigest()
        return self._rename("attachment", IndexFile(file_name("attachment", digest), len(data), digest))

    def _rename(self, temporary: str, file: IndexFile) -> IndexFile:
        """Give a finished file of the build folder its final name, which depends on its content only."""
        with storage_errors(self.folder / temporary):
            (self.folder / temporary).rename(self.folder / file.name)
        return file

    def _publish(self, manifest: Manifest) -> None:
        current = {file.name for file in manifest.files()}
        added: list[Path] = []
        try:
            with storage_errors(self.path):
                for name in sorted(current):
                    target = self.path / name
                    if not target.exists():
                        added.append(target)
                    (self.folder / name).replace(target)
                sync_folder(self.path)
            for created in self._created:
                with suppress(OSError):  # a folder that may be written but not read
                    sync_folder(created.parent)
            publish(self.path, manifest)
        finally:
            self._published = is_current(self.path, manifest)
            if not self._published:
                remove_files(added)
        # The next build removes files that cannot be removed now.
        with suppress(OSError):
            remove_files(
                file for file in self.path.iterdir() if FILE.fullmatch(file.name) and file.name not in current
            )


def _segment_ends(lengths: npt.NDArray[np.integer[Any]]) -> list[int]:
    """Return the ends of the segments. Each segment is as long as the format permits."""
    ends = np.cumsum(lengths, dtype=np.int64)
    cuts: list[int] = []
    first = 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + MAX_POSTINGS, side="right"))
        last = min(max(last, first + 1), first + MAX_DOCUMENTS, len(lengths))
        cuts.append(last)
        first = last
    return cuts


def _per_term(
    values: npt.ArrayLike | None, length: int, name: str, kind: type[np.floating[Any]]
) -> npt.NDArray[np.float64]:
    if values is None:
        return np.empty(0)
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        finite = bool(np.isfinite(array.astype(kind)).all())
    if array.shape != (length,) or not finite:
        raise WeightError(
            f"{name} must be finite numbers, one for each term",
            facts=[("shape", array.shape), ("expected", (length,))],
        )
    return array
