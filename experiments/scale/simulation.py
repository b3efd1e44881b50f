"""Queueing model of a search over partitions: each query goes to one replica of every shard, and waits for the last.

Queries arrive at random (Poisson). A replica of a shard is one core, which serves its queries in the order of arrival
for the time that was measured for the query and a shard of this size. A query goes to the replica of a shard that is
free first, as a balancer with the length of each queue would send it. The response time is the maximum over the shards
of waiting and service, plus constants for the network and for merging the results of the shards.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Load:
    """Response times of a simulated load, in milliseconds.

    Attributes
    ----------
    p50, p99, mean : float
        Of the response times.
    utilisation : float
        Share of the time that a core is busy, mean over all cores.
    rate : float
        Queries a second that arrived.
    """

    p50: float
    p99: float
    mean: float
    utilisation: float
    rate: float


def service_times(measured: Floats, shards: int, queries: int, generator: np.random.Generator) -> Floats:
    """Draw the service times of queries on shards.

    Parameters
    ----------
    measured : ndarray of shape (measured queries, measured shards), float64
        Times of each query on each shard of one size.
    shards, queries : int
        Size of the result.

    Returns
    -------
    ndarray of shape (queries, shards), float64
        A row is one measured query, so that a slow query is slow on all shards. With the measured number of shards,
        a row is copied as it is; otherwise, each shard has the time of a measured shard that is drawn at random.
    """
    rows = generator.integers(0, len(measured), size=queries)
    if shards == measured.shape[1]:
        return measured[rows]
    columns = generator.integers(0, measured.shape[1], size=(queries, shards))
    return measured[rows[:, None], columns]


def largest_rate(measured: Floats, replicas: int, cores_of_shard: float = 1.0) -> float:
    """Return the queries a second at which the busiest shard is busy all the time, for times in milliseconds."""
    return 1000.0 * replicas * cores_of_shard / float(measured.mean(axis=0).max())


def simulate(
    times: Floats, *, rate: float, replicas: int, constant: float, generator: np.random.Generator
) -> Load:
    """Simulate queries that arrive at a rate.

    Parameters
    ----------
    times : ndarray of shape (queries, shards), float64
        Service time of each query on each shard in milliseconds; queries in the order of arrival.
    rate : float
        Queries a second.
    replicas : int
        Replicas of each shard.
    constant : float
        Milliseconds of network and merging for each query.

    Examples
    --------
    One query, on two shards:

    >>> one = simulate(np.array([[2.0, 3.0]]), rate=1, replicas=1, constant=0.5, generator=np.random.default_rng(1))
    >>> one.mean
    3.5
    """
    queries, shards = times.shape
    arrivals = np.cumsum(generator.exponential(1000.0 / rate, size=queries))
    last = np.zeros(queries)
    for shard in range(shards):
        free = [0.0] * replicas
        ends = np.empty(queries)
        for query, (arrival, time) in enumerate(
            zip(arrivals.tolist(), times[:, shard].tolist(), strict=True)
        ):
            end = max(arrival, free[0]) + time
            heapq.heapreplace(free, end)
            ends[query] = end
        np.maximum(last, ends, out=last)
    response = last - arrivals + constant
    duration = max(float(arrivals[-1]), float(last.max()))
    return Load(
        *np.percentile(response, (50, 99)).tolist(),
        mean=float(response.mean()),
        utilisation=float(times.sum()) / (duration * shards * replicas),
        rate=1000.0 * queries / float(arrivals[-1]),
    )


def in_turn(times: Floats) -> Floats:
    """Return the response time of each query if one core searches its shards one after another."""
    return times.sum(axis=1)


def in_parallel(times: Floats, cores: int) -> Floats:
    """Return the response time of each query if each core searches its shards, numbers i, i + cores, … , in turn."""
    sums = [times[:, core::cores].sum(axis=1) for core in range(cores)]
    return np.max(sums, axis=0)


def by_size(sizes: Floats, means: Floats) -> tuple[float, float]:
    """Return constant and slope of the mean service time as a linear function of the documents of a shard."""
    slope, constant = np.polyfit(sizes, means, 1)
    return float(constant), float(slope)


def scaled(measured: Floats, size: float, wanted: float, line: tuple[float, float]) -> Floats:
    """Return the measured times of shards of a size for shards of another size: times the ratio of the line."""
    constant, slope = line
    return measured * (constant + slope * wanted) / (constant + slope * size)
