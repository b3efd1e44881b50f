"""Building an index: documents and rows in, one published folder out."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from termwise._version import __version__
from termwise.display.safe_text import short_digest
from termwise.errors import (
    EmptyCollectionError,
    ParameterError,
    StorageError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.index import manifest as manifests
from termwise.index.container import ContainerWriter, FileEntry, closing_quietly, storage_errors
from termwise.index.folder import check_free, claim, is_current, remove_files, remove_folders
from termwise.index.identifiers import Identifiers
from termwise.index.lock import writer_lock
from termwise.index.manifest import (
    BLOCK_BITS,
    BUILD,
    FILE,
    MAX_DOCUMENTS,
    MAX_POSTINGS,
    FileRecord,
    Manifest,
    SegmentRecord,
    file_name,
)
from termwise.index.quantiser import Quantiser, WeightRange, float_record
from termwise.index.segment import SegmentPlan, write_segment
from termwise.index.spill import RowSpill
from termwise.index.strings import SECTIONS, write_strings
from termwise.index.texts import TextSpill
from termwise.progress import Progress, no_progress
from termwise.text.vocabulary import Vocabulary
from termwise.validation import check_memory, check_threads
from termwise.weights import TermWeights

DEFAULT_MEMORY = 2 << 30


class IndexWriter:
    """Writes an index folder.

    Documents and their rows may arrive together (`add`) or apart (`add_documents` now, `add_weights` later, for
    models that need statistics of the whole collection first), in the same order. Nothing is visible until
    `commit`, which publishes everything by one atomic rename; leaving the ``with`` block before that leaves
    whatever index was there.

    Parameters
    ----------
    path : str or Path
        Folder of the index; created where missing.
    quantiser : {"uint8", "float32"}
        Store impacts 1 to 255 (the default), or weights as they come; see `QuantiserRecord`.
    store_text : bool
        Keep the texts, for explanations with highlights.
    reorder : bool
        Number documents internally so that similar ones are neighbours; searching is faster and results are
        the same.
    overwrite : bool
        Replace the index that is there.
    memory : int
        Working memory in bytes for sorting postings. Not counted: the vocabulary, about 100 bytes a document
        for identifiers, and files the system keeps in its cache.
    threads : int
        Threads to use; the files come out the same for any number.
    progress : callable
        Called with stage, done, total.

    Raises
    ------
    IndexExistsError
        If there is an index and `overwrite` is False.
    ForeignFolderError
        If the folder holds files that are not an index.
    IndexLockedError
        If another process is building in the folder.
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
        self._published = False
        self._closed = False
        self._made: list[Path] = []
        with ExitStack() as resources:
            resources.callback(self._remove_made)
            self._made = claim(self.path, overwrite=overwrite)
            resources.enter_context(writer_lock(self.path))
            check_free(self.path, overwrite=overwrite)
            with storage_errors(self.path):
                for left in self.path.glob(f"{BUILD}*"):
                    if left.is_dir() and not left.is_symlink():
                        shutil.rmtree(left, ignore_errors=True)
                    else:
                        remove_files([left])
                self.folder = Path(tempfile.mkdtemp(prefix=BUILD, dir=self.path))
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
        """Append documents: identifiers, and texts where they are to be stored.

        Raises
        ------
        DuplicateIdError
            If an identifier was given before; the facts name both positions. None of these documents is added.
        """
        self._check_open()
        if self._texts is None:
            self._identifiers.add(doc_ids)
            return
        if texts is None or len(texts) != len(doc_ids):
            raise ParameterError(
                "texts are to be stored, so every document needs one",
                facts=[
                    ("documents", len(doc_ids)),
                    ("texts", "none" if texts is None else len(texts)),
                ],
            )
        self._identifiers.add(doc_ids)
        for text in texts:
            self._texts.add(text)

    def add_weights(self, rows: TermWeights) -> None:
        """Append the rows of the next documents. Weights of exactly 0 are dropped and counted.

        Raises
        ------
        VocabularyMismatchError
            If the rows number their terms otherwise than those before.
        WeightError
            If a weight is negative; the facts name the document and the term.
        """
        self._check_open()
        if self._vocabulary is None:
            self._vocabulary = rows.vocabulary
        if rows.vocabulary != self._vocabulary:
            raise VocabularyMismatchError(
                "all rows of an index must use one vocabulary",
                facts=[("before", short_digest(self._vocabulary)), ("now", short_digest(rows.vocabulary))],
            )
        negative = rows.weights < 0
        if negative.any():
            position = int(np.flatnonzero(negative)[0])
            row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
            raise WeightError(
                "an index holds no negative weights: pruning would return wrong results",
                facts=[
                    ("document", self._identifiers.name(self._rows.rows + row)),
                    ("term", int(rows.terms[position])),
                    ("weight", float(rows.weights[position])),
                ],
                fixes=["floor the weights at 0, or shift them and tell the floors to the query side"],
            )
        indptr, terms, weights = rows.indptr, rows.terms, rows.weights
        zero = weights == 0
        if zero.any():
            self._zeros.update(terms[zero].tolist())
            indptr = indptr - np.concatenate([[0], np.cumsum(zero)])[indptr]
            terms, weights = terms[~zero], weights[~zero]
        self._rows.add(indptr, terms, weights)

    def commit(
        self,
        vocabulary: Vocabulary,
        *,
        encoder: Mapping[str, Any],
        floors: npt.ArrayLike | None = None,
        query_weights: npt.ArrayLike | None = None,
        attachments: Mapping[str, bytes] | None = None,
    ) -> Manifest:
        """Write and publish the index.

        Parameters
        ----------
        vocabulary : Vocabulary
            The numbering all rows used.
        encoder : mapping
            JSON-like description of model, analyzer and query side; kept as it is.
        floors : array-like of shape (terms,) or (terms + 1,), float64, optional
            What an absent term contributes per unit of query weight; the last one belongs to the background
            term, where there is one. None means 0.
        query_weights : array-like of shape (terms,), float32, optional
            Static query weights, kept for the query encoder.
        attachments : mapping of str to bytes, optional
            Small files to keep with the index.

        Raises
        ------
        EmptyCollectionError
            If no document was added.
        WeightError
            If documents and rows do not match.
        VocabularyMismatchError
            If the rows used another vocabulary or numbers outside it.
        ParameterError
            If JSON cannot hold the description of the encoder.
        """
        self._check_open()
        self._check_complete(vocabulary)
        description = manifests.json_copy(encoder)
        n_slots = len(vocabulary) + (vocabulary.background is not None)
        self._survey(vocabulary)
        if self._range.dropped and not self._rows.postings:
            raise WeightError(
                "every weight is zero, so nothing could ever be found",
                facts=[("weights", self._range.dropped)],
                fixes=["check the parameters of the model"],
            )
        quantiser = None if self._kind == "float32" else Quantiser(self._range)
        if quantiser is not None and not quantiser.bias_fits:
            raise WeightError(
                "the document bias is too large beside the term weights to be quantised",
                facts=[("largest bias", self._range.largest_bias), ("largest weight", self._range.largest)],
                fixes=["use quantiser='float32'"],
            )
        terms_file = self._write_terms(vocabulary, n_slots, floors, query_weights)
        segments = []
        first = 0
        for last in _segment_ends(self._rows.lengths()):
            segments.append(self._write_segment(first, last, vocabulary, quantiser))
            first = last
        manifest = Manifest(
            documents=len(self._identifiers),
            postings=sum(segment.postings for segment in segments),
            terms=len(vocabulary),
            vocabulary=vocabulary.id,
            background=vocabulary.background is not None,
            encoder=description,
            quantiser=float_record(self._range) if quantiser is None else quantiser.record(),
            terms_file=terms_file,
            segments=tuple(segments),
            attachments={name: self._attach(data) for name, data in sorted((attachments or {}).items())},
            written_by=f"termwise {__version__}",
        )
        self._publish(manifest)
        return manifest

    def close(self) -> None:
        """Remove temporary files, let go of the lock, and remove folders that were made for nothing."""
        self._closed = True
        self._resources.close()

    def _check_open(self) -> None:
        if self._published or self._closed:
            raise ParameterError(
                "this writer has done its work",
                facts=[("index", self.path)],
                fixes=["make another IndexWriter"],
            )

    def _remove_made(self) -> None:
        if not self._published:
            remove_folders(self._made)

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
                "the rows were made with another vocabulary",
                facts=[
                    ("rows", short_digest(self._vocabulary or "none")),
                    ("given", short_digest(vocabulary.id)),
                ],
            )

    def _survey(self, vocabulary: Vocabulary) -> None:
        """Read all rows once: largest weights, and whether every term number is known."""
        self._range.dropped = sum(self._zeros.values()) - self._zeros[len(vocabulary)]
        limit = len(vocabulary) + (vocabulary.background is not None)
        for _, terms, weights in self._rows.read(0, self._rows.rows, postings=1 << 20):
            if len(terms) and int(terms.max()) >= limit:
                raise VocabularyMismatchError(
                    "a row holds a term number outside the vocabulary",
                    facts=[("number", int(terms.max())), ("terms", limit)],
                )
            if vocabulary.background is None:
                self._range.see(weights)
            else:
                background = terms == vocabulary.background
                self._range.see(weights[~background])
                self._range.see_bias(weights[background])

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
        entry, postings = write_segment(self.folder / "views", plan)
        views = self._keep("segment", self.folder / "views", entry)
        names = self._identifiers.bytes_of(first, last)
        with ContainerWriter(self.folder / "ids", "ids", SECTIONS) as writer:
            write_strings(writer, "ids", names)
            entry = writer.finish()
        ids = self._keep("ids", self.folder / "ids", entry)
        texts = None
        if self._texts is not None:
            entry = self._texts.write(self.folder / "texts", first, last)
            texts = self._keep("texts", self.folder / "texts", entry)
        return SegmentRecord(last - first, postings, BLOCK_BITS, views, ids, texts)

    def _write_terms(
        self,
        vocabulary: Vocabulary,
        n_slots: int,
        floors: npt.ArrayLike | None,
        query_weights: npt.ArrayLike | None,
    ) -> FileRecord:
        path = self.folder / "terms"
        with ContainerWriter(path, "terms", SECTIONS + 2) as writer:
            write_strings(writer, "terms", [token.encode("utf-8", "surrogatepass") for token in vocabulary])
            writer.write("floors", "<f8", [_per_term(floors, n_slots, "floors", np.float64)])
            writer.write(
                "query_weights",
                "<f4",
                [_per_term(query_weights, len(vocabulary), "query weights", np.float32)],
            )
            entry = writer.finish()
        return self._keep("terms", path, entry)

    def _attach(self, data: bytes) -> FileRecord:
        path = self.folder / "attachment"
        with storage_errors(path), closing_quietly(path.open("wb")) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return self._keep(
            "attachment", path, FileEntry("attachment", len(data), hashlib.sha256(data).hexdigest())
        )

    def _keep(self, kind: str, path: Path, entry: FileEntry) -> FileRecord:
        """Give a finished file of the build folder its final name, which is unique to its content."""
        name = file_name(kind, entry.sha256)
        with storage_errors(path):
            path.rename(path.with_name(name))
        return FileRecord(name, entry.length, entry.sha256)

    def _publish(self, manifest: Manifest) -> None:
        wanted = {file.name for file in manifest.files()}
        added: list[Path] = []
        try:
            with storage_errors(self.path):
                for name in sorted(wanted):
                    target = self.path / name
                    if not target.exists():
                        added.append(target)
                    (self.folder / name).replace(target)
            manifests.sync_folder(self.path)
            for made in self._made:
                with suppress(StorageError):  # a folder that may be written but not read
                    manifests.sync_folder(made.parent)
            manifests.publish(self.path, manifest)
        finally:
            self._published = is_current(self.path, manifest)
            if not self._published:
                remove_files(added)
        # Left-overs that cannot be removed now go with the next build.
        with suppress(OSError):
            remove_files(
                file for file in self.path.iterdir() if FILE.fullmatch(file.name) and file.name not in wanted
            )


def _segment_ends(lengths: npt.NDArray[np.int32]) -> list[int]:
    """Cut rows into segments that fit the format."""
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
            f"{name} must be finite, one for each term",
            facts=[("shape", array.shape), ("expected", (length,))],
        )
    return array
