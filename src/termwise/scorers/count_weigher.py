"""Models of counts over texts that no index holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice, pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from termwise.collection import CollectionStatistics, OpenStatistics
from termwise.errors import EmptyCollectionError, VocabularyMismatchError
from termwise.models import CountModel
from termwise.progress import Progress, no_progress
from termwise.records import Document
from termwise.scorers.row_cache import Row, RowCache, joined
from termwise.scorers.row_scorer import WeightedRows
from termwise.text import Analyzer, Numbering, Vocabulary, number_texts
from termwise.weights import TermWeights

_BATCH = 1024


@dataclass(frozen=True, eq=False)
class TokenStatistics:
    """Statistics of a collection, by token.

    Attributes
    ----------
    tokens : tuple of str of length V
        Those of the collection, or the whole vocabulary of the analyzer.
    counts : CollectionStatistics
        Of V terms, in the same order.
    analyzer : str
        Fingerprint of the analyzer they were counted with.
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
        """Count the tokens of documents, in one pass.

        Parameters
        ----------
        documents : iterable of Document
        analyzer : Analyzer
            What cuts them.
        length : int, optional
            How many there are, for progress.
        progress : callable, optional
            Called with a stage, documents done, and their number.

        Raises
        ------
        EmptyCollectionError
            If there is no document.
        """
        from termwise.kernels.counting import count_rows
        from termwise.kernels.rows import renumber_rows

        closed = analyzer.vocabulary
        numbers = Numbering() if closed is None else Numbering((token, i) for i, token in enumerate(closed))
        waiting = iter(documents)
        parts = []
        done = 0
        while batch := list(islice(waiting, _BATCH)):
            numbered = number_texts(analyzer, [document.text for document in batch])
            indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
            parts.append(
                TermWeights(indptr, *renumber_rows(indptr, terms, counts, numbers.of(numbered.tokens)), "")
            )
            done += len(batch)
            progress("count tokens", done, length)
        if not done:
            raise EmptyCollectionError("there is no document to count the terms of", facts=[("documents", 0)])
        found = CollectionStatistics.from_counts(parts, n_terms=len(numbers))
        return cls(tuple(numbers), found, analyzer.spec.fingerprint)

    @cached_property
    def digest(self) -> str:
        """Digest of what was counted."""
        found = sha256(json.dumps([self.analyzer, self.tokens]).encode("ascii"))
        for array in (self.counts.document_frequencies, self.counts.collection_frequencies):
            found.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        found.update(f"{self.counts.n_documents}".encode("ascii"))
        return found.hexdigest()


@dataclass(frozen=True)
class _State:
    """What is known of the terms met so far."""

    vocabulary: Vocabulary
    model: CountModel
    statistics: OpenStatistics
    floors: npt.NDArray[np.float64] | None


class CountWeigher:
    """Weighs texts by a model of counts; a `termwise.scorers.TextWeigher`.

    Parameters
    ----------
    model : CountModel
        Such as `BM25`, or `Model1` with its table.
    analyzer : Analyzer
        What cuts texts and queries.
    statistics : TokenStatistics
        Of the collection that texts are weighed as part of, counted with the same analyzer. A term that it lacks
        counts as its rarest.
    name : str, optional
        By default that of the model.
    """

    def __init__(
        self,
        model: CountModel,
        analyzer: Analyzer,
        statistics: TokenStatistics,
        *,
        name: str | None = None,
    ) -> None:
        check_analyzer(model, analyzer, statistics)
        self.name = model.name if name is None else name
        self._model = model
        self._analyzer = analyzer
        self._counted = statistics
        self._numbers = Numbering((token, number) for number, token in enumerate(statistics.tokens))
        if analyzer.vocabulary is None:
            self._numbers.of(model.added_terms)
        self._known = len(self._numbers)
        self._lock = Lock()
        self._memory = RowCache(self._count)
        self._state = self._read()

    @cached_property
    def fingerprint(self) -> str:
        """Equal ones give equal rows."""
        table = self._model.table_facts
        said = {
            "model": self._model.name,
            "parameters": self._model.parameters(),
            "table": None if table is None else table["id"],
            "statistics": self._counted.digest,
        }
        return f"sha256:{sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()}"

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """See `TextWeigher`."""
        asked, held = self._memory.rows(queries), self._memory.rows(texts)
        with self._lock:
            if len(self._numbers) > len(self._state.vocabulary):
                self._state = self._read()
            state = self._state
        name = state.vocabulary.id
        model = state.model
        if model.expands:
            model = model.narrowed(np.unique(joined(asked, name).terms))
        rows = model.weigh(joined(held, name), state.statistics)
        if (background := state.vocabulary.background) is not None:
            asked = [_with_length(row, background) for row in asked]
        return WeightedRows(joined(asked, name), rows, state.floors, state.vocabulary.token)

    def _count(self, texts: Sequence[str]) -> Iterator[Row]:
        """Yield the counts of each text, over terms as they are numbered here."""
        from termwise.kernels.counting import count_rows
        from termwise.kernels.rows import renumber_rows

        numbered = number_texts(self._analyzer, texts)
        with self._lock:
            numbers = self._numbers.of(numbered.tokens)
        indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
        terms, counts = renumber_rows(indptr, terms, counts, numbers)
        for first, last in pairwise(indptr.tolist()):
            yield terms[first:last].copy(), counts[first:last].copy()

    def _read(self) -> _State:
        vocabulary = Vocabulary(list(self._numbers))
        model = self._model.over(vocabulary)
        known = self._known if model.expands else 0
        statistics = OpenStatistics(self._counted.counts, len(vocabulary), untouched=known)
        if model.has_background_term:
            vocabulary = Vocabulary(vocabulary, background=True)
        return _State(vocabulary, model, statistics, model.floors(statistics))


def _with_length(row: Row, background: int) -> Row:
    """Return a row with the background term, which weighs as much as the others together."""
    terms, counts = row
    if not len(terms):
        return row
    return np.append(terms, np.int32(background)), np.append(counts, counts.sum())


def check_analyzer(model: CountModel, analyzer: Analyzer, statistics: TokenStatistics) -> None:
    """Refuse an analyzer that the model or the statistics were not made for.

    Raises
    ------
    VocabularyMismatchError
        Naming both.
    """
    if model.analyzer is not None and model.analyzer.fingerprint != analyzer.spec.fingerprint:
        wanted, given = model.analyzer.beside(analyzer.spec)
        raise VocabularyMismatchError(
            "this model reads texts that another analyzer cuts",
            facts=[("model", f"{model.name}, {wanted}"), ("analyzer", given)],
            fixes=["take the analyzer of the model"],
        )
    if statistics.analyzer != analyzer.spec.fingerprint:
        raise VocabularyMismatchError(
            "the statistics were counted with another analyzer",
            facts=[("analyzer", analyzer.spec.name), ("model", model.name)],
            fixes=["TokenStatistics.count(documents, analyzer)"],
        )
