"""Limit on the bytes that a process holds for all requests, with a fair share for each client."""

from __future__ import annotations

from collections import Counter


class ByteBudget:
    """Limit on the bytes of the bodies of all requests, or of all answers.

    One request may take all bytes that are free. Further requests of its client may take bytes while the client has no
    more than are free: so some are always left for another client.

    Parameters
    ----------
    most : int
        Bytes; the first request may take more.

    Attributes
    ----------
    held : int
        Bytes that requests have now.
    """

    def __init__(self, most: int) -> None:
        self.held = 0
        self._most = most
        self._of: Counter[str] = Counter()

    def take(self, client: str, size: int, own: int = 0) -> bool:
        """Count bytes of a request that has `own` ones; False, and nothing is counted, if they exceed the bound."""
        free, others = self._most - self.held, self._of[client] - own
        if (self.held > own and size > free) or (others and others + own + size > free):
            return False
        self.held += size
        self._of[client] += size
        return True

    def give_back(self, client: str, size: int) -> None:
        """Forget bytes that a request does not have any more."""
        self.held -= size
        self._of[client] -= size
        if not self._of[client]:
            del self._of[client]


class ByteShare:
    """Bytes of one request within a `ByteBudget`.

    Parameters
    ----------
    budget : ByteBudget
    client : str
    """

    def __init__(self, budget: ByteBudget, client: str) -> None:
        self._budget, self._client = budget, client
        self._held = 0

    def take(self, size: int) -> bool:
        """Count bytes; False if they exceed the bound."""
        if not self._budget.take(self._client, size, self._held):
            return False
        self._held += size
        return True

    def end(self) -> None:
        """Give all bytes back."""
        self._budget.give_back(self._client, self._held)
        self._held = 0
