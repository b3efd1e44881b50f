"""Pace at which a client may do what costs the others time, such as sending bodies to be read."""

from __future__ import annotations

MOST_CLIENTS = 1000
"""Largest number of clients whose past counts."""

LONGEST_WAIT = 5.0
"""Seconds."""


class Pace:
    """Amount that each client may spend in a second.

    Parameters
    ----------
    rate : float
        Amount a second.
    burst : float
        Amount that a client may spend at once after a pause.

    Examples
    --------
    >>> pace = Pace(rate=10, burst=20)
    >>> pace.wait("a", 20, now=100.0), pace.wait("a", 5, now=100.0), pace.wait("b", 5, now=100.0)
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._until: dict[str, float] = {}
        """Time at which a client would have spent its amount at this rate."""

    def wait(self, client: str, amount: float, now: float) -> float:
        """Count an amount, and return the seconds that the client has to wait, at most `LONGEST_WAIT`."""
        if len(self._until) >= MOST_CLIENTS:
            self._until = {each: time for each, time in self._until.items() if time > now}
        begin = max(self._until.get(client, 0.0), now - self._burst / self._rate)
        until = min(begin + amount / self._rate, now + LONGEST_WAIT)
        self._until[client] = until
        return max(0.0, until - now)
