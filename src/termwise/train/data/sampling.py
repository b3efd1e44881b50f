"""What is drawn from judged pairs: a query, a passage relevant to it, and one that BM25 takes for relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.errors import EmptyCollectionError

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

_TRIES = 16


@dataclass(frozen=True)
class Draw:
    """What one epoch takes, in order: arrays of shape (n,) of queries, relevant passages and negatives."""

    queries: Numbers
    relevant: Numbers
    negatives: Numbers


@dataclass(frozen=True, eq=False)
class Judged:
    """The queries of all sources that can be trained on, with their passages, by number.

    Queries and passages are numbered through all sources, in their order.

    Attributes
    ----------
    queries : ndarray of shape (n,), int64
        Numbers of the queries, rising; a query is named by its place here.
    starts : ndarray of shape (n + 1,), int64
        Boundaries of the queries in `relevant`.
    relevant : ndarray of shape (pairs,), int64
        The passages relevant to each query, all of use.
    negatives : ndarray of shape (n, m), int64
        Passages drawn from the top of BM25, none relevant and all of use; -1 fills up on the right.
    pools : ndarray of shape (n, 2), int64
        First passage of the source of a query, and the one after its last.
    usable : ndarray of shape (passages,), bool
    """

    queries: Numbers
    starts: Numbers
    relevant: Numbers
    negatives: Numbers
    pools: Numbers
    usable: Marks

    @classmethod
    def of(
        cls,
        sources: Sequence[PairSource],
        mined: Sequence[npt.NDArray[np.int32]],
        *,
        queries: Marks,
        passages: Marks,
        negatives: int,
    ) -> Judged:
        """Number the pairs of sources.

        Parameters
        ----------
        sources : sequence of PairSource
        mined : sequence of ndarray of shape (pairs, m), int32
            See `termwise.train.data.hard_negatives.mine_negatives`.
        queries, passages : ndarray of bool
            Which queries and passages of all sources are of use: those with a token.
        negatives : int
            How many are taken of each query.

        Raises
        ------
        EmptyCollectionError
            If no query is left that is of use, with a passage of use, and another passage to tell it from.
        """
        parts, first_query, first_passage = [], 0, 0
        for source, found in zip(sources, mined, strict=True):
            end = first_passage + len(source.passages)
            pairs = source.pairs.astype(np.int64)
            asked, passage = pairs[:, 0] + first_query, pairs[:, 1] + first_passage
            drawn = found[:, :negatives].astype(np.int64)
            drawn = np.where(drawn < 0, -1, drawn + first_passage)
            parts.append((asked, passage, drawn, np.tile([first_passage, end], (len(asked), 1))))
            first_query, first_passage = first_query + len(source.queries), end
        asked, passage, drawn, pools = (np.concatenate(part) for part in zip(*parts, strict=True))
        kept = queries[asked] & passages[passage]
        order = np.flatnonzero(kept)[np.argsort(asked[kept], kind="stable")]
        numbers, first, counts = np.unique(asked[order], return_index=True, return_counts=True)
        one = order[first]
        usable = np.append(passages, False)[drawn[one]]  # -1 is the one at the end
        tidy = np.take_along_axis(
            np.where(usable, drawn[one], -1), np.argsort(~usable, axis=1, kind="stable"), axis=1
        )
        made = cls(
            numbers, np.concatenate(([0], np.cumsum(counts))), passage[order], tidy, pools[one], passages
        )
        return made._those_with_negatives()

    def _those_with_negatives(self) -> Judged:
        """Drop queries whose source has no passage to tell the relevant ones from."""
        filled = np.concatenate(([0], np.cumsum(self.usable)))
        others = filled[self.pools[:, 1]] - filled[self.pools[:, 0]] - np.diff(self.starts)
        kept = np.flatnonzero((others > 0) | (self.negatives >= 0).any(axis=1))
        if not len(kept):
            raise EmptyCollectionError(
                "there is nothing to train on: no query has terms, a passage with terms, and another passage",
                facts=[("queries with a passage", len(self)), ("passages", len(self.usable))],
                fixes=["give more data, or another analyzer"],
            )
        counts = np.diff(self.starts)
        return Judged(
            self.queries[kept],
            np.concatenate(([0], np.cumsum(counts[kept]))),
            self.relevant[np.repeat(np.isin(np.arange(len(self)), kept), counts)],
            self.negatives[kept],
            self.pools[kept],
            self.usable,
        )

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.queries)

    def draw(self, seed: int, epoch: int) -> Draw:
        """Draw an epoch: every query once, in random order, with one relevant passage and one negative.

        A query of which BM25 finds no other passage gets one of its source at random.
        """
        random = np.random.default_rng((seed, epoch))
        order = random.permutation(len(self))
        counts = np.diff(self.starts)[order]
        relevant = self.relevant[self.starts[:-1][order] + random.integers(0, counts)]
        found = (self.negatives[order] >= 0).sum(axis=1)
        column = random.integers(0, np.maximum(found, 1))
        negatives = self.negatives[order, column]
        missing = np.flatnonzero(found == 0)
        negatives[missing] = self._any(order[missing], random)
        return Draw(order, relevant, negatives)

    def _any(self, queries: Numbers, random: np.random.Generator) -> Numbers:
        """Return a passage of its source for each query, neither relevant nor empty."""
        chosen = np.full(len(queries), -1, dtype=np.int64)
        known = np.repeat(np.arange(len(self)), np.diff(self.starts)) * len(self.usable) + self.relevant
        for _ in range(_TRIES):
            open_ = np.flatnonzero(chosen < 0)
            if not len(open_):
                return chosen
            asked = queries[open_]
            tried = random.integers(self.pools[asked, 0], self.pools[asked, 1])
            good = self.usable[tried] & ~np.isin(asked * len(self.usable) + tried, known)
            chosen[open_[good]] = tried[good]
        for place in np.flatnonzero(chosen < 0).tolist():
            query = int(queries[place])
            pool = np.arange(*self.pools[query])
            own = self.relevant[self.starts[query] : self.starts[query + 1]]
            chosen[place] = random.choice(np.setdiff1d(pool[self.usable[pool]], own))
        return chosen
