"""Query latency in milliseconds, for encoding, scoring and both together.

Encoding turns the query text into term weights, and scoring turns the term weights into a ranking. Times do not include
reading queries and writing results.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass


@dataclass(frozen=True)
class LatencySummary:
    """Latency of n queries, in milliseconds.

    Attributes
    ----------
    n : int
        Number of queries.
    mean, p50, p99, maximum : float or None
        None without a query. Percentiles are interpolated linearly (``numpy.percentile``), so p99 of fewer than 100
        queries lies between the two slowest.

    Examples
    --------
    >>> LatencySummary.of([0.001, 0.003])
    LatencySummary(n=2, mean=2.0, p50=2.0, p99=2.98, maximum=3.0)
    """

    n: int
    mean: float | None
    p50: float | None
    p99: float | None
    maximum: float | None

    @classmethod
    def of(cls, seconds: npt.ArrayLike) -> LatencySummary:
        """Summarise times.

        Parameters
        ----------
        seconds : array-like of shape (n,)
            One time per query, in seconds, at least 0.

        Raises
        ------
        ParameterError
            If a time is negative or not finite, or the array is not one-dimensional.
        """
        times = np.asarray(seconds, dtype=np.float64)
        if times.ndim != 1:
            raise ParameterError(
                "times must have one dimension, one number per query", facts=[("shape", times.shape)]
            )
        bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
        if len(bad):
            raise ParameterError(
                "a time is negative or not finite",
                facts=[("query number", int(bad[0]) + 1), ("seconds", float(times[bad[0]]))],
            )
        if len(times) == 0:
            return cls(0, None, None, None, None)
        times = times * 1000.0
        p50, p99 = np.percentile(times, [50, 99]).tolist()
        return cls(len(times), float(times.mean()), p50, p99, float(times.max()))


@dataclass(frozen=True)
class Latency:
    """Latency of one run: query encoding, scoring, and both together.

    Examples
    --------
    >>> latency = Latency.of([0.001, 0.001], [0.002, 0.004])
    >>> latency.encoding.mean, latency.scoring.mean, latency.total.maximum
    (1.0, 3.0, 5.0)
    """

    encoding: LatencySummary
    scoring: LatencySummary
    total: LatencySummary

    @classmethod
    def of(cls, encoding: npt.ArrayLike, scoring: npt.ArrayLike) -> Latency:
        """Summarise the two parts and their sum.

        Parameters
        ----------
        encoding, scoring : array-like of shape (n,)
            Seconds per query, for the same n queries in the same order.

        Raises
        ------
        ParameterError
            If the lengths differ, or a time is negative or not finite.
        """
        parts = LatencySummary.of(encoding), LatencySummary.of(scoring)
        if parts[0].n != parts[1].n:
            raise ParameterError(
                "encoding and scoring were timed on different numbers of queries",
                facts=[("encoding", parts[0].n), ("scoring", parts[1].n)],
            )
        return cls(*parts, LatencySummary.of(np.add(encoding, scoring, dtype=np.float64)))

    def row(self) -> dict[str, int | float | None]:
        """Return one flat record: ``queries`` and ``encoding_mean_ms`` … ``total_maximum_ms``."""
        record: dict[str, int | float | None] = {"queries": self.total.n}
        for part in ("encoding", "scoring", "total"):
            summary = asdict(getattr(self, part))
            record |= {f"{part}_{name}_ms": value for name, value in summary.items() if name != "n"}
        return record
