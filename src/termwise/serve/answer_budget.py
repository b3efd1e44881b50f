"""Limit on the bytes of all answers that a process sends."""

from __future__ import annotations

PIECE = 1 << 16
"""Bytes that are sent at once. The next piece waits until the client has taken most of the one before."""


class AnswerBudget:
    """Limit on the bytes of all answers that a process is sending, except those of at most one `PIECE`.

    Parameters
    ----------
    most : int
        Bytes; a single answer may be larger.

    Attributes
    ----------
    held : int
        Bytes of the answers that are not sent yet.
    """

    def __init__(self, most: int) -> None:
        self.held = 0
        self._most = most

    def take(self, size: int) -> bool:
        """Count the bytes of an answer; False, and nothing is counted, if they would exceed the bound."""
        if self.held and self.held + size > self._most:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        """Forget the bytes of an answer that is sent, or that nobody takes."""
        self.held -= size
