"""Sampling of query, relevant passage and hard negative from judged pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.errors import EmptyCollectionError
from termwise.fast_dataclass import dataclass

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_TRIES = 16


@dataclass(frozen=True)
class EpochSample:
    """Samples of one epoch: queries and relevant passages of shape (n,), and negatives of shape (n, m)."""

    queries: Ids
    relevant: Ids
    negatives: Ids


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Trainable queries of all sources with their passages, numbered consecutively over all sources.

    Attributes
    ----------
    queries : ndarray of shape (n,), int64
        Numbers of the trainable queries, increasing; samples refer to positions in this array.
    starts, relevant : ndarray, int64
        Boundaries of the queries in `relevant`, of shape (n + 1,), and their usable relevant passages.
    negatives : ndarray of shape (n, m), int64
        Usable passages from the top of BM25, none relevant; padded with -1 on the right.
    pools : ndarray of shape (n, 2), int64
        First passage of the source of a query, and one above its last passage.
    usable : ndarray of shape (passages,), bool
    """

    queries: Ids
    starts: Ids
    relevant: Ids
    negatives: Ids
    pools: Ids
    usable: Mask

    @classmethod
    def of(
        cls,
        sources: Sequence[PairSource],
        mined: Sequence[npt.NDArray[np.int32]],
        *,
        queries: Mask,
        passages: Mask,
        negatives: int,
    ) -> JudgedQueries:
        """Number the pairs of sources.

        Parameters
        ----------
        mined : sequence of ndarray of shape (pairs, m), int32
            See `termwise.train.data.hard_negatives.mine_negatives`.
        queries, passages : ndarray of bool
            Usable queries and passages of all sources: those with a token.
        negatives : int
            Negatives of each query.

        Raises
        ------
        EmptyCollectionError
            If no usable query has a usable relevant passage and another passage as a negative.
        """
        parts, first_query, first_passage = [], 0, 0
        for source, source_negatives in zip(sources, mined, strict=True):
            end = first_passage + len(source.passages)
            pairs = source.pairs.astype(np.int64)
            query, passage = pairs[:, 0] + first_query, pairs[:, 1] + first_passage
            drawn = source_negatives[:, :negatives].astype(np.int64)
            drawn = np.where(drawn < 0, -1, drawn + first_passage)
            parts.append((query, passage, drawn, np.tile([first_passage, end], (len(query), 1))))
            first_query, first_passage = first_query + len(source.queries), end
        query, passage, drawn, pools = (np.concatenate(part) for part in zip(*parts, strict=True))
        kept = queries[query] & passages[passage]
        order = np.flatnonzero(kept)[np.argsort(query[kept], kind="stable")]
        numbers, first, counts = np.unique(query[order], return_index=True, return_counts=True)
        first_pair = order[first]
        usable = np.append(passages, False)[drawn[first_pair]]  # -1 selects the appended False
        packed = np.take_along_axis(
            np.where(usable, drawn[first_pair], -1), np.argsort(~usable, axis=1, kind="stable"), axis=1
        )
        starts = np.concatenate(([0], np.cumsum(counts)))
        judged = cls(numbers, starts, passage[order], packed, pools[first_pair], passages)
        return judged._with_negatives()

    def _with_negatives(self) -> JudgedQueries:
        """Drop queries whose source has no possible negative."""
        usable_before = np.concatenate(([0], np.cumsum(self.usable)))
        others = usable_before[self.pools[:, 1]] - usable_before[self.pools[:, 0]] - np.diff(self.starts)
        kept = np.flatnonzero((others > 0) | (self.negatives >= 0).any(axis=1))
        if not len(kept):
            raise EmptyCollectionError(
                "there is nothing to train on: no query has terms, a relevant passage with terms, and another passage",
                facts=[("queries with a passage", len(self)), ("passages", len(self.usable))],
                fixes=["give more data, or another analyzer"],
            )
        counts = np.diff(self.starts)
        return JudgedQueries(
            self.queries[kept],
            np.concatenate(([0], np.cumsum(counts[kept]))),
            self.relevant[np.repeat(np.isin(np.arange(len(self)), kept), counts)],
            self.negatives[kept],
            self.pools[kept],
            self.usable,
        )

    def __len__(self) -> int:
        return len(self.queries)

    def sample(self, seed: int, epoch: int, *, negatives: int = 1) -> EpochSample:
        """Draw an epoch: every query once, in random order, with one relevant passage and a number of negatives.

        Negatives of a query are repeated if fewer are mined. A query without mined negatives gets random passages of
        its source.
        """
        random = np.random.default_rng((seed, epoch))
        order = random.permutation(len(self))
        counts = np.diff(self.starts)[order]
        relevant = self.relevant[self.starts[:-1][order] + random.integers(0, counts)]
        available = (self.negatives[order] >= 0).sum(axis=1)
        first = random.integers(0, np.maximum(available, 1))
        # The mined negatives are in random order, so that neighbours are a sample.
        columns = (first[:, None] + np.arange(negatives)) % np.maximum(available, 1)[:, None]
        chosen = self.negatives[order[:, None], columns]
        missing = np.flatnonzero(available == 0)
        for column in range(negatives):
            chosen[missing, column] = self._random_negatives(order[missing], random)
        return EpochSample(order, relevant, chosen)

    def _random_negatives(self, queries: Ids, random: np.random.Generator) -> Ids:
        """Return for each query a usable passage of its source that is not relevant to the query."""
        negatives = np.full(len(queries), -1, dtype=np.int64)
        relevant = np.repeat(np.arange(len(self)), np.diff(self.starts)) * len(self.usable) + self.relevant
        for _ in range(_TRIES):
            missing = np.flatnonzero(negatives < 0)
            if not len(missing):
                return negatives
            query = queries[missing]
            passage = random.integers(self.pools[query, 0], self.pools[query, 1])
            valid = self.usable[passage] & ~np.isin(query * len(self.usable) + passage, relevant)
            negatives[missing[valid]] = passage[valid]
        for position in np.flatnonzero(negatives < 0).tolist():
            number = int(queries[position])
            pool = np.arange(*self.pools[number])
            own = self.relevant[self.starts[number] : self.starts[number + 1]]
            negatives[position] = random.choice(np.setdiff1d(pool[self.usable[pool]], own))
        return negatives
