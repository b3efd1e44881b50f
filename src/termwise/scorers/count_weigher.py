"""Term weights of count models for texts outside an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from termwise.collection import OpenStatistics
from termwise.errors import VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.models import CountModel
from termwise.scorers.row_scorer import Row, RowCache, WeightedRows, stack_rows
from termwise.scorers.token_statistics import TokenStatistics
from termwise.storage.file_record import json_fingerprint
from termwise.text import Analyzer, Numbering, Vocabulary, number_texts
from termwise.weights import TermWeights


@dataclass(frozen=True)
class _State:
    """Model and statistics over the vocabulary of all terms seen so far."""

    vocabulary: Vocabulary
    model: CountModel
    statistics: OpenStatistics
    floors: npt.NDArray[np.float64] | None


class CountWeigher:
    """Weighs texts by a count model; a `termwise.scorers.TextWeigher`.

    Parameters
    ----------
    model : CountModel
        For example `BM25`, or `Model1` with its table.
    analyzer : Analyzer
        Analyzer of texts and queries.
    statistics : TokenStatistics
        Statistics of the background collection under the same analyzer. A term that is not in the collection has the
        statistics of its rarest term.
    name : str, optional
        By default the name of the model.

    Raises
    ------
    VocabularyMismatchError
        If the model or the statistics were made with another analyzer.
    """

    def __init__(
        self, model: CountModel, analyzer: Analyzer, statistics: TokenStatistics, *, name: str | None = None
    ) -> None:
        _check_analyzer(model, analyzer, statistics)
        self.name = model.name if name is None else name
        self._model = model
        self._analyzer = analyzer
        self._background = statistics
        self._numbers = Numbering((token, number) for number, token in enumerate(statistics.tokens))
        if analyzer.vocabulary is None:
            self._numbers.of(model.added_terms)
        self._known = len(self._numbers)
        self._lock = Lock()
        self._cache = RowCache(self._count)
        self._state = self._make_state()

    @cached_property
    def fingerprint(self) -> str:
        """Equal fingerprints mean equal rows."""
        table = self._model.table_facts
        return json_fingerprint(
            {
                "model": self._model.name,
                "parameters": self._model.parameters(),
                "table": None if table is None else table["id"],
                "statistics": self._background.digest,
            }
        )

    def weigh(self, queries: Sequence[str], texts: Sequence[str]) -> WeightedRows:
        """See `TextWeigher`."""
        query_rows, text_rows = self._cache.rows(queries), self._cache.rows(texts)
        state = self._current_state()
        vocabulary = state.vocabulary
        model = state.model
        if model.expands:
            model = model.restricted_to(np.unique(stack_rows(query_rows, vocabulary.id).terms))
        weights = model.weigh(stack_rows(text_rows, vocabulary.id), state.statistics)
        if (background := vocabulary.background) is not None:
            query_rows = [_with_background_term(row, background) for row in query_rows]
        return WeightedRows(stack_rows(query_rows, vocabulary.id), weights, state.floors, vocabulary.token)

    def weigh_texts(self, texts: Sequence[str]) -> tuple[TermWeights, Vocabulary]:
        """Return the rows of texts with all weights, also of terms that no query has, and their vocabulary.

        The tokens of the statistics have the first numbers of the vocabulary, then the added terms of the model, then
        tokens of the texts that the collection lacks.
        """
        rows = self._cache.rows(texts)
        state = self._current_state()
        return state.model.weigh(stack_rows(rows, state.vocabulary.id), state.statistics), state.vocabulary

    def _current_state(self) -> _State:
        """Return model and statistics for all terms that were seen."""
        with self._lock:
            if len(self._numbers) > len(self._state.vocabulary):
                self._state = self._make_state()
            return self._state

    def _count(self, texts: Sequence[str]) -> Iterator[Row]:
        """Yield the term counts of each text, over the numbering of this object."""
        from termwise.kernels.counting import count_rows, renumber_rows

        numbered = number_texts(self._analyzer, texts)
        with self._lock:
            numbers = self._numbers.of(numbered.tokens)
        indptr, terms, counts = count_rows(numbered.indptr, numbered.numbers)
        terms, counts = renumber_rows(indptr, terms, counts, numbers)
        for first, last in pairwise(indptr.tolist()):
            yield terms[first:last].copy(), counts[first:last].copy()

    def _make_state(self) -> _State:
        vocabulary = Vocabulary(list(self._numbers))
        model = self._model.for_vocabulary(vocabulary)
        untouched = self._known if model.expands else 0
        statistics = OpenStatistics(self._background.counts, len(vocabulary), untouched=untouched)
        if model.has_background_term:
            vocabulary = Vocabulary(vocabulary, background=True)
        return _State(vocabulary, model, statistics, model.floors(statistics))


def _with_background_term(row: Row, background: int) -> Row:
    """Return a query row with the background term; its count is the sum of the other counts."""
    terms, counts = row
    if not len(terms):
        return row
    return np.append(terms, np.int32(background)), np.append(counts, counts.sum())


def _check_analyzer(model: CountModel, analyzer: Analyzer, statistics: TokenStatistics) -> None:
    if model.analyzer is not None and model.analyzer.fingerprint != analyzer.spec.fingerprint:
        expected, actual = model.analyzer.differences(analyzer.spec)
        raise VocabularyMismatchError(
            "the model was made with another analyzer",
            facts=[("model", f"{model.name}, {expected}"), ("analyzer", actual)],
            fixes=["use the analyzer of the model"],
        )
    if statistics.analyzer != analyzer.spec.fingerprint:
        raise VocabularyMismatchError(
            "the statistics were counted with another analyzer",
            facts=[("analyzer", analyzer.spec.name), ("model", model.name)],
            fixes=[Fix.python("TokenStatistics.count(documents, analyzer)")],
        )
