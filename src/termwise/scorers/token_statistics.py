"""Token statistics of a background collection, for the idf and average lengths of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import sha256
from itertools import islice

import numpy as np

from termwise.collection import CollectionStatistics, EstimatedStatistics
from termwise.errors import EmptyCollectionError
from termwise.fast_dataclass import dataclass
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.scorers.word_frequencies import WordFrequencies
from termwise.text import Analyzer, Numbering, number_texts
from termwise.weights import TermWeights

_BATCH = 1024


@dataclass(frozen=True, eq=False)
class TokenStatistics:
    """Collection statistics by token.

    Attributes
    ----------
    tokens : tuple of str of length V
        The tokens of the collection, or the whole vocabulary of the analyzer.
    counts : CollectionStatistics
        Over V terms, in the same order.
    analyzer : str
        Fingerprint of the analyzer.
    """

    tokens: tuple[str, ...]
    counts: CollectionStatistics
    analyzer: str

    @classmethod
    def count(
        cls,
        documents: Iterable[Document],
        analyzer: Analyzer,
        *,
        length: int | None = None,
        progress: Progress = no_progress,
    ) -> TokenStatistics:
        """Count the tokens of documents in one pass.

        Parameters
        ----------
        documents : iterable of Document
        analyzer : Analyzer
        length : int, optional
            Number of documents, for progress.
        progress : callable, optional
            Called with a stage, documents done, and their number.

        Raises
        ------
        EmptyCollectionError
            If there is no document.
        """
        from termwise.kernels.counting import count_rows, renumber_rows

        vocabulary = analyzer.vocabulary
        numbers = (
            Numbering() if vocabulary is None else Numbering((token, i) for i, token in enumerate(vocabulary))
        )
        remaining = iter(documents)
        parts = []
        done = 0
        while batch := list(islice(remaining, _BATCH)):
            numbered = number_texts(analyzer, [document.text for document in batch])
            indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
            parts.append(
                TermWeights(indptr, *renumber_rows(indptr, terms, counts, numbers.of(numbered.tokens)), "")
            )
            done += len(batch)
            progress("count tokens", done, length)
        if not done:
            raise EmptyCollectionError("the collection has no documents to count", facts=[("documents", 0)])
        statistics = CollectionStatistics.from_counts(parts, n_terms=len(numbers))
        return cls(tuple(numbers), statistics, analyzer.spec.fingerprint)

    @cached_property
    def digest(self) -> str:
        """Digest of the analyzer, the tokens and the counts."""
        digest = sha256(json.dumps([self.analyzer, self.tokens]).encode("ascii"))
        for array in (self.counts.document_frequencies, self.counts.collection_frequencies):
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        digest.update(f"{self.counts.n_documents}".encode("ascii"))
        if isinstance(self.counts, EstimatedStatistics):  # these numbers do not follow from the others
            digest.update(f" {self.counts.n_tokens} {self.counts.rarest}".encode("ascii"))
        return digest.hexdigest()


class Background:
    """Background collection: counts its tokens once for each analyzer.

    Parameters
    ----------
    documents : callable
        Returns a new iterator over the documents.
    length : int, optional
        Number of documents, for progress.
    name : str, optional
        Name of the collection.
    words : WordFrequencies, optional
        Document frequencies of words in the collection that the documents are a part of; the statistics are then
        estimates for that collection. By default they are those of the documents.
    progress : callable, optional
        Called with a stage, documents done, and their number.
    """

    def __init__(
        self,
        documents: Callable[[], Iterable[Document]],
        *,
        length: int | None = None,
        name: str = "collection",
        words: WordFrequencies | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._documents = documents
        self._length = length
        self._words = words
        self._progress = progress
        self._statistics: dict[str, TokenStatistics] = {}
        self.name = name

    def tokens(self, analyzer: Analyzer) -> TokenStatistics:
        """Return the statistics under an analyzer; see `TokenStatistics.count` and `WordFrequencies.estimate`."""
        key = analyzer.spec.fingerprint
        if key not in self._statistics:
            counted = TokenStatistics.count(
                self._documents(), analyzer, length=self._length, progress=self._progress
            )
            if self._words is not None:
                counted = TokenStatistics(
                    *self._words.estimate(counted.tokens, counted.counts, analyzer), counted.analyzer
                )
            self._statistics[key] = counted
        return self._statistics[key]
