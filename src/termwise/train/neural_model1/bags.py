"""Texts as bags of terms, and the bags of judged queries and passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from termwise.collection.training_pairs import PairSource
from termwise.fast_dataclass import dataclass
from termwise.progress import Progress, no_progress
from termwise.text import Analyzer, Vocabulary
from termwise.train.data.sampling import JudgedQueries

_BATCH = 4096


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of n texts over a vocabulary of V terms.

    `starts`, int64 of shape (n + 1,), has the boundaries of the texts in `terms` (int32, increasing within a text) and
    `counts` (int32, 1 or more).
    """

    starts: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int] | npt.NDArray[Any]]) -> Bags:
        """Make bags from the term numbers of each text.

        Examples
        --------
        >>> bags = Bags.of([[7, 3, 7], []])
        >>> bags.starts.tolist(), bags.terms.tolist(), bags.counts.tolist()
        ([0, 2, 2], [3, 7], [1, 2])
        """
        starts, terms, counts = [0], [], []
        for row in rows:
            distinct, occurrences = np.unique(np.asarray(row, dtype=np.int32), return_counts=True)
            terms.append(distinct)
            counts.append(occurrences.astype(np.int32))
            starts.append(starts[-1] + len(distinct))
        empty = np.empty(0, dtype=np.int32)
        return cls(
            np.array(starts, dtype=np.int64),
            np.concatenate([*terms, empty]),
            np.concatenate([*counts, empty]),
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of distinct terms of each text; shape (n,)."""
        return np.diff(self.starts)

    def take(self, texts: npt.NDArray[np.integer[Any]]) -> Bags:
        """Return the bags of these texts in this order."""
        sizes = self.sizes[texts]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        entries = np.repeat(self.starts[texts] - starts[:-1], sizes) + np.arange(starts[-1])
        return Bags(starts, self.terms[entries], self.counts[entries])

    def shares(self) -> npt.NDArray[np.float32]:
        """Return the count of each entry divided by the length of its text; shape (entries,)."""
        owners = np.repeat(np.arange(len(self)), self.sizes)
        lengths = np.bincount(owners, weights=self.counts, minlength=len(self))
        shares: npt.NDArray[np.float32] = (self.counts / lengths[owners]).astype(np.float32)
        return shares

    def matrix(self, values: npt.NDArray[Any], terms: int) -> sparse.csr_array:
        """Return a sparse matrix of shape (n, terms) with these values of the entries."""
        return sparse.csr_array((values, self.terms, self.starts), shape=(len(self), terms))

    def totals(self, terms: int) -> npt.NDArray[np.int64]:
        """Return the occurrences of each term in all texts; shape (terms,)."""
        totals: npt.NDArray[np.int64] = np.bincount(self.terms, weights=self.counts, minlength=terms)
        return totals.astype(np.int64)


def bags_of(
    texts: Sequence[str],
    analyzer: Analyzer,
    vocabulary: Vocabulary,
    *,
    length: int = 0,
    stage: str = "read texts",
    progress: Progress = no_progress,
) -> Bags:
    """Tokenise texts into bags of at most `length` tokens, 0 for all, over the vocabulary of the analyzer."""
    numbers = {token: number for number, token in enumerate(vocabulary)}
    rows = []
    for done, text in enumerate(texts, 1):
        tokens = analyzer.tokens(text)
        rows.append(np.array([numbers[token] for token in tokens[: length or None]], dtype=np.int32))
        if done % _BATCH == 0 or done == len(texts):
            progress(stage, done, len(texts))
    return Bags.of(rows)


@dataclass(frozen=True, eq=False)
class JudgedBags:
    """Term counts of the queries that have terms, with their judgments in `judged`, and term counts of all passages."""

    judged: JudgedQueries
    queries: Bags
    passages: Bags

    @classmethod
    def of(
        cls,
        sources: Sequence[PairSource],
        mined: Sequence[npt.NDArray[np.int32]],
        analyzer: Analyzer,
        vocabulary: Vocabulary,
        *,
        negatives: int,
        query_length: int,
        document_length: int,
        progress: Progress = no_progress,
    ) -> JudgedBags:
        """Tokenise the texts of sources, of which the first tokens are read; a length of 0 is no limit.

        See `JudgedQueries.of` for the mined negatives and the error without training data.
        """
        queries, passages = (
            bags_of(texts, analyzer, vocabulary, length=length, stage=stage, progress=progress)
            for texts, length, stage in (
                ([text for source in sources for text in source.queries], query_length, "read queries"),
                ([text for source in sources for text in source.passages], document_length, "read passages"),
            )
        )
        judged = JudgedQueries.of(
            sources, mined, queries=queries.sizes > 0, passages=passages.sizes > 0, negatives=negatives
        )
        return cls(judged, queries.take(judged.queries), passages)
