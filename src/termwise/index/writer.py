"""Writer of an index: takes documents and rows of weights, and publishes a folder."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise._version import __version__
from termwise.attributes import Schema
from termwise.attributes.schema import SchemaInference
from termwise.display.safe_text import short_digest
from termwise.errors import EmptyCollectionError, ParameterError, VocabularyMismatchError, WeightError
from termwise.fixes import Fix
from termwise.index.container import ContainerWriter, IndexFile, file_name, storage_errors
from termwise.index.deletions import write_deletions
from termwise.index.document_spill import DocumentSpill, DocumentWriter, final_name
from termwise.index.encoder_description import EncoderDescription
from termwise.index.folder import check_free, claim, is_current, make_build_folder, publish_files, writer_lock
from termwise.index.manifest import Manifest
from termwise.index.manifest_records import QuantiserRecord, SegmentRecord, VectorsRecord
from termwise.index.quantiser import Quantiser
from termwise.index.string_table import SECTIONS, write_strings
from termwise.progress import Progress, no_progress
from termwise.storage.atomic_file import write_synced
from termwise.storage.ownership import remove_empty
from termwise.text.vocabulary import Vocabulary
from termwise.validation import check, check_flag
from termwise.vectors import LEVELS, TermVectors

DEFAULT_MEMORY = 2 << 30
"""Default working memory in bytes."""


class IndexWriter(DocumentWriter):
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
    schema : Schema, optional
        Attributes to keep, and their types; by default those of all documents, with inferred types.
    chunk : int
        See `Manifest`.
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
    >>> from termwise.weights import TermWeights
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
        schema: Schema | SchemaInference | None = None,
        chunk: int = 0,
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
        for name, flag in {"store_text": store_text, "reorder": reorder, "overwrite": overwrite}.items():
            check_flag(name, flag)
        super().__init__(path, memory=memory, threads=threads, progress=progress)
        self._kind = quantiser
        self._chunk = chunk
        self._reorder = reorder
        self.store_text = store_text
        self.html = False
        """Whether the texts are the plain text of HTML; see `Manifest`."""
        self._published = False
        self._created: list[Path] = []
        with ExitStack() as resources:
            resources.callback(self._remove_created)
            check_folder = partial(check_free, self.path, overwrite=overwrite)
            self._created = [each.absolute() for each in claim(self.path, "an index", check_folder)]
            resources.enter_context(writer_lock(self.path))
            check_folder()
            self.folder = make_build_folder(self.path)
            resources.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self._spill = resources.enter_context(
                closing(DocumentSpill(self.folder, store_text=store_text, schema=schema))
            )
            self._resources = resources.pop_all()

    @property
    def documents(self) -> int:
        """Number of documents added so far."""
        return len(self._spill)

    def _spill_for(self, doc_ids: Sequence[str]) -> DocumentSpill:
        return self._spill

    def commit(
        self,
        vocabulary: Vocabulary,
        *,
        encoder: Mapping[str, Any],
        fields: Sequence[str] | Mapping[str, int] | None = None,
        floors: npt.ArrayLike | None = None,
        query_weights: npt.ArrayLike | None = None,
        attachments: Mapping[str, bytes] | None = None,
        term_vectors: TermVectors | None = None,
        empty: bool = False,
    ) -> Manifest:
        """Write and publish the index.

        Parameters
        ----------
        vocabulary : Vocabulary
            Vocabulary of all rows.
        encoder : mapping
            JSON-like description of model, analyzer and query encoder, see `encoder_description`; empty without one.
        fields : sequence of str or mapping of str to int, optional
            Fields of the texts, if the build names them, in the order of the texts; a mapping has their weights.
        floors : array-like of shape (terms,) or (terms + 1,), float64, optional
            Contribution of an absent term per unit of query weight; the last one belongs to the background term, if
            there is one. None for 0.
        query_weights : array-like of shape (terms,), float32, optional
            Static query weights for the query encoder.
        attachments : mapping of str to bytes, optional
            Small files to store with the index.
        term_vectors : TermVectors, optional
            Query table: required for documents with vectors, refused for others.
        empty : bool, optional
            Mark all documents as deleted. An index has at least one, so an empty index is that of a placeholder.

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
            If JSON cannot represent the description of the encoder, or one of its values has the wrong type.
        """
        self._check_open()
        spill, background = self._spill, vocabulary.background
        if not len(spill):
            raise EmptyCollectionError(
                "the collection holds no documents", fixes=["check the path and the format of the collection"]
            )
        spill.check_complete(vocabulary.id)
        self._check_vectors(vocabulary, term_vectors)
        described = EncoderDescription.of(encoder)
        n_slots = len(vocabulary) + (background is not None)
        weights = spill.weight_range(len(vocabulary), background)
        if weights.dropped and not spill.rows.postings:
            raise WeightError(
                "all weights are 0, so no query has results",
                facts=[("weights", weights.dropped)],
                fixes=["check the parameters of the model"],
            )
        quantiser = None if self._kind == "float32" else Quantiser(weights)
        if quantiser is not None and not quantiser.bias_fits:
            raise WeightError(
                "the document bias is too large, compared with the term weights, to be quantised",
                facts=[("largest bias", weights.largest_bias), ("largest weight", weights.largest)],
                fixes=["use quantiser='float32'"],
            )
        terms_file = self._write_terms(vocabulary, n_slots, floors, query_weights, term_vectors)
        segments = self._write_segments(spill, len(vocabulary), background, quantiser, reorder=self._reorder)
        if empty:
            segments = [self._without_documents(segment) for segment in segments]
        manifest = Manifest(
            documents=sum(segment.live for segment in segments),
            postings=sum(segment.postings for segment in segments),
            terms=len(vocabulary),
            vocabulary=vocabulary.id,
            background=background is not None,
            encoder=described,
            quantiser=QuantiserRecord("float32", largest=weights.largest, dropped=weights.dropped)
            if quantiser is None
            else quantiser.record(),
            terms_file=terms_file,
            segments=tuple(segments),
            attachments={name: self._attach(data) for name, data in sorted((attachments or {}).items())},
            vectors=None
            if term_vectors is None
            else VectorsRecord(term_vectors.dimensions, term_vectors.scale),
            written_by=f"termwise {__version__}",
            chunk=self._chunk,
            html=self.html,
            fields=tuple(fields or ()),
            field_weights=dict(fields) if isinstance(fields, Mapping) else {},
            generation=int(empty),
            schema=dict(spill.schema),
        )
        self._publish(manifest)
        return manifest

    def _without_documents(self, segment: SegmentRecord) -> SegmentRecord:
        path = self.folder / "deletions"
        deleted = final_name(path, write_deletions(path, np.ones(segment.documents, dtype=np.bool_)))
        return replace(segment, deletions=segment.documents, deleted=deleted)

    def _remove_created(self) -> None:
        if not self._published:
            remove_empty(self._created)

    def _check_vectors(self, vocabulary: Vocabulary, term_vectors: TermVectors | None) -> None:
        vectors = self._spill.vectors
        check("term_vectors", term_vectors, isinstance(term_vectors, TermVectors | None), "TermVectors")
        if vectors is None and term_vectors is None:
            return
        if vectors is None or term_vectors is None:
            raise WeightError(
                "an index has vectors of its documents and of its terms, or neither",
                facts=[
                    ("documents", "no vectors" if vectors is None else "vectors"),
                    ("terms", "no vectors" if term_vectors is None else "vectors"),
                ],
                fixes=[
                    Fix.sentence(
                        "call {} for all documents, then {}",
                        Fix.python("add_vectors(…)"),
                        Fix.python("commit(term_vectors=…)"),
                    )
                ],
            )
        if term_vectors.dimensions != vectors.dimensions:
            raise WeightError(
                "vectors of documents and of terms have the same number of dimensions",
                facts=[("documents", vectors.dimensions), ("terms", term_vectors.dimensions)],
            )
        if term_vectors.rows.min(initial=0) < -LEVELS:
            raise WeightError(
                "a number of a term vector is out of range",
                facts=[
                    ("expected", f"numbers from -{LEVELS} to {LEVELS}"),
                    ("seen", term_vectors.rows.min()),
                ],
                fixes=[Fix.python("TermVectors.of", "round the vectors with {}")],
            )
        if (term_vectors.vocabulary, len(term_vectors)) != (vocabulary.id, len(vocabulary)):
            raise VocabularyMismatchError(
                "the term vectors have another vocabulary",
                facts=[
                    ("term vectors", f"{len(term_vectors):,} terms  {short_digest(term_vectors.vocabulary)}"),
                    ("given", f"{len(vocabulary):,} terms  {short_digest(vocabulary.id)}"),
                ],
            )

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
            return final_name(self.folder / "terms", writer.finish())

    def _attach(self, data: bytes) -> IndexFile:
        path = self.folder / "attachment"
        with storage_errors(path):
            write_synced(path, data)
        digest = hashlib.sha256(data).hexdigest()
        return final_name(path, IndexFile(file_name("attachment", digest), len(data), digest))

    def _publish(self, manifest: Manifest) -> None:
        try:
            publish_files(self.path, self.folder, manifest, created=self._created)
        finally:
            self._published = self._closed = is_current(self.path, manifest)


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
