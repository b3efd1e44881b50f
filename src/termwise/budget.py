"""Budget of the work for one answer: its time, the documents that it may look at, and the texts that it returns.

Long loops of the library call `spend`. Without a budget, this costs a look-up. A service sets one for each request:

    with limited(Budget(seconds=5.0)):
        results = searcher.search(search)

The budget belongs to the thread, so that no function between the two needs an argument for it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from termwise.errors import BudgetError, DeadlineError

TEXT = 100
"""Documents that a text counts as: it is unpacked and analysed, where a filter compares a number."""

_thread = threading.local()


class Budget:
    """Limits for the work of one answer.

    Parameters
    ----------
    seconds : float
        Time from now; above 0.
    documents : int, optional
        Documents that filters, counts and other loops may look at, each as often as it is looked at; a text that is
        read counts as `TEXT` documents.
    size : int, optional
        Bytes or characters of the texts that the answer returns.
    """

    def __init__(self, seconds: float, documents: int | None = None, size: int | None = None) -> None:
        self.seconds = seconds
        self.documents = documents
        self.size = size
        self.ends = time.monotonic() + seconds
        self._documents_left: float = math.inf if documents is None else documents
        self._size_left: float = math.inf if size is None else size
        self._cancelled = False
        self.pause: Callable[[], object] | None = None
        """Called by `spend`, so that other work can go first."""

    def cancel(self) -> None:
        """Let the next `spend` raise `DeadlineError`; another thread may call this."""
        self._cancelled = True

    def spend(self, documents: int = 0, size: int = 0) -> None:
        """Count documents that are looked at, and the size of texts that are returned.

        Raises
        ------
        BudgetError
            If these are too many documents, or the texts are too large.
        DeadlineError
            If the time is over, or the work is cancelled.
        """
        self._documents_left -= documents
        self._size_left -= size
        if self._documents_left < 0:
            raise BudgetError(
                "this would look at more documents than one answer may",
                facts=[("most", self.documents)],
                fixes=["use fewer conditions on attributes and texts, or count fewer values"],
            )
        if self._size_left < 0:
            raise BudgetError(
                "the answer would be too large",
                facts=[("most bytes", self.size)],
                fixes=["ask for fewer documents at once, or without their texts"],
            )
        if self._cancelled or time.monotonic() > self.ends:
            raise self.late()
        if self.pause is not None:
            self.pause()

    def late(self) -> DeadlineError:
        """Return the error for an answer that is not ready in time."""
        return DeadlineError("the answer was not ready in time", facts=[("seconds", f"{self.seconds:g}")])


@contextmanager
def limited(budget: Budget | None) -> Iterator[None]:
    """Set the budget of this thread for a block; None for no limits.

    Examples
    --------
    >>> with limited(Budget(seconds=60, documents=10)):
    ...     spend(11)
    Traceback (most recent call last):
        ...
    termwise.errors.BudgetError: this would look at more documents than one answer may  [budget]
      most  10
      fix   use fewer conditions on attributes and texts, or count fewer values
    """
    before = getattr(_thread, "budget", None)
    _thread.budget = budget
    try:
        yield
    finally:
        _thread.budget = before


def spend(documents: int = 0, size: int = 0) -> None:
    """Count documents and texts; see `Budget.spend`. Without a budget, nothing happens."""
    budget: Budget | None = getattr(_thread, "budget", None)
    if budget is not None:
        budget.spend(documents, size)
