"""Assignment of training pairs to batches, determined by the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index.document_order import document_order
from termwise.text import make_analyzer
from termwise.train.settings import Mixing

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BatchPlan:
    """The batches of one epoch: source of each pair, int32, and its number in the source; shape (batches, batch)."""

    sources: npt.NDArray[np.int32]
    pairs: Ids

    def __len__(self) -> int:
        return len(self.pairs)


def plan_batches(
    sizes: Sequence[int],
    *,
    batch: int,
    seed: int,
    epoch: int,
    mixing: Mixing = "together",
    flattening: float = 0.0,
    neighbours: Sequence[Ids] | None = None,
    block: int = 1,
) -> BatchPlan:
    """Plan the batches of one epoch.

    Every pair of a source is used once before any pair is used again, except the remainder of a pass over the source:
    fewer than `block` pairs, different ones in each pass. An incomplete last batch is dropped. A source is dropped if
    it has fewer pairs than a block or, with ``by-source``, than a batch. The plan depends only on the arguments.

    Parameters
    ----------
    sizes : sequence of int
        Pairs of each source.
    mixing : {"together", "by-source"}, optional
        Batches of one source have harder in-batch negatives.
    flattening : float, optional
        0: sources are used in proportion to their size n; otherwise in proportion to n to the power 1 - flattening,
        so that 0.5 is the square root. The number of batches does not change: small sources are repeated within an
        epoch, and large ones are used in part.
    neighbours : sequence of ndarray of shape (n,), int64, optional
        For each source an order of its pairs in which similar passages are neighbours. Batches consist of runs of
        `block` neighbours, so that in-batch negatives are hard and no further negatives need to be encoded.
    block : int, optional
        Length of these runs; it divides `batch`.
    """
    unit = batch if mixing == "by-source" else block
    counts = pairs_of_an_epoch(sizes, batch=batch, mixing=mixing, flattening=flattening, block=block)
    random = np.random.default_rng((seed, epoch))
    pairs: list[Ids] = []
    owners: list[npt.NDArray[np.int32]] = []
    for number in np.flatnonzero(counts).tolist():
        order = None if neighbours is None else neighbours[number]
        count = int(counts[number]) // unit
        groups = _groups(sizes[number], count, unit=unit, block=block, order=order, random=random)
        pairs.append(groups)
        owners.append(np.full(groups.shape, number, dtype=np.int32))
    shuffled = random.permutation(sum(map(len, pairs)))
    return BatchPlan(
        np.concatenate(owners)[shuffled].reshape(-1, batch),
        np.concatenate(pairs)[shuffled].reshape(-1, batch),
    )


def pairs_of_an_epoch(
    sizes: Sequence[int], *, batch: int, mixing: Mixing = "together", flattening: float = 0.0, block: int = 1
) -> Ids:
    """Return the number of pairs of each source in an epoch, 0 for a source that is too small; see `plan_batches`.

    Examples
    --------
    >>> pairs_of_an_epoch([5, 40], batch=10, mixing="by-source").tolist()
    [0, 40]
    """
    total, largest = sum(sizes), max(sizes, default=0)
    unit = batch if mixing == "by-source" else block
    if largest < unit:
        by_source = mixing == "by-source"
        fixes = [Fix.use(mixing="together")] if by_source and total >= batch else []
        whole = largest // block * block
        raise ParameterError(
            f"all sources have fewer training pairs than a {'batch' if by_source else 'block'} holds",
            facts=[("largest source", largest), ("batch", batch), ("block", block), ("sources", len(sizes))],
            fixes=[Fix.use(batch=whole), *fixes] if by_source and whole else [Fix.use(block=1), *fixes],
        )
    if total < batch:
        raise ParameterError(
            "there are fewer training pairs than one batch holds",
            facts=[("pairs", total), ("batch", batch), ("sources", len(sizes))],
            fixes=[Fix.use(batch=max(block, total // 4 // block * block))],
        )
    large_enough = np.array([size >= unit for size in sizes])
    shares = np.array(sizes, dtype=np.float64)[large_enough] ** (1 - flattening)
    counts = np.zeros(len(sizes), dtype=np.int64)
    counts[large_enough] = unit * _apportion(shares, (total // batch) * (batch // unit))
    return counts


def _apportion(shares: npt.NDArray[np.float64], total: int) -> Ids:
    """Split `total` into whole numbers in proportion to `shares`, by largest remainders."""
    exact: npt.NDArray[np.float64] = shares / shares.sum() * total
    counts: Ids = np.floor(exact).astype(np.int64)
    rest = np.argsort(-(exact - counts), kind="stable")[: total - counts.sum()]
    counts[rest] += 1
    return counts


def _groups(
    size: int, count: int, *, unit: int, block: int, order: Ids | None, random: np.random.Generator
) -> Ids:
    """Return `count` groups of `unit` pairs of one source; each group consists of runs of `block` neighbours."""
    runs: list[Ids] = []
    needed = count * unit // block
    while sum(map(len, runs)) < needed:
        ordered = random.permutation(size) if order is None else np.roll(order, int(random.integers(size)))
        whole = ordered[: size // block * block].reshape(-1, block)
        runs.append(whole[random.permutation(len(whole))])
    flat = np.concatenate(runs)[:needed] if runs else np.empty((0, block), dtype=np.int64)
    return flat.reshape(count, unit)


def neighbour_order(source: PairSource, *, threads: int = 1) -> npt.NDArray[np.int64]:
    """Return an order of the pairs of a source in which pairs with similar passages are neighbours.

    The passages are tokenised into stemmed words and ordered by recursive graph bisection, like the documents of an
    index, down to sets of 32 passages in arbitrary order. Pairs follow their passages. Pairs of one passage are
    distributed over rounds, so that a run of neighbours rarely contains a passage twice. The result does not depend on
    `threads`.
    """
    analyzer = make_analyzer("english")
    numbers: dict[str, int] = {}
    indptr, terms = [0], []
    for text in source.passages:
        distinct = {numbers.setdefault(token, len(numbers)) for token in analyzer.tokens(text)}
        terms.extend(sorted(distinct))
        indptr.append(len(terms))
    order = document_order(
        np.array(indptr, dtype=np.int64),
        np.array(terms, dtype=np.uint32),
        n_terms=len(numbers),
        threads=threads,
    )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    seen: Counter[int] = Counter()
    rounds = np.empty(len(source.pairs), dtype=np.int64)
    for position, passage in enumerate(source.pairs[:, 1].tolist()):
        rounds[position] = seen[passage]
        seen[passage] += 1
    return np.lexsort((rank[source.pairs[:, 1]], rounds))
