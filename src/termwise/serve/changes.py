"""Changes of a served index: waiting changes are made together, in one commit."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import field
from pathlib import Path
from typing import Literal

from termwise.errors import DeadlineError, IndexLockedError
from termwise.fast_dataclass import dataclass
from termwise.indexing import open_writer
from termwise.indexing.added_rows import LoadedNetworks
from termwise.indexing.live_writer import LiveWriter
from termwise.records import AttributeValue, Document
from termwise.serve.errors import OverloadError

logger = logging.getLogger("termwise.serve")

Outcome = Literal["created", "replaced", "updated", "exists", "deleted", "missing"]

MOST_WAITING = 256
"""Requests that may wait for the index."""

MERGE_AGAIN_SECONDS = 60.0
"""Time without changes after which segments that could not be merged are merged again."""

MOST_TOGETHER = 10_000
"""Changes in one commit, if they come from several requests."""


@dataclass(frozen=True)
class Put:
    """Add a document, or replace the one with its identifier; if `only_new`, change nothing if there is one."""

    document: Document
    only_new: bool = False

    @property
    def doc_id(self) -> str:
        """Identifier of the document."""
        return self.document.doc_id


@dataclass(frozen=True)
class Delete:
    """Delete the document with an identifier."""

    doc_id: str


@dataclass(frozen=True)
class Merge:
    """Change some texts and attributes of the document with an identifier; see `read_merge`.

    Attributes
    ----------
    doc_id : str
    texts : mapping of str to str
        New texts by field.
    attributes : mapping of str to AttributeValue or None
        New values of attributes; None removes one.
    otherwise : Document or None
        Document to add if there is none.
    """

    doc_id: str
    texts: Mapping[str, str]
    attributes: Mapping[str, AttributeValue | None]
    otherwise: Document | None = None

    def applied(self, document: Document) -> Document:
        """Return the document with the changes."""
        attributes = {
            name: value
            for name, value in {**document.attributes, **self.attributes}.items()
            if value is not None
        }
        if not self.texts:
            return document._replace(attributes=attributes)
        if document.fields is None:  # one field, whose text is that of the document
            return Document(document.doc_id, next(iter(self.texts.values())), attributes)
        return Document.of_fields(document.doc_id, {**document.fields, **self.texts}, attributes)


Change = Put | Delete | Merge


@dataclass(frozen=True)
class NewAttributes:
    """Add attributes that no document has yet, by their types."""

    types: Mapping[str, str]


@dataclass
class _Request:
    changes: Sequence[Change | NewAttributes]
    deadline: float
    outcomes: Future[list[Outcome]] = field(default_factory=Future)


class ChangeQueue:
    """Makes the changes of one index, in the order in which they arrive.

    A thread takes all waiting requests, makes their changes, and commits once. A request is answered when its changes
    are on the disk. Other processes may change the index, too: the thread holds the lock only for a commit, and waits
    for other writers. Networks of the index stay loaded between commits.

    Parameters
    ----------
    path : Path
        Folder of the index or mixture.
    timeout : float
        Seconds that a request may wait for the index.
    on_merge : callable, optional
        Called after each commit, with whether the segments could not be merged.
    """

    def __init__(
        self, path: Path, timeout: float, on_merge: Callable[[bool], object] = lambda failed: None
    ) -> None:
        self._path = path
        self._timeout = timeout
        self._on_merge = on_merge
        self._requests: queue.Queue[_Request | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._networks: LoadedNetworks = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._merge_failed = False

    def submit(self, changes: Sequence[Change | NewAttributes]) -> Future[list[Outcome]]:
        """Make changes, all or none; the future has the outcome of each when they are on the disk.

        Raises
        ------
        OverloadError
            If too many requests wait.
        """
        request = _Request(changes, time.monotonic() + self._timeout)
        with self._lock:
            if self._closed:
                raise OverloadError("the service stops")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="termwise-changes", daemon=True)
                self._thread.start()
            try:
                self._requests.put_nowait(request)
            except queue.Full:
                raise OverloadError(
                    "the index has too many changes to make", fixes=["repeat the request later"]
                ) from None
        return request.outcomes

    def close(self) -> None:
        """Make the waiting changes, and stop."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            self._requests.put(None)
            self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            requests = list(self._next())
            ended = not requests or (self._closed and self._requests.empty())
            self._make(requests)

    def _next(self) -> Iterator[_Request]:
        """Yield the next request, and those that wait behind it."""
        number = 0
        request = self._first()
        while request is not None:
            yield request
            number += len(request.changes)
            if number >= MOST_TOGETHER:
                return
            try:
                request = self._requests.get_nowait()
            except queue.Empty:
                return

    def _first(self) -> _Request | None:
        """Wait for a request, and merge again meanwhile if that failed."""
        while self._merge_failed:
            try:
                return self._requests.get(timeout=MERGE_AGAIN_SECONDS)
            except queue.Empty:
                try:
                    self._committed([], time.monotonic())
                except Exception as error:  # of a writer, or of another process that writes now
                    logger.warning("the segments of %s were not merged again: %s", self._path, error)
        return self._requests.get()

    def _make(self, requests: Sequence[_Request]) -> None:
        """Make the changes of requests in one commit; if that fails, the changes of each request alone."""
        waiting = [request for request in requests if request.outcomes.set_running_or_notify_cancel()]
        if not waiting:
            return
        try:
            outcomes = self._committed([request.changes for request in waiting], waiting[0].deadline)
        except (IndexLockedError, DeadlineError) as error:
            for request in waiting:
                request.outcomes.set_exception(error)
        except BaseException as error:
            if len(waiting) == 1:
                waiting[0].outcomes.set_exception(error)
                return
            for request in waiting:
                try:
                    (alone,) = self._committed([request.changes], request.deadline)
                    request.outcomes.set_result(alone)
                except BaseException as alone_error:
                    request.outcomes.set_exception(alone_error)
        else:
            for request, each in zip(waiting, outcomes, strict=True):
                request.outcomes.set_result(each)

    def _committed(
        self, batches: Sequence[Sequence[Change | NewAttributes]], deadline: float
    ) -> list[list[Outcome]]:
        wait = max(0.0, deadline - time.monotonic())
        with open_writer(self._path, wait=wait, networks=self._networks) as writer:
            outcomes = _made(writer, batches)
        self._merge_failed = writer.merge_error is not None
        if self._merge_failed:
            logger.error(
                "the segments of %s were not merged, which the next change, or in %g seconds, tries again: %s",
                self._path,
                MERGE_AGAIN_SECONDS,
                writer.merge_error,
            )
        self._on_merge(self._merge_failed)
        return outcomes


def _made(writer: LiveWriter, batches: Sequence[Sequence[Change | NewAttributes]]) -> list[list[Outcome]]:
    """Make the changes of several requests, and return the outcome of each as if they were made in their order.

    Only the last change of an identifier is made: the writer would write a segment for each change of one document.
    """
    last: dict[str, Document | None] = {}
    for batch in batches:
        for change in batch:
            if isinstance(change, NewAttributes):
                writer.add_attributes(change.types)
    outcomes = [[_noted(writer, change, last) for change in batch] for batch in batches]
    writer.delete([doc_id for doc_id, document in last.items() if document is None])
    writer.add([document for document in last.values() if document is not None])
    return outcomes


def _noted(writer: LiveWriter, change: Change | NewAttributes, last: dict[str, Document | None]) -> Outcome:
    """Note the document that a change leaves (None: it is deleted), and return the outcome of the change."""
    if isinstance(change, NewAttributes):
        return "updated"
    doc_id = change.doc_id
    known = last[doc_id] is not None if doc_id in last else writer.has(doc_id)
    document: Document | None = None
    outcome: Outcome
    if isinstance(change, Delete):
        outcome = "deleted" if known else "missing"
    elif isinstance(change, Merge):
        before = last[doc_id] if doc_id in last else writer.document(doc_id)
        if before is not None:
            document, outcome = change.applied(before), "updated"
        elif change.otherwise is not None:
            document, outcome = change.otherwise, "created"
        else:
            return "missing"
    elif known and change.only_new:
        return "exists"
    else:
        document, outcome = change.document, "replaced" if known else "created"
    last.pop(doc_id, None)  # so that documents come in the order of their last changes
    last[doc_id] = document
    return outcome
