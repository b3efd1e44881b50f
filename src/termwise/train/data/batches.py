"""Which pairs make up which batch: all of it follows from the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from termwise.errors import ParameterError

Mixing = Literal["together", "by-source"]
"""Batches of pairs of all sources, or of one source each."""


@dataclass(frozen=True)
class BatchPlan:
    """The batches of one epoch.

    Attributes
    ----------
    sources : ndarray of shape (batches, batch), int32
        Number of the source of each pair.
    pairs : ndarray of shape (batches, batch), int64
        Number of the pair within its source.
    """

    sources: npt.NDArray[np.int32]
    pairs: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.pairs)


def plan_batches(
    sizes: Sequence[int],
    *,
    batch: int,
    seed: int,
    epoch: int,
    mixing: Mixing = "together",
    flattening: float = 0.0,
    neighbours: Sequence[npt.NDArray[np.int64]] | None = None,
    block: int = 1,
) -> BatchPlan:
    """Plan the batches of one epoch.

    Every pair of a source is taken once before any is taken again, but for those that a pass over the source leaves
    over: fewer than `block`, other ones in each pass. An incomplete last batch is left out, and so is a source with
    fewer pairs than a block holds or, by source, than a batch holds.

    Parameters
    ----------
    sizes : sequence of int
        Pairs of each source.
    batch : int
        Pairs of a batch.
    seed, epoch : int
        The plan is a function of these and of the other arguments.
    mixing : {"together", "by-source"}, optional
        Batches of one source have negatives that are harder to tell from the right passage.
    flattening : float, optional
        0: sources are met in proportion to their size n; otherwise to n to the power 1 - flattening, so that
        0.5 is the square root. An epoch has as many batches as it would have without flattening; small
        sources are then met more than once in it, large ones in part.
    neighbours : sequence of ndarray of shape (n,), int64, optional
        For each source an order of its pairs in which similar passages are neighbours. Batches are then made
        of runs of `block` neighbours, so that a passage meets near misses among the other passages of its
        batch and no further negatives need to be encoded.
    block : int, optional
        Length of these runs; it divides `batch`.

    Returns
    -------
    BatchPlan

    Raises
    ------
    ParameterError
        See `pairs_of_an_epoch`.
    """
    unit = batch if mixing == "by-source" else block
    taken = pairs_of_an_epoch(sizes, batch=batch, mixing=mixing, flattening=flattening, block=block)
    random = np.random.default_rng((seed, epoch))
    groups: list[npt.NDArray[np.int64]] = []
    owners: list[npt.NDArray[np.int32]] = []
    for number in np.flatnonzero(taken).tolist():
        order = None if neighbours is None else neighbours[number]
        count = int(taken[number]) // unit
        made = _groups(sizes[number], count, unit=unit, block=block, order=order, random=random)
        groups.append(made)
        owners.append(np.full(made.shape, number, dtype=np.int32))
    pairs, sources = np.concatenate(groups), np.concatenate(owners)
    shuffled = random.permutation(len(pairs))
    return BatchPlan(sources[shuffled].reshape(-1, batch), pairs[shuffled].reshape(-1, batch))


def pairs_of_an_epoch(
    sizes: Sequence[int], *, batch: int, mixing: Mixing = "together", flattening: float = 0.0, block: int = 1
) -> npt.NDArray[np.int64]:
    """Return how many pairs an epoch takes of each source; the parameters are those of `plan_batches`.

    Returns
    -------
    ndarray of shape (sources,), int64
        0 for a source that is left out.

    Raises
    ------
    ParameterError
        If there are fewer pairs than a batch holds, no source has as many as it takes, or `block` does not divide
        `batch`.

    Examples
    --------
    >>> pairs_of_an_epoch([5, 40], batch=10, mixing="by-source").tolist()
    [0, 40]
    """
    if batch % block:
        raise ParameterError(
            "a batch is made of whole blocks of neighbours", facts=[("batch", batch), ("block", block)]
        )
    total, largest = sum(sizes), max(sizes, default=0)
    unit = batch if mixing == "by-source" else block
    if largest < unit:
        by_source = mixing == "by-source"
        fixes = ["--set mixing=together"] if by_source and total >= batch else []
        whole = largest // block * block
        raise ParameterError(
            f"no source has as many training pairs as a {'batch' if by_source else 'block'} holds",
            facts=[("largest source", largest), ("batch", batch), ("block", block), ("sources", len(sizes))],
            fixes=[f"--set batch={whole}", *fixes] if by_source and whole else ["--set block=1", *fixes],
        )
    if total < batch:
        raise ParameterError(
            "there are fewer training pairs than one batch holds",
            facts=[("pairs", total), ("batch", batch), ("sources", len(sizes))],
            fixes=[f"--set batch={max(block, total // 4 // block * block)}"],
        )
    filling = np.array([size >= unit for size in sizes])
    shares = np.array(sizes, dtype=np.float64)[filling] ** (1 - flattening)
    taken = np.zeros(len(sizes), dtype=np.int64)
    taken[filling] = unit * _apportion(shares, (total // batch) * (batch // unit))
    return taken


def _apportion(shares: npt.NDArray[np.float64], wanted: int) -> npt.NDArray[np.int64]:
    """Split `wanted` into whole numbers in proportion to `shares`, by largest remainders."""
    exact: npt.NDArray[np.float64] = shares / shares.sum() * wanted
    counts: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    rest = np.argsort(-(exact - counts), kind="stable")[: wanted - counts.sum()]
    counts[rest] += 1
    return counts


def _groups(
    size: int,
    count: int,
    *,
    unit: int,
    block: int,
    order: npt.NDArray[np.int64] | None,
    random: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Return `count` groups of `unit` pairs of one source, each made of runs of `block` neighbours."""
    runs: list[npt.NDArray[np.int64]] = []
    needed = count * unit // block
    while sum(map(len, runs)) < needed:
        ordered = random.permutation(size) if order is None else np.roll(order, int(random.integers(size)))
        whole = ordered[: size // block * block].reshape(-1, block)
        runs.append(whole[random.permutation(len(whole))])
    flat = np.concatenate(runs)[:needed] if runs else np.empty((0, block), dtype=np.int64)
    return flat.reshape(count, unit)
